//! A file system that holds one file, as a device: requests go to the file's place on the drive, and a flush
//! commits the journal.
//!
//! The layout is that of an empty ext4 (mke2fs.conf of e2fsprogs): flexible groups of 2 GiB that begin with their
//! metadata, a journal in the middle of the drive, and a twentieth kept for the superuser. The file lies in order
//! behind the space that is taken already.
//!
//! A commit is what jbd2 does in ordered mode: the data are at the drive already (the page cache saw to
//! that), then the changed metadata blocks go to the journal in one sequential write, then a flush, then
//! the commit block, then a second flush. Not modelled: commits every five seconds, those that would only record
//! times, and the later write of metadata to their own places.

use std::collections::{BTreeSet, VecDeque};

use super::ranges::Ranges;
use crate::device::{Nanos, RequestKind, SimCompletion, SimDevice, SimOutcome, SimRequest};
use crate::param_problem::ParamProblem;
use crate::slab::Slab;

const BLOCK_BYTES: u64 = 4096;
/// One block of bitmap, 8 × 4096 bits.
const GROUP_BYTES: u64 = 32_768 * BLOCK_BYTES;
/// Groups whose metadata stand together at the front of the first (`flex_bg`).
const FLEX_GROUPS: u64 = 16;
const FLEX_BYTES: u64 = FLEX_GROUPS * GROUP_BYTES;
const INODE_BYTES: u64 = 256;
/// Groups whose descriptors share a block.
const DESCRIPTORS_PER_BLOCK: u64 = 64;
/// The journal has at most this, and at most a 64th of the drive.
const JOURNAL_MAX_BYTES: u64 = 1 << 30;
/// Share of the drive that only the superuser can fill.
const RESERVED: f64 = 0.05;

/// A file system with one file, on a device. Its addresses are the file's bytes.
#[derive(Debug, Clone)]
pub struct OneFileSystem<D> {
    inner: D,
    layout: FileLayout,
    size_bytes: u64,
    /// Blocks of the file that have been written; the others are holes.
    written: Ranges,
    /// Groups of which blocks have been given to the file since the last commit.
    changed_groups: BTreeSet<u64>,
    /// The journal's block that is written next.
    journal_next: u64,
    requests: Slab<SplitIo>,
    parts: Slab<u32>,
    commit: Option<Commit>,
    flushes_waiting: VecDeque<u64>,
    answers: Vec<SimCompletion>,
    ready: Vec<SimCompletion>,
}

/// Where data and journal are on the drive.
#[derive(Debug, Clone, Copy)]
struct FileLayout {
    /// Bytes of metadata at the front of each flexible group.
    metadata: u64,
    /// Bytes of data in front of the journal, and of the journal.
    before_journal: u64,
    journal: u64,
    /// Bytes of data in front of the file.
    taken: u64,
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

impl FileLayout {
    fn new(capacity: u64, taken: u64) -> Self {
        // one inode for so many bytes, as mke2fs chooses by the drive's size
        let bytes_per_inode = match capacity >> 40 {
            0..4 => 16_384,
            4..16 => 32_768,
            _ => 65_536,
        };
        let inodes = GROUP_BYTES / bytes_per_inode * INODE_BYTES;
        let metadata = FLEX_GROUPS * (2 * BLOCK_BYTES + inodes);
        let middle = capacity / FLEX_BYTES / 2;
        let journal = JOURNAL_MAX_BYTES.min(capacity / 64) / BLOCK_BYTES * BLOCK_BYTES;
        let before_journal = middle * (FLEX_BYTES - metadata);
        Self { metadata, before_journal, journal, taken: taken / BLOCK_BYTES * BLOCK_BYTES }
    }

    /// The drive's byte for a byte among all data, and how many follow it without a gap.
    fn data_at(&self, data: u64) -> (u64, u64) {
        let flex_data = FLEX_BYTES - self.metadata;
        let at = data / flex_data * FLEX_BYTES + self.metadata + data % flex_data;
        (at, flex_data - data % flex_data)
    }

    /// The drive's byte for a byte of the file, and how many follow it without a gap.
    fn file_at(&self, offset: u64) -> (u64, u64) {
        let data = self.taken + offset;
        if data < self.before_journal {
            let (at, run) = self.data_at(data);
            return (at, run.min(self.before_journal - data));
        }
        self.data_at(data + self.journal)
    }

    /// The stretches of the file's bytes `from..to` on the drive: first byte and length.
    fn pieces(&self, from: u64, to: u64) -> impl Iterator<Item = (u64, u64)> + '_ {
        let mut next = from;
        std::iter::from_fn(move || {
            let (at, run) = self.file_at(next);
            let len = run.min(to.saturating_sub(next));
            next += len;
            (len > 0).then_some((at, len))
        })
    }
}

