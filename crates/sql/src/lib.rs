//! Databases as a load for drives, behind one trait.
//!
//! A database is found ([`find()`]), made in a folder of the caller, loaded, and queried. It runs as
//! a server of its own or within this program, and never outlives it. Nothing here knows of rounds, counters of drives
//! or page caches: that is the workload `sql`.

mod canceller;
mod error;
mod find;
mod queries;
mod server_user;
mod sqlite;
mod url;

#[cfg(feature = "mysql")]
mod mariadb;
#[cfg(feature = "mssql")]
mod mssql;
#[cfg(any(feature = "mysql", feature = "postgres"))]
mod own_server;
#[cfg(feature = "postgres")]
mod postgres;
#[cfg(any(feature = "mysql", feature = "postgres"))]
mod program_places;
#[cfg(any(feature = "mysql", feature = "postgres"))]
mod server;

pub use canceller::Canceller;
pub use error::SqlError;
pub use find::{at_url, find, lacks_at_url};
pub use queries::UserQuery;
pub use server_user::ServerUser;
pub use url::ServerUrl;

use drivescope_model::options::{DatabaseKind, SqlPart};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

/// Bytes of a row besides its number.
const ROW_BYTES: usize = 8_000;
/// Bytes that a row takes in the file: one lies on a page, as in SQL Server.
pub const PAGE_BYTES: u64 = 8_192;
pub const TABLE: &str = "drivescope_table";
/// Name of the small table that transactions add to, and bytes of their row.
const COMMITS: &str = "drivescope_commits";
pub const COMMIT_BYTES: usize = 100;

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct DatabaseSettings {
    pub buffer_bytes: u64,
    /// Whether a commit waits for the drive.
    pub is_durable: bool,
    pub clients: u32,
    /// Processors that a scan may use.
    pub cpus: u32,
    /// Approximate bytes of the table to load: logs are sized by it.
    pub table_bytes: u64,
}

/// A database that can be made here: installed, or part of this program.
pub trait Installed {
    fn programs(&self) -> Vec<std::path::PathBuf> {
        Vec::new()
    }

    /// The owner that its folders need, if not this program's user.
    fn user(&self) -> Option<&ServerUser> {
        None
    }

    /// Why the installed programs cannot measure a part, if so.
    fn lacks(&self, _part: SqlPart) -> Option<&'static str> {
        None
    }

    /// Makes it in an empty folder, which is its alone, and starts it.
    ///
    /// Call it, and [`Database::start`], on a thread that lives as long as the database: the server ends with the
    /// thread that started it.
    fn create(
        &self,
        folder: &Path,
        settings: DatabaseSettings,
        canceller: &Arc<Canceller>,
    ) -> Result<Box<dyn Database>, SqlError>;
}

/// Makes the bytes of a row; whether to continue.
pub type FillRow<'f> = dyn FnMut(u64, &mut [u8]) -> bool + Send + 'f;

/// A database in use. The defaults fit the user's server: it is not stopped, and its files are not ours.
pub trait Database: Send {
    fn kind(&self) -> DatabaseKind;

    fn version(&self) -> &str;

    /// The settings that matter, as the server has them.
    fn settings(&mut self) -> Result<BTreeMap<String, String>, SqlError>;

    /// Makes the table with rows 1 to `rows`, without an index, and the table of commits.
    fn load(&mut self, rows: u64, fill: &mut FillRow<'_>) -> Result<(), SqlError>;

    /// Writes everything that is still in its own buffers to its files, and flushes them.
    fn checkpoint(&mut self) -> Result<(), SqlError>;

    fn table_bytes(&mut self) -> Result<u64, SqlError>;

    /// Counts the rows, reading all of them.
    fn scan(&mut self) -> Result<u64, SqlError>;

    fn make_index(&mut self) -> Result<(), SqlError>;

    /// The reason why it is not cold after [`stop`](Self::stop) and [`start`](Self::start), besides files in memory.
    fn still_warm(&mut self) -> Result<Option<String>, SqlError> {
        Ok(None)
    }

    /// Writes everything out, ends the server and closes all files. Clients end before.
    fn stop(&mut self) -> Result<(), SqlError> {
        self.checkpoint()
    }

    fn start(&mut self) -> Result<(), SqlError> {
        Ok(())
    }

    fn client(&self) -> Result<Box<dyn Client>, SqlError>;

    /// Copies the database to one file in an empty folder.
    fn backup(&mut self, _folder: &Path) -> Result<(), SqlError> {
        Err(no_backup())
    }

    /// Makes a database of the backup in an empty folder; returns its rows.
    fn restore(&mut self, _backup: &Path, _folder: &Path) -> Result<u64, SqlError> {
        Err(no_backup())
    }

    /// The server's own counters; `begin` counts from now on.
    fn begin_counting(&mut self) -> Result<(), SqlError> {
        Ok(())
    }

    fn counted(&mut self) -> Result<ServerCounters, SqlError> {
        Ok(ServerCounters::default())
    }

    /// Processor time of the server so far, if it is one of its own.
    fn cpu_ns(&self) -> Option<u64> {
        None
    }

    /// Removes what it made on a server that is not its own.
    fn clear(&mut self) -> Result<(), SqlError> {
        Ok(())
    }
}

/// Files of the user's server may be anywhere.
fn no_backup() -> SqlError {
    SqlError::Usage("backups are measured on a server of the test's own only".to_string())
}

#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct ServerCounters {
    pub statements: u64,
    pub server_us: Option<f64>,
    /// Pages that they requested from its buffers.
    pub logical_reads: Option<u64>,
}

pub trait Client: Send {
    /// Fetches the row with this number by the index; bytes of its data.
    fn seek(&mut self, id: i64) -> Result<usize, SqlError>;

    /// Adds a row to the table of commits, and commits it.
    fn commit(&mut self, id: i64, data: &[u8]) -> Result<(), SqlError>;

    fn prepare(&mut self, query: &UserQuery) -> Result<(), SqlError>;

    /// Runs it with these parameters, and fetches all of its rows; bytes of them, about.
    fn query(&mut self, parameters: &[String]) -> Result<usize, SqlError>;

    /// Pages that this connection has requested from its own buffers, where it has them.
    fn logical_reads(&self) -> Option<u64> {
        None
    }
}
