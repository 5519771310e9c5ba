//! A file system that holds one file, as a device: requests go to the file's place on the drive, and a flush
//! commits the journal (see [`super::journaled`]).
//!
//! The layout is an empty ext4's (mke2fs.conf of e2fsprogs): flexible groups of 2 GiB that begin with their
//! metadata, a journal in the middle of the drive, and a twentieth kept for the superuser. The file lies in order
//! after the space that is taken already.
//!
//! Not modelled: commits every five seconds, those that would only record times, and the later write of metadata to
//! their own places.

use std::collections::BTreeSet;

use super::journaled::{BLOCK_BYTES, BlockMap, Journaled};
use super::ranges::Ranges;
use crate::device::SimDevice;
use crate::param_problem::ParamProblem;

/// One block of bitmap, 8 × 4096 bits.
pub(super) const GROUP_BYTES: u64 = 32_768 * BLOCK_BYTES;
/// Groups whose metadata stand together at the front of the first (`flex_bg`).
pub(super) const FLEX_GROUPS: u64 = 16;
pub(super) const FLEX_BYTES: u64 = FLEX_GROUPS * GROUP_BYTES;
pub(super) const INODE_BYTES: u64 = 256;
/// Groups whose descriptors share a block.
pub(super) const DESCRIPTORS_PER_BLOCK: u64 = 64;
/// The journal has at most this, and at most a 64th of the drive.
const JOURNAL_MAX_BYTES: u64 = 1 << 30;
/// Share of the drive that only the superuser can fill.
const RESERVED: f64 = 0.05;

#[derive(Debug, Clone, Copy)]
pub(super) struct FileLayout {
    /// Bytes of metadata at the front of each flexible group.
    pub metadata: u64,
    /// Bytes of data in front of the journal, and of the journal.
    pub before_journal: u64,
    pub journal: u64,
    /// Bytes of data in front of the file.
    pub taken: u64,
}

impl FileLayout {
    pub(super) fn new(capacity: u64, taken: u64) -> Self {
        // mke2fs chooses by the drive's size
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
    pub(super) fn data_at(&self, data: u64) -> (u64, u64) {
        let flex_data = FLEX_BYTES - self.metadata;
        let at = data / flex_data * FLEX_BYTES + self.metadata + data % flex_data;
        (at, flex_data - data % flex_data)
    }

    /// The drive's byte for a byte of the file, and how many follow it without a gap.
    pub(super) fn file_at(&self, offset: u64) -> (u64, u64) {
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

    /// The journal's blocks on the drive: the first one, and their number.
    pub(super) fn journal_blocks(&self) -> (u64, u64) {
        let (at, _) = self.data_at(self.before_journal);
        (at / BLOCK_BYTES, self.journal / BLOCK_BYTES)
    }

    /// Bytes for files on a drive of this size, the superuser's share left out.
    pub(super) fn room(&self, capacity: u64) -> u64 {
        let metadata = self.metadata * capacity.div_ceil(FLEX_BYTES);
        let usable = capacity - (capacity as f64 * RESERVED) as u64;
        usable.saturating_sub(self.journal + metadata)
    }
}

/// A file system with one file, on a device. Its addresses are the file's bytes.
pub type OneFileSystem<D> = Journaled<D, OneFile>;

#[derive(Debug, Clone)]
pub struct OneFile {
    layout: FileLayout,
    size_bytes: u64,
    /// Blocks of the file that have been written; the others are holes.
    written: Ranges,
    /// Groups of which blocks have been given to the file since the last commit.
    changed_groups: BTreeSet<u64>,
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
        if size_bytes.saturating_add(layout.taken) > layout.room(capacity) {
            return Err(ParamProblem::new("size", "the simulated file system is full"));
        }
        let file = OneFile {
            layout,
            size_bytes: size_bytes.next_multiple_of(BLOCK_BYTES),
            written: Ranges::default(),
            changed_groups: BTreeSet::new(),
        };
        Ok(Self::with_map(inner, file))
    }
}

impl BlockMap for OneFile {
    fn size_bytes(&self) -> u64 {
        self.size_bytes
    }

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

    fn pieces(&self, from: u64, to: u64) -> Vec<(u64, u64)> {
        let blocks = self.written.within(from / BLOCK_BYTES, to.div_ceil(BLOCK_BYTES));
        let bytes = blocks
            .map(|(first, end)| ((first * BLOCK_BYTES).max(from), (end * BLOCK_BYTES).min(to)));
        bytes.flat_map(|(from, to)| self.layout.pieces(from, to)).collect()
    }

    fn holds_data(&self, offset: u64) -> bool {
        let block = offset / BLOCK_BYTES;
        self.written.within(block, block + 1).next().is_some()
    }

    fn journal(&self) -> (u64, u64) {
        self.layout.journal_blocks()
    }

    fn take_changed_blocks(&mut self) -> u64 {
        let groups = std::mem::take(&mut self.changed_groups);
        if groups.is_empty() {
            return 0;
        }
        let descriptors: BTreeSet<u64> = groups.iter().map(|g| g / DESCRIPTORS_PER_BLOCK).collect();
        // the journal's own block, the inode, and a bitmap of each group
        2 + groups.len() as u64 + descriptors.len() as u64
    }
}

#[cfg(test)]
mod tests;
