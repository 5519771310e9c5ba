//! How improbable it is that one of many alike things is so low: a drive among others of its model.
//!
//! In each group the centre is the median, and the spread that below it: the larger one of the median absolute
//! deviation and of the lower half's, so that a body with a long lower side does not look like a crowd of outliers.
//! How heavy the tail is cannot be seen in one group; it is taken from the lower sides of all groups together, as
//! Student's t.
//!
//! References: P. J. Rousseeuw and C. Croux, JASA 88(424), 1993 (median absolute deviation); B. Efron, JASA 99(465),
//! 2004 (the law of what is not odd, estimated from all that is measured). Error rates: the tests below, and those of
//! `drivescope-report`'s `fleet`.

use crate::distributions::student_t_tail;
use crate::false_discoveries::q_values;
use crate::summary::{MAD_TO_SIGMA, mad, median, quantile_sorted};
use crate::{distributions::student_t_quantile, usable};

/// Of fewer, even one at a third of the others' speed would not stand out.
pub const GROUP_MIN: usize = 8;
/// The lower half's deviation counts up to this multiple of that of all. Of an exponential tail, the most skewed body
/// of rates, it is 1.44; where it is more, many low ones are the reason, which must not hide each other.
const SKEW_MAX: f64 = 1.5;
/// Degrees of freedom of a spread from n values, over n: Student's t then flags as many healthy ones of groups of 10,
/// 20 and 50 as it should (simulated: 5 % of groups beyond 4.6, 4.0 and 3.7 σ).
const DF_OF_VALUE: f64 = 0.45;
/// Groups that show the tail: the spread of smaller ones is too uncertain.
const TAIL_GROUP_MIN: usize = 20;
/// Where the tail is measured, as a share of the lower side: far out, yet far more than the odd ones.
const TAIL_SHARE: f64 = 0.95;
/// Before anything is known: heavy tails, as those of latencies.
const DF_UNKNOWN: f64 = 5.0;
/// Values on the lower side that weigh as much as that assumption.
const UNKNOWN_WEIGHT: f64 = 250.0;
/// No heavier tail is assumed: nothing would be odd.
const DF_MIN: f64 = 2.5;
/// Rate of false discoveries at which the odd ones are left out before the tail is measured again: only those that are
/// nearly sure, since a tail without its healthy ends would seem lighter than it is.
const LEFT_OUT_RATE: f64 = 0.01;
/// What is left out hardly changes after that.
const TAIL_LOOKS: usize = 3;

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PeerSpread {
    pub center: f64,
    /// Below the centre, as the σ of a Gaussian.
    pub sigma: f64,
}

#[derive(Debug, Clone, PartialEq)]
pub struct PeerValues {
    /// `None` for groups with fewer than [`GROUP_MIN`] values, and for non-finite ones.
    pub spread: Option<PeerSpread>,
    /// For each value, the probability that a healthy one is as low; empty without a spread.
    pub p_values: Vec<f64>,
}

/// Judges each value of each group. A spread is at least `sigma_min`: by how much repeated measurements of one thing
/// differ.
pub fn among_peers(groups: &[Vec<f64>], sigma_min: f64) -> Vec<PeerValues> {
    let spreads: Vec<Option<PeerSpread>> =
        groups.iter().map(|values| spread(values, sigma_min)).collect();
    let judged = |tail: f64| -> Vec<PeerValues> {
        let judge = |(values, spread): (&Vec<f64>, &Option<PeerSpread>)| PeerValues {
            spread: *spread,
            p_values: spread.map_or_else(Vec::new, |spread| spread.p_values(values, tail)),
        };
        groups.iter().zip(&spreads).map(judge).collect()
    };
    let mut found = judged(1.0 / DF_UNKNOWN);
    for _ in 0..TAIL_LOOKS {
        found = judged(tail(groups, &found, sigma_min));
    }
    found
}

impl PeerSpread {
    /// `tail` is 1 over the degrees of freedom of a large group.
    fn p_values(&self, values: &[f64], tail: f64) -> Vec<f64> {
        // Kurtosis, to the first order 6/df, adds up.
        let df = (1.0 / (tail + 1.0 / (DF_OF_VALUE * values.len() as f64))).max(1.0);
        let of = |value: &f64| {
            let below = (self.center - value) / self.sigma;
            if below > 0.0 { student_t_tail(below, df) } else { 1.0 - student_t_tail(-below, df) }
        };
        values.iter().map(of).collect()
    }
}

fn spread(values: &[f64], sigma_min: f64) -> Option<PeerSpread> {
    if values.len() < GROUP_MIN || !usable(values) {
        return None;
    }
    let center = median(values)?;
    let of_all = mad(values)?;
    let below: Vec<f64> =
        values.iter().filter(|value| **value <= center).map(|value| center - value).collect();
    let of_lower = median(&below)?;
    // Equal values on both sides of the middle have no deviation, and one half may have none, either.
    let deviation = of_lower.clamp(of_all, of_all * SKEW_MAX);
    Some(PeerSpread { center, sigma: (deviation * MAD_TO_SIGMA).max(sigma_min) })
}

