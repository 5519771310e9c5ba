//! A cluster of its own: made, started, stopped, backed up with the installed programs.

use super::statements::PostgresSession;
use super::{KIND, words};
use crate::canceller::Canceller;
use crate::find::folder_with;
use crate::server::{ServerProcess, wait_ready};
use crate::{
    Client, Database, DatabaseSettings, FillRow, Installed, ServerCounters, ServerUser, SqlError,
    TABLE,
};
use drivescope_model::options::DatabaseKind;
use rustix::fd::{AsRawFd, OwnedFd};
use rustix::process::Signal;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

/// Where distributions have its programs, and a folder of one's own choice.
const PLACES: [&str; 3] = ["/usr/lib/postgresql/*/bin", "/usr/pgsql-*/bin", "/usr/local/pgsql/bin"];
const OWN_PLACE: &str = "DRIVESCOPE_POSTGRES_BIN";
/// The oldest version that has everything that is used here.
const VERSION_MIN: u32 = 12;
/// Its superuser within the cluster.
const USER: &str = "drivescope";
/// The name of the backup's one file.
const BACKUP: &str = "base.tar";
/// How long a server may take to start: it may have to recover.
const START_TIME_MAX: Duration = Duration::from_secs(120);

/// The installed programs.
pub(crate) struct Programs {
    folder: PathBuf,
    user: Option<ServerUser>,
    counts_statements: bool,
}

