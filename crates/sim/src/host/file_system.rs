//! The file system as a device: each file is a stretch of addresses, requests go to the extents, and a
//! flush commits the journal.
//!
//! A commit is what jbd2 does in ordered mode: the data are at the drive already (the page cache saw to
//! that), then the changed metadata blocks go to the journal in one sequential write, then a flush, then
//! the commit block (with FUA, or followed by a second flush). Commits every five seconds and the later
//! write of metadata to their own places are not modelled.

use std::collections::{BTreeSet, VecDeque};

use super::backing::CacheBacking;
use super::files::{DirId, FileError, FileId, Files};
use super::fs_params::{BLOCK_BYTES, FsParams, GROUP_BLOCKS};
use crate::device::{Nanos, RequestKind, SimCompletion, SimDevice, SimOutcome, SimRequest};
use crate::param_problem::ParamProblem;
use crate::slab::Slab;

/// Addresses that one file has: 4 TiB.
pub const FILE_SPAN: u64 = 1 << 42;
/// Files that can be made in the life of a file system.
pub const FILES_MAX: u64 = (1 << 22) - 1;

/// A file system on a device. File `n` has the addresses from `n` × [`FILE_SPAN`].
#[derive(Debug, Clone)]
pub struct ExtentFileSystem<D> {
    inner: D,
    files: Files,
    fua: bool,
    /// Metadata blocks changed since the last commit: those without which data would be lost, and those
    /// that only hold times.
    structure: BTreeSet<MetaBlock>,
    times: BTreeSet<MetaBlock>,
    /// The next flush need not commit times (`fdatasync`).
    data_only: bool,
    journal_next: u64,
    requests: Slab<SplitIo>,
    parts: Slab<u32>,
    commit: Option<Commit>,
    flushes_waiting: VecDeque<u64>,
    answers: Vec<SimCompletion>,
    ready: Vec<SimCompletion>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum MetaBlock {
    Bitmap(u64),
    Descriptors(u64),
    Inode(u32),
    Directory(u32),
}

/// A request of which parts are under way. `None`: a step of the commit.
#[derive(Debug, Clone, Copy)]
struct SplitIo {
    id: Option<u64>,
    parts_left: u32,
    outcome: SimOutcome,
}

/// A flush, with the journal's commit before it.
#[derive(Debug, Clone)]
struct Commit {
    ids: Vec<u64>,
    step: CommitStep,
    outcome: SimOutcome,
}

/// What is under way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum CommitStep {
    Blocks,
    FlushBefore,
    CommitBlock,
    FlushAfter,
}

impl<D: SimDevice> ExtentFileSystem<D> {
    /// Makes an empty file system on a device.
    ///
    /// # Errors
    /// A parameter that cannot be.
    pub fn new(params: &FsParams, inner: D) -> Result<Self, ParamProblem> {
        params.validate(inner.capacity_bytes())?;
        Ok(Self {
            files: Files::new(inner.capacity_bytes(), params),
            inner,
            fua: params.fua,
            structure: BTreeSet::new(),
            times: BTreeSet::new(),
            data_only: false,
            journal_next: 0,
            requests: Slab::new(),
            parts: Slab::new(),
            commit: None,
            flushes_waiting: VecDeque::new(),
            answers: Vec::new(),
            ready: Vec::new(),
        })
    }

    /// The device under the file system.
    pub fn inner(&self) -> &D {
        &self.inner
    }

    /// The device under the file system, to change it; not to send it requests.
    pub fn inner_mut(&mut self) -> &mut D {
        &mut self.inner
    }

    /// What exists, and where.
    #[must_use]
    pub fn files(&self) -> &Files {
        &self.files
    }

    /// What exists, to be filled or aged before time begins: changes made here cost no time and no commit.
    pub fn files_mut(&mut self) -> &mut Files {
        &mut self.files
    }

    /// First address of a file.
    #[must_use]
    pub fn address(file: FileId) -> u64 {
        u64::from(file.0) * FILE_SPAN
    }

    /// Makes a directory.
    ///
    /// # Errors
    /// As [`Files::make_directory`].
    pub fn make_directory(&mut self, parent: DirId, name: &str) -> Result<DirId, FileError> {
        let made = self.files.make_directory(parent, name)?;
        let group = self.files.directory_group(made);
        self.structure.extend([
            MetaBlock::Directory(parent.0),
            MetaBlock::Directory(made.0),
            MetaBlock::Bitmap(group),
            MetaBlock::Descriptors(group / 64),
        ]);
        Ok(made)
    }

    /// Makes an empty file.
    ///
    /// # Errors
    /// As [`Files::create`].
    pub fn create(&mut self, directory: DirId) -> Result<FileId, FileError> {
        let made = self.files.create(directory)?;
        let group = self.files.get(made)?.inode_group;
        self.structure.extend([
            MetaBlock::Directory(directory.0),
            inode_block(made),
            MetaBlock::Bitmap(group),
            MetaBlock::Descriptors(group / 64),
        ]);
        Ok(made)
    }

