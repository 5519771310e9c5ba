//! Where `fill` writes, and what it finds on simulated drives whose truth is known.

use super::*;
use crate::testing::{points, run_on, suite_of, value};
use drivescope_drive::simulated::spec::model_named;
use drivescope_model::document::{TestResult, TestStatus};
use drivescope_sim::hdd::{HardDisk, ZoneRate};

fn fill(target: &str, mode: FillMode) -> TestResult {
    let mut suite = suite_of(TestKind::Fill);
    suite.fill.mode = mode;
    let result = run_on(target, suite, 1, false);
    assert_eq!(result.status, TestStatus::Done, "{:?}", result.reason);
    result
}

/// Rate of a staircase at a position.
fn rate_at(curve: &[(f64, f64)], x: f64) -> f64 {
    curve[curve.partition_point(|(from, _)| *from <= x) - 1].1
}

/// Root mean square of the relative difference of two curves over the whole drive.
fn rms(a: &[(f64, f64)], b: &[(f64, f64)]) -> f64 {
    let end = a[a.len() - 1].0;
    let differences = (0..5000).map(|i| {
        let x = end * (f64::from(i) + 0.5) / 5000.0;
        (rate_at(a, x) / rate_at(b, x) - 1.0).powi(2)
    });
    (differences.sum::<f64>() / 5000.0).sqrt()
}

/// Position of every step between zones whose rates differ by more than the least drop that counts.
fn true_edges(zones: &[ZoneRate]) -> Vec<f64> {
    let drops = |pair: &&[ZoneRate]| pair[1].rate_mb_s < pair[0].rate_mb_s * 0.995;
    zones.windows(2).filter(drops).map(|pair| pair[1].offset_bytes as f64).collect()
}

/// Every edge has one of the others within `within`.
fn all_near(edges: &[f64], others: &[f64], within: f64) -> bool {
    edges.iter().all(|edge| others.iter().any(|other| (edge - other).abs() <= within))
}

fn check_disk(model: &str) {
    let target = format!("sim:{model}");
    let (full, sampled) = (fill(&target, FillMode::Full), fill(&target, FillMode::Sampled));
    let params = model_named(model).unwrap().hdd.unwrap();
    let disk = HardDisk::new(&params, 1).unwrap();
    let capacity = params.capacity_bytes as f64;
    let truth = true_edges(&disk.zones());
    for (result, mode) in [(&full, "full"), (&sampled, "sampled")] {
        let zones = points(result, "fill.zones.mb_s");
        let found: Vec<f64> = zones[1..zones.len() - 1].iter().map(|zone| zone.0).collect();
        let near = all_near(&truth, &found, capacity * 0.02)
            && all_near(&found, &truth, capacity * 0.02);
        assert!(near, "{model} {mode}: {found:?} for {truth:?}");
    }
    let zones = points(&full, "fill.zones.mb_s");
    assert_eq!(zones.len() - 2, truth.len(), "{model}: {zones:?}");
    let time = |result| value(result, "fill.whole.time_s").unwrap();
    assert!((time(&full) / disk.full_pass_s() - 1.0).abs() < 0.005, "{model}: {}", time(&full));
    assert!((time(&sampled) / time(&full) - 1.0).abs() < 0.01, "{model}: {}", time(&sampled));
    let written = |result| value(result, "fill.write.written_bytes").unwrap();
    assert!((capacity - written(&full)).abs() < 4096.0);
    assert!(written(&sampled) <= capacity * 0.005);
    let difference = rms(&points(&sampled, "fill.write.mb_s"), &points(&full, "fill.write.mb_s"));
    assert!(difference < 0.02, "{model}: {difference}");
    assert_eq!(value(&full, "fill.knee.knee_bytes"), None);
}

#[test]
fn zones_and_times_of_disks_are_found() {
    for model in ["wd20ears", "wd4000aaks", "wd40efrx", "usb-16tb"] {
        check_disk(model);
    }
}
