//! Two independent samples: do they differ, and by how much.
//!
//! References: H. B. Mann and D. R. Whitney, Annals of Mathematical Statistics 18(1), 1947; J. L. Hodges and
//! E. L. Lehmann, same journal 34(2), 1963; M. Hollander and D. A. Wolfe, "Nonparametric Statistical
//! Methods", chapter 4 (tie correction, interval of the shift).

use crate::distributions::{normal_cdf, normal_quantile};
use crate::interval::Interval;
use crate::summary::quantile_sorted;
use crate::{is_inner_share, sorted, usable};

/// Up to this many values on either side the exact distribution is computed (6 million additions);
/// beyond it the normal approximation is good to three digits.
const EXACT_MAX: usize = 50;

/// Outcome of [`mann_whitney`].
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MannWhitney {
    /// Number of pairs in which the value of `a` is the larger one; ties count one half.
    pub u: f64,
    /// Two-sided probability of a U at least this far from its centre if both come from one distribution.
    pub p_value: f64,
    /// Whether `p_value` is exact, not the normal approximation with continuity and tie correction.
    pub exact: bool,
}

/// Mann–Whitney U test of `a` against `b`, two-sided.
///
/// Exact without ties and with at most 50 values a side. Small samples cannot reach a small p: three
/// against three stop at 0.1, four against four at 0.029. `None` if either side is empty or non-finite.
pub fn mann_whitney(a: &[f64], b: &[f64]) -> Option<MannWhitney> {
    if !usable(a) || !usable(b) {
        return None;
    }
    let (u, tie_sum) = rank(a, b);
    let (n, m) = (a.len() as f64, b.len() as f64);
    let extreme = u.min(n * m - u);
    if tie_sum == 0.0 && a.len().max(b.len()) <= EXACT_MAX {
        let tail: f64 = null_distribution(a.len(), b.len())[..=extreme as usize].iter().sum();
        return Some(MannWhitney { u, p_value: (2.0 * tail).min(1.0), exact: true });
    }
    let total = n + m;
    let variance = n * m / 12.0 * (total + 1.0 - tie_sum / (total * (total - 1.0)));
    // All values equal: no evidence of anything. Half a pair is the continuity correction.
    let p_value = if variance > 0.0 {
        let z = (0.5 * n * m - extreme - 0.5).max(0.0) / variance.sqrt();
        2.0 * normal_cdf(-z)
    } else {
        1.0
    };
    Some(MannWhitney { u, p_value, exact: false })
}

/// U of `a`, and Σ(t³ − t) over groups of t tied values.
fn rank(a: &[f64], b: &[f64]) -> (f64, f64) {
    let labelled = a.iter().map(|&v| (v, true)).chain(b.iter().map(|&v| (v, false)));
    let mut all: Vec<(f64, bool)> = labelled.collect();
    all.sort_unstable_by(|x, y| x.0.total_cmp(&y.0));
    let (mut u, mut tie_sum, mut b_below) = (0.0, 0.0, 0.0);
    for group in all.chunk_by(|x, y| x.0 == y.0) {
        let size = group.len() as f64;
        let from_a = group.iter().filter(|(_, is_a)| *is_a).count() as f64;
        u += from_a * (b_below + 0.5 * (size - from_a));
        tie_sum += size * size * size - size;
        b_below += size - from_a;
    }
    (u, tie_sum)
}

/// Probability of each U from 0 to n·m if both samples come from one continuous distribution.
///
/// The largest value of all is one of `a` with probability n/(n+m); then it exceeds all m of `b`.
fn null_distribution(n: usize, m: usize) -> Vec<f64> {
    let mut row: Vec<Vec<f64>> = vec![vec![1.0]; m + 1];
    for i in 1..=n {
        for j in 1..=m {
            let share = i as f64 / (i + j) as f64;
            let mut next = vec![0.0; i * j + 1];
            for (u, p) in row[j].iter().enumerate() {
                next[u + j] += share * p;
            }
            for (u, p) in row[j - 1].iter().enumerate() {
                next[u] += (1.0 - share) * p;
            }
            row[j] = next;
        }
    }
    row.swap_remove(m)
}

