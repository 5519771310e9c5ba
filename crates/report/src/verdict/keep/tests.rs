//! Decisions of documents that the other tests cannot measure: what real drives report, and runs that ended early.

use super::*;
use crate::export::markdown::run_markdown;
use crate::page::page;
use crate::terminal::Style;
use crate::testing::{hard_disk, measured, must_fit};
use crate::text::results;
use drivescope_model::decision::PartOutcome;
use drivescope_model::document::Series;
use drivescope_model::health::SelfTest;

/// A check of a healthy disk: everything that can be tested by reading was.
fn checked() -> Run {
    let mut run = hard_disk();
    run.plan.suite = Suite {
        name: SUITE.to_string(),
        tests: vec![TestKind::SelfTest, TestKind::Surface],
        ..Suite::default()
    };
    run.target.path = "/dev/sda".to_string();
    run.findings.clear();
    let read = [("read.share_pct", 100.0), ("read.start_mb_s", 181.0), ("read.end_mb_s", 84.0)];
    let mut self_test = measured(TestKind::SelfTest, &[]);
    self_test.self_test = Some(ended("Completed without error", Some(true)));
    run.tests = vec![self_test, measured(TestKind::Surface, &read)];
    run
}

fn ended(result: &str, passed: Option<bool>) -> SelfTest {
    SelfTest {
        kind: "Short offline".to_string(),
        result: result.to_string(),
        passed,
        power_on_hours: None,
        first_bad_sector: None,
    }
}

fn with_health(change: impl FnOnce(&mut Health)) -> Run {
    let mut run = checked();
    change(&mut run.drive.as_mut().unwrap().health);
    run
}

#[track_caller]
fn assert_decided(run: &Run, advice: Advice, because: &str) {
    let decision = decide(run).unwrap();
    let reasons: Vec<&str> = decision.reasons.iter().map(|it| it.because.as_str()).collect();
    assert_eq!(decision.advice, advice, "{reasons:?}");
    let expected = decision.reasons.first().map_or("", |it| it.because.as_str());
    assert!(expected.contains(because), "{reasons:?}");
}

#[test]
fn healthy_disk_is_kept_although_its_capacity_is_not_tested() {
    let decision = decide(&checked()).unwrap();
    assert_eq!((decision.advice, decision.reasons.len()), (Advice::Keep, 0), "{decision:?}");
    let capacity = decision.parts.iter().find(|it| it.part == "capacity").unwrap();
    assert_eq!(capacity.outcome, PartOutcome::NotTested);
    let other = Run { plan: hard_disk().plan, ..checked() };
    assert_eq!(decide(&other), None);
}

#[test]
fn every_finding_of_the_table_decides() {
    for rule in &FINDING_RULES {
        let mut run = checked();
        run.findings = vec![Finding::new(rule.finding, "as seen").about("surface")];
        assert_decided(&run, rule.decides, rule.because);
    }
    let mut shingled = checked();
    shingled.findings = [FindingId::Shingled, FindingId::Throttled, FindingId::BlankTarget]
        .map(|id| Finding::new(id, "as seen"))
        .to_vec();
    assert_decided(&shingled, Advice::Keep, "");
}

#[test]
fn worst_reason_decides_and_all_are_named() {
    let mut run = checked();
    run.findings = [FindingId::LinkErrors, FindingId::IoError, FindingId::CountersDisagree]
        .map(|id| Finding::new(id, "as seen").about("surface"))
        .to_vec();
    let decision = decide(&run).unwrap();
    assert_eq!(decision.advice, Advice::SendBack);
    assert_eq!(decision.reasons.len(), 3);
    assert!(decision.reasons[0].because.contains("F017"), "{decision:?}");
}

