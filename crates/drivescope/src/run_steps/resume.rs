//! The step between plan and claim: what earlier runs did to a device, as the store knows it, changes the plan.
//! `run --resume` continues the last interrupted full `fill`, `verify` or `surface`, `steady`, or `fill-files` of a
//! directory, and a `verify` that only reads takes the seed of the last one that wrote.

use super::PlannedRun;
use crate::arguments::OutcomeArguments;
use crate::exit::Failure;
use crate::output;
use crate::store_access::open_existing;
use drivescope_bench::plan::overrides::Overrides;
use drivescope_bench::planner;
use drivescope_bench::suites;
use drivescope_bench::workload::Continuation;
use drivescope_bench::workloads;
use drivescope_drive::Target;
use drivescope_machine::identity::DriveIdentity;
use drivescope_model::document::{Run, TestResult, TestStatus};
use drivescope_model::options::{
    Suite, SurfaceOptions, SurfacePreset, TestKind, VerifyMode, VerifyPhase,
};
use drivescope_model::plan::{Plan, WriteLevel};
use drivescope_model::resume::{ResumePhase, ResumePoint};
use drivescope_model::target::TargetKind;
use drivescope_model::units::Bytes;
use drivescope_report::verdict;
use drivescope_store::Filter;

/// Newest runs that are searched.
const RUNS_MAX: u32 = 200;

/// An interrupted test.
struct Unfinished {
    run_id: String,
    point: ResumePoint,
    /// Part of the device under test; 0 for all.
    span: Bytes,
    suite: Suite,
    result: TestResult,
    /// Tests that the run had ended before.
    ended: Vec<TestResult>,
}

/// With `is_asked` the run that continues the interrupted one; else the same run, with a note if it could be resumed.
/// Errors: there is nothing to resume, or no store.
pub fn resume_if_asked(
    mut run: PlannedRun,
    level: WriteLevel,
    is_asked: bool,
    seed_asked: bool,
    outcome: &OutcomeArguments,
) -> Result<PlannedRun, Failure> {
    let (store, quiet) = (outcome.store.store.as_deref(), outcome.quiet);
    let PlannedRun { plan, target, .. } = &run;
    let found = find(store, target, &plan.suite);
    if is_asked {
        let unfinished = found?.ok_or_else(|| nothing(target))?;
        let resumed = unfinished.resumed(plan, target, level)?;
        if !quiet {
            unfinished.note_resumed(target, &plan.suite.tests);
        }
        // One decision follows from both parts of a check.
        let both = [&resumed.suite, &unfinished.suite];
        let ended =
            if both.into_iter().all(verdict::decides) { unfinished.ended } else { Vec::new() };
        let resumed_test = Some(unfinished.result);
        return Ok(PlannedRun { plan: resumed, resumed: resumed_test, ended, ..run });
    }
    // Without it, a store that cannot be read is no matter yet.
    if let (Ok(Some(unfinished)), false) = (&found, quiet) {
        unfinished.note_possible(target, &plan.suite);
    }
    if !seed_asked && let Some(seed) = seed_to_read(store, target, &plan.suite, quiet) {
        run.plan.seed = seed;
    }
    Ok(run)
}

/// The newest test of this suite on this device, if it was interrupted. A verify cannot be resumed after another test
/// wrote to the device: its data are gone.
fn find(
    store: Option<&str>,
    target: &Target,
    suite: &Suite,
) -> Result<Option<Unfinished>, Failure> {
    let kind = target.info().kind;
    let continues = |test: &TestKind| continuation(*test).is_some_and(|it| it.on == kind);
    let wanted: Vec<TestKind> = suite.tests.iter().copied().filter(continues).collect();
    if wanted.is_empty() {
        return Ok(None);
    }
    let may_be_spoiled =
        wanted.iter().any(|&test| continuation(test).is_some_and(|it| it.reads_back));
    let counts = |run: &Run, result: &TestResult| {
        let spoils = may_be_spoiled && overwrites(run, result.test);
        let is_sample = result.test == TestKind::Surface && !is_full_read(&run.plan.suite);
        has_begun(result) && !is_sample && (wanted.contains(&result.test) || spoils)
    };
    let found = newest(store, target, counts)?;
    Ok(found.and_then(|(run, result)| {
        let point = result.resume.filter(ResumePoint::is_worthwhile);
        let point = point.filter(|point| wanted.contains(&point.test()))?;
        let suite = run.plan.suite;
        let ended =
            run.tests.into_iter().filter(|it| it.status != TestStatus::Interrupted).collect();
        Some(Unfinished { run_id: run.id, point, span: suite.span, suite, result, ended })
    }))
}

/// Whether `surface` reads everything. Samples only read, so that a full read before them can still be resumed.
fn is_full_read(suite: &Suite) -> bool {
    suite.surface.preset == SurfacePreset::Full
}

