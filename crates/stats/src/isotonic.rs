//! The falling curve nearest to a series: the isotonic fit of a disk's rates by address.
//!
//! References: M. Ayer, H. D. Brunk, G. M. Ewing, W. T. Reid and E. Silverman, Annals of Mathematical
//! Statistics 26(4), 1955 (pool adjacent violators); T. Robertson and F. T. Wright, Annals of Statistics 1(3), 1973
//! (the same with medians).

use crate::changepoint::Plateau;
use crate::summary::quantile_sorted;
use crate::usable;

/// A level of the fit in least absolute deviations: the median of its values, which a few stalls do not move.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct MedianLevel {
    pub value: f64,
    ascending: Vec<f64>,
}

impl MedianLevel {
    pub fn len(&self) -> usize {
        self.ascending.len()
    }
}

/// The fit in least absolute deviations, level by level. Time grows with the square of the longest level. `None`
/// for an empty or non-finite slice.
pub(crate) fn falling_medians(values: &[f64]) -> Option<Vec<MedianLevel>> {
    if !usable(values) {
        return None;
    }
    let mut levels: Vec<MedianLevel> = Vec::new();
    for &value in values {
        let mut last = MedianLevel { value, ascending: vec![value] };
        while let Some(mut before) = levels.pop_if(|before| before.value <= last.value) {
            before.ascending.append(&mut last.ascending);
            // Two ascending runs: the sort merges them.
            before.ascending.sort_by(f64::total_cmp);
            before.value = quantile_sorted(&before.ascending, 0.5)?;
            last = before;
        }
        levels.push(last);
    }
    Some(levels)
}

/// The fit, whose value never rises, as its stretches of equal value; the mean of the series is kept. One value
/// fits itself. `None` for an empty or non-finite slice.
pub(crate) fn falling_fit(values: &[f64]) -> Option<Vec<Plateau>> {
    if !usable(values) {
        return None;
    }
    let mut pooled: Vec<Plateau> = Vec::new();
    for (i, &value) in values.iter().enumerate() {
        let mut last = Plateau { start: i, end: i + 1, mean: value };
        while let Some(before) = pooled.pop_if(|before| before.mean <= last.mean) {
            last = before.joined(last);
        }
        pooled.push(last);
    }
    Some(pooled)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::assert_close;
    use proptest::prelude::*;

    fn fitted(values: &[f64]) -> Vec<f64> {
        let stretches = falling_fit(values).unwrap();
        stretches.iter().flat_map(|s| std::iter::repeat_n(s.mean, s.end - s.start)).collect()
    }

    #[test]
    fn a_worked_example() {
        // scipy.optimize.isotonic_regression of 1 3 2 4 3.5 3 6 5 with the weights 1 2 1 1 3 1 1 2, mirrored.
        let fit = fitted(&[-1., -3., -3., -2., -4., -3.5, -3.5, -3.5, -3., -6., -5., -5.]);
        let (a, b) = (-8.0 / 3.0, -16.0 / 3.0);
        for (got, want) in
            fit.into_iter().zip([-1., a, a, a, -3.5, -3.5, -3.5, -3.5, -3.5, b, b, b])
        {
            assert_close(got, want, 1e-14);
        }
    }

    #[test]
    fn a_bump_in_a_falling_curve_is_pooled() {
        assert_eq!(fitted(&[9.0, 7.0, 8.0, 6.0]), [9.0, 7.5, 7.5, 6.0]);
    }

    #[test]
    fn edges() {
        assert_eq!(falling_fit(&[]), None);
        assert_eq!(falling_fit(&[f64::NAN]), None);
        assert_eq!(fitted(&[4.0]), [4.0]);
    }

    #[test]
    fn a_stall_moves_no_median() {
        let mut values = [9.0; 12];
        values[6..].fill(7.0);
        (values[0], values[8]) = (0.1, 0.1);
        let levels = falling_medians(&values).unwrap();
        let found: Vec<_> = levels.iter().map(|level| (level.value, level.len())).collect();
        assert_eq!(found, [(9.0, 6), (7.0, 6)]);
        assert_eq!(falling_medians(&[]), None);
        assert_eq!(falling_medians(&[f64::NAN]), None);
    }

    proptest! {
        #[test]
        fn medians_fall_and_cover_the_values(values in prop::collection::vec(-1e3..1e3f64, 1..60)) {
            let levels = falling_medians(&values).unwrap();
            prop_assert!(levels.windows(2).all(|pair| pair[0].value > pair[1].value));
            prop_assert_eq!(levels.iter().map(MedianLevel::len).sum::<usize>(), values.len());
        }

        #[test]
        fn monotone_and_mean_preserving(values in prop::collection::vec(-1e3..1e3f64, 1..60)) {
            let fit = fitted(&values);
            prop_assert!(fit.windows(2).all(|pair| pair[0] >= pair[1]));
            prop_assert!((fit.iter().sum::<f64>() - values.iter().sum::<f64>()).abs() < 1e-6);
            prop_assert!(fitted(&fit).iter().zip(&fit).all(|(a, b)| (a - b).abs() < 1e-9));
        }

        #[test]
        fn no_falling_curve_is_nearer(
            values in prop::collection::vec(0.0..10.0f64, 1..30), seed in prop::collection::vec(0.0..10.0f64, 30),
        ) {
            let distance = |fit: &[f64]| fit.iter().zip(&values).map(|(f, v)| (f - v).powi(2)).sum::<f64>();
            let fit = fitted(&values);
            let mut rival = seed[..values.len()].to_vec();
            rival.sort_unstable_by(|a, b| b.total_cmp(a));
            // Also one close to the fit, where a wrong fit would be beaten.
            let near: Vec<f64> = fit.iter().zip(&rival).map(|(f, r)| 0.99 * f + 0.01 * r).collect();
            prop_assert!(distance(&fit) <= distance(&rival) + 1e-9);
            prop_assert!(distance(&fit) <= distance(&near) + 1e-9);
        }
    }
}
