//! Filling a directory with files.

use super::{keep, phase, resume_point};
use crate::error::BenchError;
use crate::io::clock;
use crate::io::payload::Payload;
use crate::judging::test_record::{TestRecord, series_of};
use crate::session::Session;
use crate::workloads::shared::files::file_curve::FileSample;
use crate::workloads::shared::files::file_store::FileStep;
use crate::workloads::shared::open_target;
use drivescope_drive::own_folder::trees::{TreeFile, TreeFolder};
use drivescope_drive::target::FilePositions;
use drivescope_drive::{DriveError, OwnFolder};
use drivescope_machine::extents;
use drivescope_model::document::TestResult;
use drivescope_model::options::{FillFilesOptions, TestKind};
use rustix::fd::AsFd;
use std::ffi::CString;

pub(crate) const TREE: &str = "files";
/// Files are written in pieces of this size, and the free space is checked once per that many bytes.
const PIECE: usize = 1 << 20;
const ROOM_EVERY: u64 = 64 << 20;

pub(crate) fn file_name(number: usize) -> CString {
    CString::new(format!("f{number:06}")).expect("digits have no NUL")
}

/// Fills the directory, or resumes where an earlier run stopped.
pub(super) fn run(session: &mut Session<'_>, record: &mut TestRecord) -> Result<(), BenchError> {
    let options = session.plan.suite.fill_files.clone();
    let earlier = session.earlier().map(samples_of).unwrap_or_default();
    let mut folder = take_folder(session, !earlier.is_empty())?;
    let mut samples = earlier;
    let filled = fill(session, record, &mut folder, &options, &mut samples);
    // Files without a flush may not have reached a drive that failed.
    if options.sync || matches!(filled, Ok(()) | Err(BenchError::Interrupted)) {
        keep(session, record, &samples);
    }
    let is_read = session.plan.active().any(|test| test.test == TestKind::ReadFiles);
    let removed = match &filled {
        // What was ended goes with the folder, unless it is kept.
        Ok(()) if !options.keep && !is_read => folder.remove_tree(TREE).map_err(BenchError::from),
        _ => Ok(()),
    };
    if matches!(filled, Err(BenchError::Interrupted)) && options.keep {
        record.resume_at(resume_point(session, &samples));
    }
    session.storage.folder = Some(folder);
    filled.and(removed)
}

/// The session's own folder, or the one that an earlier run left.
fn take_folder(session: &mut Session<'_>, is_resumed: bool) -> Result<OwnFolder, BenchError> {
    if is_resumed {
        let gone = "the files of the interrupted run are gone; run without --resume";
        let found = OwnFolder::adopt(session.target.path(), TREE)?;
        return found.ok_or_else(|| BenchError::Unsuitable(gone.to_string()));
    }
    open_target::own_folder(session)?;
    Ok(session.storage.folder.take().expect("it was just made"))
}

fn samples_of(earlier: &TestResult) -> Vec<FileSample> {
    let series = |key: &str| series_of(earlier, &format!("write.{key}"));
    let Some(rates) = series("mb_s") else { return Vec::new() };
    let of = |key: &str, at: f64| {
        let series = series(key)?;
        let index = series.x.iter().position(|&x| x == at)?;
        series.y.get(index).copied()
    };
    let all = earlier.resume.map_or(0, |point| point.at_bytes) as f64;
    let ends = rates.x.iter().skip(1).copied().chain([all]);
    let samples = rates.x.iter().zip(&rates.y).zip(ends).map(|((&at, &mb_s), end)| FileSample {
        at_bytes: at as u64,
        size_bytes: (end - at).max(0.0) as u64,
        time_s: (end - at).max(0.0) / 1e6 / mb_s.max(1e-9),
        position_bytes: of("position_bytes", at),
        span_bytes: of("span_bytes", at).unwrap_or(0.0) as u64,
    });
    samples.collect()
}

fn fill(
    session: &mut Session<'_>,
    record: &mut TestRecord,
    folder: &mut OwnFolder,
    options: &FillFilesOptions,
    samples: &mut Vec<FileSample>,
) -> Result<(), BenchError> {
    if options.brim && !folder.is_alone() {
        let why = "fill-files.brim needs a file system of its own mount with nothing else on it";
        return Err(BenchError::Unsuitable(why.to_string()));
    }
    if options.keep {
        folder.keep_trees()?;
    }
    let pass = session.next_pass();
    let tree =
        if folder.has_tree(TREE) { folder.open_tree(TREE)? } else { folder.create_tree(TREE)? };
    remove_unknown(&tree, samples.len())?;
    let session = &*session;
    let mut filling = Filling {
        session,
        tree,
        options,
        payload: Payload::new(session.plan.seed, pass),
        piece: vec![0; PIECE],
        positions: session.target.file_positions(),
        samples,
    };
    // A deferred write fails at the final flush; the time of a file is the time of its calls.
    let flush = || Ok(folder.sync_file_system()?);
    let end = phase().run(session, record, |watch| filling.all(watch), flush);
    end.map(|_| ())
}

