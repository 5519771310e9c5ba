//! phybs (FreeBSD): 128 MiB in requests of one size, four sizes apart, one at a time, from several offsets.

use super::super::pc::Pc;
use super::Figures;
use crate::device::Op;
use crate::library::Model;
use drivescope_model::patterns::phybs::{PASS_BYTES, pass, passes};
use std::ops::RangeInclusive;

/// Sizes of the article's runs: reads from the sector up, writes from 1 KiB (`-l 1024`), each to eight times
/// the smallest.
const READ_SIZES: RangeInclusive<u64> = 512..=4096;
const WRITE_SIZES: RangeInclusive<u64> = 1024..=8192;
/// The sector that all those drives report.
const SECTOR: u64 = 512;

/// `read|write.SIZE.OFFSET.elapsed|tps|rate` of every pass, and `write.slowest.elapsed`.
pub(super) fn figures(model: &Model) -> Result<Figures, String> {
    let mut figures = Figures::new();
    run(model, Op::Read, READ_SIZES, &mut figures)?;
    let slowest = run(model, Op::Write, WRITE_SIZES, &mut figures)?;
    figures.insert("write.slowest.elapsed".to_string(), slowest);
    Ok(figures)
}

/// One run of the program; the time of its slowest pass, s.
fn run(
    model: &Model,
    op: Op,
    sizes: RangeInclusive<u64>,
    figures: &mut Figures,
) -> Result<f64, String> {
    let mut pc = Pc::new(model, 0.0)?;
    let mut slowest: f64 = 0.0;
    for (size, offset) in passes(*sizes.start(), *sizes.end(), SECTOR) {
        let places = pass(0, size, offset, PASS_BYTES);
        let load = pc.run(1, places.map(|at| (op, at, size)))?;
        let way = if op == Op::Read { "read" } else { "write" };
        let pass = format!("{way}.{size}.{offset}");
        figures.insert(format!("{pass}.elapsed"), load.elapsed_s);
        figures.insert(format!("{pass}.tps"), load.iops());
        figures.insert(format!("{pass}.rate"), load.rate());
        slowest = slowest.max(load.elapsed_s);
    }
    Ok(slowest)
}
