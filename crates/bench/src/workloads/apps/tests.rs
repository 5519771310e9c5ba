//! `apps` on simulated drives, in virtual time.

use crate::testing::{done, plan_of, run_at, run_on, run_target, skip_of, suite_of, value};
use drivescope_model::options::{AppsOptions, Suite, TestKind};
use drivescope_model::units::Secs;

fn suite(traces: &[&str]) -> Suite {
    let traces = traces.iter().map(|name| (*name).to_string()).collect();
    let apps = AppsOptions { traces, ..AppsOptions::default() };
    Suite { rounds: 1, apps, ..suite_of(TestKind::Apps) }
}

/// Run time is think time and waiting, and a disk makes its user wait longer than flash does.
#[test]
fn disk_keeps_applications_waiting_and_flash_hardly_does() {
    fn run(model: &str) -> (f64, f64) {
        let result = done(run_on(model, suite(&["word"])));
        let get = |quantity: &str| value(&result, &format!("apps.word.{quantity}")).unwrap();
        let sum = get("think_s") + get("busy_s");
        assert!((get("run_s") / sum - 1.0).abs() < 0.002, "{} and {sum}", get("run_s"));
        assert_eq!(get("lag_max_us"), 0.0, "virtual time keeps every time");
        let phase = &result.phases[0];
        assert_eq!(
            (phase.ops, phase.bytes),
            (5_407, 107_000_000 / 4096 * 4096 + 95_000_000 / 4096 * 4096)
        );
        (get("think_s"), get("busy_s"))
    }
    let (disk, flash) = (run("sim:hgst-7k1000"), run("sim:toshiba-xg6-1tb"));
    assert_eq!(disk.0, flash.0);
    assert!(disk.1 > 10.0 * flash.1, "{disk:?} and {flash:?}");
}

/// What another drive would need is what a run on it needs.
#[test]
fn a_prediction_is_the_run_on_that_drive() {
    let mut predicting = suite(&["excel", "powerpoint"]);
    predicting.apps.predict = Some("samsung-860evo-1tb".to_string());
    let there = run_on("sim:samsung-860evo-1tb", suite(&["excel", "powerpoint"]));
    let here = run_on("sim:wd40efrx", predicting);
    for name in ["excel", "powerpoint"] {
        let told = value(&here, &format!("apps.{name}.predicted_s")).unwrap();
        let measured = value(&there, &format!("apps.{name}.run_s")).unwrap();
        assert!((told / measured - 1.0).abs() < 1e-3, "{name}: {told} and {measured}");
        assert!(value(&here, &format!("apps.{name}.run_s")).unwrap() > told + 5.0);
    }
}

/// A score needs all traces of its set, with their think time.
#[test]
fn the_score_is_of_whole_sets_only() {
    let target = run_target("sim:samsung-870evo-1tb");
    let whole = run_at(&target, suite(&["synthetic"]), 1, false);
    let score = value(&whole, "apps.synthetic.score").unwrap();
    assert!((80.0..100.0).contains(&score), "{score}");
    assert!(value(&whole, "apps.recorded.score").is_none());
    let part = run_at(&target, suite(&["word", "excel"]), 1, false);
    assert!(value(&part, "apps.synthetic.score").is_none());
    let mut cut = suite(&["synthetic"]);
    cut.apps.think_max = Some(Secs(0.0));
    let cut = run_at(&target, cut, 1, false);
    assert!(value(&cut, "apps.synthetic.score").is_none());
    assert_eq!(value(&cut, "apps.word.think_s"), Some(0.0));
}

#[test]
fn plan_reports_traces_that_cannot_be_replayed() {
    let target = run_target("sim:wd40efrx");
    let planned = plan_of(&target, suite(&["word"]));
    assert!((28.0..120.0).contains(&planned.cost.seconds), "{}", planned.cost.seconds);
    let mut suite = suite(&[]);
    suite.apps.file = Some("/nonexistent/day.trace".to_string());
    let reason = skip_of(&target, suite).unwrap();
    assert!(reason.contains("/nonexistent/day.trace cannot be read"), "{reason}");
}
