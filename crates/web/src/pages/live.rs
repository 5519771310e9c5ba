//! A run in progress that a browser has started.

use super::layout::{SitePart, page};
use crate::browser_run::BrowserRun;
use crate::run_board::BoardState;
use crate::site::Site;
use axum::response::Html;
use drivescope_report::page::so_far;
use maud::{Markup, html};

/// Seconds after which a page without a script is loaded again.
const REFRESH_S: u32 = 3;

/// The page of a run: progress, figures so far, and a way to stop it; after its end, how it ended.
pub fn live(site: &Site, run: &BrowserRun) -> Html<String> {
    let state = run.board.borrow().clone();
    let target = &run.wish.target;
    let label = run.wish.label.as_ref().map(|label| format!(" · {label}"));
    let body = html! {
        p.small {
            "suite " (run.wish.suite) " · level " (run.wish.level.name()) (label.unwrap_or_default())
        }
        @match &state.end {
            Some(end) => {
                h1 { "Measured " (target) }
                p.answer { (end.message) }
                ul.actions {
                    @if let Some(id) = &end.stored { li { a href={ "/runs/" (id) } { "The run" } } }
                    li { a href="/runs" { "All runs" } }
                }
            }
            None => {
                h1 { "Measuring " (target) }
                div #live data-events={ "/live/" (run.number) "/events" } {
                    progress #share max="1" value=(state.share) aria-label="the test in progress" {}
                    p #line { (state.line) }
                }
                @if run.is_stopping() {
                    p role="status" { "Stopping: what was measured is kept." }
                } @else {
                    form action={ "/live/" (run.number) "/stop" } method="post" {
                        button type="submit" { "Stop, and keep what was measured" }
                    }
                }
            }
        }
        div #measured { (measured(site, &state)) }
    };
    let refresh = state.end.is_none().then_some(REFRESH_S);
    page(&format!("Measuring {target}"), SitePart::Measure, refresh, &body)
}

fn measured(site: &Site, state: &BoardState) -> Markup {
    let question = |test| site.workbench.question(test).to_string();
    html! {
        @if let Some(run) = &state.run { (so_far(run, |result| question(result.test))) }
    }
}

/// The state for the script: one JSON object.
pub fn live_event(site: &Site, state: &BoardState) -> String {
    serde_json::json!({
        "share": state.share,
        "line": state.line,
        "measured": measured(site, state).into_string(),
        "ended": state.end.is_some(),
    })
    .to_string()
}
