//! What an SSD's writes show: the unit of its map, its write buffer, its fast cache and how soon that recovers.

use super::probe::ProbeAnswer;
use super::write_cache::{MedianTime, WriteProbe};
use crate::error::BenchError;
use drivescope_model::units::{Bytes, Secs};
use drivescope_stats::interval::median_interval;
use drivescope_stats::summary;

const UNIT_MAX: u64 = 64 << 10;
/// Writes of each size, in as many rounds: a drift meets all sizes alike.
const WRITES_OF_SIZE: usize = 24;
const UNIT_ROUNDS: usize = 3;
/// A write of the buffer's question, and most that it writes; where what is there must be kept, that is in memory.
const BUFFER_CHUNK: u64 = 128 << 10;
const BUFFER_MAX: u64 = 512 << 20;
const BUFFER_KEPT_MAX: u64 = 64 << 20;
const FILLINGS: u32 = 3;
/// The rate after the knee is at most this share of the one before it.
const KNEE_SHARE: f64 = 0.85;
/// A knee lies at least this many points from either end.
const KNEE_POINTS: usize = 8;
/// A write of the fast cache's question, and how many are timed together.
const CACHE_CHUNK: u64 = 1 << 20;
const CACHE_BATCH: usize = 128;
const CACHE_BIN: usize = 16;
/// What the write buffer may have taken first says nothing of the cache after it.
const BUFFER_BINS: usize = 32;
/// The slow rate must last for this many bins.
const SLOW_BINS: usize = 48;
/// Rest before, in which a cache is emptied of what other questions wrote, and after, for recovery.
const REST_BEFORE: Secs = Secs(10.0);
const REST_AFTER: Secs = Secs(5.0);

