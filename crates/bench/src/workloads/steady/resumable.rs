//! What a sequence of `steady` over hours does, whatever it measures: it reports its results so far, at
//! the end and in checkpoints, and where an interrupted one resumes.

use super::preparation::resume_point;
use crate::error::BenchError;
use crate::judging::test_record::TestRecord;
use crate::session::Session;

/// A sequence that can be interrupted and resumed.
pub(super) trait Resumable: Sized {
    /// Numbers of phases that an interrupted run has used: the data of each phase are its own.
    fn phases_before(&self) -> u64;

    /// Measures until the end, with a checkpoint after each step.
    fn measure(
        &mut self,
        session: &mut Session<'_>,
        record: &mut TestRecord,
    ) -> Result<(), BenchError>;

    fn report(&self, record: &mut TestRecord);

    /// Bytes written so far, those of an interrupted run included.
    fn written_bytes(&self) -> u64;

    /// Measures until the end, whatever that is, and says what it came to.
    fn run(mut self, session: &mut Session<'_>, record: &mut TestRecord) -> Result<(), BenchError> {
        session.storage.pass = u64::from(session.plan.suite.steady.passes) + self.phases_before();
        let end = self.measure(session, record);
        self.report(record);
        if end.is_err() {
            self.resume_here(session, record);
        }
        end
    }

    /// The record as it would be if the program ended now.
    fn so_far(&self, session: &Session<'_>, record: &TestRecord) -> TestRecord {
        let mut record = record.clone();
        self.report(&mut record);
        self.resume_here(session, &mut record);
        record
    }

    /// Lets `--resume` continue from here, where that is possible.
    fn resume_here(&self, session: &Session<'_>, record: &mut TestRecord) {
        if let Some(point) = resume_point(session, self.written_bytes()) {
            record.resume_at(point);
        }
    }
}
