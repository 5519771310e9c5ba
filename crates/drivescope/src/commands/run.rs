//! `run`: arguments → plan → claim → tests → run document → store → report. The way from the plan on is
//! [`crate::run_steps`].

use crate::arguments::{OutcomeArguments, RunArguments};
use crate::exit::{Code, Failure};
use crate::run_steps::write_permission::{self, WritePermission};
use crate::run_steps::{
    PlannedRun, STOPPING, carry_out, fio_jobs, leftovers, max_duration, phybs_table, resume,
    targets,
};
use crate::signals::RunSignals;
use drivescope_bench::error::BenchError;
use drivescope_bench::io::clock;
use drivescope_bench::plan::expected_speed::ExpectedSpeed;
use drivescope_bench::plan::overrides::Overrides;
use drivescope_bench::plan::speed_trial;
use drivescope_bench::planner;
use drivescope_bench::suites;
use drivescope_bench::workloads;
use drivescope_drive::Target;
use drivescope_machine::limits;
use drivescope_model::options::Suite;
use drivescope_model::plan::{Engine, Plan, WriteLevel};
use drivescope_model::target::TargetKind;
use drivescope_model::units::Bytes;
use drivescope_store::StoreLocation;

/// Enough for buffers, thread stacks and calibration.
const ADDRESS_SPACE_MIN: Bytes = Bytes::mib(512);

pub fn run(mut arguments: RunArguments, signals: &RunSignals) -> Result<Code, Failure> {
    if arguments.clean {
        return leftovers::clean(&arguments.targets, arguments.outcome.dry_run);
    }
    let fio = arguments.fio.as_deref().map(fio_jobs::read).transpose()?;
    if let Some(fio) = &fio {
        fio_jobs::fill_in(fio, &mut arguments);
    }
    let overrides = Overrides {
        files: targets::source(arguments.files.as_deref())?,
        from: targets::source(arguments.from.as_deref())?,
        query: targets::file(arguments.query.as_deref())?,
        params: targets::file(arguments.params.as_deref())?,
        ..overrides(&arguments)
    };
    let Some(fio) = fio else {
        let suite = suites::find(&arguments.suite, suites::user_folder().as_deref())?;
        return run_suite(suites::adapt(suite, &overrides)?, arguments, signals);
    };
    let suite = suites::adapt(fio.suite, &overrides)?;
    fio_jobs::print_notes(&fio.notes, arguments.outcome.quiet);
    run_suite(suite, arguments, signals)
}

/// Changes to a suite, except for files and folders.
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

/// As [`run`] with a given suite: arguments that choose one have no effect.
pub fn run_suite(
    suite: Suite,
    arguments: RunArguments,
    signals: &RunSignals,
) -> Result<Code, Failure> {
    check_address_space(limits::address_space_max())?;
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
    let clean = |target| leftovers::clean_target(target, resume, outcome.dry_run);
    targets.iter().try_for_each(clean)?;
    let mut runs = Vec::new();
    for target in targets {
        let engine = targets::engine_for(&target, engine.map(Engine::from), outcome.quiet)?;
        let seed_now = seed.unwrap_or(new_seed);
        let draft = |measured| {
            let speed = (size_asked, measured);
            planner::draft_measured(suite.clone(), seed_now, engine, &target, speed, level)
        };
        let mut plan = draft(None)?;
        if let Some(measured) = trial(&target, &plan, resume, &outcome, signals)? {
            plan = draft(Some(measured))?;
        }
        let run = PlannedRun { plan, target, claim: None, resumed: None, ended: Vec::new() };
        let run = resume::resume_if_asked(run, level, resume, seed.is_some(), &outcome)?;
        planner::check_any_runs(&run.plan, &run.target)
            .map_err(|error| write_permission::with_command(error.into(), &run.target))?;
        runs.push(run);
    }
    // A verify that is resumed in its read phase needs no permission to write any more.
    let writes = |run: &PlannedRun| run.plan.active().any(|it| it.writes >= WriteLevel::SameBytes);
    let permission = permission.filter(|_| !resume || runs.iter().any(writes));
    carry_out(runs, outcome, (arguments.label, arguments.price), permission, signals)
}

/// Speed of the drive, for the plan. Not measured for a dry run, which writes to no directory, for a resumed test,
/// which is planned already, and for a plan that is refused.
fn trial(
    target: &Target,
    plan: &Plan,
    is_resumed: bool,
    outcome: &OutcomeArguments,
    signals: &RunSignals,
) -> Result<Option<ExpectedSpeed>, Failure> {
    let needs_file = plan.active().any(|it| workloads::find(it.test).needs_test_file());
    let is_refused = max_duration::check(plan).is_err()
        || outcome.show.table && phybs_table::check(plan).is_err()
        || StoreLocation::parse(outcome.store.store.as_deref()).is_err();
    if is_resumed || !needs_file || is_refused {
        return Ok(None);
    }
    let may_write = target.info().kind == TargetKind::Directory && !outcome.dry_run;
    if may_write {
        // From here on a scratch file has to be removed.
        signals.begin(STOPPING);
    }
    let measured = speed_trial::measure(target, may_write, &signals.stop);
    if signals.was_signalled() {
        return Err(BenchError::Interrupted.into());
    }
    Ok(measured)
}

/// Refuses a memory limit under which the program would be aborted during a run.
fn check_address_space(most: Option<Bytes>) -> Result<(), Failure> {
    let Some(most) = most.filter(|most| *most < ADDRESS_SPACE_MIN) else { return Ok(()) };
    Err(Failure::usage(format!(
        "this process may use {} of memory (ulimit -v), and measuring takes up to {}: raise the limit, as with \
         ulimit -v unlimited",
        most.binary(),
        ADDRESS_SPACE_MIN.binary()
    )))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn too_little_memory_is_refused_with_the_limit() {
        assert!(
            check_address_space(None).is_ok() && check_address_space(Some(Bytes::gib(8))).is_ok()
        );
        let refused = check_address_space(Some(Bytes::mib(100))).unwrap_err();
        assert!(refused.message.contains("100 MiB") && refused.message.contains("ulimit -v"));
    }
}
