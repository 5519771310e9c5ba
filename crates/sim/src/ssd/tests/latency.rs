//! Reads, writes and flushes one at a time and many at once.

use crate::device::RequestKind::{Flush, Read, Write};
use crate::device::{Nanos, SimDevice, SimRequest};
use crate::ssd::Ssd;
use crate::ssd::params::SsdParams;
use crate::ssd::testing::{
    Offsets, closed_loop, full, one, random_reads, request, small, small_with, with_port,
};
use crate::testing::{Served, serve};

const MS: Nanos = 1_000_000;

/// Command, page read of the level, one unit over the channel at 800 MB/s, 4096 bytes at 2000 MB/s and
/// the port's command.
fn read_ns(page_us: u64) -> Nanos {
    10_000 + page_us * 1000 + 5120 + 2048 + 1000
}

#[test]
fn one_read_costs_command_page_read_and_transfers() {
    let mut ssd = full(small());
    let row_level = 8 * 32 * 1024;
    for (level, page_us) in [(0, 50), (1, 60), (2, 70)] {
        let start = (level + 1) * MS;
        let done = one(&mut ssd, start, Read, level * row_level, 4096);
        assert_eq!(done - start, read_ns(page_us));
    }
}

#[test]
fn without_a_port_data_take_no_time() {
    let mut ssd = full(small_with(|p| p.port = None));
    assert_eq!(one(&mut ssd, MS, Read, 0, 4096) - MS, 10_000 + 50_000 + 5120);
    assert_eq!(one(&mut ssd, 2 * MS, Write, 0, 4096) - 2 * MS, 8000);
}

#[test]
fn a_map_miss_costs_one_more_flash_read() {
    // 16 of 256 map pages
    let mut ssd = full(small_with(|p| p.map.cache_mib = 0.0625));
    let (first, again) = (MS, 2 * MS);
    assert_eq!(one(&mut ssd, first, Read, 0, 4096) - first, read_ns(50) + 30_000 + 5120);
    assert_eq!(one(&mut ssd, again, Read, 0, 4096) - again, read_ns(50));
}

#[test]
fn an_unwritten_address_costs_no_flash_read() {
    let mut ssd = Ssd::new(small(), 1).unwrap();
    assert_eq!(one(&mut ssd, 0, Read, 1 << 20, 4096), 10_000 + 2048 + 1000);
}

#[test]
fn data_still_in_the_buffer_cost_no_flash_read() {
    let mut ssd = full(small());
    let written = one(&mut ssd, 0, Write, 4096, 4096);
    assert_eq!(written, 8000 + 2048 + 1000);
    let read = one(&mut ssd, written, Read, 4096, 4096) - written;
    assert_eq!(read, 10_000 + 2048 + 1000);
}

fn random_read_iops(params: SsdParams, depth: u64) -> f64 {
    let count = 20_000;
    count as f64 * 1e9 / random_reads(&mut full(params), count, depth) as f64
}

#[test]
fn a_deep_queue_is_limited_by_the_dies() {
    let mut params = with_port(small(), 8000.0, 0.0);
    params.controller.command_interval_us = 0.1;
    params.flash.channel_mb_s = 8000.0;
    params.flash.read_us = vec![60.0; 3];
    for (dies_per_channel, low, high) in [(1, 0.80, 1.0), (4, 0.62, 0.95)] {
        params.flash.dies_per_channel = dies_per_channel;
        params.flash.pages_per_block = 24 / dies_per_channel;
        let dies = f64::from(4 * dies_per_channel);
        let share = random_read_iops(params.clone(), 32) / (dies / 60e-6);
        assert!((low..high).contains(&share), "{dies} dies: {share} of what they can do");
    }
    let alone = random_read_iops(params.clone(), 1);
    assert!((alone - 1e9 / (10_000.0 + 60_000.0 + 512.0 + 512.0)).abs() < 0.001 * alone);
}

#[test]
fn the_firmware_limits_the_command_rate() {
    let iops = random_read_iops(small_with(|p| p.controller.command_interval_us = 20.0), 32);
    assert!((iops - 50_000.0).abs() < 500.0, "{iops}");
}

#[test]
fn the_internal_queue_has_its_depth() {
    let params = small_with(|p| p.controller.queue_depth = 1);
    let serial = random_read_iops(params.clone(), 1);
    assert_eq!(serial, random_read_iops(params, 8));
}

#[test]
fn flush_waits_for_programs_without_capacitors() {
    let mut ssd = full(small());
    let written = one(&mut ssd, 0, Write, 0, 4096);
    let flushed = one(&mut ssd, written, Flush, 0, 0) - written;
    // one stripe over the channel, saved with one bit per cell, then the journal
    assert_eq!(flushed, 8000 + 40_960 + 300_000 + 1_000_000);
    let clean = one(&mut ssd, 10 * MS, Flush, 0, 0) - 10 * MS;
    assert_eq!(clean, 8000, "nothing to save");

    let mut ssd = full(small_with(|p| p.buffer.power_loss_protection = true));
    let written = one(&mut ssd, 0, Write, 0, 4096);
    assert_eq!(one(&mut ssd, written, Flush, 0, 0) - written, 8000);
}

