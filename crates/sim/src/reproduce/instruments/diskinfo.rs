//! `diskinfo -t` (FreeBSD), its transfer rates: 100 reads of 1 MiB, one at a time, at three places.

use super::super::pc::{Pc, sequential};
use super::Figures;
use crate::device::{Nanos, Op};
use crate::library::Model;

const READS: u64 = 100;
const READ_BYTES: u64 = 1 << 20;
/// The program waits a second before each test.
const PAUSE: Nanos = 1_000_000_000;

/// `outside.read_rate`, `middle.read_rate`, `inside.read_rate`.
pub(super) fn figures(model: &Model) -> Result<Figures, String> {
    let mut pc = Pc::new(model, 1.0)?;
    let len = READS * READ_BYTES;
    let capacity = pc.capacity() / READ_BYTES * READ_BYTES;
    let middle = capacity / 2 / READ_BYTES * READ_BYTES;
    let mut figures = Figures::new();
    for (place, at) in [("outside", 0), ("middle", middle), ("inside", capacity - len)] {
        pc.rest(PAUSE);
        let load = pc.run(1, sequential(Op::Read, at, len, READ_BYTES))?;
        figures.insert(format!("{place}.read_rate"), load.rate());
    }
    Ok(figures)
}
