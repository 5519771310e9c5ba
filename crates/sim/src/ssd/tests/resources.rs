//! Port, dies, retries and map: the cost of each by itself.

use crate::device::RequestKind::{Read, Write};
use crate::device::{Nanos, SimDevice, SimRequest};
use crate::ssd::Ssd;
use crate::ssd::params::PortParams;
use crate::ssd::testing::{
    closed_loop, full, one, port, random_reads, request, slc, small, small_with, with_port,
};
use crate::testing::run_all;

const MS: Nanos = 1_000_000;
const SECOND: Nanos = 1_000 * MS;
const MIB: u64 = 1 << 20;
/// One row of cells over all dies: two planes of 16 KiB on 8 dies, three levels.
const ROW: u64 = 8 * 3 * 32 * 1024;

/// Command, page read of the lowest level, one unit over the channel at 800 MB/s, 4096 bytes at 2000 MB/s and the
/// port's command.
const READ_NS: Nanos = 10_000 + 50_000 + 5120 + 2048 + 1000;

fn together(ssd: &mut Ssd, now: Nanos, requests: [SimRequest; 2]) -> Nanos {
    for (id, request) in (0..).zip(requests) {
        ssd.submit(now, SimRequest { id, ..request });
    }
    run_all(ssd).iter().map(|answer| answer.at).max().unwrap()
}

#[test]
fn read_suspends_a_program_or_waits() {
    for (suspend_us, further) in [(Some(20.0), 20_000), (Some(150.0), 150_000), (None, 0)] {
        let mut ssd = full(small_with(|p| p.flash.suspend_us = suspend_us));
        // programs of 1.5 ms on all dies, after the erase of a new superblock (3 ms)
        let written = one(&mut ssd, 0, Write, 512 * MIB, ROW);
        let begun = 4 * MS;
        assert!(written < begun);
        let took = one(&mut ssd, begun, Read, 0, 4096) - begun;
        match suspend_us {
            Some(_) => assert_eq!(took, READ_NS + further),
            // the data were there by then, so the programs end 4.5 ms and a few transfers after the start
            None => assert!((400_000..1_500_000).contains(&took), "{took}"),
        }
    }
}

#[test]
fn half_duplex_port_serializes_reads_and_writes() {
    fn end(full_duplex: bool) -> f64 {
        let port = PortParams { full_duplex, ..port(100.0, 0.0) };
        // unwritten units are read without the flash
        let mut ssd = Ssd::new(small_with(|p| p.port = Some(port)), 1).unwrap();
        let requests = [request(Read, 512 * MIB, MIB), request(Write, 0, MIB)];
        together(&mut ssd, 0, requests) as f64 / (MIB as f64 * 10.0)
    }
    let (both, one_by_one) = (end(true), end(false));
    assert!((1.0..1.05).contains(&both), "{both}");
    assert!((2.0..2.05).contains(&one_by_one), "{one_by_one}");
}

#[test]
fn port_has_rate_per_direction_and_command_cost() {
    let port = PortParams { read_mb_s: 400.0, ..port(100.0, 30.0) };
    let params = small_with(|p| p.port = Some(port));
    for len in [4096, 256 * 1024] {
        let mut ssd = Ssd::new(params.clone(), 1).unwrap();
        let read = one(&mut ssd, 0, Read, 0, len);
        assert_eq!(read, 10_000 + 30_000 + len * 10 / 4, "{len} read");
        let start = 10 * MS;
        let written = one(&mut ssd, start, Write, 0, len) - start;
        assert_eq!(written, 8_000 + 30_000 + len * 10, "{len} written");
    }
}

#[test]
fn multi_page_read_is_one_port_command() {
    fn read(command_us: f64) -> u64 {
        // slower than the flash, so that the pages wait for it
        let params = with_port(small(), 200.0, command_us);
        one(&mut full(params), 0, Read, 0, 8 * 32 * 1024)
    }
    assert_eq!(read(30.0) - read(0.0), 30_000);
}

#[test]
fn retries_take_their_time_as_often_as_they_come() {
    for (share, retry_us) in [(0.1, 300.0), (0.5, 40.0)] {
        let mut params = small();
        (params.flash.retry_share, params.flash.retry_us) = (share, retry_us);
        params.flash.read_us = vec![50.0; 3];
        let count = 20_000;
        let end = random_reads(&mut full(params), count, 1);
        let further_us = (end / count - READ_NS) as f64 / 1e3;
        assert!((further_us / (share * retry_us) - 1.0).abs() < 0.06, "{share}: {further_us} µs");
    }
}

