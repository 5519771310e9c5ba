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
    Header,
    /// The name of a new journal.
    Made,
    Records,
    /// Permission to write the drive.
    Commit,
    /// Restored data.
    Drive,
    /// The mark that everything is restored.
    Done,
    Removed,
}

#[derive(Debug, Clone, Copy, Default)]
pub struct Faults {
    /// The sync that is this step of the run, counted from 1, reports success and does nothing.
    pub lying_step: Option<u64>,
    pub removal_fails: bool,
    pub journal_unread: bool,
    pub journal_room: Option<u64>,
    /// Making a journal fails if there is no room for it.
    pub reserves: bool,
    /// Writes that touch this byte of the drive fail.
    pub bad_byte: Option<u64>,
    /// Writes that touch this byte of the drive report success and do nothing.
    pub deaf_byte: Option<u64>,
}
