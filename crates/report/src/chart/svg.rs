//! Draws a plot as SVG: a self-contained picture without scripts, for pages and for files.

mod element;
mod frame;
mod layers;
mod pointed;
mod sheet;
mod strips;
mod theme;

pub(super) use frame::Frame;
pub use layers::{FOLDED_DOTS_MAX, PAGE_DOTS_MAX};
pub use sheet::{ChartImprint, exported_svg};
pub use strips::{Strip, StripRange, strips_svg};
pub use theme::{Theme, page_colours};

use super::Chart;
use super::axis::AxisScale;
use super::text_box::line_height;
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
        let above = frame::lines_above(&chart.plot) * line_height(frame::SMALL_TYPE);
        let height = |row| BELOW_ROWS + above.ceil() as u32 + row * rows as u32;
        if chart.plot.is_compact {
            Self { height: height(ROW_HEIGHT), ..self }
        } else {
            Self { height: self.height.max(height(MARKED_ROW_HEIGHT)), ..self }
        }
    }
}

/// Height of a row of marks or text, of one of marks with their values, and what the axis below takes with the margins.
const ROW_HEIGHT: u32 = 19;
const MARKED_ROW_HEIGHT: u32 = 30;
const BELOW_ROWS: u32 = 41;

/// A chart for a page, as an SVG document: `role="img"` with title and description, sized by its view box. The page says
/// what it shows; [`exported_svg`] does so inside the picture.
///
/// With [`Theme::Page`] it carries the values of its marks, which the page's script shows at the pointer.
pub fn svg(chart: &Chart, size: PictureSize, theme: Theme) -> String {
    let is_pointed_at = theme == Theme::Page;
    let frame = Frame::new(&chart.plot, size);
    let axes = if is_pointed_at { pointed::axes(&chart.plot, &frame) } else { Vec::new() };
    let mut out = SvgText::default();
    open_picture(chart, &chart.title, size, theme, &axes, &mut out);
    draw_plot(chart, size, theme, &mut out);
    out.close("svg");
    out.finish()
}

/// Begins a picture of this size: title, description, colours and ground.
fn open_picture(
    chart: &Chart,
    title: &str,
    size: PictureSize,
    theme: Theme,
    axes: &[(&str, String)],
    out: &mut SvgText,
) {
    let PictureSize { width, height } = size;
    let (width_px, height_px) = (width.to_string(), height.to_string());
    let view = format!("0 0 {width} {height}");
    let mut attributes = vec![
        ("xmlns", "http://www.w3.org/2000/svg"),
        ("viewBox", &view),
        ("width", &width_px),
        ("height", &height_px),
        ("role", "img"),
    ];
    attributes.extend(axes.iter().map(|(key, value)| (*key, value.as_str())));
    out.open("svg", &attributes);
    out.with_text("title", &[], title);
    out.with_text("desc", &[], &chart.description);
    if !matches!(theme, Theme::Page | Theme::FoldedPage) {
        out.style(&theme::style_sheet(theme));
    }
    let ground = [("class", "ground"), ("width", width_px.as_str()), ("height", &height_px)];
    out.empty("rect", &ground);
}

fn draw_plot(chart: &Chart, size: PictureSize, theme: Theme, out: &mut SvgText) {
    let frame = Frame::new(&chart.plot, size);
    frame.draw(&chart.plot, out);
    let mut pen = Pen::new(&chart.plot, frame, (theme, size), out);
    for layer in &chart.plot.layers {
        pen.draw(layer);
    }
    pen.draw_texts();
}

fn moved_to(x: f64, y: f64) -> String {
    format!("translate({} {})", number(x), number(y))
}
