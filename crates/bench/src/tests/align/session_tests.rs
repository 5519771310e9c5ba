//! The whole test on simulated drives whose sectors are known.

use super::site::Site;
use super::verdict::{Conclusion, conclude};
use super::*;
use crate::planner;
use crate::session::HostFacts;
use crate::suites::{self, Overrides};
use drivescope_drive::{Roots, Target};
use drivescope_model::document::{Metric, TestResult, TestStatus};
use drivescope_model::findings::FindingId;
use drivescope_model::host::Calibration;
use drivescope_model::plan::{Engine, Plan};
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::mpsc::channel;

/// A target with the plan of this test, and options as `--set` takes them.
fn prepared(target: &str, seed: u64, settings: &[&str]) -> (Target, Plan) {
    let target = Target::simulate(target, &Roots::host()).unwrap();
    let overrides = Overrides {
        tests: vec!["align".to_string()],
        settings: settings.iter().map(|s| (*s).to_string()).collect(),
        ..Overrides::default()
    };
    let suite = suites::adapt(suites::find("quick", None).unwrap(), &overrides).unwrap();
    let plan = planner::plan(suite, seed, Engine::Sim, &target, false).unwrap();
    (target, plan)
}

fn with_session<T>(target: &Target, plan: &Plan, use_it: impl FnOnce(&mut Session<'_>) -> T) -> T {
    let calibration = Calibration::default();
    let stop = Arc::new(AtomicBool::new(false));
    let (events, _listener) = channel();
    let facts = HostFacts::default();
    let mut session = Session::new(plan, target, &calibration, facts, events, stop);
    use_it(&mut session)
}

fn run(target: &str, seed: u64, settings: &[&str]) -> TestResult {
    let (target, plan) = prepared(target, seed, settings);
    let result = with_session(&target, &plan, |session| session.run_test(&plan.tests[0]));
    assert_eq!(result.status, TestStatus::Done, "{:?}", result.reason);
    result
}

fn metric<'r>(result: &'r TestResult, key: &str) -> &'r Metric {
    let found = result.metrics.iter().find(|metric| metric.key == format!("align.{key}"));
    found.unwrap_or_else(|| panic!("no {key}: {:?}", result.reason))
}

fn has(result: &TestResult, id: FindingId) -> bool {
    result.findings.iter().any(|finding| finding.id == id)
}

/// What the fast method concludes of a part of the drive, with originals kept or not; and the time it took.
fn on_site(target: &str, seed: u64, span: Range<u64>, kept: bool) -> (Conclusion, f64) {
    let (target, plan) = prepared(target, seed, &[]);
    with_session(&target, &plan, |session| {
        session.prepare_device().unwrap();
        let mut record = TestRecord::new(TestKind::Align);
        let mut site = Site::new(span, 512, kept);
        let seen = fast::run(session, &mut record, &mut site).unwrap();
        (conclude(&seen, 512), session.elapsed_s())
    })
}

/// Sector and penalty of the drives of seed 004. A misaligned synced write costs one revolution more
/// than an aligned one: the sectors are read, and come by again a revolution later.
#[test]
fn the_sector_of_every_drive_is_found_in_every_seed() {
    for (model, sector, revolution_ms, extra_revolutions) in [
        ("wd20ears", 4096.0, 11.11, 1.0),
        ("wd10ears", 4096.0, 11.11, 1.0),
        ("wd15earx", 4096.0, 11.11, 1.0),
        ("hds722020ala330", 512.0, 8.33, 0.0),
        ("wd4000aaks", 512.0, 8.33, 0.0),
        ("wd20eads", 512.0, 11.11, 0.0),
    ] {
        for seed in 1..=20 {
            let result = run(&format!("sim:{model}?seed={seed}"), seed, &[]);
            let told = format!("{model}, seed {seed}: {:?}", result.reason);
            assert_eq!(metric(&result, "device.sector_bytes").value, sector, "{told}");
            assert_eq!(metric(&result, "device.shift_bytes").value, 0.0, "{told}");
            let found = metric(&result, "device.penalty_ratio");
            assert!(found.low <= found.value && found.value <= found.high, "{told}: {found:?}");
            assert!(result.elapsed_s < 15.0, "{told}: {} s", result.elapsed_s);
            let lies = model.starts_with("wd20ears") || model.starts_with("wd10ears");
            assert_eq!(has(&result, FindingId::SectorLie), lies, "{told}");
            assert!(!has(&result, FindingId::FewRounds), "{told}");
            let ms = |offset: u64| {
                metric(&result, &format!("write4k_at_{offset}.lat_mean_us")).value / 1e3
            };
            let others = (1..8).map(|i| ms(i * 512)).sum::<f64>() / 7.0;
            let more = (others - ms(0)) / revolution_ms;
            assert!((more - extra_revolutions).abs() < 0.25, "{told}: {more} revolutions");
            eprintln!(
                "{model} {seed} {:.1} s {more:.2} {:.2} {:.2} {:.2}",
                result.elapsed_s, found.value, found.low, found.high
            );
        }
    }
}
