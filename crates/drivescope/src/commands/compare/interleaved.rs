//! `compare --ab`: two targets, or one with two settings, interleaved until the difference shows.

use super::conclude;
use crate::arguments::{CompareArguments, InterleavedArguments};
use crate::exit::{Code, Failure};
use crate::output;
use crate::run_steps::{Measurer, PlannedRun, targets};
use crate::signals::RunSignals;
use drivescope_bench::io::clock;
use drivescope_bench::io::offsets;
use drivescope_bench::plan::overrides::Overrides;
use drivescope_bench::planner;
use drivescope_bench::suites;
use drivescope_model::Run;
use drivescope_model::options::Suite;
use drivescope_model::plan::{Engine, WriteLevel};
use drivescope_report::{RunComparison, compare_pairs, is_decided};
use std::path::PathBuf;

/// More pairs hardly narrow the interval of the mean.
const PAIRS_MAX: u32 = 100;
const STOPPING: &str = "interrupted: comparing what is measured; Ctrl-C again quits now";

struct Side {
    name: String,
    path: PathBuf,
    suite: Suite,
    engine: Option<Engine>,
}

pub fn compare(arguments: &CompareArguments, signals: &RunSignals) -> Result<Code, Failure> {
    let options = &arguments.interleaved;
    let sides = sides(&arguments.runs, options)?;
    let names = [&sides[0], &sides[1]].map(|side| side.name.clone());
    signals.begin(STOPPING);
    let measurer = Measurer::new(signals);
    let seed = clock::now_ns();
    let end_ns = seed + options.max_time.nanos();
    let mut pairs: Vec<[Run; 2]> = Vec::new();
    let mut outcome = Code::Ok;
    let comparison = loop {
        let number = pairs.len() as u32;
        let Some((pair, code)) = measure_pair(&sides, &measurer, seed, number)? else {
            break compare_pairs(&pairs, names.clone(), arguments.band);
        };
        outcome = outcome.max(code);
        pairs.push(pair);
        let comparison = compare_pairs(&pairs, names.clone(), arguments.band);
        let is_over = clock::now_ns() >= end_ns || number + 1 >= PAIRS_MAX;
        if is_over || comparison.rows.is_empty() || is_decided(&comparison, options.width) {
            break comparison;
        }
        if !arguments.json {
            print_progress(&comparison);
        }
    };
    outcome = outcome.max(conclude(&comparison, None, arguments));
    Ok(if signals.was_signalled() { Code::Interrupted } else { outcome })
}

fn print_progress(comparison: &RunComparison) {
    if output::is_watched() {
        let decided = comparison.rows.iter().filter(|row| row.against_first[0].is_shown()).count();
        let rounds = comparison.interleaved_rounds.unwrap_or(0);
        output::print_wrapped(&format!(
            "round {rounds}: {decided} of {} rows decided",
            comparison.rows.len()
        ));
    }
}

/// One round of each, in random order; `None` after a signal.
fn measure_pair(
    sides: &[Side; 2],
    measurer: &Measurer<'_>,
    seed: u64,
    number: u32,
) -> Result<Option<([Run; 2], Code)>, Failure> {
    // Both read the same places, others in each round.
    let seed = offsets::derive_seed(seed, "pair", number, 0);
    let mut runs = [None, None];
    let mut outcome = Code::Ok;
    let first = usize::from(seed % 2 == 1);
    for side in [first, 1 - first] {
        let (run, code) = measurer.measure_quietly(plan(&sides[side], seed)?)?;
        if code == Code::Interrupted {
            return Ok(None);
        }
        outcome = outcome.max(code);
        runs[side] = Some(run);
    }
    let [Some(a), Some(b)] = runs else { return Ok(None) };
    Ok(Some(([a, b], outcome)))
}

fn plan(side: &Side, seed: u64) -> Result<PlannedRun, Failure> {
    let target = targets::find_one(&side.path)?;
    targets::check_is_on_a_drive(&target)?;
    let engine = targets::engine_for(&target, side.engine, true)?;
    let suite = side.suite.clone();
    let plan = planner::draft(suite, seed, engine, &target, false, WriteLevel::Read)?;
    planner::check_any_runs(&plan, &target)?;
    Ok(PlannedRun { plan, target, claim: None, resumed: None, ended: Vec::new() })
}

fn sides(paths: &[String], options: &InterleavedArguments) -> Result<[Side; 2], Failure> {
    let (a, b) = match paths {
        [one] if options.set_a == options.set_b => {
            let message = format!("--ab takes two targets, or {one} with --set-a and --set-b");
            return Err(Failure::usage(message));
        }
        [one] => (one, one),
        [a, b] => (a, b),
        _ => return Err(Failure::usage("--ab compares two targets; name two, or one")),
    };
    let name = |path: &str, settings: &[String]| match settings {
        [] => path.to_string(),
        some => some.join(" "),
    };
    let side = |path: &String, settings: &[String]| -> Result<Side, Failure> {
        let (engine, settings_left) = engine_of(settings)?;
        let overrides = Overrides {
            tests: options.test.clone(),
            cells: options.cells.clone(),
            size: options.size,
            time: options.time,
            rounds: Some(1),
            settings: settings_left,
            ..Overrides::default()
        };
        let suite = suites::find(&options.suite, suites::user_folder().as_deref())?;
        let suite = suites::adapt(suite, &overrides)?;
        Ok(Side { name: name(path, settings), path: path.into(), suite, engine })
    };
    Ok([side(a, &options.set_a)?, side(b, &options.set_b)?])
}

/// `engine=NAME` among the settings, and the others.
fn engine_of(settings: &[String]) -> Result<(Option<Engine>, Vec<String>), Failure> {
    let (engines, others): (Vec<String>, Vec<String>) =
        settings.iter().cloned().partition(|setting| setting.starts_with("engine="));
    let engine = match engines.last().map(|setting| &setting["engine=".len()..]) {
        None => None,
        Some("uring" | "io_uring") => Some(Engine::Uring),
        Some("threads") => Some(Engine::Threads),
        Some(other) => {
            let message = format!("there is no engine '{other}'; name uring or threads");
            return Err(Failure::usage(message));
        }
    };
    Ok((engine, others))
}
