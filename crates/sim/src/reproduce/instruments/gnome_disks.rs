//! The benchmark of GNOME Disks with writing: 100 samples of 10 MiB, then 1000 accesses of a page.
//!
//! Before each sample a page is read there, untimed. The write of a sample is timed with its flush. A read
//! or write is one call; the link splits it.

use super::super::pc::Pc;
use super::Figures;
use crate::device::Op;
use crate::library::Model;
use drivescope_model::patterns::gnome_disks::{
    ACCESSES, PAGE, SAMPLE_BYTES, SAMPLES, accesses, samples,
};

/// Samples that make up the start and the end of a curve.
const EDGE: usize = 5;

/// Partitions of the article: name, bytes (0: the whole drive), whether at the drive's end.
const SPANS: [(&str, u64, bool); 5] = [
    ("whole", 0, false),
    ("first-2tb", 2_000_000_000_000, false),
    ("last-2tb", 2_000_000_000_000, true),
    ("front-256mb", 256_000_000, false),
    ("back-256mb", 256_000_000, true),
];

/// Of each span: `SPAN.read_rate`, `write_rate` and `access_time`, means over all samples, and the rates
/// at its `start` and `end`.
pub(super) fn figures(model: &Model) -> Result<Figures, String> {
    let mut figures = Figures::new();
    for (name, bytes, at_end) in SPANS {
        let mut pc = Pc::new(model, 1.0)?;
        let len = if bytes == 0 { pc.capacity() } else { bytes.min(pc.capacity()) } / PAGE * PAGE;
        let from = if at_end { (pc.capacity() - len) / PAGE * PAGE } else { 0 };
        let (read, write) = rates(&mut pc, from, len)?;
        let mut keep =
            |key: &str, value: f64| figures.insert(format!("{name}.{key}"), value).is_none();
        for (key, rates) in [("read_rate", read), ("write_rate", write)] {
            keep(key, mean(&rates));
            keep(&format!("start.{key}"), mean(&rates[..EDGE]));
            keep(&format!("end.{key}"), mean(&rates[rates.len() - EDGE..]));
        }
        keep("access_time", access_time(&mut pc, from, len)?);
    }
    Ok(figures)
}

/// Rates of the samples, reads and writes.
fn rates(pc: &mut Pc, from: u64, len: u64) -> Result<(Vec<f64>, Vec<f64>), String> {
    let (mut read, mut write) = (Vec::new(), Vec::new());
    for (at, bytes) in samples(len, SAMPLES, SAMPLE_BYTES) {
        pc.one(Op::Read, from + at, PAGE)?;
        read.push(bytes as f64 / pc.one(Op::Read, from + at, bytes)?);
        pc.one(Op::Read, from + at, PAGE)?;
        let written = [(Op::Write, from + at, bytes), (Op::Flush, 0, 0)];
        write.push(bytes as f64 / pc.run(1, written)?.elapsed_s);
    }
    Ok((read, write))
}

/// Mean time of one access, s.
fn access_time(pc: &mut Pc, from: u64, len: u64) -> Result<f64, String> {
    let places = accesses(len, ACCESSES).into_iter();
    Ok(pc.run(1, places.map(|at| (Op::Read, from + at, PAGE)))?.latency_s)
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}
