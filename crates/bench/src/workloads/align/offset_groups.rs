//! Which offsets are fast, and what boundary of sectors they lie on. Pure arithmetic.
//!
//! A write that begins or ends inside a physical sector costs a read of it first, on a disk a whole
//! revolution. So the times of writes at different offsets fall into two groups, and the fast offsets are
//! those that are multiples of the sector behind its first boundary.

use drivescope_stats::bootstrap::{Resampling, bootstrap_interval};
use drivescope_stats::summary::quantile;
use drivescope_stats::trimmed_mean::{TrimmedMean, trimmed_mean};

/// Stalls (recalibration, garbage collection) are rarer than this share at each end of the times.
const TRIM_SHARE: f64 = 0.1;
/// Two groups must be this many standard errors of each side apart, all members of both: chance makes
/// eight equal locations look like that in fewer than one of ten thousand cases.
const ERRORS_APART: f64 = 3.0;
/// Resamples of the penalty's interval: two digits of its ends.
const RESAMPLES: usize = 500;

#[derive(Debug, Clone, PartialEq)]
pub struct OffsetTimes {
    /// From the beginning of the target; below the size of the pattern.
    pub offset: u64,
    pub ns: Vec<f64>,
}

/// A number with its 95 % interval.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Estimate {
    pub value: f64,
    pub low: f64,
    pub high: f64,
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct OffsetGroups {
    pub fast: Vec<u64>,
    /// Empty if all are alike.
    pub slow: Vec<u64>,
}

/// Typical time of accesses at one offset, ns. `None` below three accesses.
pub fn location(ns: &[f64]) -> Option<TrimmedMean> {
    trimmed_mean(ns, TRIM_SHARE)
}

/// Divides offsets at the largest step between their times in order of size. They are two groups if that
/// step is at least the factor `ratio_min` and chance does not explain it; else all are fast.
pub fn split(points: &[(u64, TrimmedMean)], ratio_min: f64) -> OffsetGroups {
    let mut order: Vec<usize> = (0..points.len()).collect();
    order.sort_by(|&a, &b| points[a].1.mean.total_cmp(&points[b].1.mean));
    let step = |at: &usize| points[order[*at]].1.mean / points[order[at - 1]].1.mean;
    let largest = (1..order.len()).max_by(|a, b| step(a).total_cmp(&step(b)));
    let cut = largest.filter(|at| step(at) >= ratio_min && are_apart(points, &order, *at));
    let offsets = |members: &[usize]| {
        let mut offsets: Vec<u64> = members.iter().map(|&i| points[i].0).collect();
        offsets.sort_unstable();
        offsets
    };
    let (fast, slow) = order.split_at(cut.unwrap_or(order.len()));
    OffsetGroups { fast: offsets(fast), slow: offsets(slow) }
}

/// Whether every interval before the cut ends below every one after it.
fn are_apart(points: &[(u64, TrimmedMean)], order: &[usize], cut: usize) -> bool {
    let end =
        |sign: f64| move |&i: &usize| points[i].1.mean + sign * ERRORS_APART * points[i].1.error;
    let fast_end = order[..cut].iter().map(end(1.0)).fold(f64::MIN, f64::max);
    let slow_start = order[cut..].iter().map(end(-1.0)).fold(f64::MAX, f64::min);
    fast_end < slow_start
}

/// The smallest extra time at an offset that [`split`] would surely have seen, as a share of an undisturbed access.
///
/// The lower quartile: other users of the drive raise the mean, beside which misalignment adds little.
pub fn resolution(times: &[OffsetTimes], points: &[(u64, TrimmedMean)]) -> f64 {
    let all: Vec<f64> = times.iter().flat_map(|at| at.ns.iter().copied()).collect();
    let undisturbed = quantile(&all, 0.25).unwrap_or(0.0);
    let error = points.iter().map(|(_, at)| at.error).fold(0.0, f64::max);
    if undisturbed > 0.0 { 2.0 * ERRORS_APART * error / undisturbed } else { f64::INFINITY }
}

/// Standard error of the mean over the given offsets, as a share of it.
pub fn error_share(points: &[(u64, TrimmedMean)], offsets: &[u64]) -> f64 {
    let members = || points.iter().filter(|(offset, _)| offsets.contains(offset));
    let sum: f64 = members().map(|(_, at)| at.mean).sum();
    let squares: f64 = members().map(|(_, at)| at.error.powi(2)).sum();
    if sum > 0.0 { squares.sqrt() / sum } else { f64::INFINITY }
}

/// Where sectors begin, if the fast offsets are just those on boundaries: the sector (the largest power of
/// two up to `pattern` that all fast offsets share and no slow one) and its first boundary. `None` if all
/// are alike, or if the fast offsets have no such order.
pub fn boundary(split: &OffsetGroups, pattern: u64, step: u64) -> Option<(u64, u64)> {
    if split.slow.is_empty() {
        return None;
    }
    let mut sector = pattern;
    while sector > step {
        let shift = split.fast.first()? % sector;
        let on_it = |offset: &u64| offset % sector == shift;
        if split.fast.iter().all(on_it) && !split.slow.iter().any(on_it) {
            return Some((sector, shift));
        }
        sector /= 2;
    }
    None
}

/// How much longer accesses at the offsets `slow` take than those at `fast`, with a 95 % interval: a
/// bootstrap over all accesses together. `None` if either group has fewer than three.
pub fn penalty(times: &[OffsetTimes], split: &OffsetGroups, seed: u64) -> Option<Estimate> {
    let mut all: Vec<(bool, f64)> = Vec::new();
    for OffsetTimes { offset, ns } in times {
        let slow = split.slow.contains(offset);
        if slow || split.fast.contains(offset) {
            all.extend(ns.iter().map(|&ns| (slow, ns)));
        }
    }
    // The bootstrap draws numbers of accesses, in order of their times, so that it resamples both groups at
    // once and nothing needs to be sorted again.
    all.sort_by(|a, b| a.1.total_cmp(&b.1));
    let numbers: Vec<f64> = (0..all.len()).map(|i| i as f64).collect();
    let ratio = |drawn: &[f64]| {
        let mut counts = vec![0; all.len()];
        drawn.iter().for_each(|&number| counts[number as usize] += 1);
        Some(mean_of_drawn(&all, &counts, true)? / mean_of_drawn(&all, &counts, false)?)
    };
    let value = ratio(&numbers)?;
    let how = Resampling { resamples: RESAMPLES, confidence: 0.95, seed };
    let interval = bootstrap_interval(&numbers, ratio, how)?;
    Some(Estimate { value, low: interval.low, high: interval.high })
}

/// Trimmed mean of the slow or fast accesses, ascending by time, each drawn as often as `counts` says.
/// `None` below three.
fn mean_of_drawn(ascending: &[(bool, f64)], counts: &[usize], slow: bool) -> Option<f64> {
    let group = || ascending.iter().zip(counts).filter(|((is_slow, _), _)| *is_slow == slow);
    let all: usize = group().map(|(_, count)| count).sum();
    let cut = (TRIM_SHARE * all as f64).floor() as usize;
    let (mut before, mut sum) = (0, 0.0);
    for (&(_, ns), &count) in group() {
        // Accesses of this time whose rank lies within what is kept.
        let (from, to) = (before.max(cut), (before + count).min(all - cut));
        sum += to.saturating_sub(from) as f64 * ns;
        before += count;
    }
    (all >= 3).then(|| sum / (all - 2 * cut) as f64)
}

#[cfg(test)]
mod tests;
