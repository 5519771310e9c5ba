//! Bootstrap intervals of any statistic, for independent values and for series.
//!
//! References: B. Efron and R. J. Tibshirani, "An Introduction to the Bootstrap", 1993, chapter 13
//! (percentile interval); H. R. Künsch, "The Jackknife and the Bootstrap for General Stationary
//! Observations", Annals of Statistics 17(3), 1989 (moving blocks).

use crate::interval::Interval;
use crate::random::Random;
use crate::summary::quantile_sorted;
use crate::{is_inner_share, sorted, usable};

/// How often to resample, how sure to be, and from which seed.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Resampling {
    /// Number of resamples; 10 000 gives about two stable digits of the ends.
    pub resamples: usize,
    /// Confidence between 0 and 1.
    pub confidence: f64,
    /// The same seed gives the same interval.
    pub seed: u64,
}

/// Percentile interval of `statistic` for independent `values`.
///
/// `statistic` sees resamples as long as `values` and may be any function of this crate such as
/// [`crate::summary::median`]. The percentile interval is too narrow below about 20 values and useless
/// for extremes (minimum, maximum, a 99th percentile of few values).
///
/// `None` for an empty or non-finite slice, no resamples, a confidence outside 0–1, or if the statistic
/// is `None` or not finite for any resample. One value gives an interval of no width.
pub fn bootstrap_interval(
    values: &[f64],
    statistic: impl Fn(&[f64]) -> Option<f64>,
    how: Resampling,
) -> Option<Interval> {
    moving_block_interval(values, 1, statistic, how)
}

/// Percentile interval of `statistic` for a stationary series whose neighbours are correlated.
///
/// Resamples are glued from runs of `block` consecutive values (the last one cut to length), which keeps
/// the correlation within a run. A block should be several times the integrated autocorrelation time
/// ([`crate::autocorrelation::integrated_time`]); [`block_length`] is the rule when that is unknown.
/// `block` 1 is the ordinary bootstrap. `None` as in [`bootstrap_interval`], and for a block of 0 or
/// longer than the series.
pub fn moving_block_interval(
    series: &[f64],
    block: usize,
    statistic: impl Fn(&[f64]) -> Option<f64>,
    how: Resampling,
) -> Option<Interval> {
    let n = series.len();
    if !usable(series) || block == 0 || block > n || how.resamples == 0 {
        return None;
    }
    if !is_inner_share(how.confidence) {
        return None;
    }
    let mut random = Random::new(how.seed);
    let mut resample = Vec::with_capacity(n);
    let mut outcomes = Vec::with_capacity(how.resamples);
    for _ in 0..how.resamples {
        resample.clear();
        while resample.len() < n {
            let start = random.below(n - block + 1);
            let length = block.min(n - resample.len());
            resample.extend_from_slice(&series[start..start + length]);
        }
        outcomes.push(statistic(&resample)?);
    }
    let ascending = sorted(&outcomes)?;
    let risk = 0.5 * (1.0 - how.confidence);
    Some(Interval {
        low: quantile_sorted(&ascending, risk)?,
        high: quantile_sorted(&ascending, 1.0 - risk)?,
    })
}

/// Block length n^(1/3), rounded up: the order that is optimal for variances (P. Hall, J. L. Horowitz and
/// B.-Y. Jing, Biometrika 82(3), 1995).
pub fn block_length(n: usize) -> usize {
    (n as f64).cbrt().ceil() as usize
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::summary::{mean, median};
    use crate::testing::{assert_close, noisy};
    use proptest::prelude::*;

    const HOW: Resampling = Resampling { resamples: 4000, confidence: 0.95, seed: 7 };

    #[test]
    fn mean_of_many_values_matches_the_normal_interval() {
        let values = noisy(400, 0.1, 3, |_| 100.0);
        let interval = bootstrap_interval(&values, mean, HOW).unwrap();
        let error = crate::summary::standard_deviation(&values).unwrap() / 20.0;
        assert_close(interval.width(), 2.0 * 1.96 * error, 0.05);
        assert!(interval.contains(mean(&values).unwrap()));
    }

    #[test]
    fn blocks_widen_the_interval_of_a_correlated_series() {
        // First-order autoregression with φ = 0.9: the error of the mean is √19 times the naive one.
        let noise = noisy(4000, 1.0, 5, |_| 1.0);
        let series: Vec<f64> = noise
            .iter()
            .scan(0.0, |state, step| {
                *state = 0.9 * *state + (step - 1.0);
                Some(*state)
            })
            .collect();
        let how = Resampling { resamples: 500, ..HOW };
        let naive = bootstrap_interval(&series, mean, how).unwrap().width();
        let blocks = moving_block_interval(&series, 100, mean, how).unwrap().width();
        assert!((3.0..5.5).contains(&(blocks / naive)), "{}", blocks / naive);
    }

    #[test]
    fn edges() {
        assert_eq!(bootstrap_interval(&[], median, HOW), None);
        assert_eq!(bootstrap_interval(&[1.0, f64::NAN], median, HOW), None);
        assert_eq!(bootstrap_interval(&[1.0], |_| None, HOW), None);
        assert_eq!(bootstrap_interval(&[1.0], |_| Some(f64::NAN), HOW), None);
        assert_eq!(moving_block_interval(&[1.0, 2.0], 3, median, HOW), None);
        assert_eq!(moving_block_interval(&[1.0, 2.0], 0, median, HOW), None);
        let one = bootstrap_interval(&[5.0], median, HOW).unwrap();
        assert_eq!((one.low, one.high), (5.0, 5.0));
        assert_eq!((block_length(1), block_length(27), block_length(1000)), (1, 3, 10));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(40))]
        #[test]
        fn a_shift_moves_the_interval(
            values in prop::collection::vec(-1e3..1e3f64, 3..30), shift in -1e3..1e3f64, seed: u64,
        ) {
            let how = Resampling { resamples: 200, confidence: 0.9, seed };
            let moved: Vec<f64> = values.iter().map(|v| v + shift).collect();
            let at = bootstrap_interval(&values, median, how).unwrap();
            let then = bootstrap_interval(&moved, median, how).unwrap();
            prop_assert!((then.low - at.low - shift).abs() < 1e-9);
            prop_assert!((then.high - at.high - shift).abs() < 1e-9);
        }
    }
}
