//! Runs the tests of a plan, one after the other: the only part that knows both workloads and sessions.

use crate::error::BenchError;
use crate::io::device::IoDevice;
use crate::judging::test_record::TestRecord;
use crate::judging::validity;
use crate::session::Session;
use crate::suites;
use crate::workload::Workload;
use crate::workloads;
use crate::workloads::shared::deallocated;
use crate::workloads::shared::open_target;
use drivescope_drive::ErrorKind;
use drivescope_model::document::{TestResult, TestStatus};
use drivescope_model::event::Event;
use drivescope_model::plan::PlannedTest;
use drivescope_model::resume::ResumePoint;

/// Reason of a test with a partial or no result that its viewer skipped.
const SKIPPED: &str = "on request; partial results";

pub struct Runner<'a> {
    session: Session<'a>,
    /// The interrupted test that one of the plan continues.
    earlier: Option<TestResult>,
    /// The worst of what ended tests early.
    failure: Option<ErrorKind>,
    /// Evidence that much of a block device is deallocated.
    deallocated: Option<String>,
}

impl<'a> Runner<'a> {
    pub fn new(mut session: Session<'a>) -> Self {
        session.may_be_shortened = suites::may_be_shortened(&session.plan.suite);
        Self { session, earlier: None, failure: None, deallocated: None }
    }

    pub fn with_earlier(mut self, earlier: Option<TestResult>) -> Self {
        self.earlier = earlier;
        self
    }

    pub fn session(&self) -> &Session<'a> {
        &self.session
    }

    /// The worst failure of the tests.
    pub fn failure(&self) -> Option<ErrorKind> {
        self.failure
    }

    /// Runs all tests, or those before a stop. `finished` gets each result, and whether more are to come.
    pub fn run(&mut self, mut finished: impl FnMut(TestResult, &Session<'_>, bool)) {
        let tests = &self.session.plan.tests;
        for (index, planned) in tests.iter().enumerate() {
            let result = self.run_test(planned);
            let status = result.status;
            finished(result, &self.session, index + 1 < tests.len());
            if status == TestStatus::Interrupted {
                break;
            }
        }
    }

    pub fn run_test(&mut self, planned: &PlannedTest) -> TestResult {
        let skipped = planned.skip.as_deref().or(self.session.ended_by());
        if let Some(reason) = skipped {
            return TestResult::empty(planned.test, TestStatus::Skipped, Some(reason.to_string()));
        }
        let workload = workloads::find(planned.test);
        self.session.begin(planned, self.earlier.take_if(|earlier| earlier.test == planned.test));
        let mut record = TestRecord::new(planned.test);
        if suites::has_few_rounds_by_method(&self.session.plan.suite) {
            record.needs_no_rounds();
        }
        let drive = self.session.target.drive();
        record.rotates(drive.is_some_and(|drive| drive.rpm > Some(1)));
        let end = self.measure(workload, &mut record);
        if let Some(why) = self.session.opened().and_then(IoDevice::broken_uring) {
            record.remark(format!(
                "io_uring, whose calls fail here ({why}): threads sent the requests"
            ));
        }
        let end = self.session.restore_before_images(end);
        self.session.leave_simulated_file();
        let remarks = [planned.omitted.as_slice(), record.remarks()].concat();
        let of_memory = record.of_memory();
        let mut result = record.finish(self.session.plan.suite.rounds);
        self.hold_figures(&mut result, &of_memory);
        result.elapsed_s = self.session.test_elapsed_s();
        self.conclude(&mut result, end, remarks);
        result.mark_invalid(self.session.findings());
        self.session.emit(Event::TestFinished(Box::new(result.clone())));
        result
    }

    fn measure(
        &mut self,
        workload: &dyn Workload,
        record: &mut TestRecord,
    ) -> Result<(), BenchError> {
        let is_first = self.session.opened().is_none();
        if workload.needs_test_file() {
            let remark = open_target::open(&mut self.session)?;
            remark.into_iter().for_each(|remark| record.remark(remark));
        }
        if is_first && workload.needs_test_file() {
            self.deallocated = deallocated::sample(&self.session)?;
        }
        let end = workload.run(&mut self.session, record);
        let evidence = self.deallocated.as_ref().filter(|_| workload.reads_existing_data());
        if let Some(evidence) = evidence {
            deallocated::notice(record, evidence);
        }
        end
    }

    fn hold_figures(&self, result: &mut TestResult, of_memory: &[String]) {
        let environment = self.session.environment(result.test);
        let has_both = workloads::find(result.test).counts_both_directions();
        let directions = if has_both && environment.duplex { 2.0 } else { 1.0 };
        for finding in validity::of_figures(result, of_memory, directions, &environment) {
            result.add_finding(finding);
        }
    }

    fn conclude(
        &mut self,
        result: &mut TestResult,
        end: Result<(), BenchError>,
        mut remarks: Vec<String>,
    ) {
        (result.status, result.reason) = match end {
            Ok(()) => (TestStatus::Done, None),
            Err(BenchError::Interrupted) if self.session.is_skipped() => {
                (TestStatus::Skipped, Some(SKIPPED.to_string()))
            }
            Err(BenchError::Interrupted) => (TestStatus::Interrupted, None),
            Err(BenchError::Unsuitable(why)) => (TestStatus::Skipped, Some(why)),
            Err(error) => {
                let target = self.session.target.info().kind;
                let gone = self.session.note_failure(result.test, &error);
                self.failure = self.failure.max(Some(error.kind(target)));
                result.findings.extend(validity::of_error(&error, target));
                result.findings.extend(gone);
                (TestStatus::Failed, Some(failed(&error, result.resume)))
            }
        };
        if result.reason.is_none() {
            remarks.extend(result.resume.map(|point| point.to_string()));
            result.reason = Some(remarks.join("; ")).filter(|reason| !reason.is_empty());
        }
    }

    /// Removes the scratch files; an error says if that fails.
    pub fn close(self) -> Result<(), BenchError> {
        self.session.close()
    }
}

/// Why a test failed and where it can be resumed: after a loose cable it need not begin anew.
fn failed(error: &BenchError, resume: Option<ResumePoint>) -> String {
    match resume.filter(ResumePoint::is_worthwhile) {
        Some(point) => format!("{error}; {point}"),
        None => error.to_string(),
    }
}
