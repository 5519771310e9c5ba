//! phybs (FreeBSD): 128 MiB in requests of one size, four sizes apart, one at a time, from several offsets.

use super::super::pc::Pc;
use super::Figures;
use crate::device::Op;
use crate::library::Model;

/// Bytes that a pass moves: its default.
const PASS_BYTES: u64 = 128 << 20;
/// Sizes of the article's runs: reads from the sector up, writes from 1 KiB (`-l 1024`), each to eight times
/// the smallest.
const READ_SIZES: [u64; 4] = [512, 1024, 2048, 4096];
const WRITE_SIZES: [u64; 4] = [1024, 2048, 4096, 8192];
/// Offsets double from the sector up.
const SECTOR: u64 = 512;

/// `read|write.SIZE.OFFSET.elapsed|tps|rate` of every pass, and `write.slowest.elapsed`.
pub(super) fn figures(model: &Model) -> Result<Figures, String> {
    let mut figures = Figures::new();
    run(model, Op::Read, &READ_SIZES, &mut figures)?;
    let slowest = run(model, Op::Write, &WRITE_SIZES, &mut figures)?;
    figures.insert("write.slowest.elapsed".to_string(), slowest);
    Ok(figures)
}

/// One run of the program; the time of its slowest pass, s.
fn run(model: &Model, op: Op, sizes: &[u64], figures: &mut Figures) -> Result<f64, String> {
    let mut pc = Pc::new(model, 0.0)?;
    let mut slowest: f64 = 0.0;
    for &size in sizes {
        let doubled = std::iter::successors(Some(SECTOR), |offset| Some(offset * 2));
        for offset in std::iter::once(0).chain(doubled.take_while(|&offset| offset < size)) {
            let count = PASS_BYTES / size;
            let load = pc.run(1, (0..count).map(|i| (op, offset + i * 4 * size, size)))?;
            let way = if op == Op::Read { "read" } else { "write" };
            let pass = format!("{way}.{size}.{offset}");
            figures.insert(format!("{pass}.elapsed"), load.elapsed_s);
            figures.insert(format!("{pass}.tps"), load.iops());
            figures.insert(format!("{pass}.rate"), load.rate());
            slowest = slowest.max(load.elapsed_s);
        }
    }
    Ok(slowest)
}
