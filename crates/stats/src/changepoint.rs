//! Where the level of a series changes.
//!
//! Reference: R. Killick, P. Fearnhead and I. A. Eckley, "Optimal Detection of Changepoints With a Linear
//! Computational Cost", JASA 107(500), 2012 (PELT).

use crate::summary::median;

/// The penalty of one change in units of σ²·ln n. Theory asks for 2 or more; 3 allows for the error of
/// the estimated σ and keeps false alarms in pure noise below 5 %.
const PENALTY_FACTOR: f64 = 3.0;

/// A stretch of one level.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Plateau {
    pub start: usize,
    pub end: usize,
    pub mean: f64,
}

impl Plateau {
    pub(crate) fn len(self) -> usize {
        self.end - self.start
    }

    pub(crate) fn joined(self, next: Self) -> Self {
        let share = next.len() as f64 / (self.len() + next.len()) as f64;
        let mean = self.mean + (next.mean - self.mean) * share;
        Self { start: self.start, end: next.end, mean }
    }
}

/// The penalty for one change in `n` values with noise of size `sigma` (long-run size): 3·σ²·ln n.
pub(crate) fn penalty(sigma: f64, n: usize) -> f64 {
    PENALTY_FACTOR * sigma * sigma * (n as f64).ln()
}

/// The series cut at `changes` (ascending indices inside it).
pub(crate) fn split_at(series: &[f64], changes: &[usize]) -> Vec<Plateau> {
    let starts = std::iter::once(0).chain(changes.iter().copied());
    let ends = changes.iter().copied().chain(std::iter::once(series.len()));
    let segment = |(start, end): (usize, usize)| {
        let mean = series[start..end].iter().sum::<f64>() / (end - start) as f64;
        Plateau { start, end, mean }
    };
    starts.zip(ends).map(segment).collect()
}

/// Change points (the first index of each new level, ascending) that minimise the squared deviations
/// from segment means plus `penalty` for each change, exactly.
///
/// Each segment has at least `min_len` values. Time grows linearly with n if changes are spread over the
/// series, quadratically at worst (10 000 values without a change: well under a second). `None` for an
/// empty or non-finite slice, `min_len` 0, or a negative or non-finite penalty.
pub fn pelt(series: &[f64], min_len: usize, penalty: f64) -> Option<Vec<usize>> {
    let costs = SquaredDeviations::new(series, min_len, penalty)?;
    let n = series.len();
    if n / 2 < min_len {
        return Some(Vec::new());
    }
    // best[t]: least cost of the first t values, with the start of their last segment.
    let mut best = vec![(f64::INFINITY, 0); n + 1];
    best[0] = (-penalty, 0);
    // Candidate starts, each with the t from which it cannot be best any more.
    let mut candidates: Vec<(usize, usize)> = Vec::new();
    for t in min_len..=n {
        let newest = t - min_len;
        if newest == 0 || newest >= min_len {
            candidates.push((newest, usize::MAX));
        }
        candidates.retain(|&(_, expires)| t < expires);
        for &(start, _) in &candidates {
            let cost = best[start].0 + costs.of(start, t) + penalty;
            if cost < best[t].0 {
                best[t] = (cost, start);
            }
        }
        // A start that loses to t even without a penalty stays behind t for good, but t itself can only
        // serve once a whole segment fits after it.
        for (start, expires) in &mut candidates {
            if *expires == usize::MAX && best[*start].0 + costs.of(*start, t) >= best[t].0 {
                *expires = t + min_len;
            }
        }
    }
    let mut changes: Vec<usize> =
        std::iter::successors(Some(best[n].1), |&t| (t > 0).then(|| best[t].1)).collect();
    changes.pop();
    changes.reverse();
    Some(changes)
}

/// Running sums that give the squared deviation of any stretch from its mean at once.
struct SquaredDeviations {
    sums: Vec<f64>,
    squares: Vec<f64>,
}

impl SquaredDeviations {
    fn new(series: &[f64], min_len: usize, penalty: f64) -> Option<Self> {
        if min_len == 0 || !(penalty >= 0.0 && penalty.is_finite()) {
            return None;
        }
        // Rates of 10⁹ with noise of 10³ would cancel in the difference of squares: centre them.
        let centre = median(series)?;
        let running = |power: i32| {
            let sum = |total: &mut f64, value: &f64| {
                *total += (value - centre).powi(power);
                Some(*total)
            };
            std::iter::once(0.0).chain(series.iter().scan(0.0, sum)).collect()
        };
        Some(Self { sums: running(1), squares: running(2) })
    }

