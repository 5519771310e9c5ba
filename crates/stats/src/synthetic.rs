//! Series of known truth, from a seed: what error rates are measured on.

use crate::random::Random;

/// Gaussian noise of unit variance in which neighbours correlate by `phi` (0 to below 1), and values k apart by
/// `phi`ᵏ: an autoregressive series of order one, AR(1).
pub(crate) fn correlated_noise(n: usize, phi: f64, seed: u64) -> Vec<f64> {
    let mut random = Random::new(seed);
    let innovation = (1.0 - phi * phi).sqrt();
    let mut value = random.normal();
    let step = |_| {
        let now = value;
        value = phi * value + innovation * random.normal();
        now
    };
    (0..n).map(step).collect()
}

/// Rates around `level` at each index with such noise of size `cv`, at least a hundredth of the level.
pub fn rates(n: usize, cv: f64, phi: f64, seed: u64, level: impl Fn(usize) -> f64) -> Vec<f64> {
    let noise = correlated_noise(n, phi, seed).into_iter().enumerate();
    noise.map(|(i, noise)| level(i) * (1.0 + cv * noise).max(0.01)).collect()
}

/// Rates of `n` pieces of equal bytes, 500 up to piece `place`, slower by `fall` after it, with such noise.
pub fn falling_at(place: f64, fall: f64, n: usize, cv: f64, phi: f64, seed: u64) -> Vec<f64> {
    rates(n, cv, phi, seed, |i| {
        let before = (place - i as f64).clamp(0.0, 1.0);
        500.0 / (before + (1.0 - before) / (1.0 - fall))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::assert_close;

    #[test]
    fn noise_has_its_variance_and_correlation() {
        for phi in [0.0, 0.5, 0.9] {
            let noise = correlated_noise(200_000, phi, 1);
            let product = |lag: usize| {
                let pairs = noise.iter().zip(&noise[lag..]);
                pairs.map(|(a, b)| a * b).sum::<f64>() / noise.len() as f64
            };
            for (lag, want) in [(0, 1.0), (1, phi), (2, phi * phi)] {
                assert_close(product(lag), want, 0.04);
            }
        }
    }
}
