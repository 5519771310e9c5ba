//! Parts and injected faults of a simulated world.

use super::medium::Units;

/// What lies below the drive and the journals.
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
    /// That the drive may be written.
    Commit,
    /// What was given back to the drive.
    Drive,
    /// That all is back.
    Done,
    /// That a journal is gone.
    Removed,
}

/// What is broken on purpose.
#[derive(Debug, Clone, Copy, Default)]
pub struct Faults {
    /// The sync that is this step of the run, counted from 1, says yes and does nothing.
    pub lying_step: Option<u64>,
    /// Removing a journal fails.
    pub removal_fails: bool,
    /// Journals cannot be read any more.
    pub journal_unread: bool,
    /// Bytes of room for journals.
    pub journal_room: Option<u64>,
    /// Making a journal fails where its space is not there.
    pub reserves: bool,
    /// Writes that touch this byte of the drive fail.
    pub bad_byte: Option<u64>,
    /// Writes that touch this byte of the drive say yes and do nothing.
    pub deaf_byte: Option<u64>,
}
