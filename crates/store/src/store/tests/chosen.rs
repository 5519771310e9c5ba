//! Runs that a page shows: searched, filtered, a page at a time, by drive.

use super::contract::Fresh;
use super::ids;
use crate::drive_runs::FoundDrive;
use crate::store::Store;
use crate::summary::Filter;
use crate::testing::rich_run;
use drivescope_model::document::{Run, TestStatus};
use drivescope_model::drive::Drive;

/// Two real drives, the first with an earlier failed run, and a simulated one.
fn three(fresh: Fresh<'_>) -> Store {
    let mut store = Store::open(&fresh()).unwrap();
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
    store
}

pub fn search_covers_all_shown_fields(fresh: Fresh<'_>) {
    let store = three(fresh);
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

pub fn filters_narrow_and_pages_follow_one_another(fresh: Fresh<'_>) {
    fn page(skip: u32) -> Filter {
        Filter { skip, limit: Some(2), ..Filter::default() }
    }
    let store = three(fresh);
    let failed = Filter { status: Some("failed".into()), ..Filter::default() };
    assert_eq!(ids(&store, &failed), ["aaaaaaaaaaa1"]);
    let simulated = Filter { simulated: Some(true), ..Filter::default() };
    assert_eq!(ids(&store, &simulated), ["ccccccccccc3"]);
    let real = Filter { simulated: Some(false), ..Filter::default() };
    assert_eq!(store.count(&real).unwrap(), 2);
    assert_eq!(ids(&store, &page(0)), ["ccccccccccc3", "bbbbbbbbbbb2"]);
    assert_eq!(ids(&store, &page(2)), ["aaaaaaaaaaa1"]);
    assert_eq!(store.count(&page(2)).unwrap(), 3);
}

pub fn drive_has_newest_run_and_all_runs(fresh: Fresh<'_>) {
    let store = three(fresh);
    let mut newest: Vec<String> =
        store.newest_of_drives().unwrap().into_iter().map(|run| run.id).collect();
    newest.sort();
    assert_eq!(newest, ["bbbbbbbbbbb2", "ccccccccccc3"]);
    let FoundDrive::One(found) = store.runs_of_drive("wd-wcaza", None, 9).unwrap() else {
        panic!("one drive has this serial number");
    };
    assert_eq!(found.runs.len(), 2);
    assert_eq!(found.name, "WDC WD20EARS-00MVWB0 (WD-WCAZA1234567)");
    assert!(matches!(store.runs_of_drive("/mnt", None, 9).unwrap(), FoundDrive::Several { .. }));
    assert!(matches!(store.runs_of_drive("absent", None, 9).unwrap(), FoundDrive::None));
}

/// Runs of two drives in one dock; `change` makes the second drive.
fn docked(fresh: Fresh<'_>, change: impl Fn(&mut Drive)) -> Store {
    let mut store = Store::open(&fresh()).unwrap();
    for day in 1..=4_u32 {
        let mut run = rich_run(&format!("{day}00000000000"));
        run.started_at = format!("2026-01-0{day}T12:00:00Z");
        run.tool.name = "drivescope".into();
        let drive = run.drive.as_mut().unwrap();
        (drive.serial, drive.transport) = (Some("DOCK123".into()), "usb".into());
        if day % 2 == 0 {
            change(drive);
        }
        store.save(&run).unwrap();
    }
    store
}

fn ids_of(found: FoundDrive) -> Vec<String> {
    let FoundDrive::One(found) = found else { panic!("{found:?}") };
    found.runs.into_iter().map(|run| run.id).collect()
}

pub fn drives_in_one_dock_are_kept_apart(fresh: Fresh<'_>) {
    let changes: [fn(&mut Drive); 3] = [
        |drive| drive.capacity_bytes = 4_000_787_030_016,
        |drive| drive.wwn = Some("naa.5000c500a1b2c3d4".into()),
        |drive| (drive.wwn, drive.firmware) = (None, Some("82.00A82".into())),
    ];
    for change in changes {
        let store = docked(fresh, change);
        let FoundDrive::Several { listed, run } = store.runs_of_drive("dock", None, 9).unwrap()
        else {
            panic!("they are two");
        };
        assert_eq!(run, "400000000000");
        for part in
            ["WDC WD20EARS-00MVWB0 (DOCK123), ", "(run 400000000000); ", "(run 300000000000)"]
        {
            assert!(listed.contains(part), "{listed}");
        }
        let of = |id: &str| ids_of(store.runs_of_drive(id, None, 9).unwrap());
        assert_eq!(of("400000000000"), ["400000000000", "200000000000"]);
        assert_eq!(of("100000000000"), ["300000000000", "100000000000"]);
        let first = store.get("1").unwrap();
        let attached = store.runs_of_attached(first.drive.as_ref(), "/dev/sdq", 1).unwrap();
        assert_eq!(attached.runs[0].id, "300000000000");
    }
    let store = docked(fresh, |drive| drive.name = "sdz".into());
    assert_eq!(ids_of(store.runs_of_drive("dock", None, 9).unwrap()).len(), 4);
}

/// A clock without battery begins in 1970 at each boot: the run saved last is still the newest.
pub fn runs_without_clock_are_ordered_by_saving(fresh: Fresh<'_>) {
    let mut store = Store::open(&fresh()).unwrap();
    let mut run = |id: char, started_at: &str| {
        let mut run = rich_run(&id.to_string().repeat(12));
        (run.started_at, run.tool.name) = (started_at.into(), "drivescope".into());
        store.save(&run).unwrap();
        store.get("last").unwrap().id.chars().next().unwrap()
    };
    assert_eq!(run('a', "1970-01-01T00:02:00Z"), 'a');
    assert_eq!(run('b', "1970-01-01T00:01:00Z"), 'b');
    assert_eq!(run('c', "2026-05-01T00:00:00Z"), 'c');
    assert_eq!(run('d', "1970-01-01T00:01:30Z"), 'd');
    // Saved again after its next test, it stays where it is; a date that can be right counts.
    assert_eq!(run('a', "1970-01-01T00:02:00Z"), 'd');
    assert_eq!(run('e', "2026-04-01T00:00:00Z"), 'd');
    assert_eq!(run('f', "2026-05-02T00:00:00Z"), 'f');
    let order: String =
        ids(&store, &Filter::default()).into_iter().map(|id| id.chars().next().unwrap()).collect();
    assert_eq!(order, "fdceba");
    // Results of other programs may be older than drivescope.
    let mut foreign = rich_run("999999999999");
    (foreign.started_at, foreign.tool.name) = ("2017-07-14T02:40:00Z".into(), "fio".into());
    store.add_all(&[foreign]).unwrap();
    assert_eq!(store.get("last").unwrap().id, "ffffffffffff");
}
