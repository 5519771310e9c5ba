//! Write amplification, and the effect of TRIM on it.

use crate::device::{Nanos, RequestKind};
use crate::library::{BUILT_IN, Model};
use crate::ssd::Ssd;
use crate::ssd::ftl::Ftl;
use crate::ssd::geometry::Geometry;
use crate::ssd::params::SsdParams;
use crate::ssd::testing::{NullSink, Offsets, closed_loop, full, one, small};

/// α/(α + W₀(−α·e^(−α))), the fixed point of greedy collection under uniform random writes.
fn formula(spare_share: f64) -> f64 {
    let alpha = 1.0 + spare_share;
    let argument = -alpha * (-alpha).exp();
    let mut w = -0.5;
    for _ in 0..200 {
        let f = w * f64::exp(w) - argument;
        w -= f / (f64::exp(w) * (w + 1.0));
    }
    alpha / (alpha + w)
}

#[test]
fn the_formula_gives_the_published_values() {
    for (spare, amplification) in [(0.07, 7.82), (0.12, 4.85), (0.28, 2.48), (1.0, 1.255)] {
        assert!((formula(spare) - amplification).abs() < 0.01);
    }
}

/// Amplification of uniform random writes in the steady state; `scale` makes drive and blocks larger, not their
/// number.
fn amplification(spare_share: f64, passes: f64, scale: u32) -> f64 {
    let mut params = small();
    params.spare_share = spare_share;
    params.capacity_bytes *= u64::from(scale);
    params.flash.dies_per_channel = 1;
    params.flash.planes_per_die = 1;
    params.flash.pages_per_block = 18 * scale;
    amplification_of(&params, passes)
}

fn amplification_of(params: &SsdParams, passes: f64) -> f64 {
    let geometry = Geometry::new(params).unwrap();
    let mut ftl = Ftl::new(geometry, None);
    ftl.fill(geometry.logical_units);
    let mut offsets = Offsets(11);
    let mut write = |ftl: &mut Ftl, count: f64| {
        for _ in 0..(count * f64::from(geometry.logical_units)) as u64 {
            ftl.place(offsets.below(u64::from(geometry.logical_units)) as u32, 1, &mut NullSink);
        }
    };
    write(&mut ftl, passes);
    let before = ftl.counts();
    write(&mut ftl, 0.5);
    let after = ftl.counts();
    let moved = (after.moved_units - before.moved_units) as f64;
    1.0 + moved / (after.host_units - before.host_units) as f64
}

#[test]
fn random_writes_are_amplified_as_the_formula_says() {
    for (spare, passes) in [(0.07, 1.5), (0.12, 1.5), (0.20, 1.5), (0.28, 2.0), (0.50, 2.0)] {
        let (measured, expected) = (amplification(spare, passes, 1), formula(spare));
        let error = measured / expected - 1.0;
        assert!(error.abs() < 0.05, "{spare}: {measured} against {expected}");
    }
}

/// In small blocks chance makes some emptier than the formula knows of; real ones have tens of thousands of units.
#[test]
#[ignore = "takes a minute; cargo xtask soak runs it"]
fn larger_blocks_agree_within_one_percent() {
    let (measured, expected) = (amplification(0.10, 1.5, 8), formula(0.10));
    assert!((measured / expected - 1.0).abs() < 0.01, "{measured} against {expected}");
}

/// Every model, with as many superblocks as it has, of fewer rows each.
fn check_amplification_of_models(chosen: impl Fn(&str) -> bool) {
    for &(name, text) in BUILT_IN.iter().filter(|(name, _)| chosen(name)) {
        let Some(mut params) = Model::parse(name, text).unwrap().ssd else { continue };
        let flash = &mut params.flash;
        let row = flash.planes_per_die * flash.page_kib * 1024 / params.mapping_unit_bytes
            * flash.channels
            * flash.dies_per_channel
            * flash.bits_per_cell;
        let (rows, kept) = (flash.pages_per_block / flash.bits_per_cell, 200_u32.div_ceil(row));
        flash.pages_per_block = kept * flash.bits_per_cell;
        let unit = u64::from(params.mapping_unit_bytes);
        params.capacity_bytes =
            params.capacity_bytes / u64::from(rows) * u64::from(kept) / unit * unit;
        params.slc = None;
        let (measured, expected) = (amplification_of(&params, 1.2), formula(params.spare_share));
        let error = measured / expected - 1.0;
        assert!(error.abs() < 0.05, "{name}: {measured} against {expected}");
    }
}

#[test]
fn small_model_amplification_matches_formula() {
    check_amplification_of_models(|name| name == "kioxia-bg4-128");
}

#[test]
#[ignore = "takes a minute; cargo xtask soak runs it"]
fn amplification_of_each_model_matches_formula() {
    check_amplification_of_models(|_| true);
}

#[test]
fn sequential_writes_are_not_amplified() {
    let mut ssd = Ssd::new(small(), 1).unwrap();
    for pass in 0..3 {
        closed_loop(&mut ssd, pass * 1_000_000_000_000, RequestKind::Write, 1024, 4, |k| {
            (k << 20, 1 << 20)
        });
    }
    assert!(ssd.status().write_amplification() < 1.02);
}

#[test]
fn amplification_divides_the_writing_rate_and_trim_restores_it() {
    let mut ssd = full(small());
    let mut offsets = Offsets(5);
    let mut random = |ssd: &mut Ssd, now: Nanos, count: u64| {
        let before = ssd.status().moved_bytes;
        let end = closed_loop(ssd, now, RequestKind::Write, count, 32, |_| {
            (offsets.below(262_144) * 4096, 4096)
        });
        let moved = (ssd.status().moved_bytes - before) as f64 / (count * 4096) as f64;
        (end, count as f64 * 1e9 / (end - now) as f64, 1.0 + moved)
    };
    let (now, _, _) = random(&mut ssd, 0, 400_000);
    let (now, worn, amplification) = random(&mut ssd, now, 30_000);
    // 8 rows of 1500 us and an erase for 192 units of a die, 8 dies; copies must be read too
    let programs = 8.0 * 192.0 / (8.0 * 1500e-6 + 3000e-6);
    let share = worn * amplification / programs;
    assert!((0.8..1.0).contains(&share), "{share} of what programs and erases allow");

    let now = one(&mut ssd, now, RequestKind::Trim, 0, 1 << 30);
    assert_eq!(ssd.status().live_bytes, 0);
    let (_, fresh, amplification) = random(&mut ssd, now + 1_000_000_000, 30_000);
    assert_eq!(amplification, 1.0, "nothing live is left to move");
    assert!(fresh > 2.0 * worn, "{fresh} against {worn}");
}
