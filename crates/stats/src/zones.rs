//! Zones of a disk: a falling curve of rates cut into stretches of constant rate.
//!
//! Reference: N. Haiminen and A. Gionis, "Unimodal Segmentation of Sequences", IEEE ICDM 2004: the best
//! monotone step function with few steps only has edges where the isotonic fit has them, so dynamic
//! programming over the pooled blocks is exact.

use crate::changepoint::{Plateau, penalty};
use crate::isotonic::falling_fit;
use crate::noise::{Noise, local_sigma};
use crate::outliers::local_outliers;
use crate::usable;

/// Neighbouring zones of a disk differ by 1–5 %; half a percent is below any and above most noise.
pub const ZONE_DROP_MIN: f64 = 0.005;
/// A probe is compared with this many neighbours to each side, so up to three slow ones in a row
/// (a defect, another program's burst) do not make a zone.
const OUTLIER_REACH: usize = 3;
/// Probes this many σ away from their neighbours are set aside.
const OUTLIER_SIGMAS: f64 = 4.0;
/// A stretch slower by more than this share than later ones is not a zone: disks do not become faster inwards.
const DIP_SHARE: f64 = 0.1;

/// Zones of constant rate of `rates`, positive values in order of address, taken to fall or stay.
///
/// Probes far outside their neighbourhood count as the median of it, and a stretch of any length that is a tenth
/// slower than the rates after it (places that need retries) as the rate before it. A further zone must reduce
/// the squared deviations of the logarithms by 3·σ²·ln n, σ that of the noise in the long run (`crate::noise`), and
/// begin with a drop of at least the share `drop_min` of the rate before ([`ZONE_DROP_MIN`]). Each edge is good to
/// one probe; `mean` is geometric and in the unit of the rates, and the zones cover the slice. A curve that falls
/// smoothly comes out as a staircase. Time grows with the square of the number of pooled blocks.
///
/// `None` for an empty slice, a rate that is not positive and finite, or `drop_min` outside 0–1.
pub fn zones(rates: &[f64], drop_min: f64) -> Option<Vec<Plateau>> {
    if !usable(rates) || rates.iter().any(|&r| r <= 0.0) || !(0.0..1.0).contains(&drop_min) {
        return None;
    }
    // Noise is a share of the rate, so logarithms have the same everywhere.
    let logs: Vec<f64> = rates.iter().map(|rate| rate.ln()).collect();
    let threshold = OUTLIER_SIGMAS * local_sigma(&logs).unwrap_or(0.0);
    let logs = without_outliers(&without_dips(logs)?, threshold);
    let sigma = Noise::of_falling(&logs, 1)?.long_run_sigma;
    let mut zones = best_partition(&falling_fit(&logs)?, penalty(sigma, logs.len()));
    for zone in &mut zones {
        zone.mean = zone.mean.exp();
    }
    while let Some(i) = smallest_drop(&zones, drop_min) {
        let merged = zones[i].joined(zones[i + 1]);
        zones.splice(i..=i + 1, [merged]);
    }
    Some(zones)
}

/// The curve with outliers replaced. A curve that only falls comes back unchanged.
fn without_outliers(rates: &[f64], threshold: f64) -> Vec<f64> {
    let mut cleaned = rates.to_vec();
    for (i, middle) in local_outliers(rates, OUTLIER_REACH, threshold) {
        cleaned[i] = middle;
    }
    // The ends have neighbours on one side only: a slow first or a fast last probe cannot be a zone.
    if let [first, second, .., before, last] = &mut cleaned[..] {
        if *second - *first > threshold {
            *first = *second;
        }
        if *last - *before > threshold {
            *last = *before;
        }
    }
    cleaned
}

