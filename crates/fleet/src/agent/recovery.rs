//! Jobs that the database says this host runs, and that this incarnation of its agent does not know.

use super::machine::{AgentMachine, JobOutcome, JobRecord};
use super::{Agent, AgentError, Tell, decision};
use crate::tables::JobEnd;
use drivescope_model::fleet::{JobState, TakenJob};

impl<M: AgentMachine> Agent<M> {
    /// Jobs of an earlier incarnation, of an answer that was lost on its way, or of a database that was restored: what
    /// still runs is watched, what has ended is reported, and what was never begun is given back.
    pub(super) fn recover(&mut self, tell: &mut Tell<'_>) -> Result<(), AgentError> {
        let host = self.machine.facts().id.clone();
        let tables = self.tables.as_ref().expect("it is connected");
        let held = tables.held_before(&host)?;
        for job in held {
            let is_known = self.running.iter().any(|it| it.record.id == job.id);
            if !is_known && !self.ended.iter().any(|end| end.id == job.id) {
                self.recover_job(&job, tell)?;
            }
        }
        Ok(())
    }

    fn recover_job(&mut self, job: &TakenJob, tell: &mut Tell<'_>) -> Result<(), AgentError> {
        let record = self.machine.record(job.id).filter(|record| record.is_of(job));
        // Before a job is begun its record is written.
        let Some(mut record) = record else {
            tell(&format!("job {}: taken, and never begun; given back", job.id));
            self.ended.push(given_back(job, "taken, and never begun"));
            return self.send_ends(tell);
        };
        record.attempt = job.attempt;
        if let Some(end) = record.end.clone() {
            self.ended.push(decision::job_end((job.id, job.attempt), end));
            return self.send_ends(tell);
        }
        match self.adopted(&record) {
            Some((running, drive)) => {
                tell(&format!("job {}: of an earlier agent; it is watched", job.id));
                self.run(running, record, drive);
                self.look_at_jobs(tell)
            }
            None => {
                self.conclude((record, false), JobOutcome::default(), tell)?;
                self.send_ends(tell)
            }
        }
    }

    fn adopted(
        &mut self,
        record: &JobRecord,
    ) -> Option<(M::Job, drivescope_model::fleet::FleetDrive)> {
        let drive = self.drive(&record.drive).ok()?;
        Some((self.machine.adopt(record, &drive)?, drive))
    }
}

fn given_back(job: &TakenJob, why: &str) -> JobEnd {
    JobEnd {
        id: job.id,
        attempt: job.attempt,
        state: JobState::Waiting,
        run_id: None,
        exit_code: None,
        message: Some(why.to_string()),
        skew_ms: None,
    }
}