/// Removes the files of which the interrupted run's document does not know.
fn remove_unknown(tree: &TreeFolder, known: usize) -> Result<(), DriveError> {
    let names: Vec<CString> = (0..known).map(file_name).collect();
    for name in tree.file_names()? {
        if names.binary_search(&name).is_err() {
            tree.remove_file(&name)?;
        }
    }
    Ok(())
}

struct Filling<'f, 's> {
    session: &'f Session<'s>,
    tree: TreeFolder,
    options: &'f FillFilesOptions,
    payload: Payload,
    piece: Vec<u8>,
    positions: FilePositions,
    samples: &'f mut Vec<FileSample>,
}

enum FileEnd {
    Whole,
    /// There is no room for more.
    Full(u64),
    Stopped,
}

impl Filling<'_, '_> {
    fn all(&mut self, watch: &mut dyn FnMut(FileStep) -> bool) -> Result<(), BenchError> {
        let most = self.options.files as usize;
        while most == 0 || self.samples.len() < most {
            let name = file_name(self.samples.len());
            let start = clock::now_ns();
            let file = match self.tree.create_file(&name) {
                Err(DriveError::NoRoom { .. }) if self.options.brim => break,
                other => other?,
            };
            let (bytes, is_last) = match self.write(&file, watch)? {
                FileEnd::Whole => (self.options.size.0, false),
                FileEnd::Full(bytes) => (bytes, true),
                FileEnd::Stopped => {
                    self.tree.remove_file(&name)?;
                    break;
                }
            };
            if bytes < self.options.size.0 {
                // A part of a file would have another rate.
                self.tree.remove_file(&name)?;
                break;
            }
            self.add(&file, bytes, clock::now_ns() - start);
            if !watch(FileStep::Done(bytes)) || is_last {
                break;
            }
            self.session.checkpoint(|| self.so_far());
        }
        Ok(())
    }

    fn write(
        &mut self,
        file: &TreeFile,
        watch: &mut dyn FnMut(FileStep) -> bool,
    ) -> Result<FileEnd, DriveError> {
        let (size, mut done) = (self.options.size.0, 0);
        if !self.options.brim && file.check_room(size).is_err() {
            return Ok(FileEnd::Full(0));
        }
        let base = self.end_bytes();
        while done < size {
            let len = (size - done).min(PIECE as u64) as usize;
            self.payload.fill(&mut self.piece[..len], base + done);
            match file.write_at(&self.piece[..len], done) {
                Err(DriveError::NoRoom { .. }) if self.options.brim => {
                    return Ok(FileEnd::Full(done));
                }
                other => other?,
            }
            done += len as u64;
            // Others may fill the file system meanwhile.
            if done % ROOM_EVERY == 0 && !self.options.brim && file.check_room(0).is_err() {
                return Ok(FileEnd::Full(done));
            }
            if !watch(FileStep::Moved(len as u64)) {
                return Ok(FileEnd::Stopped);
            }
        }
        if self.options.sync {
            file.sync()?;
        }
        Ok(FileEnd::Whole)
    }

    fn end_bytes(&self) -> u64 {
        self.samples.last().map_or(0, FileSample::end_bytes)
    }

    fn add(&mut self, file: &TreeFile, bytes: u64, ns: u64) {
        let sample = FileSample::new(self.end_bytes(), bytes, ns as f64 / 1e9);
        self.samples.push(sample.placed(&places(file.as_fd()), &self.positions));
    }

    fn so_far(&self) -> TestRecord {
        let mut record = TestRecord::new(TestKind::FillFiles);
        record.needs_no_rounds();
        keep(self.session, &mut record, self.samples);
        record.resume_at(resume_point(self.session, self.samples));
        record
    }
}

/// Extents of a file on the device of its file system; none where it does not report them.
pub(crate) fn places(file: rustix::fd::BorrowedFd<'_>) -> Vec<(u64, u64)> {
    let found = extents::extents(file, true).unwrap_or_default();
    found.iter().filter_map(|extent| Some((extent.at_bytes?, extent.len_bytes))).collect()
}
