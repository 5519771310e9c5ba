use super::*;
use crate::testing::{metric, rich_run};
use proptest::prelude::*;
use tempfile::{NamedTempFile, TempDir};

mod chosen;
mod faults;
mod on_disk;

const ID: &str = "0123456789ab";

fn place() -> (TempDir, StoreLocation) {
    let folder = tempfile::tempdir().unwrap();
    let location = StoreLocation::of_file(folder.path().join("data/drivescope/runs.db"));
    (folder, location)
}

fn opened() -> (TempDir, StoreLocation, Store) {
    let (folder, location) = place();
    let store = Store::open(&location).unwrap();
    (folder, location, store)
}

fn ids(store: &Store, filter: &Filter) -> Vec<String> {
    store.list(filter).unwrap().into_iter().map(|summary| summary.id).collect()
}

/// Starts `minute` minutes after noon.
fn run_at(id: &str, minute: u32) -> Run {
    let mut run = rich_run(id);
    run.started_at = format!("2026-01-31T12:{minute:02}:00Z");
    run
}

fn raw(location: &StoreLocation) -> Connection {
    Connection::open(location.path()).unwrap()
}

fn count(location: &StoreLocation, sql: &str) -> i64 {
    raw(location).query_row(sql, [], |row| row.get(0)).unwrap()
}

#[test]
fn a_run_with_every_field_comes_back_the_same() {
    let (_folder, location, mut store) = opened();
    let run = rich_run(ID);
    store.save(&run).unwrap();
    assert_eq!(store.get(ID).unwrap(), run);
    drop(store);
    assert_eq!(Store::open_existing(&location).unwrap().get("last").unwrap(), run);
}

#[test]
fn what_comes_from_elsewhere_replaces_nothing() {
    let (_folder, _, mut store) = opened();
    let run = rich_run(ID);
    let other = rich_run("ffffffffffff");
    assert_eq!(store.add_all(std::slice::from_ref(&run)).unwrap(), [Added::New]);
    assert_eq!(store.add_all(&[run.clone(), run.clone()]).unwrap(), [Added::Known, Added::Known]);
    let mut changed = run.clone();
    changed.tests[0].metrics[0].value += 1.0;
    let error = store.add_all(&[other, changed.clone()]).unwrap_err();
    assert_eq!(error.fault, StoreFault::Differs);
    assert!(error.to_string().contains(ID), "{error}");
    assert_eq!(ids(&store, &Filter::default()), [ID], "all of a file or nothing");
    assert_eq!(store.get(ID).unwrap(), run);
    // Nor does a part replace the whole.
    let mut part = run.clone();
    part.status = TestStatus::Interrupted;
    assert!(store.add_all(&[part]).is_err());
}

#[test]
fn interrupted_run_is_completed_by_itself_only() {
    let (_folder, _, mut store) = opened();
    let mut whole = rich_run(ID);
    whole.tests.push(whole.tests[0].clone());
    whole.tests[0].status = TestStatus::Done;
    whole.tests[1].status = TestStatus::Interrupted;
    let mut part = whole.clone();
    (part.status, part.elapsed_s) = (TestStatus::Interrupted, 1.0);
    part.verdict.clear();
    part.tests[1].metrics.clear();
    let mut other_seed = whole.clone();
    other_seed.plan.seed ^= 1;
    let mut other_test = whole.clone();
    other_test.tests[0].elapsed_s += 1.0;
    let mut fewer = whole.clone();
    fewer.tests.pop();
    for another in [other_seed, other_test, fewer] {
        store.save(&part).unwrap();
        assert_eq!(store.add_all(&[another]).unwrap_err().fault, StoreFault::Differs);
    }
    assert_eq!(store.add_all(&[whole.clone()]).unwrap(), [Added::Completed]);
    assert_eq!(store.get(ID).unwrap(), whole);
}

#[test]
fn saving_again_replaces_the_run_and_its_metrics() {
    let (_folder, location, mut store) = opened();
    let mut run = rich_run(ID);
    store.save(&run).unwrap();
    store.save(&rich_run("ffffffffffff")).unwrap();

    run.label = None;
    run.status = TestStatus::Failed;
    run.tests[0].metrics = vec![metric("transfer.x.read.iops", 5.0, "1/s", false)];
    store.save(&run).unwrap();
    store.save(&run).unwrap();

    assert_eq!(store.get(ID).unwrap(), run);
    assert_eq!(store.list(&Filter::default()).unwrap().len(), 2);
    assert_eq!(count(&location, "SELECT COUNT(*) FROM metrics WHERE run_id LIKE '01%'"), 1);
    assert_eq!(count(&location, "SELECT COUNT(*) FROM metrics WHERE run_id LIKE 'ff%'"), 6);
}

