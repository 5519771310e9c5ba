//! Moves a drive on as a whole, by a distance in addresses and a time, as a stretch of a long stream would have.

use crate::device::{Nanos, Op};
use crate::hdd::disk::HardDisk;
use crate::hdd::read_cache::Kept;

impl HardDisk {
    /// Moves everything that belongs to a stream of `op` by `bytes` (whole physical sectors) and `time`: what is
    /// cached of it, what is on the way, where the head is. `kept` is what the read cache had before it.
    pub(super) fn move_on(&mut self, op: Op, kept: &Kept, bytes: u64, time: Nanos) {
        let sectors = bytes / self.sizes.physical;
        self.mechanism.place_behind(self.mechanism.next_sector() + sectors);
        if op == Op::Write {
            self.write_cache.shift(bytes, time);
        } else {
            self.read_cache.shift(kept, sectors, self.sizes.physical);
            if let Some(ahead) = &mut self.read_ahead {
                ahead.from += sectors;
                ahead.limit = (ahead.limit + sectors).min(self.mechanism.layout().sectors());
                ahead.since += time;
                ahead.promised += time;
            }
        }
        self.move_requests(bytes, time);
        for moment in [
            &mut self.mechanism_free,
            &mut self.electronics_free,
            &mut self.crossing_free,
            &mut self.write_from,
            &mut self.last_activity,
            &mut self.admit_from,
            &mut self.clock,
        ] {
            *moment += time;
        }
        self.interface.shift(time);
    }

    fn move_requests(&mut self, bytes: u64, time: Nanos) {
        self.queue.shift(self.mechanism.layout(), bytes, bytes / self.sizes.physical, time);
        for write in &mut self.arriving {
            write.from += bytes;
            write.to += bytes;
            write.at += time;
        }
        for (arrived, request) in &mut self.waiting {
            *arrived += time;
            request.offset += bytes;
        }
        for answer in &mut self.completions {
            answer.at += time;
        }
    }
}
