//! `copy`: how long large and small files take, within the drive and from another one (techhabit.com).
//!
//! Each round makes the files, copies them, reads the copy and deletes it. Everything is cold before it is copied or
//! read, which is proved, and everything is on the drive before a time ends (`syncfs`).

mod copy_job;
mod copy_run;

use crate::error::BenchError;
use crate::io::payload::Payload;
use crate::judging::test_record::TestRecord;
use crate::plan::option_checks::{REQUEST_MAX, ROUNDS_MAX, check_count, ensure, repeated};
use crate::plan::overrides::Overrides;
use crate::plan::plan_context::PlanContext;
use crate::session::Session;
use crate::workload::{GivenOption, Workload};
use crate::workloads::shared::files::file_set::FileSet;
use crate::workloads::shared::files::real_files::RealFiles;
use crate::workloads::shared::files::simulated_files::SimulatedFiles;
use crate::workloads::shared::open_target;
use copy_job::{CopyJob, jobs};
use copy_run::{CopyRun, finish};
use drivescope_drive::own_folder::copying::CopyCall;
use drivescope_drive::own_folder::source_tree::SourceTree;
use drivescope_drive::own_folder::{self};
use drivescope_drive::{DriveError, OwnFolder, Target};
use drivescope_machine::Roots;
use drivescope_model::event::Event;
use drivescope_model::number::whole;
use drivescope_model::options::{CopyMethod, CopyOptions, Suite, TestKind};
use drivescope_model::plan::{Cost, PlannedTest};
use drivescope_model::target::TargetKind;
use drivescope_model::units::Bytes;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Files of a tree at most: a million take ten minutes to make.
const FILES_MAX: u32 = 10_000_000;
/// Calls of a simulated host that are computed in the time of a request to the drive, for each page.
const REQUESTS_PER_PAGE: f64 = 0.28;
const SIM: &str = "sim:";

pub struct CopyWorkload;

impl Workload for CopyWorkload {
    fn kind(&self) -> TestKind {
        TestKind::Copy
    }

