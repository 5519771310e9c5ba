//! A store of 100,000 runs of 2,000 drives: how long `runs`, `compare` and `history` wait for it. Minutes, and 1 GB of
//! the folder for temporary files: `cargo bench -p drivescope-store`.

#![expect(clippy::print_stdout, reason = "the table is the result")]

use drivescope_model::Run;
use drivescope_store::{Filter, Store, StoreLocation, from_file};
use std::time::Instant;

const RUNS: u64 = 100_000;
const RUNS_OF_A_DRIVE: u64 = 50;
const BATCH: u64 = 2_000;
/// Repetitions, of which the median counts.
const REPEATS: usize = 9;
const DAY_S: i64 = 86_400;

fn main() {
    let folder = tempfile::tempdir().expect("there is a folder for temporary files");
    let path = folder.path().join("runs.db");
    let location = StoreLocation::parse(path.to_str()).expect("a path is a location");
    let mut store = Store::open(&location).expect("a new store can be made");
    let like = example();
    for batch in 0..RUNS / BATCH {
        let numbers = batch * BATCH..(batch + 1) * BATCH;
        let runs: Vec<Run> = numbers.map(|number| numbered(&like, number)).collect();
        store.add_all(&runs).expect("new runs can be added");
    }
    println!("| {RUNS} stored runs | ms |\n|---|---|");
    let limited = Filter { limit: Some(100), ..Filter::default() };
    row("the newest 100", || store.list(&limited).map(|runs| runs.len()));
    let drive = Filter { drive: Some("SERIAL-1200".to_string()), ..Filter::default() };
    row("those of a drive", || store.list(&drive).map(|runs| runs.len()));
    row("two documents (compare)", || {
        [60_000, 60_001].into_iter().map(|n| store.get(&id(n)).map(|run| run.tests.len())).sum()
    });
    row("a drive's runs and documents (history)", || {
        let found = store.list(&drive)?;
        found.iter().map(|run| store.get(&run.id).map(|run| run.tests.len())).sum()
    });
}

/// The example document, without the parts that only reports draw.
fn example() -> Run {
    let text = include_str!("../../../docs/examples/run.json");
    let mut run = from_file(text).expect("the example is a run").remove(0);
    for test in &mut run.tests {
        test.series.clear();
        test.distributions.clear();
    }
    run
}

fn id(number: u64) -> String {
    format!("{number:012x}")
}

fn numbered(like: &Run, number: u64) -> Run {
    let mut run = like.clone();
    run.id = id(number);
    let day = jiff::Timestamp::from_second(1_577_836_800 + number as i64 * DAY_S / 50);
    run.started_at = day.expect("within the calendar").to_string();
    if let Some(drive) = &mut run.drive {
        drive.serial = Some(format!("SERIAL-{:04}", number / RUNS_OF_A_DRIVE));
    }
    run
}

/// Prints the median time of `ask`, which must find something.
fn row<E: std::fmt::Debug>(what: &str, ask: impl Fn() -> Result<usize, E>) {
    let mut times: Vec<f64> = (0..REPEATS)
        .map(|_| {
            let begin = Instant::now();
            assert!(ask().expect("the store can be read") > 0, "{what}");
            begin.elapsed().as_secs_f64() * 1e3
        })
        .collect();
    times.sort_by(f64::total_cmp);
    println!("| {what} | {:.1} |", times[REPEATS / 2]);
}
