//! One submission with its jobs.

use super::list::{ListColumn, pager, rows_of, table};
use super::state_bar::{state_bar, words};
use super::submissions::{selected, start};
use super::{FleetPage, fleet_page, percent, rough_time, short, view};
use crate::fleet_view::ListedSubmission;
use crate::form::{Fields, address};
use crate::pages::error::PageError;
use crate::site::Site;
use axum::response::Html;
use drivescope_model::Secs;
use drivescope_model::fleet::{FleetJob, JobState};
use drivescope_model::number::{rounded, whole};
use drivescope_model::shell::quoted;
use maud::{Markup, html};

/// What a reader looks for comes first.
const ORDER: [JobState; 7] = [
    JobState::Failed,
    JobState::Refused,
    JobState::Unknown,
    JobState::Running,
    JobState::Waiting,
    JobState::Done,
    JobState::Cancelled,
];

pub fn submission(site: &Site, fields: &Fields) -> Result<Html<String>, PageError> {
    let key = fields.text("key").unwrap_or_default();
    let found = view(site)?.submission(&key)?;
    let (one, mut jobs) = found.ok_or_else(PageError::no_such_submission)?;
    jobs.sort_by_key(|job| ORDER.iter().position(|state| *state == job.state));
    let (purpose, command) = command(&quoted(&key), &jobs);
    let title = format!("Submission {}", short(&key));
    let body = body(&one, &jobs, fields);
    Ok(fleet_page(site, &title, FleetPage::Jobs, (purpose, &command), &body))
}

/// What its reader may want to type next, with the purpose.
fn command(key: &str, jobs: &[FleetJob]) -> (&'static str, String) {
    if jobs.iter().any(|job| job.state == JobState::Unknown) {
        let purpose =
            "To run unknown jobs again after a look at their drives (--failed gives them up)";
        (purpose, format!("decide {key} --again"))
    } else if jobs.iter().any(|job| !job.state.has_ended()) {
        ("To cancel it", format!("cancel {key}"))
    } else {
        ("The same in a terminal", format!("status {key}"))
    }
}

fn body(one: &ListedSubmission, jobs: &[FleetJob], fields: &Fields) -> Markup {
    let key = &one.submission.key;
    let asked = fields.text("state").and_then(|name| JobState::parse(&name));
    let page = fields.number("page").unwrap_or(1);
    let is_found = |job: &&FleetJob| asked.is_none_or(|state| job.state == state);
    let found: Vec<&FleetJob> = jobs.iter().filter(is_found).collect();
    let at = |state: Option<JobState>, page: u32| {
        let state = state.map_or("", JobState::name);
        let page = if page > 1 { page.to_string() } else { String::new() };
        address("/fleet/submission", &[("key", key), ("state", state), ("page", &page)])
    };
    html! {
        p.small { a href="/fleet/jobs" { "All submissions" } }
        h1 { "Submission " (short(key)) }
        p.answer { (words(&one.counts, one.overdue)) }
        (state_bar(&one.counts, one.overdue))
        (facts(one))
        nav aria-label="Jobs by state" {
            ul.actions {
                li { a href=(at(None, 1)) aria-current=[asked.is_none().then_some("true")] {
                    "All " (whole(jobs.len() as u64))
                } }
                @for state in ORDER {
                    @let count = jobs.iter().filter(|job| job.state == state).count();
                    @if count > 0 {
                        li { a href=(at(Some(state), 1)) aria-current=[(asked == Some(state)).then_some("true")] {
                            (whole(count as u64)) " " (state.name())
                        } }
                    }
                }
            }
        }
        @if found.is_empty() { p { "No job is in this state." } }
        @else {
            (jobs_table(rows_of(&found, page), one.starts_in_s.is_some()))
            (pager(found.len(), page, |page| at(asked, page)))
        }
    }
}

fn facts(one: &ListedSubmission) -> Markup {
    let submission = &one.submission;
    let plan = &submission.plan;
    html! {
        dl.facts {
            dt { "Suite" }
            dd {
                (short(&plan.suite)) ", level " (plan.level.name())
                @if plan.expected_s > 0.0 { ", about " (Secs(plan.expected_s.round())) " a drive" }
            }
            dt { "Drives" }
            dd { (selected(&submission.selector)) }
            dt { "Submitted" }
            dd {
                (rough_time(one.submitted_s_ago)) " ago by " (short(&submission.submitted_by))
                @if let Some(words) = start(one) { "; " (words) }
                @if submission.cancelled { "; " strong { "cancelled" } }
            }
        }
    }
}

fn jobs_table(jobs: &[&FleetJob], with_start: bool) -> Markup {
    let heads = ["drive", "host", "state", "what happens or happened", "run"];
    let mut columns = Vec::from(heads.map(ListColumn::Text));
    columns.extend(with_start.then_some(ListColumn::Number("began late by")));
    table("Jobs", &columns, &html! { @for job in jobs { (row(job, with_start)) } })
}