#[test]
fn a_flush_waits_for_a_full_buffer() {
    let mut ssd = full(small());
    // 8 MiB: 85 programs of 96 KiB on 8 dies, after an erase; 4.6 ms have passed before the flush
    let written = closed_loop(&mut ssd, 0, Write, 64, 1, |k| (k * 131_072, 131_072));
    let flushed = one(&mut ssd, written, Flush, 0, 0) - written;
    assert!((12 * MS..20 * MS).contains(&flushed), "{flushed}");
}

#[test]
fn forced_unit_access_is_as_safe_as_a_flush() {
    let mut ssd = full(small());
    let fua = crate::device::SimRequest { fua: true, ..request(Write, 0, 4096) };
    ssd.submit(0, fua);
    assert_eq!(ssd.next_completion(), Some(8000 + 3048 + 40_960 + 300_000 + 1_000_000));
}

#[test]
fn a_write_across_units_reads_both_first() {
    let mut ssd = full(small());
    let aligned = one(&mut ssd, MS, Write, 1 << 20, 4096) - MS;
    // both units lie on one die: two page reads, one after the other, and the last transfer
    let start = 20 * MS;
    let across = one(&mut ssd, start, Write, 512, 4096) - start;
    assert_eq!(aligned, 11_048);
    assert_eq!(across, 8000 + 50_000 + 50_000 + 5120);
    assert_eq!(ssd.status().host_written_bytes, 3 * 4096);

    let mut ssd = full(small_with(|p| p.buffer.merge_before_ack = false));
    assert_eq!(one(&mut ssd, 0, Write, 512, 4096), 11_048);
}

#[test]
fn misaligned_writes_halve_the_sustained_rate() {
    fn rate(shift: u64) -> f64 {
        let mut params = small();
        params.spare_share = 1.0;
        params.buffer.merge_before_ack = false;
        let mut ssd = Ssd::new(params, 1).unwrap();
        let mut offsets = Offsets(3);
        let span = (1 << 29) / 4096 - 2;
        let count = 30_000;
        let end = closed_loop(&mut ssd, 0, Write, count, 32, |_| {
            (offsets.below(span) * 4096 + shift, 4096)
        });
        count as f64 / end as f64
    }
    let ratio = rate(512) / rate(0);
    assert!((0.4..0.6).contains(&ratio), "{ratio}");
}

#[test]
fn the_same_seed_gives_the_same_times() {
    fn run(seed: u64) -> u64 {
        let mut params = small();
        params.flash.retry_share = 0.05;
        params.flash.retry_us = 200.0;
        let mut ssd = Ssd::new(params, seed).unwrap();
        ssd.precondition(1.0);
        let mut offsets = Offsets(7);
        closed_loop(&mut ssd, 0, Read, 2000, 4, |_| (offsets.below(200_000) * 4096, 4096))
    }
    assert_eq!(run(1), run(1));
    assert_ne!(run(1), run(2));
}

#[test]
fn large_read_crosses_port_unit_by_unit() {
    // four stripes of 32 KiB on four channels of 800 MB/s, the port at 2000 MB/s
    let (unit_port, stripe_port, stripe_channel) = (2048, 16_384, 40_960);
    let mut ssd = full(small());
    let time = one(&mut ssd, MS, Read, 0, 131_072) - MS;
    let first_unit = 10_000 + 50_000 + 5120;
    assert_eq!(time, first_unit + 1000 + 4 * stripe_port, "the port is the slower side");
    // one stripe: its last unit follows the channel
    let time = one(&mut ssd, 2 * MS, Read, 0, 32_768) - 2 * MS;
    assert_eq!(time, 10_000 + 50_000 + stripe_channel + unit_port);
}

#[test]
fn queued_reads_cross_slow_port_in_die_order() {
    // 20 µs a request over the port, dies that take 50 to 70
    let mut ssd = full(with_port(small(), 4096.0 / 20.0, 0.0));
    let (mut offsets, count) = (Offsets(7), 20_000);
    let requests = (0..count).map(|id| {
        let offset = offsets.below((1 << 30) / 4096) * 4096;
        SimRequest { id, ..request(Read, offset, 4096) }
    });
    let mut times: Vec<Nanos> = serve(&mut ssd, 0, 32, requests).iter().map(Served::took).collect();
    times.sort_unstable();
    let at = |share: f64| times[(share * (count - 1) as f64) as usize] as f64 / 1000.0;
    // the port is always busy: 32 times 20 µs on average
    let mean = times.iter().sum::<Nanos>() as f64 / count as f64 / 1000.0;
    assert!((mean - 640.0).abs() < 7.0, "{mean}");
    assert!(at(0.01) < 620.0 && at(0.99) > 670.0, "{} to {}", at(0.01), at(0.99));
    assert!(at(0.0) > 80.0, "{}", at(0.0));
}
