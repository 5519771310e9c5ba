//! Offsets whose true sector is known, under noise.

use super::*;
use proptest::prelude::*;
use rand::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

/// Uniform in 0–1.
fn chance(random: &mut Xoshiro256PlusPlus) -> f64 {
    (random.next_u64() >> 11) as f64 / (1u64 << 53) as f64
}

/// Times as of a disk of one revolution (1e6) at offsets of a pattern: half a turn of rotational wait on
/// average, one turn more off the boundaries of `sector` behind `shift`, and a stall now and then.
fn disk(
    pattern: u64,
    step: u64,
    sector: u64,
    shift: u64,
    count: usize,
    seed: u64,
) -> Vec<OffsetTimes> {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
    (0..pattern / step)
        .map(|i| {
            let offset = i * step;
            let extra = if offset % sector == shift { 0.0 } else { 1e6 };
            let mut time = || {
                let stall = if chance(&mut random) < 0.002 { 30e6 } else { 0.0 };
                2e5 + chance(&mut random) * 1e6 + extra + stall
            };
            OffsetTimes { offset, ns: (0..count).map(|_| time()).collect() }
        })
        .collect()
}

fn points(times: &[OffsetTimes]) -> Vec<(u64, TrimmedMean)> {
    times.iter().map(|t| (t.offset, location(&t.ns).unwrap())).collect()
}

fn at(offset: u64, mean: f64, error: f64) -> (u64, TrimmedMean) {
    (offset, TrimmedMean { mean, error })
}

#[test]
fn groups_need_a_step_beyond_chance() {
    let clear = [at(0, 5.0, 0.1), at(512, 15.0, 0.3), at(1024, 15.5, 0.3)];
    assert_eq!(split(&clear, 1.1), OffsetGroups { fast: vec![0], slow: vec![512, 1024] });
    let noisy = [at(0, 5.0, 2.0), at(512, 15.0, 2.0)];
    assert_eq!(split(&noisy, 1.1), OffsetGroups { fast: vec![0, 512], slow: vec![] });
    let close = [at(0, 5.0, 0.01), at(512, 5.2, 0.01)];
    assert!(split(&close, 1.1).slow.is_empty());
    assert!(split(&[], 1.1).fast.is_empty());
}

#[test]
fn the_resolution_is_what_would_have_been_seen() {
    let alike = [at(0, 10.0, 0.5), at(512, 10.0, 0.5)];
    let times = [0, 512].map(|offset| OffsetTimes { offset, ns: vec![10.0; 9] });
    let share = resolution(&times, &alike);
    let slower = [at(0, 10.0, 0.5), at(512, 10.0 * (1.01 + share), 0.5)];
    assert_eq!(split(&slower, 1.1).slow, [512]);
    assert_eq!(resolution(&[], &[]), f64::INFINITY);
    // What another program adds to every second access does not measure misalignment.
    let disturbed = times.map(|OffsetTimes { offset, ns }| {
        let busy = |(i, ns)| if i % 2 == 0 { ns } else { ns + 40.0 };
        OffsetTimes { offset, ns: ns.into_iter().enumerate().map(busy).collect() }
    });
    assert_eq!(resolution(&disturbed, &alike), share);
}

#[test]
fn fast_offsets_give_sector_and_shift() {
    fn of(fast: &[u64], slow: &[u64]) -> OffsetGroups {
        OffsetGroups { fast: fast.to_vec(), slow: slow.to_vec() }
    }
    for (fast, slow, found) in [
        (&[0][..], &[512, 1024, 1536, 2048, 2560, 3072, 3584][..], Some((4096, 0))),
        (&[3584], &[0, 512, 1024, 1536, 2048, 2560, 3072], Some((4096, 3584))),
        (&[512, 2560], &[0, 1024, 1536, 2048, 3072, 3584], Some((2048, 512))),
        (&[0, 1024, 2048, 3072], &[512, 1536, 2560, 3584], Some((1024, 0))),
        // phybs tries no more offsets than these
        (&[0], &[512, 1024, 2048], Some((4096, 0))),
        // no order: 512 is fast and 1536 is not
        (&[0, 512], &[1024, 1536, 2048, 2560, 3072, 3584], None),
        (&[0, 512, 1024], &[], None),
    ] {
        assert_eq!(boundary(&of(fast, slow), 4096, 512), found, "{fast:?}");
    }
    assert_eq!(boundary(&of(&[0, 4096], &[512, 1024, 2048]), 8192, 512), Some((4096, 0)));
}

#[test]
fn penalty_is_group_ratio_with_interval() {
    // 1.7e6 against 0.7e6: 2.43
    let (mut inside, mut width) = (0, 0.0);
    for seed in 0..40 {
        let times = disk(4096, 512, 4096, 0, 24, seed);
        let found = penalty(&times, &split(&points(&times), 1.1), 3).unwrap();
        assert!(found.low < found.value && found.value < found.high, "{found:?}");
        inside += usize::from(found.low < 1.7 / 0.7 && 1.7 / 0.7 < found.high);
        width += (found.high - found.low) / 40.0;
    }
    assert!(inside >= 34, "{inside} of 40");
    assert!(width < 1.0, "{width}");
    assert_eq!(penalty(&[], &OffsetGroups::default(), 1), None);
}

/// What chance alone makes of equal offsets: a thousand times eight of them.
#[test]
fn equal_offsets_are_hardly_ever_divided() {
    let mut wrong = 0;
    for seed in 0..1_000 {
        let times = disk(4096, 512, 512, 0, 16, seed);
        wrong += usize::from(!split(&points(&times), 1.1).slow.is_empty());
    }
    assert_eq!(wrong, 0);
}

#[test]
fn drawing_each_access_once_gives_the_trimmed_mean() {
    let mut all: Vec<(bool, f64)> = disk(4096, 512, 4096, 0, 23, 9)
        .iter()
        .flat_map(|t| t.ns.iter().map(|&ns| (t.offset > 0, ns)))
        .collect();
    all.sort_by(|a, b| a.1.total_cmp(&b.1));
    for slow in [true, false] {
        let group: Vec<f64> = all.iter().filter(|(is, _)| *is == slow).map(|&(_, ns)| ns).collect();
        let found = mean_of_drawn(&all, &vec![1; all.len()], slow).unwrap();
        assert!((found / location(&group).unwrap().mean - 1.0).abs() < 1e-12);
    }
    assert_eq!(mean_of_drawn(&[(true, 1.0)], &[2], true), None);
}

proptest! {
    #[test]
    fn every_sector_and_shift_is_found_under_noise(
        exponent in 1u32..=3, shift in 0u64..8, count in 32usize..64, seed: u64,
    ) {
        let sector = 512u64 << exponent;
        let shift = shift * 512 % sector;
        let times = disk(4096, 512, sector, shift, count, seed);
        let found = boundary(&split(&points(&times), 1.1), 4096, 512);
        prop_assert_eq!(found, Some((sector, shift)));
    }

    #[test]
    fn every_offset_is_in_one_group(
        means in prop::collection::vec(1.0..1e9f64, 0..12), error in 0.0..1e3f64,
    ) {
        let points: Vec<_> = means.iter().enumerate().map(|(i, &m)| at(i as u64, m, error)).collect();
        let OffsetGroups { fast, slow } = split(&points, 1.1);
        let mut all = [fast, slow].concat();
        all.sort_unstable();
        prop_assert_eq!(all, (0..points.len() as u64).collect::<Vec<_>>());
    }
}
