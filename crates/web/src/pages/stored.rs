//! Stored runs as `drivescope report` shows them: one, several side by side, all of a drive; and what scripts take.

use super::error::PageError;
use super::layout::{SitePart, page};
use crate::form::{Fields, address};
use crate::site::Site;
use axum::http::header;
use axum::response::{Html, IntoResponse};
use drivescope_model::{Run, TestResult};
use drivescope_report::export::csv::metrics_csv;
use drivescope_report::page::{comparison_page, history_page, page as run_page};
use drivescope_store::{DriveRuns, FoundDrive, to_json};
use maud::{Markup, html};

/// Differences below this are practically none, as in `compare`.
const BAND: f64 = 0.03;
/// Most runs side by side: more columns are unreadable.
pub const COMPARED_MAX: usize = 20;
/// Runs of a history, the newest.
const HISTORY_MAX: u32 = 100;

pub fn run(site: &Site, id: &str) -> Result<Html<String>, PageError> {
    let run = site.open_store()?.get(id)?;
    let content = run_page(&run, question(site));
    let body = html! {
        (actions(&run))
        (content.body)
    };
    Ok(page(site, &content.title, SitePart::Runs, None, &body))
}

fn actions(run: &Run) -> Markup {
    let again = [("target", run.target.path.as_str()), ("suite", run.plan.suite.name.as_str())];
    html! {
        nav aria-label="This run" {
            ul.actions {
                li { a href="/runs" { "All runs" } }
                // By the run: a dock has one serial number for whatever lies in it.
                @if run.drive.is_some() {
                    li { a href=(address("/history", &[("drive", &run.id)])) { "History of this drive" } }
                }
                li { a href=(address("/measure", &again)) { "Measure again" } }
                li { a href={ "/runs/" (run.id) "/metrics.csv" } { "Figures (CSV)" } }
                li { a href={ "/runs/" (run.id) "/document.json" } { "Document (JSON)" } }
            }
        }
    }
}

pub fn document(site: &Site, id: &str) -> Result<impl IntoResponse + use<>, PageError> {
    let run = site.open_store()?.get(id)?;
    Ok(download("application/json", &format!("{}.json", run.id), to_json(&run)))
}

pub fn metrics(site: &Site, id: &str) -> Result<impl IntoResponse + use<>, PageError> {
    let run = site.open_store()?.get(id)?;
    let table = metrics_csv(std::slice::from_ref(&run));
    Ok(download("text/csv; charset=utf-8", &format!("{}.csv", run.id), table))
}

fn download(kind: &'static str, name: &str, text: String) -> impl IntoResponse + use<> {
    let disposition = format!("attachment; filename=\"drivescope-{name}\"");
    ([(header::CONTENT_TYPE, kind.to_string()), (header::CONTENT_DISPOSITION, disposition)], text)
}

/// Runs side by side: all are compared with the one that is named as the baseline, or else with the first.
pub fn compare(site: &Site, fields: &Fields) -> Result<Html<String>, PageError> {
    let mut names: Vec<&str> = Vec::new();
    let baseline = fields.text("baseline");
    let first = fields.all("run").filter(|name| baseline.as_deref() == Some(name));
    for name in first.chain(fields.all("run")) {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    if !(2..=COMPARED_MAX).contains(&names.len()) {
        let message = format!("Choose two to {COMPARED_MAX} runs to compare.");
        return Err(PageError::unsuitable("Nothing to compare", message));
    }
    let store = site.open_store()?;
    let runs = names.iter().map(|name| store.get(name)).collect::<Result<Vec<Run>, _>>()?;
    let comparison = drivescope_report::compare(&runs, BAND, false);
    let content = comparison_page(&comparison, &runs, question(site), |i| {
        Some(with_baseline(&names, names[i]))
    });
    let body = html! {
        nav { ul.actions { li { a href="/runs" { "All runs" } } } }
        (content.body)
    };
    Ok(page(site, &content.title, SitePart::Runs, None, &body))
}

fn with_baseline(names: &[&str], baseline: &str) -> String {
    let runs = names.iter().map(|name| ("run", *name));
    address("/compare", &runs.chain([("baseline", baseline)]).collect::<Vec<_>>())
}

pub fn history(site: &Site, fields: &Fields) -> Result<Html<String>, PageError> {
    let drive = fields.text("drive").unwrap_or_default();
    match site.open_store()?.runs_of_drive(&drive, None, HISTORY_MAX)? {
        FoundDrive::One(DriveRuns { name, mut runs, unreadable }) => {
            // Oldest first, in the order of the store.
            runs.reverse();
            let mut history = drivescope_report::history(runs, name);
            history.left_out.extend(unreadable);
            let content = history_page(&history, |id| Some(format!("/runs/{id}")));
            Ok(page(site, &content.title, SitePart::Runs, None, &content.body))
        }
        FoundDrive::None => {
            let message = format!("No stored run is of a drive with “{drive}” in its name.");
            Err(PageError::unsuitable("No such drive", message))
        }
        FoundDrive::Several { listed, .. } => {
            let message = format!(
                "“{drive}” names more than one drive: {listed}. The page of a run links to the history of its drive."
            );
            Err(PageError::unsuitable("More than one drive", message))
        }
    }
}

fn question(site: &Site) -> impl Fn(&TestResult) -> String {
    |result| site.workbench.question(result.test).to_string()
}
