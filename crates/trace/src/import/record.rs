//! A record of a source.

use crate::event::TraceEvent;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum RecordKind {
    /// All that it knows.
    Whole,
    /// That it begins; a completion may follow.
    Start { flushes_before: bool },
    /// That it was given back to the queue without having been done, to be sent again.
    Requeue,
    /// That it ended.
    Completion { failed: bool },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct SourceRecord {
    /// The request; its time is the time of this record.
    pub event: TraceEvent,
    pub kind: RecordKind,
}
