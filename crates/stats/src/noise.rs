//! The noise of a rate that may fall: how large it is, and how much of it remains in the mean of many values.
//!
//! What is high for one reason (heat, garbage collection, another program) stays high for a while. Levels of such a
//! series differ by more than those of independent noise of the same size.
//!
//! References: first differences: J. von Neumann, Annals of Mathematical Statistics 12(4), 1941, made robust with
//! the median absolute deviation; degrees of freedom of the isotonic fit: M. Meyer and M. Woodroofe, Annals of
//! Statistics 28(4), 2000; bias of an estimated correlation: F. H. C. Marriott and J. A. Pope, Biometrika 41, 1954.

use crate::isotonic::falling_medians;
use crate::summary::{MAD_TO_SIGMA, mad, mean, median};
use crate::usable;
use std::f64::consts::SQRT_2;

/// Residuals count with this many σ at most, so that stalls neither make nor hide a correlation.
const CLIP_SIGMAS: f64 = 3.0;
/// Neighbours correlate by no more: means of a hundred values then vary as those of three independent ones.
const PHI_MAX: f64 = 0.95;

/// Noise on top of a series that falls or stays. Steps and slopes downwards are not noise, rises are.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Noise {
    pub sigma: f64,
    /// Deviation of the mean of many values, times the root of their number: the σ of independent noise whose levels
    /// would vary as much. Of noise with the correlation φ of neighbours, AR(1), it is σ·√((1 + φ) / (1 − φ)).
    pub long_run_sigma: f64,
}

impl Noise {
    /// The noise of a series; in the long run that of means of `block` values each, which see past quick noise to a
    /// slower one below it. `None` for a non-finite slice, or one without a whole block.
    pub fn of_falling(series: &[f64], block: usize) -> Option<Self> {
        let single = sigmas(series)?;
        if block == 1 {
            return Some(single);
        }
        let means: Vec<f64> = series.chunks_exact(block).filter_map(mean).collect();
        let long_run_sigma = sigmas(&means)?.long_run_sigma * (block as f64).sqrt();
        Some(Self { long_run_sigma, ..single })
    }
}

/// The residuals of the falling fit as noise of the order one: φ from their lag-1 correlation, corrected for the
/// levels that were fitted, σ from what is left of each residual without φ times the one before.
fn sigmas(series: &[f64]) -> Option<Noise> {
    let levels = falling_medians(series)?;
    let fit = levels.iter().flat_map(|level| std::iter::repeat_n(level.value, level.len()));
    let residuals: Vec<f64> = series.iter().zip(fit).map(|(value, fit)| value - fit).collect();
    let residuals = clipped(&residuals);
    let squares: f64 = residuals.iter().map(|r| r * r).sum();
    if squares == 0.0 {
        return Some(Noise { sigma: 0.0, long_run_sigma: 0.0 });
    }
    let products: f64 = residuals.windows(2).map(|pair| pair[0] * pair[1]).sum();
    let (n, fitted) = (series.len() as f64, levels.len() as f64);
    let seen = products / squares;
    // Each fitted mean of AR(1) noise lowers the correlation by (1 + φ)/n, and the estimate itself by 2φ/n.
    let phi = (seen + (fitted + (fitted + 2.0) * seen) / n).clamp(0.0, PHI_MAX);
    let fresh: Vec<f64> = residuals.windows(2).map(|pair| pair[1] - phi * pair[0]).collect();
    let squares: f64 = clipped(&fresh).iter().map(|e| e * e).sum();
    let fresh_sigma = (squares / (n - fitted).max(1.0)).sqrt();
    let sigma = fresh_sigma / (1.0 - phi * phi).sqrt();
    Some(Noise { sigma, long_run_sigma: fresh_sigma / (1.0 - phi) })
}

/// Values within a few σ. Zeros do not show σ: the median of a level is one of its values.
fn clipped(residuals: &[f64]) -> Vec<f64> {
    let sizes: Vec<f64> = residuals.iter().map(|r| r.abs()).filter(|&size| size > 0.0).collect();
    let most = median(&sizes).map_or(0.0, |size| size * MAD_TO_SIGMA * CLIP_SIGMAS);
    residuals.iter().map(|r| r.clamp(-most, most)).collect()
}

