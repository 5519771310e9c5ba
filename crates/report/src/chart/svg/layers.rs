//! What stands in a plot: lines, dots, marks with intervals, bands, and texts that find their place.

use super::element::{SvgText, number};
use super::frame::{Frame, MARGIN, SMALL_TYPE, TYPE, line};
use super::theme::{Theme, class, mark_path};
use super::{PictureSize, moved_to, pointed};
use crate::chart::plot::{
    Along, Beside, Course, Ink, Layer, MarkOutline, Plot, PlotMark, Point, YAxis,
};
use crate::chart::text_box::{PlacedTexts, TextBox, line_height, pushed_apart, text_width};
use std::collections::BTreeSet;
use std::fmt::Write as _;

/// Dots of a layer where many pictures share a page: an even sample, which the page states.
pub const FOLDED_DOTS_MAX: usize = 300;

/// The same on the page of one run, in wide pictures and in narrow ones.
pub const PAGE_DOTS_MAX: usize = 900;
const NARROW_DOTS_MAX: usize = 300;

/// In narrow pictures, curves of more points show no values: there a finger covers several.
const NARROW_VALUES_MAX: usize = 60;

const GAP: f64 = 8.0;

/// Height of a bar, in pixels.
const BAR_HEIGHT: f64 = 12.0;

/// Intervals narrower than this share of their value are drawn by no whisker: it would hide in the bar's end.
const WHISKER_MIN: f64 = 0.02;

/// A mark that is an upright line, as high as others are wide.
const STROKE_PATH: &str = "M0 -7V7";

/// Distance of the places that a line takes, in pixels.
const LINE_STEP: f64 = 6.0;

/// Points nearer than this, in pixels, are one: a line is twice as wide.
const APART_MIN: f64 = 1.0;

/// The same of fine lines, of which many lie over each other.
const FINE_APART_MIN: f64 = 2.0;

/// Draws layers into a frame, and their texts at the end, so that nothing covers them.
pub struct Pen<'a> {
    plot: &'a Plot,
    frame: Frame,
    is_pointed_at: bool,
    dots_max: usize,
    values_max: usize,
    out: &'a mut SvgText,
    placed: PlacedTexts,
}

impl<'a> Pen<'a> {
    /// A pen for this plot. What a theme asks for besides colours: values at the marks, or few dots.
    pub fn new(
        plot: &'a Plot,
        frame: Frame,
        (theme, size): (Theme, PictureSize),
        out: &'a mut SvgText,
    ) -> Self {
        let is_pointed_at = theme == Theme::Page;
        let is_narrow = size.width <= PictureSize::NARROW.width;
        let (dots_max, values_max) = match theme {
            Theme::FoldedPage => (FOLDED_DOTS_MAX, 0),
            Theme::Page if is_narrow => (NARROW_DOTS_MAX, NARROW_VALUES_MAX),
            Theme::Page => (PAGE_DOTS_MAX, usize::MAX),
            _ => (usize::MAX, 0),
        };
        let placed = PlacedTexts::default();
        Self { plot, frame, is_pointed_at, dots_max, values_max, out, placed }
    }

    pub fn draw(&mut self, layer: &Layer) {
        match layer {
            Layer::Line { points, ink, course, is_fine, axis } => {
                let apart = if *is_fine { FINE_APART_MIN } else { APART_MIN };
                let (path, drawn) = self.path(points, *course, *axis, apart);
                if !is_fine {
                    self.keep_clear(points, *axis);
                }
                let class = format!("line {}{}", class(*ink), if *is_fine { " fine" } else { "" });
                let mut attributes = vec![("class", class), ("d", path)];
                let is_told = self.is_pointed_at && drawn.len() <= self.values_max;
                if is_told && !is_fine && !self.has_marks(*ink) {
                    attributes.extend(pointed::values(self.plot, &drawn, *ink, *axis));
                }
                self.element("path", &attributes);
            }
            Layer::Dots { points, ink, axis } => self.dots(points, *ink, *axis),
            Layer::Marks { marks, ink } => marks.iter().for_each(|mark| self.mark(mark, *ink)),
            Layer::Band { from_to, .. } => {
                let (left, right) = (self.frame.x(from_to.0), self.frame.x(from_to.1));
                let area = self.frame.area;
                self.rectangle("band range", (left, right), (area.top, area.bottom));
            }
            Layer::Rule { x, .. } => {
                let (x, area) = (self.frame.x(*x), self.frame.area);
                line(self.out, "rule muted", (x, area.top), (x, area.bottom));
                self.placed.avoid(TextBox {
                    left: x,
                    top: area.top,
                    right: x,
                    bottom: area.bottom,
                });
            }
            Layer::Level { from_to, y } => {
                let [left, right] = [from_to.0, from_to.1].map(|x| self.frame.x(x));
                let y = self.frame.y(*y, YAxis::Left);
                line(self.out, "level text", (left, y), (right, y));
            }
            Layer::Span { from_to, y, ink } => self.span(*from_to, *y, *ink),
            Layer::Bar { at, interval, ink } => self.bar(*at, *interval, *ink),
            Layer::Field { x, y, share, .. } => self.field(*x, *y, *share),
            Layer::RowHead { .. } | Layer::Text { .. } => {}
        }
    }