/// 1 over the degrees of freedom of the tail of all groups together, without what is odd so far.
fn tail(groups: &[Vec<f64>], judged: &[PeerValues], sigma_min: f64) -> f64 {
    let p_values: Vec<f64> = judged.iter().flat_map(|group| &group.p_values).copied().collect();
    let mut is_odd = q_values(&p_values).into_iter().map(|q| q <= LEFT_OUT_RATE);
    let (mut below, mut of_estimates) = (Vec::new(), 0.0);
    for (values, PeerValues { spread, .. }) in groups.iter().zip(judged) {
        let Some(spread) = spread else { continue };
        // Equal values say nothing of a tail.
        let shows = values.len() >= TAIL_GROUP_MIN && spread.sigma > sigma_min;
        for value in values {
            let is_odd = is_odd.next().unwrap_or(false);
            if shows && !is_odd && *value < spread.center {
                below.push((spread.center - value) / spread.sigma);
                of_estimates += 1.0 / (DF_OF_VALUE * values.len() as f64);
            }
        }
    }
    let n = below.len() as f64;
    let unknown = 1.0 / DF_UNKNOWN;
    let measured = tail_of(below).map_or(unknown, |tail| (tail - of_estimates / n).max(0.0));
    let weight = n / (n + UNKNOWN_WEIGHT);
    (weight * measured + (1.0 - weight) * unknown).min(1.0 / DF_MIN)
}

/// 1 over the degrees of freedom of Student's t whose lower side has this ratio of an outer quantile to the median.
fn tail_of(mut below: Vec<f64>) -> Option<f64> {
    below.sort_unstable_by(f64::total_cmp);
    let [middle, outer] = [0.5, TAIL_SHARE].map(|share| quantile_sorted(&below, share));
    let ratio = outer? / middle?.max(f64::MIN_POSITIVE);
    let ratio_of = |tail: f64| -> Option<f64> {
        let at = |share: f64| student_t_quantile(0.5 + share / 2.0, 1.0 / tail);
        Some(at(TAIL_SHARE)? / at(0.5)?)
    };
    let (mut light, mut heavy) = (1e-3, 1.0 / DF_MIN);
    for _ in 0..20 {
        let tail = f64::midpoint(light, heavy);
        if ratio_of(tail)? < ratio { light = tail } else { heavy = tail }
    }
    Some(light)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;

    /// Student's t as a Gaussian over the root of a mean square.
    fn student(random: &mut Random, df: usize) -> f64 {
        let squares: f64 = (0..df).map(|_| random.normal().powi(2)).sum();
        random.normal() / (squares / df as f64).sqrt()
    }

    fn group(n: usize, mut of: impl FnMut() -> f64) -> Vec<f64> {
        (0..n).map(|_| of()).collect()
    }

    #[test]
    fn few_healthy_groups_have_an_odd_value() {
        for n in [8, 10, 20, 50] {
            let mut random = Random::new(n as u64);
            let groups: Vec<Vec<f64>> =
                (0..400).map(|_| group(n, || 0.03 * random.normal())).collect();
            // Alone, as a user with one group has it.
            let odd = groups.iter().filter(|values| {
                let found = among_peers(&[(*values).clone()], 0.0);
                found[0].p_values.iter().any(|p| *p * n as f64 <= 0.05)
            });
            let odd = odd.count();
            assert!(odd <= 28, "{n}: {odd} of 400");
        }
    }

    #[test]
    fn heavy_tails_are_seen_in_all_groups_together() {
        let mut random = Random::new(5);
        let light: Vec<Vec<f64>> = (0..50).map(|_| group(100, || 0.03 * random.normal())).collect();
        let heavy: Vec<Vec<f64>> =
            (0..50).map(|_| group(100, || 0.03 * student(&mut random, 5))).collect();
        for (groups, name) in [(light, "light"), (heavy, "heavy")] {
            let found = among_peers(&groups, 0.0);
            let p_values: Vec<f64> = found.into_iter().flat_map(|it| it.p_values).collect();
            for share in [0.01, 0.001] {
                let below = p_values.iter().filter(|p| **p <= share).count() as f64;
                let expected = share * p_values.len() as f64;
                assert!(below <= 1.3 * expected + 2.0, "{name}: {below} for {expected}");
                assert!(share < 0.01 || below >= 0.5 * expected, "{name}: {below} for {expected}");
            }
        }
    }

    #[test]
    fn several_bad_ones_do_not_hide_each_other() {
        let mut random = Random::new(1);
        for bad in [1, 4, 12] {
            let mut values = group(40, || 0.02 * random.normal());
            for value in &mut values[..bad] {
                *value -= 0.5;
            }
            let found = among_peers(&[values], 0.001).remove(0);
            let q = q_values(&found.p_values);
            let odd = q.iter().filter(|q| **q <= 0.05).count();
            assert_eq!(odd, bad, "{found:?}");
        }
    }

    #[test]
    fn equal_values_have_the_least_spread() {
        let mut values = vec![4.6; 20];
        values[3] = 4.595;
        let found = among_peers(&[values.clone(), vec![1.0; GROUP_MIN - 1]], 0.01);
        assert_eq!(found[0].spread.unwrap().sigma, 0.01);
        assert!(found[0].p_values.iter().all(|p| *p > 0.2), "{found:?}");
        assert_eq!((found[1].spread, found[1].p_values.len()), (None, 0));
        values[3] = 4.2;
        assert!(among_peers(&[values.clone()], 0.01)[0].p_values[3] < 1e-4);
        values[5] = f64::NAN;
        assert_eq!(among_peers(&[values], 0.01)[0].spread, None);
        assert_eq!(among_peers(&[], 0.01), []);
    }
}
