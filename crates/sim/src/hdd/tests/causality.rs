//! Nothing is written to the medium before it is there, and a question begins nothing.

use super::{bands, small_drive, small_with};
use crate::device::RequestKind::{Flush, Read, Trim, Write};
use crate::device::{Nanos, RequestKind, SimCompletion, SimDevice, SimRequest};
use crate::hdd::HardDisk;
use crate::hdd::params::{HddParams, RmwParams};
use crate::hdd::schedule::DiskEvent;
use crate::testing::request;
use proptest::prelude::*;

const KIB: u64 = 1024;

/// Bytes from the start of the medium, and the earliest time at which they can have crossed the interface.
struct Arrival {
    from: u64,
    to: u64,
    at: Nanos,
}

/// A drive whose every step is looked at.
struct Watched {
    disk: HardDisk,
    /// Since when the interface is free, by the drive's overhead and rate alone.
    interface_free: Nanos,
    arrivals: Vec<Arrival>,
    seen: Nanos,
}

impl Watched {
    fn new(params: &HddParams) -> Self {
        let disk = HardDisk::new(params, 1).unwrap();
        Self { disk, interface_free: 0, arrivals: Vec::new(), seen: 0 }
    }

    fn live(&mut self, to: Nanos) {
        while let Some((at, event)) = self.disk.next_event().filter(|(at, _)| *at < to) {
            assert!(at >= self.seen, "{event:?} at {at}, after an event at {}", self.seen);
            self.seen = at;
            self.disk.perform(at, event);
            if event == DiskEvent::Destage {
                self.check(at);
            }
        }
    }

    /// All that the mechanism has begun to write at `at` had arrived.
    fn check(&self, at: Nanos) {
        let under_way = self.disk.write_cache.under_way();
        assert!(!under_way.is_empty(), "destaging without data");
        for &(from, to) in under_way {
            for data in self.arrivals.iter().filter(|data| data.from < to && from < data.to) {
                assert!(data.at <= at, "written from {at}, arrived at {}", data.at);
            }
        }
    }

    fn submit(&mut self, now: Nanos, op: RequestKind, offset: u64, len: u64) {
        self.live(now);
        self.disk.advance(now, &mut Vec::new());
        if op == Write {
            // 0.1 ms and 300 MB/s, as the small drive has them
            let crossing = 100_000 + len * 3333 / 1000;
            self.interface_free = now.max(self.interface_free) + crossing;
            let from = self.disk.medium_byte(offset);
            self.arrivals.push(Arrival { from, to: from + len, at: self.interface_free });
        }
        self.disk.submit(now, SimRequest { id: now, op, offset, len, fua: false });
    }
}

/// Drives that destage for different reasons: a full cache, no patience, partial sectors, shingles.
fn drives() -> Vec<HddParams> {
    let mut tight = small_drive();
    tight.write_cache.dirty_limit_kib = 256;
    let mut few = small_drive();
    few.write_cache.dirty_extents = 4;
    let mut impatient = small_drive();
    impatient.write_cache.idle_ms = 0.0;
    let mut partial = few.clone();
    partial.physical_sector_bytes = 4096;
    partial.read_modify_write = Some(RmwParams { batch_sectors: 8, gap_ms: 0.4 });
    let mut shingled = tight.clone();
    shingled.smr = Some(bands(20.0));
    vec![tight, few, impatient, partial, shingled]
}

