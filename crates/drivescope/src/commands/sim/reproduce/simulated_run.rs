//! Runs a suite on a simulated drive as `drivescope run` would, and keeps nothing but its metrics.

use super::formula::{MetricValues, ModelRun};
use super::judge::scale;
use crate::arguments::{Arguments, Command, RunArguments};
use crate::commands::run::overrides;
use clap::Parser;
use drivescope_bench::plan::overrides::Overrides;
use drivescope_bench::planner;
use drivescope_bench::runner::Runner;
use drivescope_bench::session::{HostFacts, Session};
use drivescope_bench::suites;
use drivescope_drive::Target;
use drivescope_machine::Roots;
use drivescope_model::document::{Metric, TestResult, TestStatus};
use drivescope_model::drive::Drive;
use drivescope_model::metrics::quantity_of;
use drivescope_model::plan::{Engine, WriteLevel};
use drivescope_stats::summary::median;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::mpsc::channel;

/// Names of runs, and their arguments for `drivescope run`.
const RUNS: &str = include_str!("../../../../data/runs.tsv");

/// Seeds of random places; a figure is the median over them. The places of one seed change a second of random writes by
/// up to 3 %, which may exceed the tolerance.
const SEEDS: [u64; 3] = [1, 2, 3];

/// Names and arguments.
pub fn runs() -> impl Iterator<Item = (&'static str, &'static str)> {
    let lines = RUNS.lines().filter(|line| !line.starts_with('#')).skip(1);
    lines.filter_map(|line| line.split_once('\t'))
}

impl ModelRun {
    /// Runs in virtual time, on a drive that has just been powered on. Errors: one line.
    pub fn figures(&self) -> Result<MetricValues, String> {
        let Self { model, run } = self;
        self.measure().map_err(|why| format!("{run} on {model}: {why}"))
    }

    fn measure(&self) -> Result<MetricValues, String> {
        let arguments = self.arguments()?;
        let [path] = arguments.targets.as_slice() else {
            return Err("it names no single target".to_string());
        };
        let target = Target::find(path, &Roots::host()).map_err(|error| error.to_string())?;
        let mut figures = target.drive().map(identity).unwrap_or_default();
        if arguments.outcome.dry_run {
            return Ok(figures);
        }
        let mut by_key: BTreeMap<String, Vec<f64>> = BTreeMap::new();
        for seed in SEEDS {
            let just_on = Target::find(path, &Roots::host()).map_err(|error| error.to_string())?;
            let results = results(&arguments, &just_on, seed)?;
            for (key, value) in results.iter().flat_map(|result| &result.metrics).flat_map(values) {
                by_key.entry(key).or_default().push(value);
            }
        }
        figures.extend(by_key.into_iter().filter_map(|(key, of)| Some((key, median(&of)?))));
        Ok(figures)
    }

    pub(super) fn arguments(&self) -> Result<RunArguments, String> {
        let found = runs().find(|(name, _)| *name == self.run);
        let (_, words) = found.ok_or("there is no such run")?;
        let words = words.replace("MODEL", &self.model);
        let words = ["drivescope", "run"].into_iter().chain(words.split_whitespace());
        match Arguments::try_parse_from(words).map(|arguments| arguments.command) {
            Ok(Command::Run(arguments)) => Ok(*arguments),
            Ok(_) => Err("it is no run".to_string()),
            Err(error) => Err(error.to_string().lines().next().unwrap_or_default().to_string()),
        }
    }
}

/// Properties of the drive that the run finds before its first test, by their path in the run document.
fn identity(drive: &Drive) -> MetricValues {
    let rpm = drive.rpm.map(|rpm| ("drive.rpm".to_string(), f64::from(rpm)));
    let capacity = ("drive.capacity_bytes".to_string(), drive.capacity_bytes as f64);
    let sector = ("drive.logical_sector_bytes".to_string(), f64::from(drive.logical_sector_bytes));
    [capacity, sector].into_iter().chain(rpm).collect()
}

fn results(
    arguments: &RunArguments,
    target: &Target,
    seed: u64,
) -> Result<Vec<TestResult>, String> {
    let from = arguments.from.as_ref().map(|from| from.display().to_string());
    let overrides = Overrides { from, ..overrides(arguments) };
    let suite = suites::find(&arguments.suite, None);
    let suite = suite.and_then(|suite| suites::adapt(suite, &overrides));
    let suite = suite.map_err(|error| error.to_string())?;
    let level = arguments.raw.write.as_ref().map_or(WriteLevel::Read, |write| write.level);
    let plan = planner::plan(suite, seed, Engine::Sim, target, arguments.size.is_some(), level);
    let plan = plan.map_err(|error| error.to_string())?;
    let (events, _) = channel();
    let stop = Arc::new(AtomicBool::new(false));
    let host = HostFacts { memory_bytes: 0, cpus: 1, power_save: None };
    let session = Session::new(&plan, target, None, host, events, stop);
    let mut runner = Runner::new(session);
    let results = plan.tests.iter().map(|planned| {
        let result = runner.run_test(planned);
        match result.status {
            TestStatus::Done => Ok(result),
            _ => Err(format!("{}: {}", result.test, result.reason.unwrap_or_default())),
        }
    });
    results.collect()
}

/// A metric in bytes, seconds, or per second; KEY.best is its best round.
fn values(metric: &Metric) -> [(String, f64); 2] {
    // What no cell asks for may have any unit.
    let scale = scale(&metric.unit).unwrap_or(1.0);
    let rounds = metric.rounds.iter().copied();
    let best = if quantity_of(&metric.key).is_some_and(|of| of.smaller_is_better) {
        rounds.fold(f64::INFINITY, f64::min)
    } else {
        rounds.fold(f64::NEG_INFINITY, f64::max)
    };
    [(metric.key.clone(), metric.value * scale), (format!("{}.best", metric.key), best * scale)]
}
