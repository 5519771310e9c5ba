//! A drive that is described as DiskSim's parameter files describe one: Western Digital's published 4 TB set.

use crate::device::RequestKind::{Read, Write};
use crate::device::{Nanos, RequestKind, SimRequest};
use crate::hdd::HardDisk;
use crate::hdd::limits::{DRIVE, SEEK, ZONE};
use crate::hdd::params::{HddParams, SeekParams};
use crate::ranges::without_numbers;
use crate::testing::ask;
use toml::Value;

/// The set: command overheads after a read and after a write, cache segments, head switch, skew and bands as
/// published; the seek table and the zones in the same form with fewer points, 60 zones of which the first eight
/// are equal. 32 segments of a track of 3072 sectors, eleven of them for writes.
const SET: &str = r#"
capacity_bytes = 4000787030016
rpm = 7200
heads = 10
logical_sector_bytes = 512
physical_sector_bytes = 512
head_switch_ms = 0.001
write_settle_ms = 0.0
read_hit_overhead_ms = 0.162
read_miss_overhead_ms = 0.0
write_overhead_ms = 0.276
write_miss_overhead_ms = 0.63
interface_mb_s = 550
layout = { order = "serpentine", band_cylinders = 128 }
skew = { head_rev = 0.1417, cylinder_rev = 0.1417 }
queue = { depth = 32, window = 32, starvation_ms = 500 }

[after_write]
read_hit_overhead_ms = 0.158
read_miss_overhead_ms = 0.106
write_overhead_ms = 0.456
write_miss_overhead_ms = 0.23

[seek]
curve = "table"
points_cylinders_ms = [[1, 1.4], [16, 1.9], [128, 1.6], [11000, 3.47], [110235, 7.97], [353181, 15.6]]

[write_seek]
curve = "two-piece-cylinders"
single_ms = 1.5
near_base_ms = 1.886
near_root_ms = 0.01983
knee_cylinders = 110235
far_base_ms = 5.006
far_slope_ms = 3.1414e-5

[read_cache]
segments = 32
segment_kib = 1536
read_ahead_kib = 1536

[write_cache]
enabled = true
dirty_limit_kib = 16896
dirty_extents = 11
high_water_pct = 100
idle_ms = 50
age_limit_ms = 30000
window = 11
gap_ms = 0

