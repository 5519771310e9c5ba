//! Random reads within ever larger parts of a disk, from its start.

use super::probe::{Probe, ProbeEnd};
use crate::io::draw::Draw;
use drivescope_stats::summary;

/// Shares of the drive, and reads of each.
const SHARES: [f64; 4] = [0.01, 0.1, 0.33, 1.0];
const READS: usize = 150;

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MeanAccess {
    /// Bytes from the start of the drive in which the reads lie.
    pub span_bytes: f64,
    pub ms: f64,
    /// Standard error of the mean: reads vary by the wait for their sector and by the movement to it.
    pub error_ms: f64,
}

pub fn measure(probe: &mut dyn Probe, block: u32, seed: u64) -> Result<Vec<MeanAccess>, ProbeEnd> {
    let mut draw = Draw::new(seed);
    let mut points = Vec::new();
    for share in SHARES {
        let span = (probe.span() as f64 * share) as u64;
        let mut times = Vec::new();
        for _ in 0..READS {
            let at = draw.place(span, u64::from(block));
            times.extend(probe.read(at, block)?.map(|read| read.ns() / 1e6));
        }
        let Some(ms) = summary::mean(&times) else { continue };
        let count = times.len() as f64;
        let squares: f64 = times.iter().map(|time| (time - ms).powi(2)).sum();
        let error_ms = (squares / (count - 1.0).max(1.0) / count).sqrt();
        points.push(MeanAccess { span_bytes: span as f64, ms, error_ms });
    }
    Ok(points)
}