#[derive(Debug, Clone, PartialEq)]
pub struct UnitTimes {
    /// Bytes, and time of a write.
    pub points: Vec<(f64, f64)>,
    /// The smallest writes that need no completion; why none shows.
    pub unit: Result<u64, String>,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FastCache {
    pub bytes: f64,
    /// Half of the interval.
    pub margin: f64,
    pub rates: (f64, f64),
    /// Bytes taken at the fast rate again after a short rest.
    pub recovered: f64,
}

/// Writes of growing size, each at a multiple of it: what is smaller than the unit of the map has to be completed by
/// reading the rest, so that a whole unit is faster than half of it.
pub fn mapping_unit(writes: &mut WriteProbe<'_, '_>) -> Result<Option<UnitTimes>, BenchError> {
    let mut size = writes.area.step.next_power_of_two().max(512);
    let smallest = size;
    let mut times: Vec<(u64, Vec<f64>)> = Vec::new();
    while size <= UNIT_MAX {
        times.push((size, Vec::new()));
        size *= 2;
    }
    for round in 1..=UNIT_ROUNDS {
        for (size, times) in &mut times {
            let places = (0..WRITES_OF_SIZE).map(|_| writes.place(*size)).collect();
            let cell = format!("write_unit{}", Bytes(*size).short());
            times.extend(writes.write(&cell, round as u32, *size, places, (false, false))?);
        }
    }
    let medians: Option<Vec<(u64, MedianTime)>> =
        times.iter().map(|(size, ns)| Some((*size, MedianTime::of(ns)?))).collect();
    let Some(medians) = medians else { return Ok(None) };
    let unit = unit_of(&medians);
    let points = medians.iter().map(|(size, time)| (*size as f64, time.ns / 1e3)).collect();
    let Some(unit) = unit else {
        let why = format!(
            "writes of {} or more never become faster with their size: the unit is no larger, or the drive answers \
             before it completes them",
            Bytes(smallest).binary()
        );
        return Ok(Some(UnitTimes { points, unit: Err(why) }));
    };
    let ns = astray(writes, unit)?;
    let aligned = medians.iter().find(|(size, _)| *size == unit).map(|(_, time)| *time);
    let is_so = MedianTime::of(&ns)
        .zip(aligned)
        .is_some_and(|(astray, aligned)| astray.within.low > aligned.within.high);
    let unit = if is_so {
        Ok(unit)
    } else {
        let size = Bytes(unit).binary();
        Err(format!(
            "writes of {size} are faster than smaller ones, but not slower off their multiples"
        ))
    };
    Ok(Some(UnitTimes { points, unit }))
}

/// Writes of a unit, half of it off its multiples.
fn astray(writes: &mut WriteProbe<'_, '_>, unit: u64) -> Result<Vec<f64>, BenchError> {
    let end = writes.area.span.end;
    let off = |at: u64| if at + unit + unit / 2 <= end { at + unit / 2 } else { at - unit / 2 };
    let places = (0..WRITES_OF_SIZE * UNIT_ROUNDS).map(|_| off(writes.place(unit))).collect();
    writes.write("write_unit_astray", 1, unit, places, (false, false))
}

/// The size at which writes become faster: all smaller ones are slower.
fn unit_of(medians: &[(u64, MedianTime)]) -> Option<u64> {
    let drop = |i: usize| medians[i - 1].1.ns - medians[i].1.ns;
    let at = (1..medians.len()).max_by(|&a, &b| drop(a).total_cmp(&drop(b)))?;
    let (_, time) = medians[at];
    let is_clear = medians[..at].iter().all(|(_, smaller)| smaller.within.low > time.within.high);
    is_clear.then_some(medians[at].0)
}

/// Bytes of each filling until writes wait, less what the flash took meanwhile; why not if none waits.
pub fn write_buffer(writes: &mut WriteProbe<'_, '_>) -> ProbeAnswer<Vec<f64>, BenchError> {
    let most = if writes.area.kept { BUFFER_KEPT_MAX } else { BUFFER_MAX };
    let span = writes.area.span.clone();
    let count = (most.min(span.end - span.start) / BUFFER_CHUNK) as usize;
    let mut found = Vec::new();
    for filling in 1..=FILLINGS {
        writes.rest()?;
        let places = (0..count as u64).map(|i| span.start + i * BUFFER_CHUNK).collect();
        let ns = writes.write("write_buffer", filling, BUFFER_CHUNK, places, (false, false))?;
        let Some(knee) = knee_of(&ns, BUFFER_CHUNK as f64) else {
            let mib = (count as u64 * BUFFER_CHUNK) >> 20;
            return Ok(Err(format!(
                "{mib} MiB in order never wait: the flash takes them as fast as they come, one write at a time"
            )));
        };
        found.push(knee.bytes - knee.slow * knee.ns);
    }
    Ok(Ok(found))
}

/// Where a stretch of writes becomes slower for good.
#[derive(Debug, Clone, Copy, PartialEq)]
struct RateKnee {
    /// Bytes and time before it.
    bytes: f64,
    ns: f64,
    /// Bytes per ns before and after it.
    fast: f64,
    slow: f64,
}

/// The two straight lines of time over bytes that fit best; `None` where the second is hardly steeper.
fn knee_of(ns: &[f64], bytes_each: f64) -> Option<RateKnee> {
    let mut sum = 0.0;
    let ends: Vec<f64> = ns
        .iter()
        .map(|ns| {
            sum += ns;
            sum
        })
        .collect();
    if ends.len() < 4 * KNEE_POINTS {
        return None;
    }
    // The squared distance of each point from the two chords through (0, 0), the knee and the end.
    let (last, total) = (ends.len(), ends[ends.len() - 1]);
    let misfit = |knee: usize| {
        let (at, before) = (ends[knee - 1], ends[knee - 1] / knee as f64);
        let behind = (total - at) / (last - knee) as f64;
        let line = |i: usize| {
            if i < knee { before * (i + 1) as f64 } else { at + behind * (i + 1 - knee) as f64 }
        };
        (0..last).step_by((last / 512).max(1)).map(|i| (ends[i] - line(i)).powi(2)).sum::<f64>()
    };
    let knees = KNEE_POINTS..last - KNEE_POINTS;
    let coarse = knees.clone().step_by((last / 256).max(1));
    let near = coarse.min_by(|&a, &b| misfit(a).total_cmp(&misfit(b)))?;
    let around = (last / 256).max(1);
    let fine = near.saturating_sub(around).max(knees.start)..(near + around).min(knees.end);
    let knee = fine.min_by(|&a, &b| misfit(a).total_cmp(&misfit(b)))?;
    let at = ends[knee - 1];
    let fast = knee as f64 * bytes_each / at;
    let slow = (last - knee) as f64 * bytes_each / (total - at);
    (slow < KNEE_SHARE * fast).then_some(RateKnee {
        bytes: knee as f64 * bytes_each,
        ns: at,
        fast,
        slow,
    })
}

/// Writes in order until the rate drops for good, then once more after a rest; why not if it does not drop.
pub fn fast_cache(
    writes: &mut WriteProbe<'_, '_>,
    most: u64,
) -> ProbeAnswer<FastCache, BenchError> {
    writes.session.pause(REST_BEFORE)?;
    let mut at = 0;
    let mut bins: Vec<f64> = Vec::new();
    let in_bin = (CACHE_BIN as u64 * CACHE_CHUNK) as f64;
    let mut found = None;
    while found.is_none() && bins.len() as f64 * in_bin < most as f64 {
        let round = (bins.len() * CACHE_BIN / CACHE_BATCH) as u32 + 1;
        bins.extend(write_on(writes, "fast_cache", round, &mut at)?);
        let behind_buffer = bins.get(BUFFER_BINS..).unwrap_or_default();
        let slow_bytes = SLOW_BINS as f64 * in_bin;
        let knee = knee_of(behind_buffer, in_bin);
        found = knee
            .filter(|knee| behind_buffer.len() as f64 * in_bin - knee.bytes >= slow_bytes)
            .map(|knee| RateKnee { bytes: knee.bytes + BUFFER_BINS as f64 * in_bin, ..knee });
    }
    let Some(knee) = found else {
        let written = Bytes((bins.len() as f64 * in_bin) as u64);
        return Ok(Err(format!(
            "{written} were written at one rate; use a larger geometry.cache_writes, or the test fill"
        )));
    };
    writes.session.pause(REST_AFTER)?;
    let mut again: Vec<f64> = Vec::new();
    let is_fast = |ns: &f64| in_bin / ns > (knee.fast * knee.slow).sqrt();
    while again.iter().all(is_fast) && again.len() as f64 * in_bin < knee.bytes {
        let round = (again.len() * CACHE_BIN / CACHE_BATCH) as u32 + 1;
        again.extend(write_on(writes, "fast_cache_rested", round, &mut at)?);
    }
    let recovered = again.iter().take_while(|ns| is_fast(ns)).count() as f64 * in_bin;
    let rates = (knee.fast * 1e3, knee.slow * 1e3);
    Ok(Ok(FastCache { bytes: knee.bytes, margin: 4.0 * in_bin, rates, recovered }))
}

/// Writes a batch after the last one, over the area again and again; the time of each bin.
fn write_on(
    writes: &mut WriteProbe<'_, '_>,
    cell: &str,
    round: u32,
    at: &mut u64,
) -> Result<Vec<f64>, BenchError> {
    let span = writes.area.span.clone();
    let chunks = (span.end - span.start) / CACHE_CHUNK;
    let places =
        (0..CACHE_BATCH as u64).map(|i| span.start + (*at + i) % chunks * CACHE_CHUNK).collect();
    *at += CACHE_BATCH as u64;
    let ns = writes.write(cell, round, CACHE_CHUNK, places, (false, false))?;
    Ok(ns.chunks_exact(CACHE_BIN).map(|bin| bin.iter().sum()).collect())
}

pub fn of_fillings(fillings: &[f64]) -> Option<(f64, f64, f64)> {
    let median = summary::median(fillings)?;
    let within = median_interval(fillings, 0.95)?;
    Some((median, within.low, within.high))
}

#[cfg(test)]
mod tests {
    use super::*;
    use drivescope_stats::interval::Interval;

