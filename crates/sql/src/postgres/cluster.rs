//! A cluster of its own: made, started, stopped, backed up with the installed programs.

use super::statements::PostgresSession;
use super::{KIND, words};
use crate::canceller::Canceller;
use crate::own_server::ServerPrograms;
use crate::program_places::folder_with;
use crate::{DatabaseSettings, ServerUser, SqlError};
use rustix::process::Signal;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

/// Places of its programs in distributions, and the variable for another folder.
const PLACES: [&str; 3] = ["/usr/lib/postgresql/*/bin", "/usr/pgsql-*/bin", "/usr/local/pgsql/bin"];
const OWN_PLACE: &str = "DRIVESCOPE_POSTGRES_BIN";
/// The oldest version that has everything that is used here.
const VERSION_MIN: u32 = 12;
const USER: &str = "drivescope";
const BACKUP: &str = "base.tar";

#[derive(Clone)]
pub(crate) struct PostgresPrograms {
    folder: PathBuf,
    user: Option<ServerUser>,
    counts_statements: bool,
}

impl PostgresPrograms {
    pub fn find() -> Result<Self, SqlError> {
        let missing = SqlError::NotInstalled { database: KIND, package: "postgresql" };
        let folder = match std::env::var_os(OWN_PLACE).map(PathBuf::from) {
            Some(own) => own.join("postgres").is_file().then_some(own),
            None => folder_with("postgres", &PLACES),
        };
        let folder = folder.ok_or(missing)?;
        let output = Command::new(folder.join("postgres")).arg("--version").output();
        let output = output.map_err(|error| SqlError::of_program("postgres", &error))?;
        check_version(&String::from_utf8_lossy(&output.stdout))?;
        let library = folder.join("../lib/pg_stat_statements.so");
        let user = ServerUser::for_server(KIND, "postgres")?;
        Ok(Self { folder, user, counts_statements: library.is_file() })
    }

    fn command(&self, name: &str) -> Command {
        Command::new(self.folder.join(name))
    }
}

/// `postgres (PostgreSQL) 15.18 (Debian …)`.
fn check_version(said: &str) -> Result<(), SqlError> {
    let found = said.split_whitespace().nth(2).unwrap_or("?").to_string();
    let digits = found.split(|c: char| !c.is_ascii_digit()).next();
    let major = digits.and_then(|digits| digits.parse::<u32>().ok());
    match major {
        Some(major) if major >= VERSION_MIN => Ok(()),
        _ => Err(SqlError::TooOld { database: KIND, found, least: "12" }),
    }
}

impl ServerPrograms for PostgresPrograms {
    type Session = PostgresSession;
    const END_AT_ONCE: Signal = Signal::QUIT;
    const END_IN_ORDER: Signal = Signal::INT;

    fn programs(&self) -> Vec<PathBuf> {
        ["postgres", "initdb", "pg_basebackup"].map(|name| self.folder.join(name)).to_vec()
    }

    fn user(&self) -> Option<&ServerUser> {
        self.user.as_ref()
    }

    fn make(&self, _folder: &Path, _settings: DatabaseSettings) -> Command {
        let mut initdb = self.command("initdb");
        initdb.args(["-D", ".", "-U", USER, "-A", "trust", "-E", "UTF8", "--locale=C"]);
        initdb.args(["--no-sync", "--no-instructions"]);
        initdb
    }

    fn server(&self, _folder: &Path, settings: DatabaseSettings) -> Command {
        let mut command = self.command("postgres");
        command.args(["-D", "."]);
        let wal = if settings.is_durable { "on" } else { "off" };
        let mut set = |name: &str, value: &str| {
            command.args(["-c", &format!("{name}={value}")]);
        };
        // A socket in its own folder, by a short path, however long the folder's is.
        set("unix_socket_directories", "/proc/self/cwd");
        set("listen_addresses", "");
        set("max_connections", &(settings.clients + 20).to_string());
        set("shared_buffers", &format!("{}kB", (settings.buffer_bytes / 1024).max(128)));
        set("synchronous_commit", wal);
        // Else a count could not use more than two processes.
        set("max_parallel_workers", &settings.cpus.to_string());
        // No background work during a measurement.
        set("autovacuum", "off");
        set("jit", "off");
        set("synchronize_seqscans", "off");
        set("max_wal_size", "4GB");
        set("checkpoint_timeout", "1d");
        if self.counts_statements {
            set("shared_preload_libraries", "pg_stat_statements");
            set("pg_stat_statements.track_utility", "off");
        }
        command
    }

    fn connect(
        &self,
        place: &str,
        settings: DatabaseSettings,
        canceller: &Arc<Canceller>,
    ) -> Result<PostgresSession, String> {
        let mut config = tokio_postgres::Config::new();
        config.host_path(place).user(USER).dbname("postgres").application_name("drivescope");
        let opened = PostgresSession::open(config, settings, canceller);
        let mut session = opened.map_err(|error| words(&error))?;
        if self.counts_statements {
            session.count_statements();
        }
        Ok(session)
    }

    fn backup(&self, _from: &Path, into: &Path) -> Command {
        let mut backup = self.command("pg_basebackup");
        backup.args(["-h", "/proc/self/cwd", "-U", USER, "-D"]).arg(into);
        // The log that belongs to it is in the same file.
        backup.args(["-F", "tar", "-X", "fetch", "-c", "fast", "--no-sync", "--no-manifest"]);
        backup
    }

    fn unpack(&self, backup: &Path, _settings: DatabaseSettings) -> Vec<Command> {
        let mut unpack = Command::new("tar");
        unpack.arg("-xf").arg(backup.join(BACKUP));
        vec![unpack]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn old_servers_are_refused() {
        assert!(check_version("postgres (PostgreSQL) 15.18 (Debian 15.18-0+deb12u1)").is_ok());
        assert!(check_version("postgres (PostgreSQL) 17beta1").is_ok());
        let why = check_version("postgres (PostgreSQL) 9.6.24").unwrap_err().to_string();
        assert_eq!(why, "PostgreSQL 9.6.24 is too old: version 12 or later is needed");
    }
}
