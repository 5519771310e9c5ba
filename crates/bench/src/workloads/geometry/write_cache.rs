//! What the drive does with writes: whether it answers before the medium has them, how many it takes, and whether a
//! flush and force unit access are honest.
//!
//! A sector passes the head once a turn. Writes of one sector that each wait for the medium therefore take at least
//! a turn each; a drive that is done sooner has the data somewhere else.

use super::super::align::write_area::{AccessPattern, WriteArea};
use super::probe::ProbeAnswer;
use crate::error::BenchError;
use crate::io::draw::Draw;
use crate::io::queue::IoOp;
use crate::judging::test_record::TestRecord;
use crate::session::Session;
use drivescope_model::plan::WriteLevel;
use drivescope_stats::interval::{Interval, median_interval};
use drivescope_stats::summary;

/// Writes of one sector, each of which waits.
const WAITING: usize = 24;
/// Writes that show whether there is a cache.
const CACHED: usize = 24;
/// Bytes of a write that fills the cache: many extents of it would fill its list before its memory.
const FILLING_BLOCK: u64 = 64 << 10;
const BATCH: usize = 64;
/// Most that is written to fill the cache; where what is there must be kept, it is in memory meanwhile.
pub const FILLING_MAX: u64 = 512 << 20;
const FILLING_KEPT_MAX: u64 = 64 << 20;
/// A write that takes this many times as long as usual, and as long as this, waited for room.
const FULL_TIMES: f64 = 5.0;
const FULL_NS_MIN: f64 = 1_500_000.0;
/// What is usual: the cache takes this share of the writes at once, at least.
const USUAL_QUANTILE: f64 = 0.05;
/// Within so few of the writes that follow, another one waits too: else it was something else.
const FULL_NEXT: usize = 8;
const FILLINGS: u32 = 2;
/// Writes after the first that waited: they show how fast a full cache empties.
const BEHIND: usize = 32;
/// A cache that empties faster, as a share of the rate at which it fills, is larger or smaller than what it took.
const EMPTIES_MAX: f64 = 0.5;
/// Time for the drive to become quiet.
const REST_S: f64 = 1.0;

/// Times of writes, ns, each as a median with its interval.
#[derive(Debug, Clone, PartialEq)]
pub struct WriteTimes {
    /// Random writes, none of which is flushed.
    pub cached: MedianTime,
    /// The same sector again and again, each with a flush after it.
    pub flushed: MedianTime,
    /// The same with force unit access.
    pub forced: MedianTime,
}

/// A median with its 95 % interval.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MedianTime {
    pub ns: f64,
    pub within: Interval,
}

impl MedianTime {
    /// The median of `times`; `None` if there are too few.
    pub fn of(times: &[f64]) -> Option<Self> {
        Some(Self { ns: summary::median(times)?, within: median_interval(times, 0.95)? })
    }
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CacheFilling {
    pub bytes: f64,
    /// How fast it empties once it is full, as a share of the rate at which it filled. It may have done so all the
    /// time, or not before it was nearly full: its size is between `bytes` less this share, and `bytes`.
    pub empties: f64,
}

impl CacheFilling {
    /// Of the times of all writes, of which the one at `full` was the first that waited.
    fn of(times: &[f64], full: usize) -> Self {
        let (before, behind) = times.split_at(full);
        let bytes = full as f64 * FILLING_BLOCK as f64;
        let empties = if behind.len() < BEHIND { 0.0 } else { mean(before) / mean(behind) };
        Self { bytes, empties: empties.min(1.0) }
    }
}

fn mean(times: &[f64]) -> f64 {
    times.iter().sum::<f64>() / times.len().max(1) as f64
}

pub struct WriteProbe<'s, 'a> {
    pub session: &'s mut Session<'a>,
    pub record: &'s mut TestRecord,
    pub area: WriteArea,
    pub block: u64,
    pub draw: Draw,
}

impl WriteProbe<'_, '_> {
    /// Times small writes; `None` if they were too few.
    pub fn times(&mut self) -> Result<Option<WriteTimes>, BenchError> {
        let random: Vec<u64> = (0..CACHED).map(|_| self.place(self.block)).collect();
        let cached = self.write("write_cached", 1, self.block, random, (false, false))?;
        self.rest()?;
        let same = vec![self.place(self.block); WAITING];
        let flushed = self.write("write_flushed", 1, self.block, same.clone(), (false, true))?;
        self.rest()?;
        let forced = self.write("write_forced", 1, self.block, same, (true, false))?;
        // The first of each has to seek.
        let of = |times: &[f64]| MedianTime::of(times.get(1..)?);
        Ok(of(&cached)
            .zip(of(&flushed))
            .zip(of(&forced))
            .map(|((cached, flushed), forced)| WriteTimes { cached, flushed, forced }))
    }

