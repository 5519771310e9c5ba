//! Confidence intervals for a median and for any other quantile.
//!
//! References: H. A. David and H. N. Nagaraja, "Order Statistics", 3rd ed. 2003, section 7.1 (intervals
//! for quantiles, free of any assumption on the distribution); Student, "The Probable Error of a Mean",
//! Biometrika 6, 1908.

use crate::distributions::{binomial_cdf, student_t_quantile};
use crate::summary::{mean, quantile_sorted, standard_deviation};
use crate::{is_inner_share, sorted, usable};

/// A closed interval in the unit of the values it was computed from.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Interval {
    pub low: f64,
    /// Upper end, never below `low`.
    pub high: f64,
}

impl Interval {
    /// Whether `value` lies inside, ends included.
    pub fn contains(self, value: f64) -> bool {
        self.low <= value && value <= self.high
    }

    pub fn width(self) -> f64 {
        self.high - self.low
    }
}

/// Interval that contains the median of the distribution behind `rounds` with at least `confidence`
/// (0.95 for reports); it always contains the sample's own median.
///
/// - Where two order statistics reach the confidence, they are the ends: at 95 % from six rounds on
///   (the whole range of six rounds covers 1 − 2/2⁶ = 96.9 %).
/// - With fewer rounds even the range falls short (five: 93.8 %). Rounds that are all above 0, as rates and times are,
///   are then taken to spread by shares, as [`crate::ratio`] takes them: their logarithms are Gaussian, and the
///   interval is exp(mean ± t·s/√n) of these, never down to 0. (Order statistics are the same on either scale.) Other
///   rounds are Gaussian themselves. Both are widened if needed to contain the median, and wide for two rounds
///   (t = 12.7), which says truthfully how little two rounds show.
/// - One round: both ends equal it; nothing is known about its spread.
///
/// `None` for an empty or non-finite slice or a confidence outside 0–1.
pub fn median_interval(rounds: &[f64], confidence: f64) -> Option<Interval> {
    let ascending = sorted(rounds)?;
    if !is_inner_share(confidence) {
        return None;
    }
    // One round, or all the same: nothing to compute, and nothing for logarithms to round.
    if ascending.first() == ascending.last() {
        return ascending.first().map(|&only| Interval { low: only, high: only });
    }
    if let Some(interval) = quantile_interval(&ascending, 0.5, confidence) {
        return Some(interval);
    }
    let median = quantile_sorted(&ascending, 0.5)?;
    let Interval { low, high } = if ascending[0] > 0.0 {
        // Two rounds that have nothing to do with each other: still numbers that a document can hold.
        fn number(log: f64) -> f64 {
            log.exp().clamp(f64::MIN_POSITIVE, f64::MAX)
        }
        let logs: Vec<f64> = rounds.iter().map(|value| value.ln()).collect();
        let of_logs = mean_interval(&logs, confidence)?;
        Interval { low: number(of_logs.low), high: number(of_logs.high) }
    } else {
        mean_interval(rounds, confidence)?
    };
    Some(Interval { low: low.min(median), high: high.max(median) })
}

/// mean ± t·s/√n.
fn mean_interval(values: &[f64], confidence: f64) -> Option<Interval> {
    let n = values.len() as f64;
    let t = student_t_quantile(0.5 + 0.5 * confidence, n - 1.0)?;
    let half_width = t * standard_deviation(values)? / n.sqrt();
    let centre = mean(values)?;
    Some(Interval { low: centre - half_width, high: centre + half_width })
}

