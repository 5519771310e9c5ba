//! A plot as data: axes, and what stands between them. Workloads make plots; [`super::svg`] draws them.

use super::axis::PlotAxis;
use drivescope_model::Metric;
use drivescope_model::number::rounded;

/// What a colour means. Drives and series take [`Ink::Series`] in their order on a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ink {
    /// The first to the fifth drive or series; a sixth begins again.
    Series(usize),
    /// Text and medians.
    Text,
    /// Notes and single rounds.
    Muted,
    /// What the drive at hand is compared with.
    Range,
}

/// Against which axis a layer is drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum YAxis {
    /// The axis at the left.
    #[default]
    Left,
    /// The second axis, at the right.
    Right,
}

/// A place in units of the axes.
pub type Point = (f64, f64);

/// How a line goes from one point to the next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Course {
    /// Straight.
    Straight,
    /// At the height of the first point until the next one.
    Steps,
}

/// A mark with its 95 % interval.
#[derive(Debug, Clone, PartialEq)]
pub struct PlotMark {
    /// Where it stands.
    pub at: Point,
    /// Both ends of the interval along `interval_along`; equal ends draw none.
    pub interval: (f64, f64),
    /// The direction of the interval.
    pub interval_along: Along,
    /// Whether the mark is filled.
    pub is_filled: bool,
}

impl PlotMark {
    /// A filled mark without an interval.
    pub fn point(at: Point) -> Self {
        Self { at, interval: (at.1, at.1), interval_along: Along::Y, is_filled: true }
    }

    /// A metric in a row, filled, with its interval.
    pub fn in_row(metric: &Metric, row: usize) -> Self {
        let (at, interval) = ((metric.value, row as f64), (metric.low, metric.high));
        Self { at, interval, interval_along: Along::X, is_filled: true }
    }

    /// A metric above a place of the axis below, filled, with its interval.
    pub fn above(x: f64, metric: &Metric) -> Self {
        let (at, interval) = ((x, metric.value), (metric.low, metric.high));
        Self { at, interval, interval_along: Along::Y, is_filled: true }
    }
}

/// A direction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Along {
    /// From left to right.
    X,
    /// From bottom to top.
    Y,
}

/// Where a text stands beside its point.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Beside {
    /// To the right of the plot, at the height of the point; such texts are pushed apart.
    LineEnd,
    /// To the right of the point, at its height; the plot leaves room for it.
    Right,
    /// Above the point, centred.
    Above,
    /// Above it, and to its right.
    AboveRight,
    /// Above it, and to its left.
    AboveLeft,
    /// Below it, centred.
    Below,
}

/// What stands in a plot, the first farthest back.
#[derive(Debug, Clone, PartialEq)]
pub enum Layer {
    /// A curve.
    Line {
        /// In the order of `x`; a point that is NaN or infinite interrupts the line.
        points: Vec<Point>,
        /// Its colour.
        ink: Ink,
        /// How it goes.
        course: Course,
        /// Fine lines are single rounds behind their median.
        is_fine: bool,
        /// Its axis.
        axis: YAxis,
    },
    /// Many small dots.
    Dots {
        /// In any order.
        points: Vec<Point>,
        /// Their colour.
        ink: Ink,
        /// Their axis.
        axis: YAxis,
    },
    /// Few marks, each with an interval. The shape follows the ink.
    Marks {
        /// The marks.
        marks: Vec<PlotMark>,
        /// Colour and shape.
        ink: Ink,
    },
    /// A shaded stretch of the x axis with a word on top.
    Band {
        /// Its left and right end.
        from_to: (f64, f64),
        /// What it says.
        text: String,
    },
    /// A vertical line with a word beside it.
    Rule {
        /// Where it stands.
        x: f64,
        /// What it says.
        text: String,
    },
    /// A horizontal bar of text height between two places: a median over a stretch.
    Level {
        /// Left and right end.
        from_to: (f64, f64),
        /// Its height.
        y: f64,
    },
    /// A thick bar in a row: from the least to the most of many.
    Span {
        /// Left and right end.
        from_to: (f64, f64),
        /// Its row.
        y: f64,
        /// Its colour.
        ink: Ink,
    },
    /// A bar of text height in a row, from 0 to its value, and a whisker over its interval where that shows.
    Bar {
        /// Its value and its row.
        at: Point,
        /// Both ends of the interval.
        interval: (f64, f64),
        /// Its colour.
        ink: Ink,
    },
    /// A filled field of a map, its shade by `share` (0 light, 1 dark), with a text inside.
    Field {
        /// Left and right end.
        x: (f64, f64),
        /// Lower and upper end.
        y: (f64, f64),
        /// How dark it is.
        share: f64,
        /// What stands in it.
        text: String,
    },
    /// A text at a point. It moves up or down to be legible, or is left out.
    Text {
        /// The point it belongs to.
        at: Point,
        /// One line.
        text: String,
        /// Its colour.
        ink: Ink,
        /// Where it stands.
        beside: Beside,
        /// The axis of the point.
        axis: YAxis,
    },
}