#[test]
fn the_tables_can_be_queried_as_documented() {
    let (_folder, location) = place();
    let mut run = rich_run(ID);
    // A test that runs twice leaves the same key twice.
    run.tests.push(run.tests[0].clone());
    Store::open(&location).unwrap().save(&run).unwrap();
    let row = raw(&location)
        .query_row(
            "SELECT label, suite, target, drive_model, drive_serial, drive_name, status, simulated,
                    format, started_at, json_extract(document, '$.host.name') FROM runs",
            [],
            |row| {
                (0..11)
                    .map(|i| row.get(i))
                    .collect::<rusqlite::Result<Vec<rusqlite::types::Value>>>()
            },
        )
        .unwrap();
    let text = |text: &str| rusqlite::types::Value::Text(text.to_string());
    let int = rusqlite::types::Value::Integer;
    let expected = [
        text(run.label.as_deref().unwrap()),
        text("standard"),
        text("/mnt/Data_1/100%"),
        text("WDC WD20EARS-00MVWB0"),
        text("WD-WCAZA1234567"),
        text("sda"),
        text("done"),
        int(1),
        int(1),
        text("2026-01-31T12:00:00.25+01:00"),
        text("bench1"),
    ];
    assert_eq!(row, expected);
    let metrics: Vec<(String, f64, String, f64, f64, i64)> = raw(&location)
        .prepare("SELECT key, value, unit, low, high, valid FROM metrics ORDER BY ordinal")
        .unwrap()
        .query_map([], |r| Ok((r.get(0)?, r.get(1)?, r.get(2)?, r.get(3)?, r.get(4)?, r.get(5)?)))
        .unwrap()
        .collect::<rusqlite::Result<_>>()
        .unwrap();
    assert_eq!(metrics.len(), 12);
    for (row, m) in metrics.iter().zip(run.tests.iter().flat_map(|t| &t.metrics)) {
        let valid = i64::from(m.valid);
        assert_eq!(*row, (m.key.clone(), m.value, m.unit.clone(), m.low, m.high, valid));
    }
}

#[test]
fn the_words_of_states_are_those_of_the_document() {
    for status in
        [TestStatus::Done, TestStatus::Skipped, TestStatus::Failed, TestStatus::Interrupted]
    {
        assert_eq!(serde_json::to_value(status).unwrap(), status_name(status));
    }
}

#[test]
fn names_find_runs() {
    let (_folder, _, mut store) = opened();
    for (i, id) in
        ["abc000000000", "abcd00000000", "abcdffffffff", "000000000000"].iter().enumerate()
    {
        store.save(&run_at(id, 10 * i as u32)).unwrap();
    }
    for (name, id) in [
        ("abc0", "abc000000000"),
        ("ABC0", "abc000000000"),
        ("abcd0", "abcd00000000"),
        ("abcdffffffff", "abcdffffffff"),
        ("0", "000000000000"),
        ("last", "000000000000"),
    ] {
        assert_eq!(store.get(name).unwrap().id, id, "{name}");
    }
    let message = store.get("abc").unwrap_err().to_string();
    assert_eq!(
        message,
        "'abc' matches 3 runs (abcdffffffff, abcd00000000, abc000000000); add digits"
    );
    for (name, words) in [
        ("abcd", "matches 2 runs"),
        ("1", "no run id starts with '1'"),
        ("abcdfffffffe", "no run id starts with"),
        ("abc00000000000", "is not a run id"),
        ("", "is not a run id"),
        ("%", "is not a run id"),
        ("xyz", "is not a run id"),
        ("größe", "is not a run id"),
    ] {
        let error = store.get(name).unwrap_err();
        assert_eq!(error.fault, StoreFault::NoRun);
        let message = error.to_string();
        assert!(message.contains(words), "{name}: {message}");
        assert!(message.contains("drivescope runs lists") || name == "abcd", "{message}");
    }
}

#[test]
fn next_command_names_the_store() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("my run's.db");
    let location = StoreLocation::parse(path.to_str()).unwrap();
    let words = format!(r" --store '{}/my run'\''s.db'", folder.path().display());
    assert_eq!(location.words(), words);
    let store = Store::open_existing(&location).unwrap();
    for (name, next) in
        [("last", "drivescope run ."), ("1", "drivescope runs"), ("x", "drivescope runs")]
    {
        let message = store.get(name).unwrap_err().to_string();
        assert!(message.contains(&format!("; {next}{words} ")), "{message}");
    }
}

