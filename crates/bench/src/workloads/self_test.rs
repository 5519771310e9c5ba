//! `self-test`: what does the drive find when it tests itself (SMART).

mod order_and_wait;

use crate::error::BenchError;
use crate::judging::test_record::TestRecord;
use crate::plan::plan_context::PlanContext;
use crate::session::Session;
use crate::workload::Workload;
use drivescope_model::event::Event;
use drivescope_model::findings::{Finding, FindingId};
use drivescope_model::number::whole;
use drivescope_model::options::{SelfTestLength, Suite, TestKind};
use drivescope_model::plan::{Cost, PlannedTest};
use drivescope_model::target::TargetKind;
use drivescope_model::units::Secs;
use order_and_wait::WaitingForTest;

/// What most drives announce for their short test.
const SHORT_S: f64 = 120.0;
pub struct SelfTestWorkload;

impl Workload for SelfTestWorkload {
    fn kind(&self) -> TestKind {
        TestKind::SelfTest
    }

    fn question(&self) -> &'static str {
        "what does the drive find when it tests itself"
    }

    fn access(&self) -> &'static str {
        "not in a directory or on a file; on a device: asks the drive to read itself (smartctl -t)"
    }

    fn how_to_shorten(&self, _suite: &Suite) -> String {
        "use --set self-test.length=short".to_string()
    }

    fn check(&self, _suite: &Suite) -> Result<(), String> {
        Ok(())
    }

    /// It reads before others write, like tests that read themselves.
    fn reads_existing_data(&self) -> bool {
        true
    }

    fn needs_test_file(&self) -> bool {
        false
    }

    fn plan(&self, context: &PlanContext<'_>) -> PlannedTest {
        let skip = |reason: &str| context.skipped(self.kind(), reason);
        if !matches!(context.target.kind, TargetKind::Block | TargetKind::Simulated) {
            return skip("needs a whole drive");
        }
        let Some(drive) = context.drive else {
            return skip("no drive is known below this target");
        };
        let is_simulated = context.target.kind == TargetKind::Simulated;
        if !is_simulated && !drive.health.is_known() {
            let note = drive.health.note.as_deref().unwrap_or("not reported by this drive");
            return skip(note.strip_prefix("health: ").unwrap_or(note));
        }
        let seconds = match context.suite.self_test.length {
            SelfTestLength::Short => SHORT_S,
            SelfTestLength::Long => drive.capacity_bytes as f64 / (context.typical.mb_s * 1e6),
        };
        let mut test = context.planned(self.kind());
        test.cost = Cost { seconds, ..Cost::default() };
        test
    }

    fn run(&self, session: &mut Session<'_>, record: &mut TestRecord) -> Result<(), BenchError> {
        let options = &session.plan.suite.self_test;
        let length = options.length;
        let name = match length {
            SelfTestLength::Short => "the drive's short test",
            SelfTestLength::Long => "the drive's long test",
        };
        session.phase_started(name, 1, 1);
        let result = match session.target.simulated_self_test(length) {
            Some(result) => {
                session.pause(Secs(session.expected_s()))?;
                result
            }
            None => order_and_wait::run(session.target, session, options, session.expected_s())?,
        };
        if result.passed == Some(false) {
            let at = result.first_bad_sector.map(|sector| format!(" at sector {}", whole(sector)));
            let at = at.unwrap_or_default();
            let evidence = format!("self-test ({}): {}{at}", result.kind, result.result);
            record.notice(Finding::new(FindingId::FailingHealth, evidence).about("self-test"));
        }
        record.self_test(result);
        Ok(())
    }
}

impl WaitingForTest for Session<'_> {
    fn now_s(&self) -> f64 {
        self.now_ns() as f64 / 1e9
    }

    fn pause_s(&self, seconds: f64) -> Result<(), BenchError> {
        self.pause(Secs(seconds))
    }

    fn show(&self, done: f64, left_s: Option<f64>) {
        self.emit(Event::Progress { done, left_s, mb_s: 0.0, iops: 0.0 });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{run_on, suite_of};
    use drivescope_model::document::TestStatus;

    #[test]
    fn simulated_drive_finds_what_it_cannot_read() {
        fn tested(target: &str) -> drivescope_model::TestResult {
            run_on(target, suite_of(TestKind::SelfTest))
        }
        let sound = tested("sim:wd40efrx");
        assert_eq!((sound.status, sound.findings.len()), (TestStatus::Done, 0));
        assert_eq!(sound.self_test.unwrap().passed, Some(true));
        assert!(sound.elapsed_s > 100.0, "in virtual time: {} s", sound.elapsed_s);
        for target in ["sim:wd40efrx?fault=failing-region", "sim:pm871b-128?fault=failing-region"] {
            let bad = tested(target);
            assert_eq!(bad.findings[0].id, FindingId::FailingHealth, "{target}");
            assert!(bad.findings[0].evidence.contains("read failure at sector"), "{target}");
            assert!(bad.self_test.unwrap().first_bad_sector > Some(1_000_000), "{target}");
        }
        let link = tested("sim:wd40efrx?fault=slow-link");
        assert_eq!(link.self_test.unwrap().passed, Some(true), "the link has no part in it");
    }
}
