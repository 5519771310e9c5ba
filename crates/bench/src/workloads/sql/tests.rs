#![expect(clippy::disallowed_methods, reason = "tests make files of their own")]

use super::*;
use crate::skip::{note_skipped, skip_loudly};
use crate::testing::{
    done, finding, has, plan_of, round, run_at, run_on, run_target, scratch, skip_of, suite_of,
    value,
};
use drivescope_machine::counters::DeviceCounters;
use drivescope_model::cell::Mix;
use drivescope_model::document::{TestResult, TestStatus};
use drivescope_model::findings::FindingId;
use drivescope_model::options::Durability;
use drivescope_model::units::Secs;
use std::os::unix::fs::PermissionsExt;

fn suite(change: impl FnOnce(&mut SqlOptions)) -> Suite {
    let mut suite = suite_of(TestKind::Sql);
    suite.sql = SqlOptions {
        table: Bytes::mib(16),
        iterations: 200,
        clients: vec![1, 4],
        commit_time: Secs(0.1),
        seek_time: Secs(5.0),
        buffer: Bytes::mib(2),
        rounds: 1,
        ..SqlOptions::default()
    };
    change(&mut suite.sql);
    suite
}

/// A directory that a server's user may pass through.
fn open_scratch() -> tempfile::TempDir {
    let dir = scratch();
    std::fs::set_permissions(dir.path(), std::fs::Permissions::from_mode(0o755)).unwrap();
    dir
}

fn of(result: &TestResult, key: &str) -> f64 {
    let found = value(result, &format!("sql.{key}"));
    found.unwrap_or_else(|| panic!("no {key}: {:?} {:?}", result.status, result.reason))
}

/// Whether a database can be made here; where it must be, that it can.
fn can_make(database: DatabaseKind) -> bool {
    match drivescope_sql::find(database) {
        Ok(_) => true,
        Err(why) => {
            // A build of this crate alone has not every database.
            let is_built = !matches!(why, SqlError::NotBuilt { .. });
            let say = if is_built { skip_loudly } else { note_skipped };
            say(&format!("{database}: {why}"));
            false
        }
    }
}

/// All questions to every database, and that nothing of them stays.
fn check_all_parts(database: DatabaseKind) {
    let dir = open_scratch();
    let options = suite(|options| options.databases = vec![database]);
    let result = done(run_on(dir.path(), options));
    for part in ["load", "scan", "backup", "restore"] {
        assert!(of(&result, &format!("{database}.{part}.mb_s")) > 0.0, "{part}");
    }
    for part in ["seek_cold", "seek_warm", "commit_c1", "commit_c4"] {
        let unit = if part.starts_with("commit") { "commits_s" } else { "statements_s" };
        assert!(of(&result, &format!("{database}.{part}.{unit}")) > 0.0, "{part}");
    }
    // A sixteen-thousandth of the rows in 200 rounds of four threads: all of them, and each row is two pages or more.
    let phases = |cell: &str| {
        let cell = format!("{database}.{cell}");
        result.phases.iter().filter(|phase| phase.cell == cell).collect::<Vec<_>>()
    };
    let [cold, warm] = ["seek_cold", "seek_warm"].map(|cell| phases(cell)[0].ops);
    assert_eq!((cold, warm), (2_048 / 32, 4 * 200));
    assert_eq!(phases("seek_warm")[0].bytes, 4 * 200 * 8_000, "whole rows are fetched");
    let made = &result.databases[0];
    assert_eq!((made.rows, made.is_prediction), (2_048, false));
    assert!((16 << 20..32 << 20).contains(&made.table_bytes), "{}", made.table_bytes);
    assert!(!has(&result, FindingId::FilesInMemory));
    if let Some(read) = value(&result, &format!("sql.{database}.scan.device_read_bytes")) {
        // A cold scan comes from the drive: all of it, and little besides (the kernel reads ahead).
        assert!(read > 15.5e6, "{read} bytes read");
    }
    assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0);
}

#[test]
fn sqlite_does_all_parts_and_leaves_nothing() {
    check_all_parts(DatabaseKind::Sqlite);
}

#[test]
fn postgres_does_all_parts_and_leaves_nothing() {
    if can_make(DatabaseKind::Postgres) {
        check_all_parts(DatabaseKind::Postgres);
    }
}

#[test]
fn mariadb_does_all_parts_and_leaves_nothing() {
    if can_make(DatabaseKind::Mariadb) {
        check_all_parts(DatabaseKind::Mariadb);
    }
}

/// A path that no socket's address has room for, with what shells and lists of paths would stumble over.
#[test]
fn server_works_below_a_long_and_odd_path() {
    for database in [DatabaseKind::Mariadb, DatabaseKind::Postgres] {
        if can_make(database) {
            let dir = open_scratch();
            let odd = dir.path().join("a b'c:$d").join("x".repeat(120));
            std::fs::create_dir_all(&odd).unwrap();
            let options = suite(|options| options.databases = vec![database]);
            let result = run_on(&odd, options);
            assert_eq!(result.status, TestStatus::Done, "{database}: {:?}", result.reason);
            assert_eq!(std::fs::read_dir(&odd).unwrap().count(), 0, "{database}");
        }
    }
}

