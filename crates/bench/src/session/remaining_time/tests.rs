//! The remaining time of whole fills and verifies as shown, compared with the real one.

use super::*;
use crate::testing::{every, points, run_on, run_target, suite_of};
use drivescope_model::options::{FillMode, TestKind};

const NS: f64 = 1e9;

fn running(passes: &[(u64, u64)], disk: Option<u64>, planned_s: f64) -> PlannedBytes {
    let passes = passes.iter().map(|&(from, to)| from..to).collect();
    PlannedBytes {
        passes,
        disk,
        planned_s,
        begun_ns: 0,
        before: 0,
        last: (0, 0.0),
        moved_ns: 0,
        share_per_s: None,
    }
}

/// By how much the predicted remaining time, where `at` of the bytes are through, differs from the real one, as a
/// ratio. `steps`: seconds and bytes.
fn left_ratios(mut running: PlannedBytes, steps: &[(f64, u64)], at: &[f64]) -> Vec<f64> {
    let all_bytes: u64 = steps.iter().map(|step| step.1).sum();
    let all_s: f64 = steps.iter().map(|step| step.0).sum();
    let (mut seconds, mut bytes, mut ratios) = (0.0, 0, Vec::new());
    for (took, moved) in steps {
        // The bar is drawn several times a second.
        for _ in 0..10 {
            seconds += took / 10.0;
            bytes += moved / 10;
            let (_, left_s) = running.look((seconds * NS) as u64, bytes);
            let wanted = at.get(ratios.len()).map(|share| (share * all_bytes as f64) as u64);
            if wanted.is_some_and(|wanted| bytes >= wanted) {
                ratios.push(left_s.unwrap() / (all_s - seconds));
            }
        }
    }
    ratios
}

fn steps(model: &str) -> Vec<(f64, u64)> {
    let mut suite = suite_of(TestKind::Fill);
    suite.fill.mode = FillMode::Full;
    let result = run_on(format!("sim:{model}"), suite);
    let curve = points(&result, "fill.write.mb_s");
    let step = |pair: &[(f64, f64)]| {
        let bytes = pair[1].0 - pair[0].0;
        (bytes / pair[0].1 / 1e6, bytes as u64)
    };
    curve.windows(2).map(step).collect()
}

fn capacity(model: &str) -> u64 {
    run_target(format!("sim:{model}")).info().size_bytes
}

/// At the pace of its first tenth a disk would seem to be done in two thirds of the time.
#[test]
fn remaining_time_of_a_disk_includes_its_slowdown() {
    for model in every(3, &["wd20ears", "wd4000aaks", "wd40efrx", "hgst-7k1000", "usb-16tb"]) {
        let size = capacity(model);
        let ratios =
            left_ratios(running(&[(0, size)], Some(size), 1.0), &steps(model), &[0.1, 0.5, 0.9]);
        assert!(ratios.iter().all(|ratio| (0.85..1.15).contains(ratio)), "{model}: {ratios:?}");
    }
}

#[test]
fn verify_begins_twice_at_the_fast_end() {
    let size = capacity("wd20ears");
    let twice = [steps("wd20ears"), steps("wd20ears")].concat();
    let running = running(&[(0, size), (0, size)], Some(size), 1.0);
    let ratios = left_ratios(running, &twice, &[0.1, 0.45, 0.6, 0.9]);
    assert!(ratios.iter().all(|ratio| (0.85..1.15).contains(ratio)), "{ratios:?}");
}

#[test]
fn end_of_a_fast_cache_is_soon_forgotten() {
    for model in every(2, &["pm871b-128", "kioxia-bg4-128", "samsung-860evo-250"]) {
        let (size, steps) = (capacity(model), steps(model));
        let ratios = left_ratios(running(&[(0, size)], None, 1.0), &steps, &[0.15, 0.5, 0.9]);
        assert!(ratios.iter().all(|ratio| (0.75..1.35).contains(ratio)), "{model}: {ratios:?}");
        // While the cache takes everything the plan's time counts.
        let all_s: f64 = steps.iter().map(|step| step.0).sum();
        let ratios = left_ratios(running(&[(0, size)], None, all_s), &steps, &[0.01, 0.08]);
        assert!(ratios.iter().all(|ratio| (0.8..1.35).contains(ratio)), "{model}: {ratios:?}");
    }
}

/// How slow a stick is shows only when it is written.
#[test]
fn much_slower_drive_is_not_almost_done() {
    let size = 128_000_000_000;
    let steps = vec![(12.8, size / 1000); 1000];
    let ratios = left_ratios(running(&[(0, size)], None, 900.0), &steps, &[0.01, 0.1, 0.5, 0.99]);
    assert!(ratios.iter().all(|ratio| (0.97..1.03).contains(ratio)), "{ratios:?}");
}

/// Earlier phases count, and an inner part of a disk goes at its own pace.
#[test]
fn shares_are_of_time() {
    let mut half = running(&[(0, 50), (50, 100)], Some(100), 1.0);
    assert_eq!((half.share(0), half.share(100)), (0.0, 1.0));
    assert!((half.share(50) - 0.418_86).abs() < 1e-5, "{}", half.share(50));
    half.before = 50;
    let (done, left_s) = half.look(5_000_000_000, 0);
    assert!((left_s.unwrap() / 5.0 - (1.0 - done) / done).abs() < 1e-9);
    assert_eq!(running(&[(10, 30), (0, 60)], None, 1.0).share(20), 0.25);
    assert_eq!(running(&[], None, 1.0).share(9), 1.0);
}

/// A dying drive is read again for hours, while nearly all of it is done.
#[test]
fn remaining_time_is_unknown_without_progress() {
    fn left(running: &mut PlannedBytes, second: u64, bytes: u64) -> Option<f64> {
        running.look(second * 1_000_000_000, bytes).1
    }
    let mut running = running(&[(0, 1000)], None, 100.0);
    assert!(left(&mut running, 99, 999).is_some());
    assert!(left(&mut running, 150, 999).is_some());
    assert_eq!(left(&mut running, 160, 999), None);
    assert!(left(&mut running, 170, 1000).is_some());
}
