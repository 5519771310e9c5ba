//! `run` and `rerun`: from arguments to plans, then to [`super::measure`].

use super::ask::Terminal;
use super::measure::{Job, Options, measure};
use super::raw::{self, Allowed};
use super::stored::{NO_PASSES, get_run, store_words};
use super::{length, originals, restore, resume};
use crate::arguments::{OutcomeArguments, RerunArguments, RunArguments, ShowOptions};
use crate::exit::{Code, Failure};
use crate::mistakes::no_target;
use crate::output;
use crate::signals::RunSignals;
use drivescope_bench::error::BenchError;
use drivescope_bench::overrides::Overrides;
use drivescope_bench::suites;
use drivescope_bench::{clock, engine, planner};
use drivescope_drive::Target;
use drivescope_drive::gate::OwnPlaces;
use drivescope_drive::own_folder::{self, Cleaned};
use drivescope_machine::Roots;
use drivescope_model::gate::GateRecord;
use drivescope_model::options::{AlignMethod, TestKind};
use drivescope_model::plan::{Engine, Plan, WriteLevel};
use drivescope_model::target::TargetKind;
use drivescope_model::units::Price;
use drivescope_report::{clean as clean_text, text};
use drivescope_store::{Location, Store};
use std::path::PathBuf;

/// What the first signal is answered with.
const STOPPING: &str =
    "interrupted; what was measured is kept, then the run ends (a second signal cuts that short)";

