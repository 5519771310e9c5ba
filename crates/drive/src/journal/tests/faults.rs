//! Parts and injected faults of a simulated world.

use super::medium::Units;

#[derive(Debug, Clone, Copy, Default)]
pub struct Below {
    /// Units of the drive, which reports their size.
    pub drive: Units,
    /// Units of each journal, which does not know their size.
    pub journal: Units,
}

/// What a sync of the protocol makes durable.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Synced {
    /// The header of a new journal.
    Header,
    /// The name of a new journal.
    Made,
    /// Originals.
    Records,
    /// Permission to write the drive.
    Commit,
    /// Restored data.
    Drive,
    /// The mark that everything is restored.
    Done,
    /// The removal of a journal.
    Removed,
}

/// Injected faults.
#[derive(Debug, Clone, Copy, Default)]
pub struct Faults {
    /// The sync that is this step of the run, counted from 1, reports success and does nothing.
    pub lying_step: Option<u64>,
    pub removal_fails: bool,
    /// Journals cannot be read any more.
    pub journal_unread: bool,
    /// Bytes of room for journals.
    pub journal_room: Option<u64>,
    /// Making a journal fails if there is no room for it.
    pub reserves: bool,
    /// Writes that touch this byte of the drive fail.
    pub bad_byte: Option<u64>,
    /// Writes that touch this byte of the drive report success and do nothing.
    pub deaf_byte: Option<u64>,
}
