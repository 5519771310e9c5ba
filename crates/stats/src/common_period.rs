//! The period at which events repeat, from times of which each is known only up to whole periods.
//!
//! A disk answers reads of one sector only when that sector passes its head: the times of such answers differ by whole
//! turns, whatever else happened in between. Reference: the spectrum of event times is that of N. I. Fisher,
//! "Statistical Analysis of Circular Data", Cambridge 1993, chapter 4 (mean resultant length).

use crate::summary::median;
use std::f64::consts::TAU;

/// Mean resultant length of differences that repeat; chance reaches 0.3 at one of a thousand frequencies.
const STRENGTH_MIN: f64 = 0.5;
/// Of a period, half and a third of it fit as well: the longest that has this share of the best fit is the period.
const STRENGTH_SHARE: f64 = 0.92;
const PEAKS_MAX: usize = 8;
/// A period whose times fit this many times worse than those of the best is none.
const JITTER_SHARE: f64 = 1.5;
/// Steps of the search within one peak of the spectrum.
const STEPS_PER_PEAK: f64 = 16.0;
/// Half of the width of a look, as a share of the distance between peaks.
const WITHIN_PEAK: f64 = 0.3;
/// Residuals beyond this many times their median are delays of the host, not of the drive.
const RESIDUALS_MAX: f64 = 6.0;
/// Two-sided 95 % of a normal distribution.
const Z_95: f64 = 1.96;

/// A period with its 95 % interval, in the unit of the times.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CommonPeriod {
    pub period: f64,
    /// Half of the width of its interval.
    pub margin: f64,
    /// How well times repeat: 1 exactly, 0 not at all.
    pub strength: f64,
    /// What is left of each time after the fit, as a root mean square.
    pub jitter: f64,
}

/// The longest period between `shortest` and `longest` with which the times of every series differ by whole periods.
/// Each series is ascending and has a phase of its own. `None` where nothing repeats.
pub fn common_period(series: &[Vec<f64>], shortest: f64, longest: f64) -> Option<CommonPeriod> {
    let steps = lagged(series, 1);
    if steps.len() < 8 || shortest <= 0.0 || longest <= shortest {
        return None;
    }
    let (low, high) = (1.0 / longest, 1.0 / shortest);
    let longest_step = steps.iter().copied().fold(0.0, f64::max);
    let peaks = high_peaks(&steps, low, high, longest_step);
    let fits: Vec<CommonPeriod> = peaks
        .into_iter()
        .filter_map(|(frequency, strength)| fit(series, frequency, strength))
        .collect();
    // A neighbour of the right peak leaves much more; half of a period leaves as little, and comes after it.
    let least = fits.iter().map(|fit| fit.jitter).fold(f64::INFINITY, f64::min);
    fits.into_iter().find(|fit| fit.jitter <= JITTER_SHARE * least + shortest * 1e-6)
}

fn fit(series: &[Vec<f64>], mut frequency: f64, strength: f64) -> Option<CommonPeriod> {
    // Longer differences give a finer frequency. Where they are nearly alike, the peaks at both sides are
    // nearly as high: each look stays within the one peak, whose top the look before has found.
    let visits = series.iter().map(Vec::len).max().unwrap_or(0);
    let mut lag = 2;
    while lag < visits {
        let steps = lagged(series, lag);
        let longest_step = steps.iter().copied().fold(0.0, f64::max);
        let half = WITHIN_PEAK / longest_step;
        (frequency, _) = highest(&steps, frequency - half, frequency + half, longest_step);
        lag *= 2;
    }
    regression(series, frequency, strength)
}

/// Differences between times that lie `lag` places apart in their series.
fn lagged(series: &[Vec<f64>], lag: usize) -> Vec<f64> {
    let of_one = |times: &Vec<f64>| {
        times.windows(lag + 1).map(|window| window[lag] - window[0]).collect::<Vec<_>>()
    };
    series.iter().flat_map(of_one).collect()
}

/// How well the differences are whole multiples of 1/frequency.
fn strength_at(steps: &[f64], frequency: f64) -> f64 {
    steps.iter().map(|step| (TAU * frequency * step).cos()).sum::<f64>() / steps.len() as f64
}

/// The frequency with the greatest strength, looked for in steps finer than a peak is wide.
fn highest(steps: &[f64], from: f64, to: f64, longest_step: f64) -> (f64, f64) {
    let step = 1.0 / (longest_step * STEPS_PER_PEAK);
    let count = ((to - from) / step).ceil().max(1.0) as usize;
    let all = (0..=count).map(|i| from + (to - from) * i as f64 / count as f64);
    let rated = all.map(|frequency| (frequency, strength_at(steps, frequency)));
    rated.fold((from, -1.0), |best, next| if next.1 > best.1 { next } else { best })
}

/// The tops of the peaks that are nearly as high as the highest, from the lowest frequency on.
fn high_peaks(steps: &[f64], low: f64, high: f64, longest_step: f64) -> Vec<(f64, f64)> {
    let (_, most) = highest(steps, low, high, longest_step);
    let enough = (most * STRENGTH_SHARE).max(STRENGTH_MIN);
    let step = 1.0 / (longest_step * STEPS_PER_PEAK);
    let count = ((high - low) / step).ceil() as usize;
    let mut peaks = Vec::new();
    let mut next = 0;
    while let Some(first) =
        (next..=count).find(|&i| strength_at(steps, low + step * i as f64) >= enough)
        && peaks.len() < PEAKS_MAX
    {
        let from = low + step * first as f64;
        let to = from + 1.0 / longest_step;
        peaks.push(highest(steps, from, to, longest_step * STEPS_PER_PEAK));
        next = first + STEPS_PER_PEAK as usize;
    }
    peaks
}

