//! A server of the test's own in a folder: made, started, stopped, backed up by the installed programs.

use crate::canceller::Canceller;
use crate::server::{ServerProcess, wait_ready};
use crate::{
    Client, Database, DatabaseSettings, FillRow, Installed, ServerCounters, ServerUser, SqlError,
};
use drivescope_model::options::{DatabaseKind, SqlPart};
use rustix::fd::{AsRawFd, OwnedFd};
use rustix::process::Signal;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

/// How long a server may take to start: it may have to recover.
const START_TIME_MAX: Duration = Duration::from_secs(120);

/// Why nothing on the user's server is ever cold.
pub(crate) const STAYS_WARM: &str =
    "the server is not the test's own, so its buffers and files stay in memory";

/// A connection for everything but single statements. By itself it is a database on the user's server.
pub(crate) trait ServerSession: Database {
    const KIND: DatabaseKind;

    /// Rows of a restored table, without reading it all.
    fn restored_rows(&mut self) -> Result<u64, SqlError>;
}

/// The installed programs of a server, which all work with the server's folder as their working directory.
pub(crate) trait ServerPrograms: Clone + Send + 'static {
    type Session: ServerSession;
    /// Ends the server, and its children, without writing anything out.
    const END_AT_ONCE: Signal;
    const END_IN_ORDER: Signal;

    fn programs(&self) -> Vec<PathBuf>;

    fn user(&self) -> Option<&ServerUser>;

    fn lacks(&self, _part: SqlPart) -> Option<&'static str> {
        None
    }

    /// The command that makes an empty database in the folder.
    fn make(&self, folder: &Path, settings: DatabaseSettings) -> Command;

    fn server(&self, folder: &Path, settings: DatabaseSettings) -> Command;

    /// A session; `place` is the server's folder by a path that is short enough for sockets.
    fn connect(
        &self,
        place: &str,
        settings: DatabaseSettings,
        canceller: &Arc<Canceller>,
    ) -> Result<Self::Session, String>;

    /// The command that copies the running server in `from` to one file in `into`.
    fn backup(&self, from: &Path, into: &Path) -> Command;

    /// The commands that restore the server's files from that file in an empty folder, one after the other.
    fn unpack(&self, backup: &Path, settings: DatabaseSettings) -> Vec<Command>;
}

impl<P: ServerPrograms> Installed for P {
    fn programs(&self) -> Vec<PathBuf> {
        ServerPrograms::programs(self)
    }

    fn user(&self) -> Option<&ServerUser> {
        ServerPrograms::user(self)
    }

    fn lacks(&self, part: SqlPart) -> Option<&'static str> {
        ServerPrograms::lacks(self, part)
    }

    fn create(
        &self,
        folder: &Path,
        settings: DatabaseSettings,
        canceller: &Arc<Canceller>,
    ) -> Result<Box<dyn Database>, SqlError> {
        Ok(Box::new(OwnServer::create(self, folder, settings, canceller)?))
    }
}

struct RunningServer<S> {
    session: S,
    process: ServerProcess,
    /// The folder, by which its socket has a short path for us.
    _place: OwnedFd,
}

impl<S: ServerSession> RunningServer<S> {
    fn start<P: ServerPrograms<Session = S>>(
        programs: &P,
        folder: &Path,
        settings: DatabaseSettings,
        canceller: &Arc<Canceller>,
    ) -> Result<Self, SqlError> {
        let command = programs.server(folder, settings);
        let name = command.get_program().to_string_lossy().into_owned();
        let mut process =
            ServerProcess::start(command, folder, programs.user(), P::END_AT_ONCE, canceller)?;
        let place = std::fs::File::open(folder).map(OwnedFd::from);
        let place = place.map_err(|error| SqlError::of_program(&name, &error))?;
        let path = format!("/proc/self/fd/{}", place.as_raw_fd());
        let session = wait_ready(&mut process, START_TIME_MAX, || {
            programs.connect(&path, settings, canceller)
        });
        match session {
            Ok(session) => Ok(Self { session, process, _place: place }),
            Err(_) if canceller.is_cancelled() => Err(SqlError::Interrupted),
            Err(why) => Err(SqlError::of_end(S::KIND, why)),
        }
    }

    fn stop(mut self, signal: Signal) {
        drop(self.session);
        self.process.stop(signal);
    }
}

/// A server that is the test's alone.
pub(crate) struct OwnServer<P: ServerPrograms> {
    programs: P,
    folder: PathBuf,
    settings: DatabaseSettings,
    canceller: Arc<Canceller>,
    version: String,
    running: Option<RunningServer<P::Session>>,
}

