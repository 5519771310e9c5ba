//! The installed programs of MariaDB or MySQL, and how a server of its own is started with them.

use super::statements::MariadbSession;
use super::{KIND, words};
use crate::canceller::Canceller;
use crate::own_server::ServerPrograms;
use crate::program_places::program_in;
use crate::{DatabaseSettings, ServerUser, SqlError};
use drivescope_model::options::SqlPart;
use mysql::prelude::Queryable;
use mysql::{Conn, OptsBuilder};
use rustix::process::Signal;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

/// Places of the programs in distributions and the makers' archives, and the variable for another folder.
const PLACES: [&str; 6] = [
    "/usr/sbin",
    "/usr/libexec",
    "/usr/bin",
    "/usr/local/mysql/bin",
    "/usr/local/mysql/scripts",
    "/usr/local/mariadb/bin",
];
const OWN_PLACE: &str = "DRIVESCOPE_MARIADB_BIN";
/// Folders beside that one in which some of its programs may be.
const BESIDE: [&str; 4] = [".", "../bin", "../sbin", "../scripts"];
const USER: &str = "mysql";
const SUPERUSER: &str = "root";
const NAME: &str = "drivescope";
const SOCKET: &str = "db.sock";
/// Temporary tables in its own folder too, which is its working directory. A server that starts deletes all that it
/// finds where they are kept; the machine's temporary directory may hold other servers' tables.
const OWN_TMPDIR: &str = "--tmpdir=.";
const BACKUP: &str = "backup.mbstream";
/// Smallest and largest log: the default of Debian's server, and enough that no load of some GB waits for it.
const LOG_BYTES: std::ops::RangeInclusive<u64> = (96 << 20)..=(512 << 20);
/// Fewer buffers it refuses, by its version: 5 to 6 MiB.
const BUFFER_BYTES_MIN: u64 = 8 << 20;
const PREPARE_BYTES_MIN: u64 = 64 << 20;

#[derive(Clone)]
pub(crate) struct MariadbPrograms {
    server: PathBuf,
    /// The program that makes an empty database; MySQL's server does that itself.
    install: Option<PathBuf>,
    /// The programs that copy a running server, and unpack the copy.
    backup: Option<[PathBuf; 2]>,
    user: Option<ServerUser>,
}

/// The first of these programs that is there.
fn found(names: &[&str]) -> Option<PathBuf> {
    let own = std::env::var_os(OWN_PLACE).map(PathBuf::from);
    names.iter().find_map(|name| match &own {
        Some(own) => {
            let known = BESIDE.map(|folder| own.join(folder).join(name));
            std::fs::canonicalize(known.into_iter().find(|path| path.is_file())?).ok()
        }
        None => program_in(name, &PLACES),
    })
}

impl MariadbPrograms {
    pub fn find() -> Result<Self, SqlError> {
        fn missing() -> SqlError {
            SqlError::NotInstalled { database: KIND, package: "mariadb-server" }
        }
        let server = found(&["mariadbd", "mysqld"]).ok_or_else(missing)?;
        let output = Command::new(&server).args(["--no-defaults", "--version"]).output();
        let output = output.map_err(|error| SqlError::of_program("mariadbd", &error))?;
        let is_mysql = check_version(&String::from_utf8_lossy(&output.stdout))?;
        let install = if is_mysql {
            None
        } else {
            Some(found(&["mariadb-install-db", "mysql_install_db"]).ok_or_else(missing)?)
        };
        let backup = found(&["mariadb-backup", "mariabackup"]).zip(found(&["mbstream"]));
        // MariaDB's program refuses servers of MySQL.
        let backup = backup.filter(|_| !is_mysql).map(|(copy, unpack)| [copy, unpack]);
        Ok(Self { server, install, backup, user: ServerUser::for_server(KIND, USER)? })
    }

    /// A program with the settings that all of them need; the system's files are for its own server.
    fn command(program: &Path, folder: &Path) -> Command {
        let mut command = Command::new(program);
        command.arg("--no-defaults").arg(option("datadir", folder));
        command
    }
}

fn option(name: &str, value: impl AsRef<std::ffi::OsStr>) -> std::ffi::OsString {
    let mut text = std::ffi::OsString::from(format!("--{name}="));
    text.push(value);
    text
}

