//! How many independent values a correlated series is worth.
//!
//! Reference: A. D. Sokal, "Monte Carlo Methods in Statistical Mechanics: Foundations and New Algorithms",
//! in Functional Integration, NATO ASI 361, 1997, section 3 (automatic windowing).

use crate::summary::mean;

/// The sum stops at the first lag that is this many times the running estimate: for exponential decay
/// the cut bias e⁻⁵ is then below 1 %, while farther lags only add noise.
const WINDOW: f64 = 5.0;

/// Autocorrelation at `lag`, between −1 and 1 (biased estimate with divisor n). Lag 0 is 1.
/// `None` for an empty, constant or non-finite series or a lag not shorter than it.
pub fn autocorrelation(series: &[f64], lag: usize) -> Option<f64> {
    let centred = centred(series)?;
    (lag < series.len()).then(|| covariance(&centred, lag) / covariance(&centred, 0))
}

/// Integrated autocorrelation time τ = 1 + 2·Σρ(k), in steps of the series: a mean of n values is as good
/// as one of n/τ independent values.
///
/// Never below 1: alternation is not credited, so intervals err on the wide side. The estimate can be
/// trusted when n exceeds about 50·τ; a trend or step makes it huge, which is a fair warning.
/// `None` for an empty, constant or non-finite series.
pub fn integrated_time(series: &[f64]) -> Option<f64> {
    let centred = centred(series)?;
    let total = covariance(&centred, 0);
    let mut time = 1.0;
    for lag in 1..series.len() {
        time += 2.0 * covariance(&centred, lag) / total;
        if lag as f64 >= WINDOW * time {
            break;
        }
    }
    Some(time.max(1.0))
}

/// Number of independent values that a mean over the series is worth: n / [`integrated_time`], from 1 to
/// n. `None` for an empty, constant or non-finite series.
pub fn effective_sample_size(series: &[f64]) -> Option<f64> {
    let n = series.len() as f64;
    Some((n / integrated_time(series)?).max(1.0))
}

fn centred(series: &[f64]) -> Option<Vec<f64>> {
    let centre = mean(series)?;
    let centred: Vec<f64> = series.iter().map(|v| v - centre).collect();
    let varies = series.iter().any(|v| *v != series[0]);
    varies.then_some(centred)
}

fn covariance(centred: &[f64], lag: usize) -> f64 {
    centred.iter().zip(&centred[lag..]).map(|(a, b)| a * b).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{assert_close, noisy};
    use proptest::prelude::*;

    fn autoregression(n: usize, phi: f64, seed: u64) -> Vec<f64> {
        let step = |state: &mut f64, noise: f64| {
            *state = phi * *state + (noise - 1.0);
            Some(*state)
        };
        noisy(n, 1.0, seed, |_| 1.0).into_iter().scan(0.0, step).collect()
    }

    #[test]
    fn small_example_by_hand() {
        // Mean 3; deviations -2, -1, 0, 1, 2; lag 1: (2 + 0 + 0 + 2) / 10.
        assert_eq!(autocorrelation(&[1.0, 2.0, 3.0, 4.0, 5.0], 1), Some(0.4));
        assert_eq!(autocorrelation(&[1.0, 2.0, 3.0, 4.0, 5.0], 0), Some(1.0));
    }

    #[test]
    fn first_order_autoregression_has_the_known_time() {
        // τ = (1 + φ) / (1 − φ).
        for (phi, want) in [(0.0, 1.0), (0.5, 3.0), (0.8, 9.0), (0.9, 19.0)] {
            let time = integrated_time(&autoregression(50_000, phi, 11)).unwrap();
            assert_close(time, want, 0.1);
        }
    }

    #[test]
    fn alternation_is_not_credited() {
        let series: Vec<f64> = (0..100).map(|i| f64::from(i % 2)).collect();
        assert_eq!(integrated_time(&series), Some(1.0));
        assert_eq!(effective_sample_size(&series), Some(100.0));
    }

    #[test]
    fn edges() {
        assert_eq!(integrated_time(&[]), None);
        assert_eq!(integrated_time(&[5.0; 9]), None);
        assert_eq!(integrated_time(&[0.1; 9]), None);
        assert_eq!(effective_sample_size(&[1.0, f64::NAN]), None);
        assert_eq!(autocorrelation(&[1.0, 2.0], 2), None);
    }

    proptest! {
        #[test]
        fn between_one_and_n(series in prop::collection::vec(-1e3..1e3f64, 2..200)) {
            if let Some(size) = effective_sample_size(&series) {
                prop_assert!((1.0..=series.len() as f64).contains(&size));
            }
        }

        #[test]
        fn shift_and_scale_change_nothing(seed: u64, shift in -1e2..1e2f64, scale in 0.1..10.0f64) {
            let series = autoregression(300, 0.6, seed);
            let moved: Vec<f64> = series.iter().map(|v| v * scale + shift).collect();
            let (one, other) = (integrated_time(&series).unwrap(), integrated_time(&moved).unwrap());
            prop_assert!((one - other).abs() < 1e-6 * one);
        }
    }
}
