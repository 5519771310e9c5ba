//! The curve of `surface` against those of GNOME Disks and of zcav with skipping, on random disks of which the rate
//! is known at each byte, each in the time that GNOME Disks takes.

use crate::testing::{is_thorough, points, suite_of, value};
use crate::workloads::testing::random_disks::{DiskTruth, RandomDisk, measured};
use drivescope_model::document::TestResult;
use drivescope_model::options::{Suite, SurfacePreset, TestKind};
use drivescope_model::units::{Bytes, Secs};
use drivescope_stats::summary;

/// Disks of `cargo test`, and of a full run.
const FEW: u64 = 6;
const ALL: u64 = 100;
/// Places at which curves are compared with the truth.
const PLACES: usize = 2000;
/// What zcav reads at a place by default: too few requests for a steady pace, so bytes over time.
const ZCAV_BLOCK: Bytes = Bytes::mib(100);
const ZCAV_REQUEST: Bytes = Bytes::mib(16);
/// Blocks from which the time of one is known.
const ZCAV_TRIAL: u32 = 8;

fn one_pass(preset: SurfacePreset) -> Suite {
    let mut suite = suite_of(TestKind::Surface);
    (suite.rounds, suite.surface.accesses, suite.surface.preset) = (1, 0, preset);
    suite
}

fn gnome_disks() -> Suite {
    let mut suite = one_pass(SurfacePreset::GnomeDisks);
    (suite.surface.samples, suite.surface.sample) = (100, Bytes::mib(10));
    suite
}

/// Blocks in order, all others skipped.
fn zcav(blocks: u32) -> Suite {
    let mut suite = one_pass(SurfacePreset::Sampled);
    (suite.surface.samples, suite.surface.sample) = (blocks, ZCAV_BLOCK);
    (suite.surface.lead_in, suite.surface.chunk) = (Bytes(0), ZCAV_REQUEST);
    suite
}

fn ours(time_s: f64) -> Suite {
    let mut suite = one_pass(SurfacePreset::Sampled);
    suite.surface.time = Secs(time_s);
    suite
}

/// Samples in order, each at its middle.
fn samples_of(result: &TestResult, sample: Bytes) -> Vec<(f64, f64)> {
    points(result, "surface.read.mb_s")
        .into_iter()
        .map(|(x, rate)| (x + sample.0 as f64 / 2.0, rate))
        .collect()
}

/// On a straight line between two points, level outside.
fn between(points: &[(f64, f64)], x: f64) -> f64 {
    let behind = points.partition_point(|(at, _)| *at <= x);
    match (behind.checked_sub(1).map(|before| points[before]), points.get(behind)) {
        (Some((x0, y0)), Some((x1, y1))) => y0 + (y1 - y0) * (x - x0) / (x1 - x0),
        (Some((_, y)), None) => y,
        (None, point) => point.unwrap().1,
    }
}

/// The rate of the zone that holds a byte, or of the samples around it where no zones were found.
fn zone_or_sample(result: &TestResult, x: f64) -> f64 {
    let zones = points(result, "surface.zones.mb_s");
    match zones.iter().rev().find(|(at, _)| *at <= x) {
        Some((_, rate)) => *rate,
        None => between(&samples_of(result, Bytes::mib(8)), x),
    }
}

/// Root mean square of the error, as a share of the rate.
fn rms(truth: &DiskTruth, curve: impl Fn(f64) -> f64) -> f64 {
    let error = |i: usize| {
        let share = (i as f64 + 0.5) / PLACES as f64;
        (curve(share * truth.capacity as f64) / truth.mb_s(share) - 1.0).powi(2)
    };
    ((0..PLACES).map(error).sum::<f64>() / PLACES as f64).sqrt()
}

