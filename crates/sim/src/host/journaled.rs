//! A file system with a journal, as a device: requests go to the places of the files' data on the drive, and a flush
//! commits the journal. What lies where, and which metadata a change touches, is the business of a [`BlockMap`].
//!
//! A commit is what jbd2 does in ordered mode: the data are at the drive already (the page cache saw to
//! that), then the changed metadata blocks go to the journal in one sequential write, then a flush, then
//! the commit block, then a second flush. Where a map says so, metadata then go to their own places, as a sync of
//! the file system (`syncfs`: `sync_blockdev` in fs/sync.c) writes them.

use std::collections::VecDeque;

use crate::device::{Nanos, RequestKind, SimCompletion, SimDevice, SimOutcome, SimRequest};
use crate::slab::Slab;

/// Unit of the journal and of the files' places.
pub(super) const BLOCK_BYTES: u64 = 4096;
/// Changes that are younger wait for more (ext4: `commit=5`).
const COMMIT_EVERY_NS: Nanos = 5_000_000_000;

pub trait BlockMap {
    /// Bytes that can be addressed, of all files together.
    fn size_bytes(&self) -> u64;

    fn place(&mut self, from: u64, to: u64);

    /// The stretches on the drive of those bytes that have a place: first byte and length.
    fn pieces(&self, from: u64, to: u64) -> Vec<(u64, u64)>;

    fn holds_data(&self, offset: u64) -> bool;

    /// The journal's blocks on the drive: the first one, and their number.
    fn journal(&self) -> (u64, u64);

    /// Blocks that a commit writes to the journal, without the commit block; 0 if nothing has changed since the last.
    fn take_changed_blocks(&mut self) -> u64;

    /// Places of committed metadata that a sync of the file system writes: first byte and length.
    fn take_homes(&mut self) -> Vec<(u64, u64)> {
        Vec::new()
    }

    /// Whether changes are committed every few seconds without a sync.
    fn commits_by_time(&self) -> bool {
        false
    }
}

/// A file system on a device. Its map defines its addresses.
#[derive(Debug, Clone)]
pub struct Journaled<D, M> {
    pub(super) inner: D,
    pub(super) map: M,
    journal_next: u64,
    committed_at: Nanos,
    requests: Slab<SplitIo>,
    parts: Slab<u32>,
    commit: Option<Commit>,
    flushes_waiting: VecDeque<u64>,
    answers: Vec<SimCompletion>,
    ready: Vec<SimCompletion>,
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

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum CommitStep {
    Blocks,
    FlushBefore,
    CommitBlock,
    FlushAfter,
    Homes,
}

impl<D: SimDevice, M: BlockMap> Journaled<D, M> {
    pub(super) fn with_map(inner: D, map: M) -> Self {
        Self {
            inner,
            map,
            journal_next: 0,
            committed_at: 0,
            requests: Slab::new(),
            parts: Slab::new(),
            commit: None,
            flushes_waiting: VecDeque::new(),
            answers: Vec::new(),
            ready: Vec::new(),
        }
    }

    pub fn inner(&self) -> &D {
        &self.inner
    }

    /// The device, mutably; for use while nothing is under way.
    pub fn inner_mut(&mut self) -> &mut D {
        &mut self.inner
    }

    pub fn map(&self) -> &M {
        &self.map
    }

    pub fn map_mut(&mut self) -> &mut M {
        &mut self.map
    }

    fn submit_to_files(&mut self, now: Nanos, request: &SimRequest) {
        let (from, to) = (request.offset, request.offset + request.len);
        if request.op == RequestKind::Write {
            self.map.place(from, to);
        }
        let pieces = self.map.pieces(from, to);
        if pieces.is_empty() {
            // a hole reads as zeros
            self.ready.push(SimCompletion { id: request.id, at: now, outcome: SimOutcome::Done });
        } else {
            self.send(now, Some(request.id), request.op, &pieces, request.fua);
        }
        let is_due = now >= self.committed_at + COMMIT_EVERY_NS;
        if is_due && self.map.commits_by_time() && self.commit.is_none() {
            self.begin_commit(now);
        }
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

    /// Begins a commit, or only the rest of a flush if nothing has changed.
    fn begin_commit(&mut self, now: Nanos) {
        self.committed_at = now;
        let ids: Vec<u64> = self.flushes_waiting.drain(..).collect();
        let changed = self.map.take_changed_blocks();
        if changed == 0 && ids.is_empty() {
            return;
        }
        let step = if changed > 0 { CommitStep::Blocks } else { CommitStep::FlushAfter };
        self.commit = Some(Commit { ids, step, outcome: SimOutcome::Done });
        if changed > 0 {
            self.write_journal(now, changed);
        } else {
            self.send(now, None, RequestKind::Flush, &[(0, 0)], false);
        }
    }

    /// Writes the next blocks of the journal, which is a ring.
    fn write_journal(&mut self, now: Nanos, blocks: u64) {
        let (start, len) = self.map.journal();
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
    fn end_commit_step(&mut self, now: Nanos, outcome: SimOutcome) {
        let commit = self.commit.as_mut().expect("a step of a commit has ended");
        if commit.outcome == SimOutcome::Done {
            commit.outcome = outcome;
        }
        let is_asked = !commit.ids.is_empty();
        let homes = match commit.step {
            CommitStep::FlushAfter if is_asked => self.map.take_homes(),
            _ => Vec::new(),
        };
        let next = match commit.step {
            CommitStep::Blocks => Some(CommitStep::FlushBefore),
            CommitStep::FlushBefore => Some(CommitStep::CommitBlock),
            CommitStep::CommitBlock => Some(CommitStep::FlushAfter),
            CommitStep::FlushAfter if !homes.is_empty() => Some(CommitStep::Homes),
            CommitStep::FlushAfter | CommitStep::Homes => None,
        };
        if let Some(step) = next {
            commit.step = step;
            match step {
                CommitStep::CommitBlock => self.write_journal(now, 1),
                CommitStep::Homes => self.send(now, None, RequestKind::Write, &homes, false),
                _ => self.send(now, None, RequestKind::Flush, &[(0, 0)], false),
            }
            return;
        }
        if let Some(Commit { ids, outcome, .. }) = self.commit.take() {
            self.ready.extend(ids.into_iter().map(|id| SimCompletion { id, at: now, outcome }));
        }
        if !self.flushes_waiting.is_empty() {
            self.begin_commit(now);
        }
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
            None => self.end_commit_step(answer.at, outcome),
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

impl<D: SimDevice, M: BlockMap> SimDevice for Journaled<D, M> {
    fn capacity_bytes(&self) -> u64 {
        self.map.size_bytes()
    }

    fn sector_bytes(&self) -> u32 {
        self.inner.sector_bytes()
    }

    fn submit(&mut self, now: Nanos, request: SimRequest) {
        self.run(now);
        if request.op == RequestKind::Flush {
            self.flushes_waiting.push_back(request.id);
            if self.commit.is_none() {
                self.begin_commit(now);
            }
        } else {
            self.submit_to_files(now, &request);
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
        self.map.holds_data(offset)
    }
}
