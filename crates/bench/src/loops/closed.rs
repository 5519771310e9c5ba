//! The closed loop: a fixed number of requests in flight, refilled per completion. One clock reading serves all
//! completions of a batch and the requests that replace them, so at depth 1 the loop costs one reading and one
//! system call per request.

use crate::io::offsets::Offsets;
use crate::io::payload::Payload;
use crate::io::queue::{IoCompletion, IoFailure, IoOp, IoQueue, IoRequest};
use crate::io::recorder::Recorder;
use crate::io::request_sizes::RequestSizes;
use crate::loops::control::Control;
use crate::loops::in_flight::InFlight;
use crate::loops::one_thread::{SteppedLoop, SteppedRun, Wait};
use drivescope_model::cell::Mix;
use std::collections::VecDeque;
use std::io;

/// A phase gives up after these: one may be a bad sector, these are a dying drive.
const ERRORS_MAX: u64 = 16;

/// The kernel holds a batch of reads back until its last request is in (it plugs the queue), so that the first ones
/// start late and all end together; a call for each costs processor time.
const SEND_TOGETHER_MAX: u32 = 4;

/// How many reads to send with one system call: an eighth of a queue and no less than two. At depth 8 four are 3 %
/// slower than two (ext4), at depth 32 up to 7 % faster (btrfs; 13 % with 128 KiB). `may_block`: each request goes
/// to a thread of the kernel, and none is held back by the others of its batch.
pub fn send_together(depth: u32, may_block: bool) -> u32 {
    if may_block { SEND_TOGETHER_MAX } else { (depth / 8).clamp(2, SEND_TOGETHER_MAX) }
}

/// Data made for coming writes before completions are checked again: about 30 µs of work.
const PREPARE_BYTES: u32 = 256 << 10;

/// Memory for writes prepared ahead: a processor's caches hold it beside the data in flight.
const AHEAD_BYTES: u32 = 256 << 10;

/// Writes prepared ahead, at least. Of large writes more would only take room in the caches: 16 of 1 MiB cost a
/// fifth of the rate, 4 cost nothing.
const AHEAD_MIN: u32 = 4;

/// How many requests to prepare while `depth` fly. Writes need data of their own; a drive that answers several at
/// once must find as many ready, or its queue runs dry while they are made.
pub fn ahead(depth: u32, block_bytes: u32, mix: Mix) -> u32 {
    if mix.writes() { depth.min(AHEAD_MIN.max(AHEAD_BYTES / block_bytes)) } else { 1 }
}

#[derive(Debug)]
pub struct ClosedLoop<'c> {
    pub depth: u32,
    /// Reads sent with one system call: [`send_together`].
    pub send_together: u32,
    pub sizes: RequestSizes,
    pub offsets: Offsets,
    pub payload: Payload,
    /// Pause after each request, at depth 1.
    pub think_ns: u64,
    /// Load before the measured time.
    pub ramp_ns: u64,
    pub time_ns: u64,
    /// Requests at most. The ramp's count, with the share that it has of the time.
    pub ops_max: u64,
    pub control: &'c Control,
}

#[derive(Debug)]
pub struct ClosedRun<'c> {
    plan: ClosedLoop<'c>,
    flight: InFlight<'c>,
    /// Slots prepared, in the order in which they will be sent.
    staged: VecDeque<u16>,
    ahead: usize,
    /// Reads submitted since the last kick or wait.
    unsent: u32,
    issued: u64,
    sent_bytes: u64,
    /// Writes whose data were made.
    made: u64,
    /// When the queue was full, and how many of the requests until then are still in flight.
    filled_ns: u64,
    first_left: u32,
    /// The ramp ends after these at the latest, so that some are left to measure.
    ramp_ops_max: u64,
    /// When it sends again after a pause.
    rests_until_ns: u64,
}

impl<'c> SteppedLoop for ClosedLoop<'c> {
    type Run = ClosedRun<'c>;

    fn prepared(self, slots: u32) -> ClosedRun<'c> {
        // With pauses the queue is not full at the ends of the measured time.
        let recorder = match self.think_ns {
            0 => Recorder::of_closed_loop(self.time_ns, self.depth),
            _ => Recorder::new(self.time_ns),
        };
        let ramp_share = self.ramp_ns as f64 / (self.ramp_ns + self.time_ns).max(1) as f64;
        ClosedRun {
            flight: InFlight::new(slots, recorder, self.control),
            staged: VecDeque::with_capacity(slots as usize),
            ahead: (slots - self.depth) as usize,
            unsent: 0,
            issued: 0,
            sent_bytes: 0,
            made: 0,
            filled_ns: 0,
            first_left: 0,
            rests_until_ns: 0,
            ramp_ops_max: (self.ops_max as f64 * ramp_share) as u64,
            plan: self,
        }
    }
}

