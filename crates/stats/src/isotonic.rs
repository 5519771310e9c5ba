//! The monotone curve nearest to a series in weighted least squares.
//!
//! Reference: M. Ayer, H. D. Brunk, G. M. Ewing, W. T. Reid and E. Silverman, Annals of Mathematical
//! Statistics 26(4), 1955 (pool adjacent violators).

use crate::usable;

/// Which way a curve may go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// Each value at least the one before.
    NonDecreasing,
    /// Each value at most the one before, as the rate over the addresses of a zoned disk.
    NonIncreasing,
}

/// A pooled stretch of the fit.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Block {
    pub start: usize,
    pub end: usize,
    pub mean: f64,
    pub weight: f64,
}

/// Fitted values, one for each input, in its unit. The weighted mean is kept.
///
/// `weights` are 1 if `None`. One value fits itself. `None` for an empty or non-finite slice, weights of
/// another length, or a weight that is not positive and finite.
pub fn isotonic_fit(
    values: &[f64],
    weights: Option<&[f64]>,
    direction: Direction,
) -> Option<Vec<f64>> {
    let blocks = blocks(values, weights, direction)?;
    Some(blocks.iter().flat_map(|b| std::iter::repeat_n(b.mean, b.end - b.start)).collect())
}

/// The fit as its stretches of equal value.
pub(crate) fn blocks(
    values: &[f64],
    weights: Option<&[f64]>,
    direction: Direction,
) -> Option<Vec<Block>> {
    if !usable(values) {
        return None;
    }
    if weights
        .is_some_and(|w| w.len() != values.len() || !w.iter().all(|&w| w > 0.0 && w.is_finite()))
    {
        return None;
    }
    let violates = |before: f64, after: f64| match direction {
        Direction::NonDecreasing => before >= after,
        Direction::NonIncreasing => before <= after,
    };
    let mut pooled: Vec<Block> = Vec::new();
    for (i, &value) in values.iter().enumerate() {
        let weight = weights.map_or(1.0, |w| w[i]);
        let mut last = Block { start: i, end: i + 1, mean: value, weight };
        while let Some(before) = pooled.pop_if(|b| violates(b.mean, last.mean)) {
            let weight = before.weight + last.weight;
            let mean = before.mean + (last.mean - before.mean) * (last.weight / weight);
            last = Block { start: before.start, end: last.end, mean, weight };
        }
        pooled.push(last);
    }
    Some(pooled)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::assert_close;
    use Direction::{NonDecreasing, NonIncreasing};
    use proptest::prelude::*;

    #[test]
    fn weighted_example() {
        // scipy.optimize.isotonic_regression.
        let fit = isotonic_fit(
            &[1., 3., 2., 4., 3.5, 3., 6., 5.],
            Some(&[1., 2., 1., 1., 3., 1., 1., 2.]),
            NonDecreasing,
        )
        .unwrap();
        let (a, b) = (8.0 / 3.0, 16.0 / 3.0);
        for (got, want) in fit.into_iter().zip([1.0, a, a, 3.5, 3.5, 3.5, b, b]) {
            assert_close(got, want, 1e-14);
        }
    }

    #[test]
    fn a_bump_in_a_falling_curve_is_pooled() {
        let fit = isotonic_fit(&[9.0, 7.0, 8.0, 6.0], None, NonIncreasing).unwrap();
        assert_eq!(fit, [9.0, 7.5, 7.5, 6.0]);
    }

    #[test]
    fn edges() {
        assert_eq!(isotonic_fit(&[], None, NonDecreasing), None);
        assert_eq!(isotonic_fit(&[f64::NAN], None, NonDecreasing), None);
        assert_eq!(isotonic_fit(&[1.0], Some(&[0.0]), NonDecreasing), None);
        assert_eq!(isotonic_fit(&[1.0], Some(&[1.0, 1.0]), NonDecreasing), None);
        assert_eq!(isotonic_fit(&[4.0], None, NonIncreasing), Some(vec![4.0]));
    }

    proptest! {
        #[test]
        fn monotone_and_mean_preserving(
            pairs in prop::collection::vec((-1e3..1e3f64, 0.1..10.0f64), 1..60), falling: bool,
        ) {
            let (values, weights): (Vec<f64>, Vec<f64>) = pairs.into_iter().unzip();
            let direction = if falling { NonIncreasing } else { NonDecreasing };
            let fit = isotonic_fit(&values, Some(&weights), direction).unwrap();
            let sign = if falling { -1.0 } else { 1.0 };
            prop_assert!(fit.windows(2).all(|w| sign * w[0] <= sign * w[1]));
            let weighted = |v: &[f64]| v.iter().zip(&weights).map(|(v, w)| v * w).sum::<f64>();
            prop_assert!((weighted(&fit) - weighted(&values)).abs() < 1e-6);
            let again = isotonic_fit(&fit, Some(&weights), direction).unwrap();
            prop_assert!(again.iter().zip(&fit).all(|(a, b)| (a - b).abs() < 1e-9));
        }

        #[test]
        fn no_monotone_curve_is_nearer(
            values in prop::collection::vec(0.0..10.0f64, 1..30), seed in prop::collection::vec(0.0..10.0f64, 30),
        ) {
            let distance = |fit: &[f64]| fit.iter().zip(&values).map(|(f, v)| (f - v).powi(2)).sum::<f64>();
            let fit = isotonic_fit(&values, None, NonDecreasing).unwrap();
            let mut rival = seed[..values.len()].to_vec();
            rival.sort_unstable_by(f64::total_cmp);
            // Also one close to the fit, where a wrong fit would be beaten.
            let near: Vec<f64> = fit.iter().zip(&rival).map(|(f, r)| 0.99 * f + 0.01 * r).collect();
            prop_assert!(distance(&fit) <= distance(&rival) + 1e-9);
            prop_assert!(distance(&fit) <= distance(&near) + 1e-9);
        }
    }
}
