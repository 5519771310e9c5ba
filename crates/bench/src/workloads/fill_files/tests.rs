use super::*;
use crate::testing::{
    done, has, points, run_all, run_behind, run_on, run_target, scratch, skip_of, suite_of, value,
};
use drivescope_drive::OwnFolder;
use drivescope_drive::own_folder::clean;
use drivescope_model::document::{TestResult, TestStatus};
use drivescope_model::findings::FindingId;
use drivescope_model::options::FillFilesOptions;

fn suite(size: Bytes, files: u32) -> Suite {
    let mut suite = suite_of(TestKind::FillFiles);
    suite.fill_files = FillFilesOptions { size, files, ..FillFilesOptions::default() };
    suite
}

/// nequalsonelifestyle.com: the rate falls with the position and recovers in gaps at the outer edge.
#[test]
fn simulated_disk_recovers_where_early_gaps_are_filled() {
    let disk = done(run_on("sim:wd40efrx", suite(Bytes(8_000_000_000), 0)));
    let figure = |key: &str| {
        value(&disk, &format!("fill-files.{key}")).unwrap_or_else(|| panic!("no {key}"))
    };
    assert!((165.0..185.0).contains(&figure("write.start_mb_s")), "{}", figure("write.start_mb_s"));
    assert!(figure("write.min_mb_s") < 0.6 * figure("write.start_mb_s"));
    let (decline, recovery) = (figure("write_decline.at_pct"), figure("write_recovery.at_pct"));
    assert!((10.0..50.0).contains(&decline) && recovery > 95.0, "{decline} and {recovery} %");
    assert!(figure("write_recovery.mb_s") > 0.85 * figure("write.start_mb_s"));
    let places = points(&disk, "fill-files.write.position_bytes");
    let last = places.last().unwrap().1;
    assert!(last < places[places.len() / 2].1, "the last file lies far outside: {last}");
    assert!(has(&disk, FindingId::ScatteredFiles));
}

#[test]
fn directory_gets_the_files_and_is_emptied() {
    let dir = scratch();
    let result = done(run_on(dir.path(), suite(Bytes::mib(8), 5)));
    assert_eq!(points(&result, "fill-files.write.mb_s").len(), 5);
    assert_eq!(value(&result, "fill-files.write.written_bytes"), Some(5.0 * 8_388_608.0));
    assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0);
}

#[test]
fn kept_files_are_read_later_and_removed() {
    let dir = scratch();
    let mut keeping = suite(Bytes::mib(8), 4);
    keeping.fill_files.keep = true;
    run_on(dir.path(), keeping);
    let read = done(run_on(dir.path(), suite_of(TestKind::ReadFiles)));
    assert_eq!(points(&read, "read-files.read.mb_s").len(), 4);
    assert_eq!(clean(dir.path()).unwrap().removed.len(), 1);
    let read = run_on(dir.path(), suite_of(TestKind::ReadFiles));
    assert_eq!(read.status, TestStatus::Skipped);
    assert!(read.reason.unwrap().contains("--keep"));
}

/// A killed fill: three files, of which the last checkpoint knew two, and a piece of a fourth.
#[test]
fn killed_fill_resumes_after_known_files() {
    let dir = scratch();
    let size = Bytes::mib(8);
    let mut first = suite(size, 2);
    first.fill_files.keep = true;
    let earlier = run_on(dir.path(), first);
    let mut folder = OwnFolder::adopt(dir.path(), "files").unwrap().unwrap();
    let tree = folder.open_tree("files").unwrap();
    for name in [c"f000002", c"f000003"] {
        tree.create_file(name).unwrap().write_at(&[1; 5000], 0).unwrap();
    }
    folder.keep_trees().unwrap();
    drop(folder);
    let point = ResumePoint {
        seed: 1,
        at_bytes: 2 * size.0,
        phase: ResumePhase::FillFiles,
        intact_before: false,
    };
    let earlier = TestResult { resume: Some(point), status: TestStatus::Interrupted, ..earlier };
    let target = run_target(dir.path());
    let result = done(run_behind(Some(earlier.clone()), &target, suite(size, 5), 1, false));
    let (before, after) =
        (points(&earlier, "fill-files.write.mb_s"), points(&result, "fill-files.write.mb_s"));
    assert_eq!(after.len(), 5);
    let is_same = |(a, b): (&(f64, f64), &(f64, f64))| a.0 == b.0 && (a.1 / b.1 - 1.0).abs() < 1e-6;
    assert!(before.iter().zip(&after).all(is_same), "what was known is kept: {before:?} {after:?}");
}

/// The drive was gone after 14 files, and read-files then read all of them at 26 GB/s.
#[test]
fn lost_drive_has_no_figures_in_any_test() {
    for model in ["laptop-ssd-2015", "wd40efrx"] {
        let target = run_target(format!("sim:{model}?fault=gone"));
        let mut suite = suite(Bytes(1_000_000_000), 0);
        suite.tests = vec![TestKind::FillFiles, TestKind::ReadFiles, TestKind::TinyWrites];
        let results = run_all(&target, suite);
        assert_eq!(results[0].status, TestStatus::Failed, "{model}");
        assert!(has(&results[0], FindingId::IoError));
        for after in &results[1..] {
            assert_eq!(after.status, TestStatus::Skipped, "{model}: {:?}", after.test);
            assert!(after.metrics.is_empty() && after.phases.is_empty());
            let reason = after.reason.as_deref().unwrap();
            assert!(reason.contains("no longer answers since fill-files failed"), "{reason}");
        }
    }
}

/// A thousandth of the drive fails: the tests that follow run, and say so themselves.
#[test]
fn drive_with_a_bad_region_is_measured_further() {
    let target = run_target("sim:kioxia-bg4-128?fault=failing-region");
    let mut suite = suite_of(TestKind::Latency);
    suite.tests.push(TestKind::Geometry);
    let results = run_all(&target, suite);
    assert_eq!(results[0].status, TestStatus::Failed, "it reads all over the drive");
    assert_ne!(results[1].status, TestStatus::Skipped, "{:?}", results[1].reason);
    let failed = results[0].phases.iter().filter(|phase| phase.errors > 0);
    for phase in failed {
        let key = format!("latency.{}.iops", phase.cell);
        let rounds = results[0].metrics.iter().find(|metric| metric.key == key);
        let good = results[0].phases.iter().filter(|it| it.cell == phase.cell && it.errors == 0);
        assert_eq!(rounds.map_or(0, |metric| metric.rounds.len()), good.count(), "{key}");
    }
}

#[test]
fn oversized_files_are_refused_before_writing() {
    let dir = scratch();
    let reason = skip_of(&run_target(dir.path()), suite(Bytes(1 << 50), 0)).unwrap();
    assert!(reason.contains("not one file"), "{reason}");
}
