//! The ratio of two things measured in pairs, with intervals that hold however often one looks: measuring may stop as
//! soon as they are narrow enough.
//!
//! An ordinary interval of 95 % misses the truth in 5 % of cases at one look; who looks after every pair and stops
//! when it pleases misses it far more often (a third of the time in the test below). Here all looks together miss it in
//! at most 5 %, for differences of logarithms that are independent and Gaussian.
//!
//! Method: the Bayes factor of the t statistic with a Gaussian prior on the standardised effect (Gönen et al., The
//! American Statistician 59, 2005) is a martingale if the mean is the true one (Lai, Annals of Statistics 4, 1976;
//! Wang and Ramdas, "Anytime-valid t-tests", 2023), so it ever exceeds 1/risk with probability `risk` at most
//! (Ville). The interval holds the means of which it does not. Coverage: the tests below.

use crate::interval::Interval;
use crate::summary::{mean, standard_deviation};

/// Variance of the prior on the mean in standard deviations: narrowest for five to twenty pairs.
const PRIOR_VARIANCE: f64 = 4.0;

/// How many times as large the second of each pair is.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PairedRatio {
    /// Geometric mean of the pairs' ratios.
    pub value: f64,
    /// Holds the true ratio at every look; nothing while there are too few pairs to say anything (four at 5 %).
    pub interval: Option<Interval>,
}

/// The ratio after these pairs, each `(first, second)`, of one of several sequences that together miss the truth with
/// probability `risk × sequences` at most. `None` with fewer than two pairs, or a value that is not above 0.
pub fn paired_ratio(pairs: &[(f64, f64)], risk: f64) -> Option<PairedRatio> {
    if pairs.len() < 2 || !pairs.iter().all(|(a, b)| is_usable(*a) && is_usable(*b)) {
        return None;
    }
    let logs: Vec<f64> = pairs.iter().map(|(a, b)| (b / a).ln()).collect();
    let (center, deviation) = (mean(&logs)?, standard_deviation(&logs)?);
    let interval = half_width(logs.len(), risk).map(|half| Interval {
        low: (center - half * deviation).exp(),
        high: (center + half * deviation).exp(),
    });
    Some(PairedRatio { value: center.exp(), interval })
}

fn is_usable(value: f64) -> bool {
    value.is_finite() && value > 0.0
}

/// Half the width of the interval after `n` values, in standard deviations.
///
/// With k = n·prior and x = t²/(n−1) the Bayes factor is (1+k)^(−1/2) · ((1+x) / (1+x/(1+k)))^(n/2); this solves for
/// the x at which it reaches 1/risk. While it cannot, nothing is excluded.
fn half_width(n: usize, risk: f64) -> Option<f64> {
    let count = n as f64;
    let spread = 1.0 + count * PRIOR_VARIANCE;
    let bound = (spread / (risk * risk)).powf(1.0 / count);
    let x = (bound - 1.0) / (1.0 - bound / spread);
    (bound < spread).then(|| ((count - 1.0) * x / count).sqrt())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::distributions::student_t_quantile;
    use crate::random::Random;
    use crate::testing::assert_close;

    const TRUE_RATIO: f64 = 1.03;
    const LOOKS: usize = 60;

    /// Pairs of drives whose true ratio is known; `spread` is that of each measurement.
    fn pairs(seed: u64, spread: impl Fn(&mut Random) -> f64) -> Vec<(f64, f64)> {
        let mut random = Random::new(seed);
        let mut one = |level: f64| level * spread(&mut random).exp();
        (0..LOOKS).map(|_| (one(100.0), one(100.0 * TRUE_RATIO))).collect()
    }

    fn gaussian(random: &mut Random) -> f64 {
        0.02 * random.normal()
    }

    /// Of 1,000 sequences of looks, those with a look that misses the truth.
    fn missed(
        spread: impl Fn(&mut Random) -> f64 + Copy,
        interval: impl Fn(&[(f64, f64)]) -> Option<Interval>,
    ) -> usize {
        let misses = |seed: &u64| {
            let pairs = pairs(*seed, spread);
            let mut looks = (2..=LOOKS).filter_map(|n| interval(&pairs[..n]));
            looks.any(|interval| !interval.contains(TRUE_RATIO))
        };
        (0..1_000).filter(misses).count()
    }

    fn sequence(pairs: &[(f64, f64)]) -> Option<Interval> {
        paired_ratio(pairs, 0.05)?.interval
    }

    #[test]
    fn all_looks_together_miss_at_most_5_percent() {
        let missed = missed(gaussian, sequence);
        assert!((5..=50).contains(&missed), "{missed} of 1,000");
    }

    #[test]
    fn repeated_ordinary_intervals_miss_the_truth_more_often() {
        assert!(missed(gaussian, ordinary_interval) > 250);
    }

    fn ordinary_interval(pairs: &[(f64, f64)]) -> Option<Interval> {
        let logs: Vec<f64> = pairs.iter().map(|(a, b)| (b / a).ln()).collect();
        let t = student_t_quantile(0.975, logs.len() as f64 - 1.0)?;
        let half = t * standard_deviation(&logs)? / (logs.len() as f64).sqrt();
        let center = mean(&logs)?;
        Some(Interval { low: (center - half).exp(), high: (center + half).exp() })
    }

    #[test]
    fn rare_stalls_do_not_break_the_interval() {
        let stalling = |random: &mut Random| {
            let stall = if random.below(20) == 0 { -0.3 } else { 0.0 };
            0.02 * random.normal() + stall
        };
        let missed = missed(stalling, sequence);
        assert!(missed <= 50, "{missed} of 1,000");
    }

    #[test]
    fn three_percent_difference_is_found_in_ten_pairs() {
        let found = |seed: &u64| {
            let pairs = pairs(*seed, |random| 0.01 * random.normal());
            (2..=10).filter_map(|n| sequence(&pairs[..n])).any(|interval| interval.low > 1.0)
        };
        let found = (0..200).filter(found).count();
        assert!(found >= 180, "{found} of 200");
    }

    #[test]
    fn bound_is_at_bayes_factor_one_over_risk() {
        let (n, risk) = (10.0, 0.05);
        let t = half_width(10, risk).unwrap() * f64::sqrt(n);
        let (x, spread) = (t * t / (n - 1.0), 1.0 + n * PRIOR_VARIANCE);
        let factor = spread.powf(-0.5) * ((1.0 + x) / (1.0 + x / spread)).powf(n / 2.0);
        assert_close(factor, 1.0 / risk, 1e-9);
    }

    #[test]
    fn too_few_pairs_exclude_nothing() {
        let pairs = [(100.0, 110.0), (101.0, 111.0), (99.0, 109.0)];
        assert!(paired_ratio(&pairs[..1], 0.05).is_none());
        let three = paired_ratio(&pairs, 0.05).unwrap();
        assert_eq!(three.interval, None);
        assert_close(three.value, 1.1, 0.001);
        assert!(paired_ratio(&[(1.0, 0.0), (1.0, 1.0)], 0.05).is_none());
    }
}
