//! `latency`: one row per span at depth 1 and per open loop.

mod charts;

use super::WorkloadReport;
use crate::criteria::{Criterion, Evidence};
use crate::terminal::{
    Column, Figure, Paragraph, Role, Style, TextCell, TextTable, cells, find, headed, value,
};
use drivescope_model::number::{latency_us, rounded};
use drivescope_model::{Bytes, Metric, TestKind, TestResult};

/// The request whose latency the criteria mean.
const SMALL_REQUEST: Bytes = Bytes::kib(4);

const EVIDENCE: &[Evidence] = &[
    Evidence::of_reads(Criterion::RandomReadsQ1, "latency.span100.iops"),
    // Latency is what this workload is about.
    Evidence::of_reads(Criterion::RandomReadP99, "latency.span100.lat_p99_us").preferred(),
];

pub(super) const REPORT: WorkloadReport = WorkloadReport {
    extremes: "max",
    reads_for_a_time: true,
    evidence: EVIDENCE,
    charts: charts::charts,
    measures: |suite, _| suite.latency.block == SMALL_REQUEST,
    headline,
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
    let cells = cells(result);
    if cells.is_empty() {
        return String::new();
    }
    let figures = |quantity: &str, figure: fn(Option<&Metric>) -> Figure| {
        cells.iter().map(|cell| figure(find(result, cell, quantity))).collect::<Vec<_>>()
    };
    let mut names = vec![TextCell::title("latency")];
    names.extend(cells.iter().map(|cell| TextCell::plain(*cell)));
    let open_loop = cells.iter().any(|cell| find(result, cell, "offered_iops").is_some());
    let loads: Vec<String> = cells.iter().map(|cell| load(result, cell)).collect();
    let head = match loads.iter().all(String::is_empty) {
        true => "",
        false if open_loop => "span or rate",
        false => "span",
    };
    let loads: Vec<TextCell> =
        std::iter::once(TextCell::dim(head)).chain(loads.iter().map(TextCell::plain)).collect();
    let table = |interval: bool, p99_9: bool| {
        let iops = if interval { Figure::with_interval } else { plain };
        let mut columns = vec![
            names.clone(),
            loads.clone(),
            headed("IOPS", &figures("iops", iops)),
            headed("p50", &figures("lat_p50_us", Figure::latency)),
            headed("p99", &figures("lat_p99_us", Figure::latency)),
        ];
        if p99_9 {
            columns.push(headed("p99.9", &figures("lat_p99_9_us", Figure::latency)));
        }
        columns.push(headed("max", &figures("lat_max_us", Figure::latency)));
        TextTable::of_columns(Column::names_and_numbers(columns.len()), columns)
    };
    // What says least goes first where the figures are too wide for a line.
    let out = [(true, true), (false, true), (false, false)]
        .into_iter()
        .map(|(interval, p99_9)| table(interval, p99_9))
        .find(|table| table.fits(style))
        .unwrap_or_else(|| table(false, false));
    let mut text = out.render(style);
    if open_loop {
        let mut note = "with a target rate, latency includes queueing".to_string();
        if cells.iter().any(|cell| cell.starts_with("poisson")) {
            note += "; arrivals are random, so the rate varies slightly";
        }
        text.push_str(
            &Paragraph::new().lead(Role::Dim, "  ").text(Role::Dim, &note).lines(2, style),
        );
    }
    text
}

fn plain(metric: Option<&Metric>) -> Figure {
    Figure::of(metric, rounded)
}

/// What a cell was measured under: the rate that was asked of it, or else how much of the target its requests were
/// spread over, which keeps a small file from being taken for the drive. Documents of before have no spans.
fn load(result: &TestResult, cell: &str) -> String {
    if let Some(rate) = value(result, cell, "offered_iops").filter(|rate| rate.is_finite()) {
        return format!("{}/s", rounded(rate));
    }
    let phase = result.phases.iter().find(|phase| phase.cell == cell);
    phase.and_then(|phase| phase.span_bytes).map_or(String::new(), |span| size(Bytes(span)))
}

/// A size: binary where it is meant so (`1 GiB`), decimal as drives are sold otherwise.
fn size(bytes: Bytes) -> String {
    if bytes.0.is_multiple_of(1 << 20) { bytes.binary() } else { bytes.to_string() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{hard_disk_latency, metric, result};

    #[test]
    fn a_headline_says_how_long_one_waits() {
        let key = |quantity: &str| format!("latency.span100.{quantity}");
        let median = metric(&key("lat_p50_us"), &[12_100.0]);
        let slow = metric(&key("lat_p99_us"), &[21_100.0]);
        let said = |metrics| headline(&result(TestKind::Latency, metrics));
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
        assert_eq!(load(&result, "span12_5"), "", "a document of before");
    }
}