    fn question(&self) -> &'static str {
        "how long do large and small files take to copy"
    }

    fn access(&self) -> &'static str {
        "in a directory: makes, copies and deletes files of its own, and reads those of --files; not on a file or a \
         device"
    }

    fn how_to_shorten(&self, suite: &Suite) -> String {
        let CopyOptions { rounds, .. } = suite.copy;
        format!("{rounds} rounds of copies: use fewer --rounds, or --set copy.large=4GB")
    }

    fn check(&self, suite: &Suite) -> Result<(), String> {
        let options = &suite.copy;
        ensure(!options.sets.is_empty(), || "copy.sets names nothing to copy".to_string())?;
        if let Some(set) = repeated(&options.sets) {
            return Err(format!("copy.sets names {set:?} twice"));
        }
        ensure((1..=1000).contains(&options.large_files), || {
            "copy.large_files must be between 1 and 1,000".to_string()
        })?;
        ensure((1..=FILES_MAX).contains(&options.small_files), || {
            "copy.small_files must be between 1 and 10,000,000".to_string()
        })?;
        ensure((512..=REQUEST_MAX).contains(&options.block.0), || {
            "copy.block must be between 512 bytes and 1 GiB".to_string()
        })?;
        check_count(options.rounds, 1..=ROUNDS_MAX, "copy.rounds")?;
        let is_simulated = options.from.as_deref().is_some_and(|from| from.starts_with(SIM));
        ensure(options.files.is_none() || options.from.is_none(), || {
            "copy.files says itself where the files come from; leave copy.from out".to_string()
        })?;
        ensure(options.method == CopyMethod::ReadWrite || !is_simulated, || {
            "a simulated host only reads and writes: leave copy.method out".to_string()
        })
    }

    fn apply(&self, overrides: &Overrides, suite: &mut Suite) -> Result<(), String> {
        let options = &mut suite.copy;
        options.rounds = overrides.rounds.unwrap_or(options.rounds);
        options.large = overrides.size.unwrap_or(options.large);
        options.files = overrides.files.clone().or(options.files.take());
        options.from = overrides.from.clone().or(options.from.take());
        Ok(())
    }

    fn needs_test_file(&self) -> bool {
        false
    }

    fn given_options(&self, overrides: &Overrides) -> Vec<GivenOption> {
        GivenOption::among(&[
            ("--files", true, overrides.files.is_some()),
            ("--from", true, overrides.from.is_some()),
        ])
    }

    fn plan(&self, context: &PlanContext<'_>) -> PlannedTest {
        let options = &context.suite.copy;
        let refused = context
            .files_refusal()
            .map(str::to_string)
            .or_else(|| mismatch(options, context.target.kind));
        if let Some(reason) = refused {
            return context.skipped(self.kind(), reason);
        }
        let mut test = context.planned(self.kind());
        if options.files.is_some() {
            if context.room_bytes == 0 {
                let reason = "nothing is free above the floor of free space".to_string();
                return context.skipped(self.kind(), reason);
            }
            test.at_most =
                Some("as much as these files hold, or as is free above the floor".to_string());
            test.cost.written_bytes = context.room_bytes.saturating_mul(options.rounds.into());
            test.files_bytes = Bytes(context.room_bytes);
            return test;
        }
        let (chosen, omitted) = jobs(options, context.room_bytes, context.typical.mb_s);
        if chosen.is_empty() {
            return context.skipped(self.kind(), omitted.join("; "));
        }
        test.omitted = omitted;
        let rounds = f64::from(options.rounds);
        let (mut bytes, mut files) = (0.0, 0.0);
        for job in &chosen {
            bytes += job.bytes as f64;
            files += f64::from(job.files);
        }
        // Made, copied (within one drive both ways), read; each small file takes about two accesses.
        let sequential = bytes * 4.0 / (context.typical.mb_s * 1e6);
        let accesses = files * 2.0 / (context.typical.iops * context.typical.queue_gain);
        let writes = if options.from.is_some() { 1.0 } else { 2.0 };
        let largest = chosen.iter().map(|job| job.bytes).max().unwrap_or(0);
        test.files_bytes = Bytes((largest as f64 * writes) as u64);
        test.cost = Cost {
            seconds: (sequential + accesses) * rounds,
            read_bytes: (bytes * 2.0 * rounds) as u64,
            written_bytes: (bytes * writes * rounds) as u64,
            computed_s: context.computed_s(bytes * 4.0 * rounds / 4096.0 * REQUESTS_PER_PAGE),
        };
        test
    }

    fn run(&self, session: &mut Session<'_>, record: &mut TestRecord) -> Result<(), BenchError> {
        let mut rounds = Vec::new();
        let end = match session.target.info().kind {
            TargetKind::Simulated => simulated(session, record, &mut rounds),
            _ => real(session, record, &mut rounds),
        };
        finish(session, record, &rounds);
        end
    }
}

/// Why the source does not go with the target, if so.
fn mismatch(options: &CopyOptions, target: TargetKind) -> Option<String> {
    let is_simulated = target == TargetKind::Simulated;
    let wrong = match (&options.files, &options.from) {
        (Some(_), _) if is_simulated => "a simulated drive has no real files: omit --files",
        (_, Some(from)) if from.starts_with(SIM) && !is_simulated => {
            "a simulated drive is copied from to a simulated one only"
        }
        (_, Some(from)) if !from.starts_with(SIM) && is_simulated => {
            "copies to a simulated drive come from one: --from sim:MODEL"
        }
        _ => return None,
    };
    Some(wrong.to_string())
}

