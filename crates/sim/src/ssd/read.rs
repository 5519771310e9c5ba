//! Reading: firmware, map, flash or buffer, port.

use super::Ssd;
use super::geometry::Lpn;
use super::port::PortDirection;
use crate::device::{Nanos, SimOutcome, SimRequest};

impl Ssd {
    /// Serves a read; returns when it is done, and how.
    pub(super) fn read(&mut self, request: &SimRequest) -> (Nanos, SimOutcome) {
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
        while lpn < end {
            let ahead = sequence.and_then(|stream| self.read_ahead.fetched(stream, lpn));
            let (next, there) = match ahead {
                Some((piece_end, time)) => (piece_end.min(end), time.max(ready)),
                None => self.fetch(ready, lpn, end),
            };
            let from = offset.max(u64::from(lpn) * unit);
            let to = end_byte.min(u64::from(next) * unit);
            let len = self.flash.paced(self.port.duration(
                to - from,
                PortDirection::ToHost,
                lpn == first,
            ));
            done = done.max(self.port.carry(self.now, there, PortDirection::ToHost, len));
            lpn = next;
        }
        if let Some(stream) = sequence {
            self.fetch_ahead(stream, ready);
        }
        match self.faults.region(offset, request.len) {
            Some(region) if region.unreadable => (done + region.retry_ns, SimOutcome::MediaError),
            Some(region) => (done + region.retry_ns, SimOutcome::Done),
            None => (done, SimOutcome::Done),
        }
    }

    /// Brings a piece from `lpn` on, at most to `end`, into the controller's memory; returns the
    /// piece's end and when it is there.
    fn fetch(&mut self, ready: Nanos, lpn: Lpn, end: Lpn) -> (Lpn, Nanos) {
        let (ppn, run) = self.ftl.find(lpn, end - lpn);
        let known = match self.map_cache.touch(lpn) {
            Some(page) => self.flash.read_map(self.now, ready, page),
            None => ready,
        };
        let Some(ppn) = ppn else {
            return (lpn + run, known);
        };
        let slc = self.ftl.is_slc(ppn);
        let units = run.min(self.geometry.place(ppn, slc).left);
        let there = if self.buffer.holds(known, ppn, slc, &self.flash) {
            known
        } else {
            self.flash.read(self.now, known, ppn, slc, units)
        };
        (lpn + units, there)
    }

    /// Fetches what a sequential reader will want next.
    fn fetch_ahead(&mut self, stream: usize, ready: Nanos) {
        let wanted = self.read_ahead.wanted(stream, self.geometry.logical_units);
        let mut lpn = wanted.start;
        while lpn < wanted.end {
            let (next, there) = self.fetch(ready, lpn, wanted.end);
            self.read_ahead.add(stream, next, there);
            lpn = next;
        }
    }
}
