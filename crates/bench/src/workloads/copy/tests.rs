#![expect(clippy::disallowed_methods, reason = "tests make files of their own")]

use super::*;
use crate::testing::{
    done, has, plan_context, run_at, run_on, run_target, scratch, suite_of, value,
};
use drivescope_model::document::{TestResult, TestStatus};
use drivescope_model::findings::FindingId;
use drivescope_model::options::CopySet;
use drivescope_model::units::Bytes;

fn suite(change: impl FnOnce(&mut CopyOptions)) -> Suite {
    let mut suite = suite_of(TestKind::Copy);
    let small = CopyOptions {
        large: Bytes::mib(2048),
        small_files: 200,
        rounds: 1,
        ..CopyOptions::default()
    };
    suite.copy = small;
    change(&mut suite.copy);
    suite
}

fn rate(result: &TestResult, cell: &str) -> f64 {
    let key = format!("copy.{cell}.mb_s");
    value(result, &key)
        .unwrap_or_else(|| panic!("no {key}: {:?} {:?}", result.status, result.reason))
}

/// A disk can read or write: what it copies within itself takes both, one after the other, and seeks between.
#[test]
fn simulated_disk_copies_at_under_half_rate() {
    let disk = run_on("sim:wd40efrx", suite(|options| options.sets = vec![CopySet::Large]));
    let [create, copy, read] =
        ["create", "copy", "read"].map(|part| rate(&disk, &format!("large.{part}")));
    assert!((160.0..190.0).contains(&create), "{create} MB/s at the outer edge");
    assert!((160.0..190.0).contains(&read), "{read}");
    assert!(copy < create / 2.0, "{copy} of {create} MB/s");
    assert!(!has(&disk, FindingId::FilesInMemory));
}

#[test]
fn slow_source_limits_the_copy() {
    let from = suite(|options| {
        options.sets = vec![CopySet::Large];
        options.from = Some("sim:wd40efrx".to_string());
    });
    let flash = run_on("sim:samsung-860evo-1tb", from);
    let (source, copied) = (rate(&flash, "large.source"), rate(&flash, "large.from"));
    assert!(copied <= source * 1.02 && copied > source * 0.7, "{copied} of {source} MB/s");
    assert!(has(&flash, FindingId::SourceLimits), "{copied} of {source}");
}

#[test]
fn small_files_cost_more_than_their_bytes() {
    // less than the page cache may hold dirty, both
    let sets = suite(|options| (options.small_files, options.large) = (2_000, Bytes::mib(512)));
    let both = run_on("sim:wd40efrx", sets);
    let (large, small) = (rate(&both, "large.copy"), rate(&both, "small.copy"));
    assert!(small < large, "{small} and {large} MB/s");
    assert_eq!(value(&both, "copy.small.copy.files"), Some(2_000.0));
}

#[test]
fn directory_copies_within_itself_without_leftovers() {
    let dir = scratch();
    let result = done(run_on(
        dir.path(),
        suite(|options| (options.rounds, options.large) = (2, Bytes::mib(64))),
    ));
    for cell in
        ["large.create", "large.copy", "large.read", "small.create", "small.copy", "small.read"]
    {
        assert!(rate(&result, cell) > 0.0);
    }
    assert_eq!(value(&result, "copy.small.delete.files"), Some(200.0));
    assert_eq!(
        result.metrics.iter().find(|m| m.key == "copy.small.copy.files_s").unwrap().rounds.len(),
        2
    );
    assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0);
}

#[test]
fn user_files_are_copied_and_stay_unchanged() {
    let (dir, files) = (scratch(), scratch());
    std::fs::create_dir(files.path().join("folder")).unwrap();
    for number in 0..20 {
        std::fs::write(files.path().join(format!("folder/{number}")), vec![7; 10_000]).unwrap();
    }
    std::os::unix::fs::symlink("/", files.path().join("out")).unwrap();
    let path = files.path().to_str().unwrap().to_string();
    let own = suite(|options| options.files = Some(path));
    let result = done(run_on(dir.path(), own));
    assert_eq!(value(&result, "copy.files.copy.files"), Some(20.0));
    assert!(!has(&result, FindingId::FilesInMemory), "just written, they are synced first");
    assert!(result.reason.as_ref().unwrap().contains("1 symbolic links"));
    assert_eq!(std::fs::read_dir(files.path().join("folder")).unwrap().count(), 20);
    assert!(value(&result, "copy.files.create.mb_s").is_none(), "nothing is made");
}

/// Found before anything is listed, as for files that the test makes itself.
#[test]
fn user_files_are_not_copied_without_room() {
    let (dir, own) = (scratch(), suite(|options| options.files = Some("/tmp".to_string())));
    let (target, drive) = (run_target(dir.path()), run_target("sim:wd40efrx"));
    let context = plan_context(&own, target.info(), drive.drive().unwrap());
    let reason = |room_bytes| CopyWorkload.plan(&PlanContext { room_bytes, ..context }).skip;
    assert!(reason(0).unwrap().contains("floor of free space"));
    assert_eq!(reason(1), None);
}

#[test]
fn a_stopped_copy_leaves_nothing() {
    let dir = scratch();
    let result =
        run_at(&run_target(dir.path()), suite(|options| options.large = Bytes::mib(64)), 1, true);
    assert_eq!(result.status, TestStatus::Interrupted);
    assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0);
}

#[test]
fn mistakes_are_named() {
    fn wrong(change: fn(&mut CopyOptions)) -> String {
        CopyWorkload.check(&suite(change)).unwrap_err()
    }
    assert!(wrong(|options| options.sets.clear()).contains("copy.sets"));
    assert!(wrong(|options| options.sets = vec![CopySet::Large; 2]).contains("twice"));
    assert!(wrong(|options| options.block = Bytes(1)).contains("copy.block"));
    assert!(
        wrong(|options| (options.files, options.from) = (Some("a".into()), Some("b".into())))
            .contains("copy.from")
    );
    for (files, from, kind, words) in [
        (Some("/tmp"), None, TargetKind::Simulated, "omit --files"),
        (None, Some("sim:wd40efrx"), TargetKind::Directory, "simulated one only"),
        (None, Some("/tmp"), TargetKind::Simulated, "--from sim:MODEL"),
    ] {
        let options = CopyOptions {
            files: files.map(String::from),
            from: from.map(String::from),
            ..CopyOptions::default()
        };
        assert!(mismatch(&options, kind).unwrap().contains(words));
    }
}
