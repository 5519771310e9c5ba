//! `latency`: one row per span at depth 1 and per open loop.

use super::WorkloadReport;
use crate::criteria::{Criterion, Evidence};
use crate::terminal::{
    Column, Figure, Paragraph, Role, Style, TextCell, TextTable, WIDTH, cells, find, headed,
};
use drivescope_model::number::rounded;
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
    measures_criteria: |suite| suite.latency.block == SMALL_REQUEST,
    ..WorkloadReport::new(TestKind::Latency, table)
};

fn table(result: &TestResult, style: Style) -> String {
    let cells = cells(result);
    if cells.is_empty() {
        return String::new();
    }
    let figures = |quantity: &str, figure: fn(Option<&Metric>) -> Figure| {
        cells.iter().map(|cell| figure(find(result, cell, quantity))).collect::<Vec<_>>()
    };
    let mut names = vec![TextCell::title("latency")];
    names.extend(cells.iter().map(|cell| TextCell::plain(label(cell, span_of(result, cell)))));
    let asked: Vec<Figure> = cells
        .iter()
        .map(|cell| match find(result, cell, "offered_iops") {
            None => Figure::Blank,
            metric => Figure::of(metric, rounded),
        })
        .collect();
    let open_loop = asked.iter().any(|figure| matches!(figure, Figure::Value { .. }));
    let table = |interval: bool, p99_9: bool| {
        let iops = if interval { Figure::with_interval } else { plain };
        let mut columns = vec![
            names.clone(),
            headed(if open_loop { "asked" } else { "" }, &asked),
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
        .find(|table| table.natural_width() <= WIDTH)
        .unwrap_or_else(|| table(false, false));
    let mut text = out.render(style);
    if open_loop {
        let mut note = "where a rate is asked, latency counts from the moment each request was due"
            .to_string();
        if cells.iter().any(|cell| cell.starts_with("poisson")) {
            note += "; Poisson arrivals come by chance, so a round may be asked more or less";
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

/// How much of the target a cell's requests were spread over, if the document says so.
fn span_of(result: &TestResult, cell: &str) -> Option<Bytes> {
    result.phases.iter().find(|phase| phase.cell == cell)?.span_bytes.map(Bytes)
}

/// A size: binary where it is meant so (`1 GiB`), decimal as drives are sold otherwise.
fn size(bytes: Bytes) -> String {
    if bytes.0.is_multiple_of(1 << 20) { bytes.binary() } else { bytes.to_string() }
}

/// A row's name: `span12_5` is `Q1, 12.5 %, 500 GB`, `poisson_50pct` is `Poisson, 50 % load`. The size keeps a
/// small file from being taken for the drive; documents of before have none.
fn label(cell: &str, bytes: Option<Bytes>) -> String {
    let number = |text: &str| text.replace('_', ".").parse::<f64>().ok();
    if let Some(span) = cell.strip_prefix("span").and_then(number) {
        return match (span >= 100.0, bytes) {
            (true, Some(bytes)) => format!("Q1, whole {}", size(bytes)),
            (true, None) => "depth 1, whole span".to_string(),
            (false, Some(bytes)) => format!("Q1, {span} %, {}", size(bytes)),
            (false, None) => format!("depth 1, first {span} %"),
        };
    }
    let (arrivals, rate) = match cell.split_once('_') {
        Some(("poisson", rate)) => ("Poisson", rate),
        Some(("fixed", rate)) => ("fixed", rate),
        _ => return cell.to_string(),
    };
    if let Some(share) = rate.strip_suffix("pct").and_then(number) {
        return format!("{arrivals}, {share} % load");
    }
    number(rate).map_or_else(|| cell.to_string(), |rate| format!("{arrivals}, {}/s", rounded(rate)))
}

#[cfg(test)]
mod tests {
    use super::label;
    use drivescope_model::Bytes;

    #[test]
    fn cells_have_readable_names() {
        for (cell, name) in [
            ("span100", "depth 1, whole span"),
            ("span12_5", "depth 1, first 12.5 %"),
            ("span1", "depth 1, first 1 %"),
            ("poisson_50pct", "Poisson, 50 % load"),
            ("poisson_12_5pct", "Poisson, 12.5 % load"),
            ("fixed_1000", "fixed, 1,000/s"),
            ("fixed_fast", "fixed_fast"),
            ("spanner", "spanner"),
        ] {
            assert_eq!(label(cell, None), name);
        }
        let whole = Some(Bytes::gib(1));
        assert_eq!(label("span100", whole), "Q1, whole 1 GiB");
        assert_eq!(label("span12_5", Some(Bytes::mib(128))), "Q1, 12.5 %, 128 MiB");
        assert_eq!(label("span1", Some(Bytes(40_007_868_416))), "Q1, 1 %, 40.0 GB");
        assert_eq!(label("poisson_50pct", whole), "Poisson, 50 % load");
    }
}
