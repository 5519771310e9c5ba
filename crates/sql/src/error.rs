//! Errors of databases.

use drivescope_model::options::DatabaseKind;
use std::io;
use std::path::PathBuf;

/// Why something did not work; one line, with the remedy.
#[derive(Debug, Clone, thiserror::Error)]
pub enum SqlError {
    #[error("{} is not installed (Debian: apt-get install {package})", .database.title())]
    NotInstalled {
        database: DatabaseKind,
        /// Debian's package.
        package: &'static str,
    },
    /// Only its owner can make a server of it.
    #[error("{} is measured on a server of yours only: name it (--db {scheme}://USER@HOST/DATABASE)", .database.title())]
    OnlyByUrl {
        database: DatabaseKind,
        /// How its URLs begin.
        scheme: &'static str,
    },
    #[error("this build has no {}: build with --features {feature}", .database.title())]
    NotBuilt { database: DatabaseKind, feature: &'static str },
    #[error("{} {found} is too old: version {least} or later is needed", .database.title())]
    TooOld { database: DatabaseKind, found: String, least: &'static str },
    #[error(
        "{} refuses root: run as a normal user, or make its own (adduser --system {user})", .database.title()
    )]
    NoUser { database: DatabaseKind, user: &'static str },
    #[error(
        "the server's user {user} cannot enter {}: allow it (setfacl -m u:{user}:x {})", .path.display(), .path.display()
    )]
    CannotEnter { user: String, path: PathBuf },
    #[error("{program} failed: {why}")]
    Program { program: String, why: String },
    #[error("the {} server ended: {why}", .database.title())]
    ServerEnded { database: DatabaseKind, why: String },
    #[error("cannot connect to {} at {place}: {why}", .database.title())]
    Connect { database: DatabaseKind, place: String, why: String },
    #[error("{}: {why}", .database.title())]
    Statement { database: DatabaseKind, why: String },
    #[error("{}: no space left: free some space or use a smaller --size", .database.title())]
    NoSpace { database: DatabaseKind },
    #[error("{}: the disk quota leaves no room: free some space or use a smaller --size", .database.title())]
    Quota { database: DatabaseKind },
    #[error("{}: {why}", .database.title())]
    Device { database: DatabaseKind, why: String },
    #[error("{0}")]
    Usage(String),
    #[error("interrupted")]
    Interrupted,
}

/// Words of databases for a full file system: strerror's words, SQLite's, InnoDB's error 1114.
const FULL: [&str; 3] = ["No space left on device", "database or disk is full", "is full"];

/// strerror's words of a user's share that is used up.
const QUOTA: [&str; 1] = ["Disk quota exceeded"];

/// Their words for a drive that failed, or that returned other data than were written: strerror's words, and those of
/// SQLite, PostgreSQL, InnoDB and SQL Server.
const FAILED: [&str; 10] = [
    "Input/output error",
    "disk I/O error",
    "database disk image is malformed",
    "file is not a database",
    "invalid page in block",
    "read only 0 of",
    "corrupted page pointers",
    "marked as crashed",
    "page corruption",
    "consistency-based I/O error",
];

impl SqlError {
    pub(crate) fn of_statement(database: DatabaseKind, why: impl Into<String>) -> Self {
        let why = one_line(&why.into());
        match Self::of_drive(database, &why) {
            Some(error) => error,
            None => Self::Statement { database, why },
        }
    }

    pub(crate) fn of_end(database: DatabaseKind, why: String) -> Self {
        Self::of_drive(database, &why).unwrap_or(Self::ServerEnded { database, why })
    }

    /// The error of the drive that a database's words report, if any.
    fn of_drive(database: DatabaseKind, why: &str) -> Option<Self> {
        let says = |all: &[&str]| all.iter().any(|words| why.contains(words));
        match (says(&FULL), says(&QUOTA), says(&FAILED)) {
            (true, ..) => Some(Self::NoSpace { database }),
            (_, true, _) => Some(Self::Quota { database }),
            (.., true) => {
                Some(Self::Device { database, why: format!("{why}; see the kernel log (dmesg)") })
            }
            _ => None,
        }
    }

    pub(crate) fn of_program(program: &str, error: &io::Error) -> Self {
        Self::Program { program: program.to_string(), why: error.to_string() }
    }
}

/// The first line that is not empty.
pub(crate) fn one_line(text: &str) -> String {
    let line = text.lines().map(str::trim).find(|line| !line.is_empty());
    line.unwrap_or("it says nothing").to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn full_file_system_differs_from_other_errors() {
        fn of(words: &str) -> SqlError {
            SqlError::of_statement(DatabaseKind::Postgres, words)
        }
        for words in [
            "could not extend file \"base/5/16384\": No space left on device\nHINT: Check",
            "database or disk is full",
            "The table 'drivescope_table' is full",
        ] {
            assert!(matches!(of(words), SqlError::NoSpace { .. }), "{words}");
        }
        for words in [
            "could not read block 7 in file \"base/5/1\": Input/output error",
            "disk I/O error",
            "database disk image is malformed",
            "could not read block 7 in file \"base/5/1\": read only 0 of 8192 bytes",
        ] {
            assert!(matches!(of(words), SqlError::Device { .. }), "{words}");
        }
        assert!(matches!(of("malformed JSON"), SqlError::Statement { .. }), "of a query");
        let quota = of("could not extend file \"base/5/1\": Disk quota exceeded");
        assert!(quota.to_string().contains("quota leaves no room"), "{quota}");
        let other = of("\n  relation \"x\" does not exist\nLINE 1");
        assert_eq!(other.to_string(), "PostgreSQL: relation \"x\" does not exist");
    }
}
