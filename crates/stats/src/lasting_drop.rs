//! Whether a rate fell within one phase and stayed down: throttling, an exhausted cache.
//!
//! Reference: R. Killick, P. Fearnhead and I. A. Eckley, JASA 107(500), 2012 (change points by PELT, in
//! [`crate::changepoint`]); the rules on top are this file's own and stated at [`lasting_drop`].

use crate::changepoint::{Plateau, pelt, penalty, split_at};
use crate::noise::Noise;
use crate::summary::{mean, median, quantile};
use crate::usable;

/// Smallest fall that counts, as a share of the level before.
const SHARE_MIN: f64 = 0.20;
/// The rate must stay down for 1/5 of the series, up to its end.
const TAIL_PART: usize = 5;
/// Of the values in that fifth, this share must lie below the middle between the two levels.
const TAIL_LOW_MIN: f64 = 0.7;
/// A level counts if it was held for 1/20 of the series; anything shorter is an episode.
const LEVEL_PART: usize = 20;
const LEVEL_LEN_MIN: usize = 5;
/// Below this, noise that remembers looks like a level.
const BINS_MIN: usize = 30;
/// Longer series are averaged to at most this many bins, which bounds the time to some milliseconds.
const BINS_MAX: usize = 1000;
/// Noise is taken to be at least this share, so that a smooth curve is not cut into slivers.
const NOISE_MIN: f64 = 0.03;

/// A lasting fall of a rate. Levels are in the unit of the series.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LastingDrop {
    /// Index from which the rate stayed below the middle of the two levels: the edge of a step, about
    /// the middle of a gradual decline. Resolved to one value up to 1000 values, to n/500 beyond.
    pub at_index: usize,
    /// Highest level held before: a median over 1/20 of the series or more.
    pub before: f64,
    pub after: f64,
    /// 1 − after / before, at least 0.2.
    pub share: f64,
}

/// The lasting drop of a series of rates at equal distances in time, if there is one.
///
/// It is one if the level fell by 20 % or more and stayed down for the last fifth of the series or longer. It is not
/// one if the series has a single level in noise, if the rate recovered, or if it had been down and come back before
/// (a wave of one and a half periods or more). Single outliers do not matter. A slow decline counts by its first and
/// last level. Noise may remember: what a level must exceed is its size in the long run (`crate::noise`).
///
/// `None` also below 30 values or for values that are negative or not finite.
pub fn lasting_drop(series: &[f64]) -> Option<LastingDrop> {
    if !usable(series) || series.len() < BINS_MIN || series.iter().any(|&v| v < 0.0) {
        return None;
    }
    let stride = series.len().div_ceil(BINS_MAX);
    let bins: Vec<f64> = series.chunks(stride).filter_map(mean).collect();
    let n = bins.len();
    let level_len = (n / LEVEL_PART).max(LEVEL_LEN_MIN);
    let tail_len = n.div_ceil(TAIL_PART);
    let levels = levels(&bins)?;

    // The fifths see the top of a gradual decline, which the segments average away.
    let fifths = bins[..n - tail_len].chunks_exact(tail_len).filter_map(median);
    let held = levels.iter().filter(|(s, _)| s.len() >= level_len).map(|l| l.1);
    let before = held.chain(fifths).fold(0.0, f64::max);
    let after = median(&bins[n - tail_len..])?;
    let share = 1.0 - after / before;
    if before <= 0.0 || share < SHARE_MIN {
        return None;
    }
    let middle = 0.5 * (before + after);
    let low_in_tail = bins[n - tail_len..].iter().filter(|&&v| v < middle).count();
    let at_bin = start_of_low(&levels, middle, level_len)?;
    let low_before: usize = levels
        .iter()
        .filter(|(s, level)| s.end <= at_bin && *level < middle)
        .map(|l| l.0.len())
        .sum();
    let stayed_down =
        n - at_bin >= tail_len && low_in_tail as f64 >= TAIL_LOW_MIN * tail_len as f64;
    let came_back_before = 4 * low_before > n - at_bin;
    let found = at_bin > 0 && stayed_down && !came_back_before;
    found.then_some(LastingDrop { at_index: at_bin * stride, before, after, share })
}