/// Zones wider than `resolved` bytes in whose bytes the found rate is off by more than one per cent, by their width.
fn missed_zones(truth: &DiskTruth, ours: &TestResult, resolved: f64) -> Vec<f64> {
    let capacity = truth.capacity as f64;
    let ends = truth.zones.iter().skip(1).map(|zone| zone.0).chain([1.0]);
    let zones =
        truth.zones.iter().zip(ends).map(|((from, _), to)| (from * capacity, to * capacity));
    let is_missed = |(from, to): &(f64, f64)| {
        let middle = f64::midpoint(*from, *to);
        let rate = zone_or_sample(ours, middle);
        to - from > resolved && (rate / truth.mb_s(middle / capacity) - 1.0).abs() > 0.01
    };
    zones.filter(is_missed).map(|(from, to)| (to - from) / capacity).collect()
}

#[test]
fn surface_halves_the_error_in_equal_time() {
    let mut errors: [Vec<f64>; 3] = Default::default();
    let (mut borders, mut missed, mut widths) = (Vec::new(), Vec::new(), Vec::new());
    for seed in 1..=if is_thorough() { ALL } else { FEW } {
        let disk = RandomDisk::new(seed);
        let run = |suite: Suite| measured(&disk.toml, disk.options, suite, seed);
        let gnome = run(gnome_disks());
        let each_s = run(zcav(ZCAV_TRIAL)).elapsed_s / f64::from(ZCAV_TRIAL);
        let blocks = (gnome.elapsed_s / each_s).round().max(2.0);
        let (zcav, ours) = (run(zcav(blocks as u32)), run(ours(gnome.elapsed_s)));
        assert!(ours.elapsed_s < gnome.elapsed_s * 1.1, "{} {}", ours.elapsed_s, gnome.elapsed_s);
        let truth = &disk.truth;
        let of = [
            rms(truth, |x| zone_or_sample(&ours, x)),
            rms(truth, |x| between(&samples_of(&gnome, Bytes::mib(10)), x)),
            rms(truth, |x| between(&samples_of(&zcav, ZCAV_BLOCK), x)),
        ];
        println!(
            "disk {seed}: {:.1} s, {} zones, {} found; RMS error {}",
            gnome.elapsed_s,
            truth.zones.len(),
            value(&ours, "surface.zones.count").unwrap_or(0.0),
            of.map(|error| format!("{:.2} %", error * 100.0)).join(", ")
        );
        errors.iter_mut().zip(of).for_each(|(errors, of)| errors.push(of));
        if let Some(resolved) = value(&ours, "surface.zones.resolved_bytes") {
            missed.extend(missed_zones(truth, &ours, resolved));
            widths.push(resolved / truth.capacity as f64);
        }
        for (x, _) in points(&ours, "surface.zones.mb_s").iter().step_by(2).skip(1) {
            let share = x / truth.capacity as f64;
            let nearest = truth.zones[1..].iter().map(|(border, _)| (border - share).abs());
            borders.extend(nearest.reduce(f64::min));
        }
    }
    println!("resolved: {widths:?} of the drive");
    // Neighbours that differ by less than 0.5 % are one zone, however wide.
    assert!(!widths.is_empty() && missed.len() * 10 < widths.len(), "{missed:?}");
    println!("border: median {:.4} of the drive", summary::median(&borders).unwrap());
    let all_of = |errors: &[f64]| {
        (errors.iter().map(|error| error * error).sum::<f64>() / errors.len() as f64).sqrt()
    };
    let ours = &errors[0];
    for (name, theirs) in ["GNOME Disks", "zcav"].iter().zip(&errors[1..]) {
        let ratios: Vec<f64> = ours.iter().zip(theirs).map(|(mine, of)| mine / of).collect();
        let (median, all) = (summary::median(&ratios).unwrap(), all_of(ours) / all_of(theirs));
        println!("RMS error by that of {name}: median {median:.2}, of all disks {all:.2}");
        // Where GNOME Disks loses no turn at each sample, it is near the truth as well.
        assert!(median <= 0.6 && all <= 0.5, "{name}: {ratios:?}");
    }
}
