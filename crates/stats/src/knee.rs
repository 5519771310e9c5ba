//! Where a rate first falls for good while data are written in one go: the end of a fast cache.
//!
//! Reference: R. Killick, P. Fearnhead and I. A. Eckley, JASA 107(500), 2012 (change points by PELT, in
//! [`crate::changepoint`]), here on logarithms, so that changes are shares; the rules on top are this
//! file's own and stated at [`knee`].

use crate::changepoint::{Plateau, pelt, penalty, split_at};
use crate::fall_place::fall_place;
use crate::interval::Interval;
use crate::noise::Noise;
use crate::summary::median;
use crate::usable;

/// Smallest fall of flash that counts, as a share of the highest level before. A cache of a fast flash behind
/// a slow link hardly shows: 11 % in a Samsung 860 EVO of 1 TB.
pub const FLASH_FALL_MIN: f64 = 0.05;
/// The same of a disk, whose zones differ by up to a tenth.
pub const DISK_FALL_MIN: f64 = 0.20;
/// A fall must be larger than this many σ of the pieces: levels of flash that collects garbage wander so far.
const FALL_SIGMAS: f64 = 2.0;
/// Levels that ended within 1/20 of the series before a fall are what it falls from: a slope that takes
/// longer, as over the zones of a disk, is not a knee.
const NEAR_PART: usize = 20;
/// What is faster for less time at the beginning is the drive's buffer memory, no cache of flash, s.
const BUFFER_S: f64 = 0.5;
/// The rate must stay down for this long, s.
const LASTING_S: f64 = 5.0;
const LEVEL_LEN_MIN: usize = 3;
/// Noise is taken to be at least this share, so that a smooth slope is not cut into slivers.
const NOISE_MIN: f64 = 0.01;
/// With this many means over a second, a level of seconds must exceed their noise.
const NOISE_BLOCKS_MIN: usize = 128;
/// The place of a fall within a piece follows from at most this many pieces to each side of it.
const AROUND: usize = 64;
/// Longer series are shortened to at most this many values, each the median of a block.
const VALUES_MAX: usize = 1000;

/// The end of a fast cache. Levels are in the unit of the rates.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Knee {
    /// Index of the first slow piece; resolved to one piece up to 1000 pieces, to n/500 beyond.
    pub at: usize,
    pub before: f64,
    /// Median rate of the level that begins with it.
    pub after: f64,
    /// Where the rate falls, in pieces of bytes: 7.25 is a quarter of the eighth.
    pub place: f64,
    /// The interval of 95 % of that place.
    pub places: Interval,
}

