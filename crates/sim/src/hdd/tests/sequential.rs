//! Long sequential passes: what sets their pace, and the state they leave.

use super::host::Host;
use super::{small_drive, small_with};
use crate::device::RequestKind::{Read, Write};
use crate::device::{Nanos, RequestKind};
use crate::hdd::HddParams;
use crate::hdd::params::{LayoutParams, ReadCacheParams, SeekParams, SkewParams, ZoneParams};

const MIB: u64 = 1 << 20;

/// How long a new drive takes for `len` bytes from `from` on in requests of `chunk` bytes, `depth` outstanding.
fn pass(
    params: &HddParams,
    op: RequestKind,
    (from, len): (u64, u64),
    chunk: u64,
    depth: usize,
) -> Nanos {
    let mut host = Host::new(params);
    let count = len.div_ceil(chunk);
    host.run(depth, (0..count).map(|i| (op, from + i * chunk, chunk.min(len - i * chunk))));
    host.now
}

/// Long read-ahead keeps one segment of data, not all that it has passed.
#[test]
fn long_read_keeps_only_its_end_in_buffer() {
    let mut host = Host::new(&small_drive());
    host.run(1, (0..200).map(|i| (Read, i * MIB, MIB)));
    assert!(host.one(Read, 200 * MIB - 8192, 4096) < 500_000, "the end of the pass");
    for place in [150, 3, 198] {
        let time = host.one(Read, place * MIB, 4096);
        assert!(time > 500_000, "{place} MiB: {time} ns");
        host.run(1, (0..100).map(|i| (Read, (200 + i) * MIB, MIB)));
    }
}

/// A head switch that takes longer than its skew costs a turn, whether one transfer crosses it or two meet there.
#[test]
fn late_head_switch_costs_writes_and_reads_alike() {
    let mut params = small_drive();
    params.layout = LayoutParams::Cylinder;
    params.head_switch_ms = 2.5;
    let pass = |op| Host::new(&params).sequential_mb_s(op, 0, 400 * MIB, MIB);
    let (read, write) = (pass(Read), pass(Write));
    // a turn of 10 ms, and after three of four tracks 2 ms and another turn, after the fourth 1 ms
    assert!((read - 100.0 / 1.925).abs() < 1.0, "{read} MB/s");
    assert!((write / read - 1.0).abs() < 0.03, "{write} against {read} MB/s");
}

#[test]
fn commands_slower_than_the_medium_limit_a_pass() {
    let mut params = small_drive();
    params.read_hit_overhead_ms = 0.1;
    params.write_overhead_ms = 0.12;
    for (op, overhead_ms) in [(Read, 0.1), (Write, 0.12)] {
        let len = 400 * MIB;
        let time_ms = pass(&params, op, (0, len), 4096, 1) as f64 / 1e6;
        // 4096 bytes need the overhead and the interface
        let least_ms = len as f64 / 4096.0 * (overhead_ms + 4096.0 / 300e3);
        assert!((0.999..1.05).contains(&(time_ms / least_ms)), "{op:?}: {time_ms} ms, {least_ms}");
    }
}

#[test]
fn an_interface_slower_than_the_medium_limits_a_pass() {
    for (op, most_mb_s, chunk, depth) in [
        (Read, 60.0, MIB, 1),
        (Read, 30.0, 3 * MIB / 2, 32),
        (Write, 60.0, MIB, 1),
        (Write, 30.0, 3 * MIB / 2, 32),
    ] {
        let params = small_with(|p| p.interface_mb_s = most_mb_s);
        let time = pass(&params, op, (0, 2000 * MIB), chunk, depth);
        let rate = 2000.0 * MIB as f64 * 1e3 / time as f64;
        let possible = 0.9 * most_mb_s..1.001 * most_mb_s;
        assert!(possible.contains(&rate), "{op:?} at {depth}: {rate} MB/s");
    }
}

/// A queue of reads lets the head continue at its own pace, whatever the interface has carried.
#[test]
fn head_faster_than_interface_does_not_set_pace() {
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
        ReadCacheParams { segments: 1, segment_kib: 638, read_ahead_kib: 381, ..params.read_cache };
    let len = 1 << 31;
    for from in [0, 246 * MIB] {
        let time = pass(&params, Read, (from, len), 3 * MIB / 2, 32);
        let rate = len as f64 * 1e3 / time as f64;
        assert!(rate < 150.1, "{from}: {rate} MB/s");
    }
}

#[test]
fn reads_in_a_queue_become_a_stream_as_well() {
    let params = small_drive();
    for (chunk, len) in [(512, 40 * MIB), (4096, 600 * MIB), (16 << 10, 600 * MIB)] {
        // one after the other: at the pace of the medium or of the electronics
        let alone = pass(&params, Read, (0, len), chunk, 1);
        for depth in [2, 8, 32] {
            let queued = pass(&params, Read, (0, len), chunk, depth);
            let slower = queued as f64 / alone as f64 - 1.0;
            assert!(slower.abs() < 0.01, "{chunk} at depth {depth}, beside depth 1: {slower}");
        }
    }
}

#[test]
fn without_read_ahead_sequential_reads_lose_turns() {
    let mut host = Host::new(&small_with(|p| p.read_cache.read_ahead_kib = 0));
    host.run(2, (0..100).map(|i| (Read, i * 4096, 4096)));
    // at most the two that are inside at once in a turn of 10 ms
    assert!(host.now > 49 * 10_000_000, "{}", host.now);
}
