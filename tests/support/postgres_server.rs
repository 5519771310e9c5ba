//! A PostgreSQL server for tests: a cluster of its own in a temporary folder, reached over a socket there and over
//! loopback. It ends with the value.

#![expect(clippy::disallowed_methods, reason = "the cluster is of the tests' own")]

use super::skip::skip_loudly;
use std::fs;
use std::net::TcpListener;
use std::os::unix::fs::{MetadataExt, chown};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

/// As `crates/sql` looks for it.
const OWN_PLACE: &str = "DRIVESCOPE_POSTGRES_BIN";
const PLACES: &str = "/usr/lib/postgresql";
/// Superuser of the cluster.
pub const OWNER: &str = "drivescope";
const PATIENCE: Duration = Duration::from_secs(60);
/// Over the socket everybody is believed, over the network a password is needed.
const ACCESS: &str = "local all all trust\nhost all all 127.0.0.1/32 scram-sha-256\n";

pub struct PostgresServer {
    programs: PathBuf,
    folder: tempfile::TempDir,
    port: u16,
    /// A user for the server, which refuses root.
    user: Option<(u32, u32)>,
    settings: Vec<String>,
    running: Option<Child>,
    databases: AtomicU32,
}

impl PostgresServer {
    /// With settings (`ssl=on`). Without an installed server the test is skipped, or fails where it must run.
    pub fn start(settings: &[&str]) -> Option<Self> {
        let Some(programs) = programs() else {
            skip_loudly("needs a PostgreSQL server (Debian: postgresql)");
            return None;
        };
        let folder = tempfile::Builder::new()
            .prefix("drivescope-pg-")
            .tempdir()
            .expect("there is a folder for temporary files");
        let is_root = fs::metadata(folder.path()).expect("it was just made").uid() == 0;
        let user = is_root.then(|| user_of("postgres")).flatten();
        if is_root && user.is_none() {
            skip_loudly("PostgreSQL refuses root, and there is no user postgres");
            return None;
        }
        let port = free_port();
        let settings = settings.iter().map(|it| (*it).to_string()).collect();
        let databases = AtomicU32::new(0);
        let mut server = Self { programs, folder, port, user, settings, running: None, databases };
        server.give(server.folder.path());
        let made = server
            .command("initdb")
            .args(["-U", OWNER, "-A", "trust", "-E", "UTF8", "--locale=C.UTF-8"])
            .args(["--no-sync", "--no-instructions", "-D"])
            .arg(server.data())
            .output()
            .expect("initdb is there");
        assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
        fs::write(server.data().join("pg_hba.conf"), ACCESS).expect("the cluster is there");
        server.start_again();
        Some(server)
    }

    /// A program of the server, or another one by its path, as the server's user.
    pub fn command(&self, program: &str) -> Command {
        let mut command = Command::new(self.programs.join(program));
        command.current_dir(self.folder.path());
        if let Some((user, group)) = self.user {
            command.uid(user).gid(group);
        }
        command
    }

    /// Gives a file to the server's user.
    pub fn give(&self, path: &Path) {
        if let Some((user, group)) = self.user {
            chown(path, Some(user), Some(group)).expect("root may give files away");
        }
    }

    pub fn data(&self) -> PathBuf {
        self.folder.path().join("data")
    }

    /// Also the folder of its socket.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    pub fn port(&self) -> u16 {
        self.port
    }

    pub fn start_again(&mut self) {
        let log = fs::File::create(self.folder.path().join("log")).expect("the folder is there");
        let mut server = self.command("postgres");
        server.arg("-D").arg(self.data());
        let folder = self.folder.path().display();
        let port = self.port;
        for setting in [
            format!("unix_socket_directories={folder}"),
            format!("port={port}"),
            "listen_addresses=127.0.0.1".to_string(),
            "fsync=off".to_string(),
            "max_connections=40".to_string(),
            "shared_buffers=32MB".to_string(),
        ]
        .iter()
        .chain(&self.settings)
        {
            server.args(["-c", setting]);
        }
        self.running =
            Some(server.stdout(Stdio::null()).stderr(log).spawn().expect("postgres is there"));
        let begin = Instant::now();
        while self.psql("postgres", "SELECT 1").is_err() {
            let log = fs::read_to_string(self.folder.path().join("log")).unwrap_or_default();
            assert!(begin.elapsed() < PATIENCE, "the server does not start: {log}");
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    /// Ends it as an administrator does who does not wait for clients.
    pub fn stop(&mut self) {
        self.end("-INT");
    }

    /// Ends it at once, as `pg_ctl stop -m immediate`: it recovers at its next start.
    pub fn crash(&mut self) {
        self.end("-QUIT");
    }

    fn end(&mut self, signal: &str) {
        let Some(mut running) = self.running.take() else { return };
        let id = running.id().to_string();
        let _ = Command::new("kill").args([signal, &id]).status();
        let begin = Instant::now();
        while running.try_wait().is_ok_and(|ended| ended.is_none()) {
            if begin.elapsed() > PATIENCE {
                let _ = running.kill();
            }
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// Runs SQL as the superuser; its result without decoration.
    pub fn psql(&self, database: &str, sql: &str) -> Result<String, String> {
        let mut command = self.command("psql");
        command.args(["-X", "-A", "-t", "-q", "-v", "ON_ERROR_STOP=1", "-h"]);
        command.arg(self.folder.path()).args(["-p", &self.port.to_string()]);
        let output =
            command.args(["-U", OWNER, "-d", database, "-c", sql]).output().expect("psql is there");
        if output.status.success() {
            Ok(String::from_utf8_lossy(&output.stdout).trim().to_string())
        } else {
            Err(String::from_utf8_lossy(&output.stderr).trim().to_string())
        }
    }

    /// Makes an empty database; its name.
    pub fn new_database(&self) -> String {
        let name = format!("db{}", self.databases.fetch_add(1, Ordering::Relaxed));
        self.psql("postgres", &format!("CREATE DATABASE {name}")).expect("it is new");
        name
    }

    /// The address of a database over the socket.
    pub fn address(&self, user: &str, database: &str) -> String {
        let folder = self.folder.path().display().to_string().replace('/', "%2F");
        format!("postgres://{user}@{folder}:{}/{database}", self.port)
    }
}

impl Drop for PostgresServer {
    fn drop(&mut self) {
        self.stop();
    }
}

fn free_port() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("loopback has free ports");
    listener.local_addr().expect("it is bound").port()
}

/// The folder of the newest server.
fn programs() -> Option<PathBuf> {
    let own = std::env::var_os(OWN_PLACE).map(PathBuf::from);
    let versions = fs::read_dir(PLACES).into_iter().flatten().flatten();
    let mut found: Vec<PathBuf> = versions.map(|version| version.path().join("bin")).collect();
    found.sort_by_key(|path| path.parent().map(|it| it.file_name().map(|name| name.len())));
    own.into_iter()
        .chain(found.into_iter().rev())
        .find(|folder| ["postgres", "initdb", "psql"].iter().all(|it| folder.join(it).is_file()))
}

fn user_of(name: &str) -> Option<(u32, u32)> {
    let known = fs::read_to_string("/etc/passwd").ok()?;
    let line = known.lines().find(|line| line.split(':').next() == Some(name))?;
    let mut numbers = line.split(':').skip(2).map(str::parse);
    Some((numbers.next()?.ok()?, numbers.next()?.ok()?))
}