impl SteppedRun for ClosedRun<'_> {
    fn begin<Q: IoQueue>(&mut self, queue: &mut Q) -> io::Result<Wait> {
        while self.staged.len() < self.ahead {
            self.stage(queue);
        }
        let now = queue.now();
        self.flight.measure(now + self.plan.ramp_ns, self.plan.time_ns);
        self.refill(queue, now)?;
        (self.filled_ns, self.first_left) = (queue.now(), self.flight.count);
        Ok(self.next(queue))
    }

    #[inline]
    fn step<Q: IoQueue>(
        &mut self,
        queue: &mut Q,
        done: &mut Vec<IoCompletion>,
    ) -> io::Result<Wait> {
        self.unsent = 0;
        let now = queue.now();
        for completion in done.drain(..) {
            self.take(completion, now);
        }
        if now < self.flight.measure_from_ns && self.issued >= self.ramp_ops_max {
            self.flight.measure(now, self.plan.time_ns);
        }
        if !self.flight.is_over(now) {
            if now < self.rests_until_ns {
                return Ok(Wait::Until(self.rests_until_ns.min(self.flight.deadline_ns)));
            }
            self.refill(queue, now)?;
        }
        Ok(self.next(queue))
    }

    fn finish<Q: IoQueue>(mut self, _: &Q) -> Recorder {
        self.flight.recorder.requests = self.issued;
        self.flight.recorder.sent_bytes = self.sent_bytes;
        self.flight.finish()
    }
}

impl ClosedRun<'_> {
    /// Stages a few of the missing requests while the others fly.
    #[inline]
    fn next<Q: IoQueue>(&mut self, queue: &mut Q) -> Wait {
        if self.flight.count == 0 {
            return Wait::Over;
        }
        let mut made = 0;
        while self.staged.len() < self.ahead && !self.flight.stopping {
            if made >= PREPARE_BYTES {
                return Wait::Until(0);
            }
            self.stage(queue);
            made += self.plan.sizes.largest();
        }
        Wait::Completion
    }

    /// Chooses the next request and makes its data.
    #[inline]
    fn stage<Q: IoQueue>(&mut self, queue: &mut Q) {
        let (op, offset) = self.plan.offsets.draw();
        let len = self.plan.sizes.draw();
        let slot = self.flight.free.pop().expect("a slot for each request prepared or in flight");
        if op == IoOp::Write {
            let buffer = queue.buffer(slot);
            let filled = buffer.len().min(len as usize);
            self.plan.payload.of_write(self.made).fill(&mut buffer[..filled], offset);
            self.made += 1;
        }
        let request = IoRequest { op, offset, len, slot };
        self.flight.requests[usize::from(slot)].1 = request;
        self.staged.push_back(slot);
    }

    #[inline]
    fn refill<Q: IoQueue>(&mut self, queue: &mut Q, mut now: u64) -> io::Result<()> {
        while self.flight.count < self.plan.depth && self.issued < self.plan.ops_max {
            let Some(slot) = self.staged.pop_front() else {
                self.stage(queue);
                now = queue.now();
                continue;
            };
            let (sent_ns, request) = &mut self.flight.requests[usize::from(slot)];
            *sent_ns = now;
            let request = *request;
            queue.submit(request);
            self.flight.count += 1;
            self.issued += 1;
            self.sent_bytes += u64::from(request.len);
            if request.op == IoOp::Write {
                self.flight.recorder.written_bytes += u64::from(request.len);
                // On its way before more data are made, so that making them costs no drive time.
                queue.kick()?;
            } else {
                self.unsent += 1;
                if self.unsent == self.plan.send_together {
                    queue.kick()?;
                    self.unsent = 0;
                }
                if self.staged.len() < self.ahead {
                    self.stage(queue);
                }
            }
        }
        Ok(())
    }

    #[inline]
    fn take(&mut self, completion: IoCompletion, now: u64) {
        let (sent_ns, request) = self.flight.take(completion);
        let is_first = self.first_left > 0 && sent_ns <= self.filled_ns;
        self.first_left -= u32::from(is_first);
        self.rests_until_ns = now + self.plan.think_ns;
        if let Some(failure) = completion.failure(request) {
            self.fail(failure);
        } else if now > self.flight.measure_from_ns {
            let latency = now - sent_ns;
            if is_first {
                self.flight.recorder.first(now, latency);
            }
            self.flight.succeeded(request, now, latency);
        }
    }

    #[cold]
    fn fail(&mut self, failure: IoFailure) {
        self.flight.recorder.failed(failure);
        let gone =
            matches!(failure.errno, libc::ENODEV | libc::ENXIO | libc::ENOSPC | libc::EINVAL);
        self.flight.stopping |= gone || self.flight.recorder.errors >= ERRORS_MAX;
    }
}

#[cfg(test)]
mod tests;
