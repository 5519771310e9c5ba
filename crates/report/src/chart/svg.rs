//! Draws a plot as SVG: a self-contained picture without scripts, for pages and for files.

mod element;
mod frame;
mod layers;
mod pointed;
mod strips;
mod theme;

pub(super) use frame::Frame;
pub use layers::{FOLDED_DOTS_MAX, PAGE_DOTS_MAX};
pub use strips::{Strip, StripRange, strips_svg};
pub use theme::{Theme, page_colours};

use super::Chart;
use super::axis::AxisScale;
use element::{SvgText, number};
use layers::Pen;

/// How large a picture is, in CSS pixels; its type keeps its size.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PictureSize {
    pub width: u32,
    pub height: u32,
}

impl PictureSize {
    /// On a page and in print.
    pub const WIDE: Self = Self { width: 620, height: 320 };
    /// On a phone.
    pub const NARROW: Self = Self { width: 340, height: 300 };

    /// The same width with the height that a chart needs: that of its rows, if they are compact or many.
    pub fn fitting(self, chart: &Chart) -> Self {
        let AxisScale::Rows(rows) = chart.plot.y.scale else { return self };
        let height = |row| AROUND_ROWS + row * rows as u32;
        if chart.plot.is_compact {
            Self { height: height(ROW_HEIGHT), ..self }
        } else {
            Self { height: self.height.max(height(MARKED_ROW_HEIGHT)), ..self }
        }
    }
}

/// Height of a row of marks or text, of one of marks with their values, and what axis and title take besides.
const ROW_HEIGHT: u32 = 19;
const MARKED_ROW_HEIGHT: u32 = 30;
const AROUND_ROWS: u32 = 62;

/// A chart as an SVG document: `role="img"` with title and description, sized by its view box.
///
/// With [`Theme::Page`] it carries the values of its marks, which the page's script shows at the pointer.
pub fn svg(chart: &Chart, size: PictureSize, theme: Theme) -> String {
    let PictureSize { width, height } = size;
    let (width_px, height_px) = (width.to_string(), height.to_string());
    let view = format!("0 0 {width} {height}");
    let frame = Frame::new(&chart.plot, size);
    let is_pointed_at = theme == Theme::Page;
    let axes = if is_pointed_at { pointed::axes(&chart.plot, &frame) } else { Vec::new() };
    let mut attributes = vec![
        ("xmlns", "http://www.w3.org/2000/svg"),
        ("viewBox", &view),
        ("width", &width_px),
        ("height", &height_px),
        ("role", "img"),
    ];
    attributes.extend(axes.iter().map(|(key, value)| (*key, value.as_str())));
    let mut out = SvgText::default();
    out.open("svg", &attributes);
    out.with_text("title", &[], &chart.title);
    out.with_text("desc", &[], &chart.description);
    if !matches!(theme, Theme::Page | Theme::FoldedPage) {
        out.style(&theme::style_sheet(theme));
    }
    let ground = [("class", "ground"), ("width", width_px.as_str()), ("height", &height_px)];
    out.empty("rect", &ground);
    frame.draw(&chart.plot, &mut out);
    let mut pen = Pen::new(&chart.plot, frame, (theme, size), &mut out);
    for layer in &chart.plot.layers {
        pen.draw(layer);
    }
    pen.draw_texts();
    out.close("svg");
    out.finish()
}

fn moved_to(x: f64, y: f64) -> String {
    format!("translate({} {})", number(x), number(y))
}
