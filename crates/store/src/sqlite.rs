//! Opening an SQLite store: the folder, the connection, the tables and their version.

mod statements;

pub(crate) use statements::SqliteTables;

use crate::error::{StoreError, StoreFault};
use crate::sql;
use rusqlite::config::DbConfig;
use rusqlite::ffi::SQLITE_IOERR_SHMSIZE;
use rusqlite::{Connection, ErrorCode, OpenFlags, OptionalExtension, TransactionBehavior};
use std::fs::DirBuilder;
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// For the user only: documents have serial numbers and host names.
const FOLDER_MODE: u32 = 0o700;

/// One page of the smallest size.
const SMALLEST_BYTES: u64 = 512;

/// The first page, which identifies the file.
const PAGE_BYTES: u64 = 4096;

enum Content {
    Nothing,
    Tables,
}

/// Opens the store; creates it, with its folder, if it is absent.
pub(crate) fn create(path: &Path, patience: Duration) -> Result<Connection, StoreError> {
    let is_new = size_of(path)?.is_none();
    if is_new {
        create_folder(path)?;
    }
    let made = open_or_make(path, patience);
    if is_new && made.is_err() {
        remove_unmade(path);
    }
    made
}

/// Removes the remains of a store that could not be made: a file without a table. One that another program makes
/// meanwhile has a log, or more than its first page.
#[expect(clippy::disallowed_methods, reason = "a store that this call has made, without a table")]
fn remove_unmade(path: &Path) {
    let with = |end: &str| {
        let mut name = path.as_os_str().to_os_string();
        name.push(end);
        PathBuf::from(name)
    };
    let is_small = std::fs::metadata(path).is_ok_and(|it| it.is_file() && it.len() <= PAGE_BYTES);
    if is_small && is_without_log(path) {
        for file in [path.to_path_buf(), with("-wal"), with("-shm")] {
            let _ = std::fs::remove_file(file);
        }
    }
}

fn open_or_make(path: &Path, patience: Duration) -> Result<Connection, StoreError> {
    let fail = |error: rusqlite::Error| StoreError::from_sqlite(&error, path, patience);
    let mut connection = connect(path, OpenFlags::SQLITE_OPEN_CREATE, patience).map_err(fail)?;
    // Found now, not when a long run saves its first results.
    if connection.is_readonly("main").map_err(fail)? {
        return Err(StoreError::refused(path, None));
    }
    // Looked at before anything is written: the file may be another program's.
    let content = content_of(&connection, path, patience)?;
    leave_log_of_others(&connection, false).map_err(fail)?;
    use_write_ahead_log(&connection).map_err(fail)?;
    if matches!(content, Content::Nothing) {
        create_tables(&mut connection, path, patience)?;
    }
    Ok(connection)
}

/// Opens an existing store; creates neither file nor folder.
pub(crate) fn open_existing(
    path: &Path,
    patience: Duration,
) -> Result<Option<Connection>, StoreError> {
    if size_of(path)?.unwrap_or(0) == 0 {
        return Ok(None);
    }
    let fail = |error: rusqlite::Error| StoreError::from_sqlite(&error, path, patience);
    let connection = match connect(path, OpenFlags::empty(), patience) {
        Err(error) if cannot_make_log(&error) && is_without_log(path) => {
            connect_unchanging(path, patience)
        }
        result => result,
    }
    .map_err(fail)?;
    match content_of(&connection, path, patience)? {
        Content::Nothing => Ok(None),
        Content::Tables => {
            leave_log_of_others(&connection, false).map_err(fail)?;
            Ok(Some(connection))
        }
    }
}

/// In place of a store that does not exist.
pub(crate) fn empty() -> Result<Connection, StoreError> {
    let path = Path::new("in memory");
    let mut connection = Connection::open_in_memory()
        .map_err(|error| StoreError::from_sqlite(&error, path, Duration::ZERO))?;
    create_tables(&mut connection, path, Duration::ZERO)?;
    Ok(connection)
}

