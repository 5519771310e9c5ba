//! Mathematics on slices of `f64`. No I/O, no clock, no global state; resampling is seeded.
//!
//! # What every function keeps to
//!
//! - **Inputs are finite.** An empty or too short slice, a NaN, an infinity, or a parameter outside its
//!   stated range gives `None`; nothing panics and no NaN comes back. Magnitudes stay below 1e150,
//!   so that squares do not overflow.
//! - **Units**: a result has the unit of its input; a *share* is a plain ratio (0.2 is 20 %).
//! - **Positions** are indices into the slice; ranges are half open.
//! - Outliers are named ([`outliers`]), never silently dropped from a summary.
//!
//! Each file names its reference. The expected numbers in the tests were computed with SciPy 1.17.1
//! unless a test says otherwise.

pub mod bootstrap;
pub mod changepoint;
pub mod common_period;
pub mod coverage;
mod distributions;
mod fall_place;
pub mod false_discoveries;
pub mod interval;
mod isotonic;
pub mod knee;
pub mod lasting_drop;
pub mod least_squares;
mod noise;
pub mod outliers;
pub mod paired_sequence;
pub mod peers;
pub mod proportion;
pub mod radius_law;
mod random;
pub mod ratio;
pub mod round_trend;
pub mod shift;
pub mod summary;
pub mod synthetic;
pub mod trend;
pub mod trimmed_mean;
pub mod uniform_wait;
pub mod zones;

/// Whether a slice can be computed with: not empty and every value finite.
fn usable(values: &[f64]) -> bool {
    !values.is_empty() && values.iter().all(|v| v.is_finite())
}

/// Ascending copy of a usable slice.
fn sorted(values: &[f64]) -> Option<Vec<f64>> {
    usable(values).then(|| {
        let mut copy = values.to_vec();
        copy.sort_unstable_by(f64::total_cmp);
        copy
    })
}

/// Whether `share` lies strictly between 0 and 1, as confidences and probabilities must.
fn is_inner_share(share: f64) -> bool {
    share > 0.0 && share < 1.0
}

#[cfg(test)]
pub(crate) mod testing {
    /// Fails unless `got` equals `want` to a relative (below 1: absolute) error of `tolerance`.
    #[track_caller]
    pub fn assert_close(got: f64, want: f64, tolerance: f64) {
        assert!((got - want).abs() <= tolerance * want.abs().max(1.0), "got {got}, want {want}");
    }

    /// `level` at each index with Gaussian noise of relative size `cv`, from a seed.
    pub fn noisy(n: usize, cv: f64, seed: u64, level: impl Fn(usize) -> f64) -> Vec<f64> {
        let mut random = crate::random::Random::new(seed);
        (0..n).map(|i| level(i) * (1.0 + cv * random.normal())).collect()
    }
}
