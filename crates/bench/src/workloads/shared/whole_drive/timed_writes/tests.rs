//! Reported times of a stream of writes, on disks whose cache holds a good part of it.

use crate::testing::{points, run_on, suite_of, value};
use drivescope_drive::simulated::spec::model_named;
use drivescope_model::document::TestResult;
use drivescope_model::options::{FillMode, TestKind, VerifyMode};
use drivescope_model::units::Bytes;
use drivescope_sim::hdd::HardDisk;

/// The rate of the outermost zone of a disk.
fn fastest(model: &str) -> f64 {
    let params = model_named(model).unwrap().hdd.unwrap();
    let zones = HardDisk::new(&params, 1).unwrap().zones();
    zones.iter().map(|zone| zone.rate_mb_s).fold(0.0, f64::max)
}

fn written(test: TestKind, model: &str, mib: u64) -> TestResult {
    let mut suite = suite_of(test);
    suite.span = Bytes(mib << 20);
    (suite.fill.mode, suite.verify.mode) = (FillMode::Full, VerifyMode::Full);
    run_on(format!("sim:{model}"), suite)
}

/// Much of it fits into the cache: without the flush the disk would seem to write faster than it turns.
#[test]
fn data_still_in_the_cache_are_not_written() {
    for model in ["wd20ears", "hds722020ala330"] {
        for (test, rate) in
            [(TestKind::Fill, "fill.write.mean_mb_s"), (TestKind::Verify, "verify.write.mb_s")]
        {
            let result = written(test, model, 32);
            let (rate, fastest) = (value(&result, rate).unwrap(), fastest(model));
            assert!(
                rate < fastest * 1.02 && rate > fastest * 0.8,
                "{model} {test}: {rate} of {fastest}"
            );
        }
    }
}

#[test]
fn whole_fill_takes_its_pieces_and_the_flush() {
    let result = written(TestKind::Fill, "wd20ears", 1024);
    let curve = points(&result, "fill.write.mb_s");
    let pieces = curve.windows(2).map(|pair| (pair[1].0 - pair[0].0) / pair[0].1 / 1e6);
    let [time, flush] =
        ["time_s", "flush_s"].map(|key| value(&result, &format!("fill.whole.{key}")).unwrap());
    assert!(flush > 0.03, "{flush}");
    assert!((pieces.sum::<f64>() + flush - time).abs() < 1e-6 * time, "{time}");
}

/// "A whole fill took 12 s" is not about the drive then.
#[test]
fn partial_fill_says_so() {
    fn of(mode: FillMode, span: u64) -> Option<String> {
        let mut suite = suite_of(TestKind::Fill);
        (suite.fill.mode, suite.span) = (mode, Bytes(span));
        run_on("sim:wd4000aaks", suite).reason
    }
    for (mode, span, told) in [
        (FillMode::Full, 32 << 20, "the first 33.6 MB of 400 GB"),
        (FillMode::Sampled, 200_000_000_000, "the first 200 GB of 400 GB"),
    ] {
        assert!(of(mode, span).is_some_and(|reason| reason.contains(told)), "{mode:?}");
        assert_eq!(of(mode, 0), None, "{mode:?}");
    }
}
