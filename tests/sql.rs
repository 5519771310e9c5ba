//! `sql` as a user calls it: servers that are killed, runs that are killed, and what they leave.

use crate::support::json::{metric, test_of};
use crate::support::runner::Call;
use crate::support::scratch::{names, own_folder};
use crate::support::{PATIENCE, Running, Scratch, skip_loudly, wait_for};
use rustix::process::{Pid, Signal, kill_process};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// A table that is loaded at once, and endless commits.
const ENDLESS: &[&str] = &[
    "--test=sql",
    "--size=16MiB",
    "--set=sql.buffer=8MiB",
    "--set=sql.parts=[\"commit\"]",
    "--set=sql.commit_time=1h",
    "--set=sql.commits=4000000000",
    "--no-save",
];

/// Servers that must be installed, with the names of their processes.
const SERVERS: [(&str, &str); 2] = [("postgres", "postgres"), ("mariadb", "mariadbd")];

const MSSQL_NEEDS: &str = if cfg!(feature = "mssql") {
    "on a server of yours only"
} else {
    "build with --features mssql"
};

fn has_server(scratch: &Scratch, name: &str) -> bool {
    let plan = scratch.run_call("target", &[&["--test=sql", "--dry-run", "--db", name]]).end();
    if plan.exit_code() == Some(0) {
        return true;
    }
    // A build without a database is no machine without one.
    let is_built = !plan.stderr.contains("this build has no");
    if is_built {
        skip_loudly(&format!("{name}: {}", plan.stderr.trim()));
    }
    false
}

fn working_in(folder: &Path) -> Vec<i32> {
    let processes = fs::read_dir("/proc").expect("procfs is mounted").flatten();
    let is_there = |process: &i32| {
        let cwd = fs::read_link(format!("/proc/{process}/cwd"));
        cwd.is_ok_and(|cwd| cwd.starts_with(folder))
    };
    processes
        .filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok())
        .filter(is_there)
        .collect()
}

fn endless(scratch: &Scratch, database: &str) -> Call {
    scratch.run_call("target", &[ENDLESS, &["--db", database]])
}

/// A run with committing clients, and its database folder.
fn committing(scratch: &Scratch, call: Call) -> (Running, PathBuf) {
    let mut running = call.start();
    let begun = Instant::now();
    loop {
        // The table of flushes is made before the first commit.
        let folder = own_folder(scratch.target());
        if let Some(folder) = folder.filter(|folder| folder.join("flush/flush").exists()) {
            return (running, folder);
        }
        running = running.must_be_alive();
        assert!(begun.elapsed() < PATIENCE, "no commit after {PATIENCE:?}");
        std::thread::sleep(Duration::from_millis(3));
    }
}

fn no_process_works_in(folder: &Path) {
    wait_for("the end of every server", || working_in(folder).is_empty().then_some(()));
}

#[test]
fn ctrl_c_ends_every_server_and_leaves_nothing() {
    for name in ["sqlite", "postgres", "mariadb"] {
        let scratch = Scratch::new();
        if name != "sqlite" && !has_server(&scratch, name) {
            continue;
        }
        let (running, folder) = committing(&scratch, endless(&scratch, name));
        running.interrupt();
        assert_eq!(names(scratch.target()), [""; 0], "{name}");
        assert_eq!(working_in(&folder), [0; 0], "{name}");
    }
}

#[test]
fn killed_run_ends_its_server_and_is_cleaned() {
    for (name, _) in SERVERS {
        let scratch = Scratch::new();
        if !has_server(&scratch, name) {
            continue;
        }
        let (running, folder) = committing(&scratch, endless(&scratch, name));
        assert!(!working_in(&folder).is_empty(), "{name} runs");
        running.kill();
        no_process_works_in(&folder);
        assert!(folder.exists(), "{name}: its files are still there");
        let target = scratch.target();
        scratch.drivescope(&["run", "--clean", &target]).code(0);
        assert_eq!(names(scratch.target()), [""; 0], "{name}");
    }
}

#[test]
fn killed_server_fails_the_test_without_remains() {
    for (name, program) in SERVERS {
        let scratch = Scratch::new();
        if !has_server(&scratch, name) {
            continue;
        }
        let (running, folder) = committing(&scratch, endless(&scratch, name));
        let is_server = |process: &&i32| {
            let parent = fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
            let parent = parent.rsplit(") ").next().and_then(|rest| rest.split(' ').nth(1));
            let comm = fs::read_to_string(format!("/proc/{process}/comm")).unwrap_or_default();
            comm.trim() == program && parent == Some(running.id().to_string().as_str())
        };
        let processes = working_in(&folder);
        let server = processes.iter().find(is_server).unwrap_or_else(|| panic!("{name} runs"));
        kill_process(Pid::from_raw(*server).unwrap(), Signal::KILL).unwrap();
        let ended = running.end();
        assert_eq!(ended.exit_code(), Some(2), "{name}: {ended}");
        assert!(
            ended.stdout.contains("ended") || ended.stderr.contains("ended"),
            "{name}: {ended}"
        );
        no_process_works_in(&folder);
        assert_eq!(names(scratch.target()), [""; 0], "{name}");
    }
}