/// The first lasting fall of `rates`, positive and in the order of writing, each held for the time at the
/// same place of `seconds`.
///
/// It is the first change of level that lasts for 5 s or more and falls from the highest level right before by
/// the share [`resolution`], as do the medians before and after it. Noise may remember (`crate::noise`).
/// Levels that end within the first half second do not count. Falls that recover sooner, or for as many pieces as
/// they last, smaller ones and those of the last two pieces, are none. `None` also for slices of different
/// length, below six values, or with a value that is not positive and finite.
pub fn knee(rates: &[f64], seconds: &[f64], fall_min: f64) -> Option<Knee> {
    if rates.len() != seconds.len() || !is_positive(rates) || !is_positive(seconds) {
        return None;
    }
    let stride = rates.len().div_ceil(VALUES_MAX);
    let logs = logs(rates, stride);
    let fall = resolution(rates, fall_min)?;
    let per_second = (logs.len() as f64 / seconds.iter().sum::<f64>()).ceil() as usize;
    let block = per_second.clamp(1, (logs.len() / NOISE_BLOCKS_MIN).max(1));
    let sigma = Noise::of_falling(&logs, block)?.long_run_sigma.max(NOISE_MIN);
    let levels = split_at(&logs, &pelt(&logs, LEVEL_LEN_MIN, penalty(sigma, logs.len()))?);
    let near = logs.len() / NEAR_PART;
    let seconds_to =
        |level: &Plateau| seconds[..(level.end * stride).min(seconds.len())].iter().sum::<f64>();
    let mut first = levels.iter().position(|level| seconds_to(level) >= BUFFER_S)?;
    for (i, level) in levels.iter().enumerate() {
        if i < first {
            continue;
        }
        let recent = levels[first..i].iter().rev().take_while(|l| level.start - l.end <= near);
        let Some(highest) = recent.max_by(|a, b| a.mean.total_cmp(&b.mean)) else { continue };
        let threshold = highest.mean + (1.0 - fall).ln();
        if level.mean < threshold
            && lasts(&levels[i..], threshold, seconds, stride)
            && !recovers(&levels[i..], threshold)
        {
            // The level may begin with pieces of the one before.
            let begin = level.start * stride;
            let at = begin + rates[begin..].iter().position(|rate| rate.ln() < threshold)?;
            // Or the one before, which is not shorter than a level must be, ends with pieces of this one.
            let of_this = rates[..at].iter().rev().take(LEVEL_LEN_MIN - 1);
            let at = at - of_this.take_while(|rate| at == begin && rate.ln() < threshold).count();
            // One or two slow pieces at the end may be a pause, of the drive or of this program.
            if rates.len() - at < LEVEL_LEN_MIN {
                return None;
            }
            // A level is no shorter than its least length, a buffer's part of it may be. Its few pieces raise the
            // mean of a longer one, but not what most of that had.
            let of_most = median(&rates[highest.start * stride..at])?;
            let is_raised = level.mean >= of_most.ln() + (1.0 - fall).ln();
            if is_raised || seconds[..at].iter().sum::<f64>() < BUFFER_S {
                first = i;
                continue;
            }
            let is_behind = |level: &&Plateau| level.end * stride >= at + LEVEL_LEN_MIN * stride;
            let last = levels[i..].iter().find(is_behind).or(levels.last())?;
            let end = (last.end * stride).min(rates.len());
            let (before, after) = (median(&rates[..at])?, median(&rates[at..end])?);
            if after <= before * (1.0 - fall) {
                let from = (highest.start * stride).max(at.saturating_sub(AROUND));
                let around = &rates[from..end.min(at + AROUND)];
                let placed = fall_place(around, (before / after).ln())?;
                let Interval { low, high } = placed.interval;
                let [place, low, high] = [placed.value, low, high].map(|x| x + from as f64);
                return Some(Knee { at, before, after, place, places: Interval { low, high } });
            }
        }
    }
    None
}

fn is_positive(values: &[f64]) -> bool {
    usable(values) && values.iter().all(|&v| v > 0.0)
}

/// The smallest fall of `rates` that [`knee`] distinguishes from noise, as a share: `fall_min`, or 2 σ of the
/// pieces if that is more. `None` where the noise is unknown.
pub fn resolution(rates: &[f64], fall_min: f64) -> Option<f64> {
    if !usable(rates) || rates.iter().any(|&rate| rate <= 0.0) {
        return None;
    }
    let sigma = Noise::of_falling(&logs(rates, rates.len().div_ceil(VALUES_MAX)), 1)?.sigma;
    Some(fall_min.max(1.0 - (-FALL_SIGMAS * sigma).exp()))
}

/// Logarithms of medians of `stride` values each.
fn logs(rates: &[f64], stride: usize) -> Vec<f64> {
    rates.chunks(stride).filter_map(median).map(f64::ln).collect()
}

/// Whether `levels` begin with ones below `threshold` that take long enough together.
fn lasts(levels: &[Plateau], threshold: f64, seconds: &[f64], stride: usize) -> bool {
    let low = levels.iter().take_while(|level| level.mean < threshold);
    let time = low.map(|level| {
        let end = (level.end * stride).min(seconds.len());
        seconds[level.start * stride..end].iter().sum::<f64>()
    });
    time.sum::<f64>() >= LASTING_S
}

