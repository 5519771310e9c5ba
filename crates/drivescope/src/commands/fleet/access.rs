//! What the commands for submitters and readers share.

use crate::arguments::StoreArguments;
use crate::exit::{Code, Failure};
use crate::store_access::location;
use drivescope_fleet::FleetTables;
use drivescope_fleet::selector::Selector;
use drivescope_fleet::tables::JobCounts;
use drivescope_model::fleet::{FleetHost, FleetJob, JobState, Submission};
use drivescope_model::nearest::nearest;
use drivescope_report::fleet::SubmissionRow;
use jiff::Timestamp;
use jiff::tz::TimeZone;

/// Submissions that are listed, and from which a mistyped key is corrected.
pub const NEWEST: u32 = 20;

/// `writes`: more than reading is intended.
pub fn open(store: &StoreArguments, writes: bool) -> Result<FleetTables, Failure> {
    Ok(FleetTables::open(&location(store.store.as_deref())?, writes)?)
}

pub fn selector(text: Option<&str>) -> Result<Option<Selector>, Failure> {
    let parse =
        |text| Selector::parse(text).map_err(|error| Failure::usage(format!("--select: {error}")));
    text.map(parse).transpose()
}

pub fn unknown_key(key: &str, tables: &FleetTables) -> Result<Failure, Failure> {
    let newest = tables.submissions(NEWEST)?;
    let near = nearest(key, newest.iter().map(|it| it.key.as_str()));
    let hint = near.map(|near| format!(" (did you mean '{near}'?)")).unwrap_or_default();
    let message = format!("no submission '{key}'{hint}; drivescope fleet status lists the newest");
    Ok(Failure::usage(message))
}

/// A submission with all that is known of its jobs.
pub struct SubmissionView {
    pub row: SubmissionRow,
    pub jobs: Vec<FleetJob>,
    pub hosts: Vec<FleetHost>,
}

impl SubmissionView {
    /// `None`: there is no such submission.
    pub fn of(key: &str, tables: &FleetTables) -> Result<Option<Self>, Failure> {
        let Some(submission) = tables.submission(key)? else { return Ok(None) };
        let (jobs, hosts) = (tables.jobs(key)?, tables.hosts()?);
        let mut counts = JobCounts::default();
        for job in &jobs {
            *counts.by_state.entry(job.state.name()).or_default() += 1;
            counts.overdue += u64::from(job.state_seen() != job.state);
        }
        Ok(Some(Self { row: row(submission, counts), jobs, hosts }))
    }

    pub fn host_of(&self, job: &FleetJob) -> Option<&FleetHost> {
        self.hosts.iter().find(|host| host.agent.id == job.host_id)
    }

    pub fn code(&self) -> Code {
        let has_problem = self.jobs.iter().any(|job| job.state_seen().is_problem());
        if has_problem { Code::Problem } else { Code::Ok }
    }
}

pub fn row(submission: Submission, counts: JobCounts) -> SubmissionRow {
    SubmissionRow {
        submitted: local_time(submission.submitted_unix_us, "%Y-%m-%d %H:%M"),
        go_at: submission.go_at_unix_us.map(|us| local_time(us, "%Y-%m-%d %H:%M:%S")),
        by_state: counts.by_state,
        overdue: counts.overdue,
        submission,
    }
}

/// Whether a job failed, was refused, or is unknown.
pub fn has_problem(counts: &JobCounts) -> bool {
    let mut problems = JobState::ALL.into_iter().filter(|state| state.is_problem());
    counts.overdue > 0 || problems.any(|state| counts.by_state.contains_key(state.name()))
}

/// In the zone of this machine.
pub fn local_time(unix_us: i64, form: &str) -> String {
    let Ok(time) = Timestamp::from_microsecond(unix_us) else { return "?".to_string() };
    time.to_zoned_datetime(TimeZone::system()).strftime(form).to_string()
}
