//! The figures of a test as tables: a row for each cell, a column for each quantity. Cells that have other quantities
//! stand in another table, so that no column is empty.

use crate::terminal::{cells, find};
use crate::workloads::{name_of_cell, title};
use drivescope_model::number::{latency_us, rounded};
use drivescope_model::{Metric, Secs, TestResult};
use maud::{Markup, html};

/// Quantities with their column heads. Others are in the document.
const COLUMNS: [(&str, &str); 16] = [
    ("run_s", "time"),
    ("time_s", "time"),
    ("mb_s", "MB/s"),
    ("mean_mb_s", "mean, MB/s"),
    ("iops", "per second"),
    ("statements_s", "statements per second"),
    ("commits_s", "commits per second"),
    ("flushed_iops", "flushed, per second"),
    ("drive_iops", "drive itself, per second"),
    ("lat_p50_us", "median wait"),
    ("lat_p99_us", "99 %"),
    ("lat_p99_9_us", "99.9 %"),
    ("lat_max_us", "slowest"),
    ("access_mean_ms", "access, ms"),
    ("start_mb_s", "start, MB/s"),
    ("end_mb_s", "end, MB/s"),
];

/// A longer table is folded behind its chart.
const ROWS_SHOWN: usize = 16;

/// More tables are folded.
const TABLES_SHOWN: usize = 3;

/// Columns that have room beside a chart.
const COLUMNS_BESIDE: usize = 4;

/// Two cells share a table if they have this share of all their quantities in common.
const COMMON_MIN: f64 = 0.85;

/// Cells and the columns that any of them has.
type CellGroup<'r> = (Vec<&'r str>, Vec<(&'static str, &'static str)>);

pub fn tables(result: &TestResult) -> Markup {
    let groups = groups(result);
    let all = html! { div.tables { @for group in &groups { (table(result, group)) } } };
    html! {
        @if groups.len() > TABLES_SHOWN { details.screen { summary { "All figures" } (all) } }
        @else { (all) }
    }
}

/// Whether the tables fit beside a chart.
pub fn are_narrow(result: &TestResult) -> bool {
    groups(result).iter().all(|(_, columns)| columns.len() <= COLUMNS_BESIDE)
}

fn groups(result: &TestResult) -> Vec<CellGroup<'_>> {
    let mut groups: Vec<CellGroup<'_>> = Vec::new();
    for cell in cells(result) {
        let columns: Vec<_> =
            COLUMNS.into_iter().filter(|(quantity, _)| is_told(result, cell, quantity)).collect();
        if columns.is_empty() {
            continue;
        }
        let is_alike = |group: &&mut CellGroup<'_>| {
            let common = columns.iter().filter(|column| group.1.contains(column)).count();
            let all = columns.len() + group.1.len() - common;
            common as f64 >= COMMON_MIN * all as f64
        };
        match groups.iter_mut().find(is_alike) {
            Some((cells, all)) => {
                cells.push(cell);
                all.retain(|column| !columns.contains(column));
                all.extend(columns);
                all.sort_by_key(|column| COLUMNS.iter().position(|it| it == column));
            }
            None => groups.push((vec![cell], columns)),
        }
    }
    groups
}

/// Whether a cell has this quantity, and it says something: bytes say little of small requests, which are counted.
fn is_told(result: &TestResult, cell: &str, quantity: &str) -> bool {
    let has = |quantity| find(result, cell, quantity).is_some();
    let is_counted = ["iops", "statements_s", "commits_s"].into_iter().any(has);
    has(quantity) && !(quantity == "mb_s" && is_counted && !cell.starts_with("seq"))
}

fn table(result: &TestResult, (cells, columns): &CellGroup<'_>) -> Markup {
    let name = title(result.test);
    let drawn = html! {
        div.scroll tabindex="0" role="region" aria-label={ (name) ": figures of " (name_of_cell(result, cells[0])) } {
            table {
                thead { tr {
                    td {}
                    @for (_, head) in columns { th.number scope="col" { (head) } }
                } }
                tbody { @for cell in cells { tr {
                    th scope="row" { (name_of_cell(result, cell)) }
                    @for (quantity, _) in columns { (field(find(result, cell, quantity))) }
                } } }
            }
        }
    };
    html! {
        @if cells.len() > ROWS_SHOWN {
            details.screen { summary { (cells.len()) " rows of figures" } (drawn) }
        } @else { (drawn) }
    }
}

fn field(metric: Option<&Metric>) -> Markup {
    // Not measured, or not yet.
    let Some(metric) = metric.filter(|metric| metric.value.is_finite()) else {
        return html! { td.number { "–" } };
    };
    let text = |value: f64| match metric.unit.as_str() {
        "us" => latency_us(value),
        "s" => Secs(value).to_string(),
        _ => rounded(value),
    };
    let (low, high) = (text(metric.low), text(metric.high));
    html! {
        td.number {
            (text(metric.value))
            @if !metric.valid { " !" }
            @if metric.rounds.len() > 1 && low != high { span.small { (low) "–" (high) } }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{hard_disk_tiny_writes, hard_disk_transfer, measured, must_have};
    use drivescope_model::TestKind;

    #[test]
    fn columns_of_dashes_are_tables_of_their_own() {
        for result in [hard_disk_tiny_writes(), hard_disk_transfer()] {
            let page = tables(&result).into_string();
            let (fields, dashes) = (page.matches("<td").count(), page.matches(">–<").count());
            assert!(dashes * 10 < fields, "{dashes} of {fields}");
        }
    }

    #[test]
    fn zones_are_folded_and_named() {
        let zones: Vec<(String, f64)> =
            (1..=30).map(|i| (format!("zone{i:02}.mb_s"), 180.0 - f64::from(i))).collect();
        let mut metrics: Vec<(&str, f64)> = vec![("read.mean_mb_s", 130.0)];
        metrics.extend(zones.iter().map(|(key, value)| (key.as_str(), *value)));
        let page = tables(&measured(TestKind::Surface, &metrics)).into_string();
        let (shown, folded) = page.split_once("<details").unwrap();
        assert!(shown.contains("130") && !shown.contains("Zone"), "{shown}");
        must_have(folded, &["30 rows of figures", "Zone 1<", "Zone 30<"]);
        assert!(!page.contains("–"), "{page}");
    }
}
