//! `latency`: one row per span at depth 1 and per open loop.

mod charts;

use super::WorkloadReport;
use crate::terminal::{
    CellRows, Column, Figure, Style, TextCell, TextTable, cells, find, note, texts, value,
};
use crate::verdict::criteria::{Criterion, Evidence};
use drivescope_model::number::{latency_us, rounded};
use drivescope_model::{Bytes, TestKind, TestResult};

/// The request whose latency the criteria mean.
const SMALL_REQUEST: Bytes = Bytes::kib(4);

const EVIDENCE: &[Evidence] = &[
    Evidence::of_reads(Criterion::RandomReadsQ1, "latency.span100.iops"),
    // Latency is what this workload is about.
    Evidence::of_reads(Criterion::RandomReadP99, "latency.span100.lat_p99_us").preferred(),
];

pub(super) const REPORT: WorkloadReport = WorkloadReport {
    title: "Waiting",
    extremes: "max",
    reads_for_a_time: true,
    evidence: EVIDENCE,
    charts: charts::charts,
    measures: |suite, _| suite.latency.block == SMALL_REQUEST,
    headline,
    name_of: |result, cell| charts::name_of(result, cell),
    phases: charts::phases,
    ..WorkloadReport::new(TestKind::Latency, table)
};

/// `Waiting: 12.1 ms as a rule, one in a hundred more than 21.1 ms`, of the widest span.
fn headline(result: &TestResult) -> Option<String> {
    let usable = |quantity: &str| {
        find(result, "span100", quantity).filter(|metric| metric.valid).map(|metric| metric.value)
    };
    let median = latency_us(usable("lat_p50_us")?);
    Some(match usable("lat_p99_us").map(latency_us) {
        Some(slow) => format!("Waiting: {median} as a rule, one in a hundred more than {slow}"),
        None => format!("Waiting: {median} as a rule"),
    })
}

fn table(result: &TestResult, style: Style) -> String {
    let rows = CellRows { result, cells: cells(result) };
    if rows.cells.is_empty() {
        return String::new();
    }
    let open_loop = rows.have("offered_iops");
    let loads: Vec<String> = rows.cells.iter().map(|cell| load(result, cell)).collect();
    let head = if loads.iter().all(String::is_empty) {
        ""
    } else if open_loop {
        "span or rate"
    } else {
        "span"
    };
    let table = |(interval, p99_9): (bool, bool)| {
        let iops = if interval { Figure::with_interval } else { Figure::plain };
        let mut columns = vec![
            rows.names("latency"),
            texts(TextCell::dim(head), &loads),
            rows.column("IOPS", "iops", iops),
            rows.column("p50", "lat_p50_us", Figure::latency),
            rows.column("p99", "lat_p99_us", Figure::latency),
        ];
        if p99_9 {
            columns.push(rows.column("p99.9", "lat_p99_9_us", Figure::latency));
        }
        columns.push(rows.column("max", "lat_max_us", Figure::latency));
        TextTable::of_columns(Column::names_and_numbers(columns.len()), columns)
    };
    // What says least goes first where the figures are too wide for a line.
    let tables = [(true, true), (false, true), (false, false)].into_iter().map(table);
    let mut text = TextTable::first_fitting(tables, style);
    if open_loop {
        let mut words = "with a target rate, latency includes queueing".to_string();
        if rows.cells.iter().any(|cell| cell.starts_with("poisson")) {
            words += "; arrivals are random, so the rate varies slightly";
        }
        text.push_str(&note(&words, style));
    }
    text
}

/// The target rate of a cell, else the share of the target that its requests covered, so that a small file is not taken
/// for the drive.
fn load(result: &TestResult, cell: &str) -> String {
    if let Some(rate) = value(result, cell, "offered_iops").filter(|rate| rate.is_finite()) {
        return format!("{}/s", rounded(rate));
    }
    let phase = result.phases.iter().find(|phase| phase.cell == cell);
    phase.and_then(|phase| phase.span_bytes).map_or(String::new(), |span| size(Bytes(span)))
}

/// Binary where it is a whole number (`1 GiB`), as files are made; else decimal as drives are sold.
fn size(bytes: Bytes) -> String {
    let binary = bytes.binary();
    if binary.contains('.') { bytes.to_string() } else { binary }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{hard_disk_latency, metric, result};
    use drivescope_model::Metric;

    #[test]
    fn a_headline_says_how_long_one_waits() {
        fn key(quantity: &str) -> String {
            format!("latency.span100.{quantity}")
        }
        fn said(metrics: Vec<Metric>) -> Option<String> {
            headline(&result(TestKind::Latency, metrics))
        }
        let median = metric(&key("lat_p50_us"), &[12_100.0]);
        let slow = metric(&key("lat_p99_us"), &[21_100.0]);
        assert_eq!(
            said(vec![median.clone(), slow]).unwrap(),
            "Waiting: 12.1 ms as a rule, one in a hundred more than 21.1 ms"
        );
        assert_eq!(said(vec![median.clone()]).unwrap(), "Waiting: 12.1 ms as a rule");
        assert_eq!(said(vec![Metric { valid: false, ..median }]), None);
    }

    #[test]
    fn spans_are_sizes_and_open_loops_have_rates() {
        let mut result = hard_disk_latency();
        for (cell, span) in [("span100", Bytes::gib(1)), ("span1", Bytes(40_007_868_416))] {
            let phases = result.phases.iter_mut().filter(|phase| phase.cell == cell);
            phases.for_each(|phase| phase.span_bytes = Some(span.0));
        }
        for (cell, text) in [("span100", "1 GiB"), ("span1", "40.0 GB"), ("fixed_1000", "1,000/s")]
        {
            assert_eq!(load(&result, cell), text);
        }
        assert_eq!(load(&result, "span12_5"), "");
    }
}
