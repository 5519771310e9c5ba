//! The stated confidence, against drives of which the failing region is known.

use super::*;
use crate::io::queue::{IoRequest, IoTask};
use crate::loops::scan::{Scan, TimedRegion};
use crate::testing::{VirtualQueue, done, has, run_at, run_target, suite_of, value};
use drivescope_model::findings::FindingId;
use drivescope_model::options::{Suite, SurfacePreset, TestKind};
use drivescope_model::units::{Bytes, Secs};
use std::ops::Range;

const SEEDS: u64 = 2000;
const SIZE: u64 = 1 << 40;

fn options(samples: u32) -> SurfaceOptions {
    SurfaceOptions {
        preset: SurfacePreset::Spread,
        samples,
        sample: Bytes::kib(64),
        lead_in: Bytes(0),
        ..SurfaceOptions::default()
    }
}

/// Whether a scan of a drive in virtual time meets one of these regions, which fail; `most` places are visited.
fn is_seen(seed: u64, parts: u64, most: usize, failing: &[Range<u64>]) -> bool {
    let options = options(parts as u32);
    let mut places = places(&options, SIZE, parts, seed);
    places.truncate(most);
    let control = Control::default();
    let scan = Scan { places, chunk: 64 << 10, depth: 1, data: None, control: &control };
    let mut drive = VirtualQueue::new(2, 1, |request: &IoRequest, _| {
        let end = request.offset + u64::from(request.len);
        let fails = failing.iter().any(|bad| request.offset < bad.end && bad.start < end);
        if fails { Err(libc::EIO) } else { Ok(1_000) }
    });
    let outcome = scan.run(&mut drive).unwrap();
    outcome.timed.iter().any(|timed: &TimedRegion| timed.ns.is_none())
}

/// Pieces of the same length, one in each of `count` equal parts of the drive.
fn regions(share: f64, count: u64) -> Vec<Range<u64>> {
    let len = (SIZE as f64 * share / count as f64) as u64 / 4096 * 4096;
    let begin = |i: u64| SIZE / count * i + SIZE / count / 3 / 4096 * 4096;
    (0..count).map(|i| begin(i)..begin(i) + len).collect()
}

/// The bound is reached where each part fails by the same share, and exceeded by one region in one piece. Five standard
/// errors of the share of 2,000 seeds are allowed.
#[test]
fn stated_confidence_holds() {
    for (parts, most, share, count) in [
        (64, 64, 0.02, 64),
        (64, 64, 0.02, 1),
        (64, 64, 0.005, 1),
        // Ended by the time after some of the places.
        (64, 40, 0.02, 64),
        (64, 40, 0.04, 1),
        (64, 16, 0.1, 3),
    ] {
        let failing = regions(share, count);
        let seen = (0..SEEDS).filter(|&seed| is_seen(seed, parts, most, &failing)).count();
        let seen = seen as f64 / SEEDS as f64;
        let stated = chance_seen(share, most as u64);
        let error = 5.0 * (stated * (1.0 - stated) / SEEDS as f64).sqrt();
        assert!(seen >= stated - error, "{parts} {most} {share} {count}: {seen}, stated {stated}");
        // Not far too low either, where the bound is exact.
        let is_exact = count == parts;
        assert!(!is_exact || seen <= stated + error + 0.01, "{seen}, stated {stated}");
    }
}

/// A slow region of the size that is stated has two neighbouring places, wherever it begins.
#[test]
fn slow_region_as_large_as_stated_has_two_places() {
    for (parts, visited) in [(100, 100), (400, 400), (400, 200), (400, 50)] {
        let options = options(parts as u32);
        let (sample, size) = (options.sample.0, SIZE);
        let coverage = SpreadCoverage { parts, visited, sample, size, whole: size };
        let share = coverage.slow_region();
        assert!((0.0..0.5).contains(&share), "{parts} {visited}: {share}");
        let len = (share * SIZE as f64) as u64 + 4096;
        let mut missed = 0;
        for seed in 0..SEEDS {
            let begin = Draw::new(seed).below((SIZE - len) / 4096) * 4096;
            let mut places = places(&options, SIZE, parts, seed + 1);
            places.truncate(visited as usize);
            let inside = |place: &&ScanRegion| {
                begin <= place.offset && place.offset + place.len <= begin + len
            };
            missed += u64::from(places.iter().filter(inside).count() < 2);
        }
        let missed = missed as f64 / SEEDS as f64;
        assert!(missed <= 1.0 - CONFIDENCE + 0.01, "{parts} {visited} {share}: {missed} missed");
    }
}

#[test]
fn each_part_has_a_place_and_places_are_inside() {
    for (size, parts) in [(1 << 30, 64), (SIZE, 4000), (SIZE + 4096 * 7 + 512, 333), (1 << 20, 2)] {
        let options = options(parts as u32);
        let mut places = places(&options, size, parts, 5);
        assert!(parts < 8 || !places.is_sorted_by_key(|place| place.offset), "{size}");
        places.sort_by_key(|place| place.offset);
        assert_eq!(places.len() as u64, parts);
        for (part, place) in (0..).zip(&places) {
            let page = place.offset / PAGE;
            let begin = |part: u64| size / PAGE * part / parts;
            let is_last = place.offset + place.len + PAGE > size;
            assert!((begin(part)..begin(part + 1)).contains(&page) || is_last, "{part} {page}");
            assert!(place.offset % PAGE == 0 && place.offset + place.len <= size);
        }
    }
}

fn suite(time: f64) -> Suite {
    let mut suite = suite_of(TestKind::Surface);
    suite.surface.preset = SurfacePreset::Spread;
    (suite.surface.time, suite.surface.accesses) = (Secs(time), 30);
    suite
}

/// A thousandth of the drive fails: what the document states of the places is what the run could see.
#[test]
fn disk_is_read_within_the_time_and_says_what_it_saw() {
    let healthy = done(run_at(&run_target("sim:wd40efrx"), suite(60.0), 1, false));
    assert!(healthy.elapsed_s < 62.0, "{}", healthy.elapsed_s);
    let of = |key: &str| value(&healthy, &format!("surface.{key}")).unwrap();
    let places = of("spread.places");
    assert!(places > 300.0, "{places}");
    let stated = 100.0 * chance_seen(REGION, places as u64);
    assert!((of("spread.failing_seen_pct") - stated).abs() < 1e-9);
    assert!(
        (of("read.share_pct") - places * 8.0 * 1_048_576.0 * 100.0 / 4_000_787_030_016.0).abs()
            < 1e-6
    );
    assert_eq!((of("unreadable.stretches"), of("slow.stretches")), (0.0, 0.0));
    assert!(of("spread.slow_region_pct") > 100.0 * 2.0 / places);
}

#[test]
fn failing_and_slow_regions_are_seen() {
    let failing =
        run_at(&run_target("sim:pm871b-128?fault=failing-region"), suite(120.0), 1, false);
    assert!(has(&failing, FindingId::IoError), "{:?}", failing.findings);
    assert!(value(&failing, "surface.unreadable.stretches").unwrap() >= 1.0);
    let slow = done(run_at(&run_target("sim:wd40efrx?fault=slow-region"), suite(40.0), 1, false));
    assert!(has(&slow, FindingId::SlowRegion));
    assert!(value(&slow, "surface.slow.stretches").unwrap() >= 1.0);
    let share = value(&slow, "surface.slow.slow_bytes").unwrap() / 4_000_787_030_016.0;
    assert!((0.03..0.08).contains(&share), "{share}");
}
