//! What a long test has found so far, kept now and then, so that a killed program costs little of it.

use super::Session;
use crate::judging::test_record::TestRecord;
use drivescope_model::document::{TestResult, TestStatus};
use drivescope_model::resume::{ResumePhase, ResumePoint};
use drivescope_model::target::TargetKind;
use std::cell::Cell;

/// Takes what the test in progress has found so far.
pub type SaveCheckpoint<'a> = Box<dyn Fn(TestResult) + 'a>;

/// A checkpoint is due after a tenth of the time that the test has taken, within these bounds: a killed test loses
/// a tenth of its work at most, and hours of it are written down about a thousand times.
const EVERY_SHARE: u64 = 10;
const EVERY_MIN_NS: u64 = 250_000_000;
const EVERY_MAX_NS: u64 = 30_000_000_000;

#[derive(Default)]
pub(super) struct Checkpoints<'a> {
    save: Option<SaveCheckpoint<'a>>,
    begun_ns: Cell<u64>,
    last_ns: Cell<u64>,
}

impl<'a> Checkpoints<'a> {
    pub(super) fn of(save: SaveCheckpoint<'a>) -> Self {
        Self { save: Some(save), ..Self::default() }
    }

    pub(super) fn begin(&self, now_ns: u64) {
        self.begun_ns.set(now_ns);
        self.last_ns.set(now_ns);
    }

    fn is_due(&self, now_ns: u64) -> bool {
        let every = now_ns.saturating_sub(self.begun_ns.get()) / EVERY_SHARE;
        now_ns >= self.last_ns.get() + every.clamp(EVERY_MIN_NS, EVERY_MAX_NS)
    }
}

impl Session<'_> {
    /// Saves what the test in progress has found so far, if a save is set and it is time. To be called now and
    /// then from the thread that waits for a phase, so that the measuring loop has no part in it. `record` is made
    /// only when it is needed; it must have a resume point. Not on simulated drives, which end with the program.
    pub fn checkpoint(&self, record: impl FnOnce() -> TestRecord) {
        if self.checkpoints.is_due(self.now_ns()) {
            self.checkpoint_at_once(record);
        }
    }

    /// Where the test in progress can be resumed, with nothing known of what lies before.
    pub(crate) fn resume_point(&self, phase: ResumePhase, at_bytes: u64) -> ResumePoint {
        ResumePoint { seed: self.plan.seed, at_bytes, phase, intact_before: false }
    }

    /// Due or not: before a new part of a test, so that the one before is not repeated.
    pub fn checkpoint_at_once(&self, record: impl FnOnce() -> TestRecord) {
        let Some(save) = &self.checkpoints.save else { return };
        if self.target.info().kind == TargetKind::Simulated {
            return;
        }
        let mut result = record().finish(self.plan.suite.rounds);
        result.status = TestStatus::Interrupted;
        result.reason = result.resume.map(|point| point.to_string());
        result.elapsed_s = self.test_elapsed_s();
        result.mark_invalid(&self.findings);
        save(result);
        self.checkpoints.last_ns.set(self.now_ns());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn killed_test_loses_at_most_a_tenth() {
        let checkpoints = Checkpoints::default();
        checkpoints.begin(1_000);
        let mut kept = Vec::new();
        // Ten hours, looked at twenty times a second.
        for now in (1_000..36_000_000_000_000u64).step_by(50_000_000) {
            if checkpoints.is_due(now) {
                checkpoints.last_ns.set(now);
                kept.push(now);
            }
        }
        assert_eq!(kept[0], 1_000 + EVERY_MIN_NS);
        for pair in kept.windows(2) {
            let lost = pair[1] - pair[0];
            let look = 50_000_000;
            assert!(lost <= (pair[1] / 10).max(EVERY_MIN_NS) + look, "{lost} of {}", pair[1]);
            assert!(lost <= EVERY_MAX_NS + look);
        }
        assert!(kept.len() < 1_400, "{}", kept.len());
    }
}