/// What the plan says of bytes written holds because the run keeps to it.
#[test]
fn commits_end_at_their_number_or_time() {
    let dir = open_scratch();
    let options = suite(|options| {
        (options.parts, options.clients) = (vec![SqlPart::Commit], vec![1, 3]);
        (options.commits, options.commit_time) = (30, Secs(20.0));
    });
    let result = run_on(dir.path(), options.clone());
    let commits = |result: &TestResult, cell: &str| {
        let cell = format!("sqlite.{cell}");
        result.phases.iter().find(|phase| phase.cell == cell).unwrap().ops
    };
    let both = |result| ["commit_c1", "commit_c3"].map(|cell| commits(result, cell));
    assert_eq!(both(&result), [30, 30], "{:?}", result.reason);
    assert_eq!(both(&run_on("sim:samsung-860evo-250", options)), [30, 30]);
    let many = suite(|options| (options.commits, options.commit_time) = (1_000, Secs(2.0)));
    let written = plan_of(&run_target(dir.path()), many).cost.written_bytes;
    // The table, its pages and logs, backups and copies of them; 16 KiB for each commit of two cells.
    assert!(written < 8 * (16 << 20) + 2 * 1_000 * 16_384, "{written}");
}

#[test]
fn custom_statement_is_measured_with_errors_counted() {
    let dir = open_scratch();
    let files = open_scratch();
    let write = |name: &str, text: &str| {
        let path = files.path().join(name);
        std::fs::write(&path, text).unwrap();
        path.to_str().unwrap().to_string()
    };
    // The absolute of the smallest number overflows: an error of the statement.
    let query = write("query.sql", "SELECT abs(?), b FROM %t WHERE a = 7");
    let params = write("params", "1\n-9223372036854775808\n2\n3\n");
    let own = suite(|options| {
        (options.query, options.params) = (Some(query), Some(params));
        (options.parts, options.threads, options.iterations) = (vec![SqlPart::Query], 2, 100);
    });
    let result = done(run_on(dir.path(), own));
    assert!(of(&result, "sqlite.query.statements_s") > 0.0);
    let evidence = &finding(&result, FindingId::StatementErrors).unwrap().evidence;
    assert!(evidence.contains("50 of 200") && evidence.contains("integer overflow"), "{evidence}");
    assert!(value(&result, "sql.sqlite.scan.mb_s").is_none(), "nothing else was asked for");
}

#[test]
fn a_stopped_test_leaves_nothing() {
    for database in [DatabaseKind::Sqlite, DatabaseKind::Postgres, DatabaseKind::Mariadb] {
        if can_make(database) {
            let dir = open_scratch();
            let options = suite(|options| options.databases = vec![database]);
            let result = run_at(&run_target(dir.path()), options, 1, true);
            assert_eq!(result.status, TestStatus::Interrupted, "{database}");
            assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0, "{database}");
        }
    }
}

/// A disk of known truth: its outer tracks give 180 MB/s, one access takes 13 ms, a flush waits for a turn of 11 ms.
#[test]
fn simulated_disk_scans_at_rate_and_seeks() {
    let options = suite(|options| options.table = Bytes::mib(256));
    let disk = done(run_on("sim:wd40efrx", options));
    let scan = of(&disk, "sqlite.scan.mb_s");
    // Of 1.5 s, and some 11 ms for each of the 37 inner pages: there and back.
    assert!((125.0..165.0).contains(&scan), "{scan} MB/s");
    let read = of(&disk, "sqlite.scan.device_read_bytes");
    assert!((1.0..1.05).contains(&(read / (256u64 << 20) as f64)), "{read}");
    let seeks = of(&disk, "sqlite.seek_cold.statements_s");
    assert!((50.0..400.0).contains(&seeks), "{seeks} rows/s with four in the queue");
    assert!(of(&disk, "sqlite.seek_warm.statements_s") > 50.0 * seeks, "no drive is asked");
    let commits = of(&disk, "sqlite.commit_c1.commits_s");
    // 90 turns a second; the first of a short round may come before a turn is over.
    assert!((20.0..100.0).contains(&commits), "{commits} flushes/s at 5,400 rpm");
    let backup = of(&disk, "sqlite.backup.mb_s");
    assert!(backup < 180.0 / 1.9, "{backup} of {scan} MB/s: it reads and writes");
    assert!(disk.databases[0].is_prediction);
}

