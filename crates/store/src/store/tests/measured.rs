//! The newest runs of all drives, with their figures.

use super::contract::Fresh;
use crate::store::Store;
use crate::testing::{metric, rich_run};
use drivescope_model::MeasuredDrive;
use drivescope_model::document::{Run, TestStatus};

const KEY: &str = "transfer.rnd4k_q1t1.read.iops";
const OTHER: &str = "transfer.seq1m_q8t1.read.mb_s";

/// A run of the drive with this serial number, with one valid figure and others that do not count.
fn run(number: u32, serial: &str, value: f64) -> Run {
    let mut run = rich_run(&format!("{number:012x}"));
    run.started_at = format!("2026-01-31T12:{number:02}:00Z");
    run.simulated = false;
    run.drive.as_mut().unwrap().serial = Some(serial.to_string());
    let invalid = metric(OTHER, 9.0, "MB/s", false);
    run.tests.truncate(1);
    run.tests[0].metrics =
        vec![metric(KEY, value, "1/s", true), metric("latency.x.iops", 3.0, "1/s", true), invalid];
    run
}

fn measured(store: &Store) -> Vec<MeasuredDrive> {
    let (mut drives, unreadable) = store.measured_drives(&[KEY, OTHER]).unwrap();
    assert_eq!(unreadable, [""; 0]);
    drives.sort_by(|a, b| a.run.cmp(&b.run));
    drives
}

pub fn newest_run_of_each_drive_has_its_figures(fresh: Fresh<'_>) {
    let mut store = Store::open(&fresh()).unwrap();
    assert_eq!(measured(&store), []);
    let mut runs: Vec<Run> = (1..=10).map(|i| run(i, "A", 100.0 + f64::from(i))).collect();
    runs.push(run(11, "B", 50.0));
    // The same drive under another name, interrupted, and in another suite.
    runs[9].target.path = "/dev/sdz".to_string();
    let mut interrupted = run(12, "A", 1.0);
    interrupted.status = TestStatus::Interrupted;
    let mut suite = run(13, "A", 70.0);
    suite.plan.suite.name = "quick".to_string();
    runs.extend([interrupted, suite]);
    store.add_all(&runs).unwrap();
    let drives = measured(&store);
    let found: Vec<(&str, &str)> =
        drives.iter().map(|drive| (drive.suite.as_str(), drive.run.as_str())).collect();
    let [newest, other, quick] = [&runs[9].id, &runs[10].id, &runs[12].id];
    assert_eq!(found, [("standard", newest.as_str()), ("standard", other), ("quick", quick)]);
    let figure = &drives[0].figures[0];
    assert_eq!((figure.value, drives[0].figures.len()), (110.0, 1));
    assert_eq!(figure.earlier, [109.0, 108.0, 107.0, 106.0, 105.0, 104.0, 103.0]);
    assert!(drives[1].figures[0].earlier.is_empty());
    let drive = runs[9].drive.as_ref().unwrap();
    assert_eq!(drives[0].firmware, drive.firmware);
    assert_eq!((&*drives[0].host, drives[0].capacity_bytes), ("bench1", drive.capacity_bytes));
    assert!(drives[0].findings.iter().any(|(_, evidence)| evidence == "1.2 s"));
    assert!(drives[0].temperature_c.is_some() && drives[0].link.is_some());
}

/// Virtual disks have none, and are called alike on every host.
pub fn drives_without_serial_number_are_told_by_target(fresh: Fresh<'_>) {
    let mut store = Store::open(&fresh()).unwrap();
    let mut runs: Vec<Run> = (1..=4).map(|i| run(i, "", f64::from(i))).collect();
    for (run, (target, host)) in runs.iter_mut().zip([
        ("/dev/vda", "a"),
        ("/dev/vdb", "a"),
        ("/dev/vda", "b"),
        ("/dev/vda", "b"),
    ]) {
        run.target.path = target.to_string();
        run.host.name = host.to_string();
    }
    store.add_all(&runs).unwrap();
    let found: Vec<String> = measured(&store).into_iter().map(|drive| drive.run).collect();
    let [first, second, _, newest] = [0, 1, 2, 3].map(|i: usize| runs[i].id.clone());
    if store.location().path().is_some() {
        // A file is of one machine, or nearly so.
        assert_eq!(found, [second, newest]);
    } else {
        assert_eq!(found, [first, second, newest]);
    }
}