#[test]
fn many_candidates_are_counted_but_five_are_listed() {
    let (_folder, _, mut store) = opened();
    let runs: Vec<Run> = (0..9).map(|i| run_at(&format!("a{i:011}"), i)).collect();
    store.add_all(&runs).unwrap();
    assert_eq!(
        store.get("a").unwrap_err().to_string(),
        "'a' matches 9 runs (a00000000008, a00000000007, a00000000006, a00000000005, a00000000004 and 4 more); add \
         digits"
    );
}

#[test]
fn lists_are_newest_first_across_time_zones() {
    let (_folder, _, mut store) = opened();
    assert_eq!(store.list(&Filter::default()).unwrap(), []);
    for (id, started_at) in [
        ("000000000001", "2026-01-31T12:00:00+05:00"),
        ("000000000002", "2026-01-31T08:00:00+00:00"),
        ("000000000003", "2026-01-30T23:30:00-10:00"),
        ("000000000004", "2026-01-31T07:00:00.000001Z"),
    ] {
        let mut run = rich_run(id);
        run.started_at = started_at.into();
        store.save(&run).unwrap();
    }
    let newest_first = ["000000000003", "000000000002", "000000000004", "000000000001"];
    assert_eq!(ids(&store, &Filter::default()), newest_first);
    assert_eq!(store.get("last").unwrap().id, newest_first[0]);
    for limit in [0, 1, 3, u32::MAX] {
        let filter = Filter { limit: Some(limit), ..Filter::default() };
        let expected = &newest_first[..newest_first.len().min(limit as usize)];
        assert_eq!(ids(&store, &filter), expected);
    }
}

#[test]
fn filters_choose_by_drive_target_and_label() {
    let (_folder, _, mut store) = opened();
    let mut a = run_at("00000000000a", 2);
    a.label = Some("disk1".into());
    let mut b = run_at("00000000000b", 1);
    (b.label, b.target.path) = (Some("Disk10".into()), "sim:wd20ears".into());
    b.drive = None;
    let mut c = run_at("00000000000c", 0);
    (c.label, c.target.path) = (None, "/dev/nvme0n1".into());
    c.drive.iter_mut().for_each(|drive| {
        (drive.name, drive.model, drive.serial) = ("nvme0n1".into(), None, Some("S3_x".into()));
    });
    store.add_all(&[a, b, c]).unwrap();

    for (drive, label, expected) in [
        (None, None, "abc"),
        (Some(""), None, "abc"),
        (Some("wd20EARS"), None, "ab"),
        (Some("wcaza"), None, "a"),
        (Some("SDA"), None, "a"),
        (Some("nvme0"), None, "c"),
        (Some("data_1"), None, "a"),
        (Some("Data%1"), None, ""),
        (Some("_"), None, "ac"),
        (Some("100%"), None, "a"),
        (Some("!"), None, ""),
        (None, Some("disk1"), "a"),
        (None, Some("DISK10"), "b"),
        (None, Some("disk"), ""),
        (None, Some("disk1%"), ""),
        (Some("wd20"), Some("disk10"), "b"),
        (Some("nvme"), Some("disk1"), ""),
    ] {
        let filter = Filter {
            drive: drive.map(Into::into),
            label: label.map(Into::into),
            ..Filter::default()
        };
        let found: String =
            ids(&store, &filter).iter().map(|id| id.trim_start_matches('0')).collect();
        assert_eq!(found, expected, "{drive:?} {label:?}");
    }
}

#[test]
fn summaries_carry_the_best_valid_numbers() {
    let (_folder, _, mut store) = opened();
    let run = rich_run(ID);
    store.save(&run).unwrap();
    let list = store.list(&Filter::default()).unwrap();
    let expected = RunSummary {
        id: ID.into(),
        started_at: run.started_at.clone(),
        elapsed_s: 61.5,
        label: run.label.clone(),
        suite: "standard".into(),
        target: "/mnt/Data_1/100%".into(),
        drive_name: Some("sda".into()),
        drive_model: Some("WDC WD20EARS-00MVWB0".into()),
        drive_serial: Some("WD-WCAZA1234567".into()),
        status: "done".into(),
        simulated: true,
        format: 1,
        seq_read_mb_s: Some(110.1),
        seq_write_mb_s: Some(95.5),
        rnd4k_q1t1_read_iops: Some(72.5),
        invalid_metrics: 1,
        headline_key: Some("transfer.seq1m_q8t1.read.mb_s".into()),
        headline_value: Some(110.1),
        headline_unit: Some("MB/s".into()),
    };
    assert_eq!(list, [expected]);
    assert_eq!(list[0].drive(), Some("WDC WD20EARS-00MVWB0"));

    let mut bare = rich_run(ID);
    bare.tests.clear();
    bare.drive.iter_mut().for_each(|drive| drive.model = None);
    bare.simulated = false;
    store.save(&bare).unwrap();
    let list = store.list(&Filter::default()).unwrap();
    assert_eq!((list[0].drive(), list[0].simulated), (Some("sda"), false));
    assert_eq!((list[0].seq_read_mb_s, list[0].rnd4k_q1t1_read_iops), (None, None));
    assert_eq!((list[0].invalid_metrics, &list[0].headline_key), (0, &None));
}

