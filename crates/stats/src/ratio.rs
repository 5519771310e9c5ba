//! How many times as large one sample is as another: ratios with intervals, for one metric and for many.
//!
//! Rounds of a rate spread by shares, so all of it happens on logarithms. References: B. L. Welch, Biometrika 34,
//! 1947 (two means with different spreads); S. Holm, Scandinavian Journal of Statistics 6, 1979 (many comparisons);
//! D. J. Schuirmann, Journal of Pharmacokinetics and Biopharmaceutics 15, 1987 (equivalence by two one-sided tests).
//! Error rates are those of the tests below.

use crate::distributions::{student_t_quantile, student_t_tail};
use crate::interval::Interval;
use crate::summary::{mean, standard_deviation};

/// Risk of all comparisons of a family together, and of each test whether two are the same within a band.
pub const RISK: f64 = 0.05;

/// Two samples compared on logarithms.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Ratio {
    /// Geometric mean of the second sample divided by that of the first.
    pub value: f64,
    /// Two-sided probability of a ratio at least this far from 1 if there is none.
    pub p_value: f64,
    /// Standard error of the ratio's logarithm.
    standard_error: f64,
    /// Degrees of freedom after Welch and Satterthwaite; infinite where nothing spreads.
    degrees: f64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RatioOutcome {
    /// The ratio is within the band around 1, even if it is not 1.
    WithinBand,
    /// The second is larger.
    Larger,
    /// The second is smaller.
    Smaller,
    /// The interval holds 1 and reaches beyond the band: the rounds do not decide.
    NotShown,
}

/// `b` against `a`. `None` with fewer than two values on a side, or one that is not above 0.
pub fn ratio(a: &[f64], b: &[f64]) -> Option<Ratio> {
    fn share(values: &[f64]) -> Option<(f64, f64)> {
        let n = values.len() as f64;
        Some((standard_deviation(values)?.powi(2) / n, n - 1.0))
    }
    let (a, b) = (logs(a)?, logs(b)?);
    let ((of_a, a_degrees), (of_b, b_degrees)) = (share(&a)?, share(&b)?);
    let difference = mean(&b)? - mean(&a)?;
    let variance = of_a + of_b;
    let standard_error = variance.sqrt();
    let degrees = variance * variance / (of_a * of_a / a_degrees + of_b * of_b / b_degrees);
    let degrees = if degrees.is_finite() { degrees.max(1.0) } else { f64::INFINITY };
    let p_value = match (standard_error > 0.0, difference == 0.0) {
        (true, _) => 2.0 * student_t_tail(difference.abs() / standard_error, degrees),
        (false, true) => 1.0,
        (false, false) => 0.0,
    };
    Some(Ratio { value: difference.exp(), p_value, standard_error, degrees })
}

fn logs(values: &[f64]) -> Option<Vec<f64>> {
    let is_usable = values.len() >= 2 && values.iter().all(|v| v.is_finite() && *v > 0.0);
    is_usable.then(|| values.iter().map(|value| value.ln()).collect())
}

impl Ratio {
    /// The interval that misses the true ratio with probability `risk`.
    pub fn interval(&self, risk: f64) -> Interval {
        let t = student_t_quantile(1.0 - 0.5 * risk, self.degrees).unwrap_or(0.0);
        let half = t * self.standard_error;
        Interval { low: self.value * (-half).exp(), high: self.value * half.exp() }
    }

    /// Whether the ratio lies within `1 / (1 + band)` to `1 + band`, by two one-sided tests of 5 % each.
    fn is_within(&self, band: f64) -> bool {
        let interval = self.interval(2.0 * RISK);
        interval.low > 1.0 / (1.0 + band) && interval.high < 1.0 + band
    }
}

