//! Building blocks of text for a terminal: colours, widths, paragraphs, tables, drawings.

mod block_chart;
mod figures;
mod paragraph;
mod style;
mod table;
mod width;
mod wrap;

pub use style::{COLUMNS_MAX, Style};
pub use width::{WIDTH, clean, shorten, width};
pub use wrap::wrap;

pub(crate) use block_chart::{block_chart, chart_columns};
pub(crate) use figures::{
    CellRows, Figure, cells, common_limiter, find, find_usable, half_width, headed, texts, value,
};
pub(crate) use paragraph::{DOT, Paragraph, note};
pub(crate) use style::Role;
pub(crate) use table::{Column, TextCell, TextTable};
pub(crate) use width::shorten_apart;

/// Joins texts with a blank line between them; skips empty ones.
pub(crate) fn sections(texts: impl IntoIterator<Item = String>) -> String {
    let texts: Vec<String> = texts.into_iter().filter(|text| !text.is_empty()).collect();
    texts.join("\n")
}