    fn median(ns: f64) -> MedianTime {
        MedianTime { ns, within: Interval { low: ns - 1.0, high: ns + 1.0 } }
    }

    #[test]
    fn map_unit_is_where_writes_become_faster() {
        fn sizes(times: &[f64]) -> Vec<(u64, MedianTime)> {
            times.iter().enumerate().map(|(i, &ns)| (512 << i, median(ns))).collect()
        }
        assert_eq!(unit_of(&sizes(&[80.0, 81.0, 83.0, 30.0, 35.0, 45.0])), Some(4096));
        assert_eq!(unit_of(&sizes(&[30.0, 31.0, 33.0, 40.0, 55.0])), None);
    }

    #[test]
    fn knee_is_found_only_at_the_rate_drop() {
        let ns: Vec<f64> = (0..400).map(|i| if i < 250 { 100.0 } else { 300.0 }).collect();
        let knee = knee_of(&ns, 1000.0).unwrap();
        assert!((knee.bytes / 250e3 - 1.0).abs() < 0.01, "{knee:?}");
        assert!((knee.fast / knee.slow - 3.0).abs() < 0.05);
        assert_eq!(knee_of(&[100.0; 400], 1000.0), None);
        assert_eq!(knee_of(&[100.0; 9], 1000.0), None);
    }
}
