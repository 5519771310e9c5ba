//! The restore journal: original contents of a drive, kept on another one while tests write patterns.
//!
//! # The protocol
//!
//! 1. [`Journal::protect`] reads the originals of a range, appends them to a file of its own with a *commit*
//!    that names them, and syncs. Then it notes in a *mark* how much was saved, and syncs again. Only when
//!    both syncs succeeded may the caller write to that range.
//! 2. [`Journal::roll_back`] writes the originals back, syncs the drive, drops caches, reads all of it
//!    again and compares. Then it appends *done*, syncs, removes the file and syncs its folder.
//!
//! A failure at any point leaves the file: the journal stays *open*, and every other command refuses the
//! drive. [`restore`] then does step 2. It may be cut short and repeated as often as one likes.
//!
//! The file is bounded by a window. When the next range would not fit, all that was saved is given back
//! first; the next window gets a new file. So a journal of a few hundred MiB serves a drive of any size.
//!
//! # The file
//!
//! Whole blocks of 4096 bytes, little-endian. Only the two marks are ever written again; behind the header,
//! each mark and each commit 64 KiB are left out. So a torn sector, page or stripe of up to 64 KiB can only
//! hurt what was not synced yet, wherever the file begins. `crc` is CRC-32C (Castagnoli, RFC 3720).
//!
//! | part | contents |
//! |---|---|
//! | header, twice | 8192 bytes: magic `DSJRNL01`, version, length, JSON, zeros, crc |
//! | mark, twice | magic `DSAMOUNT`, id, records, ranges, (offset, length) of each, zeros, crc |
//! | record | head: magic `DSRECORD`, id, number, LBA, length, crc of data, crc of head; data; zeros; tail |
//! | tail | crc of each piece of the data, crc of these and the head, the head again |
//! | commit | magic `DSCOMMIT`, id, first number, count, (LBA, length) of each, zeros, crc |
//! | done | magic `DSALLBAK`, id, zeros, crc |
//!
//! Each range stands in its record, in its commit and in the marks, so that damaged records are reported
//! with the ranges that are lost, and the end of the file cannot go unnoticed. A record that no mark counts
//! was never followed by a write to the drive: one that is torn is nothing to worry about, one that is whole
//! is restored all the same.
//!
//! A file has another name until its header and marks are durable. One that has its name and no header is
//! damaged, however short it is.

mod affected;
mod before_images;
mod byte_range;
mod claimed_disk;
mod error;
mod folder_answers;
mod format;
mod journal_folder;
mod not_ready;
mod open_journals;
mod recover;
mod rollback;
mod run_traces;
mod scan;
mod storage;
mod watermark;
mod writer;

#[cfg(test)]
mod tests;

pub use before_images::{BeforeImages, file_bytes};
pub use byte_range::ByteRange;
pub use drivescope_machine::backing_file::BackingFile;
pub use drivescope_machine::identity::DriveIdentity;
pub use error::JournalError;
pub use folder_answers::{FOLDER_OF_JOURNALS, check_answers, is_deaf, look};
pub use journal_folder::{check_folder, check_room, check_writable, state_folder};
pub use not_ready::NotReady;
pub use open_journals::{
    JournalList, OpenJournal, begin, check_names, list, refuse_open, restore, waiting,
};
pub use recover::{Recovered, recover};
pub use rollback::{RollbackStage, RollbackStep};
pub use run_traces::is_test_data;
pub use storage::{Folder, JournalFile, StateFolder};
pub use writer::{Journal, JournalSettings};

#[cfg(test)]
pub(crate) use open_journals::restore_claimed;

use std::io;

/// The journal's view of a drive; the gate's handle for writing implements it.
///
/// Offsets and lengths are bytes and multiples of [`Disk::sector_bytes`]; buffers are aligned to 4096 bytes, as
/// direct I/O asks.
pub trait Disk {
    fn identity(&self) -> &DriveIdentity;
    fn sector_bytes(&self) -> u32;
    /// What a torn write can damage: the physical sector, if it is known to be larger.
    fn physical_sector_bytes(&self) -> u32;
    /// The check before a program restores originals that it did not save itself; an error says why it must not.
    fn ready(&mut self) -> Result<(), NotReady>;
    /// Checked before each piece is restored: an error names a new user of the drive.
    fn still_free(&mut self) -> Result<(), String>;
    /// Fills `buffer` from `offset`; an error if less arrives.
    fn read_at(&mut self, offset: u64, buffer: &mut [u8]) -> io::Result<()>;
    /// Writes all of `bytes` at `offset`.
    fn write_at(&mut self, offset: u64, bytes: &[u8]) -> io::Result<()>;
    /// Waits until everything written is on the medium.
    fn sync(&mut self) -> io::Result<()>;
    /// Makes later reads come from the drive, not from memory.
    fn drop_cache(&mut self) -> io::Result<()>;
}