fn log_option(settings: DatabaseSettings) -> String {
    let bytes = (settings.table_bytes / 2).clamp(*LOG_BYTES.start(), *LOG_BYTES.end());
    format!("--innodb-log-file-size={}M", bytes >> 20)
}

/// Whether it is MySQL: `mariadbd  Ver 10.11.19-MariaDB-0+deb12u1 for …`, `/usr/sbin/mysqld  Ver 8.0.36 for …`. Errors:
/// it is older than the features used here.
fn check_version(said: &str) -> Result<bool, SqlError> {
    let found = said.split_once("Ver ").map_or("", |(_, rest)| rest);
    let found = found.split_whitespace().next().unwrap_or("?").to_string();
    let mut numbers = found.split(|c: char| !c.is_ascii_digit()).map(str::parse::<u32>);
    let version = (numbers.next().and_then(Result::ok), numbers.next().and_then(Result::ok));
    let is_mysql = !found.contains("MariaDB");
    let (least, text) = if is_mysql { ((8, 0), "8.0") } else { ((10, 5), "10.5") };
    match version {
        (Some(major), Some(minor)) if (major, minor) >= least => Ok(is_mysql),
        _ => {
            let found = if is_mysql { format!("(MySQL) {found}") } else { found };
            Err(SqlError::TooOld { database: KIND, found, least: text })
        }
    }
}

/// A program whose output, or input, is a file: the shell opens it and becomes the program.
fn redirected(command: &Command, direction: &str, file: &Path) -> Command {
    let mut shell = Command::new("/bin/sh");
    shell.arg("-c").arg(format!("exec \"$@\" {direction} \"$0\"")).arg(file);
    shell.arg(command.get_program()).args(command.get_args());
    shell
}

impl ServerPrograms for MariadbPrograms {
    type Session = MariadbSession;
    // It has no children, and leaves nothing.
    const END_AT_ONCE: Signal = Signal::KILL;
    const END_IN_ORDER: Signal = Signal::TERM;

    fn programs(&self) -> Vec<PathBuf> {
        let others = self.backup.iter().flatten().cloned();
        std::iter::once(self.server.clone()).chain(others).collect()
    }

    fn user(&self) -> Option<&ServerUser> {
        self.user.as_ref()
    }

