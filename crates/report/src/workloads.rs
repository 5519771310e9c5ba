//! What report knows of each workload: its table, how to read that, and its evidence for verdicts. A new one takes a
//! module of its own, with its charts, and a line in [`WORKLOADS`].

mod align;
mod apps;
mod copy;
pub(crate) mod facts;
mod file_rates;
mod fill;
mod fill_files;
mod geometry;
mod latency;
mod rates;
mod read_files;
pub(crate) mod self_test;
mod sql;
mod steady;
mod surface;
mod tiny_writes;
mod transfer;
mod verify;

pub use align::phybs_table::phybs_table;

use crate::chart::Chart;
use crate::chart::over_time::phases;
use crate::chart::plain_words::capitalized;
use crate::chart::plain_words::cell_words;
use crate::figure_grid::FigureGrid;
use crate::terminal::Style;
use crate::verdict::criteria::{Criterion, Evidence};
use drivescope_model::{Cell, Metric, Run, Suite, TestKind, TestResult};
use facts::FoundFact;

pub(crate) struct WorkloadReport {
    /// The heading of its figures.
    pub(crate) title: &'static str,
    pub(crate) test: TestKind,
    /// Empty where there is nothing to show.
    pub(crate) table: fn(&TestResult, Style) -> String,
    pub(crate) charts: fn(&TestResult) -> Vec<Chart>,
    pub(crate) headline: fn(&TestResult) -> Option<String>,
    /// What it found, in lines; empty where the figures say it all.
    pub(crate) facts: fn(&TestResult) -> Vec<FoundFact>,
    /// A cell in words of people who do not know the keys.
    pub(crate) name_of: fn(&TestResult, &str) -> String,
    /// The uses that this test alone says something about; `None`: all.
    pub(crate) suits: Option<&'static [&'static str]>,
    pub(crate) grid: for<'r> fn(&'r TestResult) -> Option<FigureGrid<'r>>,
    /// Cells whose rounds are drawn over time, most important first: key without the test, and name.
    pub(crate) phases: fn(&TestResult) -> Vec<(String, String)>,
    /// Table during the run: its most useful columns.
    pub(crate) brief: fn(&TestResult, Style) -> String,
    /// Whether the table already contains the reason of a finished test.
    pub(crate) tells_reason: bool,
    /// Columns of the table that are extremes over all rounds, not medians.
    pub(crate) extremes: &'static str,
    /// It reads for a set time, so the bytes read are an estimate.
    pub(crate) reads_for_a_time: bool,
    /// It writes for a set time, so the bytes written are a bound.
    pub(crate) writes_for_a_time: bool,
    /// Metrics for verdicts, the best of a criterion first.
    pub(crate) evidence: &'static [Evidence],
    /// Whether a suite asks for the requests and places that a criterion means: options may ask for others under the
    /// same key.
    pub(crate) measures: fn(&Suite, Criterion) -> bool,
}

impl WorkloadReport {
    const fn new(test: TestKind, table: fn(&TestResult, Style) -> String) -> Self {
        Self {
            test,
            title: "",
            table,
            charts: |_| Vec::new(),
            headline: |_| None,
            facts: |_| Vec::new(),
            name_of: |_, cell| plain_name(cell),
            suits: None,
            grid: |_| None,
            phases: |_| Vec::new(),
            brief: table,
            tells_reason: false,
            extremes: "",
            reads_for_a_time: false,
            writes_for_a_time: false,
            evidence: &[],
            measures: |_, _| true,
        }
    }
}

/// `Random 4 KiB, Q32, read` of a cell of that kind, `Zone 3`, `Read`; else the key without its separators.
fn plain_name(cell: &str) -> String {
    if let Ok(cell) = cell.parse::<Cell>() {
        return capitalized(&cell_words(&cell));
    }
    match cell.strip_prefix("zone").and_then(|number| number.parse::<u32>().ok()) {
        Some(number) => format!("Zone {number}"),
        None => capitalized(&cell.split(['_', '.']).map(plain_word).collect::<Vec<_>>().join(" ")),
    }
}

