//! Filling the test file with fresh data, and proving afterwards that data come back as written.

use crate::control::Control;
use crate::error::BenchError;
use crate::io_device::IoDevice;
use crate::offsets::Offsets;
use crate::payload::Payload;
use crate::phase;
use crate::queue::{IoCompletion, IoOp, IoQueue, IoRequest, IoTask, QueueSpec};
use crate::session::{Progress, Session};
use drivescope_model::cell::{Mix, Order, Shape};
use drivescope_model::units::{Bytes, Secs};
use std::io;
use std::ops::Range;

/// Block and depth of the layout: enough to saturate any drive, small enough for its progress to move.
const BLOCK: u64 = 1 << 20;
const DEPTH: u32 = 4;
/// The free space is looked at once per so many bytes.
const CHUNK: u64 = 256 << 20;
/// Long enough for the slowest card; the number of requests ends the phase.
const NO_TIME_LIMIT: Secs = Secs(86_400.0);

/// The size of an own file that holds `size`: whole MiB.
pub fn rounded(size: Bytes) -> Bytes {
    Bytes(size.0.next_multiple_of(BLOCK))
}

/// Writes every whole MiB of the file once, in order, and flushes. Own files are whole MiB long.
pub fn fill(session: &Session<'_>, device: &IoDevice, size: Bytes) -> Result<(), BenchError> {
    write_in_order(session, device, 0..size.0)
}

/// The same with a part, from its start on.
pub fn write_in_order(
    session: &Session<'_>,
    device: &IoDevice,
    part: Range<u64>,
) -> Result<(), BenchError> {
    let shape = Shape { order: Order::Seq, block: Bytes(BLOCK), depth: DEPTH, threads: 1 };
    let behind = part.end - (part.end - part.start) % BLOCK;
    let mut at = part.start;
    while at < behind {
        session.check_stop()?;
        // The space is reserved already; others may still have eaten into the floor meanwhile.
        session.check_room(Bytes(0))?;
        let end = (at + CHUNK).min(behind);
        let mut load = session.load(shape, Mix::WRITE, at..end, "layout", 0);
        load.time = NO_TIME_LIMIT;
        load.ops_max = (end - at) / BLOCK;
        let control = Control::default();
        let mut progress = Progress::new(session, &control);
        let measured = phase::run(device, &load, &control, || progress.report())?;
        if let Some(failure) = measured.recorder.first_error {
            return Err(BenchError::Request { failure, count: measured.recorder.errors });
        }
        at = end;
    }
    session.check_stop()?;
    device.sync()
}

/// Blocks read back by [`verify_sample`], and their size.
const VERIFY_BLOCKS: u32 = 64;
const VERIFY_BYTES: u32 = 64 << 10;

/// Reads random blocks of a file that only this run wrote and compares every byte with what was
/// written there.
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
