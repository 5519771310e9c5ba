//! `verify` on simulated drives that keep data.

use super::*;
use crate::planner::plan;
use crate::testing::{done, every, finding, has, plan_of, run_at, run_target, suite_of, value};
use drivescope_drive::Target;
use drivescope_model::document::{TestResult, TestStatus};
use drivescope_model::options::Suite;
use drivescope_model::plan::Engine;

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

/// On a drive that keeps its contents from one run to the next.
fn run(drive: &Target, suite: Suite) -> TestResult {
    run_at(drive, suite, 7, false)
}

/// Runs on a drive of its own and holds the plan against what was done.
fn run_planned(target: &str, suite: Suite) -> TestResult {
    let planned = plan_of(&run_target(target), suite.clone());
    let result = run(&run_target(target), suite);
    let written = value(&result, "verify.capacity.written_bytes").unwrap();
    assert!(planned.cost.written_bytes as f64 >= written, "{target}: {written} {planned:?}");
    assert!(planned.cost.seconds >= result.elapsed_s, "{target}: {} {planned:?}", result.elapsed_s);
    assert!(planned.at_most.is_some());
    result
}

fn accused(result: &TestResult) -> bool {
    has(result, FindingId::FakeCapacity)
}

#[test]
fn quick_finds_the_real_size_of_fakes() {
    for (fake, real, module) in [
        ("wrap:32GiB", 32u64 << 30, 32u64 << 30),
        ("wrap:31999999488", 31_999_999_488, 31_999_999_488),
        ("cut:8GB", 8_000_000_000, 0),
        ("cut:60GiB:256KiB", 60 << 30, 0),
        ("cut:128035675648", 128_035_675_648, 0),
        ("wrap:128035675648", 128_035_675_648, 128_035_675_648),
    ] {
        let result = run_planned(&format!("sim:pm871b-128?fake={fake}"), quick());
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
    for drive in ["sim:pm871b-128", "sim:wd4000aaks", "sim:usb-16tb", "sim:st8000as0002-smr"] {
        let result = run_planned(drive, quick());
        let real = value(done(&result), "verify.capacity.real_bytes").unwrap();
        assert_eq!(result.reason, None);
        assert_eq!(Some(real), value(&result, "verify.capacity.announced_bytes"));
        assert!(value(&result, "verify.capacity.sure_pct").unwrap() > 99.99);
        assert!(!accused(&result) && value(&result, "verify.fake.module_bytes").is_none());
    }
}

/// A thousandth in the middle cannot be read: that is damage, whatever lies behind is there.
#[test]
fn quick_does_not_call_a_failing_drive_fake() {
    for model in ["pm871b-128", "wd4000aaks", "hgst-7k1000", "wd40efrx", "samsung-860evo-1tb"] {
        for &seed in every(3, &[1, 2, 3]) {
            let target = format!("sim:{model}?fault=failing-region");
            let result = run_at(&run_target(&target), quick(), seed, false);
            assert!(!accused(done(&result)), "{target}");
            assert_eq!(value(&result, "verify.capacity.real_bytes"), None, "{target}");
            assert_eq!(value(&result, "verify.capacity.silent_bytes"), None, "{target}");
            let announced = value(&result, "verify.capacity.announced_bytes").unwrap();
            let error = finding(&result, FindingId::IoError);
            let evidence = &error.unwrap_or_else(|| panic!("{target}: nothing failed")).evidence;
            let (_, places) = evidence.split_once("lie between bytes ").expect(evidence);
            let numbers = places.split(|c: char| !c.is_ascii_digit());
            let places: Vec<f64> = numbers.filter_map(|n| n.parse().ok()).take(2).collect();
            assert!(evidence.ends_with("later blocks read back intact"), "{evidence}");
            let region = announced / 2.0 - 8192.0..announced * 0.501 + 8192.0;
            assert!(places.iter().all(|at| region.contains(at)), "{target} {places:?}");
        }
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
        let result = run(&run_target(format!("sim:pm871b-128?fake={fake}")), full(size));
        let value = |key: &str| value(done(&result), key).unwrap() as u64;
        assert_eq!(value("verify.capacity.real_bytes"), real, "{fake}");
        assert_eq!(value("verify.read.intact_bytes"), real, "{fake}");
        assert_eq!(value("verify.read.overwritten_bytes"), overwritten, "{fake}");
        assert_eq!(value("verify.read.lost_bytes"), lost, "{fake}");
        assert_eq!(accused(&result), real < size.0, "{fake}");
        assert!(value("verify.write.mb_s") > 100 && value("verify.read.mb_s") > 100);
        // A part of a drive says nothing of the rest: the third is a fake, too.
        let told = result.reason.as_deref().unwrap();
        assert!(told.starts_with("capacity: only the first 101 MB of 128 GB"), "{told}");
    }
}

#[test]
fn full_run_needs_a_part_that_fits_memory() {
    let target = run_target("sim:pm871b-128");
    let error = plan(full(Bytes(0)), 1, Engine::Sim, &target, false, WriteLevel::Read).unwrap_err();
    assert!(error.to_string().contains("--size 4 GiB"), "{error}");
}

fn reading(mut suite: Suite) -> Suite {
    suite.verify.phase = VerifyPhase::Read;
    suite
}

fn refused(result: &TestResult, what: &str) {
    let reason = result.reason.as_deref().unwrap();
    assert_eq!(result.status, TestStatus::Skipped, "{reason}");
    assert!(reason.contains(what), "{reason}");
    assert!(result.findings.is_empty(), "{:?}", result.findings);
    assert!(value(result, "verify.capacity.real_bytes").is_none());
}

/// A stopped run is continued on the same drive only, and comes to the same end.
#[test]
fn a_full_run_is_continued() {
    let drive = run_target("sim:pm871b-128");
    let stopped = run_at(&drive, full(Bytes::mib(96)), 7, true);
    assert_eq!(stopped.status, TestStatus::Interrupted);
    done(&run(&drive, full(Bytes::mib(32))));
    let mut suite = full(Bytes::mib(96));
    suite.verify.from = Bytes::mib(32);
    refused(&run(&run_target("sim:pm871b-128"), suite.clone()), "does not hold the data of seed 7");
    let result = run(&drive, suite);
    let value = |key: &str| value(done(&result), key).unwrap() as u64;
    assert_eq!(value("verify.write.written_bytes"), 64 << 20);
    assert_eq!(value("verify.read.intact_bytes"), 96 << 20);
    assert!(result.findings.is_empty());
}

/// A power cut may bring back an earlier run's data of the same seed: no sign of a drive that loses data.
#[test]
fn full_run_does_not_continue_an_earlier_one() {
    let drive = run_target("sim:pm871b-128");
    done(&run(&drive, full(Bytes::mib(96))));
    done(&run(&drive, full(Bytes::mib(32))));
    let mut suite = full(Bytes::mib(96));
    suite.verify.from = Bytes::mib(64);
    refused(&run(&drive, suite.clone()), "byte 33554432 does not hold the data of seed 7");
    suite.verify.from = Bytes::mib(32);
    let went_on = run(&drive, suite);
    assert_eq!(value(done(&went_on), "verify.read.intact_bytes"), Some((96 << 20) as f64));
}

/// The pass of the stamp at a byte of a simulated drive that keeps its contents.
fn pass_at(drive: &Target, at: u64) -> u64 {
    let mut sector = [0; 512];
    drive.simulated().unwrap().fetch(at, &mut sector);
    u64::from_le_bytes(sector[8..16].try_into().unwrap())
}

/// A rerun has the same seed: if the drive drops its writes, what the run before left must not look like them.
#[test]
fn full_run_writes_data_new_for_its_seed() {
    let drive = run_target("sim:pm871b-128");
    let places = [0, 32 << 20, (96 << 20) - 512];
    let mut before = [0; 3];
    for size in [96, 32, 96] {
        done(&run(&drive, full(Bytes::mib(size))));
        let written = places.map(|at| pass_at(&drive, at));
        assert!(written[0] > before[0].max(FULL_PASS - 1) && written[0] > before[2], "{written:?}");
        assert!(size == 32 || written == [written[0]; 3], "{written:?}");
        before = written;
    }
    // A resumed run writes the same, and one that only reads knows it.
    let mut suite = full(Bytes::mib(96));
    suite.verify.from = Bytes::mib(32);
    let went_on = run(&drive, suite);
    let read = run(&drive, reading(full(Bytes::mib(96))));
    for result in [went_on, read] {
        assert_eq!(value(done(&result), "verify.read.intact_bytes"), Some((96 << 20) as f64));
    }
    assert_eq!(places.map(|at| pass_at(&drive, at)), before);
}

/// Another seed, or a drive that was never written: no reason to accuse it.
#[test]
fn read_without_stamps_makes_no_accusation() {
    let size = Bytes::mib(96);
    for drive in
        ["sim:pm871b-128", "sim:pm871b-128?fake=cut:40MiB", "sim:pm871b-128?fake=wrap:40MiB"]
    {
        fn intact(result: &TestResult) -> Option<f64> {
            value(done(result), "verify.read.intact_bytes")
        }
        let is_fake = drive.contains("fake");
        let drive = run_target(drive);
        refused(&run(&drive, reading(full(size))), "no data of seed 7 found");
        let written = run(&drive, full(size));
        assert_eq!(accused(done(&written)), is_fake);
        refused(&run_at(&drive, reading(full(size)), 8, false), "no data of seed 8 found");
        let read = run(&drive, reading(full(size)));
        assert_eq!(intact(&read), intact(&written));
        assert!(is_fake || read.findings.is_empty(), "{:?}", read.findings);
    }
}

/// A run that was stopped while it wrote leaves a drive that looks as if its end were missing.
#[test]
fn read_after_half_a_write_accuses_no_drive() {
    let drive = run_target("sim:pm871b-128");
    done(&run(&drive, full(Bytes::mib(32))));
    let read = run(&drive, reading(full(Bytes::mib(96))));
    assert!(!accused(done(&read)));
    assert!(value(&read, "verify.capacity.real_bytes").is_none());
    let [finding] = &read.findings[..] else { panic!("{:?}", read.findings) };
    assert_eq!(finding.id, FindingId::DataMismatch);
    assert!(finding.evidence.contains("or the run that wrote stopped there"), "{finding:?}");
}

/// Caches that answer for the end of the drive, smaller and larger than what is pushed out of them.
#[test]
fn full_run_finds_fake_despite_cache() {
    for cache in ["512", "1MiB", "7MiB", "8MiB", "14MiB"] {
        for fake in ["cut:20MiB", "wrap:20MiB"] {
            let mut suite = full(Bytes::mib(48));
            suite.verify.cache = Bytes::mib(8);
            let result = run(&run_target(format!("sim:pm871b-128?fake={fake}:{cache}")), suite);
            let real = value(done(&result), "verify.capacity.real_bytes").unwrap() as u64;
            assert!(accused(&result), "{fake}:{cache}");
            // What a cache holds at the end reads back intact, though nothing is behind it.
            let hidden = if fake.starts_with("wrap") { 14 << 20 } else { 0 };
            assert!((20 << 20..=(20 << 20) + hidden).contains(&real), "{fake}:{cache}: {real}");
        }
    }
}

#[test]
fn a_read_writes_nothing_and_says_so() {
    let drive = run_target("sim:pm871b-128");
    let planned = plan_of(&drive, reading(full(Bytes::mib(96))));
    assert_eq!(planned.writes, WriteLevel::Read);
    assert_eq!((planned.cost.written_bytes, planned.cost.read_bytes), (0, 96 << 20));
}
