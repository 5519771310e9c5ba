//! Full reads of drives of which each bad byte is known, in one go and in parts.

use super::*;
use crate::io::queue::IoRequest;
use crate::io::queue::IoTask;
use crate::testing::{
    VirtualQueue, done, finding, points, run_at, run_behind, run_target, suite_of, value,
};
use drivescope_model::document::{TestResult, TestStatus};
use drivescope_model::findings::FindingId;
use drivescope_model::options::{PartStart, Suite, SurfacePreset};
use drivescope_model::resume::ResumePoint;
use drivescope_model::units::Bytes;
use std::ops::Range;

const UNIT: u64 = 512;
const MIB: u64 = 1 << 20;

struct Seen {
    bad: Vec<BadStretch>,
    outcome: WholeReadOutcome,
    failed: u64,
}

/// Reads 256 MiB from `from` on, of which `fails` says which requests fail.
fn read_from(from: u64, mut fails: impl FnMut(&IoRequest, u64) -> Result<(), i32>) -> Seen {
    let pieces = ScanRegion::pieces(0, 256 * MIB, 16 * MIB);
    let (control, found) = (Control::of_places(pieces.len()), Mutex::new(Vec::new()));
    let mut failed = 0;
    let mut sent = 0;
    let mut queue = VirtualQueue::new(DEPTH + 1, 1, |request: &IoRequest, _| {
        sent += 1;
        let answer = fails(request, sent);
        failed += u64::from(answer.is_err());
        answer.map(|()| u64::from(request.len))
    });
    let task = WholeRead {
        pieces: &pieces,
        from,
        chunk: CHUNK as u32,
        depth: DEPTH,
        unit: UNIT,
        control: &control,
        found: &found,
    };
    let outcome = task.run(&mut queue).unwrap();
    drop(queue);
    assert_eq!(timed_so_far(&pieces, &control), bare(&outcome.timed));
    Seen { bad: found.into_inner().unwrap(), outcome, failed }
}

fn bare(timed: &[TimedRegion]) -> Vec<TimedRegion> {
    timed.iter().map(|timed| TimedRegion::new(timed.offset, timed.len, timed.ns)).collect()
}

fn touches(request: &IoRequest, bad: &Range<u64>) -> bool {
    request.offset < bad.end && bad.start < request.offset + u64::from(request.len)
}

fn read(bad: &[Range<u64>]) -> Seen {
    let fails = |request: &IoRequest| bad.iter().any(|bad| touches(request, bad));
    read_from(0, |request, _| if fails(request) { Err(libc::EIO) } else { Ok(()) })
}

fn stretches(seen: &Seen) -> Vec<Range<u64>> {
    seen.bad.iter().map(|bad| bad.bytes.clone()).collect()
}

#[test]
fn bad_bytes_are_named_to_the_sector() {
    let cases: [&[(u64, u64)]; 9] = [
        &[],
        &[(0, UNIT)],
        &[(100 * MIB + 3 * UNIT, 100 * MIB + 4 * UNIT)],
        // Across a request, across a piece, over pieces.
        &[(MIB - UNIT, MIB + 5 * UNIT)],
        &[(16 * MIB - UNIT, 16 * MIB + 7 * UNIT), (16 * MIB + 300 * UNIT, 16 * MIB + 301 * UNIT)],
        &[(20 * MIB + UNIT, 90 * MIB + 17 * UNIT)],
        &[(7 * UNIT, 8 * UNIT), (5 * MIB, 5 * MIB + UNIT), (256 * MIB - 9 * UNIT, 256 * MIB)],
        &[(64 * MIB + UNIT, 256 * MIB)],
        &[(0, 256 * MIB)],
    ];
    for case in cases {
        let bad: Vec<Range<u64>> = case.iter().map(|&(first, end)| first..end).collect();
        let seen = read(&bad);
        assert_eq!(stretches(&seen), bad);
        assert!(seen.bad.iter().all(|bad| bad.unreadable == bad.bytes.end - bad.bytes.start));
        assert_eq!((seen.outcome.gave_up, seen.outcome.ended_by), (false, None), "{bad:?}");
        assert_eq!(seen.outcome.timed.len(), 16);
        let untimed = seen.outcome.timed.iter().filter(|timed| timed.ns.is_none());
        let untimed: Vec<u64> = untimed.map(|timed| timed.offset / (16 * MIB)).collect();
        let touched = |piece: &u64| {
            let request = IoRequest {
                offset: piece * 16 * MIB,
                len: (16 * MIB) as u32,
                ..IoRequest::default()
            };
            bad.iter().any(|bad| touches(&request, bad))
        };
        assert_eq!(untimed, (0..16).filter(touched).collect::<Vec<_>>(), "{bad:?}");
        assert!(seen.failed <= 60 * bad.len() as u64, "{} failed reads of {bad:?}", seen.failed);
    }
}

