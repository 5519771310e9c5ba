//! Filling a whole empty drive from its start to its end, in large writes.
//!
//! The articles do not name their block size; 1 MiB is assumed. It is timed by hundredths of the drive.

use super::super::pc::Pc;
use super::{Figures, named};
use crate::device::Op;
use crate::library::Model;

const CHUNK: u64 = 1 << 20;
/// Assumed: enough writes outstanding that the drive, not the host, sets the pace.
const DEPTH: u32 = 8;
const PARTS: u64 = 100;

/// `start`, `middle`, `end`, `peak` and `whole`, each `.write_rate`; all but the last of a hundredth of
/// the drive.
pub(super) fn figures(model: &Model) -> Result<Figures, String> {
    let mut pc = Pc::new(model, 0.0)?;
    let part = pc.capacity() / PARTS / CHUNK * CHUNK;
    let mut times = Vec::new();
    for n in 0..PARTS {
        times.push(pc.stream(Op::Write, n * part, part, CHUNK, DEPTH)?);
    }
    let rate = |seconds: f64| part as f64 / seconds;
    let shortest = times.iter().copied().fold(f64::INFINITY, f64::min);
    let whole = (part * PARTS) as f64 / times.iter().sum::<f64>();
    Ok(named([
        ("start.write_rate", rate(times[0])),
        ("middle.write_rate", rate(times[times.len() / 2])),
        ("end.write_rate", rate(times[times.len() - 1])),
        ("peak.write_rate", rate(shortest)),
        ("whole.write_rate", whole),
    ]))
}
