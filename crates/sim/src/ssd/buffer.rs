//! The write buffer: data accepted from the host and not yet programmed.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use rustc_hash::FxHashMap;

use super::flash::{Flash, Ticket};
use super::ftl::Placed;
use super::geometry::{Geometry, Ppn};
use crate::device::Nanos;

/// A program operation that will free its part of the buffer: its end when it was last looked at,
/// its number, what the die knows it by, and its units.
type Pending = Reverse<(Nanos, u32, Ticket, u32)>;

#[derive(Debug, Clone)]
pub(super) struct Buffer {
    geometry: Geometry,
    capacity: u32,
    /// Units held, programs in progress included.
    used: u32,
    /// Units whose program operation is not complete yet and thus has not begun.
    waiting: u32,
    /// Of these, units that no flush has saved.
    unsaved: u32,
    /// Something has been written since the last flush.
    dirty: bool,
    /// Requests are admitted in order: none before the one ahead of it.
    admitted: Nanos,
    pending: BinaryHeap<Pending>,
    /// Program operations whose data can be read from the buffer.
    resident: FxHashMap<u32, Option<Ticket>>,
}

impl Buffer {
    pub(super) fn new(geometry: Geometry, size_bytes: u64) -> Self {
        Self {
            capacity: (size_bytes / geometry.unit_bytes) as u32,
            geometry,
            used: 0,
            waiting: 0,
            unsaved: 0,
            dirty: false,
            admitted: 0,
            pending: BinaryHeap::new(),
            resident: FxHashMap::default(),
        }
    }

    pub(super) fn settle(&mut self, now: Nanos, flash: &Flash) {
        while self.pending.peek().is_some_and(|Reverse(next)| next.0 <= now) {
            self.refresh_or_drop(flash);
        }
    }

    /// When `units` more units fit, at `at` or later.
    pub(super) fn admit(&mut self, at: Nanos, units: u32, flash: &Flash) -> Nanos {
        let mut start = at.max(self.admitted);
        while self.used + units > self.capacity {
            match self.pop(flash) {
                Some(end) => start = start.max(end),
                None => break,
            }
        }
        self.admitted = start;
        start
    }

    /// Takes the next program off the list and returns its end.
    fn pop(&mut self, flash: &Flash) -> Option<Nanos> {
        while !self.pending.is_empty() {
            if let Some(end) = self.refresh_or_drop(flash) {
                return Some(end);
            }
        }
        None
    }

    /// Takes the next program off the list and returns its end; or, if reads have delayed it in the
    /// meantime, puts it back with its new end and returns `None`.
    fn refresh_or_drop(&mut self, flash: &Flash) -> Option<Nanos> {
        let Reverse((end, program, ticket, units)) = self.pending.pop()?;
        let actual = flash.end_of(ticket).unwrap_or(end);
        if actual > end {
            self.pending.push(Reverse((actual, program, ticket, units)));
            return None;
        }
        self.used -= units;
        if self.resident.get(&program) == Some(&Some(ticket)) {
            self.resident.remove(&program);
        }
        Some(end)
    }

    pub(super) fn put(&mut self, now: Nanos, at: Nanos, placed: Placed, flash: &mut Flash) {
        let Placed { ppn, units, slc } = placed;
        self.used += units;
        self.waiting += units;
        self.unsaved += units;
        self.dirty = true;
        let mut done = 0;
        while done < units {
            let place = self.geometry.place(ppn + done, slc);
            let len = place.left.min(units - done);
            let is_complete = len == place.left && self.geometry.completes_program(place, slc);
            let ticket = is_complete.then(|| flash.program(now, at, place.die, slc));
            self.resident.insert(place.program, ticket);
            if let Some(ticket) = ticket {
                let end = flash.end_of(ticket).unwrap_or(at);
                let size = self.geometry.program_units(slc);
                self.pending.push(Reverse((end, place.program, ticket, size)));
                self.waiting -= size;
                self.unsaved = self.unsaved.min(self.waiting);
            }
            done += len;
        }
    }

    pub(super) fn holds(&self, at: Nanos, ppn: Ppn, slc: bool, flash: &Flash) -> bool {
        if self.resident.is_empty() {
            return false;
        }
        match self.resident.get(&self.geometry.place(ppn, slc).program) {
            Some(Some(ticket)) => flash.end_of(*ticket).is_some_and(|end| end > at),
            Some(None) => true,
            None => false,
        }
    }

    /// When everything accepted before `at` can survive a loss of power: programs have ended, and what
    /// waits for the rest of its row has been saved in pages of one bit per cell. `None` if nothing
    /// has been written since the last time.
    pub(super) fn flush(&mut self, at: Nanos, flash: &Flash) -> Option<Nanos> {
        if !std::mem::take(&mut self.dirty) {
            return None;
        }
        let mut end = at;
        for Reverse((noted, _, ticket, _)) in &self.pending {
            end = end.max(flash.end_of(*ticket).unwrap_or(*noted));
        }
        let pages = std::mem::take(&mut self.unsaved).div_ceil(self.geometry.stripe);
        let rounds = pages.div_ceil(self.geometry.dies);
        Some(end + u64::from(rounds) * flash.slc_page_write())
    }
}
