//! A plot as data: axes, and what stands between them. Workloads make plots; [`svg`](mod@super::svg) draws them.

use super::axis::PlotAxis;
use drivescope_model::Metric;
use drivescope_model::number::rounded;

/// The meaning of a colour. Drives and series take [`Ink::Series`] in their order on a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ink {
    /// The first to the fifth drive or series; the sixth starts again.
    Series(usize),
    /// Text and medians.
    Text,
    /// Notes and single rounds.
    Muted,
    /// What the drive at hand is compared with.
    Range,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum YAxis {
    #[default]
    Left,
    Right,
}

/// In units of the axes.
pub type Point = (f64, f64);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Course {
    Straight,
    /// The height of a point holds until the next one.
    Steps,
}

#[derive(Debug, Clone, PartialEq)]
pub struct PlotMark {
    pub at: Point,
    /// Both ends of the interval along `interval_along`; equal ends draw none.
    pub interval: (f64, f64),
    pub interval_along: Along,
    pub outline: MarkOutline,
}

/// How a mark is drawn. Two quantities of one series differ in it, not only in place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MarkOutline {
    Filled,
    Open,
    /// An upright line.
    Stroke,
}

impl PlotMark {
    pub fn point(at: Point) -> Self {
        Self { at, interval: (at.1, at.1), interval_along: Along::Y, outline: MarkOutline::Filled }
    }

    pub fn in_row(metric: &Metric, row: usize) -> Self {
        let (at, interval) = ((metric.value, row as f64), (metric.low, metric.high));
        Self { at, interval, interval_along: Along::X, outline: MarkOutline::Filled }
    }

    pub fn above(x: f64, metric: &Metric) -> Self {
        let (at, interval) = ((x, metric.value), (metric.low, metric.high));
        Self { at, interval, interval_along: Along::Y, outline: MarkOutline::Filled }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Along {
    X,
    Y,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Beside {
    /// To the right of the plot, at the height of the point; such texts are pushed apart.
    LineEnd,
    /// To the right of the point, at its height; the plot leaves room for it.
    Right,
    /// To the left of the point, at its height; above it where there is no room.
    Left,
    /// Above the point, centred.
    Above,
    AboveRight,
    AboveLeft,
    Below,
}

#[derive(Debug, Clone, PartialEq)]
pub enum Layer {
    Line {
        /// Sorted by `x`; a point that is not finite interrupts the line.
        points: Vec<Point>,
        ink: Ink,
        course: Course,
        /// Fine lines show single rounds under their median.
        is_fine: bool,
        axis: YAxis,
    },
    Dots {
        points: Vec<Point>,
        ink: Ink,
        axis: YAxis,
    },
    /// Marks with intervals. The shape follows the ink.
    Marks {
        marks: Vec<PlotMark>,
        ink: Ink,
    },
    /// A shaded stretch of the x axis with a word at the top.
    Band {
        from_to: (f64, f64),
        text: String,
    },
    Rule {
        x: f64,
        text: String,
    },
    /// A horizontal bar of text height: a median over a stretch.
    Level {
        from_to: (f64, f64),
        y: f64,
    },
    /// A thick bar in a row: the range of many values.
    Span {
        from_to: (f64, f64),
        y: f64,
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
        x: (f64, f64),
        y: (f64, f64),
        share: f64,
        text: String,
    },
    /// A heading of the rows below it, from the left border of the picture.
    RowHead {
        row: usize,
        text: String,
    },
    /// A text that moves up or down to be legible, or is omitted.
    Text {
        at: Point,
        text: String,
        ink: Ink,
        beside: Beside,
        axis: YAxis,
    },
}

impl Layer {
    pub fn field(column: usize, row: usize, share: f64, text: String) -> Self {
        let around = |at: usize| (at as f64 - 0.5, at as f64 + 0.5);
        Self::Field { x: around(column), y: around(row), share, text }
    }
}

#[derive(Debug, Clone, PartialEq)]
pub struct Plot {
    pub x: PlotAxis,
    pub y: PlotAxis,
    pub right: Option<PlotAxis>,
    /// From back to front.
    pub layers: Vec<Layer>,
    /// A few rows of text height, in a picture only as high as they need.
    pub is_compact: bool,
    /// Names of inks, shown at the pointer.
    pub names: Vec<(Ink, String)>,
}

impl Plot {
    pub fn new(x: PlotAxis, y: PlotAxis) -> Self {
        Self { x, y, right: None, layers: Vec::new(), is_compact: false, names: Vec::new() }
    }

    pub fn with(mut self, layer: Layer) -> Self {
        self.layers.push(layer);
        self
    }

    pub fn named(mut self, ink: Ink, name: impl Into<String>) -> Self {
        self.names.push((ink, name.into()));
        self
    }

    pub fn with_curve(self, points: Vec<Point>, ink: Ink, course: Course, axis: YAxis) -> Self {
        self.with(Layer::Line { points, ink, course, is_fine: false, axis })
    }

    pub fn with_line(self, points: Vec<Point>, ink: Ink) -> Self {
        self.with_curve(points, ink, Course::Straight, YAxis::Left)
    }

    pub fn with_steps(self, points: Vec<Point>, ink: Ink) -> Self {
        self.with_curve(points, ink, Course::Steps, YAxis::Left)
    }

    /// Adds the heights of both ends of a curve beside them, each followed by its words.
    pub fn with_ends(self, [first, last]: [Point; 2], words: [&str; 2], ink: Ink) -> Self {
        self.with_rates_at([first, last], [first.1, last.1], words, ink)
    }

    /// The same with the rates that are called those of the ends, at their heights.
    pub fn with_rates_at(
        self,
        [first, last]: [Point; 2],
        [start, end]: [f64; 2],
        words: [&str; 2],
        ink: Ink,
    ) -> Self {
        let [begin, words_at_end] = [(start, words[0]), (end, words[1])]
            .map(|(rate, words)| format!("{} {words}", rounded(rate)));
        self.with_text((first.0, start), begin, ink, Beside::AboveRight).with_text(
            (last.0, end),
            words_at_end,
            ink,
            Beside::AboveLeft,
        )
    }

    pub fn with_text(self, at: Point, text: impl Into<String>, ink: Ink, beside: Beside) -> Self {
        self.with(Layer::Text { at, text: text.into(), ink, beside, axis: YAxis::Left })
    }
}