/// What each of many comparisons shows, with the interval that agrees: any false difference among all of them has a
/// probability of at most `family_risk` (Holm). `band` is the share that makes no difference in practice.
///
/// The smallest p is compared with that risk divided by the number of comparisons, the next against one fewer, until
/// one fails; intervals are those of the level at which a comparison was judged.
pub fn judge_all(ratios: &[Ratio], band: f64, family_risk: f64) -> Vec<(RatioOutcome, Interval)> {
    let mut order: Vec<usize> = (0..ratios.len()).collect();
    order.sort_by(|a, b| ratios[*a].p_value.total_cmp(&ratios[*b].p_value));
    let mut judged = vec![None; ratios.len()];
    let mut all_shown = true;
    let mut risk = family_risk;
    for (rank, i) in order.into_iter().enumerate() {
        if all_shown {
            risk = family_risk / (ratios.len() - rank) as f64;
        }
        all_shown &= ratios[i].p_value <= risk;
        let outcome = match (ratios[i].is_within(band), all_shown, ratios[i].value > 1.0) {
            (true, ..) => RatioOutcome::WithinBand,
            (false, false, _) => RatioOutcome::NotShown,
            (false, true, true) => RatioOutcome::Larger,
            (false, true, false) => RatioOutcome::Smaller,
        };
        judged[i] = Some((outcome, ratios[i].interval(risk)));
    }
    judged.into_iter().flatten().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{assert_close, noisy};

    const BAND: f64 = 0.03;

    #[test]
    fn welch_on_logarithms() {
        // scipy.stats.ttest_ind(numpy.log(b), numpy.log(a), equal_var=False), its confidence_interval(0.95)
        let got = ratio(&[100.0, 104.0, 98.0], &[110.0, 113.0, 120.0, 108.0]).unwrap();
        assert_close(got.value, 1.119_478_853_157_5, 1e-12);
        assert_close(got.p_value, 0.011_410_354_019_7, 1e-9);
        let interval = got.interval(0.05);
        assert_close(interval.low, 1.039_296_482_403, 1e-9);
        assert_close(interval.high, 1.205_847_343_742, 1e-9);
    }

    #[test]
    fn rounds_without_spread_or_comparison() {
        let same = ratio(&[5.0, 5.0], &[5.0, 5.0]).unwrap();
        assert_eq!((same.value, same.p_value, same.interval(0.05).width()), (1.0, 1.0, 0.0));
        assert_eq!(ratio(&[5.0, 5.0], &[10.0, 10.0]).unwrap().p_value, 0.0);
        assert!(ratio(&[5.0], &[5.0, 6.0]).is_none());
        assert!(ratio(&[0.0, 5.0], &[5.0, 6.0]).is_none());
        assert!(ratio(&[f64::NAN, 5.0], &[5.0, 6.0]).is_none());
    }

    /// Rounds of two drives, the second `factor` times as fast.
    fn pair(rounds: usize, cv: f64, factor: f64, seed: u64) -> Ratio {
        let a = noisy(rounds, cv, 2 * seed, |_| 100.0);
        let b = noisy(rounds, cv, 2 * seed + 1, |_| 100.0 * factor);
        ratio(&a, &b).unwrap()
    }

    fn is_difference(outcome: RatioOutcome) -> bool {
        matches!(outcome, RatioOutcome::Larger | RatioOutcome::Smaller)
    }

    #[test]
    fn equal_drives_differ_falsely_in_5_percent() {
        for (rounds, cv) in [(3, 0.02), (5, 0.05), (10, 0.2)] {
            let is_false = |family: &u64| {
                let ratios: Vec<Ratio> =
                    (0..8).map(|i| pair(rounds, cv, 1.0, family * 8 + i)).collect();
                judge_all(&ratios, BAND, RISK)
                    .into_iter()
                    .any(|(outcome, _)| is_difference(outcome))
            };
            let alarms = (0..400).filter(is_false).count();
            // 5 % of 400 are 20; 31 or more have a probability below 1 %.
            assert!(alarms <= 30, "{alarms} of 400 with {rounds} rounds");
        }
    }

    #[test]
    fn the_true_ratio_lies_within_its_interval() {
        for (rounds, cv) in [(3, 0.02), (5, 0.1), (10, 0.2)] {
            let held = (0..1_000)
                .filter(|seed| pair(rounds, cv, 1.3, *seed).interval(0.05).contains(1.3))
                .count();
            assert!((930..=975).contains(&held), "{held} of 1,000 with {rounds} rounds");
        }
    }

    #[test]
    fn true_difference_is_found_small_one_ignored() {
        let found = |seed: &u64| {
            let outcome = judge_all(&[pair(10, 0.01, 1.05, *seed)], BAND, RISK)[0].0;
            outcome == RatioOutcome::Larger
        };
        assert!((0..200).filter(found).count() >= 195);
        let same = |seed: &u64| judge_all(&[pair(10, 0.01, 1.005, *seed)], BAND, RISK)[0].0;
        assert!((0..200).filter(|seed| same(seed) == RatioOutcome::WithinBand).count() >= 195);
    }
}
