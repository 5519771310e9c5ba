//! What every store does, in a file or on a server.

use super::*;
use crate::testing::{metric, rich_run};
use proptest::prelude::*;
use proptest::test_runner::TestRunner;
use std::cell::Cell;

/// Makes a new empty store.
pub type Fresh<'f> = &'f dyn Fn() -> StoreLocation;

type Case = (&'static str, fn(Fresh<'_>));

const CASES: &[Case] = &[
    ("a_run_with_every_field_comes_back_the_same", a_run_with_every_field_comes_back_the_same),
    ("what_comes_from_elsewhere_replaces_nothing", what_comes_from_elsewhere_replaces_nothing),
    ("interrupted_run_is_completed_by_itself_only", interrupted_run_is_completed_by_itself_only),
    (
        "saving_again_replaces_the_run_and_its_metrics",
        saving_again_replaces_the_run_and_its_metrics,
    ),
    ("names_find_runs", names_find_runs),
    (
        "many_candidates_are_counted_but_five_are_listed",
        many_candidates_are_counted_but_five_are_listed,
    ),
    ("lists_are_newest_first_across_time_zones", lists_are_newest_first_across_time_zones),
    ("filters_choose_by_drive_target_and_label", filters_choose_by_drive_target_and_label),
    ("summaries_carry_the_best_valid_numbers", summaries_carry_the_best_valid_numbers),
    ("what_a_document_cannot_hold_is_not_saved", what_a_document_cannot_hold_is_not_saved),
    ("two_handles_see_each_others_runs", two_handles_see_each_others_runs),
    ("many_threads_can_fill_one_new_store", many_threads_can_fill_one_new_store),
    ("every_run_comes_back_the_same", every_run_comes_back_the_same),
    ("copies_continue_and_count", copies_continue_and_count),
    ("hostile_text_comes_back_the_same", hostile_text_comes_back_the_same),
    ("search_covers_all_shown_fields", chosen::search_covers_all_shown_fields),
    (
        "filters_narrow_and_pages_follow_one_another",
        chosen::filters_narrow_and_pages_follow_one_another,
    ),
    ("drive_has_newest_run_and_all_runs", chosen::drive_has_newest_run_and_all_runs),
    ("drives_in_one_dock_are_kept_apart", chosen::drives_in_one_dock_are_kept_apart),
    ("runs_without_clock_are_ordered_by_saving", chosen::runs_without_clock_are_ordered_by_saving),
    (
        "newest_run_of_each_drive_has_its_figures",
        measured::newest_run_of_each_drive_has_its_figures,
    ),
    (
        "drives_without_serial_number_are_told_by_target",
        measured::drives_without_serial_number_are_told_by_target,
    ),
];

pub fn keep_the_contract(fresh: Fresh<'_>) {
    for (name, case) in CASES {
        // Shown if one fails.
        println!("{name}");
        case(fresh);
    }
}

#[test]
fn files_keep_the_contract() {
    let (folder, number) = (tempfile::tempdir().unwrap(), Cell::new(0));
    keep_the_contract(&|| {
        number.set(number.get() + 1);
        let location =
            StoreLocation::of_file(folder.path().join(format!("{}/runs.db", number.get())));
        Store::open(&location).unwrap();
        location
    });
}

#[test]
#[cfg(feature = "postgres")]
fn servers_keep_the_contract() {
    let Some(server) = crate::testing::PostgresServer::start(&[]) else { return };
    keep_the_contract(&|| server.new_store());
}

fn opened(fresh: Fresh<'_>) -> Store {
    Store::open(&fresh()).unwrap()
}

fn a_run_with_every_field_comes_back_the_same(fresh: Fresh<'_>) {
    let location = fresh();
    let mut store = Store::open(&location).unwrap();
    let run = rich_run(ID);
    store.save(&run).unwrap();
    assert_eq!(store.get(ID).unwrap(), run);
    drop(store);
    assert_eq!(Store::open_existing(&location).unwrap().get("last").unwrap(), run);
}

