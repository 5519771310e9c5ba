//! `compare`: stored runs side by side, with what their differences are worth; `--ab` measures them on the spot.

mod interleaved;

use crate::arguments::CompareArguments;
use crate::exit::{Code, Failure};
use crate::output;
use crate::run_files::{baseline_first, named_runs};
use crate::run_steps::{Measurer, PlannedRun, targets};
use crate::signals::RunSignals;
use drivescope_bench::planner;
use drivescope_model::Run;
use drivescope_model::plan::{Engine, WriteLevel};
use drivescope_report::{
    RunComparison, ThresholdCheck, check_thresholds, check_worse, comparison_document, text,
};
use std::path::Path;

/// Refuses runs of different plans, unless forced.
pub fn compare(arguments: &CompareArguments, signals: &RunSignals) -> Result<Code, Failure> {
    if arguments.ab {
        return interleaved::compare(arguments, signals);
    }
    let (models, names): (Vec<String>, Vec<String>) =
        arguments.runs.iter().cloned().partition(|name| name.starts_with("sim:"));
    let mut runs = named_runs(&names, arguments.store.store.as_deref())?;
    if let Some(first) = runs.first().cloned() {
        signals.begin("interrupted");
        for model in &models {
            runs.push(simulated_run(model, &first, signals)?);
        }
    }
    if runs.len() < 2 {
        return Err(Failure::usage("a comparison takes two runs; drivescope runs lists them"));
    }
    if let Some(name) = &arguments.baseline {
        baseline_first(&mut runs, name, arguments.store.store.as_deref())?;
    }
    let comparison = drivescope_report::compare(&runs, arguments.band, arguments.all);
    // A model named beside a run shares its plan but not its machine, which is reported, not refused.
    if !comparison.differences.is_empty() && !arguments.force && models.is_empty() {
        let reasons = comparison.differences.join("; ");
        let message = format!(
            "these runs were not made alike ({reasons}); --force compares them all the same"
        );
        return Err(Failure { message, code: Code::Refused });
    }
    let below = match &arguments.fail_below[..] {
        [] => None,
        some => Some(check_thresholds(&runs, some).map_err(Failure::usage)?),
    };
    Ok(conclude(&comparison, below, arguments))
}

/// Prints a comparison, and what its thresholds found besides `below`, the check of `--fail-below`.
fn conclude(
    comparison: &RunComparison,
    below: Option<ThresholdCheck>,
    arguments: &CompareArguments,
) -> Code {
    let worse = arguments.fail_on.map(|_| check_worse(comparison));
    let check = match (worse, below) {
        (Some(worse), Some(below)) => Some(worse.joined(below)),
        (worse, below) => worse.or(below),
    };
    let words = check.as_ref().map(|check| text::thresholds(check, output::style()));
    if arguments.json {
        output::print_document(&comparison_document(comparison, check.as_ref()));
        // In a log beside a file with the document.
        words.iter().for_each(|words| output::show(words.trim_end()));
    } else {
        output::print_line(&text::comparison(comparison, output::style()));
        words.iter().for_each(|words| output::print_line(&format!("\n{words}")));
    }
    let is_passed = check.is_none_or(|check| check.is_passed());
    if comparison.rows.is_empty() || !is_passed { Code::Problem } else { Code::Ok }
}

/// Measures a simulated drive in virtual time, with the plan of another run.
fn simulated_run(model: &str, like: &Run, signals: &RunSignals) -> Result<Run, Failure> {
    let target = targets::find_one(Path::new(model))?;
    let suite = like.plan.suite.clone();
    let level = WriteLevel::Read;
    let plan = planner::plan(suite, like.plan.seed, Engine::Sim, &target, false, level)?;
    let planned = PlannedRun { plan, target, claim: None, resumed: None, ended: Vec::new() };
    let (run, code) = Measurer::new(signals).measure_quietly(planned)?;
    match code {
        Code::Interrupted => Err(Failure { message: "interrupted".to_string(), code }),
        _ => Ok(run),
    }
}