fn row(job: &FleetJob, with_start: bool) -> Markup {
    let is_bad = matches!(job.state, JobState::Failed | JobState::Refused | JobState::Unknown);
    html! {
        tr {
            th scope="row" { (short(&job.name)) span.small { (short(&job.drive.replace('|', " · "))) } }
            td { a href=(address("/fleet/drives", &[("host", &job.host_id)])) { (short(&job.host)) } }
            td {
                @if is_bad { strong.bad { "▲ " (job.state.name()) } } @else { (job.state.name()) }
                @if job.attempt > 1 { span.small { "attempt " (job.attempt) } }
            }
            td { (progress(job)) }
            td {
                @match &job.run_id {
                    Some(id) => a href={ "/runs/" (id) } { (short(id)) },
                    None => "–",
                }
            }
            @if with_start {
                td.number { @match job.skew_ms { Some(ms) => { (rounded(ms)) " ms" } None => "–" } }
            }
        }
    }
}

/// What a running job does; of one that has ended, why it has no result.
fn progress(job: &FleetJob) -> Markup {
    let done = job.done.filter(|done| done.is_finite()).map(|done| percent(done.clamp(0.0, 1.0)));
    html! {
        @if let Some(overdue_s) = job.overdue_s {
            strong { "▲ its agent is silent, " (rough_time(overdue_s)) " overdue" } " "
        }
        @if let Some(phase) = &job.phase { (short(phase)) " " }
        @if let Some(done) = done { "(" (done) ") " }
        @if let Some(message) = &job.message { (message) }
        @if let Some(code) = job.exit_code.filter(|code| *code != 0) { span.small { "exit code " (code) } }
        @if job.state == JobState::Unknown && job.message.is_none() {
            "its agent was lost while the job might write: look at the drive, then decide"
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{EVIL, fleet_job, listed_submission};

    fn shown(jobs: &[FleetJob], query: &str) -> String {
        let mut one = listed_submission("nightly");
        one.counts = JobState::ALL
            .map(|state| (state, jobs.iter().filter(|job| job.state == state).count() as u64))
            .to_vec();
        body(&one, jobs, &Fields::parse(query.as_bytes())).into_string()
    }

    #[test]
    fn job_shows_its_phase_its_run_or_its_message() {
        let mut running = fleet_job("sda", JobState::Running);
        (running.phase, running.done) = (Some("transfer seq1m".to_string()), Some(0.437));
        running.overdue_s = Some(40.0);
        let mut failed = fleet_job("sdb", JobState::Failed);
        (failed.message, failed.exit_code) = (Some("sdb: I/O error".to_string()), Some(4));
        failed.attempt = 3;
        let mut done = fleet_job("sdc", JobState::Done);
        done.run_id = Some("0123456789ab".to_string());
        let page = shown(&[running, failed, done], "");
        for part in [
            "transfer seq1m (43 %)",
            "its agent is silent, 40 s overdue",
            "sdb: I/O error",
            "exit code 4",
            "attempt 3",
            "href=\"/runs/0123456789ab\"",
            "1 done, 1 running, 1 failed",
            "/fleet/submission?key=nightly&amp;state=failed",
        ] {
            assert!(page.contains(part), "{part}: {page}");
        }
        assert!(!page.contains("began late by"));
    }

    #[test]
    fn command_follows_the_states() {
        for (states, expected) in [
            (&[JobState::Done][..], "status k"),
            (&[JobState::Done, JobState::Waiting], "cancel k"),
            (&[JobState::Unknown, JobState::Waiting], "decide k --again"),
        ] {
            let jobs: Vec<FleetJob> = states.iter().map(|it| fleet_job("sda", *it)).collect();
            assert_eq!(command("k", &jobs).1, expected);
        }
    }

    #[test]
    fn states_are_filtered_and_cut_into_pages() {
        let mut jobs = vec![fleet_job("sdx", JobState::Failed)];
        jobs.extend((0..10_000).map(|n| fleet_job(&format!("d{n}"), JobState::Waiting)));
        let page = shown(&jobs, "state=waiting&page=3");
        assert!(
            page.contains("page 3 of 50") && page.contains(">d400<") && !page.contains(">sdx<")
        );
        assert!(page.contains("key=nightly&amp;state=waiting&amp;page=4"), "{page}");
        assert!(page.len() < 300_000);
        assert!(shown(&jobs, "state=failed").contains(">sdx<"));
        assert!(shown(&jobs, "state=unknown").contains("No job is in this state"));
    }

    #[test]
    fn texts_of_jobs_are_text() {
        let mut job = fleet_job(EVIL, JobState::Failed);
        for text in [&mut job.host, &mut job.host_id, &mut job.drive] {
            *text = EVIL.to_string();
        }
        for text in [&mut job.phase, &mut job.run_id, &mut job.message] {
            *text = Some(EVIL.to_string());
        }
        let page = shown(&[job], "state=%3Cscript%3E");
        assert!(!page.contains("<script") && page.contains("&lt;script"));
    }
}