/// Size of the file; none if it does not exist.
///
/// Passes only files that SQLite cannot mistake for an empty one. It would write its header over
/// the first sectors of a block device, whose size the kernel gives as 0, and over a file of one
/// byte, which it takes for its own way around a fault of another system.
fn size_of(path: &Path) -> Result<Option<u64>, StoreError> {
    let what = match std::fs::metadata(path) {
        Ok(file) if file.is_file() => return checked_size(path, file.len()).map(Some),
        Ok(folder) if folder.is_dir() => "a folder",
        Ok(_) => "a device or another special file",
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            if !path.as_os_str().as_encoded_bytes().ends_with(b"/") {
                return Ok(None);
            }
            "a folder"
        }
        Err(error) => return Err(StoreError::from_io(&error, path)),
    };
    let message =
        format!("{} is {what}, not a file; name a file with --store FILE", path.display());
    Err(StoreError::new(StoreFault::Location, message))
}

fn checked_size(path: &Path, bytes: u64) -> Result<u64, StoreError> {
    if (1..SMALLEST_BYTES).contains(&bytes) {
        return Err(StoreError::corrupt(path, &format!("a file of {bytes} bytes")));
    }
    Ok(bytes)
}

fn create_folder(path: &Path) -> Result<(), StoreError> {
    let Some(folder) = path.parent() else { return Ok(()) };
    let mut builder = DirBuilder::new();
    builder.recursive(true).mode(FOLDER_MODE);
    builder.create(folder).map_err(|error| StoreError::from_io(&error, folder))
}

/// Opens for reading and writing; SQLite falls back to reading if the file cannot be written.
fn connect(path: &Path, extra: OpenFlags, patience: Duration) -> rusqlite::Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX | extra;
    let connection = Connection::open_with_flags(path, flags)?;
    connection.busy_timeout(patience)?;
    leave_log_of_others(&connection, true)?;
    connection.pragma_update(None, "foreign_keys", true)?;
    // This is the first statement that reads the file, so that it fails here if it cannot be read.
    // FULL: a commit is on the disk when it returns, in the write-ahead log too.
    connection.pragma_update(None, "synchronous", "FULL")?;
    Ok(connection)
}

/// Whether closing leaves the write-ahead log as it is. Else the last connection to close moves it into the file, which
/// would change another program's: that may have been killed with its log full.
fn leave_log_of_others(connection: &Connection, leave: bool) -> rusqlite::Result<()> {
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, leave).map(drop)
}

/// Opens a file that no program is changing, without locks and without a log.
fn connect_unchanging(path: &Path, patience: Duration) -> rusqlite::Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY
        | OpenFlags::SQLITE_OPEN_NO_MUTEX
        | OpenFlags::SQLITE_OPEN_URI;
    let connection = Connection::open_with_flags(unchanging_uri(path), flags)?;
    connection.busy_timeout(patience)?;
    Ok(connection)
}

/// `file:PATH?immutable=1`, with escapes for a URI.
fn unchanging_uri(path: &Path) -> String {
    let mut uri = String::from("file:");
    for byte in path.as_os_str().as_encoded_bytes() {
        if byte.is_ascii_alphanumeric() || b"/-_.".contains(byte) {
            uri.push(char::from(*byte));
        } else {
            uri.push_str(&format!("%{byte:02X}"));
        }
    }
    uri + "?immutable=1"
}

/// Whether opening failed because no write-ahead log can be made: on read-only media, a full disk, or in another user's
/// folder.
fn cannot_make_log(error: &rusqlite::Error) -> bool {
    let Some(sqlite) = error.sqlite_error() else { return false };
    match sqlite.code {
        ErrorCode::CannotOpen | ErrorCode::ReadOnly | ErrorCode::DiskFull => true,
        ErrorCode::SystemIoFailure => sqlite.extended_code == SQLITE_IOERR_SHMSIZE,
        _ => false,
    }
}

/// Whether the file has all data, with none left in a log.
fn is_without_log(path: &Path) -> bool {
    let mut log = path.as_os_str().to_os_string();
    log.push("-wal");
    std::fs::metadata(PathBuf::from(log)).map_or(true, |log| log.len() == 0)
}