    /// Draws all texts: those at line ends pushed apart, the others where they are free.
    pub fn draw_texts(&mut self) {
        let plot = self.plot;
        let frame = self.frame;
        let ends = plot.layers.iter().filter_map(|layer| match layer {
            Layer::Text { at, text, ink, beside: Beside::LineEnd, axis } => {
                Some((frame.y(at.1, *axis), text, *ink))
            }
            _ => None,
        });
        let ends: Vec<_> = ends.collect();
        let wanted: Vec<f64> = ends.iter().map(|(y, ..)| *y).collect();
        let bounds = (frame.area.top, frame.area.bottom);
        for ((_, text, ink), y) in ends.iter().zip(pushed_apart(&wanted, line_height(TYPE), bounds))
        {
            self.text(frame.area.right + GAP, y, text, *ink, TYPE);
        }
        for layer in &plot.layers {
            match layer {
                Layer::Text { at, text, ink, beside: Beside::Right, axis } => {
                    let (x, y) = frame.at(*at, *axis);
                    self.text(x + GAP, y, text, *ink, TYPE);
                }
                Layer::Text { at, text, ink, beside: Beside::Left, axis } => {
                    let at = frame.at(*at, *axis);
                    if at.0 - GAP - text_width(text, TYPE) < frame.area.left {
                        self.text_at(at, text, *ink, Beside::AboveLeft);
                    } else {
                        self.anchored(at.0 - GAP, at.1, text, class(*ink), TYPE, "end");
                    }
                }
                Layer::Text { at, text, ink, beside, axis } if *beside != Beside::LineEnd => {
                    self.text_at(frame.at(*at, *axis), text, *ink, *beside);
                }
                Layer::RowHead { row, text } => {
                    let y = frame.y(*row as f64, YAxis::Left);
                    self.text(MARGIN, y, text, Ink::Text, SMALL_TYPE);
                }
                Layer::Band { from_to: (left, right), text } => {
                    let middle = (frame.x(*left) + frame.x(*right)) / 2.0;
                    let at = (middle, frame.area.top + line_height(SMALL_TYPE) + GAP);
                    self.text_at(at, text, Ink::Muted, Beside::Above);
                }
                Layer::Rule { x, text } => {
                    let at = (frame.x(*x), frame.area.top + 2.0 * line_height(TYPE));
                    self.text_at(at, text, Ink::Muted, Beside::AboveRight);
                }
                Layer::Field { x, y, share, text } => {
                    let middle = ((x.0 + x.1) / 2.0, (y.0 + y.1) / 2.0);
                    let (x, y) = frame.at(middle, YAxis::Left);
                    let class = if *share > 0.5 { "ground-text" } else { "in-field text" };
                    self.anchored(x, y, text, class, SMALL_TYPE, "middle");
                }
                _ => {}
            }
        }
    }

    fn element(&mut self, name: &str, attributes: &[(&str, String)]) {
        let attributes: Vec<(&str, &str)> =
            attributes.iter().map(|(key, value)| (*key, value.as_str())).collect();
        self.out.empty(name, &attributes);
    }

    /// Whether marks of this ink carry the values, so that the line that joins them need not.
    fn has_marks(&self, ink: Ink) -> bool {
        let is_of_ink = |layer: &Layer| matches!(layer, Layer::Marks { ink: it, .. } if *it == ink);
        self.plot.layers.iter().any(is_of_ink)
    }

