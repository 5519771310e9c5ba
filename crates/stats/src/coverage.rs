//! What places drawn at random would have shown of a drive: how large a failing or slow region is seen, and with which
//! chance.
//!
//! The drive is cut into equal parts, and one place is drawn uniformly in each part, or in each part of a random
//! subset.
//! If the share of a part that fails is s, its place is good with 1 - s, and all are good with the product of these. By
//! the inequality of the arithmetic and the geometric mean (for a subset: by Maclaurin's), that is at most (1 - f)^n
//! for n places and a failing share f of the drive, wherever it lies and in however many pieces: stratified samples are
//! never worse than independent ones (W. G. Cochran, "Sampling Techniques", 3rd edition 1977, chapter 5; the rule for
//! independent ones is that of J. A. Hanley and A. Lippman-Hand, "If nothing goes wrong, is everything all right?",
//! JAMA 249, 1983). It is exact where each part fails by the same share.

/// Least chance that one of `places` is in failing regions that are this share of the drive together.
pub fn chance_seen(share: f64, places: u64) -> f64 {
    -(places as f64 * (-share.clamp(0.0, 1.0)).ln_1p()).exp_m1()
}

/// Smallest share of the drive that is seen with this chance: the inverse of [`chance_seen`]. 1 without any place.
pub fn share_seen(chance: f64, places: u64) -> f64 {
    if places == 0 { 1.0 } else { -((-chance).ln_1p() / places as f64).exp_m1() }
}

/// Chance that at least two of `within` parts are among the `visited` ones, which are drawn from `parts` without
/// replacement (hypergeometric distribution).
pub fn chance_of_two(parts: u64, visited: u64, within: u64) -> f64 {
    if within < 2 || visited < 2 || visited > parts || within > parts {
        return 0.0;
    }
    let (all, visited, within) = (parts as f64, visited as f64, within as f64);
    // That `count` parts are not visited, of `of` that are left.
    let none = |count: f64, of: f64| {
        let missed =
            (0..count as u64).map(|i| ((all - visited - i as f64) / (of - i as f64)).max(0.0));
        missed.product::<f64>()
    };
    let one = within * visited / all * none(within - 1.0, all - 1.0);
    (1.0 - none(within, all) - one).clamp(0.0, 1.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::assert_close;

    #[test]
    fn chances_are_those_of_independent_draws() {
        assert_close(chance_seen(0.001, 4000), 0.98172, 1e-5);
        assert_close(chance_seen(0.5, 3), 0.875, 1e-12);
        assert_eq!(
            (chance_seen(0.0, 9), chance_seen(1.0, 9), chance_seen(0.3, 0)),
            (0.0, 1.0, 0.0)
        );
        for places in [1, 16, 4000, 1_000_000] {
            assert_close(chance_seen(share_seen(0.98, places), places), 0.98, 1e-9);
        }
        // The rule of three.
        assert_close(share_seen(0.95, 1000), 3.0 / 1000.0, 1e-4);
        assert_eq!(share_seen(0.98, 0), 1.0);
    }

    /// Counted over all subsets.
    #[test]
    fn two_of_a_region_are_counted() {
        for (parts, visited, within) in
            [(8u64, 3u64, 4u64), (10, 7, 2), (9, 9, 2), (9, 2, 5), (6, 1, 6)]
        {
            let subsets: Vec<u64> =
                (0..1u64 << parts).filter(|set| set.count_ones() == visited as u32).collect();
            let inside = (1u64 << within) - 1;
            let hits = subsets.iter().filter(|set| (*set & inside).count_ones() >= 2).count();
            let counted = hits as f64 / subsets.len() as f64;
            assert_close(chance_of_two(parts, visited, within), counted, 1e-12);
        }
        assert_eq!((chance_of_two(100, 100, 1), chance_of_two(100, 100, 2)), (0.0, 1.0));
    }
}