    /// Announces a write: promises room, sets the size, and notes that times change.
    ///
    /// # Errors
    /// As [`Files::promise`].
    pub fn will_write(&mut self, file: FileId, offset: u64, len: u64) -> Result<(), FileError> {
        let before = self.files.size_bytes(file)?;
        self.files.promise(file, offset, len)?;
        if self.files.size_bytes(file)? > before {
            self.structure.insert(inode_block(file));
        } else {
            self.times.insert(inode_block(file));
        }
        Ok(())
    }

    /// Gives back what the file holds ahead: it is closed.
    ///
    /// # Errors
    /// [`FileError::Deleted`].
    pub fn close(&mut self, file: FileId) -> Result<(), FileError> {
        self.files.release_ahead(file)
    }

    /// Deletes a file.
    ///
    /// # Errors
    /// [`FileError::Deleted`].
    pub fn delete(&mut self, file: FileId) -> Result<(), FileError> {
        let extents: Vec<u64> =
            self.files.get(file)?.extents.iter().map(|e| e.run.start / GROUP_BLOCKS).collect();
        self.structure.insert(inode_block(file));
        self.structure.extend(extents.into_iter().map(MetaBlock::Bitmap));
        self.files.delete(file)
    }

    /// The next flush commits only what data need (`fdatasync`).
    pub fn next_flush_for_data_only(&mut self) {
        self.data_only = true;
    }

    fn place(&mut self, file: FileId, first: u64, end: u64) -> Result<(), FileError> {
        if self.files.place(file, first, end)? {
            let groups: Vec<u64> = (self.files.get(file)?.pieces(first, end))
                .map(|piece| piece.run.start / GROUP_BLOCKS)
                .collect();
            for group in groups {
                let blocks = [MetaBlock::Bitmap(group), MetaBlock::Descriptors(group / 64)];
                self.structure.extend(blocks);
            }
            self.structure.insert(inode_block(file));
        }
        Ok(())
    }

    /// The requests to the device for a request to a file: byte offsets and lengths.
    fn extents_for(&mut self, request: &SimRequest) -> Result<Vec<(u64, u64)>, FileError> {
        let file = FileId((request.offset / FILE_SPAN) as u32);
        let (begin, end) = {
            let begin = request.offset % FILE_SPAN;
            (begin, begin + request.len)
        };
        let (first, last) = (begin / BLOCK_BYTES, end.div_ceil(BLOCK_BYTES));
        match request.op {
            RequestKind::Write => self.place(file, first, last)?,
            RequestKind::Read | RequestKind::Flush | RequestKind::Trim => {}
        }
        let to_bytes = |piece: super::files::FileExtent| {
            let from = (piece.block * BLOCK_BYTES).max(begin);
            let to = ((piece.block + piece.run.len) * BLOCK_BYTES).min(end);
            (piece.run.start * BLOCK_BYTES + (from - piece.block * BLOCK_BYTES), to - from)
        };
        Ok(self.files.get(file)?.pieces(first, last).map(to_bytes).collect())
    }

    fn submit_to_file(&mut self, now: Nanos, request: &SimRequest) {
        let extents = match self.extents_for(request) {
            Ok(extents) => extents,
            Err(FileError::Deleted) => Vec::new(),
            Err(_) => {
                self.ready.push(SimCompletion {
                    id: request.id,
                    at: now,
                    outcome: SimOutcome::Invalid,
                });
                return;
            }
        };
        if extents.is_empty() {
            // A hole reads as zeros, and what a deleted file still has to write goes nowhere.
            self.ready.push(SimCompletion { id: request.id, at: now, outcome: SimOutcome::Done });
            return;
        }
        self.send(now, Some(request.id), request.op, &extents, request.fua);
    }

    fn send(
        &mut self,
        now: Nanos,
        id: Option<u64>,
        op: RequestKind,
        parts: &[(u64, u64)],
        fua: bool,
    ) {
        let parts_left = parts.len() as u32;
        let split = self.requests.insert(SplitIo { id, parts_left, outcome: SimOutcome::Done });
        for &(offset, len) in parts {
            let id = u64::from(self.parts.insert(split));
            self.inner.submit(now, SimRequest { id, op, offset, len, fua });
        }
    }

    /// Begins the next flush, if one waits and none is under way.
    fn begin_commit(&mut self, now: Nanos) {
        if self.commit.is_some() || self.flushes_waiting.is_empty() {
            return;
        }
        let ids = self.flushes_waiting.drain(..).collect();
        let skip = std::mem::take(&mut self.data_only) && self.structure.is_empty();
        let mut blocks = 0;
        if !skip {
            self.structure.append(&mut self.times);
            blocks = self.structure.len() as u64;
            self.structure.clear();
        }
        let step = if blocks > 0 { CommitStep::Blocks } else { CommitStep::FlushAfter };
        self.commit = Some(Commit { ids, step, outcome: SimOutcome::Done });
        if blocks > 0 {
            self.write_journal(now, blocks + 1, false);
        } else {
            self.send(now, None, RequestKind::Flush, &[(0, 0)], false);
        }
    }

