//! What can go wrong with a store, each with its cause and what to do about it.

use crate::document::FormatError;
use rusqlite::ErrorCode;
use rusqlite::ffi::SQLITE_IOERR_SHORT_READ;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Why a store could not be used; the text is one line with the remedy.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// No store was named, and there is no home directory for the default one.
    #[error("HOME is not set, so there is no default store; name a file with --store FILE")]
    NoHome,
    /// The name of the store is empty.
    #[error("the name of the store is empty; name a file with --store FILE")]
    EmptyLocation,
    /// A PostgreSQL address in a build that has no such store.
    #[error("this build has no PostgreSQL store yet; name a file with --store FILE")]
    NoPostgres,
    /// An address of another kind.
    #[error("unknown kind of store '{scheme}://'; name a file with --store FILE")]
    UnknownScheme {
        /// What stands before `://`.
        scheme: String,
    },
    /// The path names something that cannot hold a store. Devices are among them: SQLite takes one
    /// for an empty file and would write to it.
    #[error("{} is {what}, not a file; name a file with --store FILE", path.display())]
    NotAFile {
        /// The path.
        path: PathBuf,
        /// `a folder`, `a device or another special file`.
        what: &'static str,
    },
    /// There is no store, and the caller asked for an existing one.
    #[error("no store at {}; drivescope run . creates one", path.display())]
    Missing {
        /// The path.
        path: PathBuf,
    },
    /// Another process held the store for longer than the time allowed.
    #[error(
        "the store {} was locked by another process for {waited_s} s; try again when it has ended, or name another file with --store FILE",
        path.display()
    )]
    Locked {
        /// The store.
        path: PathBuf,
        /// How long it was waited for.
        waited_s: f64,
    },
    /// The file is damaged, or not a database at all.
    #[error(
        "the store {} is damaged or not a database ({reason}); move it away, restore a copy, or name another file with --store FILE",
        path.display()
    )]
    Corrupt {
        /// The store.
        path: PathBuf,
        /// What SQLite says.
        reason: String,
    },
    /// The file is a database of another program.
    #[error(
        "{} is a database of another program; name another file with --store FILE",
        path.display()
    )]
    Foreign {
        /// The file.
        path: PathBuf,
    },
    /// The tables are of a later version of the program.
    #[error(
        "the store {} was made by a newer drivescope (schema {found}, this one reads up to {known}); update drivescope",
        path.display()
    )]
    NewerSchema {
        /// The store.
        path: PathBuf,
        /// Version of its tables.
        found: u32,
        /// Latest version this program knows.
        known: u32,
    },
    /// The user may not read or write here.
    #[error(
        "no permission to use {}; check its owner (a run as root may have made it), or name another file with --store FILE",
        path.display()
    )]
    Denied {
        /// The file or the folder.
        path: PathBuf,
    },
    /// The file system is mounted read-only.
    #[error(
        "{} is on a read-only file system; name a file elsewhere with --store FILE",
        path.display()
    )]
    ReadOnly {
        /// The file or the folder.
        path: PathBuf,
    },
    /// No space is left.
    #[error(
        "no space left for the store {}; free some, or name a file elsewhere with --store FILE",
        path.display()
    )]
    Full {
        /// The file or the folder.
        path: PathBuf,
    },
    /// Anything else that the system or SQLite reports.
    #[error(
        "the store {} cannot be used: {reason}; check its disk (dmesg), or name another file with --store FILE",
        path.display()
    )]
    Io {
        /// The file or the folder.
        path: PathBuf,
        /// What was reported.
        reason: String,
    },
    /// `last` was asked for, and nothing is stored.
    #[error("no runs stored in {} yet; drivescope run . creates one", path.display())]
    NoRuns {
        /// The store.
        path: PathBuf,
    },
    /// The text cannot be the beginning of an id.
    #[error(
        "'{name}' is not a run id; use its first digits, or 'last'; drivescope runs lists them"
    )]
    NotAnId {
        /// What was given.
        name: String,
    },
    /// No run has an id that begins so.
    #[error("no run id starts with '{prefix}' in {}; drivescope runs lists them", path.display())]
    NoSuchRun {
        /// What was given.
        prefix: String,
        /// The store.
        path: PathBuf,
    },
    /// More than one run has an id that begins so.
    #[error("'{prefix}' matches {count} runs ({}); add digits", some_of(candidates, *count))]
    Ambiguous {
        /// What was given.
        prefix: String,
        /// The newest of them, at most five.
        candidates: Vec<String>,
        /// How many there are.
        count: u64,
    },
    /// Another document is stored under the id of one that comes from elsewhere.
    #[error(
        "run {id} is already in {}, with different contents; import it into another store with --store FILE",
        path.display()
    )]
    Differs {
        /// The id of both.
        id: String,
        /// The store.
        path: PathBuf,
    },
    /// A run document that cannot be kept or read.
    #[error(transparent)]
    Document(#[from] FormatError),
}

