//! A simulated drive whose requests are counted as the kernel counts those of a real one: what reached it
//! from the file system and the page cache above.

use super::AnyDrive;
use drivescope_machine::counters::DeviceCounters;
use drivescope_sim::device::{
    Nanos, RequestKind, SimCompletion, SimDevice, SimOutcome, SimRequest,
};
use std::collections::HashMap;

const MS_NS: Nanos = 1_000_000;

pub(super) struct Counted {
    drive: AnyDrive,
    /// Kind, length and start of pending requests, by id.
    under_way: HashMap<u64, (RequestKind, u64, Nanos)>,
    totals: DeviceCounters,
    busy_ns: Nanos,
    read_wait_ns: Nanos,
    write_wait_ns: Nanos,
    flush_wait_ns: Nanos,
    /// Time up to which `busy` is counted.
    counted_to: Nanos,
}

impl Counted {
    pub fn new(drive: AnyDrive) -> Self {
        Self {
            drive,
            under_way: HashMap::new(),
            totals: DeviceCounters::default(),
            busy_ns: 0,
            read_wait_ns: 0,
            write_wait_ns: 0,
            flush_wait_ns: 0,
            counted_to: 0,
        }
    }

    pub fn counters(&self) -> DeviceCounters {
        DeviceCounters {
            in_flight: self.under_way.len() as u64,
            busy_ms: self.busy_ns / MS_NS,
            read_wait_ms: self.read_wait_ns / MS_NS,
            write_wait_ms: self.write_wait_ns / MS_NS,
            flush_wait_ms: self.flush_wait_ns / MS_NS,
            ..self.totals
        }
    }

    /// Counts the time up to `now` as busy if anything was under way.
    fn pass(&mut self, now: Nanos) {
        if !self.under_way.is_empty() {
            self.busy_ns += now.saturating_sub(self.counted_to);
        }
        self.counted_to = self.counted_to.max(now);
    }

    fn completed(&mut self, completion: &SimCompletion) {
        self.pass(completion.at);
        let Some((op, len, begun)) = self.under_way.remove(&completion.id) else { return };
        if completion.outcome != SimOutcome::Done {
            return;
        }
        let totals = &mut self.totals;
        let waited_ns = completion.at - begun;
        match op {
            RequestKind::Read => {
                totals.reads += 1;
                totals.read_bytes += len;
                self.read_wait_ns += waited_ns;
            }
            RequestKind::Write => {
                totals.writes += 1;
                totals.written_bytes += len;
                self.write_wait_ns += waited_ns;
            }
            RequestKind::Flush => {
                totals.flushes += 1;
                self.flush_wait_ns += waited_ns;
            }
            RequestKind::Trim => {
                totals.discards += 1;
                totals.discarded_bytes += len;
            }
        }
    }
}

impl SimDevice for Counted {
    fn capacity_bytes(&self) -> u64 {
        self.drive.capacity_bytes()
    }

    fn sector_bytes(&self) -> u32 {
        self.drive.sector_bytes()
    }

    fn submit(&mut self, now: Nanos, request: SimRequest) {
        self.pass(now);
        self.under_way.insert(request.id, (request.op, request.len, now));
        self.drive.submit(now, request);
    }

    fn next_completion(&mut self) -> Option<Nanos> {
        self.drive.next_completion()
    }

    fn advance(&mut self, to: Nanos, done: &mut Vec<SimCompletion>) {
        let before = done.len();
        self.drive.advance(to, done);
        for completion in &done[before..] {
            self.completed(completion);
        }
        self.pass(to);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulated::spec::Spec;
    use drivescope_sim::library::Start;

    #[test]
    fn bytes_requests_and_busy_time_match_the_drive() {
        fn request(id: u64, op: RequestKind, len: u64) -> SimRequest {
            SimRequest { id, op, offset: 1 << 30, len, fua: false }
        }
        let spec = Spec::parse("sim:wd20ears").unwrap();
        let mut drive = Counted::new(spec.build_drive(&Start::default()).unwrap());
        let mut done = Vec::new();
        drive.submit(0, request(1, RequestKind::Read, 4096));
        drive.submit(0, request(2, RequestKind::Write, 8192));
        assert_eq!(drive.counters().read_bytes, 0, "not before it is done");
        while done.len() < 2 {
            let next = drive.next_completion().unwrap();
            drive.advance(next, &mut done);
        }
        let last = done[1].at;
        drive.advance(last + 500 * MS_NS, &mut done);
        let counters = drive.counters();
        assert_eq!((counters.reads, counters.read_bytes), (1, 4096));
        assert_eq!((counters.writes, counters.written_bytes), (1, 8192));
        assert_eq!(counters.busy_ms, last / MS_NS, "idle time is none");
    }
}