#[test]
fn concurrent_commits_share_flushes_like_the_database() {
    fn rates(database: DatabaseKind) -> [f64; 2] {
        let options = suite(|options| {
            (options.databases, options.parts) = (vec![database], vec![SqlPart::Commit]);
            (options.clients, options.commit_time) = (vec![1, 16], Secs(2.0));
        });
        let disk = run_on("sim:wd40efrx", options);
        [1, 16].map(|clients| of(&disk, &format!("{database}.commit_c{clients}.commits_s")))
    }
    let [one, many] = rates(DatabaseKind::Postgres);
    assert!(many > 8.0 * one, "{one} and {many} commits/s");
    let [one, many] = rates(DatabaseKind::Sqlite);
    assert!(many < 1.5 * one, "{one} and {many} commits/s: one writes at a time");
}

/// A commit that is faster than its flush: durability is off, or something between lies.
#[test]
fn commits_not_waiting_for_the_drive_are_noticed() {
    fn noticed(commit_iops: u64, floor_flushes: u64, commit_flushes: u64) -> bool {
        let mut record = TestRecord::new(TestKind::Sql);
        for (cell, iops, flushes) in
            [("flush", 1_000, floor_flushes), ("commit_c1", commit_iops, commit_flushes)]
        {
            let mut seen = round("rnd8k_q1t1.sync", iops, 8_192, Mix::WRITE);
            seen.cell = format!("sqlite.{cell}");
            seen.disk = Some(DeviceCounters { flushes, ..seen.disk.unwrap() });
            record.add(seen);
        }
        flush_floor::compare(&mut record, "sqlite.flush", "sqlite.commit_c1");
        finding(&record.finish(1), FindingId::CommitNotDurable).is_some()
    }
    assert!(noticed(20_000, 1_000, 0));
    assert!(noticed(20_000, 0, 0), "the drive counts no flushes");
    assert!(!noticed(900, 1_000, 900), "it takes as long as a flush");
    assert!(!noticed(1_100, 1_000, 0), "medians of two moments");
    assert!(!noticed(20_000, 1_000, 20_000), "the drive was flushed each time");
}

#[test]
fn mistakes_are_named_before_anything_runs() {
    fn wrong(change: fn(&mut SqlOptions)) -> String {
        SqlWorkload.check(&suite(change)).unwrap_err()
    }
    assert!(wrong(|options| options.databases.clear()).contains("sql.databases"));
    assert!(wrong(|options| options.parts = vec![SqlPart::Restore]).contains("backup"));
    assert!(wrong(|options| options.clients = vec![0]).contains("256"));
    assert!(wrong(|options| options.table = Bytes(1)).contains("sql.table"));
    assert!(wrong(|options| options.parts.push(SqlPart::Query)).contains("--query"));
    assert!(wrong(|options| options.url = Some("x".to_string())).contains("a URL is"));
    let missing = |options: &mut SqlOptions| {
        (options.query, options.parts) = (Some("/no/such".to_string()), vec![SqlPart::Query]);
    };
    assert!(wrong(missing).contains("cannot read the file /no/such of --query"));
    let overrides = Overrides { databases: vec!["oracle".to_string()], ..Overrides::default() };
    let why = SqlWorkload.apply(&overrides, &mut suite(|_| ())).unwrap_err();
    assert!(why.contains("no database 'oracle'") && why.contains("sqlite"), "{why}");
}

#[test]
fn databases_and_urls_are_chosen_by_name() {
    fn chosen(names: &[&str]) -> (Vec<DatabaseKind>, Option<String>) {
        let databases = names.iter().map(|name| (*name).to_string()).collect();
        let mut suite = suite(|_| ());
        SqlWorkload.apply(&Overrides { databases, ..Overrides::default() }, &mut suite).unwrap();
        (suite.sql.databases, suite.sql.url)
    }
    let both = vec![DatabaseKind::Sqlite, DatabaseKind::Postgres];
    assert_eq!(chosen(&["sqlite", "postgresql"]), (both, None));
    for (url, database) in [
        ("postgres://me@localhost/test", DatabaseKind::Postgres),
        ("mariadb://me@localhost/test", DatabaseKind::Mariadb),
        ("mssql://sa@localhost/test", DatabaseKind::Mssql),
    ] {
        assert_eq!(chosen(&[url]), (vec![database], Some(url.to_string())));
    }
}

#[test]
fn plan_shows_blockers_simulated_drive_needs_no_server() {
    let of_mssql = suite(|options| options.databases = vec![DatabaseKind::Mssql]);
    let dir = open_scratch();
    let skipped = skip_of(&run_target(dir.path()), of_mssql.clone()).unwrap();
    // A build without it says so; one with it wants a URL.
    let says_why = ["on a server of yours only", "build with --features mssql"];
    assert!(says_why.iter().any(|words| skipped.contains(words)), "{skipped}");
    let predicted = plan_of(&run_target("sim:wd40efrx"), of_mssql);
    assert!(predicted.skip.is_none() && predicted.cost.computed_s > 0.0);
    let off = suite(|options| options.durability = Durability::Off);
    assert_eq!(skip_of(&run_target(dir.path()), off), None);
}