    fn lacks(&self, part: SqlPart) -> Option<&'static str> {
        match part {
            SqlPart::Backup | SqlPart::Restore if self.install.is_none() => {
                Some("mariadb-backup cannot copy MySQL")
            }
            SqlPart::Backup | SqlPart::Restore if self.backup.is_none() => {
                Some("mariadb-backup is not installed (Debian: apt-get install mariadb-backup)")
            }
            _ => None,
        }
    }

    fn make(&self, folder: &Path, settings: DatabaseSettings) -> Command {
        let Some(install) = &self.install else {
            let mut make = Self::command(&self.server, folder);
            make.args(["--initialize-insecure", "--skip-log-bin", OWN_TMPDIR]);
            make.arg(log_option(settings));
            return make;
        };
        let mut make = Self::command(install, folder);
        make.args(["--auth-root-authentication-method=normal", "--skip-test-db", OWN_TMPDIR]);
        make.arg(log_option(settings));
        if std::env::var_os(OWN_PLACE).is_some() {
            let folder = self.server.parent().and_then(Path::parent);
            make.args(folder.map(|folder| option("basedir", folder)));
        }
        make
    }

    fn server(&self, folder: &Path, settings: DatabaseSettings) -> Command {
        let mut command = Self::command(&self.server, folder);
        // Its working directory is its folder: these are in there, by paths that are short.
        command.arg(option("socket", SOCKET)).args(["--pid-file=db.pid", OWN_TMPDIR]);
        command.args(["--skip-networking", "--skip-log-bin", "--secure-file-priv="]);
        command.arg(log_option(settings));
        let buffer_bytes = settings.buffer_bytes.max(BUFFER_BYTES_MIN);
        command.arg(format!("--innodb-buffer-pool-size={buffer_bytes}"));
        // Cold means empty: the server does not reload its buffers.
        command.arg("--innodb-buffer-pool-dump-at-shutdown=OFF");
        command.arg("--innodb-buffer-pool-load-at-startup=OFF");
        // No background work during a measurement.
        command.arg("--innodb-stats-auto-recalc=OFF");
        let flushes = if settings.is_durable { 1 } else { 0 };
        command.arg(format!("--innodb-flush-log-at-trx-commit={flushes}"));
        command.arg(format!("--max-connections={}", settings.clients + 20));
        if self.install.is_none() {
            command.arg("--mysqlx=OFF");
        }
        command
    }

    fn connect(
        &self,
        place: &str,
        _settings: DatabaseSettings,
        _canceller: &Arc<Canceller>,
    ) -> Result<MariadbSession, String> {
        let options = OptsBuilder::new().socket(Some(format!("{place}/{SOCKET}")));
        let options = options.user(Some(SUPERUSER));
        let make = format!("CREATE DATABASE IF NOT EXISTS {NAME}");
        let made = Conn::new(options.clone()).and_then(|mut any| any.query_drop(make));
        let opened = made.and_then(|()| MariadbSession::open(options.db_name(Some(NAME)).into()));
        opened.map_err(|error| words(&error))
    }

    fn backup(&self, from: &Path, into: &Path) -> Command {
        let program = self.backup.as_ref().map_or(Path::new("mariadb-backup"), |[copy, _]| copy);
        let mut backup = Self::command(program, from);
        backup.args(["--backup", "--stream=mbstream", OWN_TMPDIR]);
        backup.arg(option("target-dir", into));
        backup.arg(format!("--user={SUPERUSER}"));
        backup.arg(option("socket", Path::new("/proc/self/cwd").join(SOCKET)));
        redirected(&backup, ">", &into.join(BACKUP))
    }

    fn unpack(&self, backup: &Path, settings: DatabaseSettings) -> Vec<Command> {
        let Some([copy, unpack]) = &self.backup else { return Vec::new() };
        let mut extract = Command::new(unpack);
        extract.arg("-x");
        let mut prepare = Command::new(copy);
        prepare.args(["--no-defaults", "--prepare", "--target-dir=."]);
        let memory = settings.buffer_bytes.max(PREPARE_BYTES_MIN);
        prepare.arg(format!("--use-memory={memory}"));
        vec![redirected(&extract, "<", &backup.join(BACKUP)), prepare]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn old_servers_are_refused_and_mysql_is_recognized() {
        fn why(said: &str) -> String {
            check_version(said).unwrap_err().to_string()
        }
        let mariadb = "mariadbd  Ver 10.11.19-MariaDB-0+deb12u1 for debian-linux-gnu on x86_64";
        assert!(!check_version(mariadb).unwrap());
        assert!(!check_version("mariadbd  Ver 11.4.2-MariaDB for Linux").unwrap());
        assert!(check_version("/usr/sbin/mysqld  Ver 8.0.36 for Linux on x86_64").unwrap());
        let old = why("mysqld  Ver 10.3.39-MariaDB for Linux");
        assert_eq!(old, "MariaDB 10.3.39-MariaDB is too old: version 10.5 or later is needed");
        assert!(why("mysqld  Ver 5.7.44 for Linux").contains("(MySQL) 5.7.44 is too old"));
        assert!(why("").contains("too old"));
    }

    #[test]
    fn logs_are_half_of_the_table_within_bounds() {
        fn of(table_bytes: u64) -> String {
            let settings = DatabaseSettings { table_bytes, ..DatabaseSettings::default() };
            log_option(settings)
        }
        assert_eq!(of(0), "--innodb-log-file-size=96M");
        assert_eq!(of(600 << 20), "--innodb-log-file-size=300M");
        assert_eq!(of(100 << 30), "--innodb-log-file-size=512M");
    }

    #[test]
    fn a_redirected_program_gets_its_arguments_as_they_are() {
        let mut command = Command::new("printf");
        command.args(["%s|%s", "a b", "$HOME"]);
        let shell = redirected(&command, "2>", Path::new("/dev/null"));
        let output = { shell }.output().unwrap();
        assert_eq!(String::from_utf8(output.stdout).unwrap(), "a b|$HOME");
    }
}
