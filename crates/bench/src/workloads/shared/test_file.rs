//! Filling the test file with fresh data, and proving afterwards that data come back as written.

use crate::error::BenchError;
use crate::io::device::IoDevice;
use crate::io::offsets::Offsets;
use crate::io::payload::Payload;
use crate::io::queue::{IoCompletion, IoOp, IoQueue, IoRequest, IoTask, QueueSpec};
use crate::loops::control::Control;
use crate::loops::phase;
use crate::session::{Progress, Session};
use drivescope_model::cell::{Mix, Order, Shape};
use drivescope_model::units::{Bytes, Secs};
use std::io;
use std::ops::Range;

/// Block and depth of the layout: enough to saturate any drive, small enough for its progress to move.
const BLOCK: u64 = 1 << 20;
const DEPTH: u32 = 4;
/// The free space is checked once per this many bytes.
const CHUNK: u64 = 256 << 20;
/// The first part shows how fast the drive is.
const TRIAL: u64 = 16 << 20;
/// Long enough for the slowest card; the number of requests ends the phase.
const NO_TIME_LIMIT: Secs = Secs(86_400.0);

pub fn rounded(size: Bytes) -> Bytes {
    Bytes(size.0.next_multiple_of(BLOCK))
}

/// Writes every whole MiB of the file once, in order, and flushes. Own files are whole MiB long.
///
/// Returns how much was written: less than all where that would take longer than `limit`.
pub fn fill(
    session: &Session<'_>,
    device: &IoDevice,
    size: Bytes,
    limit: Option<Secs>,
) -> Result<Bytes, BenchError> {
    let start_ns = session.now_ns();
    let elapsed_s = || (session.now_ns() - start_ns) as f64 / 1e9;
    let mut end = size.0;
    let mut at = 0;
    while at < end {
        session.check_stop()?;
        // The space is reserved already; others may still have eaten into the floor meanwhile.
        session.check_room(Bytes(0))?;
        let is_trial = at == 0 && limit.is_some();
        let chunk = if is_trial { TRIAL } else { CHUNK };
        let to = (at + chunk).min(end);
        let left_s = limit.map(|limit| limit.0 - elapsed_s());
        at += fill_part(session, device, at..to, left_s)?;
        if is_trial {
            // A cache above the drive may have taken everything until now.
            device.sync()?;
            let fitting = limit.map_or(end, |limit| (at as f64 * limit.0 / elapsed_s()) as u64);
            end = end.min(fitting.max(at));
        }
        if at < to || limit.is_some_and(|limit| elapsed_s() > limit.0) {
            break;
        }
    }
    session.check_stop()?;
    device.sync()?;
    Ok(Bytes(if at < size.0 { power_of_two(at) } else { at }))
}

/// The largest power of two of whole MiB that is not above: files of slow drives then have few different sizes.
fn power_of_two(bytes: u64) -> u64 {
    let mib = bytes / BLOCK;
    if mib == 0 { 0 } else { BLOCK << mib.ilog2() }
}

/// Writes a part of the file, or as much of it as the time left is enough for; returns how many bytes.
fn fill_part(
    session: &Session<'_>,
    device: &IoDevice,
    part: Range<u64>,
    left_s: Option<f64>,
) -> Result<u64, BenchError> {
    let shape = Shape::plain(Order::Seq, Bytes(BLOCK), DEPTH);
    let mut load = session.load(shape, Mix::WRITE, part.clone(), "layout", 0);
    load.time = NO_TIME_LIMIT;
    load.ops_max = (part.end - part.start) / BLOCK;
    let control = Control::default();
    let mut progress = Progress::new(session, &control);
    let start_ns = session.now_ns();
    let measured = phase::run(device, &load, &control, &mut || {
        progress.report();
        let elapsed_s = (session.now_ns() - start_ns) as f64 / 1e9;
        if left_s.is_some_and(|left_s| elapsed_s > left_s) {
            control.stop();
        }
    })?;
    match measured.recorder.first_error {
        Some(failure) => Err(BenchError::Request { failure, count: measured.recorder.errors }),
        None => Ok(measured.recorder.requests * BLOCK),
    }
}

/// Blocks read back by [`verify_sample`], and their size.
const VERIFY_BLOCKS: u32 = 64;
const VERIFY_BYTES: u32 = 64 << 10;

/// Reads random blocks of a file that only this run wrote and compares every byte with what was written there.
pub fn verify_sample(
    session: &Session<'_>,
    device: &IoDevice,
    seed: u64,
) -> Result<(), BenchError> {
    let span = 0..device.size_bytes();
    let block = u64::from(VERIFY_BYTES);
    let task = VerifySample {
        offsets: Offsets::new(Order::Rnd, span, block, Mix::READ, 0.0, seed),
        data_seed: session.plan.seed,
    };
    let spec = QueueSpec { depth: 1, ahead: 1, block_bytes: VERIFY_BYTES, dsync: false };
    let control = Control::default();
    let (outcome, _) = session.run_task(device, spec, &control, task)?;
    outcome.output
}

struct VerifySample {
    offsets: Offsets,
    data_seed: u64,
}

impl IoTask for VerifySample {
    type Output = Result<(), BenchError>;

    fn run<Q: IoQueue>(mut self, queue: &mut Q) -> io::Result<Self::Output> {
        let mut done: Vec<IoCompletion> = Vec::with_capacity(queue.slots() as usize);
        for _ in 0..VERIFY_BLOCKS {
            let (_, offset) = self.offsets.draw();
            let request = IoRequest { op: IoOp::Read, offset, len: VERIFY_BYTES, slot: 0 };
            if let Err(failure) = queue.exchange(request, &mut done)? {
                return Ok(Err(BenchError::Request { failure, count: 1 }));
            }
            if let Some(offset) = Payload::first_mismatch(self.data_seed, queue.buffer(0), offset) {
                return Ok(Err(BenchError::Mismatch { offset }));
            }
        }
        Ok(Ok(()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{run_target, suite_of, whole_plan, with_session};
    use drivescope_model::options::TestKind;
    use drivescope_model::target::IoMode;
    use std::sync::Arc;

    /// What is written of a file on a simulated disk, and how long that takes, s.
    fn filled(limit_s: f64) -> (Bytes, f64) {
        let target = run_target("sim:wd10ears");
        let plan = whole_plan(&target, suite_of(TestKind::Transfer), 1);
        with_session(&target, &plan, false, |session| {
            let drive = target.simulated().unwrap();
            let device = IoDevice::simulated(Arc::clone(drive), IoMode::Direct);
            let start_ns = session.now_ns();
            let written = fill(&session, &device, Bytes::mib(512), Some(Secs(limit_s))).unwrap();
            (written, (session.now_ns() - start_ns) as f64 / 1e9)
        })
    }

    #[test]
    fn slow_drive_gets_a_smaller_test_file() {
        let (whole, took_s) = filled(1e6);
        assert_eq!(whole, Bytes::mib(512));
        let (part, part_s) = filled(took_s / 4.0);
        assert!(part < whole && part >= Bytes::mib(32) && part.0.is_power_of_two(), "{part}");
        assert!(part_s < took_s / 3.0, "{part_s} s of {took_s} s");
    }

    #[test]
    fn slow_drive_test_files_are_powers_of_two() {
        let of = |mib| power_of_two(Bytes::mib(mib).0) >> 20;
        assert_eq!([0, 1, 3, 16, 31, 500].map(of), [0, 1, 2, 16, 16, 256]);
    }
}
