//! A run in progress that a browser has started.

use super::layout::{SitePart, page};
use crate::browser_run::BrowserRun;
use crate::run_board::{BoardState, RateCurve, RunEnd};
use crate::site::Site;
use axum::response::{IntoResponse, Redirect, Response};
use drivescope_model::Run;
use drivescope_model::number::rounded;
use drivescope_report::page::so_far;
use maud::{Markup, html};
use std::sync::Arc;

/// Seconds after which a page without a script is loaded again.
const REFRESH_S: u32 = 3;
/// Width and height of the curve of rates, and the height of a line of text above it.
const CURVE: (f64, f64, f64) = (600.0, 110.0, 22.0);

/// The page of a run: progress, figures so far, and a way to stop it. After its end it leads to the page of the stored
/// run or, where that lacks something, says why.
pub fn live(site: &Site, run: &BrowserRun) -> Response {
    let state = run.board.borrow().clone();
    if let Some(RunEnd { stored: Some(id), is_whole: true, .. }) = &state.end {
        return Redirect::to(&format!("/runs/{id}")).into_response();
    }
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
                    progress #share max="1" value=(state.progress.share) aria-label="the whole run" {}
                    p #line { (state.progress.line) }
                    div #rate { (rate(&state)) }
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
        div #measured { @if let Some(run) = &state.run { (measured(site, run)) } }
    };
    let refresh = state.end.is_none().then_some(REFRESH_S);
    page(site, &format!("Measuring {target}"), SitePart::Measure, refresh, &body).into_response()
}

fn measured(site: &Site, run: &Run) -> Markup {
    so_far(run, |result| site.workbench.question(result.test).to_string())
}

fn rate(state: &BoardState) -> Markup {
    html! { @if let Some(curve) = &state.progress.rate { (drawn(curve)) } }
}

/// The curve of the phase in progress, from zero.
fn drawn(RateCurve { label, unit, values }: &RateCurve) -> Markup {
    let (width, height, top) = CURVE;
    let most = values.iter().copied().fold(f64::MIN_POSITIVE, f64::max);
    let step = width / (values.len().max(2) - 1) as f64;
    let points = values.iter().enumerate().map(|(i, value)| {
        let (x, y) = (i as f64 * step, height - (height - top) * value / most);
        format!("{x:.0},{y:.1}")
    });
    let points: Vec<String> = points.collect();
    let now = values.last().map(|value| rounded(*value)).unwrap_or_default();
    let words = format!("{label}: {now} {unit}; 0 to {} {unit}", rounded(most));
    html! {
        @if values.len() > 1 {
            svg.curve viewBox={ "0 0 " (width) " " (height) } role="img" aria-label=(words) {
                text x="0" y="14" { (words) }
                polyline points=(points.join(" ")) {}
            }
        }
    }
}

/// The state for the script: one JSON object. `known`: the figures that it has already.
pub fn live_event(site: &Site, state: &BoardState, known: Option<&Arc<Run>>) -> String {
    let is_known = |run: &&Arc<Run>| known.is_some_and(|known| Arc::ptr_eq(known, run));
    let news = state.run.as_ref().filter(|run| !is_known(run));
    serde_json::json!({
        "share": state.progress.share,
        "line": state.progress.line,
        "rate": rate(state).into_string(),
        "measured": news.map(|run| measured(site, run).into_string()),
        "ended": state.end.is_some(),
    })
    .to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn curve_of_rates_stays_in_its_frame_and_begins_at_zero() {
        fn curve(values: &[f64]) -> String {
            let label = "<b>".to_string();
            drawn(&RateCurve { label, unit: "MB/s", values: values.to_vec() }).into_string()
        }
        let text = curve(&[0.0, 50.0, 100.0]);
        assert!(text.contains("points=\"0,110.0 300,66.0 600,22.0\""), "{text}");
        assert!(text.contains("&lt;b&gt;: 100 MB/s; 0 to 100 MB/s"), "{text}");
        assert!(curve(&[0.0, 0.0]).contains("points=\"0,110.0 600,110.0\""));
        assert_eq!(curve(&[7.0]), "");
    }
}
