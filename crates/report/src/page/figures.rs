//! The figures of a test as a table: a row for each cell, a column for each quantity that several cells have.

use crate::terminal::{cells, find};
use drivescope_model::number::{latency_us, rounded};
use drivescope_model::{Metric, TestResult};
use maud::{Markup, html};

/// Quantities with their column heads. Others are in the document.
const COLUMNS: [(&str, &str); 12] = [
    ("mb_s", "MB/s"),
    ("mean_mb_s", "MB/s"),
    ("iops", "per second"),
    ("flushed_iops", "flushed"),
    ("drive_iops", "drive itself"),
    ("lat_p50_us", "median wait"),
    ("lat_p99_us", "99 %"),
    ("lat_p99_9_us", "99.9 %"),
    ("lat_max_us", "slowest"),
    ("access_mean_ms", "access, ms"),
    ("start_mb_s", "start, MB/s"),
    ("end_mb_s", "end, MB/s"),
];

pub fn table(result: &TestResult) -> Markup {
    let has = |cell: &str, quantity: &str| find(result, cell, quantity).is_some();
    let cells: Vec<&str> = cells(result)
        .into_iter()
        .filter(|cell| COLUMNS.iter().any(|(quantity, _)| has(cell, quantity)))
        .collect();
    let columns: Vec<(&str, &str)> = COLUMNS
        .into_iter()
        .filter(|(quantity, _)| cells.iter().any(|cell| has(cell, quantity)))
        .collect();
    html! {
        @if !cells.is_empty() {
            div.scroll tabindex="0" role="region" aria-label={ "figures of " (result.test) } {
                table {
                    thead { tr {
                        th scope="col" { "cell" }
                        @for (_, head) in &columns { th.number scope="col" { (head) } }
                    } }
                    tbody { @for cell in &cells { tr {
                        th scope="row" { (cell) }
                        @for (quantity, _) in &columns { (field(find(result, cell, quantity))) }
                    } } }
                }
            }
        }
    }
}

fn field(metric: Option<&Metric>) -> Markup {
    // Not measured, or not yet.
    let Some(metric) = metric.filter(|metric| metric.value.is_finite()) else {
        return html! { td.number { "–" } };
    };
    let text = |value: f64| if metric.unit == "us" { latency_us(value) } else { rounded(value) };
    let (low, high) = (text(metric.low), text(metric.high));
    html! {
        td.number {
            (text(metric.value))
            @if !metric.valid { " !" }
            @if metric.rounds.len() > 1 && low != high { span.small { (low) "–" (high) } }
        }
    }
}
