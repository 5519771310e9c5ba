//! Values far from their neighbours. They stay in the sample: a drive that stalls once in ten rounds is a
//! drive that stalls.
//!
//! Reference: F. R. Hampel, JASA 69(346), 1974.

use crate::{sorted, usable};

/// Indices that lie farther than `threshold` from the median of their neighbourhood of `2 * reach + 1` values (cut
/// off at the ends), with that median: a Hampel filter. A monotone run is its own running median, so a step is not
/// labelled (except its very edge if a true outlier lies within reach). Empty for an empty or non-finite series.
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
    fn spike_is_local_and_a_step_is_not() {
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
    }
}
