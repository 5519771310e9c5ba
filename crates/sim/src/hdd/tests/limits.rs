//! When and how much is destaged, and who goes first: each limit of docs/models.md by itself.

use super::host::{Host, HostCommand, random};
use super::interface::serve_new;
use super::{bands, mechanism_of, small_drive, small_with};
use crate::device::RequestKind::{Flush, Read, Write};
use crate::device::{Nanos, SimDevice, SimRequest};
use crate::hdd::HardDisk;
use crate::hdd::params::{HddParams, RmwParams};
use crate::hdd::schedule::DiskEvent;
use crate::testing::request;

const KIB: u64 = 1024;
const MIB: u64 = 1 << 20;

/// The small drive with nothing that makes it destage but its marks.
fn patient() -> HddParams {
    let mut params = small_drive();
    params.write_cache.idle_ms = 60_000.0;
    params.write_cache.age_limit_ms = 600_000.0;
    params
}

#[test]
fn destaging_begins_so_long_after_the_last_command() {
    for idle_ms in [20.0, 50.0, 170.0] {
        let mut host = Host::new(&small_with(|p| p.write_cache.idle_ms = idle_ms));
        let sent = 3_000_000;
        host.rest(sent);
        host.one(Write, MIB, 4 * KIB);
        let begins = sent + (idle_ms * 1e6) as Nanos;
        host.rest(begins - 1000 - host.now);
        assert!(!host.disk.write_cache.is_writing(), "{idle_ms} ms are not over");
        host.rest(2000);
        assert!(host.disk.write_cache.is_writing(), "{idle_ms} ms are over");
    }
}

#[test]
fn destaging_begins_at_the_mark_of_either_limit() {
    // 75 % of 8 MiB, and of 64 stretches
    for (len, stride, before) in [(64 * KIB, 64 * KIB, 95), (4 * KIB, 4 * MIB, 47)] {
        let mut host = Host::new(&patient());
        host.run(1, (0..before).map(|i| (Write, i * stride, len)));
        host.rest(1_000_000);
        assert!(!host.disk.write_cache.is_writing(), "below the mark: {before} of {len}");
        host.one(Write, before * stride, len);
        host.rest(1_000_000);
        assert!(host.disk.write_cache.is_writing(), "at the mark");
    }
}

#[test]
fn starved_command_precedes_nearer_ones() {
    for starvation_ms in [200.0, 600.0] {
        let mut params = small_drive();
        params.read_cache.segments = 0;
        params.queue.starvation_ms = starvation_ms;
        // one far away, known by its length, among many that are near
        let mut list = random(Read, 0, 8 * MIB, 4 * KIB, 1500);
        list.insert(3, (Read, 3800 * MIB, 8 * KIB));
        let served = serve_new(&params, 8, &list);
        let far = served.iter().find(|one| one.len == 8 * KIB).unwrap();
        let waited = far.took() as f64 / 1e6;
        // then it has at most one access before it, and its own
        assert!((starvation_ms..starvation_ms + 60.0).contains(&waited), "{waited}");
    }
}

/// The byte ranges that a flush writes first.
fn first_written(host: &mut Host) -> &[(u64, u64)] {
    host.disk.submit(host.now, request(99, Flush, 0, 0));
    while host.disk.write_cache.under_way().is_empty() {
        host.rest(1000);
    }
    host.disk.write_cache.under_way()
}

/// Time to flush random writes when the drive chooses the next among `window` stretches.
fn flush_ms(window: u32) -> f64 {
    let mut params = patient();
    params.write_cache.window = window;
    let mut host = Host::new(&params);
    host.run(1, random(Write, 0, 1 << 30, 4 * KIB, 40));
    host.one(Flush, 0, 0) as f64 / 1e6
}

#[test]
fn the_window_is_how_many_stretches_destaging_chooses_among() {
    let (one, few, all) = (flush_ms(1), flush_ms(4), flush_ms(64));
    assert!(few < 0.9 * one && all < 0.9 * one, "{one}, {few}, {all}");
}

#[test]
fn destaging_continues_from_head_then_wraps() {
    let mut params = patient();
    params.write_cache.window = 1;
    let mut host = Host::new(&params);
    let (low, high) = (500 * MIB, 1500 * MIB);
    host.run(1, [(Write, low, 4 * KIB), (Write, high, 4 * KIB)]);
    host.one(Read, 1000 * MIB, 4 * KIB);
    assert_eq!(first_written(&mut host), [(high, high + 4 * KIB)]);
}

#[test]
fn one_write_of_destaging_ends_with_the_track() {
    let mut disk = HardDisk::new(&small_drive(), 1).unwrap();
    let layout = mechanism_of(&small_drive());
    for i in 0..64 {
        disk.submit(i + 1, request(i, Write, 300 * KIB + i * 64 * KIB, 64 * KIB));
    }
    disk.submit(100, request(99, Flush, 0, 0));
    let mut pieces = 0;
    while let Some((at, event)) = disk.next_event() {
        disk.perform(at, event);
        for &(from, to) in
            disk.write_cache.under_way().iter().filter(|_| event == DiskEvent::Destage)
        {
            pieces += 1;
            let track_end = layout.layout().next_track(from / 512) * 512;
            assert!(to <= track_end, "{from}..{to} beyond {track_end}");
        }
    }
    assert!(pieces >= 5, "{pieces}");
}