/// The curve with stretches that a later one exceeds by more than [`DIP_SHARE`], and by more than the
/// noise, at the level before them; at the very beginning, at that of what exceeds them.
fn without_dips(mut logs: Vec<f64>) -> Option<Vec<f64>> {
    let sigma = Noise::of_falling(&logs, 1)?.sigma;
    let threshold = (1.0 + DIP_SHARE).ln().max(OUTLIER_SIGMAS * sigma);
    // The running median: everything is farther from it than a negative distance.
    let medians = local_outliers(&logs, OUTLIER_REACH, -1.0);
    let mut smooth: Vec<f64> = medians.into_iter().map(|(_, middle)| middle).collect();
    if let [.., before, last] = &mut smooth[..] {
        *last = last.min(*before);
    }
    let mut highest_behind = smooth.clone();
    for i in (1..highest_behind.len()).rev() {
        highest_behind[i - 1] = highest_behind[i - 1].max(highest_behind[i]);
    }
    let mut before = None;
    for i in 0..logs.len() {
        if highest_behind[i] > smooth[i] + threshold {
            logs[i] = before.unwrap_or(highest_behind[i]);
        } else {
            before = Some(smooth[i]);
        }
    }
    Some(logs)
}

/// The partition of `blocks` with the least squared deviation plus `penalty` for each part.
fn best_partition(blocks: &[Plateau], penalty: f64) -> Vec<Plateau> {
    // best[j]: cost of the first j blocks, and the part that ends there.
    let mut best: Vec<(f64, Plateau)> = Vec::with_capacity(blocks.len() + 1);
    best.push((0.0, Plateau { start: 0, end: 0, mean: 0.0 }));
    for (j, last) in blocks.iter().enumerate() {
        // Grow the part to the left, updating mean and squared deviation (Chan, Golub, LeVeque 1983).
        let mut part = Plateau { start: last.end, end: last.end, mean: 0.0 };
        let (mut deviation, mut winner) = (0.0, (f64::INFINITY, part));
        for (i, block) in blocks[..=j].iter().enumerate().rev() {
            let (before, len) = (part.len() as f64, block.len() as f64);
            let apart = block.mean - part.mean;
            deviation += apart * apart * before * len / (before + len);
            part.mean += apart * len / (before + len);
            part.start = block.start;
            let cost = best[i].0 + deviation + penalty;
            if cost < winner.0 {
                winner = (cost, part);
            }
        }
        best.push(winner);
    }
    let mut parts = Vec::new();
    let mut count = blocks.len();
    while count > 0 {
        let part = best[count].1;
        parts.push(part);
        count = blocks.partition_point(|b| b.end <= part.start);
    }
    parts.reverse();
    parts
}

