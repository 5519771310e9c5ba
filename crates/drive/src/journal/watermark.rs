//! How much a journal must hold: two blocks at its beginning that say so, so that a lost end is noticed.
//!
//! Each save rewrites both. The first is written and synced with the records, and names them too; the second
//! is written and synced after them. So the second is right unless it is being written, and then the first
//! is: its records are durable. Whoever loses one block and the end of the file as well still finds the other.

use super::byte_range::{ByteRange, ByteRangeSet, listed};
use super::format::{self, BLOCK_BYTES, COMMITTED_AT, INTENDED_AT, Id};
use super::storage::JournalFile;
use std::io;

pub(super) const MARK_MAGIC: &[u8; 8] = b"DSAMOUNT";
const RANGES_MAX: usize = (BLOCK_BYTES - 44) / 16;

/// What was saved up to some moment.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Watermark {
    pub records: u64,
    /// Ranges on the drive, in order; at most [`RANGES_MAX`].
    pub ranges: Vec<ByteRange>,
    /// Number of all ranges.
    pub ranges_count: u32,
}

impl Watermark {
    /// A mark for `records` that hold `held`.
    pub(super) fn new(records: u64, held: &ByteRangeSet) -> Self {
        let mut ranges = held.ranges();
        let ranges_count = u32::try_from(ranges.len()).unwrap_or(u32::MAX);
        ranges.truncate(RANGES_MAX);
        Self { records, ranges, ranges_count }
    }

    /// Whether it names all ranges.
    pub(super) fn is_complete(&self) -> bool {
        self.ranges.len() == self.ranges_count as usize
    }

    /// A mark for `records` without their ranges.
    pub(super) fn of_unknown_ranges(records: u64) -> Self {
        Self { records, ranges: Vec::new(), ranges_count: u32::MAX }
    }

    pub(super) fn encode(&self, id: &Id) -> Vec<u8> {
        let mut block = format::started(MARK_MAGIC, id);
        block[24..32].copy_from_slice(&self.records.to_le_bytes());
        block[32..36].copy_from_slice(&self.ranges_count.to_le_bytes());
        for (entry, range) in block[40..].chunks_exact_mut(16).zip(&self.ranges) {
            entry[..8].copy_from_slice(&range.offset.to_le_bytes());
            entry[8..].copy_from_slice(&range.len.to_le_bytes());
        }
        format::seal(&mut block);
        block
    }

    /// `None` if it is another block, or damaged.
    pub(super) fn decode(block: &[u8]) -> Option<(Id, Self)> {
        if &block[..8] != MARK_MAGIC || !format::is_sealed(block) {
            return None;
        }
        let ranges_count = format::u32_at(block, 32);
        let entries = block[40..].chunks_exact(16).take(RANGES_MAX.min(ranges_count as usize));
        let ranges = entries.map(|entry| {
            let (offset, len) = (format::u64_at(entry, 0), format::u64_at(entry, 8));
            offset.checked_add(len).map(|_| ByteRange::new(offset, len))
        });
        let ranges = ranges.collect::<Option<_>>()?;
        let mark = Self { records: format::u64_at(block, 24), ranges, ranges_count };
        Some((block[8..24].try_into().ok()?, mark))
    }

    pub(super) fn description(&self) -> String {
        let more = if self.is_complete() { "" } else { ", and others" };
        format!("{} records, of {}{more}", self.records, listed(&self.ranges))
    }
}

/// What a journal must hold by its marks.
#[derive(Debug)]
pub(super) struct Watermarks {
    pub id: Id,
    pub required: Watermark,
}

impl Watermarks {
    /// Reads the marks of the journal `id`, or of any; `None` if both are damaged.
    pub(super) fn read(file: &mut impl JournalFile, id: Option<Id>) -> Option<Self> {
        let mut block = vec![0; BLOCK_BYTES];
        [COMMITTED_AT, INTENDED_AT].into_iter().find_map(|at| {
            file.read_at(at, &mut block).ok()?;
            let (its, required) = Watermark::decode(&block)?;
            id.is_none_or(|id| id == its).then_some(Self { id: its, required })
        })
    }
}

/// Both marks of an empty journal.
pub(super) fn write_first(file: &mut impl JournalFile, id: &Id) -> io::Result<()> {
    let block = Watermark::default().encode(id);
    file.write_at(INTENDED_AT, &block).and_then(|()| file.write_at(COMMITTED_AT, &block))
}

#[cfg(test)]
mod tests {
    use super::*;

    const ID: Id = *b"0123456789abcdef";

    #[test]
    fn mark_reads_back_and_says_if_incomplete() {
        for count in [0, 1, RANGES_MAX, RANGES_MAX + 1] {
            let mut held = ByteRangeSet::default();
            for number in 0..count as u64 {
                held.insert(ByteRange::new(number * 8192, 4096));
            }
            let mark = Watermark::new(7, &held);
            let block = mark.encode(&ID);
            assert_eq!(block.len(), BLOCK_BYTES);
            assert_eq!(Watermark::decode(&block), Some((ID, mark.clone())));
            assert_eq!(mark.is_complete(), count <= RANGES_MAX);
            assert_eq!(mark.description().ends_with(", and others"), count > RANGES_MAX);
        }
    }
}
