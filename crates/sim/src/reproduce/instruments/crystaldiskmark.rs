//! CrystalDiskMark, profile Real World Performance, and random reads at depth 32 of its default profile.
//!
//! A file of 1 GiB; of each test one run is discarded and the best of five counts, 5 s each, 5 s apart;
//! reads first. Latency is the smallest of the runs' means.

use super::super::pc::{Load, Pc, sequential};
use super::{Figures, random, random_place};
use crate::device::{Nanos, Op};
use crate::library::{Kind, Model};
use drivescope_model::cell::{Order, Shape};
use drivescope_model::options::Preset;

const FILE_BYTES: u64 = 1 << 30;
/// Unit in which the file is made.
const LARGE: u64 = 1 << 20;
const RUNS: u32 = 5;
const RUN: Nanos = 5_000_000_000;
const PAUSE: Nanos = 5_000_000_000;
/// The hard disk of the article was so full; a new file lies behind what is there.
const HDD_FILL: f64 = 0.8;
/// Assumed: the article does not say how full the SSDs were.
const SSD_FILL: f64 = 0.5;

/// `seq1m_q1t1`, `rnd4k_q1t1` and `rnd4k_q32t1`, each `read` and `write`, with `rate`, `iops` and
/// `latency`; at depth 32 reads only.
pub(super) fn figures(model: &Model) -> Result<Figures, String> {
    let fill = if model.kind == Kind::Hdd { HDD_FILL } else { SSD_FILL };
    let mut pc = Pc::new(model, fill)?;
    let file_at = (pc.capacity() as f64 * fill) as u64 / LARGE * LARGE;
    pc.run(1, sequential(Op::Write, file_at, FILE_BYTES, LARGE))?;
    let mut figures = Figures::new();
    for (op, way) in [(Op::Read, "read"), (Op::Write, "write")] {
        for shape in Preset::Default.shapes().into_iter().filter(|shape| is_run(shape, op)) {
            let best = best_of_runs(&mut pc, op, &shape, file_at)?;
            for (key, value) in
                [("rate", best.rate()), ("iops", best.iops()), ("latency", best.latency_s)]
            {
                figures.insert(format!("{shape}.{way}.{key}"), value);
            }
        }
    }
    Ok(figures)
}

/// Whether the article shows a figure of this test: those of Real World, and deep random reads.
fn is_run(shape: &Shape, op: Op) -> bool {
    let deep_random = shape.order == Order::Rnd && shape.depth > 1;
    Preset::RealWorld.shapes().contains(shape) || (deep_random && op == Op::Read)
}

/// One test: a discarded run, then the best of the others.
fn best_of_runs(pc: &mut Pc, op: Op, shape: &Shape, file_at: u64) -> Result<Load, String> {
    pc.rest(PAUSE);
    let mut random = random();
    let (block, depth) = (shape.block.0, shape.depth as usize);
    let mut best = Load::default();
    for run in 0..=RUNS {
        let load = if shape.order == Order::Seq {
            let blocks = (0..FILE_BYTES / block).cycle();
            pc.run_for(RUN, depth, blocks.map(|i| (op, file_at + i * block, block)))?
        } else {
            let places = std::iter::repeat_with(|| random_place(&mut random, FILE_BYTES, block));
            pc.run_for(RUN, depth, places.map(|at| (op, file_at + at, block)))?
        };
        if run > 0 && load.count > best.count {
            best = load;
        }
    }
    Ok(best)
}
