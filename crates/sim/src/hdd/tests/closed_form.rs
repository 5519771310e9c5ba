//! The drive against formulas.

use super::host::{Host, mean_ms, random};
use super::{small_drive, small_with, zone};
use crate::device::RequestKind::{Flush, Read, Trim, Write};
use crate::device::{Nanos, SimDevice, SimOutcome, SimRequest};
use crate::hdd::HddFaults;
use crate::hdd::params::{HddParams, SeekParams, ZoneEntry, ZoneParams};
use crate::testing::{ask, request};

const KIB: u64 = 1024;

fn without_caches() -> HddParams {
    let mut params = small_drive();
    params.read_cache.segments = 0;
    params.write_cache.enabled = false;
    params
}

#[test]
fn a_random_write_through_settles_in_addition() {
    let mut params = without_caches();
    params.write_cache.gap_ms = 0.0;
    let mut host = Host::new(&params);
    let times = host.run(1, host.anywhere(Write, 4 * KIB, 20_000));
    let expected = params.write_overhead_ms
        + host.disk.mean_seek_ms()
        + params.write_settle_ms
        + 5.0
        + 4096.0 / 75e6 * 1e3;
    let mean = mean_ms(&times);
    assert!((mean / expected - 1.0).abs() < 0.02, "{mean} against {expected}");
}

#[test]
fn skew_slows_a_sequential_pass_by_itself() {
    let mut host = Host::new(&small_with(|p| p.skew.head_rev = 0.1));
    let zone = host.disk.zones()[0];
    let expected = zone.media_mb_s / 1.1;
    for op in [Read, Write] {
        host.sequential_mb_s(op, 0, 32 << 20, 64 * KIB);
        let rate = host.sequential_mb_s(op, 32 << 20, 64 << 20, 64 * KIB);
        assert!((rate / expected - 1.0).abs() < 0.01, "{op:?}: {rate} against {expected}");
        host.rest(1_000_000_000);
    }
}

#[test]
fn access_times_to_one_sector_repeat_with_the_rotation() {
    let mut params = without_caches();
    params.read_miss_overhead_ms = 0.0;
    let mut host = Host::new(&params);
    host.one(Read, 0, 512);
    let phase = host.now % host.disk.revolution_ns();
    for _ in 0..50 {
        host.rest(777_777);
        host.one(Read, 0, 512);
        assert_eq!(host.now % host.disk.revolution_ns(), phase);
    }
    // and over a whole turn of arrival times every wait occurs
    let wait = |i: Nanos| {
        host.rest(i * 370_000);
        host.one(Read, 0, 512)
    };
    let waits: Vec<Nanos> = (0..100).map(wait).collect();
    let spread = waits.iter().max().unwrap() - waits.iter().min().unwrap();
    assert!(spread > 9_500_000, "{spread}");
}

#[test]
fn first_come_first_served_gains_nothing_from_a_queue() {
    fn rate(depth: usize, fcfs: bool) -> f64 {
        let mut host = Host::new(&small_drive());
        host.disk.set_faults(HddFaults { fcfs, ..HddFaults::default() });
        host.run(depth, host.anywhere(Read, 4 * KIB, 4000));
        4000.0 / (host.now as f64 / 1e9)
    }
    let single = rate(1, false);
    // on_paper.rs has the queue's gain without the fault
    assert!(rate(32, false) / single > 1.8);
    let planted = rate(32, true) / single;
    assert!((0.95..1.1).contains(&planted), "{planted}");
}

#[test]
fn a_depth_beyond_the_drives_waits_outside() {
    let mut host = Host::new(&small_drive());
    let times = host.run(128, host.anywhere(Read, 4 * KIB, 3000));
    assert_eq!(times.len(), 3000);
    // Little's law: time = depth / rate
    let rate = 3000.0 / (host.now as f64 / 1e6);
    let expected = 128.0 / rate;
    let mean = mean_ms(&times[128..]);
    assert!((mean / expected - 1.0).abs() < 0.1, "{mean} against {expected}");
}

#[test]
fn cached_write_returns_early_and_flush_waits() {
    let mut host = Host::new(&small_drive());
    let times = host.run(1, host.anywhere(Write, 4 * KIB, 16));
    assert!(mean_ms(&times) < 0.2, "{}", mean_ms(&times));
    assert_eq!(host.disk.dirty_bytes(), 16 * 4 * KIB);
    let flush = host.one(Flush, 0, 0) as f64 / 1e6;
    assert!((16.0 * 3.0..16.0 * 20.0).contains(&flush), "{flush}");
    assert_eq!(host.disk.dirty_bytes(), 0);
    assert!(host.one(Flush, 0, 0) < 500_000);
}

