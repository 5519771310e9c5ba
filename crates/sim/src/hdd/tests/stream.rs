//! Long passes at once against the same passes step by step.

use super::host::Host;
use super::small_drive;
use crate::device::{Device, Op, Stream};
use crate::hdd::params::{LayoutParams, ReadCacheParams, SeekParams, SkewParams, ZoneParams};
use crate::hdd::{FailingRegion, Faults, HddParams};

const MIB: u64 = 1 << 20;

/// Relative difference in time of a pass at once and stepped, and the two hosts afterwards.
fn compare(
    params: &HddParams,
    op: Op,
    from: u64,
    len: u64,
    chunk: u64,
    depth: usize,
) -> (f64, Host, Host) {
    let mut at_once = Host::new(params);
    at_once.now = at_once.disk.stream(0, op, from, len, chunk, depth as u32).unwrap();
    let mut stepped = Host::new(params);
    let count = len.div_ceil(chunk);
    stepped.run(depth, (0..count).map(|i| (op, from + i * chunk, chunk.min(len - i * chunk))));
    let difference = at_once.now as f64 / stepped.now as f64 - 1.0;
    (difference, at_once, stepped)
}

#[test]
fn a_pass_at_once_takes_as_long_as_step_by_step() {
    let params = small_drive();
    let capacity = params.capacity_bytes;
    let zone = Host::new(&params).disk.zones()[5];
    let edge = zone.offset_bytes / MIB * MIB;
    let cases = [
        (0, capacity, MIB, 1),
        (0, capacity, MIB, 8),
        (0, capacity, 256 << 10, 1),
        (0, capacity, 16 << 10, 1),
        (edge - 500 * MIB, 900 * MIB, 128 << 10, 1),
        (edge - 100 * MIB, 700 * MIB, MIB, 4),
        (edge + 512, 600 * MIB, MIB, 1),
        (capacity - 640 * MIB, 640 * MIB, 64 << 10, 1),
    ];
    for op in [Op::Read, Op::Write] {
        for (from, len, chunk, depth) in cases {
            let (_, at_once, stepped) = compare(&params, op, from / 512 * 512, len, chunk, depth);
            let what = format!("{op:?} {len} from {from} by {chunk} at depth {depth}");
            assert_eq!(at_once.now, stepped.now, "{what}");
        }
    }
}

#[test]
fn a_read_pass_is_computed_in_every_zone() {
    let params = small_drive();
    let mut host = Host::new(&params);
    host.disk.stream(0, Op::Read, 0, params.capacity_bytes, MIB, 1).unwrap();
    // both ends are stepped, 170 MiB each, and of each of 16 zones a sample and the rest of a skip
    let most = 2 * 170 + 16 * (128 + 8);
    let stepped = host.disk.read_cache.uses();
    assert!(stepped < most, "{stepped} requests");
}

#[test]
fn commands_slower_than_the_medium_limit_a_pass() {
    let mut params = small_drive();
    params.read_hit_overhead_ms = 0.1;
    params.write_overhead_ms = 0.12;
    for op in [Op::Read, Op::Write] {
        let (difference, at_once, _) = compare(&params, op, 0, params.capacity_bytes, 4096, 1);
        assert!(difference.abs() < 0.001, "{op:?}: {:.3} %", difference * 100.0);
        // 4096 bytes need at least the overhead and the interface
        let least = params.capacity_bytes as f64 / 4096.0 * 0.1136;
        assert!(at_once.now as f64 / 1e6 > least);
    }
}

#[test]
fn an_interface_slower_than_the_medium_limits_a_pass() {
    for (op, most_mb_s, chunk, depth) in [
        (Op::Read, 60.0, MIB, 1),
        (Op::Read, 30.0, 3 * MIB / 2, 32),
        (Op::Write, 60.0, MIB, 1),
        (Op::Write, 30.0, 3 * MIB / 2, 32),
    ] {
        let mut params = small_drive();
        params.interface_mb_s = most_mb_s;
        let (difference, at_once, _) = compare(&params, op, 0, 2000 * MIB, chunk, depth);
        assert!(difference.abs() < 0.005, "{op:?} at {depth}: {:.3} %", difference * 100.0);
        let rate = 2000.0 * MIB as f64 * 1e3 / at_once.now as f64;
        let possible = 0.9 * most_mb_s..1.001 * most_mb_s;
        assert!(possible.contains(&rate), "{op:?} at {depth}: {rate} MB/s");
    }
}