impl<P: ServerPrograms> OwnServer<P> {
    pub fn create(
        programs: &P,
        folder: &Path,
        settings: DatabaseSettings,
        canceller: &Arc<Canceller>,
    ) -> Result<Self, SqlError> {
        if let Some(user) = programs.user() {
            user.check_reach(folder)?;
        }
        let make = programs.make(folder, settings);
        ServerProcess::run_to_end(make, folder, programs.user(), canceller)?;
        let running = RunningServer::start(programs, folder, settings, canceller)?;
        Ok(Self {
            programs: programs.clone(),
            folder: folder.to_path_buf(),
            settings,
            canceller: Arc::clone(canceller),
            version: running.session.version().to_string(),
            running: Some(running),
        })
    }

    fn stopped() -> SqlError {
        SqlError::of_statement(P::Session::KIND, "the server is stopped")
    }

    /// Runs a call on the server; if it has ended meanwhile, the error has its own words.
    fn ask<T>(
        &mut self,
        question: impl FnOnce(&mut P::Session) -> Result<T, SqlError>,
    ) -> Result<T, SqlError> {
        let is_cancelled = self.canceller.is_cancelled();
        let running = self.running.as_mut().ok_or_else(Self::stopped)?;
        match question(&mut running.session) {
            Err(_) if is_cancelled => Err(SqlError::Interrupted),
            Err(SqlError::ServerEnded { database, .. }) => {
                Err(SqlError::of_end(database, running.process.last_words()))
            }
            other => other,
        }
    }

    fn run_to_end(&self, command: Command, folder: &Path) -> Result<(), SqlError> {
        ServerProcess::run_to_end(command, folder, self.programs.user(), &self.canceller)
    }
}

impl<P: ServerPrograms> Database for OwnServer<P> {
    fn kind(&self) -> DatabaseKind {
        P::Session::KIND
    }

    fn version(&self) -> &str {
        &self.version
    }

    fn settings(&mut self) -> Result<BTreeMap<String, String>, SqlError> {
        let mut settings = self.ask(P::Session::settings)?;
        if let Some(user) = self.programs.user() {
            settings.insert("runs as user".to_string(), user.name.clone());
        }
        Ok(settings)
    }

    fn load(&mut self, rows: u64, fill: &mut FillRow<'_>) -> Result<(), SqlError> {
        self.ask(|session| session.load(rows, fill))
    }

    fn checkpoint(&mut self) -> Result<(), SqlError> {
        self.ask(P::Session::checkpoint)
    }

    fn table_bytes(&mut self) -> Result<u64, SqlError> {
        self.ask(P::Session::table_bytes)
    }

    fn scan(&mut self) -> Result<u64, SqlError> {
        self.ask(P::Session::scan)
    }

    fn make_index(&mut self) -> Result<(), SqlError> {
        self.ask(P::Session::make_index)
    }

    fn stop(&mut self) -> Result<(), SqlError> {
        if let Some(running) = self.running.take() {
            running.stop(P::END_IN_ORDER);
        }
        Ok(())
    }

    fn start(&mut self) -> Result<(), SqlError> {
        let started =
            RunningServer::start(&self.programs, &self.folder, self.settings, &self.canceller)?;
        self.running = Some(started);
        Ok(())
    }

    fn client(&self) -> Result<Box<dyn Client>, SqlError> {
        self.running.as_ref().ok_or_else(Self::stopped)?.session.client()
    }

    fn backup(&mut self, folder: &Path) -> Result<(), SqlError> {
        self.run_to_end(self.programs.backup(&self.folder, folder), &self.folder)
    }

    fn restore(&mut self, backup: &Path, folder: &Path) -> Result<u64, SqlError> {
        for command in self.programs.unpack(backup, self.settings) {
            self.run_to_end(command, folder)?;
        }
        // Nothing is loaded there: its log need not be large.
        let settings = DatabaseSettings { table_bytes: 0, ..self.settings };
        let mut restored = RunningServer::start(&self.programs, folder, settings, &self.canceller)?;
        let rows = restored.session.restored_rows();
        restored.stop(P::END_IN_ORDER);
        rows
    }

    fn begin_counting(&mut self) -> Result<(), SqlError> {
        self.ask(P::Session::begin_counting)
    }

    fn counted(&mut self) -> Result<ServerCounters, SqlError> {
        self.ask(P::Session::counted)
    }

    fn cpu_ns(&self) -> Option<u64> {
        self.running.as_ref().map(|running| running.process.cpu_ns())
    }
}

impl<P: ServerPrograms> Drop for OwnServer<P> {
    fn drop(&mut self) {
        if let Some(mut running) = self.running.take() {
            // Its files are removed: it need not write anything.
            running.process.stop(P::END_AT_ONCE);
        }
    }
}
