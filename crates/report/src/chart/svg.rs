//! Draws a plot as SVG: a self-contained picture without scripts, for pages and for files.

mod element;
mod frame;
mod layers;
mod theme;

pub use theme::{Theme, page_colours};

use super::Chart;
use element::{SvgText, number};
use frame::Frame;
use layers::Pen;

/// How large a picture is, in CSS pixels; its type keeps its size.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PictureSize {
    /// From left to right.
    pub width: u32,
    /// From top to bottom.
    pub height: u32,
}

impl PictureSize {
    /// On a page and in print.
    pub const WIDE: Self = Self { width: 620, height: 320 };
    /// On a phone.
    pub const NARROW: Self = Self { width: 340, height: 300 };
}

/// A chart as an SVG document: `role="img"` with title and description, sized by its view box.
pub fn svg(chart: &Chart, size: PictureSize, theme: Theme) -> String {
    let PictureSize { width, height } = size;
    let (width_px, height_px) = (width.to_string(), height.to_string());
    let mut out = SvgText::default();
    out.open(
        "svg",
        &[
            ("xmlns", "http://www.w3.org/2000/svg"),
            ("viewBox", &format!("0 0 {width} {height}")),
            ("width", &width_px),
            ("height", &height_px),
            ("role", "img"),
        ],
    );
    out.with_text("title", &[], &chart.title);
    out.with_text("desc", &[], &chart.description);
    if theme != Theme::Page {
        out.style(&theme::style_sheet(theme));
    }
    let ground = [("class", "ground"), ("width", width_px.as_str()), ("height", &height_px)];
    out.empty("rect", &ground);
    let frame = Frame::new(&chart.plot, size);
    frame.draw(&chart.plot, &mut out);
    let mut pen = Pen::new(&chart.plot, frame, &mut out);
    for layer in &chart.plot.layers {
        pen.draw(layer);
    }
    pen.draw_texts();
    out.close("svg");
    out.finish()
}

/// A translation, as an attribute.
fn moved_to(x: f64, y: f64) -> String {
    format!("translate({} {})", number(x), number(y))
}
