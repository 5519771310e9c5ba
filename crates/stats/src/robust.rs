//! Labels for outliers. Labelled values stay in the sample: a drive that stalls once in ten rounds is a
//! drive that stalls.
//!
//! Reference: J. W. Tukey, "Exploratory Data Analysis", 1977 (fences at 1.5 and 3 interquartile ranges).

use crate::interval::Interval;
use crate::summary::quantile_sorted;
use crate::{sorted, usable};

/// How far out a value lies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outlier {
    /// Within 1.5 interquartile ranges of the quartiles.
    No,
    /// Beyond 1.5, within 3.
    Mild,
    /// Beyond 3.
    Severe,
}

/// The two pairs of fences, in the unit of the values.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Fences {
    /// Quartiles ± 1.5 interquartile ranges.
    pub inner: Interval,
    /// Quartiles ± 3 interquartile ranges.
    pub outer: Interval,
}

impl Fences {
    /// The label of one value. A NaN is severe.
    pub fn label(&self, value: f64) -> Outlier {
        if self.inner.contains(value) {
            Outlier::No
        } else if self.outer.contains(value) {
            Outlier::Mild
        } else {
            Outlier::Severe
        }
    }
}

/// Fences of a sample, quartiles of type 7. Below about eight values hardly anything can lie outside.
/// If half of the values are equal the fences collapse and every other value is severe.
/// `None` for an empty or non-finite slice.
pub fn tukey_fences(values: &[f64]) -> Option<Fences> {
    let ascending = sorted(values)?;
    let (q1, q3) = (quantile_sorted(&ascending, 0.25)?, quantile_sorted(&ascending, 0.75)?);
    let fence =
        |factor: f64| Interval { low: q1 - factor * (q3 - q1), high: q3 + factor * (q3 - q1) };
    Some(Fences { inner: fence(1.5), outer: fence(3.0) })
}

/// Indices that lie farther than `threshold` from the median of their neighbourhood of `2 * reach + 1`
/// values (cut off at the ends), with that median: a Hampel filter. A monotone run is its own running
/// median, so a step is not labelled (except its very edge if a true outlier lies within reach).
/// Empty for an empty or non-finite series.
///
/// Reference: F. R. Hampel, JASA 69(346), 1974.
pub fn local_outliers(series: &[f64], reach: usize, threshold: f64) -> Vec<(usize, f64)> {
    if !usable(series) {
        return Vec::new();
    }
    let judge = |i: usize| {
        // The same reach to both sides, so that a monotone run keeps its centre.
        let reach = reach.min(i).min(series.len() - 1 - i);
        let ascending = sorted(&series[i - reach..=i + reach])?;
        let middle = ascending[reach];
        ((series[i] - middle).abs() > threshold).then_some((i, middle))
    };
    (0..series.len()).filter_map(judge).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn labels() {
        // Quartiles of 1 … 9 are 3 and 7: inner fences -3 and 13, outer -9 and 19.
        let values: Vec<f64> = (1..=9).map(f64::from).collect();
        let fences = tukey_fences(&values).unwrap();
        assert_eq!(fences.inner, Interval { low: -3.0, high: 13.0 });
        for (value, label) in [
            (13.0, Outlier::No),
            (13.1, Outlier::Mild),
            (-9.0, Outlier::Mild),
            (19.1, Outlier::Severe),
            (f64::NAN, Outlier::Severe),
        ] {
            assert_eq!(fences.label(value), label, "{value}");
        }
        assert_eq!(tukey_fences(&[]), None);
        assert_eq!(tukey_fences(&[1.0, f64::NAN]), None);
        assert_eq!(tukey_fences(&[4.0]).unwrap().label(4.0), Outlier::No);
    }

    #[test]
    fn a_spike_is_local_and_a_step_is_not() {
        let mut series = [9.0; 14];
        series[7..].fill(7.0);
        assert_eq!(local_outliers(&series, 3, 0.5), []);
        series[2] = 3.0;
        assert_eq!(local_outliers(&series, 3, 0.5), [(2, 9.0)]);
        assert_eq!(local_outliers(&[], 3, 0.5), []);
    }

    proptest! {
        #[test]
        fn monotone_runs_have_no_local_outlier(
            mut series in prop::collection::vec(-1e3..1e3f64, 1..40), reach in 0usize..6,
        ) {
            series.sort_unstable_by(f64::total_cmp);
            prop_assert_eq!(local_outliers(&series, reach, 0.0), []);
        }

        #[test]
        fn a_shift_keeps_every_label(
            values in prop::collection::vec(-100i32..100, 1..30), probe in -300i32..300, shift in -1000i32..1000,
        ) {
            let floats = |by: i32| values.iter().map(|v| f64::from(v + by)).collect::<Vec<_>>();
            let label = tukey_fences(&floats(0)).unwrap().label(f64::from(probe));
            let moved = tukey_fences(&floats(shift)).unwrap().label(f64::from(probe + shift));
            prop_assert_eq!(label, moved);
        }
    }
}