/// Interval between two order statistics that contains the quantile `q` of the distribution with at
/// least `confidence`, at most half of the risk on either side.
///
/// `ascending` must be sorted. `None` if the sample is too small for a finite end on both sides (a 99th
/// percentile at 95 % needs 368 values, a median six), not sorted, or non-finite, or if `q` or
/// `confidence` lies outside 0–1. The values must be independent: thin or block correlated ones first.
fn quantile_interval(ascending: &[f64], q: f64, confidence: f64) -> Option<Interval> {
    if !(usable(ascending) && ascending.is_sorted()) {
        return None;
    }
    if !is_inner_share(q) || !is_inner_share(confidence) {
        return None;
    }
    let n = ascending.len() as u64;
    let risk = 0.5 * (1.0 - confidence);
    // The number of values below the true quantile is binomial (n, q). Count from 1: the l-th smallest
    // value exceeds the quantile with probability P(B < l), the u-th lies below it with 1 − P(B < u).
    let below = |rank: u64| binomial_cdf(rank - 1, n, q).expect("q lies between 0 and 1");
    let first_above = |level: f64| {
        let (mut low, mut high) = (1, n + 1);
        while low < high {
            let middle = u64::midpoint(low, high);
            if below(middle) > level { high = middle } else { low = middle + 1 }
        }
        low
    };
    let low_rank = first_above(risk).checked_sub(1).filter(|&rank| rank >= 1)?;
    // A hair below 1 − risk, so that rounding cannot break the symmetry of the two sides.
    let high_rank = Some(first_above(1.0 - risk - 1e-12)).filter(|&rank| rank <= n)?;
    Some(Interval {
        low: ascending[low_rank as usize - 1],
        high: ascending[high_rank as usize - 1],
    })
}

