//! `cargo xtask compare pgbench`: single rows, commits and updates of `drivescope run --test sql` against pgbench: the
//! same cluster, the same statements, the same number of clients, in alternating pairs.

use super::ours::{Drivescope, metric};
use super::table;
use super::turns::{in_turns, middle, sorted};
use crate::programs::finished;
use serde_json::Value;
use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// Rows of the table of pgbench, as many as ours has, and those of them that are asked for: ours are a thirty-second.
const ROWS: u32 = 32_768;
const ROWS_ASKED: u32 = ROWS / 32;
/// Clients, and single rows that each asks for.
const CLIENTS: u32 = 4;
const STATEMENTS: u32 = 50_000;
/// Default seconds of commits and of updates.
pub(super) const SECONDS: f64 = 3.0;
/// Accounts of pgbench's smallest database.
const ACCOUNTS: u32 = 100_000;
const UPDATE: &str = "UPDATE pgbench_accounts SET abalance = abalance + 1 WHERE aid =";

/// Pairs to compare: words, the place among our rates and theirs, and whether they must agree.
const COMPARED: [(&str, usize, usize, bool); 5] = [
    ("single row of 8,000 bytes, warm", 0, 0, true),
    ("commit of an added row", 1, 1, true),
    ("commit of a changed row: the UPDATE of pgbench's simple update", 2, 2, true),
    (
        "single row; pgbench of a table of `bytea`, which comes as text of twice the length",
        0,
        3,
        false,
    ),
    ("commit of an added row; pgbench's whole simple update, five statements", 1, 4, false),
];

