//! Errors of a store, each with its cause and remedy.

use crate::document::FormatError;
use rusqlite::ErrorCode;
use rusqlite::ffi::{SQLITE_IOERR_SHMSIZE, SQLITE_IOERR_SHORT_READ};
use std::io;
use std::path::Path;
use std::time::Duration;

#[derive(Debug, thiserror::Error)]
#[error("{message}")]
pub struct StoreError {
    pub fault: StoreFault,
    message: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StoreFault {
    /// Not a valid name of a store.
    Location,
    Missing,
    /// The server is away, or the network to it.
    Unreachable,
    /// Another process held the store for too long.
    Locked,
    /// The file is damaged, or not a database at all.
    Corrupt,
    /// The file is a database of another program.
    Foreign,
    NewerSchema,
    /// Tables of an older version, which are not changed by surprise.
    OlderSchema,
    /// The server lacks what is needed.
    TooOld,
    Denied,
    ReadOnly,
    Full,
    /// Anything else that the system or SQLite reports.
    Io,
    /// No run, or more than one, has this name.
    NoRun,
    /// Another document is stored under the id of an imported one.
    Differs,
    /// The server takes no such row, while it takes others: a rule or a limit there, or the run is of another user.
    NotTaken,
    Document,
}

impl From<FormatError> for StoreError {
    fn from(error: FormatError) -> Self {
        Self::new(StoreFault::Document, error.to_string())
    }
}

impl StoreError {
    pub(crate) fn new(fault: StoreFault, message: impl Into<String>) -> Self {
        Self { fault, message: message.into() }
    }

    pub(crate) fn corrupt(path: &Path, reason: &str) -> Self {
        let message = format!(
            "the store {} is damaged or not a database ({reason}); move it away, restore a copy, or name another \
             file with --store FILE",
            path.display()
        );
        Self::new(StoreFault::Corrupt, message)
    }

    fn denied(path: &Path) -> Self {
        let message = format!(
            "no permission to use {}; check its owner (a run as root may have made it), or name another file with \
             --store FILE",
            path.display()
        );
        Self::new(StoreFault::Denied, message)
    }

    fn full(path: &Path) -> Self {
        let message = format!(
            "no space left for the store {}; free some, or name a file elsewhere with --store FILE",
            path.display()
        );
        Self::new(StoreFault::Full, message)
    }

    fn other(path: &Path, reason: &str) -> Self {
        let message = format!(
            "the store {} cannot be used: {reason}; check its disk (dmesg), or name another file with --store FILE",
            path.display()
        );
        Self::new(StoreFault::Io, message)
    }

    pub(crate) fn from_io(error: &io::Error, path: &Path) -> Self {
        match error.kind() {
            io::ErrorKind::PermissionDenied => Self::denied(path),
            io::ErrorKind::ReadOnlyFilesystem => Self::new(
                StoreFault::ReadOnly,
                format!(
                    "{} is on a read-only file system; name a file elsewhere with --store FILE",
                    path.display()
                ),
            ),
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => Self::full(path),
            _ => Self::other(path, &error.to_string()),
        }
    }

