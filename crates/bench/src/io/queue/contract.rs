//! One contract that every engine keeps, on a real file.

use super::{IoCompletion, IoOp, IoQueue, IoRequest, IoTask, QueueSpec};
use crate::io::device::IoDevice;
use crate::io::engine;
use crate::io::payload::Payload;
use crate::skip::note_skipped;
use crate::testing::ScratchFile;
use drivescope_model::plan::Engine;
use std::io;

const BLOCK: u32 = 8192;
const BLOCKS: u64 = 64;
const SPEC: QueueSpec = QueueSpec { depth: 8, ahead: 1, block_bytes: BLOCK, dsync: false };

fn on_every_engine<T: IoTask>(name: &str, make: impl Fn() -> T) -> Vec<T::Output> {
    [Engine::Uring, Engine::Threads]
        .into_iter()
        .filter(|&engine| match engine::choose(Some(engine)) {
            Ok(_) => true,
            Err(reason) => {
                note_skipped(&format!("{} ({name}): {reason}", engine.name()));
                false
            }
        })
        .map(|engine| {
            let (_scratch, file) = ScratchFile::new(BLOCKS * u64::from(BLOCK));
            let device = IoDevice::new(file, engine);
            device.run(SPEC, make(), &mut || {}).unwrap().output
        })
        .collect()
}

fn drain<Q: IoQueue>(queue: &mut Q, expected: usize) -> Vec<IoCompletion> {
    let mut all = Vec::new();
    while all.len() < expected {
        let mut done = Vec::with_capacity(queue.slots() as usize);
        queue.wait(&mut done).unwrap();
        assert!(!done.is_empty(), "wait returns with something");
        all.append(&mut done);
    }
    assert_eq!(all.len(), expected);
    all
}

struct WriteAndReadBack;

impl IoTask for WriteAndReadBack {
    type Output = ();

    fn run<Q: IoQueue>(self, queue: &mut Q) -> io::Result<()> {
        assert_eq!(queue.slots(), 9);
        let payload = Payload::new(11, 1);
        for batch in (0..BLOCKS).collect::<Vec<_>>().chunks(8) {
            for (slot, block) in batch.iter().enumerate() {
                let offset = block * u64::from(BLOCK);
                payload.fill(queue.buffer(slot as u16), offset);
                let op = if slot % 3 == 0 { IoOp::WriteThrough } else { IoOp::Write };
                queue.submit(IoRequest { op, offset, len: BLOCK, slot: slot as u16 });
            }
            queue.kick().unwrap();
            let mut slots: Vec<u16> = drain(queue, batch.len()).iter().map(|c| c.slot).collect();
            slots.sort_unstable();
            assert_eq!(slots, (0..batch.len() as u16).collect::<Vec<_>>(), "each slot once");
        }
        queue.submit(IoRequest { op: IoOp::Sync, offset: 0, len: 0, slot: 3 });
        assert_eq!(drain(queue, 1), [IoCompletion { slot: 3, result: 0 }]);
        for block in 0..BLOCKS {
            let offset = block * u64::from(BLOCK);
            let slot = (block % 9) as u16;
            queue.submit(IoRequest { op: IoOp::Read, offset, len: BLOCK, slot });
            assert_eq!(drain(queue, 1), [IoCompletion { slot, result: BLOCK as i32 }]);
            assert_eq!(Payload::first_mismatch(11, queue.buffer(slot), offset), None);
        }
        Ok(())
    }
}

#[test]
fn written_data_are_read_back() {
    assert!(!on_every_engine("read back", || WriteAndReadBack).is_empty());
}

/// Reads beyond the end give what the kernel gives: 0 bytes, no error of the queue.
struct BeyondTheEnd;

impl IoTask for BeyondTheEnd {
    type Output = i32;

    fn run<Q: IoQueue>(self, queue: &mut Q) -> io::Result<i32> {
        let offset = BLOCKS * u64::from(BLOCK);
        queue.submit(IoRequest { op: IoOp::Read, offset, len: BLOCK, slot: 0 });
        Ok(drain(queue, 1)[0].result)
    }
}

#[test]
fn failures_belong_to_their_request() {
    for result in on_every_engine("beyond the end", || BeyondTheEnd) {
        assert_eq!(result, 0);
    }
}

struct WaitUntil;

impl IoTask for WaitUntil {
    type Output = ();

    fn run<Q: IoQueue>(self, queue: &mut Q) -> io::Result<()> {
        let mut done = Vec::with_capacity(queue.slots() as usize);
        for ns in [0, 10_000, 3_000_000] {
            let at = queue.now() + ns;
            queue.wait_until(at, &mut done).unwrap();
            assert!(done.is_empty());
            assert!(queue.now() >= at);
        }
        queue.submit(IoRequest { op: IoOp::Read, offset: 0, len: BLOCK, slot: 0 });
        queue.kick().unwrap();
        let far = queue.now() + 3_600_000_000_000;
        queue.wait_until(far, &mut done).unwrap();
        assert_eq!(done.len(), 1, "a completion ends the wait");
        assert!(queue.now() < far);
        Ok(())
    }
}

#[test]
fn waiting_until_a_time_is_exact() {
    assert!(!on_every_engine("wait until", || WaitUntil).is_empty());
}

struct LeaveInFlight;

impl IoTask for LeaveInFlight {
    type Output = ();

    fn run<Q: IoQueue>(self, queue: &mut Q) -> io::Result<()> {
        for slot in 0..8u16 {
            let offset = u64::from(slot) * u64::from(BLOCK);
            queue.submit(IoRequest { op: IoOp::Read, offset, len: BLOCK, slot });
        }
        queue.kick()
    }
}

#[test]
fn queue_can_be_dropped_with_requests_in_flight() {
    assert!(!on_every_engine("drop", || LeaveInFlight).is_empty());
}
