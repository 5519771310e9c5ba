//! The restore journal: original contents of a drive, kept on another one while tests write patterns.
//!
//! [`Journal::protect`] saves the originals of a range durably; only then may the caller write there. When the next
//! range does not fit into the file, and at the end, [`Journal::roll_back`] writes them back, verifies them, and
//! removes the file. A failure at any point leaves the file *open*: every other command refuses the drive, and
//! [`restore`] does the same as `roll_back`, as often as it takes. docs/journal.md has the protocol, with the reason
//! for each sync, and the format of the file.

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
