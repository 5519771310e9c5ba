//! Bootstrap intervals of any statistic of independent values.
//!
//! Reference: B. Efron and R. J. Tibshirani, "An Introduction to the Bootstrap", 1993, chapter 13
//! (percentile interval).

use crate::interval::Interval;
use crate::random::Random;
use crate::summary::quantile_sorted;
use crate::{is_inner_share, sorted, usable};

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Resampling {
    /// Number of resamples; 10 000 gives about two stable digits of the ends.
    pub resamples: usize,
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
    if !usable(values) || how.resamples == 0 || !is_inner_share(how.confidence) {
        return None;
    }
    let mut random = Random::new(how.seed);
    let mut outcomes = Vec::with_capacity(how.resamples);
    for _ in 0..how.resamples {
        let resample: Vec<f64> =
            values.iter().map(|_| values[random.below(values.len())]).collect();
        outcomes.push(statistic(&resample)?);
    }
    let ascending = sorted(&outcomes)?;
    let risk = 0.5 * (1.0 - how.confidence);
    Some(Interval {
        low: quantile_sorted(&ascending, risk)?,
        high: quantile_sorted(&ascending, 1.0 - risk)?,
    })
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
    fn edges() {
        assert_eq!(bootstrap_interval(&[], median, HOW), None);
        assert_eq!(bootstrap_interval(&[1.0, f64::NAN], median, HOW), None);
        assert_eq!(bootstrap_interval(&[1.0], |_| None, HOW), None);
        assert_eq!(bootstrap_interval(&[1.0], |_| Some(f64::NAN), HOW), None);
        let one = bootstrap_interval(&[5.0], median, HOW).unwrap();
        assert_eq!((one.low, one.high), (5.0, 5.0));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(ProptestConfig::default().cases / 6))]
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