#[test]
fn read_proceeds_while_write_waits_for_room() {
    fn write(id: u64, offset: u64, len: u64) -> SimRequest {
        request(id, Write, offset, len)
    }
    let mut disk = HardDisk::new(&small_with(|p| p.write_cache.dirty_limit_kib = 256), 1).unwrap();
    for i in 0..63 {
        disk.submit(i * 1000, write(i, i * 30_000_000 / 4096 * 4096, 4 * KIB));
    }
    // This one needs the room of all others, one seek each.
    disk.submit(100_000, write(99, 1 << 30, 256 * KIB));
    let mut done = Vec::new();
    disk.advance(20_000_000, &mut done);
    assert_eq!(done.len(), 63);
    // As a program does that waits for the answer, before another sends its read.
    assert!(disk.next_completion().is_some());
    disk.submit(21_000_000, request(100, Read, 512 << 20, 4 * KIB));
    disk.advance(60_000_000, &mut done);
    assert_eq!(done.last().map(|answer| answer.id), Some(100));
    disk.advance(1_000_000_000, &mut done);
    assert_eq!(done.last().map(|answer| (answer.id, answer.at > 80_000_000)), Some((99, true)));
}

/// One step of a history: what to do, how long after the last one, and on how many sectors.
type HistoryStep = (u32, u64, u64);

/// Answers of a drive that the caller asks for its next answer, and advances, at `looks` moments between any two
/// requests.
fn answers(
    params: &HddParams,
    stride: u64,
    steps: &[HistoryStep],
    looks: u64,
) -> Vec<SimCompletion> {
    let mut disk = HardDisk::new(params, 1).unwrap();
    let (mut now, mut done) = (1, Vec::new());
    for (index, &(kind, wait, sectors)) in (0u64..).zip(steps) {
        let then = now + if kind == 0 { 100_000_000 } else { 1 + wait * wait * 1000 };
        for look in 1..=looks {
            disk.next_completion();
            disk.advance(now + (then - now) * look / looks, &mut done);
        }
        now = then;
        let place = index * stride * 64 * KIB;
        let len = if sectors % 2 == 0 { 64 * KIB } else { sectors * 512 };
        let op = match kind {
            1 => Flush,
            2..=4 => Read,
            5 => Trim,
            _ => Write,
        };
        disk.submit(now, SimRequest { id: index, op, offset: place, len, fua: kind == 11 });
    }
    disk.advance(now + 3_600_000_000_000, &mut done);
    done
}

proptest! {
    #[test]
    fn how_often_it_is_looked_at_changes_nothing(
        drive in 0usize..5,
        depth in prop_oneof![Just(3u32), Just(32)],
        stride in prop_oneof![Just(1u64), Just(37)],
        steps in proptest::collection::vec((0u32..12, 0u64..80, 1u64..=128), 1..150),
    ) {
        let mut params = drives()[drive].clone();
        params.queue.depth = depth;
        let alone = answers(&params, stride, &steps, 0);
        prop_assert_eq!(alone.len(), steps.len());
        for looks in [1, 3] {
            prop_assert_eq!(&answers(&params, stride, &steps, looks), &alone);
        }
    }

    #[test]
    fn nothing_is_destaged_before_it_arrived(
        drive in 0usize..5,
        stride in prop_oneof![Just(1u64), Just(37)],
        steps in proptest::collection::vec((0u32..12, 0u64..40, 1u64..=128), 1..120),
    ) {
        let params = &drives()[drive];
        let mut watched = Watched::new(params);
        let mut now = 1;
        for (index, (kind, wait, sectors)) in steps.into_iter().enumerate() {
            // waits from nothing to 1.6 ms and, rarely, longer than the drive's patience
            now += if kind == 0 { 100_000_000 } else { 1 + wait * wait * 1000 };
            // each place is written once; every second write of a sequence touches the one before
            let place = index as u64 * stride * 64 * KIB;
            let len = if sectors % 2 == 0 { 64 * KIB } else { sectors * 512 };
            match kind {
                1 => watched.submit(now, Flush, 0, 0),
                2 => watched.submit(now, Read, place, len),
                _ => watched.submit(now, Write, place, len),
            }
        }
        watched.submit(now + 1, Flush, 0, 0);
        watched.live(now + 3_600_000_000_000);
        prop_assert_eq!(watched.disk.dirty_bytes(), 0);
    }
}