/// The ranks, from 1, of the order statistics of `n` independent values that enclose the quantile `share` with a risk
/// of at most `risk`, half of it on each side (David and Nagaraja, 7.1). A side is `None` where even the smallest or
/// the largest value does not bound it: two-sided 95 % for the 99th percentile need 368 values above.
pub fn quantile_ranks(n: u64, share: f64, risk: f64) -> (Option<u64>, Option<u64>) {
    // The value at a rank is above the quantile exactly where fewer values than that lie at or below it.
    let below = |rank: u64| binomial_cdf(rank - 1, n, share).unwrap_or(f64::NAN);
    let (mut low, mut high) = (0, n + 1);
    let first_from = |mut from: u64, mut to: u64, is_reached: &dyn Fn(u64) -> bool| {
        while from < to {
            let middle = from + (to - from) / 2;
            if is_reached(middle) { to = middle } else { from = middle + 1 }
        }
        from
    };
    if n > 0 && is_inner_share(share) && is_inner_share(risk) {
        low = first_from(1, n + 1, &|rank| below(rank) > risk / 2.0) - 1;
        high = first_from(1, n + 1, &|rank| below(rank) >= 1.0 - risk / 2.0);
    }
    ((low > 0).then_some(low), (high <= n).then_some(high))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::summary::median;
    use crate::testing::{assert_close, noisy};
    use proptest::prelude::*;

    fn ramp(n: usize) -> Vec<f64> {
        (1..=n).map(|i| i as f64).collect()
    }

    #[test]
    fn median_ranks() {
        // Largest r with scipy.stats.binom.cdf(r - 1, n, 0.5) <= 0.025; the upper rank is n + 1 - r.
        for (n, low) in [(6, 1), (8, 1), (9, 2), (11, 2), (12, 3), (15, 4), (20, 6), (30, 10)] {
            let interval = median_interval(&ramp(n), 0.95).unwrap();
            assert_eq!(
                (interval.low, interval.high),
                (f64::from(low), (n + 1) as f64 - f64::from(low))
            );
        }
    }

    #[test]
    fn few_rounds_use_student_t() {
        // scipy.stats.t.interval(0.95, 2, numpy.mean(x), scipy.stats.sem(x)), of the logarithms x where all are above 0
        let three = median_interval(&[101.2, 99.1, 100.4], 0.95).unwrap();
        assert_close(three.low, 97.627868602773, 1e-9);
        assert_close(three.high, 102.900648529420, 1e-9);
        let with_zero = median_interval(&[1.2, -0.9, 0.4], 0.95).unwrap();
        assert_close(with_zero.low, -2.39954015242758, 1e-9);
        assert_close(with_zero.high, 2.86620681909427, 1e-9);
        // A far round shifts the mean; at a low confidence the t interval misses the median.
        let skewed = [10.0, 10.0, 10.1, 40.0];
        assert!(median_interval(&skewed, 0.2).unwrap().contains(10.05));
        for same in [&[7.0][..], &[7.0; 4], &[0.3; 3]] {
            let only = Interval { low: same[0], high: same[0] };
            assert_eq!(median_interval(same, 0.95), Some(only));
        }
        assert_eq!(median_interval(&[], 0.95), None);
        assert_eq!(median_interval(&[1.0, f64::NAN], 0.95), None);
        assert_eq!(median_interval(&[1.0, 2.0], 1.0), None);
    }

    #[test]
    fn a_99th_percentile_needs_368_values() {
        assert_eq!(quantile_interval(&ramp(367), 0.99, 0.95), None);
        assert_eq!(quantile_interval(&ramp(368), 0.99, 0.95).unwrap().high, 368.0);
        // scipy.stats.binom.ppf([.025, .975], 1000, .99) = [983, 996]: the ranks 983 and 997.
        let thousand = quantile_interval(&ramp(1000), 0.99, 0.95).unwrap();
        assert_eq!((thousand.low, thousand.high), (983.0, 997.0));
        assert_eq!(quantile_interval(&[2.0, 1.0], 0.5, 0.1), None, "not sorted");
    }

    #[test]
    fn coverage_is_as_promised() {
        for (n, spread) in [(3, 0.05), (5, 0.05), (3, 0.2), (5, 0.2), (6, 0.05), (15, 0.05)] {
            let inside = |seed: &u64| {
                median_interval(&noisy(n, spread, *seed, |_| 100.0), 0.95).unwrap().contains(100.0)
            };
            let hits = (0..2000).filter(inside).count();
            assert!(hits >= 1880, "n = {n}, spread {spread}: {hits} of 2000");
        }
    }

    #[test]
    fn scattered_rate_has_an_interval_above_zero() {
        // One of five rounds at 190 MB/s, the others at 42: the interval of the ratio to 181 was 0.10 to 0.54, that of
        // the rate 0 to 154.
        let interval = median_interval(&[190.0, 42.0, 42.1, 41.9, 42.0], 0.95).unwrap();
        assert!(interval.low > 20.0 && interval.high < 140.0, "{interval:?}");
        let far = median_interval(&[1e-300, 1e300], 0.95).unwrap();
        assert!(far.low > 0.0 && far.high.is_finite(), "{far:?}");
    }

    proptest! {
        #[test]
        fn the_interval_contains_the_median(
            values in prop::collection::vec(-1e6..1e6f64, 1..60), confidence in 0.05..0.999f64,
        ) {
            let interval = median_interval(&values, confidence).unwrap();
            prop_assert!(interval.contains(median(&values).unwrap()));
        }

        #[test]
        fn more_confidence_is_never_narrower(values in prop::collection::vec(0.0..1e3f64, 6..60)) {
            let at = |confidence| median_interval(&values, confidence).unwrap();
            // Above 0.97 small samples switch to the t interval, which is another assumption.
            prop_assert!(at(0.8).width() <= at(0.95).width());
        }
    }

    #[test]
    fn ranks_enclose_a_quantile_as_often_as_they_say() {
        assert_eq!(quantile_ranks(6, 0.5, 0.05), (Some(1), Some(6)));
        assert_eq!(
            quantile_ranks(160, 0.99, 0.05),
            (Some(156), None),
            "160 values have no upper end"
        );
        assert_eq!(quantile_ranks(367, 0.99, 0.05).1, None);
        assert!(quantile_ranks(368, 0.99, 0.05).1.is_some());
        assert_eq!(quantile_ranks(0, 0.5, 0.05), (None, None));
        let mut random = crate::random::Random::new(7);
        for (n, share) in [(40, 0.5), (400, 0.99), (2_000, 0.99)] {
            let (low, high) = quantile_ranks(n, share, 0.05);
            let (low, high) = (low.unwrap(), high.unwrap());
            let held = (0..1_000).filter(|_| {
                // Of even numbers below 10,000, this share lies below their quantile.
                let values = (0..n).map(|_| random.below(10_000) < (share * 1e4) as usize);
                let below = values.filter(|is_below| *is_below).count() as u64;
                low <= below && below < high
            });
            let held = held.count();
            assert!((935..=998).contains(&held), "{held} of 1,000 with {n} values");
        }
    }
}