[zones]
profile = "table"
list = [
"#;

fn set() -> HddParams {
    let zones: String = (0..60).map(zone_text).collect();
    toml::from_str(&format!("{SET}{zones}]")).unwrap()
}

/// 3072 to 1536 sectors, the first eight zones alike
fn zone_text(index: u32) -> String {
    let sectors = 3072 - 1536 * index.saturating_sub(7) / 52;
    let skew = if index == 59 { ", head_skew_rev = 0.15, cylinder_skew_rev = 0.14" } else { "" };
    format!("{{ cylinders = 5632, sectors_per_track = {sectors}{skew} }}, ")
}

fn time(disk: &mut HardDisk, now: &mut Nanos, op: RequestKind, offset: u64, fua: bool) -> Nanos {
    let begun = *now;
    let ended = ask(disk, begun, SimRequest { id: 1, op, offset, len: 4096, fua }).at;
    *now = ended + 1_000_000;
    ended - begun
}

/// 4 KiB over the interface.
fn transfer() -> Nanos {
    4096 * (1e6f64 / 550.0).round() as u64 / 1000
}

#[test]
fn the_set_is_entered_whole_and_comes_back() {
    let params = set();
    assert_eq!(params.validate(), []);
    let text = toml::to_string(&params).unwrap();
    assert_eq!(toml::from_str::<HddParams>(&text).unwrap(), params);
}

#[test]
fn every_range_is_of_a_parameter() {
    let models = super::models::names().map(super::models::model);
    let mut tables: Vec<Value> = models.map(|it| Value::try_from(it).unwrap()).collect();
    tables.push(Value::try_from(set()).unwrap());
    assert_eq!(without_numbers(DRIVE, &tables), [""; 0]);
    let seeks: Vec<Value> = tables.iter().map(|table| table["seek"].clone()).collect();
    assert_eq!(without_numbers(SEEK, &seeks), [""; 0]);
    assert_eq!(
        without_numbers(ZONE, &[tables.last().unwrap()["zones"]["list"][0].clone()]),
        [""; 0]
    );
}

#[test]
fn command_costs_match_set_after_reads_and_writes() {
    fn read(disk: &mut HardDisk, now: &mut Nanos) -> u64 {
        time(disk, now, Read, 1 << 30, false)
    }
    fn write(disk: &mut HardDisk, now: &mut Nanos) -> u64 {
        time(disk, now, Write, 0, false)
    }
    let (mut disk, mut now) = (HardDisk::new(&set(), 1).unwrap(), 0);
    read(&mut disk, &mut now);
    assert_eq!(read(&mut disk, &mut now), 162_000 + transfer(), "hit after a read");
    assert_eq!(write(&mut disk, &mut now), 276_000 + transfer(), "write after a read");
    assert_eq!(write(&mut disk, &mut now), 456_000 + transfer(), "write after a write");
    assert_eq!(read(&mut disk, &mut now), 158_000 + transfer(), "hit after a write");
}

/// The time of a miss changes by the overhead or by a whole turn more or less, depending on the platter.
#[test]
fn misses_and_writes_through_have_their_own_overheads() {
    fn with(change: fn(&mut HddParams), first: RequestKind, second: RequestKind) -> u64 {
        let mut params = set();
        change(&mut params);
        let (mut disk, mut now) = (HardDisk::new(&params, 1).unwrap(), 0);
        time(&mut disk, &mut now, first, 1 << 30, true);
        now = 1_000_000_000;
        time(&mut disk, &mut now, second, 1 << 40, true)
    }
    type Change = fn(&mut HddParams);
    let cases: [(RequestKind, RequestKind, Change); 4] = [
        (Read, Read, |p| p.read_miss_overhead_ms += 20.0),
        (Write, Read, |p| {
            p.after_write.as_mut().unwrap().read_miss_overhead_ms = Some(20.106);
        }),
        (Read, Write, |p| p.write_miss_overhead_ms = Some(20.63)),
        (Write, Write, |p| {
            p.after_write.as_mut().unwrap().write_miss_overhead_ms = Some(20.23);
        }),
    ];
    for (index, (first, second, change)) in cases.into_iter().enumerate() {
        let later = with(change, first, second).abs_diff(with(|_| (), first, second));
        assert!((11_000_000..29_000_000).contains(&later), "{index}: {later} ns");
        // and no other case sees it
        for (other, &(first, second, _)) in cases.iter().enumerate().filter(|(o, _)| *o != index) {
            assert_eq!(with(change, first, second), with(|_| (), first, second), "{other}");
        }
    }
}

#[test]
fn writes_seek_by_their_own_curve() {
    // reads by the published fit to the table, 0.5 ms below the curve of writes
    let mut with = set();
    with.seek = SeekParams::TwoPieceCylinders {
        single_ms: 1.4,
        near_base_ms: 1.386,
        near_root_ms: 0.01983,
        knee_cylinders: 110_235,
        far_base_ms: 4.506,
        far_slope_ms: 3.1414e-5,
    };
    let without = HddParams { write_seek: None, ..with.clone() };
    let added = mean(&with, Write) - mean(&without, Write);
    assert!((0.3..0.7).contains(&added), "{added} ms");
    assert_eq!(mean(&with, Read), mean(&without, Read));
}

fn mean(params: &HddParams, op: RequestKind) -> f64 {
    let (mut disk, mut now) = (HardDisk::new(params, 1).unwrap(), 0);
    let mut total = 0;
    for i in 0..2000u64 {
        let mixed = (i + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let offset =
            (mixed ^ (mixed >> 29)).wrapping_mul(0xbf58_476d_1ce4_e5b9) % 900_000_000 * 4096;
        total += time(&mut disk, &mut now, op, offset, true);
    }
    total as f64 / 2000.0 / 1e6
}