/// `a, b and 7 more`.
fn some_of(candidates: &[String], count: u64) -> String {
    let listed = candidates.join(", ");
    match count.saturating_sub(candidates.len() as u64) {
        0 => listed,
        more => format!("{listed} and {more} more"),
    }
}

impl StoreError {
    /// What an error of the file system means for the store.
    pub(crate) fn from_io(error: &io::Error, path: &Path) -> Self {
        let path = path.to_path_buf();
        match error.kind() {
            io::ErrorKind::PermissionDenied => Self::Denied { path },
            io::ErrorKind::ReadOnlyFilesystem => Self::ReadOnly { path },
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => Self::Full { path },
            _ => Self::Io { path, reason: error.to_string() },
        }
    }

    /// What an error of SQLite means, after waiting `waited` for locks.
    pub(crate) fn from_sqlite(error: &rusqlite::Error, path: &Path, waited: Duration) -> Self {
        let path = path.to_path_buf();
        let reason = error.to_string();
        let Some(sqlite) = error.sqlite_error() else {
            // A value of another type than this program writes: somebody changed the tables.
            return Self::Corrupt { path, reason };
        };
        match sqlite.code {
            ErrorCode::DatabaseBusy
            | ErrorCode::DatabaseLocked
            | ErrorCode::FileLockingProtocolFailed => {
                Self::Locked { path, waited_s: waited.as_secs_f64() }
            }
            // Unknown is the general "SQL error": with fixed statements, a table or column is gone.
            ErrorCode::NotADatabase | ErrorCode::DatabaseCorrupt | ErrorCode::Unknown => {
                Self::Corrupt { path, reason }
            }
            ErrorCode::SystemIoFailure if sqlite.extended_code == SQLITE_IOERR_SHORT_READ => {
                Self::Corrupt { path, reason }
            }
            ErrorCode::DiskFull => Self::Full { path },
            ErrorCode::PermissionDenied | ErrorCode::ReadOnly => Self::refused(&path, None),
            ErrorCode::CannotOpen => Self::refused(&path, Some(reason)),
            _ => Self::Io { path, reason },
        }
    }

