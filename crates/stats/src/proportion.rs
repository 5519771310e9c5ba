//! Shares estimated by counting: `hits` of `trials` yes-or-no observations.
//!
//! References: E. B. Wilson, "Probable Inference, the Law of Succession, and Statistical Inference",
//! Journal of the American Statistical Association 22, 1927; P.-S. Laplace, "Essai philosophique sur les
//! probabilités", 1814, for the rule of succession.

use crate::distributions::normal_quantile;
use crate::interval::Interval;
use crate::is_inner_share;

/// The share behind `hits` of `trials`, by the rule of succession: (hits + 1) / (trials + 2). Never 0 or 1,
/// and ½ where nothing was observed. Counts may be fractions. `None` unless 0 ≤ hits ≤ trials.
pub fn succession(hits: f64, trials: f64) -> Option<f64> {
    are_counts(hits, trials).then(|| (hits + 1.0) / (trials + 2.0))
}

/// Wilson's interval for that share at `confidence`: without observations it is 0–1. `None` unless
/// 0 ≤ hits ≤ trials and 0 < confidence < 1.
pub fn wilson_interval(hits: f64, trials: f64, confidence: f64) -> Option<Interval> {
    if !are_counts(hits, trials) || !is_inner_share(confidence) {
        return None;
    }
    if trials == 0.0 {
        return Some(Interval { low: 0.0, high: 1.0 });
    }
    let z = normal_quantile(0.5 + 0.5 * confidence)?;
    let (share, z2) = (hits / trials, z * z);
    let centre = share + z2 / (2.0 * trials);
    let half = z * (share * (1.0 - share) / trials + z2 / (4.0 * trials * trials)).sqrt();
    let scale = 1.0 + z2 / trials;
    let [low, high] = [centre - half, centre + half].map(|end| (end / scale).clamp(0.0, 1.0));
    Some(Interval { low, high })
}

fn are_counts(hits: f64, trials: f64) -> bool {
    trials.is_finite() && (0.0..=trials).contains(&hits)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::assert_close;

    /// R. G. Newcombe, "Two-sided confidence intervals for the single proportion", Statistics in Medicine 17,
    /// 1998, table I, method 3.
    #[test]
    fn ends_match_the_literature() {
        for (hits, trials, low, high) in [
            (81.0, 263.0, 0.2553, 0.3662),
            (15.0, 148.0, 0.0624, 0.1605),
            (0.0, 20.0, 0.0, 0.1611),
            (1.0, 29.0, 0.0061, 0.1718),
        ] {
            let interval = wilson_interval(hits, trials, 0.95).unwrap();
            assert_close(interval.low, low, 1e-4);
            assert_close(interval.high, high, 1e-4);
        }
    }

    #[test]
    fn estimate_is_uncertain_and_within_its_interval() {
        for trials in 0..200 {
            for hits in 0..=trials {
                let (hits, trials) = (f64::from(hits), f64::from(trials));
                let share = succession(hits, trials).unwrap();
                assert!(share > 0.0 && share < 1.0);
                assert!(wilson_interval(hits, trials, 0.95).unwrap().contains(share));
            }
        }
    }

    #[test]
    fn invalid_count_gives_nothing() {
        for (hits, trials) in [(2.0, 1.0), (-1.0, 1.0), (f64::NAN, 1.0), (1.0, f64::INFINITY)] {
            assert_eq!(succession(hits, trials), None);
            assert_eq!(wilson_interval(hits, trials, 0.95), None);
        }
        assert_eq!(wilson_interval(1.0, 2.0, 1.0), None);
    }
}
