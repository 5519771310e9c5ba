//! `verify` on simulated drives that keep data.

use super::*;
use crate::testing::{run_on, suite_of, value};
use drivescope_model::document::{TestResult, TestStatus};
use drivescope_model::options::Suite;

/// Quick, with a cache so small that little memory is filled.
fn quick() -> Suite {
    let mut suite = suite_of(TestKind::Verify);
    suite.verify.cache = Bytes::mib(1);
    suite
}

fn full(size: Bytes) -> Suite {
    let mut suite = suite_of(TestKind::Verify);
    (suite.verify.mode, suite.span) = (VerifyMode::Full, size);
    suite
}

fn done(result: &TestResult) -> &TestResult {
    assert_eq!(result.status, TestStatus::Done, "{:?}", result.reason);
    result
}

fn accused(result: &TestResult) -> bool {
    result.findings.iter().any(|finding| finding.id == FindingId::FakeCapacity)
}

#[test]
fn quick_finds_the_real_size_of_fakes() {
    for (fake, real, module) in [
        ("wrap:32GiB", 32u64 << 30, 32u64 << 30),
        ("wrap:31999999488", 31_999_999_488, 31_999_999_488),
        ("cut:8GB", 8_000_000_000, 0),
        ("cut:60GiB:256KiB", 60 << 30, 0),
    ] {
        let result = run_on(&format!("sim:pm871b-128?fake={fake}"), quick(), 7, false);
        let value = |key: &str| value(done(&result), key).unwrap() as u64;
        assert_eq!(value("verify.capacity.real_bytes"), real, "{fake}");
        assert_eq!(value("verify.capacity.announced_bytes"), 128_035_676_160);
        assert_eq!(value("verify.fake.module_bytes"), module, "{fake}");
        assert_eq!(value("verify.cache.cache_bytes") > 0, fake.ends_with("256KiB"), "{fake}");
        assert!(accused(&result));
    }
}

#[test]
fn quick_leaves_honest_drives_alone() {
    for drive in ["sim:pm871b-128", "sim:wd4000aaks"] {
        let result = run_on(drive, quick(), 7, false);
        let real = value(done(&result), "verify.capacity.real_bytes").unwrap();
        assert_eq!(Some(real), value(&result, "verify.capacity.announced_bytes"));
        assert!(value(&result, "verify.capacity.sure_pct").unwrap() > 99.99);
        assert!(!accused(&result) && value(&result, "verify.fake.module_bytes").is_none());
    }
}

#[test]
fn full_sorts_every_sector() {
    let size = Bytes::mib(96);
    for (fake, real, overwritten, lost) in [
        ("wrap:40MiB", 40u64 << 20, 56u64 << 20, 0u64),
        ("cut:70MiB", 70 << 20, 0, 26 << 20),
        ("cut:100MiB", 96 << 20, 0, 0),
    ] {
        let result = run_on(&format!("sim:pm871b-128?fake={fake}"), full(size), 7, false);
        let value = |key: &str| value(done(&result), key).unwrap() as u64;
        assert_eq!(value("verify.capacity.real_bytes"), real, "{fake}");
        assert_eq!(value("verify.read.intact_bytes"), real, "{fake}");
        assert_eq!(value("verify.read.overwritten_bytes"), overwritten, "{fake}");
        assert_eq!(value("verify.read.lost_bytes"), lost, "{fake}");
        assert_eq!(accused(&result), real < size.0, "{fake}");
        assert!(value("verify.write.mb_s") > 100 && value("verify.read.mb_s") > 100);
    }
}

#[test]
fn full_needs_a_part_of_a_simulated_drive_that_fits_into_memory() {
    let target = drivescope_drive::Target::find(
        std::path::Path::new("sim:pm871b-128"),
        &drivescope_drive::Roots::host(),
    )
    .unwrap();
    let engine = drivescope_model::plan::Engine::Sim;
    let error = crate::planner::plan(
        full(Bytes(0)),
        1,
        engine,
        &target,
        false,
        drivescope_model::plan::WriteLevel::Read,
    )
    .unwrap_err();
    assert!(error.to_string().contains("--size 4 GiB"), "{error}");
}

/// A stopped run says how to continue, and the continued one comes to the same end.
#[test]
fn a_full_run_is_continued() {
    let mut suite = full(Bytes::mib(96));
    let stopped = run_on("sim:pm871b-128", suite.clone(), 7, true);
    assert_eq!(stopped.status, TestStatus::Interrupted);
    // The later part alone: everything before was written by another run, which a new simulated drive
    // does not know, so just that part is lost.
    suite.verify.from = Bytes::mib(32);
    let result = run_on("sim:pm871b-128", suite, 7, false);
    let value = |key: &str| value(done(&result), key).unwrap() as u64;
    assert_eq!(value("verify.write.written_bytes"), 64 << 20);
    assert_eq!(value("verify.read.lost_bytes"), 32 << 20);
    assert_eq!(value("verify.read.intact_bytes"), 64 << 20);
}
