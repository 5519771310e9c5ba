//! `read-files`: how fast files are read back, by the order in which they were written and by where they lie
//! (nequalsonelifestyle.com). They are those of `fill-files`: of the same run, or of one before with `--keep`.

use crate::error::BenchError;
use crate::io::clock;
use crate::io::offsets::derive_seed;
use crate::io::queue::IoOp;
use crate::judging::round::Cache;
use crate::judging::test_record::TestRecord;
use crate::plan::option_checks::{REQUEST_MAX, ensure};
use crate::plan::plan_context::PlanContext;
use crate::session::Session;
use crate::workload::Workload;
use crate::workloads::fill_files::{TREE, file_name, places};
use crate::workloads::shared::files::file_curve::{self, FileSample};
use crate::workloads::shared::files::file_phase::FilePhase;
use crate::workloads::shared::files::file_set::SplitMix64;
use crate::workloads::shared::files::file_store::FileStep;
use crate::workloads::shared::files::simulated_files::{failed, moved_at_once};
use drivescope_drive::own_folder::source_tree::check_end;
use drivescope_drive::own_folder::trees::TreeFolder;
use drivescope_drive::page_cache;
use drivescope_drive::target::FilePositions;
use drivescope_drive::{DriveError, OwnFolder};
use drivescope_model::findings::{Finding, FindingId};
use drivescope_model::options::{FileOrder, ReadFilesOptions, Suite, TestKind};
use drivescope_model::plan::{Cost, PlannedTest, WriteLevel};
use drivescope_model::target::TargetKind;
use rustix::fd::{AsFd, OwnedFd};
use rustix::io::{Errno, retry_on_intr};

/// The cells: read cold, and once more from memory.
const COLD: &str = "read";
const AGAIN: &str = "again";
/// The time of a file with a larger share in memory is not the drive's.
const IN_MEMORY_MAX: f64 = 0.02;
/// Requests of read-ahead, which are computed faster than single ones.
const READ_AHEAD: f64 = 128.0 * 1024.0;
const STREAM_GAIN: f64 = 4.0;

pub struct ReadFilesWorkload;

impl Workload for ReadFilesWorkload {
    fn kind(&self) -> TestKind {
        TestKind::ReadFiles
    }

    fn question(&self) -> &'static str {
        "how fast are the files of fill-files read back"
    }

    fn access(&self) -> &'static str {
        "in a directory: reads the files that fill-files made, in this run or with --keep; not on a file or a device"
    }

    fn how_to_shorten(&self, _suite: &Suite) -> String {
        "fewer files: --set read-files.files=100".to_string()
    }

    fn check(&self, suite: &Suite) -> Result<(), String> {
        ensure((512..=REQUEST_MAX).contains(&suite.read_files.block.0), || {
            "read-files.block must be between 512 bytes and 1 GiB".to_string()
        })
    }

    fn needs_test_file(&self) -> bool {
        false
    }

    fn borrows_options_of(&self) -> Option<TestKind> {
        Some(TestKind::FillFiles)
    }

    fn plan(&self, context: &PlanContext<'_>) -> PlannedTest {
        if let Some(reason) = context.files_refusal() {
            return context.skipped(self.kind(), reason);
        }
        let (fill, read) = (&context.suite.fill_files, &context.suite.read_files);
        let is_filled = context.suite.tests.contains(&TestKind::FillFiles);
        if context.target.kind == TargetKind::Simulated && !is_filled {
            return context.skipped(
                self.kind(),
                "a simulated drive keeps no files between runs: add fill-files",
            );
        }
        // How many files were kept is unknown before the search for them.
        let made = (context.room_bytes / fill.size.0.max(1))
            .min(u64::from(fill.files).wrapping_sub(1))
            .saturating_add(1);
        let files = if read.files == 0 { made } else { made.min(read.files.into()) };
        let bytes = files.max(1) * fill.size.0;
        let mut test = context.planned(self.kind());
        test.writes = WriteLevel::Read;
        test.cost = Cost {
            seconds: bytes as f64 / (context.sequential_write_mb_s(bytes) * 1e6),
            read_bytes: bytes,
            written_bytes: 0,
            computed_s: context.computed_stream_s(bytes as f64)
                + context.computed_s(bytes as f64 / READ_AHEAD / STREAM_GAIN),
        };
        test
    }

    fn run(&self, session: &mut Session<'_>, record: &mut TestRecord) -> Result<(), BenchError> {
        record.needs_no_rounds();
        record.answers_from_memory(AGAIN);
        match session.target.info().kind {
            TargetKind::Simulated => simulated(session, record),
            _ => real(session, record),
        }
    }
}

