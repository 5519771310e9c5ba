//! The document of a run in progress, and the store that keeps it.

use super::raw::checks;
use crate::output;
use drivescope_bench::session::Session;
use drivescope_model::document::{Run, TestResult, TestStatus};
use drivescope_model::findings::Finding;
use drivescope_model::gate::GateRecord;
use drivescope_report::verdict;
use drivescope_store::Store;

/// What a run leaves behind, as far as it is known.
pub struct Document<'s> {
    run: Run,
    /// Findings about the target, made before the first test.
    early: Vec<Finding>,
    store: Option<&'s mut Store>,
    /// A checkpoint could not be kept, which was said.
    has_failed: bool,
}

impl<'s> Document<'s> {
    /// Nothing measured yet. Without a store nothing is kept.
    pub fn new(run: Run, store: Option<&'s mut Store>) -> Self {
        Self { run, early: Vec::new(), store, has_failed: false }
    }

    /// What the gate saw takes the place of the look at a target that is only read.
    pub fn gate(&mut self, record: &GateRecord) {
        self.run.gate.retain(|check| check.check != "access");
        self.run.gate.extend(checks(record));
    }

    /// What is known of the target before the first test.
    pub fn begin_with(&mut self, findings: &[Finding]) {
        self.early = findings.to_vec();
        self.run.findings = findings.to_vec();
    }

    /// Adds a test's result and keeps the document; `more` tests are to come.
    pub fn add(&mut self, result: TestResult, session: &Session<'_>, more: bool) {
        if let Some(device) = session.opened() {
            self.run.target.io_mode = Some(device.mode());
            self.run.target.io_align_bytes = device.align_bytes();
        }
        self.run.elapsed_s = session.elapsed_s();
        add(&mut self.run, result, &self.early);
        if more {
            // Should the program be killed now, the document says that tests are missing.
            self.run.status = TestStatus::Interrupted;
        }
        keep(self.store.as_deref_mut(), &self.run);
        self.run.status = overall(&self.run.tests);
    }

    /// Keeps what the test in progress has found so far, should the program be killed before its end. After
    /// a failure no further checkpoint is tried: the end of the test will show whether it still fails.
    pub fn checkpoint(&mut self, so_far: TestResult) {
        if self.store.is_none() || self.has_failed {
            return;
        }
        let mut run = self.run.clone();
        run.elapsed_s += so_far.elapsed_s;
        add(&mut run, so_far, &self.early);
        self.has_failed = !keep(self.store.as_deref_mut(), &run);
    }

    /// The whole document with its verdict, and whether the store has it.
    pub fn conclude(mut self) -> (Run, bool) {
        self.run.verdict = verdict::judge(&self.run);
        let kept = keep(self.store, &self.run);
        (self.run, kept)
    }
}

/// Adds a test's result and derives the status of the whole.
fn add(run: &mut Run, result: TestResult, early: &[Finding]) {
    run.tests.push(result);
    run.status = overall(&run.tests);
    let of_tests = run.tests.iter().flat_map(|test| test.findings.iter().cloned());
    run.findings = early.iter().cloned().chain(of_tests).fold(Vec::new(), merge);
}

/// The same finding of several tests is one finding of the run.
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

/// Flushes the document to the store; a store that fails in the middle does not end the run.
fn keep(store: Option<&mut Store>, run: &Run) -> bool {
    let Some(store) = store else { return false };
    match store.save(run) {
        Ok(()) => true,
        Err(error) => {
            output::complain(&format!("the run is not stored: {error}"));
            false
        }
    }
}