/// Segments with their medians, cut in the logarithms: the noise of a rate grows with the rate.
fn levels(bins: &[f64]) -> Option<Vec<(Plateau, f64)>> {
    // A rate of 0 has no logarithm; a hundredth of the usual is as good as nothing.
    let floor = quantile(bins, 0.95).filter(|&high| high > 0.0)? / 100.0;
    let logarithms: Vec<f64> = bins.iter().map(|v| v.max(floor).ln()).collect();
    let sigma = Noise::of_falling(&logarithms, 1)?.long_run_sigma.max(NOISE_MIN);
    let changes = pelt(&logarithms, LEVEL_LEN_MIN, penalty(sigma, bins.len()))?;
    split_at(bins, &changes)
        .into_iter()
        .map(|s| Some((s, median(&bins[s.start..s.end])?)))
        .collect()
}

/// Where the last stretch below `middle` begins; higher episodes shorter than `level_len` belong to it.
fn start_of_low(levels: &[(Plateau, f64)], middle: f64, level_len: usize) -> Option<usize> {
    let (mut start, mut high_run) = (None, 0);
    for (segment, level) in levels.iter().rev() {
        if *level < middle {
            (start, high_run) = (Some(segment.start), 0);
        } else {
            high_run += segment.len();
            if high_run >= level_len {
                break;
            }
        }
    }
    start
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::synthetic::rates;
    use crate::testing::{assert_close, noisy};
    use proptest::prelude::*;
    use std::f64::consts::TAU;

    /// A rate as a function of the share of the phase that has passed.
    type RateCurve = fn(f64) -> f64;

    /// Number of 150 seeds and lengths for which a drop is reported.
    fn reports(shape: RateCurve, cv: f64) -> usize {
        let fires = |seed: &u64| {
            let n = [50, 100, 300][*seed as usize % 3];
            lasting_drop(&noisy(n, cv, *seed, |i| shape(i as f64 / n as f64))).is_some()
        };
        (0..150).filter(fires).count()
    }

    #[test]
    fn lasting_falls_are_found() {
        let shapes: [(&str, RateCurve, f64); 9] = [
            ("step to 75 %", |x| if x < 0.5 { 100.0 } else { 75.0 }, 0.05),
            ("late step to 75 %", |x| if x < 0.78 { 100.0 } else { 75.0 }, 0.05),
            ("cache exhausted", |x| if x < 0.3 { 100.0 } else { 20.0 }, 0.1),
            ("cache exhausted early", |x| if x < 0.11 { 100.0 } else { 20.0 }, 0.1),
            ("stalled for good", |x| if x < 0.6 { 100.0 } else { 0.0 }, 0.05),
            ("linear decline of 30 %", |x| 100.0 - 30.0 * x, 0.05),
            ("the same without noise", |x| 100.0 - 30.0 * x, 0.0),
            ("exponential decline", |x| 60.0 + 40.0 * (-4.0 * x).exp(), 0.05),
            (
                "a ramp up, then a fall",
                |x| if x < 0.6 { 100.0 * (20.0 * x).min(1.0) } else { 60.0 },
                0.05,
            ),
        ];
        for (name, shape, cv) in shapes {
            let count = reports(shape, cv);
            assert!(count >= 148, "{name}: {count} of 150");
        }
    }

    #[test]
    fn everything_else_is_not() {
        let shapes: [(&str, RateCurve, f64); 9] = [
            ("constant", |_| 100.0, 0.0),
            ("noise of 5 %", |_| 100.0, 0.05),
            ("noise of 15 %", |_| 100.0, 0.15),
            ("a fall of 10 %", |x| if x < 0.5 { 100.0 } else { 90.0 }, 0.05),
            ("a dip that recovers", |x| if (0.3..0.7).contains(&x) { 50.0 } else { 100.0 }, 0.05),
            ("a burst", |x| if (0.4..0.5).contains(&x) { 300.0 } else { 100.0 }, 0.05),
            ("a fall in the last tenth", |x| if x < 0.9 { 100.0 } else { 50.0 }, 0.05),
            ("a slow wave", |x| 100.0 + 30.0 * (TAU * 2.5 * x).cos(), 0.05),
            (
                "throttling that comes and goes",
                |x| if (3.0 * x).fract() < 0.5 { 100.0 } else { 60.0 },
                0.05,
            ),
        ];
        for (name, shape, cv) in shapes {
            let count = reports(shape, cv);
            assert!(count <= 1, "{name}: {count} of 150");
        }
    }

    #[test]
    fn correlated_noise_neither_is_nor_hides_a_drop() {
        for (phi, n) in [(0.5, 50), (0.9, 30), (0.9, 50), (0.9, 300)] {
            let hits = |cv, after| {
                let level = |i| if 2 * i < n { 100.0 } else { after };
                (0..200)
                    .filter(|&seed| lasting_drop(&rates(n, cv, phi, seed, level)).is_some())
                    .count()
            };
            let (wrong, right) = (hits(0.15, 100.0), hits(0.05, 40.0));
            assert!(wrong <= 8, "{phi}, {n}: {wrong} of 200 false");
            assert!(right >= 195, "{phi}, {n}: {right} of 200 found");
        }
    }

    #[test]
    fn waves_of_any_phase_and_period_are_not() {
        for seed in 0..400 {
            let periods = 1.5 + (seed % 20) as f64 * 0.5;
            let phase = (seed / 20) as f64 / 20.0;
            let wave = |i| 100.0 + 30.0 * (TAU * (periods * i as f64 / 200.0 + phase)).sin();
            assert_eq!(
                lasting_drop(&noisy(200, 0.03, seed, wave)),
                None,
                "{periods} periods, {phase}"
            );
        }
    }

    #[test]
    fn a_step_is_placed_and_measured() {
        for seed in 0..20 {
            let drop =
                lasting_drop(&noisy(400, 0.05, seed, |i| if i < 130 { 100.0 } else { 60.0 }));
            let drop = drop.unwrap();
            assert!(drop.at_index.abs_diff(130) <= 1, "{drop:?}");
            assert_close(drop.before, 100.0, 0.03);
            assert_close(drop.after, 60.0, 0.03);
            assert_close(drop.share, 0.4, 0.04);
        }
        let long = noisy(50_000, 0.05, 1, |i| if i < 20_000 { 100.0 } else { 60.0 });
        assert!(lasting_drop(&long).unwrap().at_index.abs_diff(20_000) <= 100);
    }

    #[test]
    fn single_outliers_neither_make_nor_hide_a_drop() {
        for seed in 0..100 {
            let at = seed as usize;
            let mut flat = noisy(100, 0.05, seed, |_| 100.0);
            let mut step = noisy(100, 0.05, seed, |i| if i < 50 { 100.0 } else { 70.0 });
            for value in [0.0, 1000.0] {
                (flat[at], step[at]) = (value, value);
                assert_eq!(lasting_drop(&flat), None, "{value} at {at}");
                assert!(lasting_drop(&step).is_some(), "{value} at {at}");
            }
        }
    }

    #[test]
    fn edges() {
        fn step(n: usize) -> Vec<f64> {
            (0..n).map(|i| if i < n / 2 { 9.0 } else { 3.0 }).collect()
        }
        let drop = LastingDrop { at_index: 15, before: 9.0, after: 3.0, share: 1.0 - 3.0 / 9.0 };
        assert_eq!(lasting_drop(&step(30)), Some(drop));
        assert_eq!(lasting_drop(&step(29)), None, "too short");
        assert_eq!(lasting_drop(&[]), None);
        assert_eq!(lasting_drop(&[0.0; 50]), None);
        for wrong in [f64::NAN, f64::INFINITY, -1.0] {
            let mut series = step(30);
            series[3] = wrong;
            assert_eq!(lasting_drop(&series), None, "{wrong}");
        }
    }

    proptest! {
        #[test]
        fn reported_drop_is_significant(series in prop::collection::vec(0.0..100.0f64, 30..90)) {
            if let Some(drop) = lasting_drop(&series) {
                prop_assert!((SHARE_MIN..=1.0).contains(&drop.share));
                prop_assert!(drop.at_index > 0 && drop.at_index <= series.len() - series.len().div_ceil(5));
            }
        }

        #[test]
        fn the_unit_changes_nothing(seed: u64, unit in 1e-3..1e9f64) {
            let series = noisy(120, 0.1, seed, |i| if i < 60 { 100.0 } else { 78.0 });
            let scaled: Vec<f64> = series.iter().map(|v| v * unit).collect();
            let place = |s: &[f64]| lasting_drop(s).map(|d| d.at_index);
            prop_assert_eq!(place(&series), place(&scaled));
        }
    }
}
