//! What an agent decides by itself: whether it does a job, and what an end means.

use super::machine::{JobOutcome, JobRecord, RecordedEnd};
use crate::submission;
use crate::tables::JobEnd;
use drivescope_model::fleet::{FleetDrive, JobPlan, JobState, TakenJob};
use drivescope_model::plan::WriteLevel;
use drivescope_model::shell::quoted;

/// A job that ended its program as often is given up.
const CRASHES_MAX: u32 = 3;

/// Whether a plan writes to the device itself, so that it is never begun a second time by itself.
pub(super) fn writes_device(plan: &JobPlan) -> bool {
    plan.level >= WriteLevel::SameBytes
}

/// Whatever the database says: the ceiling holds, the plan is one that can be read, and contents are touched only of
/// the drive whose serial number the submitter has named. Returns the path that is measured. Errors: why the job is
/// refused.
pub(super) fn check(
    plan: &JobPlan,
    job: &TakenJob,
    drive: &FleetDrive,
    ceiling: WriteLevel,
) -> Result<String, String> {
    if plan.level > ceiling {
        return Err(format!(
            "the plan writes at level {}, and this agent accepts {} at most (--ceiling)",
            plan.level.name(),
            ceiling.name()
        ));
    }
    let suite = submission::check(plan)?;
    let (path, _) = submission::place_of(&suite, plan.level, drive)?;
    if plan.level < WriteLevel::Restore {
        return Ok(path);
    }
    let serial = drive.serial.as_deref().unwrap_or_default();
    match job.serial.as_deref() {
        Some(confirmed) if confirmed == serial && !serial.is_empty() => Ok(path),
        Some(confirmed) => Err(format!(
            "the job is for a drive with serial number {confirmed}, and {} has {}",
            drive.name,
            if serial.is_empty() { "none" } else { serial }
        )),
        None => Err(format!(
            "level {} needs the serial number of the drive: fleet submit --serial",
            plan.level.name()
        )),
    }
}

pub(super) fn refused(why: String) -> RecordedEnd {
    let message = Some(why);
    RecordedEnd { state: JobState::Refused, run_id: None, exit_code: None, message, skew_ms: None }
}

/// What the end of an attempt means for its job.
pub(super) fn end(record: &mut JobRecord, outcome: JobOutcome, is_cancelled: bool) -> RecordedEnd {
    let JobOutcome { run_id, exit_code, message, skew_ms, is_complete, was_stopped } = outcome;
    let end = |state, message: Option<String>| RecordedEnd {
        state,
        run_id: run_id.clone(),
        exit_code,
        message,
        skew_ms,
    };
    if is_complete {
        return end(JobState::Done, message);
    }
    match exit_code {
        _ if is_cancelled => end(JobState::Cancelled, message),
        Some(130) | None if was_stopped && !record.writes_device => {
            end(JobState::Waiting, Some("its agent was ended".to_string()))
        }
        Some(2 | 3) => end(JobState::Refused, message),
        Some(_) => end(JobState::Failed, message),
        None if record.writes_device => end(
            JobState::Unknown,
            Some(format!(
                "its program ended without a result while it wrote; look at the drive, then type drivescope fleet \
                 decide {}{}",
                quoted(&record.submission),
                message.map(|it| format!(": {it}")).unwrap_or_default()
            )),
        ),
        None => {
            record.crashes += 1;
            let message = message.unwrap_or_else(|| "a signal ended it".to_string());
            if record.crashes < CRASHES_MAX {
                return end(JobState::Waiting, Some(message));
            }
            let times = format!("its program ended {CRASHES_MAX} times without a result");
            end(JobState::Failed, Some(format!("{times}: {message}")))
        }
    }
}

pub(super) fn job_end((id, attempt): (i64, u32), end: RecordedEnd) -> JobEnd {
    let RecordedEnd { state, run_id, exit_code, message, skew_ms } = end;
    JobEnd { id, attempt, state, run_id, exit_code, message, skew_ms }
}

/// For the agent's log.
pub(super) fn sentence(id: i64, end: &RecordedEnd) -> String {
    let run = end.run_id.as_ref().map(|id| format!(", run {id}")).unwrap_or_default();
    let message = end.message.as_ref().map(|it| format!(": {it}")).unwrap_or_default();
    format!("job {id}: {}{run}{message}", end.state.name())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(writes_device: bool) -> JobRecord {
        JobRecord {
            id: 1,
            submission: "s".into(),
            drive: "d".into(),
            attempt: 1,
            writes_device,
            begun: 1,
            crashes: 0,
            end: None,
        }
    }

    #[test]
    fn a_job_that_writes_is_never_begun_again() {
        let crash = JobOutcome::default();
        let stopped = JobOutcome { was_stopped: true, exit_code: Some(130), ..crash.clone() };
        for outcome in [crash.clone(), stopped.clone()] {
            let end = end(&mut record(true), outcome, false);
            assert!(matches!(end.state, JobState::Unknown | JobState::Failed), "{end:?}");
            let is_named = end.message.is_some_and(|it| it.contains("drivescope fleet decide s"));
            assert_eq!(is_named, end.state == JobState::Unknown);
        }
        assert_eq!(end(&mut record(false), crash, false).state, JobState::Waiting);
        assert_eq!(end(&mut record(false), stopped.clone(), false).state, JobState::Waiting);
        assert_eq!(end(&mut record(false), stopped, true).state, JobState::Cancelled);
    }

    #[test]
    fn third_crash_is_the_last() {
        let mut record = record(false);
        let states: Vec<JobState> =
            (0..3).map(|_| end(&mut record, JobOutcome::default(), false).state).collect();
        assert_eq!(states, [JobState::Waiting, JobState::Waiting, JobState::Failed]);
    }
}