/// Numbers all times in periods and fits the line through all series, each with its own beginning.
fn regression(series: &[Vec<f64>], frequency: f64, strength: f64) -> Option<CommonPeriod> {
    let numbered: Vec<Vec<(f64, f64)>> = series
        .iter()
        .filter(|times| times.len() > 1)
        .map(|times| times.iter().map(|&t| (((t - times[0]) * frequency).round(), t)).collect())
        .collect();
    let mut kept = numbered;
    let mut fit = pooled_slope(&kept)?;
    // Once without the times that the host delayed.
    let limit = RESIDUALS_MAX * median(&fit.residuals.iter().map(|r| r.abs()).collect::<Vec<_>>())?;
    if limit > 0.0 {
        let mut residuals = fit.residuals.iter();
        for times in &mut kept {
            times.retain(|_| residuals.next().is_none_or(|residual| residual.abs() <= limit));
        }
        fit = pooled_slope(&kept).unwrap_or(fit);
    }
    let count = fit.residuals.len() as f64;
    let squares: f64 = fit.residuals.iter().map(|residual| residual * residual).sum();
    let error = (squares / (count - 2.0).max(1.0) / fit.spread).sqrt();
    let jitter = (squares / count).sqrt();
    Some(CommonPeriod { period: fit.slope, margin: Z_95 * error, strength, jitter })
}

/// One slope through several lines.
struct PooledSlope {
    slope: f64,
    /// Squared deviations of the numbers from the means of their series.
    spread: f64,
    residuals: Vec<f64>,
}

fn pooled_slope(series: &[Vec<(f64, f64)>]) -> Option<PooledSlope> {
    let mean = |times: &[(f64, f64)]| {
        let count = times.len().max(1) as f64;
        let sums = times.iter().fold((0.0, 0.0), |(a, b), (k, t)| (a + k, b + t));
        (sums.0 / count, sums.1 / count)
    };
    let centred = |times: &Vec<(f64, f64)>| {
        let (k_mean, t_mean) = mean(times);
        times.iter().map(|(k, t)| (k - k_mean, t - t_mean)).collect::<Vec<_>>()
    };
    let all: Vec<(f64, f64)> = series.iter().flat_map(centred).collect();
    let spread: f64 = all.iter().map(|(k, _)| k * k).sum();
    let slope = all.iter().map(|(k, t)| k * t).sum::<f64>() / spread;
    let residuals = all.iter().map(|(k, t)| t - slope * k).collect();
    (spread > 0.0 && slope > 0.0).then_some(PooledSlope { slope, spread, residuals })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;

    /// 24 series of `count` sums of `step`.
    fn sums(count: usize, seed: u64, step: impl Fn(&mut Random) -> f64) -> Vec<Vec<f64>> {
        let mut random = Random::new(seed);
        let mut series = || {
            let mut sum = 0.0;
            let mut next = || {
                sum += step(&mut random);
                sum
            };
            (0..count).map(|_| next()).collect()
        };
        (0..24).map(|_| series()).collect()
    }

    /// Series of a disk that turns in `period` with this `jitter`, in ms.
    fn disk(period: f64, jitter: f64, seed: u64) -> Vec<Vec<f64>> {
        let mut random = Random::new(seed);
        (0..24)
            .map(|_| {
                let mut turn = 0.0;
                let phase = period * random.normal().abs();
                (0..8)
                    .map(|_| {
                        turn += 20.0 + (random.normal() * 4.0).round();
                        phase + turn * period + jitter * random.normal()
                    })
                    .collect()
            })
            .collect()
    }

    #[test]
    fn period_is_within_its_interval_and_not_halved() {
        for (period, jitter) in [(8.333_333, 0.0), (8.333_333, 0.1), (11.111_1, 0.3), (4.0, 0.1)] {
            let mut inside = 0;
            for seed in 0..40 {
                let found = common_period(&disk(period, jitter, seed), 3.8, 17.5).unwrap();
                assert!((found.period / period - 1.0).abs() < 1e-3, "{period}: {found:?}");
                inside += u32::from((found.period - period).abs() <= found.margin + 1e-9);
            }
            assert!(inside >= 35, "{period} ± {jitter}: {inside} of 40");
        }
    }

    /// Where all sectors are read again after nearly the same time, the peaks beside the right one are nearly as high.
    #[test]
    fn sectors_in_long_even_rounds_are_counted_right() {
        for seed in 0..40 {
            let mut series = sums(10, seed, |random| 160.0 + (random.normal() * 12.0).round());
            series.iter_mut().flatten().for_each(|turn| *turn *= 5.991_118);
            let found = common_period(&series, 3.85, 17.5).unwrap();
            assert!((found.period / 5.991_118 - 1.0).abs() < 1e-6, "{seed}: {found:?}");
        }
    }

    #[test]
    fn times_that_the_host_delayed_move_nothing() {
        let mut series = disk(8.333_333, 0.05, 5);
        for times in &mut series {
            times[3] += 2.5;
        }
        let found = common_period(&series, 3.8, 17.5).unwrap();
        assert!((found.period / 8.333_333 - 1.0).abs() < 1e-5, "{found:?}");
    }

    #[test]
    fn series_without_rotation_has_no_period() {
        for seed in 0..40 {
            let series = sums(8, seed, |random| 200.0 + 40.0 * random.normal());
            assert_eq!(common_period(&series, 3.8, 17.5), None, "{seed}");
        }
        assert_eq!(common_period(&[], 3.8, 17.5), None);
    }
}