/// `drivescope run`.
pub fn run(arguments: RunArguments, signals: &RunSignals) -> Result<Code, Failure> {
    if arguments.clean {
        return clean(&arguments.targets, arguments.outcome.dry_run);
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
    let allowed = Allowed::of(&arguments.raw);
    let targets = find_targets(&arguments.targets, allowed.is_some())?;
    if let Some(allowed) = &allowed {
        targets.iter().try_for_each(|target| allowed.check_target(target))?;
    }
    let asked = arguments.engine.map(Engine::from);
    let new_seed = clock::now_ns();
    let size_asked = arguments.size.is_some();
    // First: what they take is room for the test file.
    targets.iter().for_each(|target| clean_leftovers(target, &arguments.outcome));
    let mut jobs = Vec::new();
    for target in targets {
        let engine = engine_for(&target, asked, arguments.outcome.quiet)?;
        let level = allowed.as_ref().map_or(WriteLevel::Read, Allowed::level);
        let seed = arguments.seed.unwrap_or(new_seed);
        let plan = planner::draft(suite.clone(), seed, engine, &target, size_asked, level)?;
        let job = Job { plan, target, claim: None, earlier: None };
        let (resume, seed_asked) = (arguments.resume, arguments.seed.is_some());
        let job = resume::resume_if_asked(job, level, resume, seed_asked, &arguments.outcome)?;
        planner::check_any_runs(&job.plan, &job.target)?;
        jobs.push(job);
    }
    // A verify that had come to its reading needs no leave to write any more, which its options may still give.
    let only_reads =
        || jobs.iter().all(|job| job.plan.active().all(|test| test.writes < WriteLevel::SameBytes));
    let allowed = allowed.filter(|_| !(arguments.resume && only_reads()));
    carry_out(jobs, arguments.outcome, arguments.label, arguments.price, allowed, signals)
}

/// `drivescope rerun`.
pub fn rerun(arguments: RerunArguments, signals: &RunSignals) -> Result<Code, Failure> {
    let outcome = arguments.outcome;
    let earlier = get_run(outcome.store.store.as_deref(), &arguments.run)?;
    let Plan { suite, seed, engine, own_bytes, .. } = earlier.plan;
    // What was imported may have come from anywhere.
    let mut suite = suites::adapt(suite, &Overrides::default())?;
    let path = &earlier.target.path;
    if path.contains(char::REPLACEMENT_CHARACTER) {
        let message =
            format!("{path} is not UTF-8, so the run has it only in part; name it to `run`");
        return Err(Failure::usage(message));
    }
    let allowed = Allowed::of(&arguments.raw);
    let target = find_targets(&[PathBuf::from(path)], allowed.is_some())?.remove(0);
    if let Some(allowed) = &allowed {
        allowed.check_target(&target)?;
    }
    // Where io_uring is refused now, threads must do, as for a new run.
    let asked = Some(engine).filter(|engine| *engine != Engine::Uring);
    let engine = engine_for(&target, asked, outcome.quiet)?;
    clean_leftovers(&target, &outcome);
    if let (Some(then), Some(now), false) = (&earlier.drive, target.drive(), outcome.quiet)
        && (&then.model, &then.serial) != (&now.model, &now.serial)
    {
        let name = |model: &Option<String>| model.clone().unwrap_or_else(|| "unknown".to_string());
        let note =
            format!("then the drive was {}, now it is {}", name(&then.model), name(&now.model));
        output::note(&format!("drivescope: note: {}", clean_text(&note)));
    }
    // What is a directory now may have been a file or a device then.
    if target.info().kind == TargetKind::Directory && own_bytes.0 > 0 {
        suite.size = own_bytes;
    }
    let level = allowed.as_ref().map_or(WriteLevel::Read, Allowed::level);
    let plan = planner::plan(suite, seed, engine, &target, true, level)?;
    let jobs = vec![Job { plan, target, claim: None, earlier: None }];
    carry_out(jobs, outcome, earlier.label, earlier.price, allowed, signals)
}

/// Prints the plans, or runs them.
fn carry_out(
    mut jobs: Vec<Job>,
    outcome: OutcomeArguments,
    label: Option<String>,
    price: Option<Price>,
    allowed: Option<Allowed>,
    signals: &RunSignals,
) -> Result<Code, Failure> {
    jobs.iter().try_for_each(|job| length::check(&job.plan))?;
    let OutcomeArguments { dry_run, quiet, no_save, show, store } = outcome;
    if dry_run {
        let store = Location::parse(store.store.as_deref()).ok();
        let own = raw::own_places(store.map(|location| location.path().to_path_buf()));
        let opinion = |job: &Job| raw::opinion(&job.target, allowed.as_ref(), &own);
        let opinions: Vec<Option<GateRecord>> = jobs.iter().map(opinion).collect();
        match show.json {
            true => print_plans_as_json(&jobs, &opinions),
            false => print_plans(&jobs, &opinions, allowed.as_ref()),
        }
        let records: Vec<GateRecord> = opinions.into_iter().flatten().collect();
        originals::check(&jobs)?;
        return raw::conclude(&records, allowed.as_ref());
    }
    let ShowOptions { json, verbose, table } = show;
    if table && !jobs.iter().all(|job| makes_passes(&job.plan)) {
        return Err(Failure::usage(NO_PASSES));
    }
    let store_words = store_words(store.store.as_deref());
    let options = Options { label, price, quiet, json, verbose, table, store_words };
    if let Some(allowed) = &allowed {
        signals.begin(STOPPING);
        let store = Location::parse(store.store.as_deref()).ok().filter(|_| !no_save);
        let own = raw::own_places(store.map(|s| s.path().to_path_buf()));
        let terminal = if quiet || json { None } else { Terminal::find(&signals.stop) };
        originals::check(&jobs)?;
        claim_all(&mut jobs, allowed, &own, terminal.as_ref())?;
    }
    let store = open_store_whole(no_save, store.store.as_deref(), allowed.is_some(), signals)?;
    signals.begin(STOPPING);
    measure(jobs, &options, store, signals)
}

/// Claims every target, so that nothing is written unless everything may be; and none before all are
/// confirmed.
fn claim_all(
    jobs: &mut [Job],
    allowed: &Allowed,
    own: &OwnPlaces,
    terminal: Option<&Terminal>,
) -> Result<(), Failure> {
    jobs.iter().try_for_each(|job| allowed.check_plan(&job.plan))?;
    let mut confirmed = Vec::new();
    for job in jobs.iter_mut().filter(|job| job.target.info().kind == TargetKind::Block) {
        let report = raw::look(&job.target, allowed, own);
        let confirmation = raw::confirm(&job.plan, &job.target, &report, allowed, terminal)?;
        confirmed.push((job, report, confirmation));
    }
    for (job, report, confirmation) in confirmed {
        job.claim = Some(raw::claim(&job.target, report, &confirmation)?);
    }
    let claims = jobs.iter().filter_map(|job| job.claim.as_ref());
    let records: Vec<GateRecord> = claims.map(|claim| claim.record().clone()).collect();
    raw::check_serials(&records, allowed)
}

/// Whether a plan makes passes of phybs.
fn makes_passes(plan: &Plan) -> bool {
    plan.suite.align.method == AlignMethod::Phybs
        && plan.active().any(|planned| planned.test == TestKind::Align)
}

/// A simulated drive has its own engine; others have the asked one or the best.
fn engine_for(target: &Target, asked: Option<Engine>, quiet: bool) -> Result<Engine, Failure> {
    for note in target.notes().iter().filter(|_| !quiet) {
        output::note(&format!("drivescope: note: {}", clean_text(note)));
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

/// All targets, none twice. Those that are written may not share bytes either.
fn find_targets(paths: &[PathBuf], are_written: bool) -> Result<Vec<Target>, Failure> {
    let roots = Roots::host();
    let mut targets: Vec<Target> = Vec::new();
    for path in paths {
        let target = Target::find(path, &roots).map_err(|error| no_target(path, error))?;
        if targets.iter().any(|known| known.is_same_as(&target)) {
            let message = format!("{} is given twice; name each target once", path.display());
            return Err(Failure::usage(message));
        }
        let overlaps = targets.iter().filter_map(|known| known.overlap(&target));
        if let Some(overlap) = overlaps.into_iter().find(|both| both.is_same || are_written) {
            let message = format!("this call names two devices that share bytes: {}", overlap.how);
            return Err(Failure::usage(format!("{message}; name one of them")));
        }
        if are_written {
            targets.iter().try_for_each(|known| raw::check_lock(&roots, known, &target))?;
        }
        targets.push(target);
    }
    restore::refuse_open(&targets)?;
    Ok(targets)
}

/// Opens the store; a signal meanwhile ends the run after it, so that no half of one is left behind. One that
/// came before a claim is answered already.
fn open_store_whole(
    no_save: bool,
    store: Option<&str>,
    has_begun: bool,
    signals: &RunSignals,
) -> Result<Option<Store>, Failure> {
    if !has_begun {
        signals.begin("");
    }
    let opened = open_store(no_save, store)?;
    if !has_begun && signals.was_signalled() {
        return Err(BenchError::Interrupted.into());
    }
    Ok(opened)
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

/// Each plan, with the gate's opinion beside its own fields where there is one.
fn print_plans_as_json(jobs: &[Job], opinions: &[Option<GateRecord>]) {
    let document = |(job, opinion): (&Job, &Option<GateRecord>)| {
        let mut plan = serde_json::to_value(&job.plan).expect("plans are plain data");
        if let Some(record) = opinion {
            plan["gate"] = serde_json::to_value(record).expect("records are plain data");
        }
        plan
    };
    let plans: Vec<serde_json::Value> = jobs.iter().zip(opinions).map(document).collect();
    let json = match plans.as_slice() {
        [plan] => serde_json::to_string_pretty(plan),
        plans => serde_json::to_string_pretty(plans),
    };
    output::print_json(&json.expect("plans are plain data"));
}

fn print_plans(jobs: &[Job], opinions: &[Option<GateRecord>], allowed: Option<&Allowed>) {
    for (job, opinion) in jobs.iter().zip(opinions) {
        let style = output::style();
        let info = job.target.info();
        let version = env!("CARGO_PKG_VERSION");
        let drive = job.target.drive();
        output::print_line(&text::header(version, &job.plan, info, drive, style));
        output::print_line(&text::plan(&job.plan, info, style));
        output::print_line(&format!("\n{}", text::dry_run(&job.plan, info, style)));
        if let Some(record) = opinion {
            raw::print(record, allowed);
        }
    }
}

/// `run --clean`; with `only_look` nothing is removed.
fn clean(paths: &[PathBuf], only_look: bool) -> Result<Code, Failure> {
    let here = [PathBuf::from(".")];
    let paths = if paths.is_empty() { &here[..] } else { paths };
    let mut code = Code::Ok;
    let mut found = false;
    for path in paths {
        if path.metadata().is_ok_and(|found| !found.is_dir()) {
            let path = path.display();
            return Err(Failure::usage(format!(
                "{path} is no directory; runs leave nothing there"
            )));
        }
        let (cleaned, removed, left) = match only_look {
            true => (own_folder::look(path)?, "would remove", "would leave"),
            false => (own_folder::clean(path)?, "removed", "left"),
        };
        found |= cleaned != Cleaned::default();
        for folder in cleaned.removed {
            output::tell(&clean_text(&format!("{removed} {}", folder.display())));
        }
        for folder in cleaned.in_use {
            let line = format!("{left} {}: its run is still going", folder.display());
            output::tell(&clean_text(&line));
        }
        for (folder, why) in cleaned.kept {
            code = Code::Refused;
            output::complain(&format!("{left} {}: {why}", folder.display()));
        }
    }
    if !found {
        output::print_line("nothing to clean");
    }
    Ok(code)
}

/// Removes what killed runs left in a directory target; a dry run says that it would. What cannot go is said, and
/// no hindrance.
fn clean_leftovers(target: &Target, outcome: &OutcomeArguments) {
    if target.info().kind != TargetKind::Directory {
        return;
    }
    let (found, removed, left) = match outcome.dry_run {
        true => (own_folder::look(target.path()), "would remove", "would leave"),
        false => (own_folder::clean(target.path()), "removed", "left"),
    };
    let Ok(found) = found else { return };
    for folder in found.removed {
        let note = format!("{removed} {}, left by a killed run", folder.display());
        output::note(&format!("drivescope: note: {}", clean_text(&note)));
    }
    for (folder, why) in found.kept {
        let note = format!("{left} {}: {why}", folder.display());
        output::note(&format!("drivescope: note: {}", clean_text(&note)));
    }
}