fn simulated(
    session: &mut Session<'_>,
    record: &mut TestRecord,
    rounds: &mut Vec<copy_run::RoundTallies>,
) -> Result<(), BenchError> {
    fn missing() -> BenchError {
        BenchError::Unsuitable("needs a simulated drive".to_string())
    }
    let options = &session.plan.suite.copy;
    let into = Arc::new(session.target.simulated_files(session.now_ns()).ok_or_else(missing)??);
    let from = match &options.from {
        Some(path) => {
            let other = Target::find(Path::new(path), &Roots::host())?;
            Arc::new(other.simulated_files(session.now_ns()).ok_or_else(missing)??)
        }
        None => Arc::clone(&into),
    };
    session.storage.simulated = Some(Arc::clone(&into));
    let mb_s = crate::plan::expected_speed::ExpectedSpeed::typical(session.target.drive()).mb_s;
    let (jobs, _) = jobs(options, into.free_bytes().min(from.free_bytes()), mb_s);
    let mut store = SimulatedFiles::new(from, into, options.block);
    let run = CopyRun { session, jobs: &jobs, is_between: options.from.is_some(), is_given: false };
    run.all(&mut store, record, rounds)
}

fn real(
    session: &mut Session<'_>,
    record: &mut TestRecord,
    rounds: &mut Vec<copy_run::RoundTallies>,
) -> Result<(), BenchError> {
    let pass = session.next_pass();
    open_target::in_own_folder(session, |session, folder| {
        real_in(session, folder, pass, record, rounds)
    })
}

fn real_in(
    session: &Session<'_>,
    folder: &mut OwnFolder,
    pass: u64,
    record: &mut TestRecord,
    rounds: &mut Vec<copy_run::RoundTallies>,
) -> Result<(), BenchError> {
    let options = &session.plan.suite.copy;
    let payload = Payload::new(session.plan.seed, pass);
    let here = SourceTree::open(session.target.path())?.device();
    let store = RealFiles::new(folder, call_of(options.method), options.block.0, payload);
    let mut room = session.target.room()?.0;
    let (mut store, is_between) = if let Some(files) = &options.files {
        let tree = SourceTree::open(Path::new(files))?;
        let is_other = tree.device() != here;
        session.emit(Event::Preparing { what: "listing the files".to_string() });
        let what = format!("dropping {} files from memory", whole(tree.count_files()?));
        session.emit(Event::Preparing { what });
        (store.of_files(PathBuf::from(files)), is_other)
    } else if let Some(from) = &options.from {
        let other = open_target::folder_in(Path::new(from))?;
        room = room.min(own_folder::room(Path::new(from))?.0);
        let is_other = SourceTree::open(other.path())?.device() != here;
        (store.with_source(other), is_other)
    } else {
        (store, false)
    };
    if options.from.is_some() && !is_between {
        record.remark(
            "--from is on the same file system: this is a copy within the drive".to_string(),
        );
    }
    let mb_s = crate::plan::expected_speed::ExpectedSpeed::typical(session.target.drive()).mb_s;
    let (jobs, omitted) = match &options.files {
        Some(_) => (vec![CopyJob::of_files()], Vec::new()),
        None => jobs(options, room, mb_s),
    };
    omitted.into_iter().for_each(|reason| record.remark(reason));
    let run = CopyRun { session, jobs: &jobs, is_between, is_given: options.files.is_some() };
    let end = run.all(&mut store, record, rounds);
    let closed = store.close();
    let source = options.files.as_ref().or(options.from.as_ref()).filter(|_| is_between);
    end.and(closed).map_err(|error| blamed(error, source))
}

/// The same error with the drive that failed: an error at the source does not count for the target.
fn blamed(error: BenchError, source: Option<&String>) -> BenchError {
    let is_at_source = |error: &DriveError| {
        let failed = error.failed_path().zip(source);
        failed.is_some_and(|(path, source)| path.starts_with(source))
    };
    match error {
        BenchError::Drive(error) if is_at_source(&error) => BenchError::Source(error),
        other => other,
    }
}

const fn call_of(method: CopyMethod) -> CopyCall {
    match method {
        CopyMethod::ReadWrite => CopyCall::ReadWrite,
        CopyMethod::CopyFileRange => CopyCall::CopyFileRange,
        CopyMethod::Sendfile => CopyCall::Sendfile,
    }
}

fn set_of(job: &CopyJob, seed: u64) -> FileSet {
    if job.is_large {
        FileSet::large(job.bytes, job.files)
    } else {
        FileSet::small(job.files, seed)
    }
}

#[cfg(test)]
mod tests;
