//! The frame of a plot: where it stands in the picture, its axes, ticks and grid.

use super::PictureSize;
use super::element::{SvgText, number};
use crate::chart::axis::{AxisScale, PlotAxis, Tick};
use crate::chart::plot::{Beside, Ink, Layer, Plot, Point, YAxis};
use crate::chart::text_box::{TextBox, line_height, text_width};

/// Size of the type at ticks and axes.
pub const SMALL_TYPE: f64 = 11.0;
/// Size of texts in the plot.
pub const TYPE: f64 = 12.0;
/// Between texts and the border of the picture.
pub const MARGIN: f64 = 6.0;
/// Length of a tick, and distance of texts from what they name.
const TICK: f64 = 4.0;
/// Titles are regular type, narrower than the widest bold.
const TITLE_SLACK: f64 = 0.9;
const BETWEEN_TICKS: f64 = 8.0;

/// Where the plot stands in the picture, and how values become places.
#[derive(Debug, Clone, Copy)]
pub struct Frame {
    /// The plot itself, without axes.
    pub area: TextBox,
    x: AxisScale,
    y: AxisScale,
    right: AxisScale,
}

impl Frame {
    /// The largest plot that leaves room for axes and for texts at the ends of lines.
    pub fn new(plot: &Plot, size: PictureSize) -> Self {
        let widest = |texts: &mut dyn Iterator<Item = &str>, size: f64| {
            texts.map(|text| text_width(text, size)).fold(0.0, f64::max)
        };
        let of_ticks = |axis: &PlotAxis| {
            let mut texts = axis.ticks.iter().map(|tick| tick.text.as_str());
            widest(&mut texts, SMALL_TYPE) + TICK + MARGIN
        };
        let mut ends = plot.layers.iter().filter_map(|layer| match layer {
            Layer::Text { text, beside: Beside::LineEnd | Beside::Right, .. } => {
                Some(text.as_str())
            }
            _ => None,
        });
        let line_ends = widest(&mut ends, TYPE) + 2.0 * TICK;
        let last_tick =
            plot.x.ticks.last().map_or(0.0, |tick| text_width(&tick.text, SMALL_TYPE) / 2.0);
        let right_margin = plot.right.as_ref().map_or(line_ends, of_ticks).max(last_tick + MARGIN);
        let area = TextBox {
            left: of_ticks(&plot.y),
            top: MARGIN + lines_above(plot) * line_height(SMALL_TYPE),
            right: f64::from(size.width) - right_margin,
            bottom: f64::from(size.height) - MARGIN - 2.0 * line_height(SMALL_TYPE) - TICK,
        };
        let right = plot.right.as_ref().map_or(plot.y.scale, |axis| axis.scale);
        Self { area, x: plot.x.scale, y: plot.y.scale, right }
    }

    pub fn x(&self, value: f64) -> f64 {
        self.area.left + self.x.share(value) * (self.area.right - self.area.left)
    }

    /// Where a value of an upright axis stands. Rows go down, values up.
    pub fn y(&self, value: f64, axis: YAxis) -> f64 {
        let scale = if axis == YAxis::Right { self.right } else { self.y };
        let share = scale.share(value);
        let down = if matches!(scale, AxisScale::Rows(_)) { share } else { 1.0 - share };
        self.area.top + down * (self.area.bottom - self.area.top)
    }

    pub fn at(&self, point: Point, axis: YAxis) -> Point {
        (self.x(point.0), self.y(point.1, axis))
    }

    /// A value moved to the nearest that its axis has, and whether it was moved.
    pub fn clamped_x(&self, value: f64) -> (f64, bool) {
        let clamped = self.x.clamp(value);
        (clamped, clamped != value)
    }

    pub fn clamped_y(&self, value: f64) -> (f64, bool) {
        let clamped = self.y.clamp(value);
        (clamped, clamped != value)
    }

