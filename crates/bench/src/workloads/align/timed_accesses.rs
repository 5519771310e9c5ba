//! Accesses at given places, one after the other, each timed; and reading what is there beforehand.

use crate::io::payload::Payload;
use crate::io::queue::{IoFailure, IoOp, IoQueue, IoRequest, IoTask};
use crate::io::recorder::Recorder;
use crate::loops::control::{Control, Publisher};
use std::io;

#[derive(Debug, Clone, Copy)]
pub enum WriteData<'d> {
    Fresh(Payload),
    /// What was there, one block after the other in the order of the places.
    Kept(&'d [u8]),
}

#[derive(Debug)]
pub struct TimedAccesses<'d> {
    pub places: Vec<u64>,
    pub block: u32,
    pub op: IoOp,
    /// Whether each block is read just before it is written; the time is that of both.
    pub reads_first: bool,
    /// Whether a flush follows each access; the time is that of both.
    pub flushed: bool,
    pub data: WriteData<'d>,
    pub control: &'d Control,
}

#[derive(Debug)]
pub struct Accessed {
    pub ns: Vec<f64>,
    pub recorder: Recorder,
    /// The drive did not take back what it held at this byte: what is there now is unknown.
    pub lost: Option<u64>,
}

impl IoTask for TimedAccesses<'_> {
    type Output = Accessed;

    fn run<Q: IoQueue>(self, queue: &mut Q) -> io::Result<Accessed> {
        let mut accessed = Accessed {
            ns: Vec::with_capacity(self.places.len()),
            recorder: Recorder::of_any_length(),
            lost: None,
        };
        accessed.recorder.start(queue.now());
        self.visit_all(queue, &mut accessed)?;
        Ok(accessed)
    }
}

impl TimedAccesses<'_> {
    fn visit_all<Q: IoQueue>(&self, queue: &mut Q, accessed: &mut Accessed) -> io::Result<()> {
        let Accessed { ns, recorder, lost, .. } = accessed;
        let mut publisher = Publisher::new(self.control);
        let mut done = Vec::with_capacity(queue.slots() as usize);
        let first = self.reads_first.then_some(IoOp::Read);
        let last = self.flushed.then_some(IoOp::Sync);
        'places: for (number, &offset) in self.places.iter().enumerate() {
            let mut took_ns = 0;
            for op in first.into_iter().chain([self.op]).chain(last) {
                if op == IoOp::Write {
                    self.fill(queue.buffer(0), number, offset);
                }
                let sent = queue.now();
                let len = if op == IoOp::Sync { 0 } else { self.block };
                let request = IoRequest { op, offset, len, slot: 0 };
                recorder.requests += 1;
                if let Err(failure) = queue.exchange(request, &mut done)? {
                    recorder.failed(failure);
                    if op == IoOp::Write && !self.write_again(queue, request, number)? {
                        *lost = Some(offset);
                    }
                    break 'places;
                }
                took_ns += queue.now() - sent;
            }
            let now = queue.now();
            recorder.complete(now, took_ns, u64::from(self.block));
            ns.push(took_ns as f64);
            if publisher.tick(now, recorder) {
                break;
            }
        }
        publisher.publish(recorder);
        Ok(())
    }

    /// Writes once more what a failed write may have lost. Whether the block then holds what it held.
    fn write_again<Q: IoQueue>(
        &self,
        queue: &mut Q,
        request: IoRequest,
        number: usize,
    ) -> io::Result<bool> {
        let WriteData::Kept(originals) = self.data else { return Ok(true) };
        let mut done = Vec::with_capacity(queue.slots() as usize);
        // The flush is for drives that took the write into their cache, whatever became of the write.
        for op in [IoOp::Write, IoOp::Sync, IoOp::Read] {
            let len = if op == IoOp::Sync { 0 } else { request.len };
            let end = queue.exchange(IoRequest { op, len, ..request }, &mut done)?;
            if op == IoOp::Read && end.is_err() {
                return Ok(false);
            }
        }
        let buffer = queue.buffer(0);
        Ok(*buffer == originals[number * buffer.len()..(number + 1) * buffer.len()])
    }

    /// Puts the data of an access into its buffer, which is empty where no data move.
    fn fill(&self, buffer: &mut [u8], number: usize, offset: u64) {
        match self.data {
            WriteData::Fresh(payload) => payload.fill(buffer, offset),
            WriteData::Kept(originals) => {
                let from = number * buffer.len();
                buffer.copy_from_slice(&originals[from..from + buffer.len()]);
            }
        }
    }
}

/// Reads the blocks at all places, in order of address.
#[derive(Debug)]
pub struct ReadBlocks {
    pub places: Vec<u64>,
    pub block: u32,
}

impl IoTask for ReadBlocks {
    /// The blocks in the order of the places, empty where no data move; the inner error is a failed read.
    type Output = Result<Vec<u8>, IoFailure>;