/// Bad sectors with short gaps are one stretch, whose readable bytes are known.
#[test]
fn scattered_sectors_are_one_stretch() {
    let bad: Vec<Range<u64>> =
        (0..20).map(|i| 50 * MIB + i * 40 * UNIT..50 * MIB + (i * 40 + 1) * UNIT).collect();
    let seen = read(&bad);
    let one = BadStretch { bytes: 50 * MIB..50 * MIB + 761 * UNIT, unreadable: 20 * UNIT };
    assert_eq!(seen.bad, [one]);
}

/// A drive with a bad sector every few pages everywhere would take years.
#[test]
fn drive_that_fails_everywhere_is_not_read_for_ever() {
    let every = 128 << 10;
    let seen = read_from(0, |request, _| {
        let first = request.offset.next_multiple_of(every);
        let fails = first < request.offset + u64::from(request.len);
        if fails { Err(libc::EIO) } else { Ok(()) }
    });
    assert!(seen.outcome.gave_up && seen.failed < 10_000, "{}", seen.failed);
    assert!(!seen.bad.is_empty() && seen.outcome.timed.len() < 16);
}

#[test]
fn what_comes_at_the_second_look_is_not_bad() {
    let mut once = true;
    let seen = read_from(0, |request, _| {
        let fails = request.offset == 40 * MIB && std::mem::take(&mut once);
        if fails { Err(libc::EIO) } else { Ok(()) }
    });
    assert_eq!((seen.bad, seen.outcome.failed.0), (Vec::new(), 1));
    assert_eq!(seen.outcome.timed.len(), 16);
}

/// Whether the kernel says so or the drive only fails everything from then on.
#[test]
fn vanished_drive_has_no_unreadable_end() {
    for errno in [libc::ENODEV, libc::EIO] {
        let seen = read_from(0, |_, sent| if sent > 100 { Err(errno) } else { Ok(()) });
        assert_eq!(seen.bad, [], "{errno}");
        assert_eq!(seen.outcome.ended_by.map(|failure| failure.errno), Some(errno));
        assert_eq!(seen.outcome.timed.len(), 6);
    }
}

#[test]
fn read_goes_on_after_what_an_earlier_run_found() {
    let seen = read_from(70 * MIB + UNIT, |request, _| {
        assert!(request.offset > 70 * MIB);
        Ok(())
    });
    let untimed = seen.outcome.timed.iter().filter(|timed| timed.ns.is_none());
    // Those before byte 70 MiB, and the rest of the one that holds it.
    assert_eq!(untimed.count(), 5);
}

fn full(target: &str, mib: (u64, u64)) -> Suite {
    let suite = suite_of(TestKind::Surface);
    let mut suite = Suite {
        offset: Some(PartStart::At(Bytes(mib.0 * MIB))),
        span: Bytes(mib.1 * MIB),
        ..suite
    };
    suite.surface.preset = SurfacePreset::Full;
    suite.surface.accesses = if target.contains("fault") { 0 } else { 50 };
    suite
}

/// The failing thousandth of the drive begins at its middle: here within a part of a gibibyte.
const FAILING: &str = "sim:pm871b-128?fault=failing-region";
const PART: (u64, u64) = (60_800, 512);

fn bad_part() -> (u64, u64) {
    let capacity = 128_035_676_160;
    let first = capacity / 2 / 4096 * 4096;
    (first, first + capacity / 1000)
}

