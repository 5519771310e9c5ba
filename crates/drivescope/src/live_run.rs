//! A run as far as it has come: what the view of a run in progress shows.

use crate::output;
use drivescope_model::cell::Cell;
use drivescope_model::document::{Run, TestResult, TestStatus};
use drivescope_model::options::TestKind;
use drivescope_model::plan::WriteLevel;
use drivescope_model::target::TargetKind;
use drivescope_model::{Finding, Metric};
use drivescope_report::{Style, text};

pub struct LiveRun {
    run: Run,
    /// Findings from before the first test.
    early: Vec<Finding>,
    /// Tables are shown only on a terminal that also gets the result.
    has_tables: bool,
}

impl LiveRun {
    /// Cells of `transfer` are there from the start, without figures, so that its table keeps its shape.
    pub fn new(mut run: Run, has_tables: bool) -> Self {
        let transfer = run.plan.active().find(|planned| planned.test == TestKind::Transfer);
        if let Some(planned) = transfer {
            let may_write =
                planned.writes > WriteLevel::Read || run.target.kind == TargetKind::Simulated;
            let mut empty = TestResult::empty(TestKind::Transfer, TestStatus::Done, None);
            let cells = run.plan.suite.transfer.all_cells().into_iter();
            let cells = cells.filter(|cell| may_write || !cell.mix.writes());
            empty.metrics = cells.flat_map(unknown).collect();
            run.tests.push(empty);
        }
        Self { early: run.findings.clone(), run, has_tables }
    }

    /// Replaces a cell's figures and distribution by newer ones, and the test's findings. Curves come with the whole
    /// test: over a few rounds they would show what later ones do not.
    pub fn refine(&mut self, so_far: TestResult) {
        let test = self.test_mut(so_far.test);
        for metric in so_far.metrics {
            match test.metrics.iter_mut().find(|known| known.key == metric.key) {
                Some(known) => *known = metric,
                None => test.metrics.push(metric),
            }
        }
        let cells: Vec<&str> = so_far.phases.iter().map(|phase| phase.cell.as_str()).collect();
        test.phases.retain(|phase| !cells.contains(&phase.cell.as_str()));
        test.phases.extend(so_far.phases);
        for distribution in so_far.distributions {
            test.distributions.retain(|known| known.key != distribution.key);
            test.distributions.push(distribution);
        }
        test.findings = so_far.findings;
        self.gather_findings();
    }

    pub fn finish(&mut self, result: TestResult) {
        let test = self.test_mut(result.test);
        *test = result;
        self.gather_findings();
    }

    /// One finding of each kind; what a test no longer finds goes.
    fn gather_findings(&mut self) {
        let of_tests = self.run.tests.iter().flat_map(|test| &test.findings);
        let mut all: Vec<Finding> = Vec::new();
        for finding in self.early.iter().chain(of_tests) {
            if all.iter().all(|known| known.id != finding.id) {
                all.push(finding.clone());
            }
        }
        self.run.findings = all;
    }

    fn test_mut(&mut self, kind: TestKind) -> &mut TestResult {
        let at = self.run.tests.iter().position(|test| test.test == kind).unwrap_or_else(|| {
            self.run.tests.push(TestResult::empty(kind, TestStatus::Done, None));
            self.run.tests.len() - 1
        });
        &mut self.run.tests[at]
    }

    pub fn run(&self) -> &Run {
        &self.run
    }

    pub fn tables(&self, progress: &str, style: Style) -> String {
        text::live(&self.run, progress, style)
    }

    /// Text below the line of progress or, without tables, instead of it.
    pub fn text(&self, progress: &str) -> String {
        if !self.has_tables {
            return progress.to_string();
        }
        // A line feed at the end would count as one more line to clear.
        format!("\n{}", self.tables(progress, output::style()).trim_end())
    }
}

fn unknown(cell: Cell) -> [Metric; 2] {
    ["mb_s", "iops"].map(|quantity| Metric {
        key: format!("{}.{cell}.{quantity}", TestKind::Transfer),
        value: f64::NAN,
        unit: String::new(),
        low: f64::NAN,
        high: f64::NAN,
        rounds: Vec::new(),
        pooled: false,
        valid: true,
        invalid_because: Vec::new(),
    })
}
