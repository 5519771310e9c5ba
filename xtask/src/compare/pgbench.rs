//! `cargo xtask compare pgbench`: single rows and commits of `drivescope run --test sql` against pgbench: the same
//! cluster, the same statements, the same number of clients, in alternating pairs.

use super::ours::Drivescope;
use serde_json::Value;
use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// Rows of the table of pgbench, as many as ours has; clients, statements of each, seconds of commits.
const ROWS: u32 = 32_768;
const CLIENTS: u32 = 4;
const STATEMENTS: u32 = 10_000;
const COMMIT_S: u32 = 3;

/// A cluster for both, gone when dropped.
struct SharedCluster {
    folder: tempfile::TempDir,
    server: Child,
}

/// A program of PostgreSQL: as its own user where this one is root, which it refuses.
fn program(name: &str) -> Result<Command, String> {
    let mut places: Vec<PathBuf> = std::fs::read_dir("/usr/lib/postgresql")
        .map_err(|error| format!("no PostgreSQL in /usr/lib/postgresql: {error}"))?
        .flatten()
        .map(|entry| entry.path().join("bin").join(name))
        .filter(|path| path.is_file())
        .collect();
    places.sort();
    let path = places.pop().ok_or(format!("no {name} in /usr/lib/postgresql"))?;
    if !rustix::process::geteuid().is_root() {
        return Ok(Command::new(path));
    }
    let mut command = Command::new("setpriv");
    command.args(["--reuid=postgres", "--regid=postgres", "--clear-groups"]).arg(path);
    Ok(command)
}

fn finished(mut command: Command) -> Result<String, String> {
    let name = format!("{command:?}");
    let output = command.output().map_err(|error| format!("{name}: {error}"))?;
    match output.status.success() {
        true => Ok(String::from_utf8_lossy(&output.stdout).into_owned()),
        false => Err(format!("{name}: {}", String::from_utf8_lossy(&output.stderr).trim())),
    }
}