/// A queue of reads lets the head go on at its own pace, whatever the interface has carried.
#[test]
fn a_head_that_runs_before_the_interface_does_not_set_the_pace() {
    let mut params = small_drive();
    params.capacity_bytes = 2_683_129_856;
    params.rpm = 10_000.0;
    params.heads = 8;
    params.zones = ZoneParams::SquareRoot {
        outer_media_mb_s: 286.8,
        inner_media_mb_s: 276.5,
        clamp_media_mb_s: None,
        count: 6,
    };
    params.layout = LayoutParams::Cylinder;
    params.skew = SkewParams { head_rev: 0.108, cylinder_rev: 0.747 };
    params.seek = SeekParams::SquareRoot { min_ms: 2.97, full_ms: 5.35 };
    params.head_switch_ms = 0.02;
    params.read_hit_overhead_ms = 0.08;
    params.read_miss_overhead_ms = 0.38;
    params.interface_mb_s = 150.0;
    params.read_cache =
        ReadCacheParams { segments: 1, segment_kib: 638, adaptive: false, read_ahead_kib: 381 };
    let len = 1 << 31;
    for from in [0, 246 * MIB] {
        let (difference, at_once, _) = compare(&params, Op::Read, from, len, 3 * MIB / 2, 32);
        let rate = len as f64 * 1e3 / at_once.now as f64;
        assert!(difference.abs() < 0.01 && rate < 150.1, "{from}: {difference}, {rate} MB/s");
    }
}

#[test]
fn reads_in_a_queue_become_a_stream_as_well() {
    let params = small_drive();
    for (chunk, len) in [(512, 40 * MIB), (4096, 600 * MIB), (16 << 10, 600 * MIB)] {
        // one after the other: at the pace of the medium or of the electronics
        let (_, alone, _) = compare(&params, Op::Read, 0, len, chunk, 1);
        for depth in [2, 8, 32] {
            let (difference, _, stepped) = compare(&params, Op::Read, 0, len, chunk, depth);
            assert!(difference.abs() < 0.01, "{chunk} at depth {depth}: {difference}");
            let slower = stepped.now as f64 / alone.now as f64 - 1.0;
            assert!(slower.abs() < 0.01, "{chunk} at depth {depth}, beside depth 1: {slower}");
        }
    }
}

#[test]
fn without_read_ahead_the_head_passes_what_the_electronics_have_not_understood() {
    let mut params = small_drive();
    params.read_cache.read_ahead_kib = 0;
    let mut host = Host::new(&params);
    host.run(2, (0..100).map(|i| (Op::Read, i * 4096, 4096)));
    // at most the two that are inside at once in a turn of 10 ms
    assert!(host.now > 49 * 10_000_000, "{}", host.now);
}

#[test]
fn the_state_after_a_pass_is_the_same() {
    let params = small_drive();
    for op in [Op::Read, Op::Write] {
        let (_, mut at_once, mut stepped) = compare(&params, op, 0, 2000 * MIB, MIB, 1);
        assert_eq!(at_once.disk.dirty_bytes(), stepped.disk.dirty_bytes(), "{op:?}");
        let follow = |host: &mut Host| {
            // the end is in the buffer, the beginning is not, the stream goes on
            [(2000 * MIB - 4096), (2000 * MIB), 4096]
                .map(|offset| host.one(Op::Read, offset, 4096) < 500_000)
        };
        assert_eq!(follow(&mut at_once), follow(&mut stepped), "{op:?}");
    }
}

#[test]
fn where_errors_lie_ahead_the_drive_must_be_stepped() {
    let mut host = Host::new(&small_drive());
    let bad = FailingRegion { offset: 1000 * MIB, len: 4096, retry_ms: 100.0 };
    host.disk.set_faults(Faults { failing_region: Some(bad), ..Faults::default() });
    assert_eq!(host.disk.stream(0, Op::Read, 0, 2000 * MIB, MIB, 1), None);
    assert!(host.disk.stream(0, Op::Read, 0, 900 * MIB, MIB, 1).is_some());
    let capacity = host.disk.capacity_bytes();
    assert_eq!(host.disk.stream(host.now, Op::Read, capacity, MIB, MIB, 1), None);
    assert_eq!(host.disk.stream(host.now, Op::Flush, 0, MIB, MIB, 1), None);
}
