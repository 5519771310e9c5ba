//! Straight lines through points, and the steady-state rule.
//!
//! References: P. K. Sen, JASA 63(324), 1968 (Theil–Sen slope and its interval); SNIA, "Solid State Storage Performance Test
//! Specification" 2.0, definition of steady state.

use crate::distributions::normal_quantile;
use crate::interval::Interval;
use crate::summary::{max, mean, min};
use crate::usable;

/// y = intercept + slope · x.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LineFit {
    pub intercept: f64,
    pub slope: f64,
}

/// The line with the least squared deviations in y. One outlier can turn it; see [`theil_sen_interval`].
/// `None` for slices of different length, fewer than two different `x`, or non-finite values.
pub fn least_squares(x: &[f64], y: &[f64]) -> Option<LineFit> {
    if x.len() != y.len() {
        return None;
    }
    let (x_mean, y_mean) = (mean(x)?, mean(y)?);
    let mixed: f64 = x.iter().zip(y).map(|(x, y)| (x - x_mean) * (y - y_mean)).sum();
    let squared: f64 = x.iter().map(|x| (x - x_mean).powi(2)).sum();
    let slope = mixed / squared;
    slope.is_finite().then_some(LineFit { intercept: y_mean - slope * x_mean, slope })
}

/// The 95 % interval of the median of the slopes of all pairs of points, from the variance of Kendall's statistic:
/// holds up to 29 % of outliers. Takes memory for n²/2 slopes, so thin series beyond a few thousand points. `None` as
/// [`least_squares`], and with so few points (below four) that it would be the whole line.
pub fn theil_sen_interval(x: &[f64], y: &[f64]) -> Option<Interval> {
    let mut slopes = slopes(x, y)?;
    slopes.sort_unstable_by(f64::total_cmp);
    let n = x.len() as f64;
    let reach = normal_quantile(0.975)? * (n * (n - 1.0) * (2.0 * n + 5.0) / 18.0).sqrt();
    let all = slopes.len() as f64;
    let low = ((all - reach) / 2.0).floor();
    let high = ((all + reach) / 2.0).ceil();
    (low >= 0.0 && high < all)
        .then(|| Interval { low: slopes[low as usize], high: slopes[high as usize] })
}

/// Slopes of all pairs of points with different `x`.
fn slopes(x: &[f64], y: &[f64]) -> Option<Vec<f64>> {
    if x.len() != y.len() || !usable(x) || !usable(y) {
        return None;
    }
    let from = |i: usize| {
        let later = (i + 1..x.len()).filter(move |&j| x[j] != x[i]);
        later.map(move |j| (y[j] - y[i]) / (x[j] - x[i]))
    };
    Some((0..x.len()).flat_map(from).collect())
}

/// Rounds in the specification's window; fewer say nothing about steadiness.
pub const STEADY_WINDOW: usize = 5;
/// Largest allowed range within the window, as a share of its mean.
const RANGE_MAX: f64 = 0.20;
/// Largest allowed rise or fall of the fitted line over the window, as a share of the mean.
const DRIFT_MAX: f64 = 0.10;

/// A window of rounds against the steady-state rule.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SteadyState {
    /// Both shares are within their limits (20 % and 10 %).
    pub reached: bool,
    /// Mean of the window, in the unit of the rounds.
    pub mean: f64,
    /// (largest − smallest) / mean.
    pub range_share: f64,
    /// Change of the least-squares line from the first round to the last / mean; negative if it falls.
    pub drift_share: f64,
}

