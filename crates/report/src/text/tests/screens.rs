//! Whole screens as terminals of usual widths show them.

use super::{COLOUR, without_colour};
use crate::terminal::Style;
use crate::testing::{hard_disk, metric};
use crate::text;
use crate::verdict::judge;
use crate::width;
use drivescope_model::{Run, TestStatus};

/// A hard disk, with synced writes.
fn run() -> Run {
    let mut run = hard_disk();
    for (quantity, value) in
        [("iops", 61.2), ("mb_s", 0.25), ("lat_p50_us", 16_100.0), ("lat_p99_us", 31_000.0)]
    {
        let key = format!("transfer.rnd4k_q1t1.sync.{quantity}");
        run.tests[0].metrics.push(metric(&key, &[value, value * 0.9, value * 1.1]));
    }
    run.verdict = judge(&run);
    run
}

/// The run after its first cells: one write cell has rounds, but not all.
fn begun() -> Run {
    let mut run = run();
    run.tests.truncate(1);
    run.status = TestStatus::Interrupted;
    for metric in &mut run.tests[0].metrics {
        metric.rounds.truncate(1);
        if metric.key.contains("rnd4k") && !metric.key.contains(".read.") {
            metric.value = f64::NAN;
        }
    }
    run
}

#[track_caller]
fn check(name: &str, screen: impl Fn(Style) -> String) {
    for columns in [60, 80, 120, 160] {
        let text = without_colour(&screen(COLOUR.within(columns)));
        assert!(text.lines().all(|line| width(line) <= columns), "{columns}:\n{text}");
        insta::assert_snapshot!(format!("{name}_{columns}"), text);
    }
}

#[test]
fn results_take_the_width_of_the_terminal() {
    check("results", |style| text::results(&run(), style));
}

#[test]
fn unfinished_run_shows_its_result_table() {
    let progress = "transfer  ━━━         23 s left  171 MB/s  163 IOPS  seq1m_q8t1.write  1/6";
    check("live", |style| text::live(&begun(), progress, style));
}