fn continuation(test: TestKind) -> Option<Continuation> {
    workloads::find(test).continuation()
}

/// Whether a test transferred any data. One that was stopped while it inspected the device has changed nothing.
fn has_begun(result: &TestResult) -> bool {
    match result.status {
        TestStatus::Done => true,
        TestStatus::Skipped | TestStatus::Interrupted | TestStatus::Failed => {
            result.resume.is_some() || !result.phases.is_empty()
        }
    }
}

/// Whether a test of this run was planned to write to its device.
fn overwrites(run: &Run, test: TestKind) -> bool {
    run.plan.tests.iter().any(|plan| plan.test == test && plan.writes == WriteLevel::Destroy)
}

/// The seed of the newest run that wrote stamps to the whole device, for a suite that only reads them; prints the run's
/// id. `None` also without a readable store.
fn seed_to_read(store: Option<&str>, target: &Target, suite: &Suite, quiet: bool) -> Option<u64> {
    let reads = suite.verify.mode == VerifyMode::Full && suite.verify.phase == VerifyPhase::Read;
    let only_reads = reads && suite.tests.contains(&TestKind::Verify);
    if !only_reads || target.info().kind != TargetKind::Block {
        return None;
    }
    let found = newest(store, target, |run, result| {
        let verify = &run.plan.suite.verify;
        let wrote = verify.mode == VerifyMode::Full && verify.phase != VerifyPhase::Read;
        let was_run = result.status != TestStatus::Skipped || has_begun(result);
        result.test == TestKind::Verify && was_run && wrote
    });
    let (run, _) = found.ok().flatten()?;
    if !quiet {
        let (id, seed) = (&run.id, run.plan.seed);
        output::remark(&format!("reading what run {id} wrote (--seed={seed})"));
    }
    Some(run.plan.seed)
}

/// The newest run on this device with such a result, and its last such result.
fn newest(
    store: Option<&str>,
    target: &Target,
    is_it: impl Fn(&Run, &TestResult) -> bool,
) -> Result<Option<(Run, TestResult)>, Failure> {
    let store = open_existing(store)?;
    let drive = target.drive();
    let serial = drive.and_then(|drive| drive.serial.as_ref());
    let model = drive.and_then(|drive| drive.model.as_ref());
    for summary in store.list(&Filter { limit: Some(RUNS_MAX), ..Filter::default() })? {
        if (summary.drive_serial.as_ref(), summary.drive_model.as_ref()) != (serial, model) {
            continue;
        }
        // An unreadable stored run does not refuse a new one.
        let Ok(run) = store.get(&summary.id) else { continue };
        if !is_same_device(&run, target) {
            continue;
        }
        let mut results = run.tests.iter().rev();
        if let Some(result) = results.find(|result| is_it(&run, result)).cloned() {
            return Ok(Some((run, result)));
        }
    }
    Ok(None)
}

/// Whether a run was on this device, by names and sizes: the test compares the contents before it writes. A whole drive
/// with a serial number may have another path now.
fn is_same_device(run: &Run, target: &Target) -> bool {
    fn is_whole(stack: &[String], drive: Option<&String>) -> bool {
        stack.first() == drive
    }
    let (then, now) = (&run.target, target.info());
    let whole_then = is_whole(&then.stack, run.drive.as_ref().map(|drive| &drive.name));
    let whole_now = is_whole(&now.stack, target.drive().map(|drive| &drive.name));
    let drives = run.drive.as_ref().zip(target.drive());
    let is_known = drives.is_some_and(|(then, now)| {
        let sameness = DriveIdentity::from(then).compare(&DriveIdentity::from(now));
        now.serial.is_some() && sameness.difference().is_none()
    });
    then.size_bytes == now.size_bytes
        && (then.path == now.path || is_known && whole_then && whole_now)
}

impl Unfinished {
    /// The plan from the interrupted test on, with the same seed and, unless a size is given, the same size.
    fn resumed(&self, plan: &Plan, target: &Target, level: WriteLevel) -> Result<Plan, Failure> {
        let mut suite = plan.suite.clone();
        let test = self.point.test();
        // Tests before it would overwrite what it wrote.
        suite.tests = suite.tests.into_iter().skip_while(|&before| before != test).collect();
        if let Some(continuation) = continuation(test) {
            (continuation.continue_at)(self.point, &mut suite);
        }
        if self.point.phase == ResumePhase::Surface {
            suite.offset = suite.offset.or(self.suite.offset);
            self.check_same_read(&suite, target)?;
        }
        if suite.span.0 == 0 {
            suite.span = self.span;
        }
        let bytes = |span| bytes_of(span, target);
        // What was never written cannot be read back, and an honest device would pass for a fake.
        let only_reads = self.point.phase == ResumePhase::VerifyRead;
        if only_reads && bytes(suite.span) > bytes(self.span) {
            let (id, written) = (&self.run_id, Bytes(bytes(self.span)));
            let message = format!("cannot resume: run {id} wrote only {written}; omit --size");
            return Err(Failure::usage(message));
        }
        let suite = suites::adapt(suite, &Overrides::default())?;
        Ok(planner::draft(suite, self.point.seed, plan.engine, target, true, level)?)
    }