/// Index of the zone before the smallest relative drop, if that is below `drop_min`.
fn smallest_drop(zones: &[Plateau], drop_min: f64) -> Option<usize> {
    let drop = |i: usize| 1.0 - zones[i + 1].mean / zones[i].mean;
    let smallest = (0..zones.len() - 1).min_by(|&i, &j| drop(i).total_cmp(&drop(j)))?;
    (drop(smallest) < drop_min).then_some(smallest)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::synthetic::rates;
    use crate::testing::{assert_close, noisy};
    use proptest::prelude::*;

    const EDGES: [usize; 5] = [20, 45, 60, 90, 110];

    /// Rates of six zones over 128 probes, each 6 % slower than the one before.
    fn level(i: usize) -> f64 {
        200.0 * 0.94f64.powi(EDGES.iter().filter(|e| i >= **e).count() as i32)
    }

    fn disk(seed: u64, cv: f64) -> Vec<f64> {
        noisy(128, cv, seed, level)
    }

    fn edges(zones: &[Plateau]) -> Vec<usize> {
        zones[1..].iter().map(|z| z.start).collect()
    }

    #[test]
    fn zones_are_found_exactly() {
        for seed in 0..20 {
            let zones = zones(&disk(seed, 0.008), ZONE_DROP_MIN).unwrap();
            assert_eq!(edges(&zones), EDGES, "seed {seed}");
            assert_close(zones[5].mean, 200.0 * 0.94f64.powi(5), 0.01);
        }
        assert_eq!(edges(&zones(&disk(0, 0.0), ZONE_DROP_MIN).unwrap()), EDGES, "without noise");
    }

    /// Two or three probes for each zone: a third of all differences are steps, which are not noise.
    #[test]
    fn many_narrow_zones_are_distinguished_from_noise() {
        fn level(i: usize) -> f64 {
            165.0 - 4.2 * (i * 24 / 74) as f64
        }
        let truth: Vec<usize> = (1..74).filter(|&i| level(i) < level(i - 1)).collect();
        let is_right = |seed: &u64| {
            let found = edges(&zones(&noisy(74, 0.005, *seed, level), ZONE_DROP_MIN).unwrap());
            found.len() == truth.len() && found.iter().zip(&truth).all(|(a, b)| a.abs_diff(*b) <= 1)
        };
        let count = (0..100).filter(is_right).count();
        assert!(count >= 90, "{count} of 100");
    }

    #[test]
    fn outliers_make_no_zone() {
        for slow in [&[0][..], &[30], &[70, 71, 72], &[127]] {
            let mut rates = disk(3, 0.005);
            slow.iter().for_each(|&i| rates[i] *= 0.3);
            // A slow last probe could be a last zone; everywhere else it cannot.
            let found = edges(&zones(&rates, ZONE_DROP_MIN).unwrap());
            assert_eq!(found[..5], EDGES, "slow probes at {slow:?}");
            assert!(found[5..].iter().all(|&edge| edge == 127));
        }
        let mut rates = disk(3, 0.005);
        rates[127] *= 2.0;
        assert_eq!(edges(&zones(&rates, ZONE_DROP_MIN).unwrap()), EDGES);
    }

    /// Places that need retries, however many: the zones around them are what they are.
    #[test]
    fn a_slow_stretch_makes_no_zone() {
        for slow in [0..12, 30..40, 62..74, 100..108] {
            let mut rates = disk(3, 0.005);
            rates[slow.clone()].iter_mut().for_each(|rate| *rate *= 0.3);
            let zones = zones(&rates, ZONE_DROP_MIN).unwrap();
            let found = edges(&zones);
            let is_near = |(a, b): (&usize, &usize)| a == b || slow.contains(a) || slow.contains(b);
            assert_eq!(found.len(), EDGES.len(), "{slow:?}: {found:?}");
            assert!(found.iter().zip(&EDGES).all(is_near), "{slow:?}: {found:?}");
            assert!(zones.iter().all(|zone| zone.mean > 140.0), "{slow:?}: {zones:?}");
        }
    }

    #[test]
    fn one_rate_is_one_zone_despite_correlated_noise() {
        for (phi, n) in [(0.0, 128), (0.5, 128), (0.9, 128), (0.9, 512)] {
            let is_false = |seed: &u64| {
                zones(&rates(n, 0.02, phi, *seed, |_| 500.0), ZONE_DROP_MIN).unwrap().len() > 1
            };
            let count = (0..200).filter(is_false).count();
            assert!(count <= 5, "{phi}, {n}: {count} of 200");
        }
    }

    #[test]
    fn noise_that_remembers_adds_no_zones() {
        let count =
            |seed| zones(&rates(128, 0.005, 0.5, seed, level), ZONE_DROP_MIN).unwrap().len();
        let exact = (0..100).filter(|&seed| count(seed) == EDGES.len() + 1).count();
        assert!(exact >= 95, "{exact} of 100");
    }

    #[test]
    fn edges_of_the_input() {
        for wrong in [&[][..], &[1.0, 0.0], &[1.0, f64::NAN]] {
            assert_eq!(zones(wrong, 0.01), None);
        }
        assert_eq!(zones(&[1.0], 1.0), None);
        let one = zones(&[7.0], 0.01).unwrap();
        assert_eq!((one.len(), one[0].start, one[0].end), (1, 0, 1));
        assert_close(one[0].mean, 7.0, 1e-12);
    }

    proptest! {
        #[test]
        fn zones_cover_the_curve_and_fall(
            rates in prop::collection::vec(1.0..1e3f64, 1..80), drop_min in 0.0..0.3f64,
        ) {
            let zones = zones(&rates, drop_min).unwrap();
            prop_assert_eq!((zones[0].start, zones[zones.len() - 1].end), (0, rates.len()));
            for pair in zones.windows(2) {
                prop_assert_eq!(pair[0].end, pair[1].start);
                prop_assert!(1.0 - pair[1].mean / pair[0].mean >= drop_min);
            }
        }

        #[test]
        fn the_unit_changes_nothing(seed: u64, unit in 1e-3..1e9f64) {
            let rates = disk(seed, 0.008);
            let scaled: Vec<f64> = rates.iter().map(|r| r * unit).collect();
            let found = |r: &[f64]| edges(&zones(r, ZONE_DROP_MIN).unwrap());
            prop_assert_eq!(found(&rates), found(&scaled));
        }
    }
}
