//! The time of a flush: whole sectors, partial ones, and the pause between.

use super::host::{Host, random};
use super::{bands, mechanism_of, small_drive, small_with};
use crate::device::Nanos;
use crate::device::RequestKind::{Flush, Read, Write};
use crate::hdd::params::{HddParams, RmwParams};
use crate::hdd::{HddFaults, SlowRegion};

const KIB: u64 = 1024;
const TURN_MS: f64 = 10.0;

fn with_large_sectors(batch_sectors: u32) -> HddParams {
    let mut params = small_drive();
    params.physical_sector_bytes = 4096;
    params.read_modify_write = Some(RmwParams { batch_sectors, gap_ms: 0.4 });
    params
}

/// The shortest time of a flush of these writes, over all angles at which it can begin, ms.
fn shortest_flush_ms(params: &HddParams, writes: &[(u64, u64)]) -> f64 {
    let flush = |phase: Nanos| {
        let mut host = Host::new(params);
        host.rest(phase * 100_000);
        host.run(1, writes.iter().map(|&(offset, len)| (Write, offset, len)));
        host.one(Flush, 0, 0)
    };
    (0..100).map(flush).min().unwrap() as f64 / 1e6
}

#[test]
fn batch_turns_once_if_ends_touch_else_twice() {
    let params = with_large_sectors(16);
    // 64 KiB pass in 0.66 ms, so that after the pause of 0.4 ms each next stretch is just reached
    let span_ms = 3.0 * 65_536.0 / 100e3;
    for (offset, len, turns) in
        [(0, 4096, 0.0), (0, 512, 1.0), (512, 4096, 1.0), (0, 8192 + 512, 1.0), (512, 8192, 2.0)]
    {
        let writes: Vec<_> = (0..4).map(|i| (i * 64 * KIB + offset, len)).collect();
        let seen = shortest_flush_ms(&params, &writes) - turns * TURN_MS - span_ms;
        assert!((-0.2..0.5).contains(&seen), "{len} at {offset}: {seen} beside {turns} turns");
    }
}

#[test]
fn one_sector_at_a_time_turns_for_each_step() {
    let params = with_large_sectors(1);
    // the first read, its write, the sectors between, the last read and its write
    for (len, turns) in [(4096, 3.0), (8192, 4.0)] {
        let seen = shortest_flush_ms(&params, &[(512, len)]) - turns * TURN_MS;
        assert!((0.0..1.0).contains(&seen), "{len}: {seen} beside {turns} turns");
    }
}

#[test]
fn only_partial_sectors_count_for_a_batch() {
    // two partial sectors and a whole one each: eight stretches are one batch of 16
    let writes: Vec<_> = (0..8).map(|i| (i * 64 * KIB + 512, 8192)).collect();
    let span_ms = 7.0 * 65_536.0 / 100e3;
    let seen = shortest_flush_ms(&with_large_sectors(16), &writes) - 2.0 * TURN_MS - span_ms;
    assert!((0.0..1.0).contains(&seen), "{seen}");
    let seen = shortest_flush_ms(&with_large_sectors(14), &writes);
    assert!(seen > 4.0 * TURN_MS, "{seen}");
}

#[test]
fn the_arm_moves_during_the_pause() {
    // a thousand tracks apart: longer on the way than any of these pauses
    let writes = [(0, 4096), (1000 << 20, 4096)];
    let flush =
        |gap_ms: f64| shortest_flush_ms(&small_with(|p| p.write_cache.gap_ms = gap_ms), &writes);
    assert_eq!(flush(0.0), flush(1.5));
    assert!(flush(30.0) > flush(0.0));
}

#[test]
fn destaging_settles_after_a_movement() {
    fn flush(write_settle_ms: f64) -> f64 {
        let params = small_with(|p| p.write_settle_ms = write_settle_ms);
        shortest_flush_ms(&params, &[(1000 << 20, 4096)])
    }
    let further = flush(3.0) - flush(0.5);
    assert!((2.4..2.6).contains(&further), "{further}");
}

