//! How large the bands of a shingled disk are. Blocks all over a stretch go to the log; in its idle time the disk
//! cleans band by band in the order in which they were first written, so that after each pause the blocks that still
//! lie in the log begin where a band does (A. Aghayev and P. Desnoyers, Skylight, FAST 2015).
//!
//! A block in the log shows by its neighbours: reading over three of them goes to the log and back three times, and
//! each way back takes a turn or more.

use super::probe::{Probe, ProbeAnswer, ProbeEnd};
use super::write_cache::WriteProbe;
use crate::error::BenchError;
use drivescope_model::units::Secs;
use std::ops::Range;

/// Distance of the places, and how many there are.
const STRIDE: u64 = 1 << 20;
const PLACES: u64 = 176;
pub const STRETCH: u64 = PLACES * STRIDE;
/// Groups of blocks at each place: what was read once lies in the cache and shows nothing more.
const GROUPS: u64 = 10;
const GROUP_BYTES: u64 = 80 << 10;
/// Blocks of a group, their distance, and what is read around them.
const BLOCKS: u64 = 3;
const BLOCK_APART: u64 = 16 << 10;
const READ_BYTES: u32 = 64 << 10;
/// Longer than the cleaning of what other questions left in the log.
const SETTLE: Secs = Secs(12.0);
/// Until the last block is in the log, shorter than what cleaning begins after.
const WAIT: Secs = Secs(1.0);
const WAITS_MAX: u64 = 12;
/// Pauses grow by this until a band is cleaned.
const PAUSE_STEP_S: f64 = 0.5;
const PAUSE_MAX_S: f64 = 6.0;
const BEGINNINGS: usize = 5;
/// Distances of beginnings are multiples of a band within this many places.
const MULTIPLE_SLACK: f64 = 1.5;
/// Of smaller bands the places are too coarse.
const BAND_PLACES_MIN: f64 = 8.0;
/// A read over blocks in the log takes at least this many turns more.
const LOGGED_TURNS: f64 = 1.8;

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct BandSize {
    pub bytes: f64,
    pub margin: f64,
}

/// Reads of groups of blocks: slower where the blocks are fetched from the log.
pub trait LoggedReads {
    /// Times a read of the group, ns, after one right before it.
    fn group_ns(
        &mut self,
        writes: &mut WriteProbe<'_, '_>,
        at: u64,
    ) -> Result<Option<f64>, BenchError>;
}

/// The read that is timed: after a small one that brings the head there.
pub fn group_ns(probe: &mut dyn Probe, at: u64, block: u32) -> Result<Option<f64>, ProbeEnd> {
    let before = u64::from(block).max(BLOCK_APART / 2);
    probe.read(at - before, block)?;
    Ok(probe.read(at - before / 2 / 4096 * 4096, READ_BYTES)?.map(|read| read.ns()))
}

pub fn measure(
    writes: &mut WriteProbe<'_, '_>,
    turn_ns: f64,
    reads: &mut dyn LoggedReads,
) -> ProbeAnswer<BandSize, BenchError> {
    let span = writes.area.span.clone();
    let start = span.start + (span.end - span.start) / 3 / STRIDE * STRIDE;
    writes.session.pause(SETTLE)?;
    write_blocks(writes, start)?;
    let mut search = BandSearch { start, group: 1, turn_ns, reads };
    // A drive that ignores flushes writes while it is idle.
    let mut waits = 0;
    while !search.is_logged(writes, PLACES - 1 - waits, 0)? {
        waits += 1;
        if waits > WAITS_MAX {
            break;
        }
        writes.session.pause(WAIT)?;
    }
    // A flush takes so long that the first bands may be clean by then.
    let mut beginnings: Vec<u64> = match search.first_logged(writes, 0..PLACES)? {
        None => return Ok(Err("blocks that were just written lie where they belong".to_string())),
        Some(0) => Vec::new(),
        Some(place) => vec![place],
    };
    let mut pause_s = PAUSE_STEP_S;
    while beginnings.len() < BEGINNINGS && search.has_groups() {
        writes.session.pause(Secs(pause_s))?;
        let from = beginnings.last().copied().unwrap_or(0);
        match search.first_logged(writes, from..PLACES)? {
            None => break,
            Some(place) if place > from => beginnings.push(place),
            Some(_) if pause_s >= PAUSE_MAX_S => break,
            Some(_) => pause_s += PAUSE_STEP_S,
        }
    }
    Ok(band_of(&beginnings).ok_or_else(|| {
        format!(
            "{} beginnings of bands showed within {} pauses, too few or without a common distance",
            beginnings.len(),
            search.group
        )
    }))
}