fn chosen(options: &ReadFilesOptions, all: usize, seed: u64) -> Vec<usize> {
    let count = if options.files == 0 { all } else { all.min(options.files as usize) };
    let at = |i: usize| if count < 2 { 0 } else { i * (all - 1) / (count - 1) };
    let mut chosen: Vec<usize> = (0..count).map(at).collect();
    if options.order == FileOrder::Shuffled {
        let mut random = SplitMix64(derive_seed(seed, "read files", 0, 0));
        for i in (1..chosen.len()).rev() {
            chosen.swap(i, random.below(i as u64 + 1) as usize);
        }
    }
    chosen
}

fn phase(cell: &'static str) -> FilePhase<'static> {
    FilePhase { cell, round: 1, rounds: 1, cache: Cache::Reads }
}

/// Keeps the samples in the order in which the files were written.
fn keep(session: &Session<'_>, record: &mut TestRecord, cell: &str, mut samples: Vec<FileSample>) {
    samples.sort_by_key(|sample| sample.at_bytes);
    file_curve::keep(record, cell, &samples, &session.target.file_positions());
}

fn simulated(session: &mut Session<'_>, record: &mut TestRecord) -> Result<(), BenchError> {
    let nothing = "fill-files made no files to read in this run";
    let filled = session.storage.simulated_files.take();
    let filled = filled.ok_or_else(|| BenchError::Unsuitable(nothing.to_string()))?;
    filled.drive.idle_until(session.now_ns());
    session.storage.simulated = Some(std::sync::Arc::clone(&filled.drive));
    let options = &session.plan.suite.read_files;
    let positions = session.target.file_positions();
    let drive = &filled.drive;
    let cells = if options.again { &[COLD, AGAIN][..] } else { &[COLD] };
    let numbers = chosen(options, filled.files.len(), session.plan.seed);
    for cell in cells {
        let mut samples = Vec::new();
        let work = |watch: &mut dyn FnMut(FileStep) -> bool| {
            for &number in &numbers {
                let (address, size) = filled.files[number];
                let ns = if options.again {
                    // Only the page cache knows a second time.
                    by_calls(drive, address, size, options.block.0)
                } else {
                    drive.stream_file(IoOp::Read, address)
                };
                let ns = ns.map_err(|errno| failed(address, size, false, errno))?;
                let at_bytes = filled.files[..number].iter().map(|(_, size)| size).sum();
                let sample = FileSample::new(at_bytes, size, ns as f64 / 1e9);
                samples.push(sample.placed(&drive.file_extents(address), &positions));
                if !moved_at_once(size, watch) {
                    break;
                }
            }
            Ok(())
        };
        let end = phase(cell).run(session, record, work, || Ok(()));
        keep(session, record, cell, samples);
        end?;
    }
    session.storage.simulated_files = Some(filled);
    Ok(())
}

fn by_calls(
    drive: &drivescope_drive::simulated::SimulatedDrive,
    address: u64,
    size: u64,
    block: u64,
) -> Result<u64, i32> {
    let mut ns = 0;
    for at in (0..size).step_by(block as usize) {
        ns += drive.call(IoOp::Read, address + at, block.min(size - at) as u32)?;
    }
    Ok(ns)
}

fn real(session: &mut Session<'_>, record: &mut TestRecord) -> Result<(), BenchError> {
    let own = session.storage.folder.as_ref().filter(|folder| folder.has_tree(TREE));
    let adopted = match own {
        Some(_) => None,
        None => OwnFolder::adopt(session.target.path(), TREE)?,
    };
    let folder = own.or(adopted.as_ref());
    let nothing = "no files to read here: run fill-files with it, or before it with --keep";
    let folder = folder.ok_or_else(|| BenchError::Unsuitable(nothing.to_string()))?;
    let tree = folder.open_tree(TREE)?;
    let options = &session.plan.suite.read_files;
    let count = tree.file_names()?.len();
    let numbers = chosen(options, count, session.plan.seed);
    let cells = if options.again { &[COLD, AGAIN][..] } else { &[COLD] };
    let mut reading = Reading {
        tree: &tree,
        buffer: vec![0; options.block.0 as usize],
        positions: session.target.file_positions(),
        warm: Vec::new(),
        unknown: 0,
    };
    for cell in cells {
        let mut samples = Vec::new();
        let end = phase(cell).run(
            session,
            record,
            |watch| reading.all(&numbers, *cell == COLD, &mut samples, watch),
            || Ok(()),
        );
        keep(session, record, cell, samples);
        end?;
    }
    reading.notice(record, numbers.len());
    Ok(())
}

struct Reading<'r> {
    tree: &'r TreeFolder,
    buffer: Vec<u8>,
    positions: FilePositions,
    /// Shares of files that were in memory although they should have been cold.
    warm: Vec<f64>,
    unknown: usize,
}