#[test]
fn what_a_document_cannot_hold_is_not_saved() {
    let (_folder, _, mut store) = opened();
    let kept = rich_run(ID);
    store.save(&kept).unwrap();
    let mut spoiled = kept.clone();
    spoiled.tests[0].metrics[0].value = f64::NAN;
    let error = store.add_all(&[rich_run("ffffffffffff"), spoiled]).unwrap_err();
    assert_eq!(error.fault, StoreFault::Document);
    assert_eq!(
        error.to_string(),
        "run 0123456789ab cannot be kept: it has a figure that is not a number, transfer.seq1m_q8t1.read.mb_s; please \
         report this"
    );
    assert_eq!(ids(&store, &Filter::default()), [ID], "all or none");
    assert_eq!(store.get(ID).unwrap(), kept);
}

#[test]
fn two_handles_see_each_others_runs() {
    let (_folder, location) = place();
    let mut a = Store::open(&location).unwrap();
    let mut b = Store::open(&location).unwrap();
    a.save(&run_at(ID, 0)).unwrap();
    assert_eq!(b.get(ID).unwrap().id, ID);
    b.save(&run_at("ffffffffffff", 1)).unwrap();
    assert_eq!(ids(&a, &Filter::default()), ["ffffffffffff", ID]);
}

#[test]
fn many_threads_can_fill_one_new_store() {
    let (_folder, location) = place();
    let patience = Duration::from_secs(120);
    std::thread::scope(|scope| {
        for writer in 0..8 {
            let location = &location;
            scope.spawn(move || {
                let mut store = Store::open_with(location, patience).unwrap();
                for i in 0..4 {
                    store.save(&rich_run(&format!("{writer:x}0000000000{i}"))).unwrap();
                }
            });
        }
    });
    assert_eq!(Store::open(&location).unwrap().list(&Filter::default()).unwrap().len(), 32);
    assert_eq!(count(&location, "SELECT COUNT(*) FROM meta"), 1);
}

/// The test runs itself again as a process that saves a run and dies at once.
#[test]
fn a_saved_run_survives_the_death_of_the_process() {
    const ROLE: &str = "DRIVESCOPE_TEST_DIES_AFTER_SAVING_TO";
    if let Some(path) = std::env::var_os(ROLE) {
        let mut store = Store::open(&StoreLocation::of_file(path)).unwrap();
        store.save(&rich_run(ID)).unwrap();
        std::process::abort();
    }
    let (_folder, location) = place();
    let output = std::process::Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "store::tests::a_saved_run_survives_the_death_of_the_process"])
        .env(ROLE, location.path())
        .output()
        .unwrap();
    assert!(!output.status.success(), "it was to abort");
    let log = location.path().with_extension("db-wal");
    assert!(log.metadata().unwrap().len() > 0, "the run is still in the log");
    let store = Store::open_existing(&location).unwrap();
    assert_eq!(store.get("last").unwrap(), rich_run(ID));
}

proptest! {
    // Each case writes to the disk twice.
    #![proptest_config(ProptestConfig::with_cases(ProptestConfig::default().cases / 5))]

    #[test]
    fn every_run_comes_back_the_same(run in crate::document::tests::any_run()) {
        let (_folder, _, mut store) = opened();
        store.save(&rich_run(&run.id)).unwrap();
        store.save(&run).unwrap();
        prop_assert_eq!(store.get(&run.id[..4]).unwrap(), run.clone());
        let list = store.list(&Filter::default()).unwrap();
        prop_assert_eq!(list.len(), 1);
        prop_assert_eq!(&list[0].label, &run.label);
        prop_assert_eq!(list[0].elapsed_s, run.elapsed_s);
    }
}