/// A cluster for both, removed when dropped.
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

    /// A file beside it.
    fn file(&self, name: &str, text: &str) -> Result<PathBuf, String> {
        let path = self.folder.path().join(name);
        std::fs::write(&path, text).map_err(|error| format!("no {name}: {error}"))?;
        Ok(path)
    }

    fn run(&self, statement: &str) -> Result<String, String> {
        let mut psql = program("psql")?;
        psql.current_dir("/").arg("-h").arg(self.data());
        psql.args(["-U", "postgres", "-v", "ON_ERROR_STOP=1", "-qtc", statement]);
        finished(psql)
    }

    /// The same tables as ours, for pgbench alone. It asks for every column as text: of 8,000 letters as many bytes
    /// come as ours gets of 8,000 bytes.
    fn make_tables(&self) -> Result<(), String> {
        let columns = [
            ("seeks", "text", "repeat(md5(i::text), 250)"),
            ("seeks_bytea", "bytea", "decode(repeat(md5(i::text), 500), 'hex')"),
        ];
        for (table, kind, data) in columns {
            self.run(&format!("CREATE TABLE {table} (a bigint NOT NULL, b {kind} NOT NULL)"))?;
            self.run(&format!("ALTER TABLE {table} ALTER COLUMN b SET STORAGE PLAIN"))?;
            self.run(&format!(
                "INSERT INTO {table} SELECT i, {data} FROM generate_series(1, {ROWS}) i"
            ))?;
            self.run(&format!("CREATE INDEX ON {table} (a)"))?;
            self.run(&format!("VACUUM ANALYZE {table}"))?;
        }
        self.run("CREATE TABLE commits (a bigint NOT NULL, b bytea NOT NULL)")?;
        let mut accounts = program("pgbench")?;
        accounts.current_dir("/").arg("-h").arg(self.data());
        finished({
            accounts.args(["-U", "postgres", "-i", "-q", "postgres"]);
            accounts
        })?;
        self.run("CHECKPOINT").map(|_| ())
    }

    /// Transactions per second of a script of one statement, prepared.
    fn script(&self, script: &str, bound: [&str; 2]) -> Result<f64, String> {
        let path = self.file("script.sql", script)?;
        self.pgbench(&["-f", &path.display().to_string()], bound)
    }

    /// Transactions per second of whatever `what` names.
    fn pgbench(&self, what: &[&str], bound: [&str; 2]) -> Result<f64, String> {
        let mut pgbench = program("pgbench")?;
        let clients = CLIENTS.to_string();
        pgbench.current_dir("/").arg("-h").arg(self.data());
        pgbench.args(["-U", "postgres", "-n", "-M", "prepared", "-c", &clients, "-j", &clients]);
        pgbench.args(bound).args(what).arg("postgres");
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

/// The section of docs/performance.md.
pub fn section(
    drivescope: &Drivescope,
    pairs: usize,
    seconds: u32,
    within: &Path,
) -> Result<String, String> {
    let cluster = SharedCluster::new(within)?;
    let all =
        in_turns(pairs, || ours(drivescope, &cluster, seconds), || theirs(&cluster, seconds))?;
    let version = cluster.run("SHOW server_version")?;
    let head = "| statement | drivescope | pgbench | drivescope / pgbench | lowest to highest | within 10 % |\n\
                |---|---|---|---|---|---|\n";
    let rows: String = COMPARED.iter().map(|&compared| row(&all, compared)).collect();
    let about = format!(
        "PostgreSQL {}, {CLIENTS} clients, {pairs} pairs, commits for {seconds} s.",
        version.trim()
    );
    Ok(format!("{about}\n\n{head}{rows}"))
}

/// Rates of both, in the order of [`COMPARED`].
type RatePair = ([f64; 3], [f64; 5]);

fn row(all: &[RatePair], (what, ours, theirs, must_agree): (&str, usize, usize, bool)) -> String {
    let ratios = sorted(all, |pair| pair.0[ours] / pair.1[theirs]);
    let ratio = ratios[ratios.len() / 2];
    let within = if must_agree { table::yes((0.9..=1.1).contains(&ratio)) } else { "-" };
    let range = format!("{:.2} to {:.2}", ratios[0], ratios[ratios.len() - 1]);
    let (ours, theirs) = (middle(all, |pair| pair.0[ours]), middle(all, |pair| pair.1[theirs]));
    format!("| {what} | {ours:.0}/s | {theirs:.0}/s | {ratio:.3} | {range} | {within} |\n")
}

/// Single rows, added rows and changed rows per second.
fn ours(
    drivescope: &Drivescope,
    cluster: &SharedCluster,
    seconds: u32,
) -> Result<[f64; 3], String> {
    let parts = [
        "--set=sql.parts=[\"seek\", \"commit\"]".to_string(),
        format!("--size={}", u64::from(ROWS) * 8192),
        format!("--set=sql.iterations={STATEMENTS}"),
        format!("--set=sql.commit_time={seconds}s"),
        // By time alone, as pgbench.
        "--set=sql.commits=4000000000".to_string(),
    ];
    let rates = run_sql(drivescope, cluster, &parts)?;
    let statement = cluster.file("update.sql", &format!("{UPDATE} ?\n"))?;
    // Every account once, not in their order: 7,919 is a prime that shares nothing with their number.
    let accounts = (0..u64::from(ACCOUNTS)).map(|n| n * 7_919 % u64::from(ACCOUNTS) + 1);
    let accounts: String = accounts.map(|account| format!("{account}\n")).collect();
    let parameters = cluster.file("accounts.tsv", &accounts)?;
    let query = [
        format!("--query={}", statement.display()),
        format!("--params={}", parameters.display()),
        "--size=16MiB".to_string(),
        format!("--set=sql.seek_time={seconds}s"),
        "--set=sql.iterations=4000000000".to_string(),
    ];
    let updates = run_sql(drivescope, cluster, &query)?;
    Ok([
        value(&rates, "sql.postgres.seek_warm.statements_s")?,
        value(&rates, &format!("sql.postgres.commit_c{CLIENTS}.commits_s"))?,
        value(&updates, "sql.postgres.query.statements_s")?,
    ])
}

/// The document of the test on the cluster.
fn run_sql(
    drivescope: &Drivescope,
    cluster: &SharedCluster,
    options: &[String],
) -> Result<Value, String> {
    let mut command = Command::new(drivescope.path());
    let socket = cluster.data().display().to_string().replace('/', "%2F");
    command.arg("run").arg(cluster.folder.path());
    command.args(["--test", "sql", "--rounds", "1", "--json", "--no-save", "--quiet", "--force"]);
    command.arg("--db").arg(format!("postgres://postgres@{socket}/postgres"));
    command.args(["--set", &format!("sql.clients=[{CLIENTS}]")]);
    command.args(["--set", &format!("sql.threads={CLIENTS}")]).args(options);
    let output = command.output().map_err(|error| format!("cannot start drivescope: {error}"))?;
    serde_json::from_slice(&output.stdout).map_err(|error| {
        format!("drivescope gave no document: {error}: {}", String::from_utf8_lossy(&output.stderr))
    })
}

fn value(run: &Value, key: &str) -> Result<f64, String> {
    let test = &run["tests"][0];
    metric(test, key).ok_or_else(|| format!("no metric {key}: {}", test["reason"]))
}

fn theirs(cluster: &SharedCluster, seconds: u32) -> Result<[f64; 5], String> {
    let statements = STATEMENTS.to_string();
    let seconds = seconds.to_string();
    let seek = |table: &str| {
        let script =
            format!("\\set id random(1, {ROWS_ASKED})\nSELECT * FROM {table} WHERE a = :id;\n");
        cluster.script(&script, ["-t", &statements])
    };
    let bytes = "'\\x".to_string() + &"5a".repeat(100) + "'";
    let commit =
        format!("\\set id random(1, 1000000)\nINSERT INTO commits VALUES (:id, {bytes});\n");
    let update = format!("\\set id random(1, {ACCOUNTS})\n{UPDATE} :id;\n");
    let commits = cluster.script(&commit, ["-T", &seconds])?;
    // As ours does to be cold; the first change of a page after it goes to the log as a whole page.
    cluster.run("CHECKPOINT")?;
    Ok([
        seek("seeks")?,
        commits,
        cluster.script(&update, ["-T", &seconds])?,
        seek("seeks_bytea")?,
        cluster.pgbench(&["-b", "simple-update"], ["-T", &seconds])?,
    ])
}