/// Without the cache, the second of two writes a thousand tracks apart waits for the way there (with what it settles)
/// or for the pause, whichever is longer, and then takes `turns`.
fn the_longer_of_way_and_pause(mut params: HddParams, len: u64, settle_ms: f64, turns: f64) {
    let (overhead_ms, block_ms) = (0.1, 4096.0 / 50e3);
    params.write_cache.enabled = false;
    let parts = mechanism_of(&params);
    let far = (1000 << 20) / u64::from(params.physical_sector_bytes);
    let far = f64::from(parts.layout().locate(far).cylinder);
    // the curve of the small drive
    let move_ms = 1.0 + 15.0 * (far / f64::from(parts.layout().stroke())).sqrt() + settle_ms;
    for gap_ms in [0.0, 1.5, 9.0, 30.0] {
        params.write_cache.gap_ms = gap_ms;
        // a whole track and more, at all angles: at one of them the sector comes just when the head can use it
        let second = |block: u64| {
            let writes = [(Write, 0, 4096), (Write, (1000 << 20) + block * 4096, len)];
            Host::new(&params).run(1, writes)[1]
        };
        let seen = (0..250).map(second).min().unwrap() as f64 / 1e6;
        let least = (overhead_ms + move_ms).max(gap_ms) + turns * TURN_MS;
        assert!((least..least + 2.0 * block_ms).contains(&seen), "gap {gap_ms}: {seen}, {least}");
    }
}

#[test]
fn arm_moves_during_pause_of_write_through() {
    the_longer_of_way_and_pause(small_drive(), 4096, 0.5, 0.0);
}

#[test]
fn partial_write_through_read_waits_for_pause() {
    the_longer_of_way_and_pause(with_large_sectors(1), 512, 0.0, 1.0);
}

#[test]
fn old_data_are_destaged_before_near() {
    // far away, while the cache stays above its mark with writes to the first tracks
    let far = 3000 << 20;
    let waits = |age_limit_ms: f64| {
        let mut host = Host::new(&small_with(|p| p.write_cache.age_limit_ms = age_limit_ms));
        host.one(Write, far, 4096);
        for near in random(Write, 0, 64 << 20, 4096, 3000) {
            host.run(1, [near]);
            if host.disk.write_cache.ascending_from(far).next() != Some((far, far + 4096)) {
                return host.now as f64 / 1e6;
            }
        }
        assert!(host.now > 4_000_000_000);
        f64::INFINITY
    };
    for limit_ms in [1000.0, 2000.0] {
        let seen = waits(limit_ms);
        assert!((limit_ms..limit_ms + 20.0 * TURN_MS).contains(&seen), "{limit_ms}: {seen}");
    }
    assert!(waits(30_000.0).is_infinite(), "else it would have gone without the limit");
}

#[test]
fn old_data_are_destaged_although_front_grows() {
    let far = 3000 << 20;
    let mut host = Host::new(&small_with(|p| p.write_cache.age_limit_ms = 1000.0));
    host.one(Write, far, 4096);
    for (n, near) in (1..).zip(random(Write, 0, 64 << 20, 4096, 3000)) {
        // each in front of the one before, so that the stretch begins elsewhere every time
        host.run(1, [near, (Write, far - n * 4096, 4096)]);
        if !host.disk.write_cache.holds(far, far + 4096) {
            break;
        }
    }
    let seen = host.now as f64 / 1e6;
    assert!((1000.0..1000.0 + 20.0 * TURN_MS).contains(&seen), "{seen}");
}

#[test]
fn nearest_of_old_data_goes_first() {
    // each stretch before the last one on the same track, and between them more than the pause
    let mut params = small_drive();
    (params.write_cache.age_limit_ms, params.write_cache.idle_ms) = (1.0, 1000.0);
    let mut host = Host::new(&params);
    host.run(1, (0..8).map(|i| (Write, (8 - i) * 64 * KIB, 4096)));
    host.rest(2_000_000);
    let flush = host.one(Flush, 0, 0) as f64 / 1e6;
    assert!(flush < 3.0 * TURN_MS, "{flush}: a turn for each in order of age");
}

/// How long a read far away waits where the cache has just reached its mark of 48 stretches, `step` bytes apart.
fn read_under_pressure_ms(low_water_pct: Option<f64>, step: u64) -> f64 {
    let mut host = Host::new(&small_with(|p| p.write_cache.low_water_pct = low_water_pct));
    host.run(1, (0..48).map(|i| (Write, i * step, 4096)));
    host.one(Read, 3000 << 20, 4096) as f64 / 1e6
}

#[test]
fn no_command_interrupts_destaging_to_low_water_mark() {
    let (far_apart, two_moves_ms) = (16 << 20, 2.0 * (16.0 + TURN_MS));
    let takes_turns = read_under_pressure_ms(None, far_apart);
    assert!(takes_turns < two_moves_ms, "{takes_turns}");
    // sixteen stretches, each of which takes the arm a movement
    let waits = read_under_pressure_ms(Some(50.0), far_apart);
    assert!(waits > 16.0 * 1.5 + two_moves_ms / 2.0, "{waits}");
    let shorter = read_under_pressure_ms(Some(70.0), far_apart);
    assert!((takes_turns..waits).contains(&shorter), "{shorter}");
}

