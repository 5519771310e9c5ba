//! Data that the read cache keeps and gives up, and when data cross the interface.

use super::host::{Host, HostCommand};
use super::{small_drive, small_with};
use crate::device::RequestKind::{Read, Write};
use crate::device::{Nanos, SimDevice};
use crate::hdd::params::HddParams;

const KIB: u64 = 1024;
const MIB: u64 = 1 << 20;
/// Less than any movement and turn.
const HIT: Nanos = 1_000_000;

fn crossing(params: &HddParams, bytes: u64) -> Nanos {
    (bytes as f64 * 1000.0 / params.interface_mb_s) as Nanos
}

/// Reads 64 KiB from 1 MiB on, waits for 2 ms, asks for `op` of `len` bytes at `offset`; then how long a read of
/// 4 KiB at `again` takes.
fn after(params: &HddParams, (op, offset, len): HostCommand, again: u64) -> Nanos {
    let mut host = Host::new(params);
    host.one(Read, MIB, 64 * KIB);
    host.now += 2_000_000;
    host.one(op, offset, len);
    host.one(Read, again, 4 * KIB)
}

#[test]
fn a_write_drops_the_segments_that_it_overlaps() {
    let near = MIB + 60 * KIB;
    for (keeps, at, hit) in [
        // what stands before the written sectors went with their segment
        (false, near, false),
        (true, near, true),
        // after what was read ahead in 2 ms
        (false, 8 * MIB, true),
    ] {
        let params = small_with(|p| p.read_cache.read_hits_on_write_data = keeps);
        let time = after(&params, (Write, at, 4 * KIB), MIB + 8 * KIB);
        assert_eq!(time < HIT, hit, "{keeps}, write at {at}: {time}");
    }
    // also a write through, and one into what is being read ahead
    let off = small_with(|p| p.write_cache.enabled = false);
    assert!(after(&off, (Write, near, 4 * KIB), MIB) > HIT);
    let ahead = MIB + 128 * KIB;
    assert!(after(&small_drive(), (Write, ahead, 4 * KIB), MIB) > HIT);
}

#[test]
fn write_elsewhere_may_end_read_ahead() {
    for ends in [false, true] {
        let params = small_with(|p| p.read_cache.read_ahead_ends_at_write = ends);
        let mut host = Host::new(&params);
        host.one(Read, MIB, 64 * KIB);
        host.one(Write, 800 * MIB, 4 * KIB);
        // 0.1 ms and more until its data were there: 8 KiB and more have been read
        host.rest(5_000_000);
        let near = host.one(Read, MIB + 64 * KIB, 4 * KIB);
        assert!(near < HIT, "{near}");
        let further = host.one(Read, MIB + 160 * KIB, 4 * KIB);
        assert_eq!(further < HIT, !ends, "{further}");
    }
}

/// A program that takes longer for each block than the head: read-ahead has ended before each read.
#[test]
fn hit_need_not_extend_read_ahead() {
    fn misses(only: bool, pause: Nanos) -> usize {
        let params = small_with(|p| {
            p.read_cache.read_ahead_after_misses_only = only;
            (p.read_cache.segment_kib, p.read_cache.read_ahead_kib) = (512, 64);
        });
        let mut host = Host::new(&params);
        let read = |i: u64| {
            host.rest(pause);
            host.one(Read, MIB + i * 16 * KIB, 16 * KIB)
        };
        (0..40).map(read).filter(|&time| time >= HIT).count()
    }
    let slow = 20_000_000;
    assert_eq!(misses(false, slow), 1, "a stream never stops");
    // One that is read, and four that were read ahead.
    assert_eq!(misses(true, slow), 8);
    assert_eq!(misses(true, 0), misses(false, 0), "read-ahead in progress continues");
}

#[test]
fn read_ahead_may_overwrite_requested_data() {
    for (gives_way, hit) in [(false, true), (true, false)] {
        let params = small_with(|p| p.read_cache.read_ahead_over_requested = gives_way);
        let next = (Read, MIB + 64 * KIB, 4 * KIB);
        assert_eq!(after(&params, next, MIB) < HIT, hit, "again");
        assert_eq!(after(&params, next, MIB + 64 * KIB) < HIT, hit, "a hit again");
        assert!(after(&params, next, MIB + 68 * KIB) < HIT, "the read-ahead");
    }
}

