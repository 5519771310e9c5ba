//! `run`: arguments → plan → claim → tests → run document → store → report. The way from the plan on is
//! [`crate::run_steps`].

use crate::arguments::RunArguments;
use crate::exit::{Code, Failure};
use crate::run_steps::write_permission::WritePermission;
use crate::run_steps::{PlannedRun, carry_out, leftovers, resume, targets};
use crate::signals::RunSignals;
use drivescope_bench::overrides::Overrides;
use drivescope_bench::{clock, planner, suites};
use drivescope_model::options::Suite;
use drivescope_model::plan::{Engine, WriteLevel};

/// Plans a run for each target, and carries them out.
pub fn run(arguments: RunArguments, signals: &RunSignals) -> Result<Code, Failure> {
    if arguments.clean {
        return leftovers::clean(&arguments.targets, arguments.outcome.dry_run);
    }
    let overrides = Overrides {
        files: targets::source(arguments.files.as_deref())?,
        from: targets::source(arguments.from.as_deref())?,
        query: targets::file(arguments.query.as_deref())?,
        params: targets::file(arguments.params.as_deref())?,
        ..overrides(&arguments)
    };
    let suite = suites::find(&arguments.suite, suites::user_folder().as_deref())?;
    run_suite(suites::adapt(suite, &overrides)?, arguments, signals)
}

/// What the arguments change of a suite, but for the files and folders that they name.
pub fn overrides(arguments: &RunArguments) -> Overrides {
    Overrides {
        tests: arguments.test.clone(),
        cells: arguments.cells.clone(),
        size: arguments.size,
        time: arguments.time,
        rounds: arguments.rounds,
        databases: arguments.db.clone(),
        keep: arguments.keep,
        settings: arguments.set.clone(),
        ..Overrides::default()
    }
}

/// The same with a suite that is made already: of the arguments, those that choose one count no more.
pub fn run_suite(
    suite: Suite,
    arguments: RunArguments,
    signals: &RunSignals,
) -> Result<Code, Failure> {
    let RunArguments { outcome, engine, seed, resume, .. } = arguments;
    let size_asked = arguments.size.is_some();
    let permission = WritePermission::of(&arguments.raw);
    let level = permission.as_ref().map_or(WriteLevel::Read, |permission| permission.level);
    let targets = targets::find(&arguments.targets, permission.as_ref(), &arguments.raw.not_of)?;
    if !arguments.force {
        targets.iter().try_for_each(targets::check_is_on_a_drive)?;
    }
    let new_seed = clock::now_ns();
    // First: what they take is room for the test file.
    targets.iter().for_each(|target| leftovers::clean_target(target, resume, outcome.dry_run));
    let mut runs = Vec::new();
    for target in targets {
        let engine = targets::engine_for(&target, engine.map(Engine::from), outcome.quiet)?;
        let seed_now = seed.unwrap_or(new_seed);
        let plan = planner::draft(suite.clone(), seed_now, engine, &target, size_asked, level)?;
        let run = PlannedRun { plan, target, claim: None, resumed: None };
        let run = resume::resume_if_asked(run, level, resume, seed.is_some(), &outcome)?;
        planner::check_any_runs(&run.plan, &run.target)?;
        runs.push(run);
    }
    // A verify that is resumed in its read phase needs no permission to write any more.
    let writes = |run: &PlannedRun| run.plan.active().any(|it| it.writes >= WriteLevel::SameBytes);
    let permission = permission.filter(|_| !resume || runs.iter().any(writes));
    carry_out(runs, outcome, (arguments.label, arguments.price), permission, signals)
}
