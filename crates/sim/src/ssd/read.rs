//! Reading: firmware, map, flash or buffer, port.
//!
//! Data cross the port as they come over the flash channels, unit by unit, so that pieces from several channels
//! share it.

use super::Ssd;
use super::geometry::Lpn;
use super::port::{Port, PortDirection};
use crate::device::{Nanos, SimOutcome, SimRequest};

/// When the units of a piece are in the controller's memory.
#[derive(Debug, Clone, Copy)]
struct PieceTimes {
    first: Nanos,
    last: Nanos,
}

impl PieceTimes {
    fn all_at(at: Nanos) -> Self {
        Self { first: at, last: at }
    }
}

impl Ssd {
    /// Serves a read; returns when it is done, and how; of one in a single piece that waits for the port also
    /// when its data could begin to cross it.
    pub(super) fn read(&mut self, request: &SimRequest) -> (Nanos, SimOutcome, Option<Nanos>) {
        let ready = self.start(self.params.controller.read_command_us);
        let unit = self.geometry.unit_bytes;
        let (offset, end_byte) = (request.offset, request.offset + request.len);
        let (first, end) = ((offset / unit) as Lpn, end_byte.div_ceil(unit) as Lpn);
        let sequence = self.read_ahead.note(offset, end_byte);
        if let Some(thermal) = &mut self.thermal {
            thermal.add_read(request.len);
        }
        let mut done = ready;
        let mut lpn = first;
        let mut waiting = None;
        while lpn < end {
            let ahead = sequence.and_then(|stream| self.read_ahead.fetched(stream, lpn));
            let (next, there) = match ahead {
                Some((piece_end, time)) => {
                    (piece_end.min(end), PieceTimes::all_at(time.max(ready)))
                }
                None => self.fetch(ready, lpn, end),
            };
            let from = offset.max(u64::from(lpn) * unit);
            let to = end_byte.min(u64::from(next) * unit);
            let crossing = |port: &Port, bytes, with_command| {
                port.duration(bytes, PortDirection::ToHost, with_command)
            };
            let len = self.flash.paced(crossing(&self.port, to - from, lpn == first));
            let last_unit = self.flash.paced(crossing(&self.port, unit.min(to - from), false));
            let carried = self.port.carry(self.now, there.first, PortDirection::ToHost, len);
            let waits = carried > there.first + len;
            waiting = (waits && lpn == first && next == end).then_some(there.first);
            done = done.max(carried).max(there.last + last_unit);
            lpn = next;
        }
        if let Some(stream) = sequence {
            self.fetch_ahead(stream, ready);
        }
        match self.faults.region(offset, request.len) {
            Some(region) if region.unreadable => {
                (done + region.retry_ns, SimOutcome::MediaError, None)
            }
            Some(region) => (done + region.retry_ns, SimOutcome::Done, None),
            None => (done, SimOutcome::Done, waiting),
        }
    }

    /// Brings a piece from `lpn` on, at most to `end`, into the controller's memory; returns the
    /// piece's end and when it is there.
    fn fetch(&mut self, ready: Nanos, lpn: Lpn, end: Lpn) -> (Lpn, PieceTimes) {
        let (ppn, run) = self.ftl.find(lpn, end - lpn);
        let known = match self.map_cache.touch(lpn) {
            Some(page) => self.flash.read_map(self.now, ready, page),
            None => ready,
        };
        let Some(ppn) = ppn else { return (lpn + run, PieceTimes::all_at(known)) };
        let slc = self.ftl.is_slc(ppn);
        let units = run.min(self.geometry.place(ppn, slc).left);
        let there = if self.buffer.holds(known, ppn, slc, &self.flash) {
            PieceTimes::all_at(known)
        } else {
            let last = self.flash.read(self.now, known, ppn, slc, units);
            PieceTimes { first: last - self.flash.transfer(units - 1), last }
        };
        (lpn + units, there)
    }

    /// Fetches what a sequential reader will want next.
    fn fetch_ahead(&mut self, stream: usize, ready: Nanos) {
        let wanted = self.read_ahead.wanted(stream, self.geometry.logical_units);
        let mut lpn = wanted.start;
        while lpn < wanted.end {
            let (next, there) = self.fetch(ready, lpn, wanted.end);
            self.read_ahead.add(stream, next, there.last);
            lpn = next;
        }
    }
}