/// Writes every block of every group, in order of address.
fn write_blocks(writes: &mut WriteProbe<'_, '_>, start: u64) -> Result<(), BenchError> {
    let at = |place: u64, group: u64, block: u64| {
        start + place * STRIDE + (group + 1) * GROUP_BYTES + block * BLOCK_APART
    };
    let mut places: Vec<u64> = Vec::new();
    for place in 0..PLACES {
        for group in 0..GROUPS {
            places.extend((0..BLOCKS).map(|block| at(place, group, block)));
        }
    }
    let block = writes.block;
    writes.write("bands", 1, block, places, (false, false))?;
    writes.session.device().sync()?;
    Ok(())
}

struct BandSearch<'r> {
    start: u64,
    group: u64,
    turn_ns: f64,
    reads: &'r mut dyn LoggedReads,
}

impl BandSearch<'_> {
    fn has_groups(&self) -> bool {
        self.group < GROUPS
    }

    fn is_logged(
        &mut self,
        writes: &mut WriteProbe<'_, '_>,
        place: u64,
        group: u64,
    ) -> Result<bool, BenchError> {
        let at = self.start + place * STRIDE + (group + 1) * GROUP_BYTES;
        let ns = self.reads.group_ns(writes, at)?;
        Ok(ns.is_some_and(|ns| ns > LOGGED_TURNS * self.turn_ns))
    }

    /// The first place whose blocks lie in the log; all before it are clean. Uses up a group of each place it reads.
    fn first_logged(
        &mut self,
        writes: &mut WriteProbe<'_, '_>,
        places: Range<u64>,
    ) -> Result<Option<u64>, BenchError> {
        let (mut low, mut high) = (places.start, places.end);
        let group = self.group;
        self.group += 1;
        // Near the beginning first: mostly nothing has changed.
        let mut middle = low;
        while low < high {
            if self.is_logged(writes, middle, group)? {
                high = middle;
            } else {
                low = middle + 1;
            }
            middle = u64::midpoint(low, high);
        }
        Ok((low < places.end).then_some(low))
    }
}

/// The band whose multiples all distances are.
fn band_of(beginnings: &[u64]) -> Option<BandSize> {
    let apart: Vec<f64> = beginnings.windows(2).map(|pair| (pair[1] - pair[0]) as f64).collect();
    let least = apart.iter().copied().reduce(f64::min).filter(|_| apart.len() >= 2)?;
    // The least distance may be two bands where no pause cleaned a single one: then another one is half a band off.
    (1..=2).find_map(|part| {
        let guess = least / f64::from(part);
        let counts: Vec<f64> = apart.iter().map(|apart| (apart / guess).round()).collect();
        let bands = counts.iter().sum::<f64>();
        let band = apart.iter().sum::<f64>() / bands;
        let is_multiple =
            |(apart, count): (&f64, &f64)| (apart - count * band).abs() <= MULTIPLE_SLACK;
        let fits = band >= BAND_PLACES_MIN && apart.iter().zip(&counts).all(is_multiple);
        let (bytes, margin) = (band * STRIDE as f64, MULTIPLE_SLACK / bands * STRIDE as f64);
        fits.then_some(BandSize { bytes, margin })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn band_divides_all_distances() {
        fn mib(beginnings: &[u64]) -> Option<f64> {
            band_of(beginnings).map(|band| (band.bytes / STRIDE as f64 * 10.0).round() / 10.0)
        }
        assert_eq!(mib(&[7, 27, 47, 87]), Some(20.0));
        assert_eq!(mib(&[7, 37, 82, 97]), Some(15.0));
        assert_eq!(mib(&[7, 37, 81, 97]), Some(15.0));
        assert_eq!(mib(&[0, 40, 100]), Some(20.0));
        assert_eq!(mib(&[7, 27]), None);
        assert_eq!(mib(&[7, 27, 34]), None);
    }
}
