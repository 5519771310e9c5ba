//! From a suite and a target to a plan that can be printed before anything runs.

mod unseen;

pub use unseen::{UnseenPlace, plan_unseen};

use crate::error::BenchError;
use crate::plan::expected_speed::ExpectedSpeed;
use crate::plan::plan_context::PlanContext;
use crate::plan::slow_drive;
use crate::suites;
use crate::workloads;
use drivescope_drive::{DriveError, Target};
use drivescope_model::options::Suite;
use drivescope_model::plan::{Cost, Engine, Plan, PlannedTest, WriteLevel};
use drivescope_model::target::{FileSystem, TargetKind};
use drivescope_model::units::Bytes;

/// The test file is a whole number of these, the block in which it is written.
const FILE_UNIT: u64 = 1 << 20;
/// Smallest test file that is made when the asked size does not fit: `transfer` needs sixteen blocks of 1 MiB.
const FILE_MIN: u64 = 16 << 20;
/// A file that is made to fit leaves this part of the room to the file system's own blocks.
const METADATA_SHARE: u64 = 64;
/// Where the file system copies on write, a file takes this many times its size: the old extents stay as long as a
/// part of one is in use, and their replacements count once more until committed.
const COW_COPIES: u64 = 3;
/// A shortened round keeps this many requests: ten beyond its 99.9th percentile. More than six rounds have fewer:
/// all of a cell together have sixty beyond it.
const ROUND_REQUESTS_MIN: u64 = 10_000;
const CELL_REQUESTS_MIN: u64 = 50_000;
/// Share of a simulated drive that files can take: a twentieth is the superuser's, some is the file system's own.
const SIMULATED_ROOM: f64 = 0.92;

/// Makes the plan. `size_asked`: the user named the size, so it is not made smaller to fit. `allowed`: how a block
/// device may be written; [`WriteLevel::Read`] is not at all. Errors: the test file does not fit above the floor
/// of free space, or no test can run at all.
pub fn plan(
    suite: Suite,
    seed: u64,
    engine: Engine,
    target: &Target,
    size_asked: bool,
    allowed: WriteLevel,
) -> Result<Plan, BenchError> {
    let plan = draft(suite, seed, engine, target, size_asked, allowed)?;
    check_any_runs(&plan, target)?;
    Ok(plan)
}

/// As [`plan`], but no test may be able to run: resuming may still change that. Errors: the test file does not fit
/// above the floor of free space.
pub fn draft(
    suite: Suite,
    seed: u64,
    engine: Engine,
    target: &Target,
    size_asked: bool,
    allowed: WriteLevel,
) -> Result<Plan, BenchError> {
    draft_measured(suite, seed, engine, target, (size_asked, None), allowed)
}

/// For a drive whose speed a trial showed: if it is slow, the plan takes its real time, and a suite of our own is
/// shortened.
pub fn draft_measured(
    suite: Suite,
    seed: u64,
    engine: Engine,
    target: &Target,
    (size_asked, measured): (bool, Option<ExpectedSpeed>),
    allowed: WriteLevel,
) -> Result<Plan, BenchError> {
    let typical = ExpectedSpeed::of(target);
    let plan_at = |suite: &Suite, speed, is_slow| {
        let whole = (suite.clone(), seed, engine);
        plan_at(whole, target, size_asked, allowed, (speed, is_slow))
    };
    let Some(slow) = typical.unless_slow(measured) else {
        return plan_at(&suite, typical, false);
    };
    let mut shortened = None;
    if suites::may_be_shortened(&suite) {
        let usual_s = plan_at(&suite, typical, false)?.cost().seconds;
        let seconds = |suite: &Suite| plan_at(suite, slow, true).map(|plan| plan.cost().seconds);
        let has_file = target.info().kind == TargetKind::Directory;
        shortened = slow_drive::shortened(&suite, usual_s, slow, has_file, seconds)?;
    }
    let Some((short, words)) = shortened else { return plan_at(&suite, slow, true) };
    let mut plan = plan_at(&short, slow, true)?;
    if let Some(first) = plan.tests.iter_mut().find(|test| test.skip.is_none()) {
        first.omitted.push(words);
    }
    Ok(plan)
}