fn what_comes_from_elsewhere_replaces_nothing(fresh: Fresh<'_>) {
    let mut store = opened(fresh);
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

fn interrupted_run_is_completed_by_itself_only(fresh: Fresh<'_>) {
    let mut store = opened(fresh);
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

fn saving_again_replaces_the_run_and_its_metrics(fresh: Fresh<'_>) {
    let mut store = opened(fresh);
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
    let count = |ids: &str| {
        let sql = format!("SELECT COUNT(*) FROM metrics WHERE run_id LIKE '{ids}'");
        store.select(&sql, &[], SqlRow::int).unwrap()
    };
    assert_eq!((count("01%"), count("ff%")), (vec![1], vec![6]));
}

fn names_find_runs(fresh: Fresh<'_>) {
    let mut store = opened(fresh);
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
        assert!(message.contains("drivescope runs") || name == "abcd", "{message}");
    }
}

fn many_candidates_are_counted_but_five_are_listed(fresh: Fresh<'_>) {
    let mut store = opened(fresh);
    let runs: Vec<Run> = (0..9).map(|i| run_at(&format!("a{i:011}"), i)).collect();
    store.add_all(&runs).unwrap();
    assert_eq!(
        store.get("a").unwrap_err().to_string(),
        "'a' matches 9 runs (a00000000008, a00000000007, a00000000006, a00000000005, a00000000004 and 4 more); add \
         digits"
    );
}

fn lists_are_newest_first_across_time_zones(fresh: Fresh<'_>) {
    let mut store = opened(fresh);
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

fn filters_choose_by_drive_target_and_label(fresh: Fresh<'_>) {
    let mut store = opened(fresh);
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

fn summaries_carry_the_best_valid_numbers(fresh: Fresh<'_>) {
    let mut store = opened(fresh);
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

fn what_a_document_cannot_hold_is_not_saved(fresh: Fresh<'_>) {
    let mut store = opened(fresh);
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

fn two_handles_see_each_others_runs(fresh: Fresh<'_>) {
    let location = fresh();
    let mut a = Store::open(&location).unwrap();
    let mut b = Store::open(&location).unwrap();
    a.save(&run_at(ID, 0)).unwrap();
    assert_eq!(b.get(ID).unwrap().id, ID);
    b.save(&run_at("ffffffffffff", 1)).unwrap();
    assert_eq!(ids(&a, &Filter::default()), ["ffffffffffff", ID]);
}

fn many_threads_can_fill_one_new_store(fresh: Fresh<'_>) {
    let location = fresh();
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
    let store = Store::open(&location).unwrap();
    assert_eq!(store.select("SELECT COUNT(*) FROM meta", &[], SqlRow::int).unwrap(), [1]);
}

fn every_run_comes_back_the_same(fresh: Fresh<'_>) {
    let store = std::cell::RefCell::new(opened(fresh));
    // Each case writes to the disk twice.
    let mut runner =
        TestRunner::new(ProptestConfig::with_cases(ProptestConfig::default().cases / 5));
    let outcome = runner.run(&crate::document::tests::any_run(), |run| {
        let store = &mut *store.borrow_mut();
        store.save(&rich_run(&run.id)).unwrap();
        store.save(&run).unwrap();
        prop_assert_eq!(store.get(&run.id[..4]).unwrap(), run.clone());
        let list = store.list(&Filter::default()).unwrap();
        prop_assert_eq!(list.len(), 1);
        let nul = |text: &String| text.replace('\0', "\u{fffd}");
        prop_assert_eq!(list[0].label.as_ref().map(nul), run.label.as_ref().map(nul));
        prop_assert_eq!(list[0].elapsed_s, run.elapsed_s);
        store.remove(&run.id).unwrap();
        Ok(())
    });
    outcome.unwrap();
}

fn copies_continue_and_count(fresh: Fresh<'_>) {
    let (mut from, mut to) = (opened(fresh), opened(fresh));
    let mut runs: Vec<Run> = (0..7).map(|i| run_at(&format!("{i:012x}"), i)).collect();
    // The place of a run without a clock follows from the order of saving.
    runs[6].started_at = "1970-01-01T00:00:10Z".into();
    runs[6].tool.name = "drivescope".into();
    from.add_all(&runs).unwrap();
    let mut part = runs[2].clone();
    (part.status, part.tests[0].status) = (TestStatus::Interrupted, TestStatus::Interrupted);
    to.add_all(&[runs[0].clone(), part]).unwrap();
    let mut other = runs[4].clone();
    other.elapsed_s += 1.0;
    to.add_all(&[other]).unwrap();
    let mut heard = Vec::new();
    let report = copy(&from, &mut to, &mut |done, all| heard.push((done, all))).unwrap();
    assert_eq!(heard, [(7, 7)]);
    assert_eq!((report.new, report.known, report.completed), (4, 1, 1));
    assert_eq!(report.differing, ["000000000004"]);
    assert_eq!(to.get("000000000002").unwrap(), runs[2]);
    let again = copy(&from, &mut to, &mut |_, _| {}).unwrap();
    assert_eq!((again.copied(), again.known, again.differing.len()), (0, 6, 1));
    assert_eq!(to.ids().unwrap(), from.ids().unwrap());
}

fn hostile_text_comes_back_the_same(fresh: Fresh<'_>) {
    let mut store = opened(fresh);
    let mut run = rich_run(ID);
    let hostile = "'; DROP TABLE runs; -- \u{1b}[2J\u{202e}\u{0}\\x00 <script>%_!$1";
    run.label = Some(hostile.into());
    run.target.path = hostile.into();
    run.note = Some(hostile.into());
    run.tests[0].metrics[0].key = hostile.into();
    let drive = run.drive.as_mut().unwrap();
    (drive.model, drive.serial, drive.firmware) =
        (Some(hostile.into()), Some(hostile.into()), Some(hostile.into()));
    store.save(&run).unwrap();
    // As it is read anywhere else.
    let read = crate::from_json(&crate::to_json(&run)).unwrap();
    assert_eq!(store.get(ID).unwrap(), read[0]);
    let part = Filter { drive: Some("'; drop TABLE".into()), ..Filter::default() };
    assert_eq!(ids(&store, &part), [ID]);

    // Longer than an index takes.
    let long: String = (0..3_000).map(|n| format!("größe {n} ")).collect();
    run.label = Some(long.clone());
    run.target.path = long.clone();
    run.tests[0].metrics[0].key = long.clone();
    store.save(&run).unwrap();
    let labelled = Filter { label: Some(long.to_ascii_uppercase()), ..Filter::default() };
    assert_eq!(ids(&store, &labelled), [ID]);
    let text = Filter { text: Some("GRößE 2999".into()), ..Filter::default() };
    assert_eq!(ids(&store, &text), [ID]);
}