    /// `waited`: time spent waiting for locks.
    pub(crate) fn from_sqlite(error: &rusqlite::Error, path: &Path, waited: Duration) -> Self {
        let reason = error.to_string();
        let Some(sqlite) = error.sqlite_error() else {
            // A value of another type than this program writes: another program changed the tables.
            return Self::corrupt(path, &reason);
        };
        match sqlite.code {
            ErrorCode::DatabaseBusy
            | ErrorCode::DatabaseLocked
            | ErrorCode::FileLockingProtocolFailed => {
                let message = format!(
                    "the store {} was locked by another process for {} s; try again when it has ended, or name \
                     another file with --store FILE",
                    path.display(),
                    waited.as_secs_f64()
                );
                Self::new(StoreFault::Locked, message)
            }
            // Unknown is the general "SQL error": with fixed statements, a table or column is gone.
            ErrorCode::NotADatabase | ErrorCode::DatabaseCorrupt | ErrorCode::Unknown => {
                Self::corrupt(path, &reason)
            }
            ErrorCode::SystemIoFailure if sqlite.extended_code == SQLITE_IOERR_SHORT_READ => {
                Self::corrupt(path, &reason)
            }
            ErrorCode::SystemIoFailure if sqlite.extended_code == SQLITE_IOERR_SHMSIZE => {
                Self::full(path)
            }
            ErrorCode::DiskFull => Self::full(path),
            ErrorCode::PermissionDenied | ErrorCode::ReadOnly => Self::refused(path, None),
            ErrorCode::CannotOpen => Self::refused(path, Some(&reason)),
            _ => Self::other(path, &reason),
        }
    }

    /// Why SQLite was refused a file: it reports one code for a missing permission, a read-only file
    /// system and a full one. Making a folder beside the store shows which. If that succeeds and
    /// the file does not exist, only `reason` is known.
    ///
    /// The store's own file is not opened for this, because closing it would drop the locks that
    /// this process holds on it (POSIX record locks belong to the process).
    pub(crate) fn refused(path: &Path, reason: Option<&str>) -> Self {
        let folder = path.parent().unwrap_or(path);
        match make_and_remove(&folder.join(format!(".drivescope-{}", std::process::id()))) {
            Err(error) => Self::from_io(&error, folder),
            Ok(()) => match reason {
                Some(reason) if !path.exists() => Self::other(path, reason),
                _ => Self::denied(path),
            },
        }
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "an empty folder of its own, to learn why SQLite cannot write"
)]
fn make_and_remove(folder: &Path) -> std::io::Result<()> {
    std::fs::create_dir(folder).and_then(|()| std::fs::remove_dir(folder))
}

#[cfg(test)]
mod tests {
    use super::StoreFault::*;
    use super::*;
    use rusqlite::ffi;

    fn of_sqlite(code: i32) -> StoreFault {
        let error = rusqlite::Error::SqliteFailure(ffi::Error::new(code), None);
        StoreError::from_sqlite(&error, Path::new("runs.db"), Duration::from_secs(5)).fault
    }

    #[test]
    fn sqlite_codes_become_causes() {
        for (code, cause) in [
            (ffi::SQLITE_BUSY, Locked),
            (ffi::SQLITE_BUSY_SNAPSHOT, Locked),
            (ffi::SQLITE_BUSY_RECOVERY, Locked),
            (ffi::SQLITE_LOCKED, Locked),
            (ffi::SQLITE_PROTOCOL, Locked),
            (ffi::SQLITE_NOTADB, Corrupt),
            (ffi::SQLITE_CORRUPT, Corrupt),
            (ffi::SQLITE_CORRUPT_INDEX, Corrupt),
            (ffi::SQLITE_IOERR_SHORT_READ, Corrupt),
            (ffi::SQLITE_ERROR, Corrupt),
            (ffi::SQLITE_FULL, Full),
            (ffi::SQLITE_IOERR_SHMSIZE, Full),
            (ffi::SQLITE_IOERR_FSYNC, Io),
            (ffi::SQLITE_NOMEM, Io),
        ] {
            assert_eq!(of_sqlite(code), cause, "{code}");
        }
    }

    #[test]
    fn system_errors_become_causes() {
        for (kind, expected) in [
            (io::ErrorKind::PermissionDenied, Denied),
            (io::ErrorKind::ReadOnlyFilesystem, ReadOnly),
            (io::ErrorKind::StorageFull, Full),
            (io::ErrorKind::QuotaExceeded, Full),
            (io::ErrorKind::NotADirectory, Io),
        ] {
            let error = StoreError::from_io(&io::Error::from(kind), Path::new("/x"));
            assert_eq!(error.fault, expected, "{kind:?}");
        }
    }
}
