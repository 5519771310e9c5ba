//! `fleet decide`: what becomes of jobs that are unknown.

use super::access;
use crate::arguments::DecideArguments;
use crate::exit::{Code, Failure};
use crate::output;
use drivescope_model::fleet::{FleetJob, JobState, Submission};
use drivescope_model::shell::quoted;
use drivescope_report::clean;

/// More drives than this are counted.
const LISTED_MAX: usize = 10;

pub fn decide(arguments: &DecideArguments) -> Result<Code, Failure> {
    let key = &arguments.submission;
    let mut tables = access::open(&arguments.store, true)?;
    let Some(submission) = tables.submission(key)? else {
        return Err(access::unknown_key(key, &tables)?);
    };
    if arguments.again {
        check_again(&submission)?;
    }
    let jobs = tables.jobs(key)?;
    let chosen: Vec<&FleetJob> = jobs.iter().filter(|job| is_chosen(job, arguments)).collect();
    if chosen.is_empty() {
        return Err(nothing_to_decide(arguments, &jobs));
    }
    let ids: Vec<i64> = chosen.iter().map(|job| job.id).collect();
    let decided = tables.decide_unknown(&ids, arguments.again)?;
    let number = if decided == 1 { "1 job".to_string() } else { format!("{decided} jobs") };
    let drives = listed(&chosen);
    let said = if arguments.failed {
        format!("gave up {number} of {key}: {drives}")
    } else {
        format!("{number} of {key} to run again when the agent polls: {drives}")
    };
    output::print_wrapped(&clean(&said));
    Ok(Code::Ok)
}

fn is_chosen(job: &FleetJob, arguments: &DecideArguments) -> bool {
    let is_named = |wanted: &Option<String>, name: &str| {
        wanted.as_ref().is_none_or(|wanted| wanted.eq_ignore_ascii_case(name))
    };
    job.state == JobState::Unknown
        && is_named(&arguments.host, &job.host)
        && is_named(&arguments.drive, &job.name)
}

/// Errors: agents would end or refuse the jobs at once.
fn check_again(submission: &Submission) -> Result<(), Failure> {
    let Submission { key, cancelled, go_at_unix_us, .. } = submission;
    let why = match (cancelled, go_at_unix_us) {
        (true, _) => "is cancelled",
        (false, Some(_)) => "has one start for all jobs",
        (false, None) => return Ok(()),
    };
    let message =
        format!("{key} {why}: submit these drives again, and give its unknown jobs up (--failed)");
    Err(Failure::usage(message))
}

fn nothing_to_decide(arguments: &DecideArguments, jobs: &[FleetJob]) -> Failure {
    let key = &arguments.submission;
    let overdue = jobs.iter().filter(|job| job.state_seen() != job.state).count();
    let is_narrowed = arguments.host.is_some() || arguments.drive.is_some();
    let status = format!("drivescope fleet status {} lists all jobs", quoted(key));
    let message = match overdue {
        _ if is_narrowed && jobs.iter().any(|job| job.state == JobState::Unknown) => {
            format!("no unknown job of {key} is on that host and drive; {status}")
        }
        0 => format!("no job of {key} is unknown; {status}"),
        _ => format!(
            "{overdue} unknown jobs of {key} are of lost agents, which know how they ended: start those again, or \
             drivescope fleet hosts --forget ID removes a host with its jobs"
        ),
    };
    Failure::usage(message)
}

fn listed(jobs: &[&FleetJob]) -> String {
    let names = jobs.iter().take(LISTED_MAX).map(|job| format!("{} {}", job.host, job.name));
    let names = names.collect::<Vec<_>>().join(", ");
    match jobs.len().saturating_sub(LISTED_MAX) {
        0 => names,
        more => format!("{names}, and {more} more"),
    }
}