/// Outcome of [`hodges_lehmann`], in the unit of the values.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Shift {
    /// Median of all differences b − a: by how much `b` is the larger one.
    pub estimate: f64,
    /// Interval of the shift; `None` if the samples are too small for the confidence (95 % needs for
    /// example four against four, or three against five).
    pub interval: Option<Interval>,
}

/// Hodges–Lehmann estimate of the shift from `a` to `b`, with the interval that belongs to the
/// Mann–Whitney test: without ties it excludes 0 exactly if the test's p is at most 1 − `confidence`.
///
/// Assumes two distributions of one shape. Exact up to 50 values a side (ties make it conservative), then
/// by the normal approximation. Takes memory for a.len() × b.len() differences. `None` if either side is
/// empty or non-finite, or for a confidence outside 0–1.
pub fn hodges_lehmann(a: &[f64], b: &[f64], confidence: f64) -> Option<Shift> {
    if !usable(a) || !usable(b) || !is_inner_share(confidence) {
        return None;
    }
    let differences: Vec<f64> = b.iter().flat_map(|y| a.iter().map(move |x| y - x)).collect();
    let ascending = sorted(&differences)?;
    let estimate = quantile_sorted(&ascending, 0.5)?;
    let cut = pairs_cut_off(a.len(), b.len(), 0.5 * (1.0 - confidence));
    let interval = (cut > 0)
        .then(|| Interval { low: ascending[cut - 1], high: ascending[ascending.len() - cut] });
    Some(Shift { estimate, interval })
}

