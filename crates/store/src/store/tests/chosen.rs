//! Runs that a page shows: searched, filtered, a page at a time, by drive.

use super::ids;
use crate::StoreLocation;
use crate::drive_runs::FoundDrive;
use crate::store::Store;
use crate::summary::Filter;
use crate::testing::rich_run;
use drivescope_model::document::{Run, TestStatus};

/// Runs of two drives, the older of the first one failed, and a simulated one.
fn three() -> (tempfile::TempDir, Store) {
    let folder = tempfile::tempdir().unwrap();
    let mut store = Store::open(&StoreLocation::of_file(folder.path().join("runs.db"))).unwrap();
    let mut runs: Vec<Run> = ["aaaaaaaaaaa1", "bbbbbbbbbbb2", "ccccccccccc3"].map(rich_run).into();
    for (day, run) in runs.iter_mut().enumerate() {
        run.started_at = format!("2026-01-0{}T12:00:00Z", day + 1);
        run.simulated = day == 2;
        run.label = None;
    }
    runs[0].status = TestStatus::Failed;
    runs[0].label = Some("Old 100%".into());
    let drive = runs[2].drive.as_mut().unwrap();
    (drive.model, drive.serial) = (Some("ST1000".into()), Some("Z9".into()));
    runs[2].plan.suite.name = "quick".into();
    store.add_all(&runs).unwrap();
    (folder, store)
}

#[test]
fn a_search_looks_at_all_that_a_line_shows() {
    let (_folder, store) = three();
    for (text, found) in [
        ("wd20", &["bbbbbbbbbbb2", "aaaaaaaaaaa1"][..]),
        ("Z9", &["ccccccccccc3"]),
        ("old 100%", &["aaaaaaaaaaa1"]),
        ("100_", &[]),
        ("quick", &["ccccccccccc3"]),
        ("bbbb", &["bbbbbbbbbbb2"]),
        ("/mnt/data", &["ccccccccccc3", "bbbbbbbbbbb2", "aaaaaaaaaaa1"]),
    ] {
        let filter = Filter { text: Some(text.into()), ..Filter::default() };
        assert_eq!(ids(&store, &filter), found, "{text}");
        assert_eq!(store.count(&filter).unwrap(), found.len() as u64, "{text}");
    }
}

#[test]
fn filters_narrow_and_pages_follow_one_another() {
    let (_folder, store) = three();
    let failed = Filter { status: Some("failed".into()), ..Filter::default() };
    assert_eq!(ids(&store, &failed), ["aaaaaaaaaaa1"]);
    let simulated = Filter { simulated: Some(true), ..Filter::default() };
    assert_eq!(ids(&store, &simulated), ["ccccccccccc3"]);
    let real = Filter { simulated: Some(false), ..Filter::default() };
    assert_eq!(store.count(&real).unwrap(), 2);
    let page = |skip| Filter { skip, limit: Some(2), ..Filter::default() };
    assert_eq!(ids(&store, &page(0)), ["ccccccccccc3", "bbbbbbbbbbb2"]);
    assert_eq!(ids(&store, &page(2)), ["aaaaaaaaaaa1"]);
    assert_eq!(store.count(&page(2)).unwrap(), 3);
}

#[test]
fn a_drive_has_its_newest_run_and_all_of_them() {
    let (_folder, store) = three();
    let mut newest: Vec<String> =
        store.newest_of_drives().unwrap().into_iter().map(|run| run.id).collect();
    newest.sort();
    assert_eq!(newest, ["bbbbbbbbbbb2", "ccccccccccc3"]);
    let FoundDrive::One(found) = store.runs_of_drive("wd-wcaza", None, 9).unwrap() else {
        panic!("one drive has this serial number");
    };
    assert_eq!(found.runs.len(), 2);
    assert_eq!(found.name, "WDC WD20EARS-00MVWB0 (WD-WCAZA1234567)");
    assert!(matches!(store.runs_of_drive("/mnt", None, 9).unwrap(), FoundDrive::Several(..)));
    assert!(matches!(store.runs_of_drive("absent", None, 9).unwrap(), FoundDrive::None));
}
