//! The trimmed mean: an average that a few stalls do not move.
//!
//! Reference: J. W. Tukey and D. H. McLaughlin, "Less Vulnerable Confidence and Significance Procedures for Location
//! Based on a Single Sample", Sankhyā A 25(3), 1963 (standard error from the winsorized variance).

use crate::sorted;
use crate::summary;

/// A trimmed mean and how far chance may have moved it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TrimmedMean {
    pub mean: f64,
    /// Its standard error, in the same unit.
    pub error: f64,
}

/// Mean without the `share` (0 to below 0.5) of the smallest and as many of the largest values, with its
/// standard error s_w / ((1 − 2·g/n)·√n), where g values are cut at each end and s_w is the standard
/// deviation after each of them was replaced by its nearest value that stays.
///
/// `None` below three values, for a value that is not finite, or a share outside its range.
pub fn trimmed_mean(values: &[f64], share: f64) -> Option<TrimmedMean> {
    if values.len() < 3 || !(0.0..0.5).contains(&share) {
        return None;
    }
    let mut ascending = sorted(values)?;
    let n = ascending.len();
    let cut = (share * n as f64).floor() as usize;
    let mean = summary::mean(&ascending[cut..n - cut])?;
    let (least, most) = (ascending[cut], ascending[n - 1 - cut]);
    ascending[..cut].fill(least);
    ascending[n - cut..].fill(most);
    let kept = 1.0 - 2.0 * cut as f64 / n as f64;
    let error = summary::standard_deviation(&ascending)? / (kept * (n as f64).sqrt());
    Some(TrimmedMean { mean, error })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{assert_close, noisy};
    use proptest::prelude::*;

    #[test]
    fn a_worked_example() {
        // scipy.stats.trim_mean(x, 0.2) = 4.5; scipy.stats.mstats.trimmed_stde(x, (0.2, 0.2)) by the
        // formula: winsorized to 3 3 3 4 5 6 6 6 (8 values, one cut at each end).
        let values = [1.0, 3.0, 3.0, 4.0, 5.0, 6.0, 6.0, 90.0];
        let location = trimmed_mean(&values, 0.2).unwrap();
        assert_close(location.mean, 4.5, 1e-12);
        let winsorized = [3.0, 3.0, 3.0, 4.0, 5.0, 6.0, 6.0, 6.0];
        let s = summary::standard_deviation(&winsorized).unwrap();
        assert_close(location.error, s / (0.75 * 8f64.sqrt()), 1e-12);
    }

    #[test]
    fn a_few_stalls_hardly_move_it() {
        let mut values = noisy(40, 0.1, 5, |_| 10.0);
        let calm = trimmed_mean(&values, 0.1).unwrap();
        values[3] = 5000.0;
        values[17] = 800.0;
        let stalled = trimmed_mean(&values, 0.1).unwrap();
        assert!((stalled.mean - calm.mean).abs() < 0.3, "{stalled:?} {calm:?}");
        assert!(stalled.error < 3.0 * calm.error);
    }

    #[test]
    fn the_error_covers_as_a_normal_one_does() {
        let inside = |seed: &u64| {
            let location = trimmed_mean(&noisy(40, 0.1, *seed, |_| 10.0), 0.1).unwrap();
            (location.mean - 10.0).abs() < 1.96 * location.error
        };
        let hits = (0..1000).filter(inside).count();
        assert!((920..=975).contains(&hits), "{hits} of 1000");
    }

    #[test]
    fn too_little_says_nothing() {
        assert_eq!(trimmed_mean(&[1.0, 2.0], 0.1), None);
        assert_eq!(trimmed_mean(&[1.0, 2.0, f64::NAN], 0.1), None);
        assert_eq!(trimmed_mean(&[1.0, 2.0, 3.0], 0.5), None);
    }

    proptest! {
        #[test]
        fn it_lies_among_the_values(values in prop::collection::vec(-1e6..1e6f64, 3..60), share in 0.0..0.49f64) {
            let location = trimmed_mean(&values, share).unwrap();
            let slack = 1e-6;
            prop_assert!(location.mean >= summary::min(&values).unwrap() - slack);
            prop_assert!(location.mean <= summary::max(&values).unwrap() + slack);
            prop_assert!(location.error >= 0.0);
        }
    }
}