    fn path(
        &self,
        points: &[Point],
        course: Course,
        axis: YAxis,
        apart: f64,
    ) -> (String, Vec<Point>) {
        let (mut path, mut kept) = (String::new(), Vec::new());
        // The last point drawn of the line so far.
        let mut drawn: Option<Point> = None;
        for (i, point) in points.iter().enumerate() {
            if !(point.0.is_finite() && point.1.is_finite()) {
                drawn = None;
                continue;
            }
            let at = self.frame.at(*point, axis);
            // A point too close to the last one drawn is left out; the end of a line never is.
            let is_last = points.get(i + 1).is_none_or(|next| !(next.0 + next.1).is_finite());
            let is_near = |from: Point| (at.0 - from.0).hypot(at.1 - from.1) < apart;
            if drawn.is_some_and(is_near) && !is_last {
                continue;
            }
            let (x, y) = (number(at.0), number(at.1));
            let _ = match (drawn.is_some(), course) {
                (false, _) => write!(path, "M{x} {y}"),
                (true, Course::Straight) => write!(path, "L{x} {y}"),
                (true, Course::Steps) => write!(path, "H{x}V{y}"),
            };
            drawn = Some(at);
            kept.push(*point);
        }
        (path, kept)
    }

    /// Keeps texts off a line: its places a few pixels apart are taken.
    fn keep_clear(&mut self, points: &[Point], axis: YAxis) {
        for pair in points.windows(2) {
            let (from, to) = (self.frame.at(pair[0], axis), self.frame.at(pair[1], axis));
            let length = (to.0 - from.0).hypot(to.1 - from.1);
            let steps = (length / LINE_STEP).ceil().clamp(1.0, 200.0);
            for i in 0..=steps as usize {
                let share = i as f64 / steps;
                let place = (from.0 + share * (to.0 - from.0), from.1 + share * (to.1 - from.1));
                self.placed.take(TextBox::point(place));
            }
        }
    }

    /// One path of many points of no length, drawn with round ends.
    fn dots(&mut self, points: &[Point], ink: Ink, axis: YAxis) {
        let mut path = String::new();
        let (mut places, mut drawn) = (BTreeSet::new(), Vec::new());
        let every = points.len().div_ceil(self.dots_max).max(1);
        let points = points.iter().filter(|point| point.0.is_finite() && point.1.is_finite());
        for point in points.step_by(every) {
            let (x, y) = self.frame.at(*point, axis);
            // One on top of another is not seen.
            if !places.insert(((x / APART_MIN) as i64, (y / APART_MIN) as i64)) {
                continue;
            }
            drawn.push(*point);
            let _ = write!(path, "M{} {}h0", number(x), number(y));
        }
        let class = format!("line fine dots {}", class(ink));
        let mut attributes = vec![("class", class), ("d", path)];
        if self.is_pointed_at && drawn.len() <= self.values_max {
            attributes.extend(pointed::values(self.plot, &drawn, ink, axis));
        }
        self.element("path", &attributes);
    }

    fn mark(&mut self, mark: &PlotMark, ink: Ink) {
        let at = self.frame.at(mark.at, YAxis::Left);
        let (low, high) = mark.interval;
        if low < high {
            self.interval(mark, ink);
        }
        let (kind, path) = match mark.outline {
            MarkOutline::Filled => ("fill rim", mark_path(ink)),
            MarkOutline::Open => ("open", mark_path(ink)),
            MarkOutline::Stroke => ("line", STROKE_PATH),
        };
        let class = format!("{kind} {}", class(ink));
        self.placed.take(TextBox::mark(at));
        let path = path.to_string();
        let mut attributes =
            vec![("class", class), ("transform", moved_to(at.0, at.1)), ("d", path)];
        if self.is_pointed_at {
            attributes.extend(pointed::mark_value(self.plot, mark.at, mark.interval, ink));
        }
        self.element("path", &attributes);
    }

    /// The interval of a mark, with an arrow where it leaves the axis.
    fn interval(&mut self, mark: &PlotMark, ink: Ink) {
        let frame = self.frame;
        let at = frame.at(mark.at, YAxis::Left);
        let ends = match mark.interval_along {
            Along::X => [mark.interval.0, mark.interval.1].map(|end| {
                let (end, is_beyond) = frame.clamped_x(end);
                (frame.x(end), at.1, is_beyond)
            }),
            Along::Y => [mark.interval.0, mark.interval.1].map(|end| {
                let (end, is_beyond) = frame.clamped_y(end);
                (at.0, frame.y(end, YAxis::Left), is_beyond)
            }),
        };
        let class = format!("interval {}", class(ink));
        let [(x1, y1, _), (x2, y2, _)] = ends;
        line(self.out, &class, (x1, y1), (x2, y2));
        for (x, y, is_beyond) in ends {
            if is_beyond {
                let angle = (y - at.1).atan2(x - at.0).to_degrees();
                let place = format!("{} rotate({})", moved_to(x, y), number(angle));
                let class = format!("line {class}");
                let path = "M-6 -4L0 0L-6 4";
                self.out.empty("path", &[("class", &class), ("transform", &place), ("d", path)]);
            }
        }
    }

