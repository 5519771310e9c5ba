//! AS SSD: a file of 1 GB on an empty drive, one request at a time, no cache of the host.

use super::super::pc::{Pc, sequential};
use super::{Figures, named, random};
use crate::device::Op;
use crate::library::Model;
use rand::seq::SliceRandom;

const FILE_BYTES: u64 = 1 << 30;
/// Units in which the sequential test moves the file.
const SEQUENTIAL_BYTES: u64 = 16 << 20;
/// Units in which the random test makes its file.
const MAKE_BYTES: u64 = 512 << 10;
const BLOCK: u64 = 4096;
/// An empty drive gives the file its first place.
const FILE_AT: u64 = 0;

/// `write_rate` and `read_rate` of the file, written first and then read back.
pub(super) fn sequential_figures(model: &Model) -> Result<Figures, String> {
    let mut pc = Pc::new(model, 0.0)?;
    let pass = |op| sequential(op, FILE_AT, FILE_BYTES, SEQUENTIAL_BYTES);
    let write = pc.run(1, pass(Op::Write))?.rate();
    let read = pc.run(1, pass(Op::Read))?.rate();
    Ok(named([("write_rate", write), ("read_rate", read)]))
}

/// `read_rate` and `write_rate` of blocks of 4 KiB in random order until the file is covered.
pub(super) fn random_figures(model: &Model) -> Result<Figures, String> {
    let mut pc = Pc::new(model, 0.0)?;
    pc.run(1, sequential(Op::Write, FILE_AT, FILE_BYTES, MAKE_BYTES))?;
    let mut blocks: Vec<u64> = (0..FILE_BYTES / BLOCK).collect();
    let mut random = random();
    let mut cover = |op| {
        blocks.shuffle(&mut random);
        let rate =
            pc.run(1, blocks.iter().map(|block| (op, FILE_AT + block * BLOCK, BLOCK)))?.rate();
        Ok::<f64, String>(rate)
    };
    let read = cover(Op::Read)?;
    let write = cover(Op::Write)?;
    Ok(named([("read_rate", read), ("write_rate", write)]))
}
