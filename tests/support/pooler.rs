//! PgBouncer in front of a private server, in transaction mode: each transaction may get another connection.

#![expect(clippy::disallowed_methods, reason = "the settings are of the tests' own")]

use super::postgres_server::{OWNER, PostgresServer};
use super::skip::skip_loudly;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// Names another pooler than the installed one.
const OWN_PLACE: &str = "DRIVESCOPE_PGBOUNCER";
const PATIENCE: Duration = Duration::from_secs(60);

pub struct Pooler {
    command: Command,
    running: Child,
    socket: PathBuf,
    port: u16,
}

impl Pooler {
    /// With this many connections to the server. Without the program the test is skipped, or fails where it must run.
    pub fn start(server: &PostgresServer, folder: &Path, connections: u32) -> Option<Self> {
        let program = std::env::var(OWN_PLACE).unwrap_or_else(|_| "/usr/sbin/pgbouncer".into());
        if !Path::new(&program).is_file() {
            skip_loudly("needs pgbouncer");
            return None;
        }
        fs::set_permissions(folder, fs::Permissions::from_mode(0o755)).expect("it is ours");
        let (sockets, of_server) = (server.folder(), server.port());
        let port = of_server.wrapping_add(1).max(1024);
        let settings = format!(
            "[databases]\n* = host={0} port={of_server}\n[pgbouncer]\npool_mode = transaction\n\
             default_pool_size = {connections}\nmax_client_conn = 5000\nauth_type = trust\n\
             auth_file = {1}/users\nlisten_port = {port}\nunix_socket_dir = {0}\n\
             server_idle_timeout = 1\nserver_login_retry = 1\n",
            sockets.display(),
            folder.display()
        );
        let file = folder.join("pgbouncer.ini");
        fs::write(folder.join("users"), format!("\"{OWNER}\" \"\"\n")).expect("it is ours");
        fs::write(&file, settings).expect("it is ours");
        let mut command = server.command(&program);
        command.arg("-q").arg(file).stdout(Stdio::null()).stderr(Stdio::null());
        let socket = sockets.join(format!(".s.PGSQL.{port}"));
        let running = started(&mut command, &socket);
        Some(Self { command, running, socket, port })
    }

    /// The address of a database through the pooler.
    pub fn address(&self, server: &PostgresServer, user: &str, database: &str) -> String {
        let direct = server.address(user, database);
        direct.replace(&format!(":{}/", server.port()), &format!(":{}/", self.port))
    }

    /// Ends it in mid-statement, and starts it again.
    pub fn restart(&mut self) {
        self.end();
        self.running = started(&mut self.command, &self.socket);
    }

    fn end(&mut self) {
        let _ = self.running.kill();
        let _ = self.running.wait();
        let _ = fs::remove_file(&self.socket);
    }
}

impl Drop for Pooler {
    fn drop(&mut self) {
        self.end();
    }
}

fn started(command: &mut Command, socket: &Path) -> Child {
    let child = command.spawn().expect("the pooler is there");
    let begin = Instant::now();
    while !socket.exists() {
        assert!(begin.elapsed() < PATIENCE, "the pooler does not start");
        std::thread::sleep(Duration::from_millis(20));
    }
    child
}
