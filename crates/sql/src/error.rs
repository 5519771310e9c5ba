//! What can go wrong with a database.

use drivescope_model::options::DatabaseKind;
use std::io;
use std::path::PathBuf;

/// Why something did not work; one line, with the remedy.
#[derive(Debug, thiserror::Error)]
pub enum SqlError {
    /// The server is not installed.
    #[error("{} is not installed (Debian: apt-get install {package}); sqlite needs no server", .database.title())]
    NotInstalled {
        /// Which.
        database: DatabaseKind,
        /// Debian's package.
        package: &'static str,
    },
    /// Nobody but its owner can make a server of it.
    #[error("{} is measured on a server of yours only: name it (--db {scheme}://USER@HOST/DATABASE)", .database.title())]
    OnlyByUrl {
        /// Which.
        database: DatabaseKind,
        /// How its URLs begin.
        scheme: &'static str,
    },
    /// This program was built without it.
    #[error("this build has no {}: build with --features {feature}", .database.title())]
    NotBuilt {
        /// Which.
        database: DatabaseKind,
        /// The feature.
        feature: &'static str,
    },
    /// The server is too old.
    #[error("{} {found} is too old: version {least} or later is needed", .database.title())]
    TooOld {
        /// Which.
        database: DatabaseKind,
        /// What was found.
        found: String,
        /// What is needed.
        least: &'static str,
    },
    /// The user that the server should run as does not exist.
    #[error(
        "{} refuses root, and there is no user {user} (adduser --system {user}); or run as a normal user", .database.title()
    )]
    NoUser {
        /// Which.
        database: DatabaseKind,
        /// The name of the user.
        user: &'static str,
    },
    /// That user cannot come to the target.
    #[error(
        "user {user}, as whom the server runs, cannot enter {}: name another directory, or allow it (setfacl -m u:{user}:x {})", .path.display(), .path.display()
    )]
    CannotEnter {
        /// The user.
        user: String,
        /// Where it ends.
        path: PathBuf,
    },
    /// A program of the database failed.
    #[error("{program} failed: {why}")]
    Program {
        /// Which.
        program: String,
        /// Its own words.
        why: String,
    },
    /// The server did not start, or ended.
    #[error("the {} server ended: {why}", .database.title())]
    ServerEnded {
        /// Which.
        database: DatabaseKind,
        /// Its own words.
        why: String,
    },
    /// Nobody answers.
    #[error("cannot connect to {} at {place}: {why}", .database.title())]
    Connect {
        /// Which.
        database: DatabaseKind,
        /// Where.
        place: String,
        /// Why not.
        why: String,
    },
    /// A statement failed.
    #[error("{}: {why}", .database.title())]
    Statement {
        /// Which.
        database: DatabaseKind,
        /// Its own words.
        why: String,
    },
    /// The file system is full.
    #[error("{}: no space left: free some space or use a smaller --size", .database.title())]
    NoSpace {
        /// Which.
        database: DatabaseKind,
    },
    /// A URL, a statement or its parameters make no sense.
    #[error("{0}")]
    Usage(String),
    /// The run is to end.
    #[error("interrupted")]
    Interrupted,
}

/// What databases say of a full file system: strerror's words, SQLite's, InnoDB's error 1114.
const FULL: [&str; 4] =
    ["No space left on device", "database or disk is full", "is full", "Disk quota exceeded"];

impl SqlError {
    /// A statement that failed, in the database's own words.
    pub(crate) fn of_statement(database: DatabaseKind, why: impl Into<String>) -> Self {
        let why = one_line(&why.into());
        match FULL.iter().any(|words| why.contains(words)) {
            true => Self::NoSpace { database },
            false => Self::Statement { database, why },
        }
    }

    /// A server that ended, in its own words.
    pub(crate) fn of_end(database: DatabaseKind, why: String) -> Self {
        match FULL.iter().any(|words| why.contains(words)) {
            true => Self::NoSpace { database },
            false => Self::ServerEnded { database, why },
        }
    }

    /// A program that could not be started, or failed.
    pub(crate) fn of_program(program: &str, error: &io::Error) -> Self {
        Self::Program { program: program.to_string(), why: error.to_string() }
    }
}

/// The first line that says something.
pub(crate) fn one_line(text: &str) -> String {
    let line = text.lines().map(str::trim).find(|line| !line.is_empty());
    line.unwrap_or("it says nothing").to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_file_system_is_told_from_other_errors() {
        let of = |words: &str| SqlError::of_statement(DatabaseKind::Postgres, words);
        for words in [
            "could not extend file \"base/5/16384\": No space left on device\nHINT: Check",
            "database or disk is full",
            "The table 'drivescope_table' is full",
        ] {
            assert!(matches!(of(words), SqlError::NoSpace { .. }), "{words}");
        }
        let other = of("\n  relation \"x\" does not exist\nLINE 1");
        assert_eq!(other.to_string(), "PostgreSQL: relation \"x\" does not exist");
    }
}