/// With the log, readers do not wait for a writer. A file system that cannot have it (no shared
/// memory) keeps the rollback journal, and so does a moment in which another process opens the same
/// new store: it will set the log.
fn use_write_ahead_log(connection: &Connection) -> rusqlite::Result<()> {
    let current: String = connection.pragma_query_value(None, "journal_mode", |row| row.get(0))?;
    if current.eq_ignore_ascii_case("wal") {
        return Ok(());
    }
    match connection.pragma_update_and_check(None, "journal_mode", "WAL", |_| Ok(())) {
        Err(error) if error.sqlite_error_code() == Some(ErrorCode::DatabaseBusy) => Ok(()),
        result => result,
    }
}

/// Also checks that this program may use the file.
fn content_of(
    connection: &Connection,
    path: &Path,
    patience: Duration,
) -> Result<Content, StoreError> {
    let fail = |error: rusqlite::Error| StoreError::from_sqlite(&error, path, patience);
    let foreign = || {
        let remedy = "is a database of another program; name another file with --store FILE";
        StoreError::new(StoreFault::Foreign, format!("{} {remedy}", path.display()))
    };
    let (all, ours): (i64, i64) = connection
        .query_row(
            "SELECT COUNT(*), COUNT(CASE WHEN name IN ('meta', 'runs', 'metrics') THEN 1 END)
             FROM sqlite_master WHERE type = 'table'",
            [],
            |row| Ok((row.get(0)?, row.get(1)?)),
        )
        .map_err(fail)?;
    if all == 0 {
        return Ok(Content::Nothing);
    }
    if ours < 3 {
        return Err(foreign());
    }
    let version: Option<String> = connection
        .query_row(sql::GET_SCHEMA, [], |row| row.get(0))
        .optional()
        .map_err(|error| match error.sqlite_error_code() {
            // No such column, or a value of another type.
            None | Some(ErrorCode::Unknown) => foreign(),
            _ => fail(error),
        })?;
    match version.and_then(|text| text.parse::<u32>().ok()) {
        Some(sql::SCHEMA) => Ok(Content::Tables),
        Some(found) if found > sql::SCHEMA => {
            let message = format!(
                "the store {} was made by a newer drivescope (schema {found}, this one reads up to {}); update \
                 drivescope",
                path.display(),
                sql::SCHEMA
            );
            Err(StoreError::new(StoreFault::NewerSchema, message))
        }
        // A later SCHEMA brings older tables up to date here.
        _ => Err(foreign()),
    }
}

/// Another process may have made the tables in the meantime.
fn create_tables(
    connection: &mut Connection,
    path: &Path,
    patience: Duration,
) -> Result<(), StoreError> {
    let fail = |error: rusqlite::Error| StoreError::from_sqlite(&error, path, patience);
    let transaction =
        connection.transaction_with_behavior(TransactionBehavior::Immediate).map_err(fail)?;
    if matches!(content_of(&transaction, path, patience)?, Content::Nothing) {
        for statement in sql::CREATE {
            transaction.execute(statement, []).map_err(fail)?;
        }
        transaction.execute(sql::SET_SCHEMA, [sql::SCHEMA.to_string()]).map_err(fail)?;
    }
    transaction.commit().map_err(fail)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn uris_escape_what_a_path_may_hold() {
        for (path, uri) in [
            ("/data/runs.db", "file:/data/runs.db?immutable=1"),
            ("/a b/50%?#.db", "file:/a%20b/50%25%3F%23.db?immutable=1"),
            ("/größe/x", "file:/gr%C3%B6%C3%9Fe/x?immutable=1"),
        ] {
            assert_eq!(unchanging_uri(Path::new(path)), uri);
        }
    }

    #[test]
    fn an_unchanging_store_can_be_read() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("odd %20 name?.db");
        drop(create(&path, Duration::ZERO).unwrap());
        let connection = connect_unchanging(&path, Duration::ZERO).unwrap();
        let content = content_of(&connection, &path, Duration::ZERO).unwrap();
        assert!(matches!(content, Content::Tables));
        assert!(connection.execute(sql::REMOVE_METRICS, ["x"]).is_err(), "it must not be writable");
    }
}