fn plain_word(part: &str) -> String {
    match part {
        "rnd" => "random".to_string(),
        "seq" => "sequential".to_string(),
        part => match part.strip_prefix('q').filter(|depth| depth.parse::<u32>().is_ok()) {
            Some(depth) => format!("Q{depth}"),
            None => part.to_string(),
        },
    }
}

/// In the order in which their evidence counts.
const WORKLOADS: [&WorkloadReport; 15] = [
    &transfer::REPORT,
    &latency::REPORT,
    &surface::REPORT,
    &tiny_writes::REPORT,
    &align::REPORT,
    &fill::REPORT,
    &verify::REPORT,
    &apps::REPORT,
    &copy::REPORT,
    &fill_files::REPORT,
    &read_files::REPORT,
    &steady::REPORT,
    &sql::REPORT,
    &geometry::REPORT,
    &self_test::REPORT,
];

pub(crate) fn workload(test: TestKind) -> &'static WorkloadReport {
    let found = WORKLOADS.into_iter().find(|workload| workload.test == test);
    found.expect("every test stands in WORKLOADS, which a test checks")
}

/// A test as the heading of its figures.
pub(crate) fn title(test: TestKind) -> &'static str {
    workload(test).title
}

pub(crate) fn name_of_cell(result: &TestResult, cell: &str) -> String {
    capitalized(&(workload(result.test).name_of)(result, cell))
}

pub fn charts(result: &TestResult) -> Vec<Chart> {
    (workload(result.test).charts)(result)
}

/// Rate and latency over time within each cell, most important first.
pub(crate) fn phase_charts(result: &TestResult) -> Vec<Chart> {
    phases(result, &(workload(result.test).phases)(result))
}

/// Everything that can be drawn of a result, the charts of pages first.
pub fn every_chart(result: &TestResult) -> Vec<Chart> {
    let grid = (workload(result.test).grid)(result).map(|grid| grid.chart());
    charts(result).into_iter().chain(grid).chain(phase_charts(result)).collect()
}

/// The metrics that answer a criterion, each with its workload; the first that was measured and is valid counts.
pub(crate) fn evidence(
    criterion: Criterion,
) -> impl Iterator<Item = (&'static WorkloadReport, &'static Evidence)> + Clone {
    let all = WORKLOADS
        .into_iter()
        .flat_map(|workload| workload.evidence.iter().map(move |evidence| (workload, evidence)));
    let answers = all.filter(move |(_, evidence)| evidence.criterion == criterion);
    let preferred = answers.clone().filter(|(_, evidence)| evidence.is_preferred);
    preferred.chain(answers.filter(|(_, evidence)| !evidence.is_preferred))
}

/// A metric that can be compared: the drive's, and above 0.
pub(crate) fn usable<'r>(run: &'r Run, key: &str) -> Option<&'r Metric> {
    run.metric(key).filter(|metric| metric.valid && metric.value > 0.0)
}

/// The metric of a run that answers a criterion and can be compared.
pub(crate) fn answer_to(run: &Run, criterion: Criterion) -> Option<&Metric> {
    evidence(criterion).find_map(|(_, evidence)| usable(run, evidence.key))
}

#[cfg(test)]
mod tests {
    use super::*;
    use drivescope_model::metrics::quantity_of;

    #[test]
    fn every_test_has_its_workload() {
        assert_eq!(WORKLOADS.map(|workload| workload.test), TestKind::ALL);
    }

    #[test]
    fn evidence_has_the_unit_of_its_criterion() {
        for workload in WORKLOADS {
            for Evidence { criterion, key, .. } in workload.evidence {
                assert!(key.starts_with(&format!("{}.", workload.test)), "{key}");
                let quantity = quantity_of(key).unwrap();
                assert_eq!(quantity.unit, criterion.unit(), "{key}");
                assert_eq!(quantity.smaller_is_better, criterion.smaller_is_better(), "{key}");
            }
        }
    }
}