#[test]
fn continuation_of_last_write_precedes_commands() {
    let (run, piece) = (read_ms(1), read_ms(12));
    assert!(run > 6.0 * TURN_MS, "{run}");
    assert!(piece < 5.0 * TURN_MS, "{piece}");
}

/// 6 MiB are the mark of the bytes, and take six turns and more
fn read_ms(pieces: u64) -> f64 {
    let mut host = Host::new(&small_drive());
    let piece = (6 << 20) / pieces;
    host.run(1, (0..pieces).map(|i| (Write, i * 200 * piece, piece)));
    host.one(Read, 3000 << 20, 4096) as f64 / 1e6
}

#[test]
fn write_stream_delays_read_by_one_cache() {
    let mut host = Host::new(&small_drive());
    let stream = (0..200).map(|i| (Write, i << 20, 1 << 20));
    let read = std::iter::once((Read, 3000 << 20, 4096));
    let times = host.run(4, stream.clone().take(40).chain(read).chain(stream.skip(40)));
    // 8 MiB at 80 MB/s are 0.1 s, all 160 after the read two seconds
    let longest_ms = *times.iter().max().unwrap() as f64 / 1e6;
    assert!(longest_ms < 200.0, "{longest_ms}");
}

#[test]
fn destaging_meets_bad_spots_too() {
    fn flush(faults: HddFaults, partial: bool) -> u64 {
        let mut params = with_large_sectors(8);
        params.read_cache.segments = 0;
        let mut host = Host::new(&params);
        host.disk.set_faults(faults);
        host.run(1, [(Write, 1 << 30, 4096 - u64::from(partial) * 512)]);
        host.one(Flush, 0, 0)
    }
    let slow = SlowRegion { offset: 1 << 30, len: 1 << 20, extra_revolutions: 3 };
    for partial in [false, true] {
        let faults = HddFaults { slow_region: Some(slow), ..HddFaults::default() };
        let further = flush(faults, partial) - flush(HddFaults::default(), partial);
        assert_eq!(further, 30_000_000, "partial: {partial}");
    }
}

/// A shingled drive without a write cache, and a pause of four turns.
fn shingled() -> HddParams {
    let mut params = small_drive();
    params.write_cache.enabled = false;
    params.write_cache.gap_ms = 4.0 * TURN_MS;
    params.smr = Some(bands(1000.0));
    params
}

#[test]
fn the_arm_moves_during_the_pause_before_an_append() {
    let mut host = Host::new(&shingled());
    host.one(Write, 1000 << 20, 4096);
    let ended = host.now;
    host.one(Read, 3000 << 20, 4096);
    host.one(Write, 2000 << 20, 4096);
    // whole turns later the head is just past the first append, where the second one goes
    let seen = (host.now - ended) as f64 / 1e6 - 4.0 * TURN_MS;
    assert!((0.0..0.1).contains(&seen), "{seen}");
}

#[test]
fn stream_into_band_pauses_unless_it_continues() {
    let mut host = Host::new(&shingled());
    host.one(Write, 1000 << 20, 4096);
    let first = host.one(Write, 2000 << 20, 1 << 20) as f64 / 1e6;
    let media_ms = f64::from(1 << 20) / 100e3;
    assert!((4.0 * TURN_MS + media_ms..8.0 * TURN_MS).contains(&first), "{first}");
    let next = host.one(Write, 2001 << 20, 1 << 20) as f64 / 1e6;
    assert!(next < 4.0 * TURN_MS, "{next}");
}

#[test]
fn band_cleaning_includes_the_write_pause() {
    let mut host = Host::new(&shingled());
    host.one(Write, 1000 << 20, 4096);
    // the band is read and written back: more than a second and a tenth
    let began = host.now;
    while !host.disk.is_idle() {
        host.rest(100_000);
    }
    let cleaned = host.disk.mechanism_free;
    assert!(cleaned > began + 1_000_000_000, "no cleaning");
    host.one(Write, 2000 << 20, 4096);
    let since = (host.now - cleaned) as f64 / 1e6;
    assert!((4.0 * TURN_MS..5.5 * TURN_MS).contains(&since), "{since}");
}