fn plan_at(
    (suite, seed, engine): (Suite, u64, Engine),
    target: &Target,
    size_asked: bool,
    allowed: WriteLevel,
    (typical, is_slow): (ExpectedSpeed, bool),
) -> Result<Plan, BenchError> {
    let info = target.info();
    let needs_file = suite.tests.iter().any(|&test| workloads::find(test).needs_test_file());
    let own_bytes = match info.kind {
        TargetKind::Directory if needs_file => file_size(&suite, target, size_asked)?,
        _ => Bytes(0),
    };
    let room_bytes = match info.kind {
        TargetKind::Directory => target.room()?.0.saturating_sub(own_bytes.0),
        TargetKind::Simulated => (info.size_bytes as f64 * SIMULATED_ROOM) as u64,
        TargetKind::File | TargetKind::Block => 0,
    };
    let span_bytes = match info.kind {
        TargetKind::Directory => own_bytes.0,
        _ => {
            let part = suite.part(info.size_bytes);
            part.end - part.start
        }
    };
    let context = PlanContext {
        suite: &suite,
        target: info,
        typical,
        is_slow,
        fastest: ExpectedSpeed::upper_bound(target),
        span_bytes,
        room_bytes,
        allowed,
        drive: target.drive(),
        zoned: target.zoned(),
        round_requests_max: round_requests_max(&suite, target),
    };
    let planned = tests_of(&context, own_bytes);
    let own_folder = (info.kind == TargetKind::Directory)
        .then(|| format!("{}/.drivescope-…", info.path.trim_end_matches('/')));
    let tests = planned.iter().map(|planned| planned.test).collect();
    let suite = Suite { tests, ..suite };
    Ok(Plan { suite, seed, engine, tests: planned, own_folder, own_bytes })
}

/// The plans of a suite's tests, in the order in which they run.
fn tests_of(context: &PlanContext<'_>, own_bytes: Bytes) -> Vec<PlannedTest> {
    let tests = context.suite.tests.iter();
    let mut planned: Vec<PlannedTest> =
        tests.map(|&test| workloads::find(test).plan(context)).collect();
    planned.sort_by_key(|test| !only_reads(test));
    let needs_it = |test: &&mut PlannedTest| {
        test.skip.is_none() && workloads::find(test.test).needs_test_file()
    };
    if let Some(first) = planned.iter_mut().find(needs_it) {
        first.cost = first.cost
            + Cost {
                seconds: context.typical.layout_s(own_bytes),
                written_bytes: own_bytes.0,
                ..Cost::default()
            };
    }
    planned
}

/// Whether a test only reads what is there. Such tests come first: random writes of others leave a shingled disk
/// slow where they went, which would look like a slow region of it.
fn only_reads(test: &PlannedTest) -> bool {
    let reads = workloads::find(test.test).reads_existing_data();
    reads && test.skip.is_none() && test.cost.written_bytes == 0
}

/// Requests that each timed round may have, so that a run on a simulated drive is not computed for minutes.
fn round_requests_max(suite: &Suite, target: &Target) -> Option<u64> {
    let phases = suite.tests.iter().map(|&test| workloads::find(test).timed_phases(suite));
    let rounds = phases.sum::<usize>() as u64 * u64::from(suite.rounds);
    let is_bounded = target.info().kind == TargetKind::Simulated && suite.simulated_requests > 0;
    let share = suite.simulated_requests.checked_div(rounds).filter(|_| is_bounded)?;
    let least = (CELL_REQUESTS_MIN / u64::from(suite.rounds.max(1))).min(ROUND_REQUESTS_MIN);
    Some(share.max(least))
}

/// As asked, or what fits.
fn file_size(suite: &Suite, target: &Target, asked: bool) -> Result<Bytes, DriveError> {
    let wanted = suite.size.0.next_multiple_of(FILE_UNIT);
    let room = target.room()?.0;
    let file_system = target.data_system();
    let copies = if file_system.is_some_and(FileSystem::copies_on_write) { COW_COPIES } else { 1 };
    if wanted.saturating_mul(copies) <= room {
        return Ok(Bytes(wanted));
    }
    let fitting = (room - room / METADATA_SHARE) / copies / FILE_MIN * FILE_MIN;
    if asked || fitting < FILE_MIN {
        let size = if asked { wanted } else { FILE_MIN };
        return Err(target.no_room(Bytes(size.saturating_mul(copies))));
    }
    Ok(Bytes(fitting))
}

