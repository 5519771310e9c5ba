//! SQLite: within this program, its file in the folder.

use crate::canceller::{Canceller, Registration};
use crate::queries::Placeholder;
use crate::{
    COMMIT_BYTES, COMMITS, Client, Database, DatabaseSettings, FillRow, Installed, PAGE_BYTES,
    ROW_BYTES, SqlError, TABLE, UserQuery,
};
use drivescope_model::options::DatabaseKind;
use rusqlite::backup::{Backup, StepResult};
use rusqlite::types::ValueRef;
use rusqlite::{CachedStatement, Connection, OpenFlags, ffi};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

const FILE: &str = "table.db";
const BACKUP: &str = "backup.db";
const RESTORED: &str = "restored.db";
/// Pages of one step of a backup: 64 MiB, so that it can be interrupted and costs no more than a single step.
const STEP_PAGES: i32 = 8_192;
/// How long a client waits for another one's transaction.
const BUSY_TIME_MAX: Duration = Duration::from_secs(60);

pub(crate) struct BuiltIn;

impl Installed for BuiltIn {
    fn create(
        &self,
        folder: &Path,
        settings: DatabaseSettings,
        canceller: &Arc<Canceller>,
    ) -> Result<Box<dyn Database>, SqlError> {
        let file = folder.join(FILE);
        let mut made = Sqlite { file, settings, canceller: Arc::clone(canceller), open: None };
        let open = made.connect(&made.file, OpenFlags::default())?;
        // Fixed before the first table.
        open.pragma("page_size", PAGE_BYTES as i64)?;
        made.open = Some(open);
        Ok(Box::new(made))
    }
}

fn failed(error: rusqlite::Error) -> SqlError {
    match error.sqlite_error_code() {
        Some(rusqlite::ErrorCode::OperationInterrupted) => SqlError::Interrupted,
        _ => SqlError::of_statement(DatabaseKind::Sqlite, error.to_string()),
    }
}

struct Sqlite {
    file: PathBuf,
    settings: DatabaseSettings,
    canceller: Arc<Canceller>,
    open: Option<Open>,
}

/// An open file, whose statements end when the run is cancelled.
struct Open {
    connection: Connection,
    _cancel: Registration,
}

impl Open {
    fn pragma(&self, name: &str, value: impl rusqlite::ToSql) -> Result<(), SqlError> {
        self.connection.pragma_update(None, name, value).map_err(failed)
    }

    fn text_of(&self, name: &str) -> Result<String, SqlError> {
        self.connection.pragma_query_value(None, name, row_text).map_err(failed)
    }

    fn run(&self, statements: &str) -> Result<(), SqlError> {
        self.connection.execute_batch(statements).map_err(|error| self.failed(error))
    }

    /// An error. SQLite has no words for a quota that is used up: these are the kernel's.
    fn failed(&self, error: rusqlite::Error) -> SqlError {
        let is_of_file = error.sqlite_error_code() == Some(rusqlite::ErrorCode::SystemIoFailure);
        if is_of_file && self.last_errnos().contains(&libc::EDQUOT) {
            let kernel = std::io::Error::from_raw_os_error(libc::EDQUOT);
            return SqlError::of_statement(DatabaseKind::Sqlite, kernel.to_string());
        }
        failed(error)
    }

    /// The kernel's last errors, of any file and of the table's.
    fn last_errnos(&self) -> [i32; 2] {
        let mut of_table = 0;
        // SAFETY: the connection is open; SQLite writes one int, which outlives the call.
        let of_any = unsafe {
            let (handle, code) = (self.connection.handle(), ffi::SQLITE_FCNTL_LAST_ERRNO);
            let place = std::ptr::from_mut(&mut of_table).cast();
            ffi::sqlite3_file_control(handle, c"main".as_ptr(), code, place);
            ffi::sqlite3_system_errno(handle)
        };
        [of_any, of_table]
    }

    fn number(&self, statement: &str) -> Result<u64, SqlError> {
        let number = self.connection.query_row(statement, [], |row| row.get::<_, i64>(0));
        Ok(number.map_err(failed)? as u64)
    }

    /// The write-ahead log becomes part of the file, and is emptied.
    fn checkpoint(&self) -> Result<(), SqlError> {
        let done = self.connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()));
        done.map_err(failed)
    }
}