impl Layer {
    /// The field of a map with rows and columns.
    pub fn field(column: usize, row: usize, share: f64, text: String) -> Self {
        let around = |at: usize| (at as f64 - 0.5, at as f64 + 0.5);
        Self::Field { x: around(column), y: around(row), share, text }
    }
}

/// Axes and layers.
#[derive(Debug, Clone, PartialEq)]
pub struct Plot {
    /// The axis below.
    pub x: PlotAxis,
    /// The axis at the left.
    pub y: PlotAxis,
    /// A second axis at the right, if it has one.
    pub right: Option<PlotAxis>,
    /// From back to front.
    pub layers: Vec<Layer>,
    /// Whether it is a few rows of text height, in a picture as high as they need.
    pub is_compact: bool,
    /// What is drawn with an ink, for those who point at it.
    pub names: Vec<(Ink, String)>,
}

impl Plot {
    /// A plot without anything in it.
    pub fn new(x: PlotAxis, y: PlotAxis) -> Self {
        Self { x, y, right: None, layers: Vec::new(), is_compact: false, names: Vec::new() }
    }

    /// With one more layer in front.
    pub fn with(mut self, layer: Layer) -> Self {
        self.layers.push(layer);
        self
    }

    /// With a name for what is drawn with this ink.
    pub fn named(mut self, ink: Ink, name: impl Into<String>) -> Self {
        self.names.push((ink, name.into()));
        self
    }

    /// With a bold curve in front.
    pub fn with_curve(self, points: Vec<Point>, ink: Ink, course: Course, axis: YAxis) -> Self {
        self.with(Layer::Line { points, ink, course, is_fine: false, axis })
    }

    /// With a curve of straight lines in front, on the left axis.
    pub fn with_line(self, points: Vec<Point>, ink: Ink) -> Self {
        self.with_curve(points, ink, Course::Straight, YAxis::Left)
    }

    /// With a curve of steps in front, on the left axis.
    pub fn with_steps(self, points: Vec<Point>, ink: Ink) -> Self {
        self.with_curve(points, ink, Course::Steps, YAxis::Left)
    }

    /// With the heights of both ends of a curve beside them, each followed by its words.
    pub fn with_ends(self, [first, last]: [Point; 2], words: [&str; 2], ink: Ink) -> Self {
        self.with_rates_at([first, last], [first.1, last.1], words, ink)
    }

    /// The same with the rates that are called those of the ends.
    pub fn with_rates_at(
        self,
        [first, last]: [Point; 2],
        [start, end]: [f64; 2],
        words: [&str; 2],
        ink: Ink,
    ) -> Self {
        let [begin, end] = [(start, words[0]), (end, words[1])]
            .map(|(rate, words)| format!("{} {words}", rounded(rate)));
        self.with_text(first, begin, ink, Beside::AboveRight).with_text(
            last,
            end,
            ink,
            Beside::AboveLeft,
        )
    }

    /// With a text in front, on the left axis.
    pub fn with_text(self, at: Point, text: impl Into<String>, ink: Ink, beside: Beside) -> Self {
        self.with(Layer::Text { at, text: text.into(), ink, beside, axis: YAxis::Left })
    }
}
