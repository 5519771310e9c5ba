//! `fleet status`.

use super::access::{self, SubmissionView};
use crate::arguments::StatusArguments;
use crate::exit::{Code, Failure};
use crate::output;
use drivescope_fleet::FleetTables;
use drivescope_fleet::tables::JobCounts;
use drivescope_model::fleet::{FleetJob, Submission};
use drivescope_report::fleet;
use serde::Serialize;

#[derive(Serialize)]
struct OneStatus<'s> {
    submission: &'s Submission,
    jobs: &'s [FleetJob],
}

#[derive(Serialize)]
struct ListedStatus<'s> {
    submission: &'s Submission,
    #[serde(flatten)]
    counts: &'s JobCounts,
}

pub fn status(arguments: &StatusArguments) -> Result<Code, Failure> {
    let tables = access::open(&arguments.store, false)?;
    match &arguments.submission {
        Some(key) => of_one(key, arguments.json, &tables),
        None => of_newest(arguments.json, &tables),
    }
}

fn of_one(key: &str, is_json: bool, tables: &FleetTables) -> Result<Code, Failure> {
    let Some(view) = SubmissionView::of(key, tables)? else {
        return Err(access::unknown_key(key, tables)?);
    };
    if is_json {
        let submission = &view.row.submission;
        output::print_document(&OneStatus { submission, jobs: &view.jobs });
    } else {
        let text = fleet::fleet_jobs(&view.row, &view.jobs, &view.hosts, output::style());
        output::print(&text);
    }
    Ok(view.code())
}

fn of_newest(is_json: bool, tables: &FleetTables) -> Result<Code, Failure> {
    let submissions = tables.submissions(access::NEWEST)?;
    let mut counts = tables.job_counts(access::NEWEST)?;
    let mut of = |submission: Submission| {
        let counts = counts.remove(&submission.key).unwrap_or_default();
        (submission, counts)
    };
    let all: Vec<(Submission, JobCounts)> = submissions.into_iter().map(&mut of).collect();
    let has_problem = all.iter().any(|(_, counts)| access::has_problem(counts));
    if is_json {
        let listed: Vec<ListedStatus<'_>> =
            all.iter().map(|(submission, counts)| ListedStatus { submission, counts }).collect();
        output::print_document(&listed);
    } else {
        let rows: Vec<_> =
            all.into_iter().map(|(submission, counts)| access::row(submission, counts)).collect();
        output::print(&fleet::fleet_submissions(&rows, output::style()));
    }
    Ok(if has_problem { Code::Problem } else { Code::Ok })
}
