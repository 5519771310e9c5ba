//! The drive has the values of its model's file: sizes in KiB, skews of single zones, a seek curve of writes,
//! addresses shifted by the jumper, turns, and jitter.

use super::host::Host;
use super::{mechanism_of, small_drive, small_with, zone};
use crate::device::Nanos;
use crate::device::RequestKind::{Flush, Read, Write};
use crate::hdd::HardDisk;
use crate::hdd::params::{HddParams, LayoutParams, RmwParams, SeekParams, ZoneEntry, ZoneParams};
use crate::hdd::zones::sectors_needed;

const KIB: u64 = 1024;
/// A hit takes its overhead and the interface's time for 4 KiB; a read from the medium takes twice the overhead.
const HIT: Nanos = 115_000;

/// Whether 4 KiB at `offset` are in the buffer a second after `before` was read; what of that is far away comes a
/// second after the rest.
fn is_hit(params: &HddParams, before: &[(u64, u64)], offset: u64) -> bool {
    let mut host = Host::new(params);
    for &(offset, len) in before {
        if offset > 1_000_000_000 {
            host.rest(1_000_000_000);
        }
        host.one(Read, offset, len);
    }
    host.rest(1_000_000_000);
    host.one(Read, offset, 4 * KIB) <= HIT
}

#[test]
fn read_ahead_reaches_its_limit_beyond_request() {
    let params = small_drive();
    let ahead = u64::from(params.read_cache.read_ahead_kib) * KIB;
    for (offset, hit) in [(4 * KIB, true), (ahead, true), (4 * KIB + ahead, false)] {
        assert_eq!(is_hit(&params, &[(0, 4 * KIB)], offset), hit, "at {offset}");
    }
}

#[test]
fn a_segment_holds_so_many_kib() {
    let params = small_with(|p| p.read_cache.segments = 2);
    let (ahead, segment) = (512 * KIB, u64::from(params.read_cache.segment_kib) * KIB);
    let mut stream: Vec<(u64, u64)> = (0..32).map(|n| (n * 64 * KIB, 64 * KIB)).collect();
    // a read elsewhere, long after, ends the reading ahead and goes into the other segment
    stream.push((2_000_000_000 / 512 * 512, 4 * KIB));
    let begins = 32 * 64 * KIB + ahead - segment;
    assert!(is_hit(&params, &stream, begins));
    assert!(!is_hit(&params, &stream, begins - 4 * KIB));
}

#[test]
fn zone_may_have_its_own_cylinder_skew() {
    let mut params = small_drive();
    params.heads = 1;
    let skewed = ZoneEntry { cylinder_skew_rev: Some(0.3), ..zone(5000, 1000) };
    params.zones = ZoneParams::Table { list: vec![zone(5000, 1000), skewed] };
    params.capacity_bytes = 10_000 * 1000 * 512;
    let mechanism = mechanism_of(&params);
    let (layout, turn) = (mechanism.layout(), mechanism.rotation().period());
    // two tracks and the step between
    assert_eq!(layout.transfer_time(0, 2000), 2 * turn + turn / 10);
    assert_eq!(layout.transfer_time(5_000_000, 2000), 2 * turn + turn / 10 * 3);
}

#[test]
fn write_seek_takes_own_curve_or_head_switch() {
    let mut params = small_drive();
    params.layout = LayoutParams::Cylinder;
    let curve = SeekParams::ThreePoint { min_ms: 2.0, average_ms: 10.0, full_ms: 20.0 };
    params.write_seek = Some(curve);
    for (head_switch_ms, expected) in [(1.0, 2_000_000), (3.0, 3_000_000)] {
        params.head_switch_ms = head_switch_ms;
        let mechanism = mechanism_of(&params);
        let per_track = u64::from(mechanism.layout().locate(0).per_track);
        // the second head of the next cylinder
        let sector = 5 * per_track;
        let place = mechanism.layout().locate(sector);
        assert_eq!((place.cylinder, place.head), (1, 1));
        // over all angles at which the arm can set out
        let taken = |at: Nanos| mechanism.reach(at, sector, &place, true) - at;
        let least = (0..10_000).map(|step| taken(step * 1000)).min().unwrap();
        assert!((expected..expected + 10_000).contains(&least), "{head_switch_ms}: {least}");
    }
}

#[test]
fn jumper_drive_has_room_for_last_sector() {
    let mut params = small_drive();
    params.capacity_bytes = 4_000_000_000 / 4096 * 4096;
    params.physical_sector_bytes = 4096;
    params.read_modify_write = Some(RmwParams { batch_sectors: 16, gap_ms: 0.4 });
    let without = sectors_needed(&params);
    params.alignment_shift_sectors = 1;
    assert_eq!(sectors_needed(&params), without + 1);
    let mut host = Host::new(&params);
    host.one(Read, params.capacity_bytes - 512, 512);
    host.one(Write, params.capacity_bytes - 512, 512);
    host.one(Flush, 0, 0);
}

#[test]
fn gap_jitter_is_uniform_up_to_its_limit() {
    let mut disk = HardDisk::new(&small_with(|p| p.write_cache.gap_jitter_ms = 0.5), 7).unwrap();
    let gaps: Vec<Nanos> = (0..20_000).map(|_| disk.gap(400_000)).collect();
    let mean = gaps.iter().sum::<Nanos>() as f64 / gaps.len() as f64;
    // the standard error of the mean is 1,021 ns
    assert!((mean - 650_000.0).abs() < 4_000.0, "{mean}");
    let (least, most) = (gaps.iter().min().unwrap(), gaps.iter().max().unwrap());
    assert!((400_000..401_000).contains(least) && (899_000..=900_000).contains(most));
}

#[test]
fn turn_is_60_s_over_rpm_in_ns() {
    for (rpm, period) in [(5200.0, 11_538_462), (5900.0, 10_169_492), (10_000.0, 6_000_000)] {
        assert_eq!(mechanism_of(&small_with(|p| p.rpm = rpm)).rotation().period(), period, "{rpm}");
    }
}