/// How far values are from their neighbours, as the σ of independent noise: from the median absolute deviation of
/// first differences, so that neither steps nor outliers nor slow noise count. 0 if more than half of the
/// differences are equal; `None` below three values or for a non-finite slice.
pub(crate) fn local_sigma(series: &[f64]) -> Option<f64> {
    if !usable(series) || series.len() < 3 {
        return None;
    }
    let differences: Vec<f64> = series.windows(2).map(|pair| pair[1] - pair[0]).collect();
    Some(mad(&differences)? * MAD_TO_SIGMA / SQRT_2)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::synthetic::{correlated_noise, rates};
    use crate::testing::assert_close;

    /// Medians over 50 seeds of what is found, over the truth: σ 1, long-run σ √((1 + φ) / (1 − φ)).
    fn found(n: usize, phi: f64, level: impl Fn(usize) -> f64) -> (f64, f64) {
        let all: Vec<Noise> = (0..50)
            .filter_map(|seed| {
                let noise = correlated_noise(n, phi, seed);
                let series: Vec<f64> = (0..n).map(|i| level(i) + noise[i]).collect();
                Noise::of_falling(&series, 1)
            })
            .collect();
        let of =
            |what: fn(&Noise) -> f64| median(&all.iter().map(what).collect::<Vec<_>>()).unwrap();
        let long_run = ((1.0 + phi) / (1.0 - phi)).sqrt();
        (of(|noise| noise.sigma), of(|noise| noise.long_run_sigma) / long_run)
    }

    #[test]
    fn noise_memory_is_found_on_steps_and_slopes() {
        let levels: [fn(usize) -> f64; 3] =
            [|_| 5.0, |i| if i < 150 { 100.0 } else { 70.0 }, |i| -0.05 * i as f64];
        for phi in [0.0, 0.5, 0.9] {
            for (which, level) in levels.into_iter().enumerate() {
                let (sigma, long_run) = found(400, phi, level);
                // Rather too much than too little, where a fall was fitted as well.
                assert!((0.8..1.5).contains(&sigma), "{phi}, {which}: {sigma}");
                assert!((0.8..2.0).contains(&long_run), "{phi}, {which}: {long_run}");
            }
        }
    }

    /// Noise without memory on top of one with a long one: neighbours hardly show it, means of blocks do.
    #[test]
    fn blocks_see_past_quick_noise() {
        let (quick, slow) = (correlated_noise(4096, 0.0, 1), correlated_noise(4096, 0.95, 2));
        let series: Vec<f64> = quick.iter().zip(&slow).map(|(q, s)| q + 0.5 * s).collect();
        let truth = (1.0 + 0.25 * 1.95 / 0.05f64).sqrt();
        let of = |block| Noise::of_falling(&series, block).unwrap().long_run_sigma / truth;
        assert!(of(1) < 0.6, "{}", of(1));
        assert!((0.75..1.3).contains(&of(16)), "{}", of(16));
    }

    #[test]
    fn the_local_size_ignores_steps_and_outliers() {
        let mut series =
            rates(2000, 0.05, 0.0, 1, |i| if i < 900 { 100.0 } else { 100.0 + i as f64 / 1e3 });
        (0..2000).step_by(50).for_each(|i| series[i] = 0.0);
        assert_close(local_sigma(&series).unwrap(), 5.0, 0.1);
        assert_eq!(local_sigma(&[1.0, 1.0, 1.0]), Some(0.0));
        assert_eq!(local_sigma(&[1.0, 1.0]), None);
    }

    #[test]
    fn edges() {
        for wrong in [&[][..], &[1.0, f64::NAN]] {
            assert_eq!(Noise::of_falling(wrong, 1), None);
        }
        assert_eq!(Noise::of_falling(&[1.0, 2.0], 3), None);
        let none = Some(Noise { sigma: 0.0, long_run_sigma: 0.0 });
        for quiet in [&[3.0][..], &[3.0; 9], &[5.0, 5.0, 4.0, 4.0, 1.0]] {
            assert_eq!(Noise::of_falling(quiet, 1), none);
        }
    }
}
