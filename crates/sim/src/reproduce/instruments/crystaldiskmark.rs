//! CrystalDiskMark, profile Real World Performance, and random reads at depth 32 of its default profile.
//!
//! A file of 1 GiB; of each test one run is discarded and the best of five counts, 5 s each, 5 s apart;
//! reads first. Latency is the smallest of the runs' means.

use super::super::pc::{Load, Pc, sequential};
use super::{Figures, random, random_place};
use crate::device::{Nanos, Op};
use crate::library::{Kind, Model};

const FILE_BYTES: u64 = 1 << 30;
const LARGE: u64 = 1 << 20;
const BLOCK: u64 = 4096;
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
        for (shape, depth) in [("seq1m_q1t1", 1), ("rnd4k_q32t1", 32), ("rnd4k_q1t1", 1)] {
            if depth > 1 && op == Op::Write {
                continue;
            }
            let best = best_of_runs(&mut pc, op, shape.starts_with("seq"), depth, file_at)?;
            for (key, value) in
                [("rate", best.rate()), ("iops", best.iops()), ("latency", best.latency_s)]
            {
                figures.insert(format!("{shape}.{way}.{key}"), value);
            }
        }
    }
    Ok(figures)
}

/// One test: a discarded run, then the best of the others.
fn best_of_runs(
    pc: &mut Pc,
    op: Op,
    large: bool,
    depth: usize,
    file_at: u64,
) -> Result<Load, String> {
    pc.rest(PAUSE);
    let mut random = random();
    let mut best = Load::default();
    for run in 0..=RUNS {
        let load = if large {
            let blocks = (0..FILE_BYTES / LARGE).cycle();
            pc.run_for(RUN, depth, blocks.map(|i| (op, file_at + i * LARGE, LARGE)))?
        } else {
            let places = std::iter::repeat_with(|| random_place(&mut random, FILE_BYTES, BLOCK));
            pc.run_for(RUN, depth, places.map(|at| (op, file_at + at, BLOCK)))?
        };
        if run > 0 && load.count > best.count {
            best = load;
        }
    }
    Ok(best)
}
