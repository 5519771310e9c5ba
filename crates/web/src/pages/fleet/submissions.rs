//! The newest submissions, each with what has become of its jobs.

use super::list::{ListColumn, table};
use super::state_bar::{state_bar, words};
use super::{FleetPage, fleet_page, rough_time, short, view};
use crate::fleet_view::ListedSubmission;
use crate::form::address;
use crate::pages::error::PageError;
use crate::site::Site;
use axum::response::Html;
use maud::{Markup, html};

/// Older ones are listed by `fleet status`, and their pages are still there.
const SHOWN_MAX: u32 = 100;

const COLUMNS: [&str; 5] = ["submission", "jobs", "suite", "drives", "submitted"];

pub fn submissions(site: &Site) -> Result<Html<String>, PageError> {
    let found = view(site)?.submissions(SHOWN_MAX)?;
    let command = ("To submit jobs", "submit quick");
    Ok(fleet_page(site, "Jobs of the fleet", FleetPage::Jobs, command, &body(&found)))
}

fn body(found: &[ListedSubmission]) -> Markup {
    html! {
        h1 { "Jobs" }
        @if found.is_empty() { p.answer { "Nothing was submitted yet." } }
        @else {
            p role="status" {
                @if found.len() < SHOWN_MAX as usize { (super::counted(found.len(), "submission")) ", the newest first" }
                @else { "The newest " (SHOWN_MAX) " submissions" }
            }
            (table("Submissions", &COLUMNS.map(ListColumn::Text), &html! { @for one in found { (row(one)) } }))
        }
    }
}

fn row(one: &ListedSubmission) -> Markup {
    let submission = &one.submission;
    html! {
        tr {
            th scope="row" {
                a href=(address("/fleet/submission", &[("key", &submission.key)])) { (short(&submission.key)) }
                @if submission.cancelled { span.small { "cancelled" } }
            }
            td.states-cell {
                (state_bar(&one.counts, one.overdue))
                span.small { (words(&one.counts, one.overdue)) }
            }
            td { (short(&submission.plan.suite)) span.small { "level " (submission.plan.level.name()) } }
            td { (selected(&submission.selector)) }
            td {
                (rough_time(one.submitted_s_ago)) " ago"
                span.small { "by " (short(&submission.submitted_by)) }
                @if let Some(words) = start(one) { span.small { (words) } }
            }
        }
    }
}

/// The expression that chose the drives.
pub fn selected(selector: &str) -> Markup {
    html! { @if selector.trim().is_empty() { "all" } @else { code { (short(selector)) } } }
}

/// When all jobs start, where that is one instant.
pub fn start(one: &ListedSubmission) -> Option<String> {
    one.starts_in_s.map(|seconds| match seconds {
        0.0.. => format!("all start in {}", rough_time(seconds)),
        _ => format!("all started {} ago", rough_time(-seconds)),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{EVIL, listed_submission};
    use drivescope_model::fleet::JobState;

    #[test]
    fn submission_shows_its_states_and_leads_to_its_jobs() {
        let mut one = listed_submission("nightly & more");
        one.counts = vec![(JobState::Done, 7), (JobState::Running, 2)];
        (one.overdue, one.starts_in_s, one.submission.cancelled) = (1, Some(-300.0), true);
        let page = body(&[one]).into_string();
        for part in [
            "/fleet/submission?key=nightly+%26+more",
            "7 done, 2 running (1 overdue)",
            "all started 5 min ago",
            "cancelled",
            "level read",
            "1 submission, the newest first",
        ] {
            assert!(page.contains(part), "{part}: {page}");
        }
        assert!(body(&[]).into_string().contains("Nothing was submitted yet"));
    }

    #[test]
    fn names_of_submissions_are_text() {
        let mut one = listed_submission(EVIL);
        one.submission.selector = EVIL.repeat(10_000);
        one.submission.submitted_by = EVIL.to_string();
        one.submission.plan.suite = EVIL.to_string();
        let page = body(&[one]).into_string();
        assert!(!page.contains("<script") && page.contains("&lt;script") && page.len() < 5_000);
    }
}
