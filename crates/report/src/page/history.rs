//! One drive over all its runs: what changed, a row for each metric with its way drawn, a row for each run.

use super::PageContent;
use crate::history::{DriveHistory, HistoryRun, MetricHistory};
use crate::text::history_sentences;
use drivescope_model::Bytes;
use drivescope_model::number::rounded;
use maud::{Markup, html};

/// Size of a drawn way.
const WIDTH: f64 = 220.0;
const HEIGHT: f64 = 40.0;
/// Room for the marks at the rim.
const RIM: f64 = 5.0;
/// Part of the largest value that a drawn metric spans at least: noise shall look like noise.
const SPAN_MIN: f64 = 0.2;

/// The page of a drive's history. `link` is where the page of the run with an id is, if there is one.
pub fn history_page(history: &DriveHistory, link: impl Fn(&str) -> Option<String>) -> PageContent {
    let size = history.capacity_bytes.map(|bytes| format!(", {}", Bytes(bytes)));
    let count = history.runs.len();
    let body = html! {
        header {
            p.small { "drivescope history · " (count) @if count == 1 { " run" } @else { " runs" } }
            h1 { (history.drive) (size.unwrap_or_default()) }
            @for sentence in history_sentences(history) { p.answer { (sentence) } }
        }
        (metrics(history))
        (runs(history, &link))
        (left_out(history, &link))
    };
    PageContent { title: format!("History of {}", history.drive), body }
}

fn metrics(history: &DriveHistory) -> Markup {
    html! {
        @if !history.rows.is_empty() {
            section {
                h2 { "Metrics" }
                p.small {
                    "Times: how many times as fast since the change, above 1 is better, for latencies too. A false \
                     change among all rows has a probability of at most 5 %. Each mark is a run, the ring where a \
                     change begins; a drawing spans at least a fifth of its largest value."
                }
                div.scroll tabindex="0" role="region" aria-label="Metrics" {
                    table {
                        thead { tr {
                            th scope="col" { "metric" }
                            th scope="col" { "unit" }
                            th.number scope="col" { "first" }
                            th.number scope="col" { "last" }
                            th scope="col" { "over the runs" }
                            th scope="col" { "times" }
                        } }
                        tbody { @for row in &history.rows { (metric(row)) } }
                    }
                }
            }
        }
    }
}

fn metric(row: &MetricHistory) -> Markup {
    let value = |at: Option<&(usize, f64)>| at.map_or(String::new(), |(_, value)| rounded(*value));
    let change = match row.change {
        None => "= none shown".to_string(),
        Some(change) => {
            let sign = if change.times < 1.0 { "▼" } else { "▲" };
            let interval = change.interval.map_or(String::new(), |(low, high)| {
                format!(" ({} to {})", rounded(low), rounded(high))
            });
            format!("{sign} {}{interval}", rounded(change.times))
        }
    };
    html! {
        tr {
            th scope="row" { (row.what) }
            td { (row.unit) }
            td.number { (value(row.values.first())) }
            td.number { (value(row.values.last())) }
            td { (drawn(row)) }
            td { (change) }
        }
    }
}

/// The values from the first run to the last, with a ring where a change begins.
fn drawn(row: &MetricHistory) -> Markup {
    let values: Vec<f64> = row.values.iter().map(|(_, value)| *value).collect();
    let low = values.iter().copied().fold(f64::INFINITY, f64::min);
    let high = values.iter().copied().fold(0.0, f64::max);
    let span = (high - low).max(high * SPAN_MIN).max(f64::MIN_POSITIVE);
    let bottom = f64::midpoint(low, high) - span / 2.0;
    let step = (WIDTH - 2.0 * RIM) / (values.len().max(2) - 1) as f64;
    let place = |(i, value): (usize, &f64)| {
        let y = HEIGHT - RIM - (value - bottom) / span * (HEIGHT - 2.0 * RIM);
        (format!("{:.1}", RIM + i as f64 * step), format!("{y:.1}"))
    };
    let places: Vec<(String, String)> = values.iter().enumerate().map(place).collect();
    let points: Vec<String> = places.iter().map(|(x, y)| format!("{x},{y}")).collect();
    let since = row.change.and_then(|it| row.values.iter().position(|(run, _)| *run == it.since));
    let words = format!("from {} to {}", rounded(low), rounded(high));
    html! {
        svg width=(WIDTH) height=(HEIGHT) viewBox=(format!("0 0 {WIDTH} {HEIGHT}")) role="img" aria-label=(words) {
            polyline points=(points.join(" ")) fill="none" stroke="currentColor" stroke-opacity="0.5" {}
            @for (x, y) in &places { circle cx=(x) cy=(y) r="2" fill="currentColor" {} }
            @if let Some((x, y)) = since.map(|at| &places[at]) {
                circle cx=(x) cy=(y) r="4.5" fill="none" stroke="currentColor" stroke-width="1.5" {}
            }
        }
    }
}

fn runs(history: &DriveHistory, link: &impl Fn(&str) -> Option<String>) -> Markup {
    html! {
        section {
            h2 { "Runs" }
            div.scroll tabindex="0" role="region" aria-label="Runs" {
                table {
                    thead { tr {
                        th scope="col" { "run" }
                        th scope="col" { "started" }
                        th scope="col" { "suite" }
                        th scope="col" { "label" }
                        th scope="col" { "new since the run before" }
                    } }
                    tbody { @for run in history.runs.iter().rev() { (one_run(run, link)) } }
                }
            }
        }
    }
}

fn one_run(run: &HistoryRun, link: &impl Fn(&str) -> Option<String>) -> Markup {
    html! {
        tr {
            th scope="row" { (linked(&run.id, link)) }
            td { (run.started_at.get(..16).unwrap_or(&run.started_at).replace('T', " ")) }
            td { (run.suite) }
            td { (run.label.as_deref().unwrap_or_default()) }
            td { (run.news.join(", ")) }
        }
    }
}

fn linked(id: &str, link: &impl Fn(&str) -> Option<String>) -> Markup {
    html! {
        @match link(id) {
            Some(to) => a href=(to) { (id) },
            None => (id),
        }
    }
}

fn left_out(history: &DriveHistory, link: &impl Fn(&str) -> Option<String>) -> Markup {
    html! {
        @if !history.left_out.is_empty() {
            section {
                details {
                    summary { "Left out: " (history.left_out.len()) }
                    ul { @for (id, why) in &history.left_out { li { (linked(id, link)) ": " (why) } } }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::history;
    use crate::testing::with_metrics;

    #[test]
    fn a_page_draws_each_metric_and_marks_its_change() {
        let value =
            |week: usize| if week < 6 { 100.0 } else { 80.0 } + (week * 7 % 5) as f64 / 10.0;
        let runs = (0..12).map(|week| {
            let mut run = with_metrics(&[("transfer.seq1m_q1t1.read.mb_s", &[value(week)])]);
            run.started_at = format!("2026-01-{:02}T10:00:00Z", week + 1);
            run.id = format!("{week:012x}");
            run
        });
        let history = history(runs.collect(), "<b>drive</b>".to_string());
        let page = history_page(&history, |id| Some(format!("/runs/{id}")));
        let body = page.body.into_string();
        assert!(!body.contains("<b>") && !body.contains("<script"));
        assert_eq!(body.matches("r=\"4.5\"").count(), 1, "{body}");
        assert_eq!(body.matches("href=\"/runs/").count(), 12);
        for part in ["▼ 0.8", "worse since 2026-01-07", "from 80 to 100"] {
            assert!(body.contains(part), "{part}: {body}");
        }
    }
}