    fn run<Q: IoQueue>(self, queue: &mut Q) -> io::Result<Self::Output> {
        let mut done = Vec::with_capacity(queue.slots() as usize);
        let block = queue.buffer(0).len();
        let mut blocks = vec![0; block * self.places.len()];
        let mut order: Vec<usize> = (0..self.places.len()).collect();
        order.sort_unstable_by_key(|&number| self.places[number]);
        for number in order {
            let offset = self.places[number];
            let request = IoRequest { op: IoOp::Read, offset, len: self.block, slot: 0 };
            if let Err(failure) = queue.exchange(request, &mut done)? {
                return Ok(Err(failure));
            }
            blocks[number * block..(number + 1) * block].copy_from_slice(queue.buffer(0));
        }
        Ok(Ok(blocks))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::io::device::IoDevice;
    use crate::io::queue::{IoCompletion, QueueSpec};
    use crate::testing::{VirtualQueue, scratch};
    use drivescope_drive::OwnFolder;
    use drivescope_model::plan::Engine;
    use drivescope_model::units::Bytes;

    fn writes<'d>(
        places: &[u64],
        block: u32,
        data: WriteData<'d>,
        control: &'d Control,
    ) -> TimedAccesses<'d> {
        let (places, op) = (places.to_vec(), IoOp::Write);
        TimedAccesses { places, block, op, reads_first: false, flushed: false, data, control }
    }

    #[test]
    fn each_access_is_timed_and_failure_ends_them() {
        fn service(request: &IoRequest, _: u64) -> Result<u64, i32> {
            match request.offset {
                8192 => Err(libc::EIO),
                offset => Ok(1_000 + offset),
            }
        }
        let control = Control::default();
        let fresh = WriteData::Fresh(Payload::new(1, 1));
        let task = |places: &[u64]| writes(places, 4096, fresh, &control);
        let accessed = task(&[512, 0, 1024]).run(&mut VirtualQueue::new(2, 1, service)).unwrap();
        assert_eq!(accessed.ns, [1_512.0, 1_000.0, 2_024.0]);
        let accessed = task(&[0, 8192, 0]).run(&mut VirtualQueue::new(2, 1, service)).unwrap();
        assert_eq!(accessed.ns.len(), 1);
        assert_eq!(accessed.recorder.first_error.unwrap().offset, 8192);
    }

    /// A drive with one block, which fails the requests of `failing` from the first write on.
    struct Block {
        held: Vec<u8>,
        buffer: Vec<u8>,
        failing: Vec<IoOp>,
        asked: Vec<IoOp>,
        done: Option<IoCompletion>,
    }

    impl IoQueue for Block {
        fn slots(&self) -> u32 {
            1
        }
        fn buffer(&mut self, _: u16) -> &mut [u8] {
            &mut self.buffer
        }
        fn submit(&mut self, request: IoRequest) {
            self.asked.push(request.op);
            let fails = self.failing.iter().position(|op| *op == request.op);
            match (request.op, fails) {
                // Half of it came to the medium.
                (IoOp::Write, Some(_)) => self.held[..256].copy_from_slice(&[0xEE; 256]),
                (IoOp::Write, None) => self.held.copy_from_slice(&self.buffer),
                (IoOp::Read, None) => self.buffer.copy_from_slice(&self.held),
                _ => {}
            }
            let result = if fails.is_some() { -libc::EIO } else { request.len as i32 };
            fails.map(|at| self.failing.remove(at));
            self.done = Some(IoCompletion { slot: 0, result });
        }
        fn kick(&mut self) -> io::Result<()> {
            Ok(())
        }
        fn wait_until(&mut self, _: u64, done: &mut Vec<IoCompletion>) -> io::Result<()> {
            done.extend(self.done.take());
            Ok(())
        }
        fn now(&self) -> u64 {
            1
        }
    }

    /// A failed write may have torn the block: what it held is still there to be written once more.
    #[test]
    fn block_whose_write_failed_gets_its_contents_back() {
        use IoOp::{Read, Write};
        for (failing, is_back, is_known) in [
            (vec![Write], true, true),
            (vec![Write, IoOp::Sync], true, true),
            (vec![Write, Write], false, false),
            (vec![Write, Read], true, false),
        ] {
            let (original, control) = ([7; 512], Control::default());
            let kept = [original, original].concat();
            let task = writes(&[4096, 8192], 512, WriteData::Kept(&kept), &control);
            let (held, buffer) = (original.to_vec(), vec![0; 512]);
            let (asked, done) = (Vec::new(), None);
            let mut drive = Block { held, buffer, failing: failing.clone(), asked, done };
            let accessed = task.run(&mut drive).unwrap();
            assert_eq!(drive.held == original, is_back, "{failing:?}");
            assert_eq!(accessed.lost, (!is_known).then_some(4096), "{failing:?}");
            assert_eq!(accessed.recorder.errors, 1, "the second attempt is no measurement");
            assert_eq!(drive.asked, [Write, Write, IoOp::Sync, Read], "{failing:?}");
        }
    }

    /// What is read is written back: a file is the same afterwards, byte for byte.
    #[test]
    fn kept_data_stay_as_they_are() {
        let dir = scratch();
        let mut folder = OwnFolder::create(dir.path(), "test").unwrap();
        let size = Bytes::mib(1);
        let device = IoDevice::new(folder.create_file("data", size).unwrap(), Engine::Threads);
        let spec = QueueSpec { depth: 1, ahead: 1, block_bytes: 4096, dsync: true };
        let control = Control::default();
        let all: Vec<u64> = (0..256).map(|i| i * 4096).collect();
        let run = |places: &[u64], data| {
            let task = writes(places, 4096, data, &control);
            let accessed = device.run(spec, task, &mut || {}).unwrap().output;
            assert_eq!(accessed.recorder.errors, 0);
        };
        let read = |places: &[u64]| {
            let task = ReadBlocks { places: places.to_vec(), block: 4096 };
            device.run(spec, task, &mut || {}).unwrap().output.unwrap()
        };
        run(&all, WriteData::Fresh(Payload::new(7, 1)));
        let before = read(&all);
        assert_eq!(Payload::first_mismatch(7, &before, 0), None);
        let some = [40_960, 0, 1_044_480, 8192];
        let originals = read(&some);
        assert_eq!(originals[4096..8192], before[..4096]);
        run(&some, WriteData::Kept(&originals));
        assert_eq!(read(&all), before);
        drop(device);
        folder.remove().unwrap();
    }
}