#[test]
fn capacitors_save_what_is_forced_as_well() {
    let mut ssd = full(small_with(|p| p.buffer.power_loss_protection = true));
    ssd.submit(0, SimRequest { fua: true, ..request(Write, 0, 4096) });
    assert_eq!(ssd.next_completion(), Some(8_000 + 2048 + 1000));
}

#[test]
fn slc_cache_reads_take_slc_times() {
    let mut ssd = Ssd::new(small_with(|p| p.slc = Some(slc(0.1, 0.0, 10_000.0))), 1).unwrap();
    let written = one(&mut ssd, 0, Write, 0, MIB);
    let start = written + SECOND;
    assert_eq!(one(&mut ssd, start, Read, 0, 4096) - start, READ_NS - 20_000);
}

#[test]
fn folding_keeps_the_dies_busy() {
    let mut params = small();
    params.flash.suspend_us = None;
    params.slc = Some(slc(0.2, 0.0, 100.0));
    let mut ssd = Ssd::new(params, 1).unwrap();
    let now = closed_loop(&mut ssd, 0, Write, 1024, 4, |k| (k * 131_072, 131_072));
    // in the midst of a fold that takes most of a second
    let start = now + 400 * MS;
    let took = one(&mut ssd, start, Read, 0, 4096) - start;
    assert!(ssd.status().moved_bytes > 0 && took > 2 * READ_NS, "{took}");
}

#[test]
fn several_sequential_readers_are_followed() {
    let mut params = small();
    params.controller.read_ahead_kib = 512;
    params.controller.command_interval_us = 0.0;
    let per_request = |readers: u64| {
        let mut ssd = full(params.clone());
        let end = closed_loop(&mut ssd, 0, Read, 400, 1, |k| {
            ((k % readers) * 200 * MIB + k / readers * 16_384, 16_384)
        });
        end / 400
    };
    // command and port: nothing waits for the flash
    let hit = 10_000 + 8192 + 1000;
    for readers in [1, 2, 4] {
        let seen = per_request(readers);
        assert!((hit..hit + 4_000).contains(&seen), "{readers}: {seen} ns, {hit} without flash");
    }
}

#[test]
fn sequential_reader_finds_a_full_window_ahead() {
    for read_ahead_kib in [256, 1024] {
        let mut params = small();
        params.controller.read_ahead_kib = read_ahead_kib;
        // slow enough that nothing is fetched in passing
        params.flash.channel_mb_s = 20.0;
        let mut ssd = full(params);
        let mut now = 0;
        for k in 0..4 {
            now = one(&mut ssd, now, Read, k * 16_384, 16_384) + 200 * MS;
        }
        // all at once: fetched units are there, the rest needs the flash
        let ahead = 4 * 16_384 + u64::from(read_ahead_kib) * 1024;
        let take = |ssd: &Ssd, at: u64| one(&mut ssd.clone(), now, Read, at, 4096) - now;
        assert_eq!(take(&ssd, 4 * 16_384), 10_000 + 2048 + 1000, "the next unit");
        let mut reader = ssd.clone();
        let all = one(&mut reader, now, Read, 4 * 16_384, ahead - 4 * 16_384) - now;
        let port = (ahead - 4 * 16_384) / 2;
        assert!((port + 11_000..port + 12_000).contains(&all), "{read_ahead_kib}: {all}, {port}");
        let beyond = one(&mut ssd, now, Read, 4 * 16_384, ahead - 4 * 16_384 + 65_536) - now;
        assert!(beyond > all + MS, "{beyond} after {all}");
    }
}

#[test]
fn channels_carry_side_by_side() {
    for channels in [1, 2, 4] {
        let share = rate_with_channels(channels) / (100.0 * f64::from(channels));
        assert!((0.9..=1.0).contains(&share), "{channels}: {share} of what they can carry");
    }
}

fn rate_with_channels(channels: u32) -> f64 {
    let mut params = small();
    params.flash.channels = channels;
    params.flash.dies_per_channel = 8 / channels;
    params.flash.channel_mb_s = 100.0;
    let mut ssd = full(params);
    let end = closed_loop(&mut ssd, 0, Read, 512, 4, |k| (k * MIB, MIB));
    (512 * MIB) as f64 * 1e3 / end as f64
}