impl Reading<'_> {
    fn all(
        &mut self,
        numbers: &[usize],
        is_cold: bool,
        samples: &mut Vec<FileSample>,
        watch: &mut dyn FnMut(FileStep) -> bool,
    ) -> Result<(), BenchError> {
        for &number in numbers {
            let name = file_name(number);
            let Some(file) = self.tree.open_file(&name)? else { continue };
            let path = self.tree.path().join(format!("f{number:06}"));
            let fail = |errno: Errno| DriveError::from_errno("read", &path, errno);
            let size = rustix::fs::fstat(&file).map_err(fail)?.st_size.max(0) as u64;
            if is_cold {
                self.make_cold(&file, size);
            }
            let start = clock::now_ns();
            let mut done = 0;
            while done < size {
                let count = retry_on_intr(|| rustix::io::pread(&file, &mut *self.buffer, done))
                    .map_err(fail)? as u64;
                if count == 0 {
                    check_end(file.as_fd(), done, &|| path.clone())?;
                    break;
                }
                done += count;
                if !watch(FileStep::Moved(count)) {
                    return Ok(());
                }
            }
            let time_s = (clock::now_ns() - start) as f64 / 1e9;
            let at_bytes = number as u64 * size;
            let sample = FileSample::new(at_bytes, done, time_s);
            samples.push(sample.placed(&places(file.as_fd()), &self.positions));
            if !watch(FileStep::Done(done)) {
                return Ok(());
            }
        }
        Ok(())
    }

    fn make_cold(&mut self, file: &OwnedFd, size: u64) {
        // What cannot be dropped is seen as resident.
        let _ = page_cache::evict(file.as_fd());
        match page_cache::resident_share(file.as_fd(), size) {
            Some(share) if share > IN_MEMORY_MAX => self.warm.push(share),
            Some(_) => {}
            None => self.unknown += 1,
        }
    }

    fn notice(&self, record: &mut TestRecord, files: usize) {
        let evidence = match (self.warm.len(), self.unknown) {
            (0, 0) => return,
            (0, unknown) => format!("the kernel does not report on {unknown} of {files} files"),
            (warm, _) => format!("{warm} of {files} files were in memory before they were read"),
        };
        let finding = Finding::new(FindingId::FilesInMemory, evidence);
        record.notice(finding.about(format!("read-files.{COLD}")));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chosen_files_spread_from_first_to_last() {
        fn options(files: u32, order: FileOrder) -> ReadFilesOptions {
            ReadFilesOptions { files, order, ..ReadFilesOptions::default() }
        }
        assert_eq!(chosen(&options(3, FileOrder::Spread), 101, 1), [0, 50, 100]);
        assert_eq!(chosen(&options(0, FileOrder::Spread), 4, 1), [0, 1, 2, 3]);
        assert_eq!(chosen(&options(9, FileOrder::Spread), 1, 1), [0]);
        let shuffled = chosen(&options(50, FileOrder::Shuffled), 50, 1);
        let mut sorted = shuffled.clone();
        sorted.sort_unstable();
        assert!(sorted == (0..50).collect::<Vec<_>>() && shuffled != sorted);
    }
}
