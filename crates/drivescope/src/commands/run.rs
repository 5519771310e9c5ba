//! `run` and `rerun`: from arguments to plans, then to [`super::measure`].

use super::measure::{Job, Options, measure};
use super::stored::open_existing;
use crate::arguments::{OutcomeArguments, RerunArguments, RunArguments};
use crate::exit::{Code, Failure};
use crate::{output, signals};
use drivescope_bench::suites::{self, Overrides};
use drivescope_bench::{clock, engine, planner};
use drivescope_drive::{Roots, Target, own_folder};
use drivescope_model::plan::{Engine, Plan};
use drivescope_model::target::TargetKind;
use drivescope_model::units::Price;
use drivescope_report::text;
use drivescope_store::{Location, Store};
use std::path::{Path, PathBuf};

/// `drivescope run`.
pub fn run(arguments: RunArguments) -> Result<Code, Failure> {
    if arguments.clean {
        return clean(&arguments.targets);
    }
    let overrides = Overrides {
        tests: arguments.test,
        cells: arguments.cells,
        size: arguments.size,
        time: arguments.time,
        rounds: arguments.rounds,
        settings: arguments.set,
    };
    let suite = suites::find(&arguments.suite, suites::user_folder().as_deref())?;
    let suite = suites::adapt(suite, &overrides)?;
    let asked = arguments.engine.map(Engine::from);
    let seed = arguments.seed.unwrap_or_else(clock::now_ns);
    let size_asked = arguments.size.is_some();
    let mut jobs = Vec::new();
    for target in find_targets(&arguments.targets)? {
        let engine = engine_for(&target, asked, arguments.outcome.quiet)?;
        let plan = planner::plan(suite.clone(), seed, engine, &target, size_asked)?;
        jobs.push(Job { plan, target });
    }
    carry_out(jobs, arguments.outcome, arguments.label, arguments.price)
}

/// `drivescope rerun`.
pub fn rerun(arguments: RerunArguments) -> Result<Code, Failure> {
    let outcome = arguments.outcome;
    let earlier = open_existing(outcome.store.store.as_deref())?.get(&arguments.run)?;
    let Plan { mut suite, seed, engine, own_bytes, .. } = earlier.plan;
    let target = Target::find(Path::new(&earlier.target.path), &Roots::host())?;
    let engine = engine_for(&target, Some(engine), outcome.quiet)?;
    if let (Some(then), Some(now), false) = (&earlier.drive, target.drive(), outcome.quiet)
        && (&then.model, &then.serial) != (&now.model, &now.serial)
    {
        let name = |model: &Option<String>| model.clone().unwrap_or_else(|| "unknown".to_string());
        let (then, now) = (name(&then.model), name(&now.model));
        output::note(&format!("drivescope: note: then the drive was {then}, now it is {now}"));
    }
    if target.info().kind == TargetKind::Directory {
        suite.size = own_bytes;
    }
    let plan = planner::plan(suite, seed, engine, &target, true)?;
    carry_out(vec![Job { plan, target }], outcome, earlier.label, earlier.price)
}

/// Prints the plans, or runs them.
fn carry_out(
    jobs: Vec<Job>,
    outcome: OutcomeArguments,
    label: Option<String>,
    price: Option<Price>,
) -> Result<Code, Failure> {
    let OutcomeArguments { dry_run, quiet, no_save, show, store } = outcome;
    if dry_run {
        return print_plans(&jobs, show.json);
    }
    let options = Options { label, price, quiet, json: show.json, verbose: show.verbose };
    let store = open_store(no_save, store.store.as_deref())?;
    clean_leftovers(&jobs);
    measure(jobs, &options, store, signals::stop_flag())
}

/// A simulated drive has its own engine; others have the asked one or the best.
fn engine_for(target: &Target, asked: Option<Engine>, quiet: bool) -> Result<Engine, Failure> {
    for note in target.notes().iter().filter(|_| !quiet) {
        output::note(&format!("drivescope: note: {note}"));
    }
    match target.simulated() {
        Some(_) => Ok(Engine::Sim),
        None => choose_engine(asked, quiet),
    }
}

fn choose_engine(asked: Option<Engine>, quiet: bool) -> Result<Engine, Failure> {
    let probe = engine::choose(asked).map_err(Failure::usage)?;
    if let (Some(reason), false) = (&probe.reason, quiet) {
        output::note(&format!("drivescope: note: {reason}; using threads"));
    }
    Ok(probe.engine)
}

/// All targets, none twice.
fn find_targets(paths: &[PathBuf]) -> Result<Vec<Target>, Failure> {
    let roots = Roots::host();
    let mut targets: Vec<Target> = Vec::new();
    for path in paths {
        let target = Target::find(path, &roots)?;
        if targets.iter().any(|known| known.is_same_as(&target)) {
            let message = format!("{} is given twice; name each target once", path.display());
            return Err(Failure::usage(message));
        }
        targets.push(target);
    }
    Ok(targets)
}

fn open_store(no_save: bool, store: Option<&str>) -> Result<Option<Store>, Failure> {
    if no_save {
        return Ok(None);
    }
    let opened = Location::parse(store).and_then(|location| Store::open(&location));
    opened.map(Some).map_err(|error| {
        let failure = Failure::from(error);
        Failure { message: format!("{}, or run with --no-save", failure.message), ..failure }
    })
}

fn print_plans(jobs: &[Job], json: bool) -> Result<Code, Failure> {
    if json {
        let plans: Vec<&Plan> = jobs.iter().map(|job| &job.plan).collect();
        let json = match plans.as_slice() {
            [plan] => serde_json::to_string_pretty(plan),
            plans => serde_json::to_string_pretty(plans),
        };
        output::print_line(&json.expect("plans are plain data"));
        return Ok(Code::Ok);
    }
    for job in jobs {
        let style = output::style();
        let info = job.target.info();
        let version = env!("CARGO_PKG_VERSION");
        let drive = job.target.drive();
        output::print_line(&text::header(version, &job.plan, info, drive, style));
        output::print_line(&text::plan(&job.plan, info, style));
        output::print_line(&format!("\n{}", text::dry_run(&job.plan, info, style)));
    }
    Ok(Code::Ok)
}

/// `run --clean`.
fn clean(paths: &[PathBuf]) -> Result<Code, Failure> {
    let here = [PathBuf::from(".")];
    let paths = if paths.is_empty() { &here[..] } else { paths };
    let mut code = Code::Ok;
    let mut found = false;
    for path in paths {
        let cleaned = own_folder::clean(path)?;
        for folder in cleaned.removed {
            found = true;
            output::print_line(&format!("removed {}", folder.display()));
        }
        for folder in cleaned.in_use {
            found = true;
            output::print_line(&format!("left {}: its run is still going", folder.display()));
        }
        for (folder, why) in cleaned.kept {
            found = true;
            code = Code::Refused;
            output::complain(&format!("left {}: {why}", folder.display()));
        }
    }
    if !found {
        output::print_line("nothing to clean");
    }
    Ok(code)
}

/// Removes what killed runs left in directory targets; what cannot go is said, and no hindrance.
fn clean_leftovers(jobs: &[Job]) {
    for job in jobs.iter().filter(|job| job.target.info().kind == TargetKind::Directory) {
        let Ok(cleaned) = own_folder::clean(job.target.path()) else { continue };
        for folder in cleaned.removed {
            let path = folder.display();
            output::note(&format!("drivescope: note: removed {path}, left by a killed run"));
        }
        for (folder, why) in cleaned.kept {
            output::note(&format!("drivescope: note: left {}: {why}", folder.display()));
        }
    }
}