pub fn check_any_runs(plan: &Plan, target: &Target) -> Result<(), BenchError> {
    if plan.active().next().is_some() {
        return Ok(());
    }
    let reason = |test: &PlannedTest| Some(format!("{} {}", test.test, test.skip.as_ref()?));
    let reasons: Vec<String> = plan.tests.iter().filter_map(reason).collect();
    let path = &target.info().path;
    let message = format!("no test of this suite can run on {path}: {}", reasons.join("; "));
    Err(BenchError::Unsuitable(message))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{every, plan_of, run_on, run_target, suite_of};
    use drivescope_drive::simulated::spec::built_in;
    use drivescope_model::options::TestKind;

    #[test]
    fn first_look_at_a_disk_takes_ten_seconds() {
        let disk = ExpectedSpeed::typical(None);
        let suite = |name| suites::find(name, None).unwrap();
        let seconds = |suite: &Suite, rounds| {
            let suite = Suite { rounds, tests: vec![TestKind::Transfer], ..suite.clone() };
            let planned = plan_of(&run_target("sim:wd40efrx"), suite.clone());
            disk.layout_s(suite.size) + planned.cost.seconds
        };
        let (first, quick) = (suite("first"), suite("quick"));
        assert!(seconds(&first, first.rounds) <= 10.0, "{}", seconds(&first, first.rounds));
        assert!(seconds(&quick, 1) <= 10.0, "{}", seconds(&quick, 1));
        let has = |cell| quick.transfer.cells.contains(cell);
        assert!(first.transfer.cells.iter().all(has), "quick refines the cells of first");
    }

    #[test]
    fn tests_that_only_read_come_before_random_writes() {
        let target = run_target("sim:easystore-2tb");
        let suite = suites::find("standard", None).unwrap();
        let plan = plan(suite, 1, Engine::Sim, &target, false, WriteLevel::Read).unwrap();
        let order =
            [TestKind::Latency, TestKind::Surface, TestKind::Transfer, TestKind::TinyWrites];
        assert_eq!(plan.suite.tests, order);
        assert!(plan.tests.iter().map(|test| test.test).eq(order));
    }

    /// Longest computation of a run on a simulated drive; `cargo xtask suites` holds the plans against the clock.
    const COMPUTED_MAX_S: f64 = 15.0;

    #[test]
    fn every_suite_computes_fast_on_every_simulated_drive() {
        let models = built_in().unwrap();
        for name in suites::names(None) {
            for model in every(4, &models) {
                let target = run_target(format!("sim:{}", model.name));
                let suite = suites::find(&name, None).unwrap();
                let Ok(plan) = plan(suite, 1, Engine::Sim, &target, false, WriteLevel::Read) else {
                    continue;
                };
                let computed_s = plan.cost().computed_s;
                assert!(computed_s <= COMPUTED_MAX_S, "{name} on {}: {computed_s} s", model.name);
            }
        }
    }

    /// Requests of every round, and the most that one may have.
    fn rounds_of(test: TestKind, simulated_requests: u64) -> (Vec<u64>, Option<u64>) {
        let mut suite = Suite { simulated_requests, rounds: 3, ..suite_of(test) };
        (suite.transfer.time.0, suite.latency.time.0) = (1.0, 2.0);
        suite.transfer.cells = ["rnd4k_q32t16.read", "rnd4k_q1t1.sync", "rnd4k_q1t1.write"]
            .map(|it| it.parse().unwrap())
            .into();
        let planned = plan_of(&run_target("sim:samsung-860evo-250"), suite.clone());
        let result = run_on("sim:samsung-860evo-250", suite);
        (result.phases.iter().map(|phase| phase.ops).collect(), planned.round_requests)
    }

    #[test]
    fn slow_to_compute_rounds_end_after_their_share() {
        for test in [TestKind::Transfer, TestKind::Latency] {
            let (whole, bound) = rounds_of(test, 0);
            assert!(bound.is_none() && whole.iter().all(|ops| *ops > 100), "{test}: {whole:?}");
            let (shares, bound) = rounds_of(test, 1);
            assert_eq!(bound, Some(ROUND_REQUESTS_MIN), "{test}");
            for (share, whole) in shares.iter().zip(&whole) {
                // A little of a share is its ramp, and that of an open loop comes by chance.
                let most = (*whole).min(ROUND_REQUESTS_MIN);
                let is_right = *share <= most + most / 20 && *share >= most - most / 5;
                assert!(is_right, "{test}: {shares:?} of {whole:?}");
            }
            let (all, bound) = rounds_of(test, 1_000_000_000);
            assert_eq!((all, bound), (whole, None), "{test}: nothing is shortened without need");
        }
    }
}