#[test]
fn read_ahead_may_end_with_the_track() {
    for ends in [false, true] {
        let params = small_with(|p| {
            p.read_cache.stop_at_track_end = ends;
            (p.read_cache.segment_kib, p.read_cache.read_ahead_kib) = (2048, 2048);
        });
        let mut host = Host::new(&params);
        host.one(Read, 0, 4 * KIB);
        host.now += 100_000_000;
        let layout = super::mechanism_of(&params);
        let track_end = layout.layout().next_track(0) * u64::from(params.physical_sector_bytes);
        assert!(track_end < 2000 * KIB, "within the limit of read-ahead");
        let at = track_end / 4096 * 4096;
        assert!(host.one(Read, at - 8 * KIB, 4 * KIB) < HIT);
        let behind = host.one(Read, at + 4 * KIB, 4 * KIB);
        assert_eq!(behind < HIT, !ends, "{behind}");
    }
}

#[test]
fn read_on_arrival_keeps_sectors_before_request() {
    for on_arrival in [false, true] {
        let params = small_with(|p| {
            p.read_cache.read_on_arrival = on_arrival;
            p.read_cache.read_ahead_kib = 0;
        });
        let hits = (0..64).filter(|n| {
            let mut host = Host::new(&params);
            host.now = n * 130_000;
            // from the middle of a track on
            let at = n * MIB + 160 * KIB;
            host.one(Read, at, 4 * KIB);
            host.one(Read, at - 4 * KIB, 4 * KIB) < HIT
        });
        let hits = hits.count();
        assert!(if on_arrival { hits > 32 } else { hits == 0 }, "{hits} of 64");
    }
}

#[test]
fn read_ahead_beyond_its_segment_overwrites_the_oldest() {
    let params = small_with(|p| {
        (p.read_cache.segment_kib, p.read_cache.read_ahead_kib) = (256, 1024);
    });
    assert_eq!(params.validate(), []);
    for (passed_kib, again_kib, hit) in [(1024, 64, false), (1024, 1000, true), (128, 64, true)] {
        let mut host = Host::new(&params);
        host.one(Read, 0, 4 * KIB);
        // 50 to 80 MB/s
        host.now += passed_kib * 20_000;
        let time = host.one(Read, again_kib * KIB, 4 * KIB);
        assert_eq!(time < HIT, hit, "{again_kib} KiB after {passed_kib}: {time}");
    }
}

#[test]
fn data_cross_after_water_mark_and_medium() {
    let len = 256 * KIB;
    let time = |share: f64| {
        let params = small_with(|p| p.read_cache.water_mark = share);
        Host::new(&params).one(Read, 64 * MIB, len)
    };
    let params = small_drive();
    let whole = crossing(&params, len);
    let sector = crossing(&params, u64::from(params.physical_sector_bytes));
    // with nothing held back the last sector crosses when the head has passed it, with all held back all do
    let behind = |share: f64| time(share) - time(0.0);
    assert!(behind(1.0).abs_diff(whole - sector) < 200, "{}", behind(1.0));
    assert!(behind(0.5) == 0, "the head is slower than the interface: {}", behind(0.5));
    assert!(time(1.0) > time(0.9) && time(0.9) >= time(0.5));
}

#[test]
fn written_through_data_cross_interface_before_medium() {
    // 1 MiB at 20 MB/s takes longer than the medium
    for (enabled, fua) in [(false, false), (true, true)] {
        let params = small_with(|p| {
            p.interface_mb_s = 20.0;
            p.write_cache.enabled = enabled;
        });
        let crossing = crossing(&params, MIB);
        for n in 0..20 {
            let mut host = Host::new(&params);
            host.now = n * 400_000;
            let now = host.now;
            let request =
                crate::device::SimRequest { id: 1, op: Write, offset: n * 3 * MIB, len: MIB, fua };
            host.disk.submit(now, request);
            let end = crate::testing::run_all(&mut host.disk)[0].at;
            assert!(end - now > crossing, "{n}: {} of {crossing}", end - now);
        }
    }
}