    /// Whether a full read has the places and options of the interrupted one: its figures are of all of it.
    fn check_same_read(&self, suite: &Suite, target: &Target) -> Result<(), Failure> {
        fn refused(what: String) -> Failure {
            Failure::usage(format!("cannot resume: {what}"))
        }
        let (id, before) = (&self.run_id, Bytes(bytes_of(self.span, target)));
        let is_part = suite.span.0 > 0 && bytes_of(suite.span, target) != before.0;
        if is_part || suite.offset != self.suite.offset {
            return Err(refused(format!(
                "run {id} reads another part, {before}; omit --size and --offset"
            )));
        }
        let (then, now) = (comparable(&self.suite.surface), comparable(&suite.surface));
        if then == now {
            return Ok(());
        }
        let what = first_difference(&then, &now).unwrap_or_default();
        Err(refused(format!("run {id} has {what}; use the same options, or omit --resume")))
    }

    /// `a fill of /dev/sdb was ended at 34 % (run 4f2a…)`.
    fn described(&self, target: &Target) -> String {
        let info = target.info();
        let percent =
            self.point.at_bytes as f64 * 100.0 / bytes_of(self.span, target).max(1) as f64;
        let (test, path, id) = (self.point.test(), &info.path, &self.run_id);
        if self.point.phase == ResumePhase::Steady {
            let written = Bytes(self.point.at_bytes);
            return format!(
                "a {test} of {path} was interrupted after {written} written (run {id})"
            );
        }
        let full = if self.point.phase == ResumePhase::Surface { "full " } else { "" };
        format!("a {full}{test} of {path} was interrupted at {percent:.0} % (run {id})")
    }

    /// Says that the run resumes, and which requested tests before that place are skipped.
    fn note_resumed(&self, target: &Target, asked: &[TestKind]) {
        let what = self.described(target);
        output::remark(&format!("{what}; this run resumes it"));
        let before = asked.iter().take_while(|&&test| test != self.point.test());
        let before: Vec<&str> = before.map(|test| test.name()).collect();
        if !before.is_empty() {
            let names = before.join(", ");
            output::remark(&format!("tests before it are not repeated: {names}"));
        }
    }

    /// Says that the run could be resumed, if the suite restarts it.
    fn note_possible(&self, target: &Target, suite: &Suite) {
        let continuation = continuation(self.point.test());
        let begins_anew = continuation.is_some_and(|it| (it.begins_anew)(suite));
        if begins_anew {
            let what = self.described(target);
            output::remark(&format!("{what}; --resume continues it"));
        }
    }
}

fn comparable(options: &SurfaceOptions) -> SurfaceOptions {
    SurfaceOptions { preset: SurfacePreset::Full, from: Bytes(0), ..options.clone() }
}

/// `surface.accesses=0, not 300`.
fn first_difference(then: &SurfaceOptions, now: &SurfaceOptions) -> Option<String> {
    let then = serde_json::to_value(then).ok()?;
    let now = serde_json::to_value(now).ok()?;
    let (name, value) = then.as_object()?.iter().find(|(name, value)| now[name] != **value)?;
    Some(format!("surface.{name}={value}, not {}", now[name]))
}

/// Bytes of a span on a target.
fn bytes_of(span: Bytes, target: &Target) -> u64 {
    match (span.0, target.info().size_bytes) {
        (0, all) => all,
        (some, all) => some.min(all),
    }
}

fn nothing(target: &Target) -> Failure {
    let path = &target.info().path;
    Failure::usage(format!(
        "nothing to resume on {path}: the store has no interrupted fill-files or steady, or full fill, verify or \
         surface, of it that is among these tests and was not overwritten since; omit --resume"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// After Ctrl-C while a resumed run checks the written data, the run before it can still be resumed.
    #[test]
    fn a_test_that_moved_nothing_has_not_begun() {
        fn ended(status: TestStatus, reason: Option<String>) -> TestResult {
            TestResult::empty(TestKind::Fill, status, reason)
        }
        assert!(!has_begun(&ended(TestStatus::Interrupted, None)));
        assert!(!has_begun(&ended(TestStatus::Failed, Some("read at byte 0 failed".into()))));
        assert!(!has_begun(&ended(TestStatus::Skipped, Some("does not hold".into()))));
        let point =
            ResumePoint { seed: 1, at_bytes: 4096, phase: ResumePhase::Fill, intact_before: false };
        let stopped = TestResult { resume: Some(point), ..ended(TestStatus::Interrupted, None) };
        assert!(has_begun(&stopped), "at a checkpoint");
        assert!(has_begun(&ended(TestStatus::Done, None)));
    }
}