/// Whether `levels` begin with ones below `threshold`, and as many pieces after them are above it again: a slow
/// stretch of the medium, or a pause of the drive, and no end of a cache.
fn recovers(levels: &[Plateau], threshold: f64) -> bool {
    let (mut low, mut high) = (0, 0);
    for level in levels {
        if level.mean < threshold {
            if high > 0 {
                break;
            }
            low += level.len();
        } else {
            high += level.len();
        }
    }
    high >= low
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::synthetic::rates;
    use crate::testing::{assert_close, noisy};
    use proptest::prelude::*;

    fn knee(rates: &[f64], seconds: &[f64]) -> Option<Knee> {
        super::knee(rates, seconds, FLASH_FALL_MIN)
    }

    /// Rates with a step at `at` of `n`, and the times of equal pieces.
    fn cache(n: usize, at: usize, cv: f64, seed: u64, fall: f64) -> (Vec<f64>, Vec<f64>) {
        let rates = noisy(n, cv, seed, |i| if i < at { 500.0 } else { 500.0 * (1.0 - fall) });
        let seconds = rates.iter().map(|rate| 250.0 / rate).collect();
        (rates, seconds)
    }

    #[test]
    fn cache_end_is_found_to_the_piece() {
        for seed in 0..20 {
            let (rates, seconds) = cache(400, 42, 0.03, seed, 0.4);
            let found = knee(&rates, &seconds).unwrap();
            assert_eq!(found.at, 42, "seed {seed}");
            assert_close(found.before, 500.0, 0.02);
            assert_close(found.after, 300.0, 0.02);
        }
        let (rates, seconds) = cache(4000, 421, 0.03, 1, 0.4);
        assert!(knee(&rates, &seconds).unwrap().at.abs_diff(421) <= 8);
    }

    /// TurboWrite of a Samsung 860 EVO of 1 TB: from 524 to 464 MB/s.
    #[test]
    fn small_fall_of_a_quiet_series_is_found() {
        for seed in 0..20 {
            let (rates, seconds) = cache(1000, 42, 0.01, seed, 0.11);
            assert_eq!(knee(&rates, &seconds).unwrap().at, 42, "seed {seed}");
        }
    }

    #[test]
    fn piece_across_cache_end_does_not_hide_it() {
        let rates: Vec<f64> = [vec![1013.0; 7], vec![700.0], vec![497.0; 1000]].concat();
        let found = knee(&rates, &[0.4; 1008]).unwrap();
        assert!(found.at <= 8 && found.before == 1013.0 && found.after < 701.0, "{found:?}");
    }

    /// A level has three pieces at least, a cache may end after one.
    #[test]
    fn one_piece_cache_has_its_own_rate() {
        for pieces in 1..=4 {
            let rates = [vec![440.0; pieces], vec![300.0; 900]].concat();
            let found = knee(&rates, &[0.9; 904][..rates.len()]).unwrap();
            assert_eq!((found.at, found.before, found.after), (pieces, 440.0, 300.0));
        }
    }

    /// On a slow drive it ends within the first level, which has three pieces at least.
    #[test]
    fn buffer_memory_is_not_a_cache() {
        for (piece_mb, levels) in [
            (16.8, [(6, 523.0), (184, 460.0), (810, 165.0)]),
            (31.0, [(2, 175.0), (94, 154.0), (200, 55.0)]),
        ] {
            let rates = levels.map(|(pieces, rate)| vec![rate; pieces]).concat();
            let seconds: Vec<f64> = rates.iter().map(|rate| piece_mb / rate).collect();
            let found = knee(&rates, &seconds).unwrap();
            let [(buffer, _), (cache, before), (_, after)] = levels;
            assert_eq!((found.at, found.before, found.after), (buffer + cache, before, after));
        }
    }

    /// What it took raises the mean of the first level, which in a long series has more pieces.
    #[test]
    fn buffer_within_a_longer_level_is_not_cache() {
        fn seconds(rates: &[f64]) -> Vec<f64> {
            rates.iter().map(|rate| 31.0 / rate).collect()
        }
        let piece = |i: usize| match i {
            0 => 217.7,
            _ if i.is_multiple_of(3) => 162.2,
            _ => 165.2,
        };
        let mut rates: Vec<f64> = (0..1019).map(piece).collect();
        assert_eq!(knee(&rates, &seconds(&rates)), None);
        // What ends later is found all the same.
        rates[510..].iter_mut().for_each(|rate| *rate *= 0.7);
        assert_eq!(knee(&rates, &seconds(&rates)).map(|knee| knee.at), Some(510));
    }

    #[test]
    fn the_first_of_two_falls_counts() {
        let rates = [vec![2000.0; 40], vec![900.0; 80], vec![400.0; 180]].concat();
        let found = knee(&rates, &[0.2; 300]).unwrap();
        assert_eq!((found.at, found.before, found.after), (40, 2000.0, 900.0));
    }

    #[test]
    fn short_or_small_falls_are_not_knees() {
        let (rates, seconds) = cache(400, 100, 0.03, 1, 0.1);
        assert_eq!(super::knee(&rates, &seconds, DISK_FALL_MIN), None, "a tenth of a disk");
        let (rates, seconds) = cache(400, 100, 0.03, 1, 0.03);
        assert_eq!(knee(&rates, &seconds), None, "three percent");
        let (rates, seconds) = cache(400, 100, 0.08, 1, 0.1);
        assert_eq!(knee(&rates, &seconds), None, "within the noise");
        assert!((0.12..0.18).contains(&resolution(&rates, FLASH_FALL_MIN).unwrap()));
        let (mut rates, _) = cache(400, 400, 0.03, 1, 0.0);
        rates[100..110].fill(100.0);
        assert_eq!(knee(&rates, &[0.2; 400]), None, "two seconds");
        assert_eq!(knee(&rates, &[1.0; 400]), None, "ten, and then it goes on as before");
        assert_eq!(knee(&rates[..115], &[1.0; 115]).unwrap().at, 100, "as far as is known");
    }

    /// A burst looks for its knee when a part of it is written: it must not end with a pause.
    #[test]
    fn pause_at_the_end_is_not_a_knee() {
        for (slow, is_knee) in [(1, false), (2, false), (3, true)] {
            let rates = [vec![500.0; 64], vec![40.0; slow]].concat();
            let seconds: Vec<f64> = rates.iter().map(|rate| 244.0 / rate).collect();
            assert_eq!(knee(&rates, &seconds).map(|knee| knee.at), is_knee.then_some(64), "{slow}");
        }
    }

    #[test]
    fn slope_is_not_a_knee_but_step_is() {
        let slope = |i: usize| 200.0 * (1.0 - i as f64 / 2000.0);
        let rates: Vec<f64> = (0..1000).map(|i| slope(i / 40 * 40)).collect();
        let knee = |rates: &[f64], seconds: &[f64]| super::knee(rates, seconds, DISK_FALL_MIN);
        assert_eq!(knee(&rates, &[1.0; 1000]), None);
        let stepped: Vec<f64> =
            (0..1000).map(|i| if i < 300 { rates[i] } else { 0.5 * rates[i] }).collect();
        assert_eq!(knee(&stepped, &[1.0; 1000]).map(|knee| knee.at), Some(300));
    }

    #[test]
    fn edges() {
        assert_eq!(knee(&[], &[]), None);
        assert_eq!(knee(&[1.0; 9], &[1.0; 8]), None);
        assert_eq!(knee(&[0.0; 9], &[1.0; 9]), None);
        assert_eq!(knee(&[1.0; 2], &[9.0; 2]), None);
    }

    #[test]
    fn noise_has_no_knee_even_if_it_remembers() {
        for (phi, piece_s) in [(0.0, 1.0), (0.5, 1.0), (0.9, 1.0), (0.967, 0.28)] {
            let is_false = |seed: &u64| {
                let rates = rates(400, 0.1, phi, *seed, |_| 60.0);
                knee(&rates, &[piece_s; 400]).is_some()
            };
            let count = (0..100).filter(is_false).count();
            assert!(count <= 3, "{phi}: {count} of 100");
        }
    }

    #[test]
    fn correlated_noise_does_not_hide_cache_end() {
        let is_found = |seed: &u64| {
            let rates = rates(400, 0.05, 0.9, *seed, |i| if i < 60 { 500.0 } else { 300.0 });
            knee(&rates, &[1.0; 400]).is_some_and(|knee| knee.at.abs_diff(60) <= 2)
        };
        let count = (0..100).filter(is_found).count();
        assert!(count >= 95, "{count} of 100");
    }

    proptest! {
        #[test]
        fn the_unit_changes_nothing(seed: u64, unit in 1e-3..1e6f64) {
            let (rates, seconds) = cache(200, 60, 0.03, seed, 0.5);
            let scaled: Vec<f64> = rates.iter().map(|rate| rate * unit).collect();
            let at = |rates: &[f64]| knee(rates, &seconds).map(|knee| knee.at);
            prop_assert_eq!(at(&rates), at(&scaled));
        }
    }
}
