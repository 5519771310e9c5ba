//! Large transfers: the test `transfer` of this program (1 MiB, depth 8), and long passes over regions.

use super::super::pc::Pc;
use super::Figures;
use crate::device::Op;
use crate::library::Model;

const CHUNK: u64 = 1 << 20;
const DEPTH: u32 = 8;
/// The file of the test `transfer`.
const FILE_BYTES: u64 = 1 << 30;
const TB: u64 = 1_000_000_000_000;

/// `seq1m` over 1 GiB at the start of a drive that is full; `front` and `back`, a twentieth of the drive
/// each, and on a drive that has them `first-2tb` and `2tb-11tb`; `.read_rate` and `.write_rate` of each.
pub(super) fn figures(model: &Model) -> Result<Figures, String> {
    let mut figures = Figures::new();
    for (op, key) in [(Op::Read, "read_rate"), (Op::Write, "write_rate")] {
        for (name, from, len) in regions(model.capacity_bytes()) {
            let mut pc = Pc::new(model, 1.0)?;
            let (from, len) = (from / CHUNK * CHUNK, len / CHUNK * CHUNK);
            let seconds = pc.stream(op, from, len, CHUNK, DEPTH)?;
            figures.insert(format!("{name}.{key}"), len as f64 / seconds);
        }
    }
    Ok(figures)
}

/// Name, first byte and length.
fn regions(capacity: u64) -> Vec<(&'static str, u64, u64)> {
    let edge = capacity / 20;
    let mut regions = vec![
        ("seq1m", 0, FILE_BYTES),
        ("front", 0, edge),
        ("back", capacity - edge, edge - 2 * CHUNK),
    ];
    if capacity >= 11 * TB {
        regions.extend([("first-2tb", 0, 2 * TB), ("2tb-11tb", 2 * TB, 9 * TB)]);
    }
    regions
}
