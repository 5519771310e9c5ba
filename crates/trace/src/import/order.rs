//! Puts records in the order of their times, as far as a window allows.

use super::record::SourceRecord;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Records held back: far more than the processors of a machine write out of order, and a few megabytes.
const WINDOW: usize = 1 << 16;

/// The newest records of a source. Records of one time keep their order.
#[derive(Debug, Default)]
pub struct OrderWindow {
    held: BinaryHeap<Reverse<(u64, u64, SourceRecord)>>,
    number: u64,
    newest_ns: u64,
    released_ns: u64,
    inversions: u64,
}

impl OrderWindow {
    /// Takes a record, and gives the earliest once the window is full. One that comes too late for that gets the
    /// time of the last that was given.
    pub fn push(&mut self, mut record: SourceRecord) -> Option<SourceRecord> {
        self.inversions += u64::from(record.event.at_ns < self.newest_ns);
        self.newest_ns = self.newest_ns.max(record.event.at_ns);
        record.event.at_ns = record.event.at_ns.max(self.released_ns);
        self.held.push(Reverse((record.event.at_ns, self.number, record)));
        self.number += 1;
        if self.held.len() > WINDOW { self.pop() } else { None }
    }

    pub fn pop(&mut self) -> Option<SourceRecord> {
        let Reverse((at_ns, _, record)) = self.held.pop()?;
        self.released_ns = at_ns;
        Some(record)
    }

    pub fn inversions(&self) -> u64 {
        self.inversions
    }
}
