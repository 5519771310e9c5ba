//! Writing, flushing and trimming.

use super::Ssd;
use super::flash::ns;
use super::geometry::Lpn;
use super::port::PortDirection;
use crate::device::{Nanos, SimRequest};

impl Ssd {
    /// Serves a write; returns when it is acknowledged.
    pub(super) fn write(&mut self, request: &SimRequest) -> Nanos {
        let ready = self.start(self.params.controller.write_command_us);
        let unit = self.geometry.unit_bytes;
        let (offset, end_byte) = (request.offset, request.offset + request.len);
        let (first, end) = ((offset / unit) as Lpn, end_byte.div_ceil(unit) as Lpn);
        let merged = self.read_partial_units(ready, request, first, end);
        if let Some(page) = self.map_cache.touch(first) {
            // the entry must be there before the data reach the flash, but no command waits for it
            self.flash.read_map(self.now, ready, page);
        }
        if let Some(thermal) = &mut self.thermal {
            thermal.add_write(u64::from(end - first) * unit);
        }
        let mut at = ready;
        let mut lpn = first;
        while lpn < end {
            let want = (end - lpn).min(self.geometry.stripe);
            let room = self.buffer.admit(at, want, &self.flash);
            let from = offset.max(u64::from(lpn) * unit);
            let to = end_byte.min(u64::from(lpn + want) * unit);
            let len = self.flash.paced(self.port.duration(
                to - from,
                PortDirection::FromHost,
                lpn == first,
            ));
            at = self.port.carry(self.now, room, PortDirection::FromHost, len);
            self.take_in(at, lpn, want);
            lpn += want;
        }
        if request.fua {
            at = self.save(at);
        }
        if self.params.buffer.merge_before_ack { at.max(merged) } else { at }
    }

    /// Places `units` units that have arrived at `at`, and starts the programs they complete.
    fn take_in(&mut self, at: Nanos, lpn: Lpn, units: u32) {
        let mut done = 0;
        while done < units {
            let mut sink = self.flash.sink(self.now, at);
            let placed = self.ftl.place(lpn + done, units - done, &mut sink);
            self.buffer.put(self.now, at, placed, &mut self.flash);
            done += placed.units;
        }
    }

    /// Reads the units of which the request covers only a part; returns when the last one is there.
    fn read_partial_units(
        &mut self,
        ready: Nanos,
        request: &SimRequest,
        first: Lpn,
        end: Lpn,
    ) -> Nanos {
        let unit = self.geometry.unit_bytes;
        let head = !request.offset.is_multiple_of(unit);
        let tail = !(request.offset + request.len).is_multiple_of(unit);
        let mut there = ready;
        if head {
            there = there.max(self.read_unit(ready, first));
        }
        if tail && !(head && end - first == 1) {
            there = there.max(self.read_unit(ready, end - 1));
        }
        there
    }

    fn read_unit(&mut self, ready: Nanos, lpn: Lpn) -> Nanos {
        let (Some(ppn), _) = self.ftl.find(lpn, 1) else { return ready };
        let slc = self.ftl.is_slc(ppn);
        if self.buffer.holds(ready, ppn, slc, &self.flash) {
            return ready;
        }
        self.flash.read(self.now, ready, ppn, slc, 1)
    }

    /// Makes everything accepted so far safe; returns when it is.
    fn save(&mut self, at: Nanos) -> Nanos {
        if self.params.buffer.power_loss_protection {
            return at;
        }
        let commit = self.flash.paced(ns(self.params.buffer.flush_commit_us));
        self.buffer.flush(at, &self.flash).map_or(at, |safe| safe + commit)
    }

    pub(super) fn flush(&mut self) -> Nanos {
        let ready = self.start(self.params.controller.write_command_us);
        if self.faults.flush_lies || self.params.buffer.power_loss_protection {
            return ready;
        }
        self.save(ready)
    }

    /// Serves a TRIM; only whole mapping units are forgotten.
    pub(super) fn trim(&mut self, request: &SimRequest) -> Nanos {
        let gib = request.len as f64 / f64::from(1 << 30);
        let controller = &self.params.controller;
        let ready = self.start(controller.trim_command_us + gib * controller.trim_us_per_gib);
        let unit = self.geometry.unit_bytes;
        let first = request.offset.div_ceil(unit) as Lpn;
        let end = ((request.offset + request.len) / unit) as Lpn;
        if first < end {
            self.ftl.trim(first, end - first);
        }
        ready
    }
}
