//! Pure functions from drivescope's documents to text: no I/O, no clock, no terminal.
//!
//! [`verdict::judge`] says what a drive suits, [`text`] prints documents for people within
//! [`WIDTH`] columns, and [`mod@reference`] writes the generated pages of `docs/`.

pub mod reference;
pub mod rules;
pub mod style;
pub mod text;
pub mod verdict;

mod flow;
mod table;
#[cfg(test)]
mod testing;
mod width;

pub use flow::wrap;
pub use reference::{findings_markdown, rules_markdown};
pub use style::Style;
pub use verdict::judge;
pub use width::{WIDTH, clean, width};
