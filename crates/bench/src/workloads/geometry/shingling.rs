//! Whether the disk keeps random writes elsewhere: an area that was written at random is read in order, beside one that
//! was not (A. Aghayev and P. Desnoyers, Skylight, FAST 2015).
//!
//! On a conventional disk both take the same time. A shingled one fetches each piece from its log, a seek and back.

use super::write_cache::WriteProbe;
use crate::error::BenchError;
use drivescope_model::units::Secs;
use drivescope_stats::interval::{Interval, median_interval};
use drivescope_stats::summary;

/// Areas, each beside one of the same size that is left alone.
const AREAS: u64 = 5;
pub const AREA: u64 = 32 << 20;
/// Time for a write cache to become empty, shorter than that after which shingled disks begin to clean.
const SETTLE: Secs = Secs(0.4);
const PIECES: usize = 48;
/// Times the reading of an area takes beside one that was left alone: below the first no disk of either kind was
/// ever seen to be shingled, above the second none was conventional.
const CONVENTIONAL_MAX: f64 = 1.15;
const SHINGLED_MIN: f64 = 1.5;

/// How much slower areas are read in order after they were written at random.
#[derive(Debug, Clone, PartialEq)]
pub struct Slowdown {
    pub ratios: Vec<f64>,
    pub ratio: f64,
    /// Its 95 % interval.
    pub within: Interval,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RecordingKind {
    Conventional,
    Shingled,
    Unclear,
}

impl Slowdown {
    /// The kind of recording: all areas must agree.
    pub fn recording(&self) -> RecordingKind {
        let all = |good: &dyn Fn(f64) -> bool| self.ratios.iter().all(|&ratio| good(ratio));
        if all(&|ratio| ratio >= SHINGLED_MIN) {
            RecordingKind::Shingled
        } else if all(&|ratio| ratio <= CONVENTIONAL_MAX) {
            RecordingKind::Conventional
        } else {
            RecordingKind::Unclear
        }
    }
}

/// Writes into areas spread over the span and reads them; `None` where there is no room.
pub fn measure(
    writes: &mut WriteProbe<'_, '_>,
    mut read_ns: impl FnMut(&mut WriteProbe<'_, '_>, u64, u64) -> Result<Option<f64>, BenchError>,
) -> Result<Option<Slowdown>, BenchError> {
    let span = writes.area.span.clone();
    let stride = (span.end - span.start) / (AREAS + 1);
    if stride < 4 * AREA {
        return Ok(None);
    }
    let mut ratios = Vec::new();
    for number in 1..=AREAS {
        let alone = span.start + number * stride / writes.block * writes.block;
        let written = alone + AREA;
        let places: Vec<u64> =
            (0..PIECES).map(|_| written + writes.draw.place(AREA, writes.block)).collect();
        let block = writes.block;
        writes.write("shingling", number as u32, block, places, (false, false))?;
        writes.session.device().sync()?;
        // A drive that ignores flushes writes while it is idle; none cleans so soon.
        writes.session.pause(SETTLE)?;
        let (first, second) = (read_ns(writes, alone, AREA)?, read_ns(writes, written, AREA)?);
        if let (Some(first), Some(second)) = (first, second) {
            ratios.push(second / first);
        }
    }
    let found = summary::median(&ratios).zip(median_interval(&ratios, 0.95));
    Ok(found.map(|(ratio, within)| Slowdown { ratios, ratio, within }))
}