    fn of(&self, start: usize, end: usize) -> f64 {
        let sum = self.sums[end] - self.sums[start];
        let squares = self.squares[end] - self.squares[start];
        (squares - sum * sum / (end - start) as f64).max(0.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{assert_close, noisy};
    use proptest::prelude::*;

    /// Levels 100, 70, 85, 40 with changes at 60, 140, 200, in Gaussian noise of size `sigma`.
    fn planted(seed: u64, sigma: f64) -> Vec<f64> {
        let noise = noisy(300, 1.0, seed, |_| 1.0);
        (0..300).map(|i| stepped_level(i) + sigma * (noise[i] - 1.0)).collect()
    }

    fn stepped_level(i: usize) -> f64 {
        match i {
            0..60 => 100.0,
            60..140 => 70.0,
            140..200 => 85.0,
            _ => 40.0,
        }
    }

    /// Levels of at least five values in noise of size `sigma`.
    fn segments(series: &[f64], sigma: f64) -> Vec<Plateau> {
        split_at(series, &pelt(series, 5, penalty(sigma, series.len())).unwrap())
    }

    #[test]
    fn planted_steps_are_found_exactly() {
        for seed in 0..20 {
            let series = planted(seed, 2.0);
            let found = segments(&series, 2.0);
            let starts: Vec<usize> = found.iter().map(|s| s.start).collect();
            assert_eq!(starts, [0, 60, 140, 200], "seed {seed}");
            found.iter().zip([100.0, 70.0, 85.0, 40.0]).for_each(|(s, want)| {
                assert_close(s.mean, want, 0.02);
            });
        }
    }

    #[test]
    fn pure_noise_has_no_change() {
        for n in [50, 200, 500] {
            let count = (0..100)
                .filter(|seed| segments(&noisy(n, 0.1, *seed, |_| 1e9), 1e8).len() == 1)
                .count();
            assert!(count >= 95, "n = {n}: {count} of 100");
        }
    }

    #[test]
    fn noiseless_series() {
        assert_eq!(segments(&[5.0; 40], 0.1), [Plateau { start: 0, end: 40, mean: 5.0 }]);
        let step: Vec<f64> = (0..40).map(|i| if i < 13 { 5.0 } else { 4.0 }).collect();
        assert_eq!(
            segments(&step, 0.1),
            [Plateau { start: 0, end: 13, mean: 5.0 }, Plateau { start: 13, end: 40, mean: 4.0 },]
        );
    }

    #[test]
    fn edges() {
        for wrong in [&[][..], &[1.0, f64::NAN]] {
            assert_eq!(pelt(wrong, 1, 1.0), None);
        }
        assert_eq!(pelt(&[1.0; 20], 0, 1.0), None);
        assert_eq!(pelt(&[1.0, 2.0, 9.0], usize::MAX, 1.0), Some(vec![]));
        assert_eq!(pelt(&[1.0, 9.0], 5, 1.0), Some(vec![]));
        assert_eq!(pelt(&[1.0; 20], 5, f64::NAN), None);
        assert_eq!(pelt(&[1.0; 20], 5, -1.0), None);
    }

    /// Optimal partitioning without pruning, straight from the definition.
    fn exhaustive_cost(series: &[f64], min_len: usize, penalty: f64) -> f64 {
        let costs = SquaredDeviations::new(series, min_len, penalty).unwrap();
        let mut best = vec![f64::INFINITY; series.len() + 1];
        best[0] = -penalty;
        for t in min_len..=series.len() {
            for s in 0..=t - min_len {
                best[t] = best[t].min(best[s] + costs.of(s, t) + penalty);
            }
        }
        best[series.len()]
    }

    proptest! {
        #[test]
        fn pruning_loses_nothing(
            series in prop::collection::vec(0.0..10.0f64, 8..60), min_len in 1usize..5, penalty in 0.1..40.0f64,
        ) {
            let changes = pelt(&series, min_len, penalty).unwrap();
            let costs = SquaredDeviations::new(&series, min_len, penalty).unwrap();
            let parts = split_at(&series, &changes);
            prop_assert!(parts.iter().all(|s| s.len() >= min_len));
            let total: f64 = parts.iter().map(|s| costs.of(s.start, s.end)).sum();
            let cost = total + penalty * changes.len() as f64;
            prop_assert!((cost - exhaustive_cost(&series, min_len, penalty)).abs() < 1e-6);
        }

        #[test]
        fn shift_and_scale_change_nothing(seed: u64, shift in -1e3..1e3f64, scale in 0.1..10.0f64) {
            let series = planted(seed, 5.0);
            let moved: Vec<f64> = series.iter().map(|v| v * scale + shift).collect();
            let starts = |s: &[f64], sigma| segments(s, sigma).iter().map(|s| s.start).collect::<Vec<_>>();
            prop_assert_eq!(starts(&series, 5.0), starts(&moved, 5.0 * scale));
        }
    }
}