    /// Writes the next blocks of the journal, which is a ring.
    fn write_journal(&mut self, now: Nanos, blocks: u64, fua: bool) {
        let journal = self.files.journal();
        let blocks = blocks.min(journal.len);
        let before_end = blocks.min(journal.len - self.journal_next);
        let at = |block: u64| (journal.start + block) * BLOCK_BYTES;
        let mut parts = vec![(at(self.journal_next), before_end * BLOCK_BYTES)];
        if blocks > before_end {
            parts.push((at(0), (blocks - before_end) * BLOCK_BYTES));
        }
        self.journal_next = (self.journal_next + blocks) % journal.len;
        self.send(now, None, RequestKind::Write, &parts, fua);
    }

    /// A step of the commit has ended: the next one, or the end.
    fn commit_goes_on(&mut self, now: Nanos, outcome: SimOutcome) {
        let commit = self.commit.as_mut().expect("a step of a commit has ended");
        if commit.outcome == SimOutcome::Done {
            commit.outcome = outcome;
        }
        let next = match commit.step {
            CommitStep::Blocks => Some(CommitStep::FlushBefore),
            CommitStep::FlushBefore => Some(CommitStep::CommitBlock),
            CommitStep::CommitBlock if !self.fua => Some(CommitStep::FlushAfter),
            CommitStep::CommitBlock | CommitStep::FlushAfter => None,
        };
        if let Some(step) = next {
            commit.step = step;
            match step {
                CommitStep::CommitBlock => self.write_journal(now, 1, self.fua),
                _ => self.send(now, None, RequestKind::Flush, &[(0, 0)], false),
            }
            return;
        }
        if let Some(Commit { ids, outcome, .. }) = self.commit.take() {
            self.ready.extend(ids.into_iter().map(|id| SimCompletion { id, at: now, outcome }));
        }
        self.begin_commit(now);
    }

    fn answered(&mut self, answer: SimCompletion) {
        let part = u32::try_from(answer.id).expect("ids sent below are part numbers");
        let number = self.parts.remove(part);
        let split = self.requests.get_mut(number);
        split.parts_left -= 1;
        if split.outcome == SimOutcome::Done {
            split.outcome = answer.outcome;
        }
        if split.parts_left > 0 {
            return;
        }
        let SplitIo { id, outcome, .. } = self.requests.remove(number);
        match id {
            Some(id) => self.ready.push(SimCompletion { id, at: answer.at, outcome }),
            None => self.commit_goes_on(answer.at, outcome),
        }
    }

    fn run(&mut self, to: Nanos) {
        while let Some(at) = self.inner.next_completion().filter(|&at| at <= to) {
            self.let_device_run(at);
        }
        self.let_device_run(to);
    }

    fn let_device_run(&mut self, to: Nanos) {
        let mut answers = std::mem::take(&mut self.answers);
        self.inner.advance(to, &mut answers);
        for answer in answers.drain(..) {
            self.answered(answer);
        }
        self.answers = answers;
    }
}

/// Inodes are 256 bytes: sixteen share a block.
fn inode_block(file: FileId) -> MetaBlock {
    MetaBlock::Inode(file.0 / 16)
}

impl<D: SimDevice> SimDevice for ExtentFileSystem<D> {
    fn capacity_bytes(&self) -> u64 {
        FILE_SPAN * FILES_MAX
    }

    fn sector_bytes(&self) -> u32 {
        self.inner.sector_bytes()
    }

    fn submit(&mut self, now: Nanos, request: SimRequest) {
        self.run(now);
        match request.op {
            RequestKind::Flush => {
                self.flushes_waiting.push_back(request.id);
                self.begin_commit(now);
            }
            RequestKind::Read | RequestKind::Write | RequestKind::Trim => {
                self.submit_to_file(now, &request)
            }
        }
    }

    fn next_completion(&mut self) -> Option<Nanos> {
        let first = self.ready.first().map(|first| first.at);
        first.or_else(|| self.inner.next_completion())
    }

    fn advance(&mut self, to: Nanos, done: &mut Vec<SimCompletion>) {
        self.run(to);
        done.append(&mut self.ready);
    }
}

impl<D: SimDevice> CacheBacking for ExtentFileSystem<D> {
    fn object(&self, offset: u64) -> (u64, u64) {
        let file = FileId((offset / FILE_SPAN) as u32);
        let begin = Self::address(file);
        (begin, begin + self.files.size_bytes(file).unwrap_or(0))
    }

    fn holds_data(&self, offset: u64) -> bool {
        let file = FileId((offset / FILE_SPAN) as u32);
        let block = offset % FILE_SPAN / BLOCK_BYTES;
        self.files.get(file).is_ok_and(|file| file.extent_at(block).is_some())
    }
}
