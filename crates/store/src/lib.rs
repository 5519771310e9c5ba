//! Where results stay: the store of runs (SQLite), and reading and writing run documents (JSON).
//!
//! A store is one SQLite file with three tables, so that any `sqlite3` can query it: `runs` (one row
//! per run, with the whole document in `document`), `metrics` (one row per number) and `meta` (the
//! version of the tables). The SQL text keeps to what PostgreSQL accepts too.
//!
//! ```sql
//! -- How a drive's latency at depth 1 went over the months:
//! SELECT started_at, label, value, low, high FROM runs JOIN metrics ON run_id = id
//! WHERE drive_serial = 'WD-WCAZA1234567' AND key = 'transfer.rnd4k_q1t1.read.lat_p50_us' AND valid = 1
//! ORDER BY started_unix_us;
//! ```
//!
//! [`Store::save`] is called after each test of a run: it replaces the run's earlier state,
//! in one transaction that is on the disk when the call returns.

mod document;
mod drive_runs;
mod error;
mod location;
mod sql;
mod sqlite;
mod store;
mod summary;
#[cfg(test)]
mod testing;

pub use document::{FormatError, check, from_file, from_json, to_json};
pub use drive_runs::{DriveRuns, FoundDrive};
pub use error::{StoreError, StoreFault};
pub use location::{StoreLocation, store_words};
pub use store::{Added, Store};
pub use summary::{Filter, NewestRun, RunSummary};
