//! The journal of a claimed device: a test's area is saved before it is opened for writing, and put back
//! when the test is over.

use super::claimed_disk::ClaimedDisk;
use super::format::{COMMIT_MAX, DATA_MAX, FIRST_RECORD, record_bytes};
use super::open_journals::{begin, identity_of};
use super::rollback::RollbackStep;
use super::storage::StateFolder;
use super::writer::{COMMITTED_BYTES, Journal, JournalSettings};
use super::{DriveIdentity, JournalError};
use crate::gate::{self, RawDisk};
use std::ops::Range;
use std::path::Path;

/// Bytes that are saved between two checks of the stop flag.
const PIECE: u64 = 16 << 20;
/// Largest physical sector by which an area may be widened at either end.
const WIDENED_MAX: u64 = 64 << 10;

/// Size of a journal's file that holds an area of `area_bytes`: its data in records, their commits, the
/// header and the last block. It is the same for every drive, so that a plan can tell it.
pub fn file_bytes(area_bytes: u64) -> u64 {
    let pieces = area_bytes.div_ceil(PIECE).max(1);
    let records = area_bytes / DATA_MAX + 2 * pieces + 2;
    let commits = records.div_ceil(COMMIT_MAX as u64) + pieces + 1;
    let heads = record_bytes(DATA_MAX) - DATA_MAX;
    FIRST_RECORD + area_bytes + 2 * WIDENED_MAX + records * heads + commits * COMMITTED_BYTES
}

/// Saved originals of one claimed device, and what its engines may therefore write.
#[derive(Debug)]
pub struct BeforeImages {
    journal: Journal<StateFolder>,
    identity: DriveIdentity,
}

impl BeforeImages {
    /// Begins a journal in `folder` for a claimed device and the test data of this run; nothing is made before
    /// something is saved. `area_bytes` is the largest area that will be saved at once.
    ///
    /// Errors: the folder is on that drive, or cannot keep anything; a journal of that drive is open.
    pub fn begin(
        disk: &RawDisk,
        folder: &Path,
        (run_id, data_seed): (&str, u64),
        area_bytes: u64,
    ) -> Result<Self, JournalError> {
        let name = &disk.device().name;
        let identity = identity_of(disk.roots(), disk)?;
        let settings = JournalSettings {
            run_id: run_id.to_string(),
            data_seed: Some(data_seed),
            window_bytes: file_bytes(area_bytes),
        };
        let claimed = ClaimedDisk { disk, identity: &identity };
        let journal = begin(disk.roots(), folder, name, &claimed, settings)?;
        Ok(Self { journal, identity })
    }

    /// Saves the originals of `area`, durably, and then opens it to the engines. `stopped` is checked regularly;
    /// returns whether the area is open. [`BeforeImages::put_back`] restores what was saved in either case.
    ///
    /// Errors: the device is not the claimed one any more, or see [`JournalError`]. Then nothing was
    /// opened.
    pub fn protect(
        &mut self,
        disk: &RawDisk,
        area: Range<u64>,
        stopped: &dyn Fn() -> bool,
        on: &mut dyn FnMut(RollbackStep),
    ) -> Result<bool, JournalError> {
        disk.check_unchanged().map_err(|error| JournalError::Changed { why: error.to_string() })?;
        gate::flush_others(disk).map_err(|why| JournalError::Changed { why })?;
        let mut claimed = ClaimedDisk { disk, identity: &self.identity };
        for start in (area.start..area.end).step_by(PIECE as usize) {
            if stopped() {
                return Ok(false);
            }
            let piece = start..area.end.min(start + PIECE);
            self.journal.protect(&mut claimed, &[piece], on)?;
        }
        // A window that is too small for all of it has given its beginning back.
        if !self.journal.is_protected(&area) {
            let wanted = area.end - area.start;
            return Err(JournalError::TooLarge { wanted, window: self.journal.window_bytes() });
        }
        // What was saved must be of the medium that is written, and saving it took a while.
        disk.still_free().map_err(|error| JournalError::Changed { why: error.to_string() })?;
        disk.open(area);
        Ok(true)
    }

    /// Ends all writing by engines, writes the originals back, verifies them by reading, and removes the journal. Does
    /// nothing if nothing was saved. Errors (the journal stays): a failed write, or the same bytes are mounted through
    /// another device.
    pub fn put_back(
        &mut self,
        disk: &RawDisk,
        on: &mut dyn FnMut(RollbackStep),
    ) -> Result<(), JournalError> {
        disk.open(0..0);
        if let Some(why) = self.journal.is_open().then(|| gate::visible_use_of(disk)).flatten() {
            return Err(JournalError::NotFree { device: disk.device().path.clone(), why });
        }
        self.journal.roll_back(&mut ClaimedDisk { disk, identity: &self.identity }, on)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Areas of every size fit, also when each end takes a whole unit more.
    #[test]
    fn journal_has_room_for_its_area() {
        for area in [4096, 1 << 20, (16 << 20) + 4096, 256 << 20, (1 << 30) + 512] {
            let widened = area + 2 * WIDENED_MAX;
            let mut used = FIRST_RECORD + COMMITTED_BYTES;
            let mut left = widened;
            while left > 0 {
                // Pieces are cut where the area begins, records where a piece does.
                let piece = left.min(PIECE);
                let whole = piece / DATA_MAX;
                used += whole * record_bytes(DATA_MAX) + COMMITTED_BYTES;
                if !piece.is_multiple_of(DATA_MAX) {
                    used += record_bytes(piece % DATA_MAX);
                }
                left -= piece;
            }
            assert!(used <= file_bytes(area), "{used} of {} for {area}", file_bytes(area));
            assert!(file_bytes(area) < widened + widened / 100 + (1 << 20), "{area}");
        }
    }
}
