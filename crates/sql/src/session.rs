//! A connection to a server, by which everything but single statements is asked of it.

use crate::{Client, Database, FillRow, ServerCounters, SqlError};
use drivescope_model::options::DatabaseKind;
use std::collections::BTreeMap;
use std::path::Path;

/// What is asked of a server, the test's own or somebody else's; its parts are those of [`Database`].
pub(crate) trait ServerSession: Send {
    /// Which database answers.
    const KIND: DatabaseKind;

    fn version(&self) -> &str;
    fn settings(&mut self) -> Result<BTreeMap<String, String>, SqlError>;
    fn load(&mut self, rows: u64, fill: &mut FillRow<'_>) -> Result<(), SqlError>;
    fn checkpoint(&mut self) -> Result<(), SqlError>;
    fn table_bytes(&mut self) -> Result<u64, SqlError>;
    fn scan(&mut self) -> Result<u64, SqlError>;
    fn make_index(&mut self) -> Result<(), SqlError>;
    fn client(&self) -> Result<Box<dyn Client>, SqlError>;
    fn begin_counting(&mut self) -> Result<(), SqlError>;
    fn counted(&mut self) -> Result<ServerCounters, SqlError>;

    /// Rows of a restored table, without reading it all.
    fn restored_rows(&mut self) -> Result<u64, SqlError>;

    /// Removes the tables.
    fn clear(&mut self) -> Result<(), SqlError>;
}

/// A database of somebody's server: it is not stopped, and its files are not ours.
pub(crate) struct RemoteDatabase<S> {
    pub session: S,
}

/// Files of somebody's server may be anywhere.
fn no_backup() -> SqlError {
    SqlError::Usage("backups are measured on a server of the test's own only".to_string())
}

impl<S: ServerSession> Database for RemoteDatabase<S> {
    fn kind(&self) -> DatabaseKind {
        S::KIND
    }

    fn version(&self) -> &str {
        self.session.version()
    }

    fn settings(&mut self) -> Result<BTreeMap<String, String>, SqlError> {
        self.session.settings()
    }

    fn load(&mut self, rows: u64, fill: &mut FillRow<'_>) -> Result<(), SqlError> {
        self.session.load(rows, fill)
    }

    fn checkpoint(&mut self) -> Result<(), SqlError> {
        self.session.checkpoint()
    }

    fn table_bytes(&mut self) -> Result<u64, SqlError> {
        self.session.table_bytes()
    }

    fn scan(&mut self) -> Result<u64, SqlError> {
        self.session.scan()
    }

    fn make_index(&mut self) -> Result<(), SqlError> {
        self.session.make_index()
    }

    fn still_warm(&mut self) -> Result<Option<String>, SqlError> {
        let why = "the server is not the test's own, so its buffers and files stay in memory";
        Ok(Some(why.to_string()))
    }

    fn stop(&mut self) -> Result<(), SqlError> {
        self.checkpoint()
    }

    fn start(&mut self) -> Result<(), SqlError> {
        Ok(())
    }

    fn client(&self) -> Result<Box<dyn Client>, SqlError> {
        self.session.client()
    }

    fn backup(&mut self, _folder: &Path) -> Result<(), SqlError> {
        Err(no_backup())
    }

    fn restore(&mut self, _backup: &Path, _folder: &Path) -> Result<u64, SqlError> {
        Err(no_backup())
    }

    fn begin_counting(&mut self) -> Result<(), SqlError> {
        self.session.begin_counting()
    }

    fn counted(&mut self) -> Result<ServerCounters, SqlError> {
        self.session.counted()
    }

    fn clear(&mut self) -> Result<(), SqlError> {
        self.session.clear()
    }
}