#[test]
fn drive_that_vanished_is_not_blamed_for_its_requests() {
    let mut run = checked();
    run.findings = [FindingId::IoError, FindingId::DriveGone]
        .map(|id| Finding::new(id, "as seen").about("surface"))
        .to_vec();
    assert_decided(&run, Advice::NotSure, "it vanished");
    // What is slow while others use the drive may be theirs.
    let mut busy = checked();
    busy.findings = [FindingId::SlowRegion, FindingId::OtherIo]
        .map(|id| Finding::new(id, "as seen").about("surface.read"))
        .to_vec();
    assert_decided(&busy, Advice::NotSure, "reads slowly");
    // What was never written is read faster than what was.
    let mut blank = busy.clone();
    blank.findings[1] = Finding::new(FindingId::BlankTarget, "as seen").about("surface.read");
    assert_decided(&blank, Advice::Keep, "");
    let mut stalled = checked();
    stalled.findings = vec![Finding::new(FindingId::Stall, "1.1 s").about("transfer.rnd4k.sync")];
    assert_decided(&stalled, Advice::Keep, "");
}

#[test]
fn counts_of_smart_decide() {
    for (change, advice, because) in [
        (
            (|health| health.pending_sectors = Some(8)) as fn(&mut Health),
            Advice::SendBack,
            "8 pending sectors",
        ),
        (|health| health.offline_uncorrectable = Some(1), Advice::SendBack, "1 offline"),
        (|health| health.wear_pct = Some(103), Advice::SendBack, "103 % of its rated endurance"),
        (|health| health.wear_pct = Some(99), Advice::Keep, ""),
        (|health| health.reallocated_sectors = Some(40), Advice::NotSure, "40 reallocated"),
        (|health| health.uncorrected_errors = Some(2), Advice::NotSure, "2 uncorrected errors"),
        (|health| health.crc_errors = Some(900), Advice::Keep, ""),
    ] {
        assert_decided(&with_health(change), advice, because);
    }
}

#[test]
fn what_is_not_known_is_a_reason_with_its_remedy() {
    let note =
        "health: the drive, or its USB bridge, passes on no SMART; connect it without the bridge";
    let unknown = with_health(|health| {
        *health = Health { note: Some(note.to_string()), ..Health::default() };
    });
    assert_decided(&unknown, Advice::NotSure, "its health is not known: the drive, or its USB");
    for result in
        ["Aborted by host", "Interrupted (host reset)", "still running after 20 min, ended"]
    {
        let mut run = checked();
        run.tests[0].self_test = Some(ended(result, None));
        assert_decided(&run, Advice::NotSure, &format!("its self-test did not end: {result}"));
    }
    let mut part = checked();
    part.tests[1].metrics[0].value = 40.0;
    assert_decided(&part, Advice::NotSure, "only 40.0 % of its surface was read");
    let mut usb = checked();
    usb.drive.as_mut().unwrap().transport = "usb".to_string();
    assert_decided(&usb, Advice::NotSure, "its capacity is not tested, and USB drives");
    let command = &decide(&usb).unwrap().reasons[0].command;
    assert!(command.starts_with("drivescope check /dev/sda --destroy "), "{command}");
    let mut stopped = checked();
    stopped.status = TestStatus::Interrupted;
    stopped.tests.truncate(1);
    assert_decided(&stopped, Advice::NotSure, "the check was interrupted");
}

#[test]
fn decision_fits_a_terminal_and_stands_on_every_report() {
    let mut run = with_health(|health| health.pending_sectors = Some(8));
    run.temperature = Some(Series {
        key: "temperature".to_string(),
        x_unit: "s".to_string(),
        y_unit: "°C".to_string(),
        x: vec![0.0, 10.0],
        y: vec![31.0, 44.0],
    });
    run.decision = decide(&run);
    let shown = results(&run, Style::PLAIN);
    must_fit(&shown);
    assert!(shown.starts_with("send it back\n  ! 8 pending sectors: "), "{shown}");
    assert!(run_markdown(&run).contains("**send it back**"));
    let page = page(&run, |_| String::new()).alone();
    for part in ["Send it back", "8 pending sectors", "31 to 44 °C in 2 readings", "not tested"] {
        assert!(page.contains(part), "{part}");
    }
}
