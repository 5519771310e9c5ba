//! One request at a time, each optionally followed by a flush: what a program that writes a few bytes
//! and waits will see.

use crate::io::offsets::Offsets;
use crate::io::payload::Payload;
use crate::io::queue::{IoCompletion, IoFailure, IoOp, IoQueue, IoRequest, IoTask};
use crate::io::recorder::Recorder;
use crate::loops::control::{Control, Publisher};
use std::io;

/// One request at a time. With `sync`, a request's latency includes its flush.
#[derive(Debug)]
pub struct SerialLoop<'c> {
    /// Any length the file's mode allows.
    pub block_bytes: u32,
    pub offsets: Offsets,
    pub payload: Payload,
    pub sync: bool,
    /// What the program does before each request, as time on its processor.
    pub think_ns: u64,
    pub time_ns: u64,
    pub ops_max: u64,
    pub control: &'c Control,
}

impl IoTask for SerialLoop<'_> {
    type Output = Recorder;

    fn run<Q: IoQueue>(mut self, queue: &mut Q) -> io::Result<Recorder> {
        let mut recorder = Recorder::new(self.time_ns);
        let mut done = Vec::with_capacity(queue.slots() as usize);
        let mut publisher = Publisher::new(self.control);
        let mut now = queue.now();
        recorder.start(now);
        let deadline = now.saturating_add(self.time_ns);
        while now < deadline && recorder.requests < self.ops_max {
            let (op, offset) = self.offsets.draw();
            if self.think_ns > 0 {
                think(queue, now + self.think_ns, &mut done)?;
                now = queue.now();
            }
            if op == IoOp::Write {
                self.payload.of_write(recorder.requests).fill(queue.buffer(0), offset);
                now = queue.now();
            }
            let request = IoRequest { op, offset, len: self.block_bytes, slot: 0 };
            recorder.requests += 1;
            let mut end = queue.exchange(request, &mut done)?;
            if end.is_ok() && self.sync {
                let flush = IoRequest { op: IoOp::Sync, len: 0, ..request };
                end = queue.exchange(flush, &mut done)?;
            }
            if let Err(failure) = end {
                recorder.failed(failure);
                break;
            }
            let sent = now;
            now = queue.now();
            recorder.complete(now, now - sent, u64::from(self.block_bytes));
            if publisher.tick(now, &recorder) {
                break;
            }
        }
        publisher.publish(&recorder);
        recorder.settle();
        Ok(recorder)
    }
}

/// One flush for all that was written before: how long it took, and its failure.
#[derive(Debug)]
pub struct FinalFlush;

impl IoTask for FinalFlush {
    type Output = (u64, Option<IoFailure>);

    fn run<Q: IoQueue>(self, queue: &mut Q) -> io::Result<Self::Output> {
        let before = queue.now();
        let flush = IoRequest { op: IoOp::Sync, ..IoRequest::default() };
        let end = queue.exchange(flush, &mut Vec::new())?;
        Ok((queue.now() - before, end.err()))
    }
}

fn think<Q: IoQueue>(queue: &mut Q, until: u64, done: &mut Vec<IoCompletion>) -> io::Result<()> {
    while queue.now() < until {
        queue.wait_until(until, done)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::VirtualQueue;
    use drivescope_model::cell::{Mix, Order};

    fn plan(sync: bool, control: &Control) -> SerialLoop<'_> {
        SerialLoop {
            block_bytes: 16,
            offsets: Offsets::new(Order::Rnd, 0..1 << 20, 16, Mix::WRITE, 0.0, 1),
            payload: Payload::new(1, 1),
            sync,
            think_ns: 0,
            time_ns: 1_000_000_000,
            ops_max: 100,
            control,
        }
    }

    fn service(request: &IoRequest, _: u64) -> Result<u64, i32> {
        Ok(if request.op == IoOp::Sync { 8_000_000 } else { 1_000_000 })
    }

    #[test]
    fn think_time_passes_but_is_not_latency() {
        let control = Control::default();
        let thinking = SerialLoop { think_ns: 3_000_000, ..plan(false, &control) };
        let recorder = thinking.run(&mut VirtualQueue::new(2, 1, service)).unwrap();
        assert_eq!(recorder.elapsed_ns(), 400_000_000);
        assert!(recorder.latencies.max().abs_diff(1_000_000) < 10_000);
    }

    #[test]
    fn flush_per_write_is_part_of_its_latency() {
        let control = Control::default();
        let recorder = plan(true, &control).run(&mut VirtualQueue::new(2, 1, service)).unwrap();
        assert_eq!(recorder.ops, 100);
        assert_eq!(recorder.elapsed_ns(), 900_000_000);
        assert!(recorder.latencies.value_at_quantile(0.5).abs_diff(9_000_000) < 10_000);
    }

    #[test]
    fn the_final_flush_is_timed_apart() {
        let control = Control::default();
        let mut drive = VirtualQueue::new(2, 1, service);
        let recorder = plan(false, &control).run(&mut drive).unwrap();
        assert_eq!(recorder.elapsed_ns(), 100_000_000);
        assert_eq!(FinalFlush.run(&mut drive).unwrap(), (8_000_000, None));
    }

    #[test]
    fn a_failed_flush_ends_the_loop() {
        let control = Control::default();
        let mut drive = VirtualQueue::new(2, 1, |request: &IoRequest, _| match request.op {
            IoOp::Sync => Err(libc::EIO),
            _ => Ok(1_000),
        });
        let recorder = plan(true, &control).run(&mut drive).unwrap();
        assert_eq!((recorder.ops, recorder.errors), (0, 1));
        let (_, failure) = FinalFlush.run(&mut drive).unwrap();
        assert_eq!(failure.unwrap().errno, libc::EIO);
    }
}