#[test]
fn under_pressure_commands_and_destaging_take_turns() {
    let mut params = patient();
    params.write_cache.dirty_extents = 16;
    let mut disk = HardDisk::new(&params, 1).unwrap();
    let mut id = 0;
    let mut send = |disk: &mut HardDisk, list: Vec<HostCommand>| {
        for (op, offset, len) in list {
            id += 1;
            disk.submit(id, request(id, op, offset, len));
        }
    };
    send(&mut disk, random(Write, 1 << 30, 2 << 30, 4 * KIB, 14));
    send(&mut disk, random(Read, 2 << 30, 3 << 30, 4 * KIB, 16));
    let mut order = String::new();
    while let Some((at, event)) = disk.next_event().filter(|_| order.len() < 6) {
        match event {
            DiskEvent::Command => order.push('c'),
            DiskEvent::Destage => order.push('d'),
            _ => {}
        }
        disk.perform(at, event);
    }
    // until the cache is below its mark of 12 stretches
    assert!(["dcdccc", "cdcdcc", "cdcdcd", "dcdcdc"].contains(&order.as_str()), "{order}");
}

#[test]
fn data_in_transit_to_cache_are_readable() {
    let mut disk = HardDisk::new(&small_drive(), 1).unwrap();
    // 1 MiB takes 3.5 ms to cross
    disk.submit(0, request(1, Write, 1 << 30, MIB));
    disk.submit(1_000_000, request(2, Read, (1 << 30) + 64 * KIB, 4 * KIB));
    let mut done = Vec::new();
    disk.advance(5_000_000, &mut done);
    let ids: Vec<u64> = done.iter().map(|answer| answer.id).collect();
    assert_eq!(ids, [1, 2], "without the medium");
}

#[test]
fn write_through_replaces_cached_data() {
    let mut host = Host::new(&patient());
    host.one(Write, 1 << 30, 8 * KIB);
    host.disk.submit(host.now, SimRequest { fua: true, ..request(99, Write, 1 << 30, 4 * KIB) });
    host.rest(100_000_000);
    assert_eq!(host.disk.dirty_bytes(), 4 * KIB);
}

#[test]
fn a_forced_read_comes_from_the_medium() {
    let mut host = Host::new(&small_drive());
    host.one(Read, 1 << 30, 4 * KIB);
    let forced = SimRequest { fua: true, ..request(99, Read, 1 << 30, 4 * KIB) };
    host.disk.submit(host.now, forced);
    let mut done = Vec::new();
    host.disk.advance(host.now + 1_000_000, &mut done);
    assert_eq!(done, [], "the buffer would have it at once");
}

#[test]
fn cleaning_begins_so_long_after_the_last_command() {
    let mut params = small_drive();
    params.write_cache.enabled = false;
    for clean_idle_ms in [300.0, 1000.0] {
        params.smr = Some(bands(clean_idle_ms));
        let mut host = Host::new(&params);
        host.one(Write, 1000 * MIB, 4 * KIB);
        let written = host.now;
        // the command was sent at 0
        host.rest((clean_idle_ms * 1e6) as Nanos - 1000 - written);
        assert!(host.disk.mechanism_free <= written, "{clean_idle_ms} ms are not over");
        host.rest(2000);
        assert!(host.disk.mechanism_free > host.now, "{clean_idle_ms} ms are over");
    }
}

#[test]
fn promised_read_ahead_ends_before_head_leaves() {
    // at all angles
    for far in (0..40).map(|n| 3000 * MIB + n * 16 * KIB) {
        let mut host = Host::new(&small_drive());
        host.one(Read, 0, 64 * KIB);
        // the head reaches this one in 4 ms
        host.disk.submit(host.now, request(1001, Read, 64 * KIB, 384 * KIB));
        host.disk.submit(host.now + 1, request(1002, Read, far, 4 * KIB));
        let mut done = Vec::new();
        host.disk.advance(host.now + 1_000_000_000, &mut done);
        let at = |id| done.iter().find(|answer| answer.id == id).unwrap().at;
        let parts = mechanism_of(&small_drive());
        let way = parts.seek().time(parts.layout().locate(far / 512).cylinder);
        assert!(at(1002) > at(1001) + way - 1_500_000, "{} and {}", at(1001), at(1002));
    }
}

#[test]
fn continuing_reader_resumes_interrupted_read_ahead() {
    fn read(host: &mut Host, at: u64) -> u64 {
        host.one(Read, at * 64 * KIB, 64 * KIB)
    }
    let mut host = Host::new(&small_drive());
    read(&mut host, 0);
    host.rest(50_000_000);
    host.one(Read, 2 << 30, 4 * KIB);
    // 512 KiB are there; more than half of them is used
    (1..7).for_each(|at| assert!(read(&mut host, at) < 1_000_000, "{at}"));
    host.rest(50_000_000);
    (7..14).for_each(|at| assert!(read(&mut host, at) < 1_000_000, "{at}"));
}

#[test]
fn partial_stream_end_stays_for_the_rest() {
    let mut params = patient();
    params.physical_sector_bytes = 4096;
    params.read_modify_write = Some(RmwParams { batch_sectors: 16, gap_ms: 0.4 });
    // 64 sectors are a stream
    for (len, first) in [(100 * KIB + 512, 100 * KIB + 512), (300 * KIB + 512, 300 * KIB)] {
        let mut host = Host::new(&params);
        host.one(Write, 0, len);
        assert_eq!(first_written(&mut host), [(0, first)]);
    }
}
