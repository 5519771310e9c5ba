//! `trace replay`: a run with one test, `apps`, of one trace.

use super::source::failure;
use crate::arguments::{ReplayArguments, RunArguments};
use crate::commands::run::run_suite;
use crate::exit::{Code, Failure};
use crate::signals::RunSignals;
use drivescope_bench::plan::overrides::Overrides;
use drivescope_bench::suites;
use drivescope_model::options::{AppsOptions, ReplayTiming, Suite, TestKind};
use drivescope_model::units::Bytes;
use drivescope_trace::built_in::TraceSource;
use drivescope_trace::import::ImportOptions;
use drivescope_trace::profile::TraceProfile;

/// A file in a directory is a multiple of this and at most [`FILE_MAX`], unless asked for: it is filled first.
const FILE_UNIT: u64 = 1 << 20;
const FILE_MAX: u64 = 4 << 30;

pub fn replay(arguments: ReplayArguments, signals: &RunSignals) -> Result<Code, Failure> {
    let shown = arguments.trace.display().to_string();
    let Some(file) = arguments.trace.to_str() else {
        return Err(Failure::usage(format!("the name {shown} is not UTF-8; rename the trace")));
    };
    if file == "-" {
        let why = "a trace is read several times, so it cannot come from standard input";
        return Err(Failure::usage(format!(
            "{why}; save it with drivescope trace convert - FILE.trace"
        )));
    }
    let options = ImportOptions { device: arguments.device.clone(), ..ImportOptions::default() };
    let source = TraceSource::File { path: arguments.trace.clone(), options };
    let profile = TraceProfile::of(|sink| source.read(sink), u64::MAX);
    let end_bytes = profile.map_err(|error| failure(&shown, error))?.totals.end_bytes;
    let needed = end_bytes.max(1).next_multiple_of(FILE_UNIT).min(FILE_MAX);
    let suite = Suite {
        name: "replay".to_string(),
        summary: format!("the trace {file}"),
        tests: vec![TestKind::Apps],
        rounds: arguments.rounds,
        size: Bytes(needed),
        apps: options_of(&arguments, file),
        ..Suite::default()
    };
    let overrides = Overrides { size: arguments.size, ..Overrides::default() };
    let suite = suites::adapt(suite, &overrides)?;
    run_suite(suite, run_arguments(arguments), signals)
}

fn options_of(arguments: &ReplayArguments, file: &str) -> AppsOptions {
    let is_fast = arguments.as_fast_as_possible;
    let default = AppsOptions::default();
    AppsOptions {
        file: Some(file.to_string()),
        device: arguments.device.clone(),
        timing: if is_fast { ReplayTiming::Asap } else { arguments.timing.into() },
        think_max: arguments.think_max,
        depth: arguments.depth.unwrap_or(if is_fast { 1 } else { default.depth }),
        fit: arguments.fit.into(),
        predict: arguments.predict.clone(),
        ..default
    }
}

fn run_arguments(arguments: ReplayArguments) -> RunArguments {
    let ReplayArguments { targets, size, rounds, label, engine, seed, force, raw, outcome, .. } =
        arguments;
    RunArguments {
        targets,
        size,
        rounds: Some(rounds),
        label,
        engine,
        seed,
        force,
        raw,
        outcome,
        ..RunArguments::default()
    }
}
