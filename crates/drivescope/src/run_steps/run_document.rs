//! The document of a run in progress, and the store that keeps it.

use super::save::{RunSaver, SaveOutcome};
use drivescope_bench::session::Session;
use drivescope_drive::gate::Rechecks;
use drivescope_model::document::{GateCheck, Run, TestResult, TestStatus};
use drivescope_model::findings::{Finding, FindingId, Severity};
use drivescope_model::gate::{Check, GateRecord, Outcome};
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

    pub fn begin_with(&mut self, findings: &[Finding]) {
        self.early = findings.to_vec();
        self.run.findings = findings.to_vec();
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

    /// The whole document with its verdict, and where it is stored.
    pub fn conclude(mut self) -> (Run, SaveOutcome) {
        soften_rare(&mut self.run);
        self.run.verdict = verdict::judge(&self.run);
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

/// Share of the measured rounds: what disturbed fewer moves no median.
const RARE_SHARE: f64 = 0.02;

/// Other programs at work in hardly any round qualify no figure: that is a note.
fn soften_rare(run: &mut Run) {
    let rounds: usize = run.tests.iter().map(|test| test.phases.len()).sum();
    let disturbances = [FindingId::OtherIo, FindingId::BusyProcessors];
    for finding in &mut run.findings {
        let is_of_rounds = disturbances.contains(&finding.id) && !finding.metrics.is_empty();
        if is_of_rounds && finding.count() as f64 <= RARE_SHARE * rounds as f64 {
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
    let of = |check: &Check| GateCheck {
        check: check.name.clone(),
        passed: check.outcome != Outcome::Refused,
        evidence: match check.outcome {
            Outcome::Unknown => format!("unknown: {}", check.evidence),
            _ => check.evidence.clone(),
        },
    };
    std::iter::once(level).chain(record.checks.iter().map(of)).collect()
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
