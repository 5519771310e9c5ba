//! The document of a run in progress, and the store that keeps it.

use super::job_ticket;
use super::save::{RunSaver, SaveOutcome};
use drivescope_bench::judging::health;
use drivescope_bench::session::Session;
use drivescope_drive::gate::Rechecks;
use drivescope_model::document::{GateCheck, PhaseRecord, Run, Series, TestResult, TestStatus};
use drivescope_model::findings::{Finding, FindingId, Severity};
use drivescope_model::gate::{Check, GateRecord, Outcome};
use drivescope_model::health::Health;
use drivescope_report::verdict;
use drivescope_store::Store;

/// The document of a run in progress.
pub struct RunDocument<'s> {
    run: Run,
    /// Findings about the target from before the first test.
    early: Vec<Finding>,
    saver: RunSaver<'s>,
}

impl<'s> RunDocument<'s> {
    /// Without a store nothing is saved.
    pub fn new(run: Run, store: Option<&'s mut Store>) -> Self {
        Self { run, early: Vec::new(), saver: RunSaver::new(store) }
    }

    /// The gate's record replaces the checks of a target that is only read.
    pub fn gate(&mut self, record: &GateRecord) {
        self.run.gate.retain(|check| check.check != "access");
        self.run.gate.extend(checks(record));
    }

    /// With what is known before the first test, and results of tests that an interrupted run had ended.
    pub fn begin_with(&mut self, findings: &[Finding], ended: Vec<TestResult>) {
        self.early = findings.to_vec();
        self.run.findings = findings.to_vec();
        self.run.tests = ended;
    }

    /// Adds a test's result and saves the document; `more` tests will follow.
    pub fn add(&mut self, result: TestResult, session: &Session<'_>, more: bool) {
        if let Some(device) = session.opened() {
            self.run.target.io_mode = Some(device.mode());
            self.run.target.io_align_bytes = device.align_bytes();
        }
        if let Some(made) = session.rechecks() {
            let look = looks(&made);
            self.run.gate.retain(|check| check.check != look.check);
            self.run.gate.push(look);
        }
        self.run.elapsed_s = session.elapsed_s();
        add(&mut self.run, result, &self.early);
        if more {
            // Should the program be killed now, the document says that tests are missing.
            self.run.status = TestStatus::Interrupted;
        }
        self.saver.keep(&self.run);
        self.run.status = overall(&self.run.tests);
    }

    /// Saves the partial result of the current test, in case the program is killed.
    pub fn checkpoint(&mut self, so_far: TestResult) {
        let mut run = self.run.clone();
        run.elapsed_s += so_far.elapsed_s;
        add(&mut run, so_far, &self.early);
        self.saver.keep(&run);
    }

    /// Adds when the first measurement of a common start began.
    pub fn began(&mut self, unix_us: Option<i64>) {
        job_ticket::note_start(&mut self.run, unix_us);
    }

    /// Adds the course of the drive's temperature; hotter than its limit is a finding.
    pub fn add_temperature(&mut self, course: Option<Series>, warning_c: Option<f64>) {
        let limit = self.run.drive.as_ref().and_then(|drive| drive.health.limit_c).or(warning_c);
        let hot =
            course.as_ref().zip(limit).and_then(|(course, limit)| health::too_hot(course, limit));
        self.run.temperature = course;
        self.notice(hot);
    }

    fn notice(&mut self, findings: impl IntoIterator<Item = Finding>) {
        let known = std::mem::take(&mut self.run.findings);
        self.run.findings = known.into_iter().chain(findings).fold(Vec::new(), merge);
    }

    /// Compares the health of the drive with the one before the run.
    pub fn end_with(&mut self, after: Health) {
        let Some(drive) = &self.run.drive else { return };
        let risen = health::risen(&drive.health, &after);
        self.notice(risen);
        self.run.health_after = Some(after);
    }

    /// The whole document with its verdict, and where it is stored.
    pub fn conclude(mut self) -> (Run, SaveOutcome) {
        soften_rare(&mut self.run);
        self.run.verdict = verdict::judge(&self.run);
        self.run.decision = verdict::decide(&self.run);
        let kept = self.saver.conclude(&self.run);
        (self.run, kept)
    }
}

/// Adds a test's result and derives the status of the run.
fn add(run: &mut Run, result: TestResult, early: &[Finding]) {
    run.tests.push(result);
    run.status = overall(&run.tests);
    let of_tests = run.tests.iter().flat_map(|test| test.findings.iter().cloned());
    run.findings = early.iter().cloned().chain(of_tests).fold(Vec::new(), merge);
}

/// Share of the measured time: what disturbed less moves no median.
const RARE_SHARE: f64 = 0.02;