    fn span(&mut self, (from, to): (f64, f64), y: f64, ink: Ink) {
        let (left, right) = (self.frame.x(from), self.frame.x(to));
        let height = number(self.frame.y(y, YAxis::Left));
        // One drive alone is a dot.
        let path = format!("M{} {height}H{}", number(left), number(right.max(left + 0.1)));
        let mut attributes = vec![("class", format!("span {}", class(ink))), ("d", path)];
        if self.is_pointed_at {
            attributes.extend(pointed::values(self.plot, &[(from, y), (to, y)], ink, YAxis::Left));
        }
        self.element("path", &attributes);
    }

    fn bar(&mut self, (value, row): Point, (low, high): (f64, f64), ink: Ink) {
        let (left, right) = (self.frame.x(0.0), self.frame.x(value));
        let middle = self.frame.y(row, YAxis::Left);
        let half = BAR_HEIGHT / 2.0;
        let class = format!("fill {}", class(ink));
        self.rectangle(&class, (left, right), (middle - half, middle + half));
        if high - low > WHISKER_MIN * value {
            let ends = [low, high].map(|end| self.frame.x(self.frame.clamped_x(end).0));
            line(self.out, "rule text", (ends[0], middle), (ends[1], middle));
        }
    }

    fn field(&mut self, x: (f64, f64), y: (f64, f64), share: f64) {
        let (left, bottom) = self.frame.at((x.0, y.0), YAxis::Left);
        let (right, top) = self.frame.at((x.1, y.1), YAxis::Left);
        let (top, bottom) = (top.min(bottom), top.max(bottom));
        let opacity = format!("{:.2}", 0.08 + 0.92 * share.clamp(0.0, 1.0));
        let attributes = [
            ("class", "fill s0"),
            ("x", &number(left + 0.5)),
            ("y", &number(top + 0.5)),
            ("width", &number(right - left - 1.0)),
            ("height", &number(bottom - top - 1.0)),
            ("opacity", &opacity),
        ];
        self.out.empty("rect", &attributes);
    }

    fn rectangle(&mut self, class: &str, x: (f64, f64), y: (f64, f64)) {
        let attributes = [
            ("class", class),
            ("x", &number(x.0)),
            ("y", &number(y.0)),
            ("width", &number(x.1 - x.0)),
            ("height", &number(y.1 - y.0)),
        ];
        self.out.empty("rect", &attributes);
    }

    /// A text beside a place of the picture, or on its other side, if it finds room within the plot.
    fn text_at(&mut self, at: Point, text: &str, ink: Ink, beside: Beside) {
        let width = text_width(text, TYPE);
        let middle = if beside == Beside::Below {
            at.1 + line_height(TYPE)
        } else {
            at.1 - line_height(TYPE)
        };
        let (right, left) = ((at.0 + GAP / 2.0, "start"), (at.0 - GAP / 2.0 - width, "end"));
        let area = self.frame.area;
        let centred = (at.0 - width / 2.0).min(area.right - width).max(area.left);
        let sides = match beside {
            Beside::Above => vec![(centred, "middle")],
            Beside::Below => vec![(centred, "middle"), right, left],
            Beside::AboveLeft | Beside::Left => vec![left, right],
            Beside::AboveRight | Beside::LineEnd | Beside::Right => vec![right, left],
        };
        let wanted: Vec<TextBox> =
            sides.iter().map(|(left, _)| TextBox::around(*left, middle, text, TYPE)).collect();
        let Some((side, place)) = self.placed.place(&wanted, &area) else { return };
        // The box is as wide as the widest font makes the text: a narrower one stays beside its point.
        let anchor = sides[side].1;
        let x = match anchor {
            "start" => place.left,
            "end" => place.right,
            _ => (place.left + place.right) / 2.0,
        };
        self.anchored(x, (place.top + place.bottom) / 2.0, text, class(ink), TYPE, anchor);
    }

    fn text(&mut self, x: f64, middle: f64, words: &str, ink: Ink, size: f64) {
        self.anchored(x, middle, words, class(ink), size, "start");
    }

    fn anchored(&mut self, x: f64, middle: f64, words: &str, class: &str, size: f64, anchor: &str) {
        // What stands in a field needs no ground of its own.
        let class = match class {
            "ground-text" | "in-field text" => class.to_string(),
            _ => format!("halo {class}"),
        };
        let attributes = [
            ("class", class.as_str()),
            ("x", &number(x)),
            ("y", &number(middle + size * 0.35)),
            ("font-size", &number(size)),
            ("font-weight", "600"),
            ("text-anchor", anchor),
        ];
        self.out.with_text("text", &attributes, words);
    }
}
