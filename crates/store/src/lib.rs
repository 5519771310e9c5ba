//! The store of runs, and run documents as text.
//!
//! A store is one SQLite file, or a database on a PostgreSQL server, with three tables, which any program for SQL can
//! query: `runs` (one row per run, with the whole document in `document`), `metrics` (one row per number) and `meta`
//! (the version of the tables).

mod backend;
mod copying;
mod document;
mod drive_runs;
mod error;
mod location;
mod measured_drives;
mod outbox;
#[cfg(feature = "postgres")]
mod postgres;
mod run_facts;
mod schema;
mod schema_report;
#[cfg(feature = "postgres")]
mod server_tables;
mod sql;
mod sqlite;
mod store;
mod summary;
#[cfg(test)]
mod testing;

pub use backend::{SqlRow, SqlValue, WrongType};
pub use copying::{CopyReport, copy, send_waiting};
pub use document::{FormatError, check, from_file, from_json, to_json};
pub use drive_runs::{DriveRuns, FoundDrive};
pub use error::{StoreError, StoreFault};
pub use location::{StoreLocation, store_words};
pub use schema::{init, init_text, upgrade};
pub use schema_report::SchemaReport;
#[cfg(feature = "postgres")]
pub use server_tables::ServerTables;
pub use store::{Added, Store};
pub use summary::{Filter, NewestRun, RunSummary};
