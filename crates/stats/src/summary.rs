//! Location and spread of a sample.
//!
//! Reference: R. J. Hyndman and Y. Fan, "Sample Quantiles in Statistical Packages", The American
//! Statistician 50(4), 1996 (quantiles are their type 7, the default of R and NumPy). The scale factor of
//! the median absolute deviation: P. J. Rousseeuw and C. Croux, JASA 88(424), 1993.

use crate::usable;

/// Turns a median absolute deviation into the standard deviation of a Gaussian: 1 / Φ⁻¹(3/4).
pub const MAD_TO_SIGMA: f64 = 1.482_602_218_505_602;

/// Arithmetic mean. `None` for an empty or non-finite slice.
pub fn mean(values: &[f64]) -> Option<f64> {
    usable(values).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

/// Middle value, or the mean of the two middle values. `None` for an empty or non-finite slice.
pub fn median(values: &[f64]) -> Option<f64> {
    quantile(values, 0.5)
}

/// Quantile `q` (0 to 1) by linear interpolation between order statistics (type 7).
///
/// One value is its own quantile for every `q`. `None` for an empty or non-finite slice or `q` outside
/// 0–1. To take several quantiles, sort once and use [`quantile_sorted`].
pub fn quantile(values: &[f64], q: f64) -> Option<f64> {
    if !usable(values) || !(0.0..=1.0).contains(&q) {
        return None;
    }
    let mut copy = values.to_vec();
    let position = (copy.len() - 1) as f64 * q;
    let (_, &mut below, rest) = copy.select_nth_unstable_by(position as usize, f64::total_cmp);
    let above = rest.iter().copied().min_by(f64::total_cmp).unwrap_or(below);
    Some(between(below, above, position.fract()))
}

/// The value at `share` of the way between two order statistics. The bounds cut the last-bit overshoot of the
/// interpolation, so that quantiles never decrease.
fn between(below: f64, above: f64, share: f64) -> f64 {
    (below + (above - below) * share).max(below).min(above)
}

/// [`quantile`] of a slice the caller has sorted in ascending order; checked only for emptiness.
pub fn quantile_sorted(ascending: &[f64], q: f64) -> Option<f64> {
    if ascending.is_empty() || !(0.0..=1.0).contains(&q) {
        return None;
    }
    let position = (ascending.len() - 1) as f64 * q;
    let below = ascending[position.floor() as usize];
    let above = ascending[position.ceil() as usize];
    Some(between(below, above, position.fract()))
}

/// Sample standard deviation (divisor n − 1). `None` below two values.
pub fn standard_deviation(values: &[f64]) -> Option<f64> {
    let centre = mean(values)?;
    let squares: f64 = values.iter().map(|v| (v - centre).powi(2)).sum();
    (values.len() >= 2).then(|| (squares / (values.len() - 1) as f64).sqrt())
}

/// Median absolute deviation from the median, unscaled: times [`MAD_TO_SIGMA`] it estimates σ.
/// One value gives 0. `None` for an empty or non-finite slice.
pub fn mad(values: &[f64]) -> Option<f64> {
    let centre = median(values)?;
    let deviations: Vec<f64> = values.iter().map(|v| (v - centre).abs()).collect();
    median(&deviations)
}

/// Smallest value. `None` for an empty or non-finite slice.
pub fn min(values: &[f64]) -> Option<f64> {
    usable(values).then(|| values.iter().copied().fold(f64::INFINITY, f64::min))
}

/// Largest value. `None` for an empty or non-finite slice.
pub fn max(values: &[f64]) -> Option<f64> {
    usable(values).then(|| values.iter().copied().fold(f64::NEG_INFINITY, f64::max))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::assert_close;
    use proptest::prelude::*;

    const RATES: [f64; 7] = [12.1, 9.8, 11.4, 10.2, 15.9, 10.9, 11.1];

    #[test]
    fn seven_rates() {
        for (got, want) in [
            (mean(&RATES), 11.628571428571428),
            (median(&RATES), 11.1),
            (quantile(&RATES, 0.1), 10.04),
            (quantile(&RATES, 0.25), 10.55),
            (quantile(&RATES, 0.9), 13.62),
            (standard_deviation(&RATES), 4.1190476190476195f64.sqrt()),
            (mad(&RATES), 0.9),
            (min(&RATES), 9.8),
            (max(&RATES), 15.9),
        ] {
            assert_close(got.unwrap(), want, 1e-13);
        }
    }

    #[test]
    fn edges() {
        assert_eq!(mean(&[]), None);
        assert_eq!(median(&[1.0, f64::NAN]), None);
        assert_eq!(max(&[1.0, f64::INFINITY]), None);
        assert_eq!(quantile(&[3.0], 0.99), Some(3.0));
        assert_eq!(quantile(&[3.0], 1.01), None);
        assert_eq!(standard_deviation(&[3.0]), None);
        assert_eq!(mad(&[3.0]), Some(0.0));
    }

    proptest! {
        #[test]
        fn quantiles_never_decrease(
            values in prop::collection::vec(-1e9..1e9f64, 1..40), a in 0.0..=1.0f64, b in 0.0..=1.0f64,
        ) {
            let (low, high) = (a.min(b), a.max(b));
            prop_assert!(quantile(&values, low) <= quantile(&values, high));
        }



        #[test]
        fn a_shift_moves_location_and_not_spread(
            values in prop::collection::vec(-1e3..1e3f64, 2..40), shift in -1e3..1e3f64,
        ) {
            let moved: Vec<f64> = values.iter().map(|v| v + shift).collect();
            prop_assert!((median(&moved).unwrap() - median(&values).unwrap() - shift).abs() < 1e-9);
            prop_assert!((mad(&moved).unwrap() - mad(&values).unwrap()).abs() < 1e-9);
        }
    }
}
