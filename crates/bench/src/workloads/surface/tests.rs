//! Where `surface` reads, and what it makes of it.

mod instruments;

use super::rates::StepPace;
use super::*;
use crate::testing::{points, run_on, suite_of, value};
use drivescope_model::options::{NamedStart, PartStart};

fn options(preset: SurfacePreset) -> SurfaceOptions {
    SurfaceOptions { preset, samples: 100, ..SurfaceOptions::default() }
}

#[test]
fn samples_span_target_and_even_rounds_reverse() {
    let size = 100 << 30;
    let first = places(&options(SurfacePreset::Sampled), size, 1, 1);
    let mut second = places(&options(SurfacePreset::Sampled), size, 1, 2);
    second.reverse();
    assert_eq!(first, second);
    assert_ne!(first, places(&options(SurfacePreset::Sampled), size, 1, 3));
    let mut offsets: Vec<u64> = first.iter().map(|place| place.offset).collect();
    assert!(!offsets.is_sorted());
    offsets.sort_unstable();
    assert_eq!(offsets[0], 2 << 20, "the first bytes are its lead-in");
    assert_eq!(offsets[99], size - (8 << 20));
    assert!(first.iter().all(|p| p.offset % 4096 == 0 && p.offset + p.len <= size));
    assert!(first.iter().all(|p| p.lead_in_len == 2 << 20));
}

#[test]
fn written_samples_are_long_within_one_percent() {
    let mine = options(SurfacePreset::Sampled);
    for (size, sample) in [
        (1 << 40, 256 << 20),
        (500_000_000_000, 156_250_000 / 4096 * 4096),
        (16_000_000_000, 8 << 20), // no shorter than what is read
    ] {
        let placed = writes::placed(&mine, size);
        assert_eq!((placed.samples, placed.sample.0), (32, sample), "{size}");
        let places = places(&placed, size, 1, 1);
        assert!(places.iter().all(|place| place.offset + place.len <= size));
        assert!(places.iter().any(|place| place.offset == 0));
    }
    // Known instruments keep their own.
    for preset in [SurfacePreset::GnomeDisks, SurfacePreset::Zcav] {
        assert_eq!(writes::placed(&options(preset), 1 << 40), options(preset));
    }
}

#[test]
fn zcav_reads_every_byte_once() {
    let size = (1 << 30) + 5 * 4096 + 512;
    let places = places(&options(SurfacePreset::Zcav), size, 1, 1);
    let total: u64 = places.iter().map(|place| place.len).sum();
    assert_eq!(total, (1 << 30) + 5 * 4096);
    assert!(places.windows(2).all(|p| p[0].offset + p[0].len == p[1].offset));
}

#[test]
fn gnome_reads_a_page_and_goes_back() {
    let options = SurfaceOptions { sample: Bytes::mib(10), ..options(SurfacePreset::GnomeDisks) };
    let places = places(&options, 100 << 30, 1, 1);
    assert_eq!(places.len(), 100);
    assert!(places.iter().all(|p| p.lead_in_from == p.offset && p.lead_in_len == 4096));
    assert!(places.windows(2).all(|p| p[0].offset < p[1].offset));
}

#[test]
fn mean_is_bytes_over_time_curve_is_median() {
    fn timed(offset: u64, ns: u64) -> TimedRegion {
        TimedRegion::new(offset, 1_000_000, Some(ns))
    }
    fn round(ns: u64) -> Vec<TimedRegion> {
        vec![timed(0, 5_000_000), timed(50_000_000, ns)]
    }
    let mut record = TestRecord::new(TestKind::Surface);
    let rounds = [round(10_000_000), round(20_000_000), round(40_000_000)];
    let pace = StepPace::of(&rounds);
    rates::report(&mut record, "read", &rounds, &rates::medians(&rounds, pace), pace, 100_000_000);
    let result = record.finish(3);
    let value = |key: &str| value(&result, key).unwrap();
    // Second round: 2 MB in 25 ms is 80 MB/s, while the mean of 200 and 50 MB/s is 125.
    assert_eq!(value("surface.read.mean_mb_s"), 80.0);
    assert_eq!(value("surface.read.sample_mean_mb_s"), 125.0);
    assert_eq!(value("surface.read.max_mb_s"), 200.0);
    assert_eq!(result.series[0].x, [0.0, 50_000_000.0]);
    assert_eq!(result.series[0].y, [200.0, 50.0]);
}

#[test]
fn distances_are_from_the_access_before() {
    fn timed(offset: u64, ns: Option<u64>) -> TimedRegion {
        TimedRegion::new(offset, 4096, ns)
    }
    let mut accesses = AccessScatter::default();
    accesses.add(&[timed(0, Some(1)), timed(50, Some(2_000_000)), timed(25, None)], 100);
    assert_eq!((accesses.distance, accesses.ms), (vec![0.5], vec![2.0]));
    // The first has a place, though nothing before it; one that failed has neither.
    assert_eq!((accesses.places, accesses.place_ms), (vec![0.0, 50.0], vec![1e-6, 2.0]));
}

#[test]
fn part_at_the_end_has_the_end_rate() {
    let suite = || {
        let mut suite = suite_of(TestKind::Surface);
        (suite.rounds, suite.surface.samples) = (1, 64);
        suite.surface.accesses = 100;
        suite
    };
    let part = |offset: PartStart| {
        let suite = Suite { span: Bytes::gib(8), offset: Some(offset), ..suite() };
        let result = run_on("sim:wd40efrx", suite);
        let x: Vec<f64> =
            points(&result, "surface.read.mb_s").into_iter().map(|(x, _)| x).collect();
        assert!(x.iter().all(|x| (0.0..8.0 * 1_073_741_824.0).contains(x)), "{x:?}");
        value(&result, "surface.read.mean_mb_s").unwrap()
    };
    let whole = run_on("sim:wd40efrx", suite());
    let of_whole = |key: &str| value(&whole, &format!("surface.read.{key}_mb_s")).unwrap();
    let (first, last) = (part(PartStart::At(Bytes(0))), part(PartStart::Named(NamedStart::End)));
    assert!((first / of_whole("max") - 1.0).abs() < 0.02, "{first} {}", of_whole("max"));
    assert!((last / of_whole("min") - 1.0).abs() < 0.02, "{last} {}", of_whole("min"));
}