impl<D: SimDevice> OneFileSystem<D> {
    /// Makes a file system on a device, in which `taken_bytes` are in use, and a file of `size_bytes`, in
    /// whole blocks, of which nothing is written.
    ///
    /// # Errors
    /// The device is too small for them.
    pub fn new(inner: D, taken_bytes: u64, size_bytes: u64) -> Result<Self, ParamProblem> {
        let capacity = inner.capacity_bytes();
        let layout = FileLayout::new(capacity, taken_bytes);
        let metadata = layout.metadata * capacity.div_ceil(FLEX_BYTES);
        let room = capacity - (capacity as f64 * RESERVED) as u64;
        let needed = size_bytes.saturating_add(layout.taken + layout.journal + metadata);
        if needed > room {
            return Err(ParamProblem::new("size", "the simulated file system is full"));
        }
        Ok(Self {
            inner,
            layout,
            size_bytes: size_bytes.next_multiple_of(BLOCK_BYTES),
            written: Ranges::default(),
            changed_groups: BTreeSet::new(),
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

    /// The journal's blocks on the drive: the first one, and their number.
    fn journal(&self) -> (u64, u64) {
        let (at, _) = self.layout.data_at(self.layout.before_journal);
        (at / BLOCK_BYTES, self.layout.journal / BLOCK_BYTES)
    }

    /// Gives the blocks of a write that have none their place.
    fn place(&mut self, from: u64, to: u64) {
        let (first, end) = (from / BLOCK_BYTES, to.div_ceil(BLOCK_BYTES));
        let known: u64 = self.written.within(first, end).map(|(first, end)| end - first).sum();
        if known < end - first {
            let pieces = self.layout.pieces(from, to);
            self.changed_groups.extend(
                pieces.flat_map(|(at, len)| at / GROUP_BYTES..=(at + len - 1) / GROUP_BYTES),
            );
            self.written.insert(first, end);
        }
    }

    fn submit_to_file(&mut self, now: Nanos, request: &SimRequest) {
        let (from, to) = (request.offset, request.offset + request.len);
        if request.op == RequestKind::Write {
            self.place(from, to);
        }
        let blocks = self.written.within(from / BLOCK_BYTES, to.div_ceil(BLOCK_BYTES));
        let bytes = blocks
            .map(|(first, end)| ((first * BLOCK_BYTES).max(from), (end * BLOCK_BYTES).min(to)));
        let pieces: Vec<(u64, u64)> =
            bytes.flat_map(|(from, to)| self.layout.pieces(from, to)).collect();
        if pieces.is_empty() {
            // a hole reads as zeros
            self.ready.push(SimCompletion { id: request.id, at: now, outcome: SimOutcome::Done });
            return;
        }
        self.send(now, Some(request.id), request.op, &pieces, request.fua);
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
        let changed = !self.changed_groups.is_empty();
        let step = if changed { CommitStep::Blocks } else { CommitStep::FlushAfter };
        self.commit = Some(Commit { ids, step, outcome: SimOutcome::Done });
        if !changed {
            self.send(now, None, RequestKind::Flush, &[(0, 0)], false);
            return;
        }
        let groups = std::mem::take(&mut self.changed_groups);
        let descriptors: BTreeSet<u64> = groups.iter().map(|g| g / DESCRIPTORS_PER_BLOCK).collect();
        // the journal's own block, the inode, and a bitmap of each group
        self.write_journal(now, 2 + groups.len() as u64 + descriptors.len() as u64);
    }

    /// Writes the next blocks of the journal, which is a ring.
    fn write_journal(&mut self, now: Nanos, blocks: u64) {
        let (start, len) = self.journal();
        let blocks = blocks.min(len);
        let before_end = blocks.min(len - self.journal_next);
        let at = |block: u64| (start + block) * BLOCK_BYTES;
        let mut parts = vec![(at(self.journal_next), before_end * BLOCK_BYTES)];
        if blocks > before_end {
            parts.push((at(0), (blocks - before_end) * BLOCK_BYTES));
        }
        self.journal_next = (self.journal_next + blocks) % len;
        self.send(now, None, RequestKind::Write, &parts, false);
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
            CommitStep::CommitBlock => Some(CommitStep::FlushAfter),
            CommitStep::FlushAfter => None,
        };
        if let Some(step) = next {
            commit.step = step;
            match step {
                CommitStep::CommitBlock => self.write_journal(now, 1),
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

impl<D: SimDevice> SimDevice for OneFileSystem<D> {
    fn capacity_bytes(&self) -> u64 {
        self.size_bytes
    }

    fn sector_bytes(&self) -> u32 {
        self.inner.sector_bytes()
    }

    fn submit(&mut self, now: Nanos, request: SimRequest) {
        self.run(now);
        if request.op == RequestKind::Flush {
            self.flushes_waiting.push_back(request.id);
            self.begin_commit(now);
        } else {
            self.submit_to_file(now, &request);
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

    fn holds_data(&self, offset: u64) -> bool {
        let block = offset / BLOCK_BYTES;
        self.written.within(block, block + 1).next().is_some()
    }
}

#[cfg(test)]
mod tests;
