//! Rates by shape and direction as a table: the median large, its interval below it, latencies beside it.

use crate::figure_grid::{FigureGrid, GridField};
use crate::first_seen::grouped;
use drivescope_model::number::{latency_us, rounded};
use maud::{Markup, html};

/// A narrower interval is written as one number.
const NARROW: f64 = 0.01;

pub fn table(grid: &FigureGrid) -> Markup {
    let marked: Vec<&GridField> = grid
        .rows
        .iter()
        .flat_map(|row| &row.fields)
        .flatten()
        .filter(|field| !field.mark().is_empty())
        .collect();
    let mut findings: Vec<&str> = marked.iter().filter_map(|it| it.finding.as_deref()).collect();
    findings.sort_unstable();
    findings.dedup();
    html! {
        p.small { "Median of the rounds, below it the 95 % interval. Latency: median, below it the 99th percentile." }
        div.scroll tabindex="0" role="region" aria-label="Rates by shape and direction" {
            table.rates {
                thead { tr {
                    th scope="col" { "Q: requests in flight" }
                    @for column in &grid.columns {
                        th.number scope="col" { (column) }
                        th.number scope="col" { "latency" }
                    }
                } }
                @for (unit, rows) in grouped(grid.rows.iter().map(|row| (row.unit, row))) {
                    tbody {
                        tr { th.unit scope="rowgroup" colspan=(1 + 2 * grid.columns.len()) { (unit_words(unit)) } }
                        @for row in rows { tr {
                            th scope="row" { (row.name) }
                            @for field in &row.fields { (fields(field.as_ref())) }
                        } }
                    }
                }
            }
        }
        @if !findings.is_empty() { p.small { "* see " (findings.join(", ")) " above" } }
    }
}

fn unit_words(unit: &str) -> &str {
    if unit == "MB/s" { unit } else { "requests per second" }
}

fn fields(field: Option<&GridField>) -> Markup {
    let Some(field) = field else { return html! { td.number { "–" } td.number { "–" } } };
    let metric = field.rate;
    let [median, slow] = field.latencies_us;
    html! {
        td.number {
            strong { (rounded(metric.value)) (field.mark()) }
            @if metric.rounds.len() > 1 { span.small { (interval(metric.value, metric.low, metric.high)) } }
        }
        td.number {
            (median.map_or("–".to_string(), latency_us))
            @if let Some(slow) = slow { span.small { (latency_us(slow)) } }
        }
    }
}

/// `262–270`, or `± < 0.5 %`.
fn interval(value: f64, low: f64, high: f64) -> String {
    match (high - low) / value {
        width if width < NARROW => "± < 0.5 %".to_string(),
        _ => format!("{}–{}", rounded(low), rounded(high)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn narrow_interval_is_written_as_one_number() {
        assert_eq!(interval(266.0, 265.5, 266.4), "± < 0.5 %");
        assert_eq!(interval(182.0, 173.0, 189.0), "173–189");
    }
}