#[test]
fn failing_region_is_in_the_document() {
    let result = run_at(&run_target(FAILING), full(FAILING, PART), 1, false);
    assert_eq!(result.status, TestStatus::Failed);
    let value = |key: &str| value(&result, &format!("surface.{key}"));
    let (first, end) = bad_part();
    // To whole sectors.
    let (first, end) = (first / UNIT * UNIT, end.next_multiple_of(UNIT));
    assert_eq!(value("unreadable.stretches"), Some(1.0));
    assert_eq!(value("unreadable.unreadable_bytes"), Some((end - first) as f64));
    assert_eq!(value("unreadable.silent_bytes"), None);
    let share = (PART.1 * MIB - (end - first)) as f64 * 100.0 / 128_035_676_160.0;
    assert!((value("read.share_pct").unwrap() - share).abs() < 1e-6);
    let evidence = finding(&result, FindingId::IoError).unwrap();
    let all = format!("{:?}", result.findings);
    let named = format!("bytes {} to {}", number(first), number(end - 1));
    assert!(all.contains(&named), "{named} {evidence:?} {all}");
    let within = points(&result, "surface.unreadable.end_bytes");
    let start = PART.0 * MIB;
    assert_eq!(within, [((first - start) as f64, (end - start) as f64)]);
}

fn number(value: u64) -> String {
    drivescope_model::number::whole(value)
}

#[test]
fn healthy_drive_is_read_once() {
    let target = "sim:pm871b-128";
    let result = done(run_at(&run_target(target), full(target, (0, 300)), 1, false));
    let value = |key: &str| value(&result, &format!("surface.{key}")).unwrap();
    for key in ["unreadable.stretches", "unreadable.unreadable_bytes", "slow.stretches"] {
        assert_eq!(value(key), 0.0, "{key}");
    }
    let read = value("read.share_pct") / 100.0 * 128_035_676_160.0;
    assert!((read - (300 * MIB) as f64).abs() < 1.0, "{read}");
    assert!(value("read.mean_mb_s") > 300.0 && value("access.access_mean_ms") > 0.0);
    assert_eq!(result.resume, None);
}

/// The figures of an interrupted read are those of its document, as `--resume` finds it in the store.
#[test]
fn resumed_read_has_the_figures_of_both_parts() {
    let target = run_target(FAILING);
    let whole = run_at(&target, full(FAILING, PART), 1, false);
    let piece = piece_bytes(PART.1 * MIB);
    for pieces in [1, 31, 45, 63] {
        let at = piece * pieces;
        let mut earlier = whole.clone();
        let point = ResumePoint {
            seed: 1,
            at_bytes: at,
            phase: ResumePhase::Surface,
            intact_before: false,
        };
        earlier.resume = Some(point);
        earlier.status = TestStatus::Interrupted;
        let mut suite = full(FAILING, PART);
        suite.surface.from = Bytes(at);
        let resumed = run_behind(Some(earlier), &target, suite, 1, false);
        assert_eq!(resumed.status, TestStatus::Failed, "{pieces}");
        for key in [
            "read.share_pct",
            "read.start_bytes",
            "unreadable.stretches",
            "unreadable.unreadable_bytes",
        ] {
            let key = format!("surface.{key}");
            assert_eq!(value(&resumed, &key), value(&whole, &key), "{key} after {pieces}");
        }
        let x = |result: &TestResult| -> Vec<f64> {
            points(result, "surface.read.mb_s").into_iter().map(|(x, _)| x).collect()
        };
        assert_eq!(x(&resumed), x(&whole), "{pieces}");
    }
}

/// Nothing is known of what lies before: the result does not claim it.
#[test]
fn read_from_a_byte_is_not_of_the_whole() {
    let target = "sim:pm871b-128";
    let mut suite = full(target, (0, 256));
    suite.surface.from = Bytes(128 * MIB);
    let result = done(run_at(&run_target(target), suite, 1, false));
    let share = value(&result, "surface.read.share_pct").unwrap();
    assert!((share / 100.0 * 128_035_676_160.0 - (128 * MIB) as f64).abs() < 1.0);
    assert_eq!(value(&result, "surface.read.start_bytes"), Some((128 * MIB) as f64));
    assert!(result.reason.unwrap().contains("nothing before byte 134217728 was read"));
}

#[test]
fn pieces_are_many_and_not_too_many() {
    for size in [1 << 20, 5 << 20, 1 << 30, 128_035_676_160, 4_000_787_030_016, 32_u64 << 40] {
        let piece = piece_bytes(size);
        assert!(piece.is_multiple_of(CHUNK) && size.div_ceil(piece) <= PIECES_MAX, "{size}");
        assert!(size < 64 * MIB || size.div_ceil(piece) >= 32, "{size}");
    }
}