/// Other programs at work for hardly any of the time qualify no figure: that is a note.
fn soften_rare(run: &mut Run) {
    let phases: Vec<&PhaseRecord> = run.tests.iter().flat_map(|test| &test.phases).collect();
    let all_s: f64 = phases.iter().map(|phase| phase.elapsed_s).sum();
    // An observation is of one round: `seq1m_q8t1.read: …`.
    let round_s = |observation: &String| {
        let (cell, _) = observation.split_once(": ")?;
        let rounds = phases.iter().filter(|phase| phase.cell == cell);
        let (sum_s, count) = rounds.fold((0.0, 0), |(sum, n), it| (sum + it.elapsed_s, n + 1));
        (count > 0).then(|| sum_s / f64::from(count))
    };
    for finding in &mut run.findings {
        let evidence = std::slice::from_ref(&finding.evidence);
        let seen = if finding.observations.is_empty() { evidence } else { &finding.observations };
        let seen_s: Option<f64> = seen.iter().map(round_s).sum();
        let is_disturbance = [FindingId::OtherIo, FindingId::BusyProcessors].contains(&finding.id);
        if is_disturbance && seen_s.is_some_and(|seen_s| seen_s <= RARE_SHARE * all_s) {
            finding.severity = Severity::Note;
        }
    }
}

/// Equal findings of several tests become one finding of the run.
fn merge(mut all: Vec<Finding>, finding: Finding) -> Vec<Finding> {
    match all.iter_mut().find(|known| known.id == finding.id) {
        Some(known) => known.join(finding),
        None => all.push(finding),
    }
    all
}

fn overall(tests: &[TestResult]) -> TestStatus {
    let any = |status| tests.iter().any(|test| test.status == status);
    if any(TestStatus::Interrupted) {
        TestStatus::Interrupted
    } else if any(TestStatus::Failed) {
        TestStatus::Failed
    } else if any(TestStatus::Done) {
        TestStatus::Done
    } else {
        TestStatus::Skipped
    }
}

/// The gate's record in the form of the document.
fn checks(record: &GateRecord) -> Vec<GateCheck> {
    let level = GateCheck {
        check: "level".to_string(),
        passed: true,
        evidence: record.level.name().to_string(),
    };
    std::iter::once(level).chain(record.checks.iter().map(gate_check)).collect()
}

fn gate_check(check: &Check) -> GateCheck {
    GateCheck {
        check: check.name.clone(),
        passed: check.outcome != Outcome::Refused,
        evidence: match check.outcome {
            Outcome::Unknown => format!("unknown: {}", check.evidence),
            _ => check.evidence.clone(),
        },
    }
}

/// The repeated checks of a claimed device in the form of the document.
fn looks(made: &Rechecks) -> GateCheck {
    let Rechecks { made, whole, last, refused } = made;
    let found = if *refused { "in use by others" } else { "no other user" };
    let evidence = format!(
        "{made} checks while it could be written, {whole} of them of all processes; the last {:.1} s after the \
         claim: {found}",
        last.as_secs_f64()
    );
    GateCheck { check: "looks".to_string(), passed: !refused, evidence }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn disturbance_of_a_hundredth_of_the_time_is_a_note() {
        let text = include_str!("../../../../docs/examples/run.json");
        let mut run: Run = serde_json::from_str(text).unwrap();
        let phase = run.tests[0].phases[0].clone();
        let of =
            |cell: &str, elapsed_s| PhaseRecord { cell: cell.into(), elapsed_s, ..phase.clone() };
        run.tests.truncate(1);
        run.tests[0].phases = vec![of("b", 10.0), of("c", 900.0)];
        run.tests[0].phases.extend((0..9).map(|_| of("a", 10.0)));
        let mut severity = |id, seen: &[&str]| {
            let all = seen.iter().map(|seen| Finding::new(id, *seen).about("transfer.a"));
            run.findings = all.fold(Vec::new(), merge);
            soften_rare(&mut run);
            run.findings[0].severity
        };
        let busy = FindingId::BusyProcessors;
        assert_eq!(severity(busy, &["a: CPU busy for 93 %"]), Severity::Note);
        assert_eq!(severity(busy, &["a: 93 %", "b: 40 %"]), Severity::Note);
        assert_eq!(severity(busy, &["a: 93 %", "a: 94 %", "b: 40 %"]), Severity::Warning);
        assert_eq!(severity(busy, &["c: 93 %"]), Severity::Warning, "one round, but a long one");
        assert_eq!(severity(FindingId::OtherIo, &["md0 is rebuilt"]), Severity::Warning);
        assert_eq!(severity(FindingId::Stall, &["a: 1.2 s"]), Severity::Warning);
    }
}