/// MariaDB deletes temporary tables that it finds at its start.
#[test]
fn temporary_tables_of_other_servers_stay() {
    let scratch = Scratch::new();
    if !has_server(&scratch, "mariadb") {
        return;
    }
    let shared = scratch.path("shared");
    fs::create_dir(&shared).unwrap();
    fs::set_permissions(&shared, fs::Permissions::from_mode(0o777)).unwrap();
    let table = shared.join("#sql-temptable-1-2-3.MAD");
    fs::write(&table, "rows").unwrap();
    let (running, _) = committing(&scratch, endless(&scratch, "mariadb").env("TMPDIR", &shared));
    running.interrupt();
    assert!(table.exists());
}

#[test]
fn missing_part_is_named_in_one_line() {
    fn without(call: Call) -> Call {
        let call = call.env("DRIVESCOPE_POSTGRES_BIN", "/nonexistent");
        call.env("DRIVESCOPE_MARIADB_BIN", "/nonexistent")
    }
    let scratch = Scratch::new();
    let call =
        |options: &[&str]| scratch.run_call("target", &[&["--test=sql", "--no-save"], options]);
    for (call, words) in [
        (without(call(&["--db", "postgres"])), "PostgreSQL is not installed"),
        (without(call(&["--db", "mariadb"])), "MariaDB is not installed"),
        (call(&["--db", "mssql"]), MSSQL_NEEDS),
        (call(&["--db", "oracle"]), "no database 'oracle'"),
        (call(&["--db", "postgres://me:secret@localhost/x"]), "DRIVESCOPE_DB_PASSWORD"),
        (call(&["--query", "/nonexistent"]), "cannot read /nonexistent"),
    ] {
        let why = call.end().refused(2);
        // A build without MariaDB says that.
        let is_left_out = words.starts_with("MariaDB") && !cfg!(feature = "mysql");
        let words = if is_left_out { "this build has no MariaDB" } else { words };
        assert!(why.contains(words) && !why.contains("secret"), "{why}");
    }
    assert_eq!(names(scratch.target()), [""; 0]);
}

#[test]
fn silent_server_fails_the_test() {
    // No server listens at the discard port, or at a missing socket.
    for (url, words, is_built) in [
        ("postgres://me@127.0.0.1:9/x", "PostgreSQL at 127.0.0.1:9", cfg!(feature = "postgres")),
        ("mysql://me@127.0.0.1:9/x", "MariaDB at 127.0.0.1:9", cfg!(feature = "mysql")),
        ("mariadb://me@%2Fnone%2Fx.sock/x", "MariaDB at /none/x.sock", cfg!(feature = "mysql")),
        ("mssql://me@127.0.0.1:9/x", "SQL Server at 127.0.0.1:9", cfg!(feature = "mssql")),
    ] {
        let scratch = Scratch::new();
        let ended = scratch.run("target", &[&["--test=sql", "--no-save", "--db", url]]);
        assert_eq!(ended.exit_code(), Some(2), "{url}: {ended}");
        let said = format!("{}{}", ended.stdout, ended.stderr).replace('\n', " ");
        let words = if is_built {
            format!("cannot connect to {words}")
        } else {
            "this build has no".to_string()
        };
        assert!(said.contains(&words), "{url}: {said}");
        assert_eq!(names(scratch.target()), [""; 0], "{url}");
    }
}

/// In a home directory that the server's user may not enter.
#[test]
fn directory_closed_to_the_server_user_is_named() {
    let scratch = Scratch::new();
    if !crate::support::is_root() {
        return skip_loudly("needs root: only then the server runs as another user");
    }
    fs::create_dir_all(scratch.path("closed/below")).unwrap();
    fs::set_permissions(scratch.path("closed"), fs::Permissions::from_mode(0o700)).unwrap();
    let closed = scratch.text("closed/below");
    for (name, user) in [("postgres", "postgres"), ("mariadb", "mysql")] {
        if has_server(&scratch, name) {
            let small = ["--test=sql", "--no-save", "--size=16MiB", "--db", name];
            let ended = scratch.run(&closed, &[&small]);
            assert_eq!(ended.exit_code(), Some(3), "{ended}");
            let said = format!("{}{}", ended.stdout, ended.stderr).replace('\n', " ");
            let who = format!("user {user}");
            assert!(said.contains(&who) && said.contains("setfacl"), "{said}");
            assert_eq!(names(&closed), [""; 0]);
        }
    }
}

#[test]
fn a_prediction_says_that_no_database_ran() {
    let scratch = Scratch::new();
    let options = ["--test=sql", "--size=64MiB", "--db=mssql", "--json", "--no-save", "--rounds=1"];
    let run = scratch.run("sim:samsung-860evo-250", &[&options]).code(0).json();
    assert_eq!(test_of(&run, "sql")["databases"][0]["is_prediction"], true);
    for key in
        ["sql.mssql.scan.time_s", "sql.mssql.seek_cold.statements_s", "sql.mssql.backup.mb_s"]
    {
        assert!(metric(&run, key).is_some(), "{key}");
    }
}