impl Programs {
    pub fn find() -> Result<Self, SqlError> {
        let remedy = "install its server (Debian: apt-get install postgresql)";
        let missing = SqlError::NotInstalled { database: KIND, remedy };
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

    fn server(&self, settings: DatabaseSettings) -> Command {
        let mut command = self.command("postgres");
        command.args(["-D", "."]);
        let wal = if settings.is_durable { "on" } else { "off" };
        let mut set = |name: &str, value: &str| {
            command.args(["-c", &format!("{name}={value}")]);
        };
        // A socket in its own folder, by a path that is short however long that of the folder is.
        set("unix_socket_directories", "/proc/self/cwd");
        set("listen_addresses", "");
        set("max_connections", &(settings.clients + 20).to_string());
        set("shared_buffers", &format!("{}kB", (settings.buffer_bytes / 1024).max(128)));
        set("synchronous_commit", wal);
        // Else a count could not use more than two processes.
        set("max_parallel_workers", &settings.cpus.to_string());
        // Nothing happens by itself while something is measured.
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
}

/// `postgres (PostgreSQL) 15.18 (Debian …)`.
fn check_version(said: &str) -> Result<(), SqlError> {
    let found = said.split_whitespace().nth(2).unwrap_or("?").to_string();
    let digits = found.split(|c: char| !c.is_ascii_digit()).next();
    let major = digits.and_then(|digits| digits.parse::<u32>().ok());
    match major {
        Some(major) if major >= VERSION_MIN => Ok(()),
        _ => Err(SqlError::TooOld { database: KIND, found, least: VERSION_MIN }),
    }
}

impl Installed for Programs {
    fn programs(&self) -> Vec<PathBuf> {
        ["postgres", "initdb", "pg_basebackup"].map(|name| self.folder.join(name)).to_vec()
    }

    fn user(&self) -> Option<&ServerUser> {
        self.user.as_ref()
    }

    fn create(
        &self,
        folder: &Path,
        settings: DatabaseSettings,
        canceller: &Arc<Canceller>,
    ) -> Result<Box<dyn Database>, SqlError> {
        if let Some(user) = &self.user {
            user.check_reach(folder)?;
        }
        let mut initdb = self.command("initdb");
        initdb.args(["-D", ".", "-U", USER, "-A", "trust", "-E", "UTF8", "--locale=C"]);
        initdb.args(["--no-sync", "--no-instructions"]);
        ServerProcess::run_to_end(initdb, folder, self.user.as_ref(), canceller)?;
        let programs = Self { folder: self.folder.clone(), user: self.user.clone(), ..*self };
        let canceller = Arc::clone(canceller);
        let running = Running::start(&programs, folder, settings, &canceller)?;
        let version = running.session.version().to_string();
        let folder = folder.to_path_buf();
        let mut made =
            Cluster { programs, folder, settings, canceller, version, running: Some(running) };
        if made.programs.counts_statements {
            made.running()?.session.count_statements();
        }
        Ok(Box::new(made))
    }
}

/// A server and a connection to it.
struct Running {
    session: PostgresSession,
    server: ServerProcess,
    /// The folder, by which its socket has a short path for us.
    _place: OwnedFd,
}

impl Running {
    fn start(
        programs: &Programs,
        folder: &Path,
        settings: DatabaseSettings,
        canceller: &Arc<Canceller>,
    ) -> Result<Self, SqlError> {
        let user = programs.user.as_ref();
        let command = programs.server(settings);
        let mut server = ServerProcess::start(command, folder, user, Signal::QUIT, canceller)?;
        let place = open_folder(folder)?;
        let mut config = postgres::Config::new();
        config.host_path(format!("/proc/self/fd/{}", place.as_raw_fd()));
        config.user(USER).dbname("postgres").application_name("drivescope");
        let session = wait_ready(&mut server, START_TIME_MAX, || {
            PostgresSession::open(config.clone(), settings, canceller)
                .map_err(|error| words(&error))
        });
        let ended = |why| match canceller.is_cancelled() {
            true => SqlError::Interrupted,
            false => SqlError::ServerEnded { database: KIND, why },
        };
        Ok(Self { session: session.map_err(ended)?, server, _place: place })
    }

    fn stop(mut self) {
        drop(self.session);
        self.server.stop(Signal::INT);
    }
}

fn open_folder(folder: &Path) -> Result<OwnedFd, SqlError> {
    let opened = std::fs::File::open(folder).map(OwnedFd::from);
    opened.map_err(|error| SqlError::of_program("postgres", &error))
}

struct Cluster {
    programs: Programs,
    folder: PathBuf,
    settings: DatabaseSettings,
    canceller: Arc<Canceller>,
    version: String,
    running: Option<Running>,
}

impl Cluster {
    fn running(&mut self) -> Result<&mut Running, SqlError> {
        let stopped = || SqlError::of_statement(KIND, "the server is stopped");
        self.running.as_mut().ok_or_else(stopped)
    }

    /// Asks something of the server; if it has ended meanwhile, that is said in its own words.
    fn ask<T>(
        &mut self,
        question: impl FnOnce(&mut PostgresSession) -> Result<T, SqlError>,
    ) -> Result<T, SqlError> {
        let is_cancelled = self.canceller.is_cancelled();
        let running = self.running()?;
        let answer = question(&mut running.session);
        match answer {
            Err(_) if is_cancelled => Err(SqlError::Interrupted),
            Err(SqlError::ServerEnded { .. }) => {
                Err(SqlError::ServerEnded { database: KIND, why: running.server.last_words() })
            }
            other => other,
        }
    }
}

impl Database for Cluster {
    fn kind(&self) -> DatabaseKind {
        KIND
    }

    fn version(&self) -> &str {
        &self.version
    }

    fn settings(&mut self) -> Result<BTreeMap<String, String>, SqlError> {
        let mut settings = self.ask(PostgresSession::settings)?;
        if let Some(user) = &self.programs.user {
            settings.insert("runs as user".to_string(), user.name.clone());
        }
        Ok(settings)
    }

    fn load(&mut self, rows: u64, fill: &mut FillRow<'_>) -> Result<(), SqlError> {
        self.ask(|session| session.load(rows, fill))
    }

    fn checkpoint(&mut self) -> Result<(), SqlError> {
        self.ask(|session| session.run("CHECKPOINT"))
    }

    fn table_bytes(&mut self) -> Result<u64, SqlError> {
        self.ask(PostgresSession::table_bytes)
    }

    fn scan(&mut self) -> Result<u64, SqlError> {
        self.ask(PostgresSession::scan)
    }

    fn make_index(&mut self) -> Result<(), SqlError> {
        self.ask(PostgresSession::make_index)
    }

    fn stop(&mut self) -> Result<(), SqlError> {
        if let Some(running) = self.running.take() {
            running.stop();
        }
        Ok(())
    }

    fn start(&mut self) -> Result<(), SqlError> {
        let running = Running::start(&self.programs, &self.folder, self.settings, &self.canceller)?;
        self.running = Some(running);
        if self.programs.counts_statements {
            self.running()?.session.count_statements();
        }
        Ok(())
    }

    fn client(&self) -> Result<Box<dyn Client>, SqlError> {
        let stopped = || SqlError::of_statement(KIND, "the server is stopped");
        self.running.as_ref().ok_or_else(stopped)?.session.client()
    }

    fn backup(&mut self, folder: &Path) -> Result<(), SqlError> {
        let mut backup = self.programs.command("pg_basebackup");
        backup.args(["-h", "/proc/self/cwd", "-U", USER, "-D"]).arg(folder);
        // The log that belongs to it is in the same file.
        backup.args(["-F", "tar", "-X", "fetch", "-c", "fast", "--no-sync", "--no-manifest"]);
        ServerProcess::run_to_end(
            backup,
            &self.folder,
            self.programs.user.as_ref(),
            &self.canceller,
        )
    }

    fn restore(&mut self, backup: &Path, folder: &Path) -> Result<u64, SqlError> {
        let mut unpack = Command::new("tar");
        unpack.arg("-xf").arg(backup.join(BACKUP));
        ServerProcess::run_to_end(unpack, folder, self.programs.user.as_ref(), &self.canceller)?;
        let mut restored = Running::start(&self.programs, folder, self.settings, &self.canceller)?;
        let rows = restored.session.run(&format!("SELECT 1 FROM {TABLE} LIMIT 1"));
        let rows = rows.and_then(|()| restored.session.estimated_rows());
        restored.stop();
        rows
    }

    fn begin_counting(&mut self) -> Result<(), SqlError> {
        self.ask(PostgresSession::begin_counting)
    }

    fn counted(&mut self) -> Result<ServerCounters, SqlError> {
        self.ask(PostgresSession::counted)
    }

    fn cpu_ns(&self) -> Option<u64> {
        self.running.as_ref().map(|running| running.server.cpu_ns())
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        if let Some(mut running) = self.running.take() {
            // Its files go: nothing needs to be written any more.
            running.server.stop(Signal::QUIT);
        }
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
