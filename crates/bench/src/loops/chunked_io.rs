//! Moving a stretch of the target in requests of equal size, with a sustained depth.

use crate::io::payload::Payload;
use crate::io::queue::{IoCompletion, IoFailure, IoOp, IoQueue, IoRequest};
use crate::io::recorder::Recorder;
use crate::loops::control::{Control, Publisher};
use crate::loops::steady_rate::SteadyRate;
use std::io;

#[derive(Debug)]
pub enum ChunkData<'d> {
    ReadDiscard,
    /// As long as the stretch; empty where no data move.
    ReadInto(&'d mut [u8]),
    WriteFresh(Payload),
    /// As long as the stretch; empty where no data move.
    WriteFrom(&'d [u8]),
}

impl ChunkData<'_> {
    fn writes(&self) -> bool {
        matches!(self, Self::WriteFresh(_) | Self::WriteFrom(_))
    }
}

pub struct ChunkedIo<'q, Q: IoQueue> {
    pub queue: &'q mut Q,
    /// Bytes of all completed requests.
    pub moved: u64,
    pub publisher: Publisher<'q>,
    /// The stretch in progress ignores stop requests.
    pub to_its_end: bool,
    /// Where a stop ended the last stretch: all before this byte was moved. `None` if it finished.
    pub stopped_at: Option<u64>,
    chunk: u64,
    depth: usize,
    sent: Vec<(u64, IoRequest)>,
    free: Vec<u16>,
    done: Vec<IoCompletion>,
}

impl<'q, Q: IoQueue> ChunkedIo<'q, Q> {
    /// Requests of `chunk` bytes, `depth` at a time; the queue has one slot more.
    pub fn new(queue: &'q mut Q, chunk: u32, depth: u32, control: &'q Control) -> Self {
        let slots = queue.slots();
        Self {
            queue,
            moved: 0,
            publisher: Publisher::new(control),
            to_its_end: false,
            stopped_at: None,
            chunk: u64::from(chunk),
            depth: depth as usize,
            sent: vec![(0, IoRequest::default()); slots as usize],
            free: (0..slots as u16).collect(),
            done: Vec::with_capacity(slots as usize),
        }
    }

    /// `false` on simulated drives that keep no data.
    pub fn moves_data(&mut self) -> bool {
        !self.queue.buffer(0).is_empty()
    }

    /// Moves `len` bytes from `offset` on, or up to [`ChunkedIo::stopped_at`]; the inner error is the first request
    /// that failed.
    pub fn go(
        &mut self,
        offset: u64,
        len: u64,
        mut data: ChunkData<'_>,
        mut recorded: Option<(&mut Recorder, Option<&mut SteadyRate>)>,
    ) -> io::Result<Result<(), IoFailure>> {
        let (mut next, end) = (offset, offset + len);
        let mut in_flight = 0;
        let mut failure = None;
        let mut now = self.queue.now();
        loop {
            // On a slow drive a stretch takes minutes: a stop does not wait for its end.
            let stops = failure.is_some() || (self.publisher.stopped() && !self.to_its_end);
            while in_flight < self.depth && next < end && !stops {
                let slot = self.free.pop().expect("one slot more than the depth");
                let len = self.chunk.min(end - next) as u32;
                let request = self.request(&data, offset, next, len, slot);
                self.sent[usize::from(slot)] = (now, request);
                self.queue.submit(request);
                next += u64::from(len);
                in_flight += 1;
            }
            if in_flight == 0 {
                self.stopped_at = (next < end && failure.is_none()).then_some(next);
                return Ok(failure.map_or(Ok(()), Err));
            }
            self.done.clear();
            self.queue.wait(&mut self.done)?;
            now = self.queue.now();
            in_flight -= self.done.len();
            for completion in &self.done {
                let (sent, request) = self.sent[usize::from(completion.slot)];
                self.free.push(completion.slot);
                if let Some(failed) = completion.failure(request) {
                    failure.get_or_insert(failed);
                } else {
                    self.moved += u64::from(request.len);
                    if let ChunkData::ReadInto(memory) = &mut data {
                        keep(memory, self.queue.buffer(completion.slot), request, offset);
                    }
                    if let Some((recorder, pace)) = &mut recorded {
                        if let Some(pace) = pace {
                            pace.add(now, u64::from(request.len));
                        }
                        recorder.requests += 1;
                        recorder.complete(now, now - sent, u64::from(request.len));
                        self.publisher.tick(now, recorder);
                    }
                }
            }
        }
    }

    /// Waits until everything written is on the drive; the inner error is a flush that failed.
    pub fn sync(&mut self) -> io::Result<Result<(), IoFailure>> {
        let slot = *self.free.last().expect("nothing is in flight");
        let request = IoRequest { op: IoOp::Sync, offset: 0, len: 0, slot };
        self.queue.exchange(request, &mut self.done)
    }

    /// A write's data are made here, while the others fly.
    fn request(
        &mut self,
        data: &ChunkData<'_>,
        start: u64,
        offset: u64,
        len: u32,
        slot: u16,
    ) -> IoRequest {
        let op = if data.writes() { IoOp::Write } else { IoOp::Read };
        let buffer = self.queue.buffer(slot);
        let here = buffer.len().min(len as usize);
        match data {
            ChunkData::WriteFresh(data) => data.fill(&mut buffer[..here], offset),
            ChunkData::WriteFrom(bytes) if here > 0 => {
                let from = (offset - start) as usize;
                buffer[..here].copy_from_slice(&bytes[from..from + here]);
            }
            _ => {}
        }
        IoRequest { op, offset, len, slot }
    }
}

/// Copies read data to their place in `memory`.
fn keep(memory: &mut [u8], buffer: &[u8], request: IoRequest, start: u64) {
    let here = buffer.len().min(request.len as usize);
    if here > 0 {
        let from = (request.offset - start) as usize;
        memory[from..from + here].copy_from_slice(&buffer[..here]);
    }
}