fn row_text(row: &rusqlite::Row<'_>) -> Result<String, rusqlite::Error> {
    Ok(match row.get_ref(0)? {
        ValueRef::Integer(number) => number.to_string(),
        ValueRef::Text(text) => String::from_utf8_lossy(text).into_owned(),
        _ => String::new(),
    })
}

impl Sqlite {
    fn connect(&self, path: &Path, flags: OpenFlags) -> Result<Open, SqlError> {
        let connection = Connection::open_with_flags(path, flags).map_err(failed)?;
        let handle = connection.get_interrupt_handle();
        let cancel = self.canceller.on_cancel(move || handle.interrupt());
        let open = Open { connection, _cancel: cancel };
        open.connection.busy_timeout(BUSY_TIME_MAX).map_err(failed)?;
        // Each connection has buffers of its own.
        let DatabaseSettings { buffer_bytes, clients, is_durable, .. } = self.settings;
        let kib = (buffer_bytes / u64::from(clients.max(1)) / 1024).max(2_048);
        open.pragma("cache_size", -(kib as i64))?;
        open.pragma("mmap_size", 0)?;
        // Sorting for an index happens in memory, not in files elsewhere.
        open.pragma("temp_store", "MEMORY")?;
        open.pragma("synchronous", if is_durable { "FULL" } else { "OFF" })?;
        Ok(open)
    }

    fn open(&self) -> Result<&Open, SqlError> {
        self.open
            .as_ref()
            .ok_or_else(|| SqlError::of_statement(DatabaseKind::Sqlite, "the database is stopped"))
    }

    fn check(&self) -> Result<(), SqlError> {
        if self.canceller.is_cancelled() { Err(SqlError::Interrupted) } else { Ok(()) }
    }
}

impl Database for Sqlite {
    fn kind(&self) -> DatabaseKind {
        DatabaseKind::Sqlite
    }

    fn version(&self) -> &str {
        rusqlite::version()
    }

    fn settings(&mut self) -> Result<BTreeMap<String, String>, SqlError> {
        let names = ["page_size", "journal_mode", "synchronous", "cache_size", "mmap_size"];
        let open = self.open()?;
        names.into_iter().map(|name| Ok((name.to_string(), open.text_of(name)?))).collect()
    }

    fn load(&mut self, rows: u64, fill: &mut FillRow<'_>) -> Result<(), SqlError> {
        let open = self.open()?;
        // All rows in one transaction of a new file: with a rollback journal they are written once, not twice.
        open.run(&format!(
            "CREATE TABLE {TABLE} (a INTEGER NOT NULL, b BLOB NOT NULL);
             CREATE TABLE {COMMITS} (a INTEGER NOT NULL, b BLOB NOT NULL);
             BEGIN"
        ))?;
        let insert = format!("INSERT INTO {TABLE} VALUES (?, ?)");
        let mut statement = open.connection.prepare(&insert).map_err(failed)?;
        let mut data = vec![0; ROW_BYTES];
        for row in 1..=rows {
            if !fill(row, &mut data) {
                return Err(SqlError::Interrupted);
            }
            let added = statement.execute((row as i64, &data[..]));
            added.map_err(|error| open.failed(error))?;
        }
        drop(statement);
        open.run("COMMIT")?;
        open.pragma("journal_mode", "WAL")
    }

    fn checkpoint(&mut self) -> Result<(), SqlError> {
        self.open()?.checkpoint()
    }

    fn table_bytes(&mut self) -> Result<u64, SqlError> {
        let pages = self.open()?.text_of("page_count")?;
        Ok(pages.parse::<u64>().unwrap_or(0) * PAGE_BYTES)
    }

    fn scan(&mut self) -> Result<u64, SqlError> {
        self.open()?.number(&format!("SELECT count(*) FROM {TABLE} NOT INDEXED"))
    }

    fn make_index(&mut self) -> Result<(), SqlError> {
        self.open()?.run(&format!("CREATE INDEX {TABLE}_a ON {TABLE} (a)"))
    }

    fn stop(&mut self) -> Result<(), SqlError> {
        self.open.take().map_or(Ok(()), |open| open.checkpoint())
    }

    fn start(&mut self) -> Result<(), SqlError> {
        self.open = Some(self.connect(&self.file, OpenFlags::default())?);
        Ok(())
    }

