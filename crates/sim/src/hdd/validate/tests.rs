//! Parameters that cannot be.

use super::*;
use crate::hdd::params::{SeekParams, SmrParams};
use crate::hdd::tests::{bands, small_drive, zone};

fn fields(change: impl FnOnce(&mut HddParams)) -> Vec<String> {
    let mut params = small_drive();
    change(&mut params);
    params.validate().into_iter().map(|problem| problem.field).collect()
}

fn square_root(params: &mut HddParams, outer: f64, inner: f64, clamp: Option<f64>, count: u32) {
    params.zones = ZoneParams::SquareRoot {
        outer_media_mb_s: outer,
        inner_media_mb_s: inner,
        clamp_media_mb_s: clamp,
        count,
    };
}

#[test]
fn a_good_drive_has_no_problem() {
    assert_eq!(small_drive().validate(), []);
}

#[test]
fn each_impossible_value_names_its_field() {
    type Change = fn(&mut HddParams);
    let cases: [(&str, Change); 20] = [
        ("rpm", |p| p.rpm = 0.0),
        ("rpm", |p| p.rpm = f64::NAN),
        ("heads", |p| p.heads = 0),
        ("capacity_bytes", |p| p.capacity_bytes += 100),
        ("logical_sector_bytes", |p| p.logical_sector_bytes = 520),
        ("read_modify_write", |p| p.physical_sector_bytes = 4096),
        ("zones.inner_media_mb_s", |p| square_root(p, 80.0, 90.0, None, 10)),
        ("zones.inner_media_mb_s", |p| square_root(p, 80.0, 0.0, None, 10)),
        ("zones.clamp_media_mb_s", |p| square_root(p, 80.0, 50.0, Some(40.0), 10)),
        ("zones.count", |p| square_root(p, 80.0, 50.0, None, 1_000_000)),
        ("zones.list", |p| p.zones = ZoneParams::Table { list: vec![] }),
        ("skew.head_rev", |p| p.skew.head_rev = 1.0),
        ("layout.band_cylinders", |p| {
            p.layout = LayoutParams::Serpentine { band_cylinders: 0 };
        }),
        ("seek.average_ms", |p| {
            p.seek = SeekParams::ThreePoint { min_ms: 1.0, average_ms: 30.0, full_ms: 20.0 };
        }),
        ("seek.points_cylinders_ms", |p| {
            p.seek = SeekParams::Table { points_cylinders_ms: vec![(5, 1.0), (5, 2.0)] };
        }),
        ("write_cache.high_water_pct", |p| p.write_cache.high_water_pct = 0.0),
        ("write_cache.low_water_pct", |p| p.write_cache.low_water_pct = Some(80.0)),
        ("read_cache.water_mark", |p| p.read_cache.water_mark = 1.1),
        ("queue.depth", |p| p.queue.depth = 0),
        ("smr.band_mib", |p| {
            p.smr = Some(SmrParams { band_mib: 0, ..bands(100.0) });
        }),
    ];
    for (field, change) in cases {
        assert!(fields(change).iter().any(|f| f == field), "{field}: {:?}", fields(change));
    }
}

#[test]
fn zone_list_must_hold_capacity_and_slow_inwards() {
    fn with(list: Vec<ZoneEntry>) -> Vec<String> {
        fields(|p| p.zones = ZoneParams::Table { list })
    }
    assert_eq!(with(vec![zone(1, 100)]), ["zones.list"]);
    let needed = sectors_needed(&small_drive()) as u32;
    let heads = small_drive().heads;
    let width = needed / heads / 1000 / 2 + 1;
    assert_eq!(with(vec![zone(width, 1000), zone(width, 1000)]), Vec::<String>::new());
    assert_eq!(
        with(vec![zone(width, 900), zone(width, 1100)]),
        ["zones.list[1].sectors_per_track"]
    );
}