    /// What the cache takes of scattered writes before one waits, each time it is filled; why that says nothing.
    pub fn cache_fillings(&mut self) -> ProbeAnswer<Vec<CacheFilling>, BenchError> {
        // What must be kept is read before and compared after each batch: then all is one batch.
        let most = if self.area.kept { FILLING_KEPT_MAX } else { FILLING_MAX };
        let batch = if self.area.kept { (most / FILLING_BLOCK) as usize } else { BATCH };
        let mut found = Vec::new();
        for filling in 1..=FILLINGS {
            self.rest()?;
            let mut times: Vec<f64> = Vec::new();
            let full = loop {
                let full = full_at(&times);
                if full.is_some_and(|full| self.area.kept || times.len() - full >= BEHIND) {
                    break full;
                }
                if times.len() as u64 * FILLING_BLOCK >= most {
                    break full;
                }
                let places = (0..batch).map(|_| self.place(FILLING_BLOCK)).collect();
                times.extend(self.write(
                    "write_cache",
                    filling,
                    FILLING_BLOCK,
                    places,
                    (false, false),
                )?);
            };
            match full {
                Some(0) | None => {
                    let mib = (times.len() as u64 * FILLING_BLOCK) >> 20;
                    return Ok(Err(format!("no write of {mib} MiB had to wait for room")));
                }
                Some(full) => found.push(CacheFilling::of(&times, full)),
            }
        }
        if let Some(empties) = found.iter().map(|it| it.empties).find(|it| *it > EMPTIES_MAX) {
            return Ok(Err(format!("it empties {:.0} % as fast as it fills", empties * 100.0)));
        }
        self.rest()?;
        Ok(Ok(found))
    }

    /// A block anywhere: far seeks let a full cache show.
    pub fn place(&mut self, block: u64) -> u64 {
        let span = &self.area.span;
        span.start + self.draw.place(span.end - span.start, block)
    }

    /// Writes with everything on the medium before, and gives the drive time to become quiet.
    pub fn rest(&mut self) -> Result<(), BenchError> {
        self.session.device().sync()?;
        self.session.pause(drivescope_model::units::Secs(REST_S))
    }

    /// Writes what is there, or fresh data where nothing must be kept.
    pub fn write(
        &mut self,
        cell: &str,
        round: u32,
        block: u64,
        places: Vec<u64>,
        (synced, flushed): (bool, bool),
    ) -> Result<Vec<f64>, BenchError> {
        let plain = AccessPattern::of(cell, round, block, IoOp::Write);
        let way = AccessPattern { synced, flushed, ..plain };
        let originals = self.area.originals(self.session, &places, block)?;
        let data = originals.as_deref();
        let (ns, _) = self.area.access(self.session, self.record, way, places.clone(), data)?;
        self.area.compare(self.session, &places, block, data)?;
        Ok(ns)
    }
}

fn full_at(times: &[f64]) -> Option<usize> {
    // Of a small cache most of the first writes wait already.
    let usual = summary::quantile(times, USUAL_QUANTILE)?;
    let waits = |ns: &f64| *ns > (usual * FULL_TIMES).max(FULL_NS_MIN);
    let mut waiting = times.iter().enumerate().filter(|(_, ns)| waits(ns)).map(|(i, _)| i);
    let first = waiting.next()?;
    waiting.next().filter(|next| next - first <= FULL_NEXT).map(|_| first)
}

/// Whether the target may be written for these questions; why not.
pub fn refusal(session: &Session<'_>) -> Option<String> {
    if !session.plan.suite.geometry.writes {
        return Some("geometry.writes is off".to_string());
    }
    if !session.may_write(WriteLevel::SameBytes) {
        return Some("it writes: --write same-bytes allows that on a device".to_string());
    }
    (!session.is_direct()).then(|| "the page cache takes writes before the drive".to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn single_delay_does_not_end_the_cache() {
        let mut times = vec![300_000.0; 400];
        assert_eq!(full_at(&times), None);
        times[90] = 20_000_000.0;
        assert_eq!(full_at(&times), None, "one delay");
        for i in (200..400).step_by(3) {
            times[i] = 9_000_000.0;
        }
        times[90] = 300_000.0;
        assert_eq!(full_at(&times), Some(200));
        assert_eq!(full_at(&[]), None);
    }

    #[test]
    fn full_cache_empties_at_its_write_rate() {
        let mut times = vec![300_000.0; 200];
        times.extend([0.0, 3_000_000.0].repeat(16));
        let filling = CacheFilling::of(&times, 200);
        assert_eq!(filling, CacheFilling { bytes: 200.0 * 65_536.0, empties: 0.2 });
        times.truncate(220);
        assert_eq!(CacheFilling::of(&times, 200).empties, 0.0, "too few to tell");
    }
}