    fn client(&self) -> Result<Box<dyn Client>, SqlError> {
        let open = self.connect(&self.file, OpenFlags::default())?;
        open.connection.set_prepared_statement_cache_capacity(8);
        Ok(Box::new(SqliteClient {
            open,
            seek: format!("SELECT * FROM {TABLE} WHERE a = ?"),
            commit: format!("INSERT INTO {COMMITS} VALUES (?, ?)"),
            query: String::new(),
        }))
    }

    fn backup(&mut self, folder: &Path) -> Result<(), SqlError> {
        let into = self.connect(&folder.join(BACKUP), OpenFlags::default())?;
        self.copy(self.open()?, into)
    }

    fn restore(&mut self, backup: &Path, folder: &Path) -> Result<u64, SqlError> {
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY;
        let from = self.connect(&backup.join(BACKUP), flags)?;
        let path = folder.join(RESTORED);
        self.copy(&from, self.connect(&path, OpenFlags::default())?)?;
        self.connect(&path, flags)?.number(&format!("SELECT max(a) FROM {TABLE}"))
    }
}

impl Sqlite {
    /// Page by page into a new file.
    fn copy(&self, from: &Open, mut into: Open) -> Result<(), SqlError> {
        let mut all = || {
            let backup = Backup::new(&from.connection, &mut into.connection)?;
            while !self.canceller.is_cancelled() && backup.step(STEP_PAGES)? != StepResult::Done {}
            Ok(())
        };
        let copied = all();
        copied.map_err(|error| into.failed(error))?;
        self.check()
    }
}

struct SqliteClient {
    open: Open,
    seek: String,
    commit: String,
    query: String,
}

impl SqliteClient {
    fn statement<'c>(open: &'c Open, text: &str) -> Result<CachedStatement<'c>, SqlError> {
        open.connection.prepare_cached(text).map_err(failed)
    }
}

impl Client for SqliteClient {
    fn seek(&mut self, id: i64) -> Result<usize, SqlError> {
        let mut statement = Self::statement(&self.open, &self.seek)?;
        let fetched = statement.query_row([id], |row| Ok(row.get_ref(1)?.as_blob()?.len()));
        fetched.map_err(failed)
    }

    fn commit(&mut self, id: i64, data: &[u8]) -> Result<(), SqlError> {
        debug_assert_eq!(data.len(), COMMIT_BYTES);
        let mut statement = Self::statement(&self.open, &self.commit)?;
        statement.execute((id, data)).map(|_| ()).map_err(|error| self.open.failed(error))
    }

    fn prepare(&mut self, query: &UserQuery) -> Result<(), SqlError> {
        self.query = query.text(Placeholder::Question);
        Self::statement(&self.open, &self.query).map(|_| ())
    }

    fn query(&mut self, parameters: &[String]) -> Result<usize, SqlError> {
        let mut statement = Self::statement(&self.open, &self.query)?;
        for (index, text) in (1..).zip(parameters) {
            // Numbers as numbers: a text never equals one in an expression without affinity.
            let bound = match text.parse::<i64>() {
                Ok(number) => statement.raw_bind_parameter(index, number),
                Err(_) => statement.raw_bind_parameter(index, text.as_str()),
            };
            bound.map_err(failed)?;
        }
        let columns = statement.column_count();
        let (mut rows, mut bytes) = (statement.raw_query(), 0);
        while let Some(row) = rows.next().map_err(failed)? {
            for column in 0..columns {
                bytes += match row.get_ref(column).map_err(failed)? {
                    ValueRef::Text(data) | ValueRef::Blob(data) => data.len(),
                    _ => 8,
                };
            }
        }
        Ok(bytes)
    }

    fn logical_reads(&self) -> Option<u64> {
        let of = |which| {
            let (mut now, mut most) = (0, 0);
            // SAFETY: the handle belongs to an open connection, used by no other thread; both numbers outlive the call.
            let result = unsafe {
                ffi::sqlite3_db_status(self.open.connection.handle(), which, &mut now, &mut most, 0)
            };
            (result == ffi::SQLITE_OK).then_some(now as u32)
        };
        let hits = of(ffi::SQLITE_DBSTATUS_CACHE_HIT)?;
        let misses = of(ffi::SQLITE_DBSTATUS_CACHE_MISS)?;
        Some(u64::from(hits) + u64::from(misses))
    }
}
