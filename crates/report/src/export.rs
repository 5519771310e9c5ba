//! Documents for other programs: tables, Markdown, metrics for monitoring, and documents without names.

pub(crate) mod anonymize;
pub mod csv;
pub mod markdown;
pub mod open_metrics;
#[cfg(feature = "parquet")]
pub mod parquet;
