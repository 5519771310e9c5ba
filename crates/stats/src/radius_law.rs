//! The rate of a disk over its addresses as its geometry has it.
//!
//! With constant linear density the rate is proportional to the radius, and addresses fill areas: the square of the
//! rate falls in a straight line, v(x)² = outer² − (outer² − inner²)·x, x the share of the addresses before it. The
//! read channel may limit the outermost zones: v = min(limit, v(x)).

use crate::least_squares::least_squares;
use crate::usable;

const POINTS_MIN: usize = 4;
/// A limit that gains less than this share of the squared residuals is none.
const GAIN_MIN: f64 = 0.1;

/// The law fitted to rates, in their unit.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RadiusLaw {
    /// Rate at the first address, without a limit.
    pub outer: f64,
    pub inner: f64,
    /// The most that the channel follows, if that shows.
    pub limit: Option<f64>,
    /// Root mean square of the residuals, as a share of the rate.
    pub residual_share: f64,
}

impl RadiusLaw {
    pub fn rate(&self, x: f64) -> f64 {
        let free =
            (self.outer.powi(2) - (self.outer.powi(2) - self.inner.powi(2)) * x).max(0.0).sqrt();
        self.limit.map_or(free, |limit| free.min(limit))
    }
}

/// Fits the law to rates at shares of the addresses, which ascend. `None` of fewer than four points, or where the
/// square of the rate does not fall.
pub fn radius_law(points: &[(f64, f64)]) -> Option<RadiusLaw> {
    fn squares(law: &RadiusLaw) -> f64 {
        law.residual_share.powi(2)
    }
    let flat: Vec<f64> = points.iter().flat_map(|&(x, v)| [x, v]).collect();
    if !usable(&flat) || points.iter().any(|&(_, v)| v <= 0.0) {
        return None;
    }
    let plain = with_limited(points, 0)?;
    let limited = (1..points.len().saturating_sub(POINTS_MIN))
        .filter_map(|count| with_limited(points, count))
        .filter(|law| law.limit.is_some_and(|limit| limit < law.outer))
        .min_by(|a, b| a.residual_share.total_cmp(&b.residual_share));
    Some(match limited {
        Some(law) if squares(&law) < squares(&plain) * (1.0 - GAIN_MIN) => law,
        _ => plain,
    })
}

/// The law whose limit holds for the first `count` points.
fn with_limited(points: &[(f64, f64)], count: usize) -> Option<RadiusLaw> {
    let (limited, free) = points.split_at(count);
    if free.len() < POINTS_MIN {
        return None;
    }
    let rows: Vec<Vec<f64>> = free.iter().map(|&(x, _)| vec![1.0, x]).collect();
    let squares: Vec<f64> = free.iter().map(|&(_, v)| v * v).collect();
    // An error of one per cent weighs the same at each rate.
    let weights: Vec<f64> = free.iter().map(|&(_, v)| v.powi(-4)).collect();
    let line = least_squares(&rows, &squares, &weights)?.coefficients;
    let (outer, inner) = (line[0], line[0] + line[1]);
    if outer <= 0.0 || inner <= 0.0 || inner > outer {
        return None;
    }
    let limit = (count > 0).then(|| limited.iter().map(|&(_, v)| v).sum::<f64>() / count as f64);
    let law = RadiusLaw { outer: outer.sqrt(), inner: inner.sqrt(), limit, residual_share: 0.0 };
    let residual = |&(x, v): &(f64, f64)| (law.rate(x) / v - 1.0).powi(2);
    let residual_share = (points.iter().map(residual).sum::<f64>() / points.len() as f64).sqrt();
    Some(RadiusLaw { residual_share, ..law })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{assert_close, noisy};

    fn curve(law: RadiusLaw, cv: f64, seed: u64) -> Vec<(f64, f64)> {
        fn x(i: usize) -> f64 {
            i as f64 / 63.0
        }
        let rates = noisy(64, cv, seed, |i| law.rate(x(i)));
        rates.into_iter().enumerate().map(|(i, v)| (x(i), v)).collect()
    }

    #[test]
    fn ends_and_limit_are_found_again() {
        for limit in [None, Some(250.0)] {
            let law = RadiusLaw { outer: 280.0, inner: 130.0, limit, residual_share: 0.0 };
            let exact = radius_law(&curve(law, 0.0, 1)).unwrap();
            assert_close(exact.outer, 280.0, 1e-9);
            assert_close(exact.inner, 130.0, 1e-9);
            let found = radius_law(&curve(law, 0.01, 3)).unwrap();
            assert!((found.outer / 280.0 - 1.0).abs() < 0.02, "{found:?}");
            assert!((found.inner / 130.0 - 1.0).abs() < 0.02, "{found:?}");
            if let Some(limit) = limit {
                assert!((found.limit.unwrap() / limit - 1.0).abs() < 0.01, "{found:?}");
            }
            assert!(found.residual_share < 0.013, "{found:?}");
        }
    }

    #[test]
    fn rate_that_does_not_fall_has_no_law() {
        assert_eq!(radius_law(&[(0.0, 1.0), (0.3, 2.0), (0.6, 3.0), (1.0, 4.0)]), None);
        assert_eq!(radius_law(&[(0.0, 1.0)]), None);
        assert_eq!(radius_law(&[(0.0, 1.0), (0.3, f64::NAN), (0.6, 3.0), (1.0, 4.0)]), None);
    }
}
