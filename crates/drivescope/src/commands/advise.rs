//! `advise`: where data should lie on one or several drives, or what a drive suits and what to change on this
//! machine. It reads stored runs, or measures; it never writes to a drive.

use crate::arguments::AdviseArguments;
use crate::exit::{Code, Failure};
use crate::output;
use crate::run_files::named_runs;
use crate::run_steps::{Measurer, PlannedRun, SaveOutcome, open_store, targets};
use crate::signals::RunSignals;
use crate::store_access::open_existing;
use drivescope_bench::io::clock;
use drivescope_bench::planner;
use drivescope_bench::suites;
use drivescope_drive::Target;
use drivescope_model::Run;
use drivescope_model::options::{Suite, TestKind};
use drivescope_model::plan::WriteLevel;
use drivescope_report::{
    DataLayout, DriveFigures, MachineChange, Need, answer, clean, machine_changes,
    partition_script, place, text,
};
use drivescope_store::Store;
use serde::Serialize;
use std::path::Path;

const INTERRUPTED: &str = "interrupted";
/// Newest stored runs of a drive that are searched for figures of the whole drive.
const RUNS_MAX: u32 = 50;

#[derive(Serialize)]
struct AdviceDocument<'a> {
    format: u32,
    drives: Vec<DriveAdvice<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    layout: Option<&'a DataLayout>,
    /// For each drive with partitions in the layout.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    scripts: Vec<String>,
}

#[derive(Serialize)]
struct DriveAdvice<'a> {
    run: &'a str,
    path: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    answer: Option<String>,
    changes: Vec<MachineChange>,
}

/// Prints the layout, or advice without one. Exit code 2 if a need finds no room.
pub fn advise(arguments: &AdviseArguments, signals: &RunSignals) -> Result<Code, Failure> {
    let mut runs = Vec::new();
    for name in &arguments.drives {
        runs.push(run_for(name, arguments, signals)?);
    }
    let figures: Vec<DriveFigures> = if arguments.need.is_empty() {
        Vec::new()
    } else {
        runs.iter().map(DriveFigures::of).collect::<Result<_, _>>().map_err(lacking)?
    };
    let layout = (!figures.is_empty()).then(|| place(&figures, &arguments.need));
    if arguments.json {
        output::print_document(&document(&runs, &figures, layout.as_ref()));
        for (need, why) in layout.iter().flat_map(|layout| &layout.unplaced) {
            output::note(&clean(&format!("drivescope: no room for {}: it {why}", need.name)));
        }
    } else {
        match &layout {
            Some(layout) => output::print(&text::layout(&figures, layout, output::style())),
            None => runs.iter().for_each(print_advice),
        }
    }
    let has_room = layout.is_none_or(|layout| layout.unplaced.is_empty());
    Ok(if has_room { Code::Ok } else { Code::Usage })
}

fn lacking(why: String) -> Failure {
    Failure::usage(clean(&why).into_owned())
}

fn print_advice(run: &Run) {
    let head =
        answer(run, false).unwrap_or_else(|| format!("{}: nothing was judged.", run.target.path));
    output::print(&text::machine_advice(&head, &machine_changes(run), output::style()));
}

fn document<'a>(
    runs: &'a [Run],
    figures: &[DriveFigures],
    layout: Option<&'a DataLayout>,
) -> AdviceDocument<'a> {
    AdviceDocument {
        format: 1,
        drives: runs.iter().map(drive_advice).collect(),
        layout,
        scripts: (0..figures.len())
            .filter_map(|number| partition_script(figures, layout?, number))
            .collect(),
    }
}

fn drive_advice(run: &Run) -> DriveAdvice<'_> {
    DriveAdvice {
        run: &run.id,
        path: &run.target.path,
        answer: answer(run, false),
        changes: machine_changes(run),
    }
}

/// A simulated drive is measured; of a real one, the newest suitable stored run counts.
fn run_for(name: &str, arguments: &AdviseArguments, signals: &RunSignals) -> Result<Run, Failure> {
    let path = Path::new(name);
    let is_target = name.starts_with("sim:") || (path.exists() && !name.ends_with(".json"));
    let store = arguments.store.store.as_deref();
    if !is_target {
        let mut found = named_runs(&[name.to_string()], store)?;
        return found.pop().ok_or_else(|| Failure::usage(format!("{name} holds no run")));
    }
    let target = targets::find_one(path)?;
    if arguments.measure || target.simulated().is_some() {
        return measured(target, arguments, signals);
    }
    let stored =
        open_existing(store).ok().and_then(|store| newest(&store, &target, &arguments.need));
    stored.ok_or_else(|| {
        let message = format!(
            "no stored run has what is needed of {name}; drivescope run {name} --test geometry reads it in about three \
             minutes, or add --measure"
        );
        Failure::usage(clean(&message).into_owned())
    })
}

fn newest(store: &Store, target: &Target, needs: &[Need]) -> Option<Run> {
    let path = &target.info().path;
    let found = store.runs_of_attached(target.drive(), path, RUNS_MAX).ok()?;
    found.runs.into_iter().find(|run| needs.is_empty() || DriveFigures::of(run).is_ok())
}

/// Measures a drive, reading only: the tests for a layout, else suite `quick`. With `--measure` the run is
/// stored, as runs of `run` are.
fn measured(
    target: Target,
    arguments: &AdviseArguments,
    signals: &RunSignals,
) -> Result<Run, Failure> {
    let engine = targets::engine_for(&target, None, true)?;
    let quick = suites::find("quick", None).map_err(Failure::from)?;
    let suite = if arguments.need.is_empty() {
        quick
    } else {
        let tests = vec![TestKind::Geometry, TestKind::Surface, TestKind::Transfer];
        Suite { tests, rounds: 3, ..quick }
    };
    let plan = planner::plan(suite, clock::now_ns(), engine, &target, false, WriteLevel::Read)?;
    let planned = PlannedRun { plan, target, claim: None, resumed: None, ended: Vec::new() };
    let store = arguments.store.store.as_deref();
    let opened = if arguments.measure { open_store(store, false, signals)? } else { None };
    signals.begin(INTERRUPTED);
    let measurer = Measurer::new(signals);
    let Some(mut opened) = opened else {
        let (run, code) = measurer.measure_quietly(planned)?;
        return match code {
            Code::Interrupted => Err(Failure { message: INTERRUPTED.to_string(), code }),
            _ => Ok(run),
        };
    };
    let (run, kept) = measurer.measure_shown(planned, None, &mut opened, |_| |_| {})?;
    if kept == SaveOutcome::Stored {
        output::show(&text::saved(&run.id, opened.words(), output::style()));
    }
    if signals.was_signalled() {
        Err(Failure { message: INTERRUPTED.to_string(), code: Code::Interrupted })
    } else {
        Ok(run)
    }
}
