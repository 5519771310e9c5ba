use super::*;
use crate::copying::copy;
use crate::testing::rich_run;
use rusqlite::{Connection, TransactionBehavior};
use tempfile::{NamedTempFile, TempDir};

mod chosen;
mod contract;
mod faults;
mod measured;
mod on_disk;
#[cfg(feature = "postgres")]
mod on_network;
#[cfg(feature = "postgres")]
mod on_server;

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
    Connection::open(path_of(location)).unwrap()
}

fn path_of(location: &StoreLocation) -> &Path {
    location.path().unwrap()
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
        .env(ROLE, path_of(&location))
        .output()
        .unwrap();
    assert!(!output.status.success(), "it was to abort");
    let log = path_of(&location).with_extension("db-wal");
    assert!(log.metadata().unwrap().len() > 0, "the run is still in the log");
    let store = Store::open_existing(&location).unwrap();
    assert_eq!(store.get("last").unwrap(), rich_run(ID));
}