    /// Why SQLite was refused a file: it reports one code for a missing permission, a read-only file
    /// system and a full one. Making a folder beside the store tells which. If that succeeds and
    /// there is no file, `reason` is all that is known.
    ///
    /// The store's own file is not opened for this, because closing it would drop the locks that
    /// this process holds on it (POSIX record locks belong to the process).
    pub(crate) fn refused(path: &Path, reason: Option<String>) -> Self {
        let folder = path.parent().unwrap_or(path);
        match make_and_remove(&folder.join(format!(".drivescope-{}", std::process::id()))) {
            Err(error) => Self::from_io(&error, folder),
            Ok(()) => match reason {
                Some(reason) if !path.exists() => Self::Io { path: path.to_path_buf(), reason },
                _ => Self::Denied { path: path.to_path_buf() },
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
    use super::*;
    use crate::testing::variant;
    use rusqlite::ffi;

    fn of_sqlite(code: i32) -> String {
        let error = rusqlite::Error::SqliteFailure(ffi::Error::new(code), None);
        variant(&StoreError::from_sqlite(&error, Path::new("runs.db"), Duration::from_secs(5)))
    }

    #[test]
    fn sqlite_codes_become_causes() {
        for (code, cause) in [
            (ffi::SQLITE_BUSY, "Locked"),
            (ffi::SQLITE_BUSY_SNAPSHOT, "Locked"),
            (ffi::SQLITE_BUSY_RECOVERY, "Locked"),
            (ffi::SQLITE_LOCKED, "Locked"),
            (ffi::SQLITE_PROTOCOL, "Locked"),
            (ffi::SQLITE_NOTADB, "Corrupt"),
            (ffi::SQLITE_CORRUPT, "Corrupt"),
            (ffi::SQLITE_CORRUPT_INDEX, "Corrupt"),
            (ffi::SQLITE_IOERR_SHORT_READ, "Corrupt"),
            (ffi::SQLITE_ERROR, "Corrupt"),
            (ffi::SQLITE_FULL, "Full"),
            (ffi::SQLITE_IOERR_FSYNC, "Io"),
            (ffi::SQLITE_NOMEM, "Io"),
        ] {
            assert_eq!(of_sqlite(code), cause, "{code}");
        }
    }

    #[test]
    fn system_errors_become_causes() {
        for (kind, expected) in [
            (io::ErrorKind::PermissionDenied, "Denied"),
            (io::ErrorKind::ReadOnlyFilesystem, "ReadOnly"),
            (io::ErrorKind::StorageFull, "Full"),
            (io::ErrorKind::QuotaExceeded, "Full"),
            (io::ErrorKind::NotADirectory, "Io"),
        ] {
            let error = StoreError::from_io(&io::Error::from(kind), Path::new("/x"));
            assert_eq!(variant(&error), expected, "{kind:?}");
        }
    }

    #[test]
    fn every_message_is_one_line_with_a_remedy() {
        let path = || PathBuf::from("/data/runs.db");
        let reason = || "reason".to_string();
        let remedies = ["--store", "drivescope run", "drivescope export", "update", "digits"];
        for error in [
            StoreError::NoHome,
            StoreError::EmptyLocation,
            StoreError::NoPostgres,
            StoreError::UnknownScheme { scheme: "x".into() },
            StoreError::NotAFile { path: path(), what: "a folder" },
            StoreError::Missing { path: path() },
            StoreError::Locked { path: path(), waited_s: 5.0 },
            StoreError::Corrupt { path: path(), reason: reason() },
            StoreError::Foreign { path: path() },
            StoreError::NewerSchema { path: path(), found: 9, known: 1 },
            StoreError::Denied { path: path() },
            StoreError::ReadOnly { path: path() },
            StoreError::Full { path: path() },
            StoreError::Io { path: path(), reason: reason() },
            StoreError::NoRuns { path: path() },
            StoreError::Differs { id: "x".into(), path: path() },
            StoreError::NotAnId { name: "x".into() },
            StoreError::NoSuchRun { prefix: "a".into(), path: path() },
            StoreError::Ambiguous { prefix: "a".into(), candidates: vec![], count: 2 },
        ] {
            let message = error.to_string();
            assert!(!message.contains('\n'), "{message}");
            assert!(remedies.iter().any(|remedy| message.contains(remedy)), "{message}");
        }
    }

    #[test]
    fn an_ambiguous_name_lists_some_and_counts_the_rest() {
        let candidates = vec!["aa".to_string(), "ab".to_string()];
        let message =
            StoreError::Ambiguous { prefix: "a".into(), candidates, count: 9 }.to_string();
        assert_eq!(message, "'a' matches 9 runs (aa, ab and 7 more); add digits");
    }
}
