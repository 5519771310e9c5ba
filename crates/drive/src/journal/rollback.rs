//! Writing originals back, and making sure that they are there.

use super::byte_range::{ByteRange, ByteRangeSet};
use super::format::BLOCK_BYTES;
use super::scan::Saved;
use super::storage::JournalFile;
use super::{Disk, JournalError};
use crate::aligned_buffer::AlignedBuffer;
use std::collections::BTreeMap;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RollbackStage {
    Writing,
    /// Originals are read from the drive and compared.
    Verifying,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RollbackStep {
    pub stage: RollbackStage,
    /// Of this stage; `total_bytes` likewise.
    pub done_bytes: u64,
    pub total_bytes: u64,
}

/// A range that was not restored, and why.
#[derive(Debug)]
pub(super) struct RefusedRange {
    pub(super) extent: ByteRange,
    pub(super) why: String,
    /// The journal's disk failed, not the drive.
    pub(super) is_journals: bool,
}

/// Writes all records to the drive, syncs it, and compares what the drive then has. A range that fails does not stop
/// the others. An empty answer: everything is on the medium.
///
/// Errors: the drive is in use; nothing more was written.
pub(super) fn roll_back(
    disk: &mut dyn Disk,
    file: &mut impl JournalFile,
    saved: &[Saved],
    on: &mut dyn FnMut(RollbackStep),
) -> Result<Vec<RefusedRange>, String> {
    let mut rollback = Rollback::new(saved);
    for saved in saved {
        disk.still_free()?;
        match rollback.original(file, saved) {
            Ok(()) => rollback.write(disk, saved.extent),
            Err(why) => rollback.refuse(saved.extent, why, true),
        }
        rollback.step(RollbackStage::Writing, saved, on);
    }
    let whole = saved.first().map_or(ByteRange::new(0, 0), |first| first.extent);
    for flushed in [disk.sync(), disk.drop_cache()] {
        if let Err(error) = flushed {
            let why = format!("the drive could not be flushed: {error}");
            rollback.refuse(whole, why, false);
        }
    }
    rollback.done_bytes = 0;
    for saved in saved {
        let original = rollback.original(file, saved);
        let is_journals = original.is_err();
        if let Err(why) = original.and_then(|()| rollback.compare(disk, saved)) {
            // A range whose write failed is already reported.
            if !rollback.refused.iter().any(|refused| overlap(refused.extent, saved.extent)) {
                rollback.refuse(saved.extent, why, is_journals);
            }
        }
        rollback.step(RollbackStage::Verifying, saved, on);
    }
    Ok(rollback.refused)
}

fn overlap(one: ByteRange, other: ByteRange) -> bool {
    one.offset < other.end() && other.offset < one.end()
}

struct Rollback {
    original: AlignedBuffer,
    present: AlignedBuffer,
    refused: Vec<RefusedRange>,
    done_bytes: u64,
    total_bytes: u64,
}

impl Rollback {
    fn new(saved: &[Saved]) -> Self {
        let largest = saved.iter().map(|saved| saved.extent.len).max().unwrap_or(0) as usize;
        Self {
            original: AlignedBuffer::new(largest),
            present: AlignedBuffer::new(largest),
            refused: Vec::new(),
            done_bytes: 0,
            total_bytes: saved.iter().map(|saved| saved.extent.len).sum(),
        }
    }

    fn refuse(&mut self, extent: ByteRange, why: String, is_journals: bool) {
        self.refused.push(RefusedRange { extent, why, is_journals });
    }

    fn step(&mut self, stage: RollbackStage, saved: &Saved, on: &mut dyn FnMut(RollbackStep)) {
        self.done_bytes += saved.extent.len;
        on(RollbackStep { stage, done_bytes: self.done_bytes, total_bytes: self.total_bytes });
    }

    /// Reads a record again: it may have been damaged since the journal was opened.
    fn original(&mut self, file: &mut impl JournalFile, saved: &Saved) -> Result<(), String> {
        let data = &mut self.original[..saved.extent.len as usize];
        match file.read_at(saved.data_at, data) {
            Ok(()) if crc32c::crc32c(data) == saved.crc => Ok(()),
            Ok(()) => Err("its record in the journal is damaged".to_string()),
            Err(error) => Err(format!("its record in the journal cannot be read: {error}")),
        }
    }

    /// Writes a record; where the drive refuses it, block by block, so that one bad block costs only
    /// itself.
    fn write(&mut self, disk: &mut dyn Disk, extent: ByteRange) {
        if disk.write_at(extent.offset, &self.original[..extent.len as usize]).is_ok() {
            return;
        }
        let data = &self.original[..extent.len as usize];
        for (index, block) in data.chunks(BLOCK_BYTES).enumerate() {
            let offset = extent.offset + (index * BLOCK_BYTES) as u64;
            if let Err(error) = disk.write_at(offset, block) {
                let extent = ByteRange::new(offset, block.len() as u64);
                let why = format!("writing failed: {error}");
                self.refused.push(RefusedRange { extent, why, is_journals: false });
            }
        }
    }

    fn compare(&mut self, disk: &mut dyn Disk, saved: &Saved) -> Result<(), String> {
        let len = saved.extent.len as usize;
        disk.read_at(saved.extent.offset, &mut self.present[..len])
            .map_err(|error| format!("reading it back failed: {error}"))?;
        if self.present[..len] == self.original[..len] {
            Ok(())
        } else {
            Err("it reads back differently".to_string())
        }
    }
}

/// The error for what was not restored, naming the drive or the journal's disk as the cause.
pub(super) fn not_restored(
    drive: String,
    path: String,
    refused: &[RefusedRange],
    besides: &str,
) -> JournalError {
    let what = failed_ranges(refused) + besides;
    if refused.iter().all(|refused| refused.is_journals) {
        JournalError::Unread { drive, path, what }
    } else {
        JournalError::NotRestored { drive, path, what }
    }
}

/// The failed ranges in one line; adjacent ranges with the same cause are merged.
fn failed_ranges(refused: &[RefusedRange]) -> String {
    const SHOWN: usize = 4;
    let mut by_reason: BTreeMap<&str, ByteRangeSet> = BTreeMap::new();
    for refused in refused {
        by_reason.entry(&refused.why).or_default().insert(refused.extent);
    }
    let ranges =
        by_reason.iter().flat_map(|(why, set)| set.ranges().into_iter().map(move |e| (e, why)));
    let mut ranges: Vec<_> = ranges.collect();
    ranges.sort();
    let parts = ranges.iter().take(SHOWN).map(|(extent, why)| format!("{extent} ({why})"));
    let mut parts: Vec<String> = parts.collect();
    if ranges.len() > SHOWN {
        parts.push(format!("and {} more ranges", ranges.len() - SHOWN));
    }
    parts.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(first: u64, blocks: u64, why: &str) -> RefusedRange {
        let extent = ByteRange::new(first * 4096, blocks * 4096);
        RefusedRange { extent, why: why.to_string(), is_journals: false }
    }

    #[test]
    fn adjacent_ranges_with_one_cause_are_merged() {
        let mut all: Vec<RefusedRange> =
            (0..16384).map(|block| refused(block, 1, "read-only")).collect();
        assert_eq!(failed_ranges(&all), "bytes 0 to 67108863 (read-only)");
        all.push(refused(16384, 1, "bad sector"));
        all.push(refused(20000, 2, "read-only"));
        assert_eq!(
            failed_ranges(&all),
            "bytes 0 to 67108863 (read-only), bytes 67108864 to 67112959 (bad sector), \
             bytes 81920000 to 81928191 (read-only)"
        );
        all.extend((0..4).map(|n| refused(30000 + 2 * n, 1, "bad sector")));
        assert!(
            failed_ranges(&all).ends_with("(bad sector), and 3 more ranges"),
            "{}",
            failed_ranges(&all)
        );
    }
}
