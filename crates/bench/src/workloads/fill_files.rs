//! `fill-files`: what happens as a file system fills with files (nequalsonelifestyle.com: files of 1 GB until the
//! drive was full).
//!
//! Each file is timed, and its extents say where on the drive it lies: the order of files is not the order of
//! positions. The files of a killed run are continued with `--resume`; `--keep` leaves them for `read-files`.

mod real_fill;

pub(super) use real_fill::{TREE, file_name, places};

use crate::error::BenchError;
use crate::io::queue::IoOp;
use crate::judging::round::Cache;
use crate::judging::test_record::TestRecord;
use crate::plan::option_checks::ensure;
use crate::plan::overrides::Overrides;
use crate::plan::plan_context::PlanContext;
use crate::session::{FilledDrive, Session};
use crate::workload::{Continuation, GivenOption, Workload};
use crate::workloads::shared::files::file_curve::{self, FileSample};
use crate::workloads::shared::files::file_phase::FilePhase;
use crate::workloads::shared::files::file_store::FileStep;
use crate::workloads::shared::files::simulated_files::{failed, full, moved_at_once};
use drivescope_model::options::{Suite, TestKind};
use drivescope_model::plan::{Cost, PlannedTest};
use drivescope_model::resume::{ResumePhase, ResumePoint};
use drivescope_model::target::TargetKind;
use drivescope_model::units::Bytes;
use std::sync::Arc;

pub(crate) const CELL: &str = "write";
/// Smallest file: of smaller ones, the time is the file system's.
const SIZE_MIN: Bytes = Bytes::mib(1);

pub struct FillFilesWorkload;

impl Workload for FillFilesWorkload {
    fn kind(&self) -> TestKind {
        TestKind::FillFiles
    }

    fn question(&self) -> &'static str {
        "how does the write rate change as a file system fills with files"
    }

    fn access(&self) -> &'static str {
        "in a directory: fills it with files of its own, down to the floor of free space; not on a file or a device"
    }

    fn how_to_shorten(&self, _suite: &Suite) -> String {
        "fewer files: --set fill-files.files=100".to_string()
    }

    fn check(&self, suite: &Suite) -> Result<(), String> {
        let size = suite.fill_files.size;
        ensure(size >= SIZE_MIN, || format!("fill-files.size must be at least {SIZE_MIN}"))
    }

    fn apply(&self, overrides: &Overrides, suite: &mut Suite) -> Result<(), String> {
        suite.fill_files.keep |= overrides.keep;
        Ok(())
    }

    fn needs_test_file(&self) -> bool {
        false
    }

    fn given_options(&self, overrides: &Overrides) -> Vec<GivenOption> {
        GivenOption::among(&[("--keep", false, overrides.keep)])
    }

    fn continuation(&self) -> Option<Continuation> {
        Some(Continuation {
            on: TargetKind::Directory,
            reads_back: false,
            // The files themselves say where it continues.
            continue_at: |_, _| {},
            // What was not kept is gone.
            begins_anew: |_| false,
        })
    }

    fn plan(&self, context: &PlanContext<'_>) -> PlannedTest {
        let options = &context.suite.fill_files;
        if let Some(reason) = context.files_refusal() {
            return context.skipped(self.kind(), reason);
        }
        let fitting = context.room_bytes / options.size.0;
        if fitting == 0 && !options.brim {
            let reason =
                format!("not one file of {} fits above the floor of free space", options.size);
            return context.skipped(self.kind(), reason);
        }
        let files = if options.files == 0 { fitting } else { fitting.min(options.files.into()) };
        let bytes = files.max(1) * options.size.0;
        let mut test = context.planned(self.kind());
        if options.brim {
            test.at_most =
                Some("fills the whole file system, which must hold nothing else".to_string());
        }
        test.files_bytes = Bytes(bytes);
        test.cost = Cost {
            seconds: bytes as f64 / (context.sequential_write_mb_s(bytes) * 1e6),
            read_bytes: 0,
            written_bytes: bytes,
            computed_s: context.computed_stream_s(bytes as f64),
        };
        test
    }

    fn run(&self, session: &mut Session<'_>, record: &mut TestRecord) -> Result<(), BenchError> {
        record.needs_no_rounds();
        match session.target.info().kind {
            TargetKind::Simulated => simulated(session, record),
            _ => real_fill::run(session, record),
        }
    }
}

pub(super) fn keep(session: &Session<'_>, record: &mut TestRecord, samples: &[FileSample]) {
    let positions = session.target.file_positions();
    file_curve::keep(record, CELL, samples, &positions);
    if !samples.is_empty() {
        let written: u64 = samples.iter().map(|sample| sample.size_bytes).sum();
        record.metric(&format!("{CELL}.written_bytes"), vec![written as f64]);
    }
}

pub(super) fn resume_point(session: &Session<'_>, samples: &[FileSample]) -> ResumePoint {
    let at_bytes = samples.last().map_or(0, FileSample::end_bytes);
    session.resume_point(ResumePhase::FillFiles, at_bytes)
}

fn phase() -> FilePhase<'static> {
    FilePhase { cell: CELL, round: 1, rounds: 1, cache: Cache::Writes }
}

fn simulated(session: &mut Session<'_>, record: &mut TestRecord) -> Result<(), BenchError> {
    let missing = || BenchError::Unsuitable("needs a simulated drive".to_string());
    let drive = Arc::new(session.target.simulated_files(session.now_ns()).ok_or_else(missing)??);
    session.storage.simulated = Some(Arc::clone(&drive));
    let options = session.plan.suite.fill_files.clone();
    let folder = drive.create_folder(0).map_err(full)?;
    let positions = session.target.file_positions();
    let (mut files, mut samples): (Vec<(u64, u64)>, Vec<FileSample>) = (Vec::new(), Vec::new());
    let fill = |watch: &mut dyn FnMut(FileStep) -> bool| {
        let size = options.size.0;
        while options.files == 0 || files.len() < options.files as usize {
            let Ok(address) = drive.create_file(folder, size) else { break };
            let written = drive.stream_file(IoOp::Write, address);
            let ns = written.map_err(|errno| failed(address, size, true, errno))?;
            let at_bytes = samples.last().map_or(0, FileSample::end_bytes);
            let sample = FileSample::new(at_bytes, size, ns as f64 / 1e9);
            samples.push(sample.placed(&drive.file_extents(address), &positions));
            files.push((address, size));
            if !moved_at_once(size, watch) {
                break;
            }
        }
        Ok(())
    };
    let end = phase().run(session, record, fill, || Ok(()));
    keep(session, record, &samples);
    session.storage.simulated_files = Some(FilledDrive { drive, files });
    end.map(|_| ())
}

#[cfg(test)]
mod tests;