/// Applies the steady-state rule to `window`, the last rounds (five in the specification) in order.
/// `None` below five rounds, for non-finite values, or if the mean is not positive.
pub fn steady_state(window: &[f64]) -> Option<SteadyState> {
    if window.len() < STEADY_WINDOW {
        return None;
    }
    let mean = mean(window).filter(|&m| m > 0.0)?;
    let rounds: Vec<f64> = (0..window.len()).map(|i| i as f64).collect();
    let range = max(window)? - min(window)?;
    let drift = least_squares(&rounds, window)?.slope * (window.len() - 1) as f64;
    // A last-bit allowance, so that exactly 20 % and 10 % pass as the rule says.
    let within = |value: f64, limit: f64| value <= limit * mean * (1.0 + 1e-12);
    Some(SteadyState {
        reached: within(range, RANGE_MAX) && within(drift.abs(), DRIFT_MAX),
        mean,
        range_share: range / mean,
        drift_share: drift / mean,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::summary::median;
    use crate::testing::{assert_close, noisy};
    use proptest::prelude::*;

    const X: [f64; 6] = [1., 2., 4., 7., 11., 12.];
    const Y: [f64; 6] = [3.1, 4.9, 9.2, 15.1, 22.8, 60.0];

    /// The rates of docs/methods.md: how often five points around a constant meet the rule.
    #[test]
    fn chance_meets_the_rule_at_documented_rate() {
        for (cv, least, most) in [(0.03, 0.97, 1.0), (0.05, 0.82, 0.91), (0.10, 0.24, 0.36)] {
            let windows = 1_000;
            let met = (0..windows).filter(|&seed| {
                steady_state(&noisy(STEADY_WINDOW, cv, seed, |_| 900.0)).unwrap().reached
            });
            let share = met.count() as f64 / windows as f64;
            assert!((least..=most).contains(&share), "{cv}: {share}");
        }
    }

    #[test]
    fn lines() {
        // numpy.polyfit; scipy.stats.theilslopes.
        let line = least_squares(&X, &Y).unwrap();
        assert_close(line.slope, 3.89781591, 1e-8);
        assert_close(line.intercept, -4.85319813, 1e-8);
        let slopes = slopes(&X, &Y).unwrap();
        assert_close(median(&slopes).unwrap(), 2.033333333333333, 1e-14);
    }

    #[test]
    fn lines_without_an_answer() {
        for (x, y) in [
            (&[][..], &[][..]),
            (&[1.0], &[1.0]),
            (&[1.0, 1.0], &[1.0, 2.0]),
            (&[1.0, 2.0], &[1.0]),
            (&[1.0, 2.0], &[1.0, f64::NAN]),
        ] {
            assert_eq!(least_squares(x, y), None, "{x:?} {y:?}");
            assert_eq!(theil_sen_interval(x, y), None, "{x:?} {y:?}");
        }
    }

    #[test]
    fn steady_state_rule() {
        for (window, reached, why) in [
            ([100., 98., 99., 97., 97.5], true, "small range, small drift"),
            ([110., 90., 100., 90., 110.], true, "a range of exactly 20 %"),
            ([111., 90., 100., 90., 110.], false, "a range above 20 %"),
            ([95., 97.5, 100., 102.5, 105.], true, "a drift of exactly 10 %"),
            ([94., 97., 100., 103., 106.], false, "a drift of 12 %"),
            ([106., 103., 100., 97., 94.], false, "a drift of -12 %"),
        ] {
            assert_eq!(steady_state(&window).unwrap().reached, reached, "{why}");
        }
        let state = steady_state(&[100., 98., 99., 97., 97.5]).unwrap();
        assert_close(state.range_share, 3.0 / 98.3, 1e-12);
        assert_close(state.drift_share, -2.4 / 98.3, 1e-12); // numpy.polyfit slope: -0.6
    }

    #[test]
    fn steady_state_without_an_answer() {
        assert_eq!(steady_state(&[100.0; 4]), None);
        assert_eq!(steady_state(&[0.0; 5]), None);
        assert_eq!(steady_state(&[1.0, 1.0, 1.0, 1.0, f64::INFINITY]), None);
    }

    proptest! {
        #[test]
        fn both_find_an_exact_line(
            a in -10.0..10.0f64, b in -10.0..10.0f64, x in prop::collection::btree_set(-1000i32..1000, 2..30),
        ) {
            let x: Vec<f64> = x.into_iter().map(f64::from).collect();
            let y: Vec<f64> = x.iter().map(|x| a + b * x).collect();
            let line = least_squares(&x, &y).unwrap();
            prop_assert!((line.slope - b).abs() < 1e-6 && (line.intercept - a).abs() < 1e-4);
            prop_assert!(slopes(&x, &y).unwrap().iter().all(|slope| (slope - b).abs() < 1e-6));
        }

        #[test]
        fn steadiness_does_not_depend_on_the_unit(
            window in prop::collection::vec(80.0..120.0f64, 5), unit in 1e-3..1e9f64,
        ) {
            let scaled: Vec<f64> = window.iter().map(|v| v * unit).collect();
            let (one, other) = (steady_state(&window).unwrap(), steady_state(&scaled).unwrap());
            prop_assert!((one.range_share - other.range_share).abs() < 1e-9);
            prop_assert!((one.drift_share - other.drift_share).abs() < 1e-9);
        }
    }

    #[test]
    fn the_interval_of_a_slope_holds_it() {
        let x: Vec<f64> = (0..12).map(f64::from).collect();
        let holds = |seed: &u64| {
            let y = noisy(12, 0.02, *seed, |i| 100.0 - i as f64);
            theil_sen_interval(&x, &y).unwrap().contains(-1.0)
        };
        let held = (0..500).filter(holds).count();
        assert!(held >= 465, "{held} of 500");
        assert_eq!(theil_sen_interval(&x[..3], &[1.0, 2.0, 4.0]), None);
    }
}
