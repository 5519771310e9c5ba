//! Documents for other programs: tables, Markdown, and documents without names.

pub(crate) mod anonymize;
pub mod csv;
pub mod markdown;
#[cfg(feature = "parquet")]
pub mod parquet;