/// The largest k with P(U < k) ≤ `risk`: the interval runs from the k-th smallest to the k-th
/// largest difference; 0 if there is none.
fn pairs_cut_off(n: usize, m: usize, risk: f64) -> usize {
    if n.max(m) <= EXACT_MAX {
        let mut cumulated = 0.0;
        return null_distribution(n, m)
            .iter()
            .take_while(|&p| {
                cumulated += p;
                cumulated <= risk
            })
            .count();
    }
    let (pairs, total) = ((n * m) as f64, (n + m) as f64);
    let z = normal_quantile(risk).expect("half of a risk lies between 0 and 1");
    let bound = 0.5 * pairs + 0.5 + z * (pairs * (total + 1.0) / 12.0).sqrt();
    bound.floor().max(0.0) as usize
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{assert_close, noisy};
    use proptest::prelude::*;

    const A: [f64; 5] = [10.1, 10.4, 9.8, 10.0, 10.3];
    const B: [f64; 6] = [11.0, 10.9, 11.4, 10.2, 11.2, 11.1];

    #[test]
    fn exact_test() {
        let test = mann_whitney(&A, &B).unwrap();
        assert_eq!((test.u, test.exact), (2.0, true));
        assert_close(test.p_value, 0.017316017316017316, 1e-14);
        let swapped = mann_whitney(&B, &A).unwrap();
        assert_eq!(swapped.u, 28.0);
        assert_close(swapped.p_value, test.p_value, 1e-14);
    }

    #[test]
    fn normal_approximation_with_ties_and_for_large_samples() {
        let few =
            mann_whitney(&[1., 2., 2., 3., 4., 4., 5.], &[2., 3., 4., 5., 5., 6., 7., 8.]).unwrap();
        assert_eq!((few.u, few.exact), (11.5, false));
        assert_close(few.p_value, 0.060997436309726656, 1e-12);
        let a: Vec<f64> = (0..60).map(|i| f64::from(i * 37 % 101)).collect();
        let b: Vec<f64> = (0..55).map(|i| f64::from(i * 53 % 97) + 10.5).collect();
        let many = mann_whitney(&a, &b).unwrap();
        assert_eq!(many.u, 1412.0);
        assert_close(many.p_value, 0.18360239722457694, 1e-12);
        assert_eq!(mann_whitney(&[1.0, 1.0], &[1.0]).unwrap().p_value, 1.0);
    }

    #[test]
    fn null_distribution_counts_arrangements() {
        // All C(n+m, n) arrangements enumerated with itertools.combinations.
        for (n, m, want) in [
            (3, 4, [0.02857142857142857, 0.02857142857142857, 0.05714285714285714]),
            (5, 5, [0.003968253968253968, 0.003968253968253968, 0.007936507936507936]),
            (8, 8, [7.77000777000777e-05, 7.77000777000777e-05, 0.0001554001554001554]),
        ] {
            let got = null_distribution(n, m);
            assert_eq!(got.len(), n * m + 1);
            got.iter().zip(want).for_each(|(p, w)| assert!((p / w - 1.0).abs() < 1e-12));
            assert_close(got.iter().sum(), 1.0, 1e-12);
        }
    }

    #[test]
    fn shift_with_interval() {
        // Differences enumerated in Python; the cut of 4 from the enumerated distribution of U.
        let shift = hodges_lehmann(&A, &B, 0.95).unwrap();
        assert_close(shift.estimate, 0.9, 1e-12);
        let interval = shift.interval.unwrap();
        assert_close(interval.low, 0.2, 1e-12);
        assert_close(interval.high, 1.3, 1e-12);
    }

    #[test]
    fn edges() {
        assert_eq!(mann_whitney(&[], &B), None);
        assert_eq!(mann_whitney(&A, &[f64::NAN]), None);
        assert_eq!(hodges_lehmann(&A, &B, 1.0), None);
        let three = hodges_lehmann(&[1., 2., 3.], &[4., 5., 6.], 0.95).unwrap();
        assert_eq!((three.estimate, three.interval), (3.0, None));
        assert_close(mann_whitney(&[1., 2., 3.], &[4., 5., 6.]).unwrap().p_value, 0.1, 1e-12);
        assert!(hodges_lehmann(&[1., 2., 3.], &B[..5], 0.95).unwrap().interval.is_some());
    }

    #[test]
    fn large_sample_interval_covers_the_true_shift() {
        let covers = |seed: &u64| {
            let a = noisy(60, 0.1, *seed, |_| 100.0);
            let b = noisy(60, 0.1, seed + 10_000, |_| 100.0);
            let moved: Vec<f64> = b.iter().map(|v| v + 5.0).collect();
            hodges_lehmann(&a, &moved, 0.95).unwrap().interval.unwrap().contains(5.0)
        };
        let hits = (0..200).filter(covers).count();
        assert!((180..=198).contains(&hits), "{hits} of 200");
    }

    proptest! {
        #[test]
        fn interval_excludes_zero_exactly_if_the_test_is_significant(
            mut a in prop::collection::vec(0.0..10.0f64, 1..12),
            mut b in prop::collection::vec(2.0..14.0f64, 1..12),
        ) {
            // Distinct values: no ties between or within the samples.
            a.iter_mut().enumerate().for_each(|(i, v)| *v += i as f64 * 1e-7);
            b.iter_mut().enumerate().for_each(|(i, v)| *v += i as f64 * 1e-7 + 3e-8);
            let test = mann_whitney(&a, &b).unwrap();
            prop_assume!(test.exact);
            let shift = hodges_lehmann(&a, &b, 0.95).unwrap();
            let excluded = shift.interval.is_some_and(|i| !i.contains(0.0));
            prop_assert_eq!(excluded, test.p_value <= 0.05);
        }

        #[test]
        fn a_shift_of_one_sample_is_added(
            a in prop::collection::vec(0.0..10.0f64, 1..20), by in -5.0..5.0f64,
        ) {
            let b: Vec<f64> = a.iter().map(|v| v + by).collect();
            let shift = hodges_lehmann(&a, &b, 0.9).unwrap();
            prop_assert!((shift.estimate - by).abs() < 1e-9);
            if let Some(interval) = shift.interval {
                prop_assert!(interval.low <= by + 1e-9 && by <= interval.high + 1e-9);
            }
        }
    }
}
