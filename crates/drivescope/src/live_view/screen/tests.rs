//! The picture of a run in progress, at two sizes.

use super::*;
use drivescope_model::document::{TestResult, TestStatus};
use drivescope_model::options::TestKind;
use ratatui::Terminal;
use ratatui::backend::TestBackend;

/// A stored example: the run without results, and its results.
fn example() -> (LiveRun, Vec<TestResult>) {
    let text = include_str!("../../../../../docs/examples/run.json");
    let mut run: Run = serde_json::from_str(text).unwrap();
    let results = std::mem::take(&mut run.tests);
    run.findings.clear();
    (LiveRun::new(run, true), results)
}

fn so_far(result: &TestResult, cell: &str) -> TestResult {
    let mut part = TestResult::empty(result.test, TestStatus::Done, None);
    let key = format!("{}.{cell}.", result.test);
    let metrics = result.metrics.iter().filter(|metric| metric.key.starts_with(&key));
    part.metrics = metrics.cloned().collect();
    part.phases = result.phases.iter().filter(|phase| phase.cell == cell).cloned().collect();
    part.findings = result.findings.clone();
    part
}

fn in_progress() -> Screen {
    let (run, results) = example();
    let mut screen = Screen::new(run);
    let first = &results[0];
    screen.hear(Event::TestStarted { test: first.test, seconds: 40.0 });
    let measured = first.phases[0].cell.clone();
    screen.hear(Event::RoundFinished(Box::new(so_far(first, &measured))));
    let label = "seq1m_q8t1.read".to_string();
    screen.hear(Event::PhaseStarted { label, round: 2, rounds: 6 });
    for i in 0..30 {
        let iops = 160.0 + 20.0 * (f64::from(i) / 4.0).sin();
        screen.hear(Event::Progress {
            done: 0.4,
            // Who knows how long it takes has a clock, which stands in no picture.
            left_s: None,
            mb_s: iops * 1.048576,
            iops,
        });
    }
    screen
}

fn picture(screen: &Screen, columns: u16, rows: u16) -> String {
    let mut terminal = Terminal::new(TestBackend::new(columns, rows)).unwrap();
    terminal.draw(|frame| screen.draw(frame)).unwrap();
    terminal.backend().to_string()
}

#[test]
fn a_run_in_progress_at_80_columns() {
    insta::assert_snapshot!(picture(&in_progress(), 80, 24));
}

#[test]
fn a_run_in_progress_at_120_columns() {
    insta::assert_snapshot!(picture(&in_progress(), 120, 40));
}

#[test]
fn running_tests_table_stays_visible() {
    let (run, results) = example();
    let mut screen = Screen::new(run);
    let label = results[1].phases[0].cell.clone();
    for result in &results[..2] {
        screen.hear(Event::TestStarted { test: result.test, seconds: 9.0 });
        screen.hear(Event::TestFinished(Box::new(result.clone())));
    }
    screen.hear(Event::PhaseStarted { label, round: 1, rounds: 3 });
    for rows in [16, 20, 24, 40] {
        let shown = picture(&screen, 80, rows);
        assert!(shown.lines().any(|line| line.starts_with("\"▸ ")), "{rows}: {shown}");
    }
}

/// Rounds that follow may show that an early finding was chance.
#[test]
fn finding_that_later_rounds_refute_goes() {
    let (run, results) = example();
    let mut screen = Screen::new(run);
    let cell = results[0].phases[0].cell.clone();
    let part = so_far(&results[0], &cell);
    assert!(!part.findings.is_empty());
    let refuted = TestResult { findings: Vec::new(), ..part.clone() };
    screen.hear(Event::RoundFinished(Box::new(part)));
    assert!(!screen.findings(80).is_empty());
    screen.hear(Event::RoundFinished(Box::new(refuted)));
    assert!(screen.findings(80).is_empty());
}

#[test]
fn no_terminal_is_too_small() {
    let screen = in_progress();
    for (columns, rows) in [(1, 1), (20, 3), (40, 10), (500, 200)] {
        picture(&screen, columns, rows);
    }
}

#[test]
fn key_works_until_the_next_test() {
    fn keys(screen: &Screen) -> String {
        picture(screen, 80, 24).lines().last().unwrap().to_string()
    }
    let mut screen = in_progress();
    assert!(keys(&screen).contains("p pause"));
    screen.say("skipping this test");
    assert!(keys(&screen).contains("skipping this test"));
    assert!(picture(&screen, 80, 24).contains("round 2 of 6"));
    screen.hear(Event::TestStarted { test: TestKind::Latency, seconds: 9.0 });
    assert!(keys(&screen).contains("p pause"));
    assert!(!picture(&screen, 80, 24).contains("round 2 of 6"));
    screen.pause(true);
    screen.hear(Event::TestStarted { test: TestKind::Surface, seconds: 9.0 });
    assert!(keys(&screen).contains("p continues"), "it still pauses");
}

#[test]
fn rows_are_those_of_their_phases() {
    assert!(is_row_of("rnd4k_q1t1", "rnd4k_q1t1.read"));
    assert!(is_row_of("rnd4k_q1t1.sync", "rnd4k_q1t1.sync"));
    assert!(!is_row_of("rnd4k_q1t1", "rnd4k_q1t1.sync"));
    assert!(!is_row_of("rnd4k_q1t1", "rnd4k_q1t16.read"));
    assert!(!is_row_of("", ""));
}