#[test]
fn fast_medium_waits_for_slow_interface() {
    // slower than the innermost zone, which has 50 MB/s
    let mut params = small_drive();
    params.interface_mb_s = 20.0;
    params.write_cache.enabled = false;
    let len = 2 << 20;
    let crossing_ms = len as f64 / 20e3;
    for op in [Read, Write] {
        for depth in [1, 8] {
            let mut host = Host::new(&params);
            let times = host.run(depth, host.anywhere(op, len, 100));
            let least = *times.iter().min().unwrap() as f64 / 1e6;
            let mean = host.now as f64 / 1e6 / 100.0;
            assert!(least >= crossing_ms, "{op:?}, {depth}: {least}");
            // in a queue the head is on its way meanwhile
            let most = if depth == 1 { 1.3 } else { 1.05 } * crossing_ms;
            assert!((crossing_ms..most).contains(&mean), "{op:?}, {depth}: {mean}");
        }
    }
}

#[test]
fn commands_cross_the_interface_one_after_the_other() {
    for mb_s in [60.0, 75.0, 85.0, 95.0] {
        let mut params = small_drive();
        params.interface_mb_s = mb_s;
        params.write_cache.enabled = false;
        let mut host = Host::new(&params);
        host.run(8, (0..200).map(|i| (Write, i << 20, 1 << 20)));
        let rate = 200.0 * f64::from(1 << 20) * 1e3 / host.now as f64;
        assert!(rate <= mb_s * 1.001, "{rate} of {mb_s} MB/s");
    }
}

#[test]
fn a_lying_flush_leaves_the_data_in_the_cache() {
    let mut host = Host::new(&small_drive());
    host.disk.set_faults(HddFaults { flush_lies: true, ..HddFaults::default() });
    host.run(1, host.anywhere(Write, 4 * KIB, 16));
    assert!(host.one(Flush, 0, 0) < 500_000);
    assert_eq!(host.disk.dirty_bytes(), 16 * 4 * KIB);
}

#[test]
fn drive_with_one_tag_gains_no_queue() {
    let mut params = without_caches();
    params.queue.depth = 1;
    let time = |depth: usize| {
        let mut host = Host::new(&params);
        host.run(depth, host.anywhere(Read, 4 * KIB, 1000));
        host.now as f64
    };
    let gain = time(1) / time(8);
    assert!((0.95..1.05).contains(&gain), "{gain}");
}

#[test]
fn what_is_trimmed_need_not_be_written() {
    let mut host = Host::new(&small_drive());
    host.run(1, [(Write, 0, 8 * KIB), (Write, 1 << 30, 4 * KIB)]);
    host.one(Trim, 4 * KIB, 1 << 20);
    assert_eq!(host.disk.dirty_bytes(), 8 * KIB);
    host.one(Trim, 0, 2 << 30);
    assert_eq!(host.disk.dirty_bytes(), 0);
    assert!(host.one(Flush, 0, 0) < 500_000);
}

#[test]
fn requests_after_flush_wait_for_it() {
    let mut host = Host::new(&small_drive());
    host.run(1, host.anywhere(Write, 4 * KIB, 30));
    let times = host.run(2, [(Flush, 0, 0), (Read, 0, 4 * KIB)]);
    assert!(times[1] > times[0]);
}

#[test]
fn idle_time_empties_the_write_cache() {
    let mut host = Host::new(&small_drive());
    host.one(Write, 1 << 20, 4 * KIB);
    host.rest(40_000_000);
    assert!(host.disk.dirty_bytes() > 0);
    host.rest(100_000_000);
    assert_eq!(host.disk.dirty_bytes(), 0);
}

#[test]
fn recent_reads_and_writes_come_from_buffer() {
    let mut host = Host::new(&small_drive());
    let first = host.one(Read, 1 << 30, 4 * KIB);
    let again = host.one(Read, 1 << 30, 4 * KIB);
    assert!(first > 1_000_000 && again < 200_000, "{first} {again}");
    host.one(Write, 2 << 30, 4 * KIB);
    assert!(host.one(Read, 2 << 30, 4 * KIB) < 200_000);
}