impl SharedCluster {
    fn new(within: &Path) -> Result<Self, String> {
        let folder = tempfile::tempdir_in(within).map_err(|error| format!("no folder: {error}"))?;
        let data = folder.path().join("data");
        std::fs::create_dir(&data).map_err(|error| format!("no folder: {error}"))?;
        std::fs::set_permissions(folder.path(), Permissions::from_mode(0o755))
            .map_err(|error| error.to_string())?;
        if rustix::process::geteuid().is_root() {
            let mut chown = Command::new("chown");
            chown.args(["postgres:postgres"]).arg(&data);
            finished(chown)?;
        }
        let mut initdb = program("initdb")?;
        initdb.current_dir("/").env("LC_ALL", "C").arg("-D").arg(&data);
        initdb.args(["-A", "trust", "-U", "postgres", "--locale=C", "-E", "UTF8", "--no-sync"]);
        finished(initdb)?;
        let mut server = program("postgres")?;
        server.current_dir("/").arg("-D").arg(&data).arg("-k").arg(&data);
        for setting in ["listen_addresses=", "autovacuum=off", "jit=off", "max_wal_size=4GB"] {
            server.args(["-c", setting]);
        }
        server.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let server = server.spawn().map_err(|error| format!("no server: {error}"))?;
        let this = Self { folder, server };
        for _ in 0..200 {
            if this.run("SELECT 1").is_ok() {
                this.make_tables()?;
                return Ok(this);
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        Err("the server does not answer".to_string())
    }

    fn data(&self) -> PathBuf {
        self.folder.path().join("data")
    }

    fn run(&self, statement: &str) -> Result<String, String> {
        let mut psql = program("psql")?;
        psql.current_dir("/").arg("-h").arg(self.data());
        psql.args(["-U", "postgres", "-v", "ON_ERROR_STOP=1", "-qtc", statement]);
        finished(psql)
    }

    /// The same tables as ours, for pgbench alone.
    fn make_tables(&self) -> Result<(), String> {
        self.run("CREATE TABLE seeks (a bigint NOT NULL, b bytea NOT NULL)")?;
        self.run("ALTER TABLE seeks ALTER COLUMN b SET STORAGE PLAIN")?;
        let bytes = "decode(repeat(md5(i::text), 500), 'hex')";
        self.run(&format!(
            "INSERT INTO seeks SELECT i, {bytes} FROM generate_series(1, {ROWS}) i"
        ))?;
        self.run("CREATE INDEX ON seeks (a)")?;
        self.run("VACUUM ANALYZE seeks")?;
        self.run("CREATE TABLE commits (a bigint NOT NULL, b bytea NOT NULL)")?;
        self.run("CHECKPOINT").map(|_| ())
    }

    /// Transactions per second of a script of one statement, prepared.
    fn pgbench(&self, script: &str, bound: [&str; 2]) -> Result<f64, String> {
        let path = self.folder.path().join("script.sql");
        std::fs::write(&path, script).map_err(|error| format!("no script: {error}"))?;
        let mut pgbench = program("pgbench")?;
        let clients = CLIENTS.to_string();
        pgbench.current_dir("/").arg("-h").arg(self.data());
        pgbench.args(["-U", "postgres", "-n", "-M", "prepared", "-c", &clients, "-j", &clients]);
        pgbench.args(bound).arg("-f").arg(path).arg("postgres");
        let said = finished(pgbench)?;
        let tps = said.lines().find_map(|line| line.strip_prefix("tps = ")?.split(' ').next());
        tps.and_then(|tps| tps.parse().ok()).ok_or(format!("pgbench gave no tps: {said}"))
    }
}

impl Drop for SharedCluster {
    fn drop(&mut self) {
        // SIGINT: its fast shutdown. setpriv has become the server.
        if let Some(pid) = rustix::process::Pid::from_raw(self.server.id() as i32) {
            let _ = rustix::process::kill_process(pid, rustix::process::Signal::INT);
        }
        let _ = self.server.wait();
    }
}

/// Statements per second.
#[derive(Debug, Clone, Copy)]
struct StatementRates {
    seeks: f64,
    commits: f64,
}

/// The section of docs/performance.md.
pub fn section(drivescope: &Drivescope, pairs: usize, within: &Path) -> Result<String, String> {
    let cluster = SharedCluster::new(within)?;
    let mut all = Vec::new();
    for pair in 0..=pairs {
        let both = match pair % 2 {
            0 => (ours(drivescope, &cluster)?, theirs(&cluster)?),
            _ => {
                let theirs = theirs(&cluster)?;
                (ours(drivescope, &cluster)?, theirs)
            }
        };
        // The first pair only makes both sides equal.
        if pair > 0 {
            all.push(both);
        }
    }
    let median = |pick: &dyn Fn(&(StatementRates, StatementRates)) -> f64| {
        let mut values: Vec<f64> = all.iter().map(pick).collect();
        values.sort_by(f64::total_cmp);
        values[values.len() / 2]
    };
    let row = |what: &str, of: fn(&StatementRates) -> f64| {
        let ratio = median(&|pair| of(&pair.0) / of(&pair.1));
        let within = if (0.9..=1.1).contains(&ratio) { "yes" } else { "**no**" };
        let [ours, theirs] = [median(&|pair| of(&pair.0)), median(&|pair| of(&pair.1))];
        format!("| {what} | {ours:.0}/s | {theirs:.0}/s | {ratio:.3} | {within} |\n")
    };
    let version = cluster.run("SHOW server_version")?;
    let head = "| statement | drivescope | pgbench | drivescope / pgbench | within 10 % |\n|---|---|---|---|---|\n";
    let rows = row("single row, warm", |rates| rates.seeks)
        + &row("commit of a row", |rates| rates.commits);
    let about = format!("PostgreSQL {}, {CLIENTS} clients, {pairs} pairs.", version.trim());
    Ok(format!("{about}\n\n{head}{rows}"))
}

fn ours(drivescope: &Drivescope, cluster: &SharedCluster) -> Result<StatementRates, String> {
    let mut command = Command::new(drivescope.path());
    let socket = cluster.data().display().to_string().replace('/', "%2F");
    command.arg("run").arg(cluster.folder.path());
    command.args(["--test", "sql", "--rounds", "1", "--json", "--no-save", "--quiet"]);
    command.arg("--db").arg(format!("postgres://postgres@{socket}/postgres"));
    command.args(["--size", &format!("{}", u64::from(ROWS) * 8192), "--force"]);
    command.args(["--set", "sql.parts=[\"seek\", \"commit\"]"]);
    command.args(["--set", &format!("sql.clients=[{CLIENTS}]")]);
    command.args(["--set", &format!("sql.threads={CLIENTS}")]);
    command.args(["--set", &format!("sql.iterations={STATEMENTS}")]);
    command.args(["--set", &format!("sql.commit_time={COMMIT_S}s")]);
    // By time alone, as pgbench.
    command.args(["--set", "sql.commits=4000000000"]);
    let output = command.output().map_err(|error| format!("cannot start drivescope: {error}"))?;
    let run: Value = serde_json::from_slice(&output.stdout).map_err(|error| {
        format!("drivescope gave no document: {error}: {}", String::from_utf8_lossy(&output.stderr))
    })?;
    let value = |key: &str| {
        let metrics = run["tests"][0]["metrics"].as_array();
        let found = metrics.and_then(|all| all.iter().find(|metric| metric["key"] == key));
        let why = || format!("no metric {key}: {}", run["tests"][0]["reason"]);
        found.and_then(|metric| metric["value"].as_f64()).ok_or_else(why)
    };
    Ok(StatementRates {
        seeks: value("sql.postgres.seek_warm.statements_s")?,
        commits: value(&format!("sql.postgres.commit_c{CLIENTS}.commits_s"))?,
    })
}

fn theirs(cluster: &SharedCluster) -> Result<StatementRates, String> {
    let seek = format!("\\set id random(1, {ROWS})\nSELECT * FROM seeks WHERE a = :id;\n");
    let bytes = "'\\x".to_string() + &"5a".repeat(100) + "'";
    let commit =
        format!("\\set id random(1, 1000000)\nINSERT INTO commits VALUES (:id, {bytes});\n");
    Ok(StatementRates {
        seeks: cluster.pgbench(&seek, ["-t", &STATEMENTS.to_string()])?,
        commits: cluster.pgbench(&commit, ["-T", &COMMIT_S.to_string()])?,
    })
}
