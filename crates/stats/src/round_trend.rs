//! Whether a rate falls from round to round: a drive that warms up, fills its cache, or is slowed more and more.
//!
//! No order of three values is rarer than 1 in 6 by chance, so a test of ranks (Mann and Kendall) cannot judge few
//! rounds. The least-squares line through their logarithms can, by the residuals (Student's t); and the scatter within
//! rounds limits how well their levels are known.

use crate::distributions::{normal_quantile, student_t_quantile};
use crate::noise::Noise;
use crate::summary::mean;
use crate::trend::least_squares;

/// One series in 20 of rounds that scatter by chance falls as closely along a line.
const CONFIDENCE: f64 = 0.95;
/// One series in 100 falls as far beyond the scatter within its rounds.
const CONFIDENCE_WITHIN: f64 = 0.99;
/// A smaller fall from the first round to the last is not worth reporting.
const FALL_MIN: f64 = 0.10;
/// Fewest rounds: two always lie on a line.
const ROUNDS_MIN: usize = 3;

/// The share by which `rates`, one a round and positive, fall from each round to the next; `None` where that may be
/// chance, or is less than a tenth from the first round to the last. `errors`: the standard error of each rate from
/// within its round, as a share ([`error_within`]).
pub fn round_fall(rates: &[f64], errors: &[f64]) -> Option<f64> {
    if rates.len() < ROUNDS_MIN || rates.len() != errors.len() || rates.iter().any(|&r| r <= 0.0) {
        return None;
    }
    let rounds: Vec<f64> = (0..rates.len()).map(|i| i as f64).collect();
    let logs: Vec<f64> = rates.iter().map(|rate| rate.ln()).collect();
    let line = least_squares(&rounds, &logs)?;
    let middle = mean(&rounds)?;
    let squared: f64 = rounds.iter().map(|x| (x - middle).powi(2)).sum();
    let free = (rates.len() - 2) as f64;
    let off = |(x, log): (&f64, &f64)| (log - line.intercept - line.slope * x).powi(2);
    let residual = rounds.iter().zip(&logs).map(off).sum::<f64>() / free;
    let by_rounds = student_t_quantile(CONFIDENCE, free)? * (residual / squared).sqrt();
    let weighed = rounds.iter().zip(errors).map(|(x, error)| ((x - middle) * error).powi(2));
    let within = weighed.sum::<f64>().sqrt() / squared;
    let by_noise = normal_quantile(CONFIDENCE_WITHIN)? * within;
    let whole = 1.0 - (line.slope * (rates.len() - 1) as f64).exp();
    let falls = line.slope < -by_rounds.max(by_noise) && whole >= FALL_MIN;
    falls.then(|| 1.0 - line.slope.exp())
}

/// Standard error of the mean of `rates`, equal intervals of one round, as a share of it: their long-run noise over the
/// root of their number. 0 for too few intervals.
pub fn error_within(rates: &[f64]) -> f64 {
    let Some(level) = mean(rates).filter(|&level| level > 0.0) else { return 0.0 };
    let shares: Vec<f64> = rates.iter().map(|rate| rate / level).collect();
    Noise::of_falling(&shares, 1)
        .map_or(0.0, |noise| noise.long_run_sigma / (shares.len() as f64).sqrt())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::synthetic::rates;
    use crate::testing::assert_close;

    #[test]
    fn steady_decline_is_a_fall_scatter_is_not() {
        fn fall(rates: &[f64]) -> Option<f64> {
            round_fall(rates, &vec![0.01; rates.len()])
        }
        assert_close(fall(&[67.8, 61.2, 53.3]).unwrap(), 0.113, 0.01);
        assert_eq!(fall(&[67.8, 53.3, 61.2]), None);
        assert_eq!(fall(&[53.3, 61.2, 67.8]), None, "it rises");
        assert_eq!(fall(&[67.8, 67.0, 53.3]), None, "a step may be chance");
        assert_eq!(fall(&[100.0, 98.0, 96.0]), None, "less than a tenth");
        assert_eq!(round_fall(&[67.8, 61.2, 53.3], &[0.08; 3]), None, "rounds that waver as much");
        for wrong in [&[][..], &[2.0, 1.0], &[2.0, 1.0, 0.0]] {
            assert_eq!(fall(wrong), None);
        }
    }

    /// Rounds of 50 intervals whose neighbours correlate by φ, and rounds that differ as wholes: methods.md has more.
    #[test]
    fn chance_is_seldom_a_fall() {
        for (rounds, cv, phi, most) in
            [(3, 0.1, 0.0, 0), (3, 0.5, 0.0, 5), (3, 0.5, 0.9, 12), (5, 0.5, 0.5, 5)]
        {
            let is_false = |seed: &u64| {
                let all = rates(rounds * 500, cv, phi, *seed, |_| 100.0);
                let each: Vec<&[f64]> = all.chunks_exact(500).map(|round| &round[..50]).collect();
                let errors: Vec<f64> = each.iter().map(|round| error_within(round)).collect();
                let means: Vec<f64> = each.iter().filter_map(|round| mean(round)).collect();
                round_fall(&means, &errors).is_some()
            };
            let count = (0..500).filter(is_false).count();
            assert!(count <= most, "{rounds} {cv} {phi}: {count} of 500");
        }
        for (rounds, cv, most) in [(3, 0.02, 1), (3, 0.05, 15), (3, 0.1, 30), (6, 0.05, 25)] {
            let is_false = |seed: &u64| {
                round_fall(&rates(rounds, cv, 0.0, *seed, |_| 100.0), &vec![0.0; rounds]).is_some()
            };
            let count = (0..500).filter(is_false).count();
            assert!(count <= most, "{rounds} {cv}: {count} of 500");
        }
    }

    #[test]
    fn more_rounds_find_true_falls_more_often() {
        fn found(rounds: usize, cv: f64) -> usize {
            let is_found = |seed: &u64| {
                let rates = rates(rounds, cv, 0.0, *seed, |i| 100.0 * 0.88f64.powi(i as i32));
                round_fall(&rates, &vec![0.0; rounds]).is_some()
            };
            (0..500).filter(is_found).count()
        }
        let (three, five) = (found(3, 0.01), found(5, 0.02));
        assert!(three > 400 && five > 450, "{three} {five}");
    }
}