#[test]
fn reading_continues_while_host_thinks() {
    let mut host = Host::new(&small_drive());
    host.one(Read, 1 << 30, 64 * KIB);
    host.rest(20_000_000);
    let next = host.one(Read, (1 << 30) + 64 * KIB, 64 * KIB);
    assert!(next < 500_000, "{next}");
}

#[test]
fn skipping_reads_use_without_extending_read_ahead() {
    let mut host = Host::new(&small_drive());
    host.run(1, (0..4000).map(|i| (Read, i * 16 * KIB, 4 * KIB)));
    let rate = 4000.0 * 16.384 / (host.now as f64 / 1e6);
    // 32 commands find their data among the 512 KiB read ahead; the next one comes just too late and waits for
    // a turn of 10 ms
    let cycle_kb = 33.0 * 16.384;
    let expected = cycle_kb / (cycle_kb / host.disk.zones()[0].rate_mb_s + 10.0);
    assert!((rate / expected - 1.0).abs() < 0.02, "{rate} against {expected}");
}

#[test]
fn queue_of_adjoining_reads_starves_none() {
    let mut host = Host::new(&small_drive());
    let (chunk, file) = (1024 * KIB, 64);
    // Again and again over the same file: at its end the head has to go back.
    let times = host.run(8, (0..400).map(|i| (Read, i % file * chunk, chunk)));
    let longest = times.iter().max().unwrap();
    // Eight of them, each 10 ms and a crossing, and one seek.
    assert!(*longest < 150_000_000, "{longest} ns");
}

#[test]
fn a_force_unit_access_write_reaches_the_medium() {
    let mut host = Host::new(&small_drive());
    let write = request(1, Write, 1 << 30, 4 * KIB);
    host.disk.submit(0, SimRequest { fua: true, ..write });
    let mut done = Vec::new();
    host.disk.advance(1_000_000, &mut done);
    assert_eq!(done, []);
    host.disk.advance(100_000_000, &mut done);
    assert_eq!(done.len(), 1);
    assert_eq!(host.disk.dirty_bytes(), 0);
}

#[test]
fn native_4k_drive_needs_no_read_modify_write() {
    let mut params = small_drive();
    (params.logical_sector_bytes, params.physical_sector_bytes) = (4096, 4096);
    params.capacity_bytes = params.capacity_bytes / 4096 * 4096;
    let mut host = Host::new(&params);
    assert_eq!(host.disk.sector_bytes(), 4096);
    host.one(Write, 4096, 4096);
    let invalid = ask(&mut host.disk, host.now, request(9, Write, 512, 4096));
    assert_eq!((invalid.at, invalid.outcome), (host.now, SimOutcome::Invalid));
}

#[test]
fn the_same_seed_gives_the_same_times() {
    let params = small_with(|p| p.write_cache.gap_jitter_ms = 0.3);
    let run = |seed: u64| {
        let mut host = Host::with_seed(&params, seed);
        host.run(4, random(Write, 0, 1 << 30, 4 * KIB, 2000));
        host.now
    };
    assert_eq!(run(1), run(1));
    assert_ne!(run(1), run(2));
}

#[test]
fn a_measured_drive_can_be_entered_as_tables() {
    let mut params = small_drive();
    params.zones = ZoneParams::Table {
        list: vec![
            ZoneEntry { head_skew_rev: Some(0.3), ..zone(1200, 1000) },
            ZoneEntry { cylinder_skew_rev: Some(0.05), ..zone(1200, 700) },
        ],
    };
    params.seek =
        SeekParams::Table { points_cylinders_ms: vec![(1, 0.8), (100, 2.0), (2399, 14.0)] };
    let host = Host::new(&params);
    let zones = host.disk.zones();
    assert_eq!(zones[0].len_bytes, 1200 * 4 * 1000 * 512);
    assert!((zones[0].media_mb_s - 51.2).abs() < 0.01);
    // 16 cylinders on 4 heads: 60 steps of 0.1 and 3 switches of 0.3, and a step to the next band
    let expected = 51.2 * 64.0 / (64.0 + 61.0 * 0.1 + 3.0 * 0.3);
    assert!((zones[0].rate_mb_s / expected - 1.0).abs() < 1e-3, "{}", zones[0].rate_mb_s);
}