    pub fn draw(&self, plot: &Plot, out: &mut SvgText) {
        let TextBox { left, top, right, bottom } = self.area;
        // A line would run through the numbers in fields, and through the heading of rows.
        let has_fields = plot.layers.iter().any(|layer| matches!(layer, Layer::Field { .. }));
        for tick in self.upright_ticks(&plot.y) {
            let y = self.y(tick.at, YAxis::Left);
            if !has_fields && !tick.text.is_empty() {
                line(out, "rule grid", (left, y), (right, y));
            }
            text(out, "muted", left - TICK, y, "end", &tick.text);
        }
        let left_ink = ink_of(plot, YAxis::Left);
        let title_y = top - line_height(SMALL_TYPE);
        if !plot.y.title.is_empty() {
            text(out, left_ink, MARGIN, title_y, "start", &plot.y.title);
        }
        if let Some(axis) = &plot.right {
            let ink = ink_of(plot, YAxis::Right);
            for tick in self.upright_ticks(axis) {
                text(out, ink, right + TICK, self.y(tick.at, YAxis::Right), "start", &tick.text);
            }
            text(out, ink, right + TICK, title_y, "middle", &axis.title);
        }
        let below = bottom + TICK + line_height(SMALL_TYPE) / 2.0 + 2.0;
        line(out, "rule muted", (left, bottom), (right, bottom));
        for tick in self.level_ticks(&plot.x) {
            let x = self.x(tick.at);
            line(out, "rule muted", (x, bottom), (x, bottom + TICK));
            text(out, "muted", x, below, "middle", &tick.text);
        }
        // A long title begins at the border of the picture instead of before it.
        let end = right.max(MARGIN + text_width(&plot.x.title, SMALL_TYPE) * TITLE_SLACK);
        text(out, "muted", end, below + line_height(SMALL_TYPE), "end", &plot.x.title);
    }

    fn upright_ticks<'a>(&self, axis: &'a PlotAxis) -> Vec<&'a Tick> {
        let place = |tick: &Tick| axis.scale.share(tick.at) * (self.area.bottom - self.area.top);
        spread(&axis.ticks, place, |_| line_height(SMALL_TYPE))
    }

    fn level_ticks<'a>(&self, axis: &'a PlotAxis) -> Vec<&'a Tick> {
        spread(&axis.ticks, |tick| self.x(tick.at), |tick| text_width(&tick.text, SMALL_TYPE))
    }
}

/// What stands above the plot, in lines: half the text of the highest tick, and the title.
pub fn lines_above(plot: &Plot) -> f64 {
    if plot.is_compact && plot.y.title.is_empty() { 0.5 } else { 1.5 }
}

/// Every tick, or every second, fourth … of them, so that their texts stay apart.
fn spread(
    ticks: &[Tick],
    place: impl Fn(&Tick) -> f64,
    extent: impl Fn(&Tick) -> f64,
) -> Vec<&Tick> {
    let mut every = 1;
    loop {
        let kept: Vec<&Tick> = ticks.iter().step_by(every).collect();
        let is_free = |pair: &[&Tick]| {
            let reach = (extent(pair[0]) + extent(pair[1])) / 2.0 + BETWEEN_TICKS / 2.0;
            (place(pair[1]) - place(pair[0])).abs() >= reach
        };
        if kept.windows(2).all(is_free) {
            return kept;
        }
        every += 1;
    }
}

/// The class of what is drawn against one of two axes; muted where there is one only.
fn ink_of(plot: &Plot, wanted: YAxis) -> &'static str {
    if plot.right.is_none() {
        return "muted";
    }
    let ink = plot.layers.iter().find_map(|layer| match layer {
        Layer::Line { ink, axis, .. } | Layer::Dots { ink, axis, .. } if *axis == wanted => {
            Some(*ink)
        }
        _ => None,
    });
    super::theme::class(ink.unwrap_or(Ink::Muted))
}

pub fn line(out: &mut SvgText, class: &str, from: Point, to: Point) {
    let [x1, y1, x2, y2] = [from.0, from.1, to.0, to.1].map(number);
    let ends = [("class", class), ("x1", &x1), ("x2", &x2), ("y1", &y1), ("y2", &y2)];
    out.empty("line", &ends);
}

/// One line of small text, centred at height `middle`.
fn text(out: &mut SvgText, class: &str, x: f64, middle: f64, anchor: &str, words: &str) {
    let size = number(SMALL_TYPE);
    let baseline = number(middle + SMALL_TYPE * 0.35);
    let attributes = [
        ("class", class),
        ("x", &number(x)),
        ("y", &baseline),
        ("font-size", &size),
        ("text-anchor", anchor),
    ];
    out.with_text("text", &attributes, words);
}
