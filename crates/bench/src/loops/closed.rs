//! The closed loop: a fixed number of requests in flight, refilled per completion.
//!
//! The loop touches nothing but the queue and the clock; once per interval it publishes its counters
//! and looks at the stop flag. One clock reading serves all completions of a batch and the requests
//! that replace them, so at depth 1 the loop costs one reading and one system call per request.

use crate::io::offsets::Offsets;
use crate::io::payload::Payload;
use crate::io::queue::{IoCompletion, IoFailure, IoOp, IoQueue, IoRequest, IoTask};
use crate::io::recorder::Recorder;
use crate::loops::control::{Control, Publisher};
use crate::loops::one_thread::{self, SteppedLoop, SteppedRun, Wait};
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
    pub block_bytes: u32,
    pub offsets: Offsets,
    pub payload: Payload,
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
    recorder: Recorder,
    /// Per slot: when its request was sent, and the request.
    requests: Vec<(u64, IoRequest)>,
    free: Vec<u16>,
    /// Slots prepared, in the order in which they will be sent.
    staged: VecDeque<u16>,
    ahead: usize,
    in_flight: u32,
    /// Reads submitted since the last kick or wait.
    unsent: u32,
    issued: u64,
    /// Writes whose data were made.
    made: u64,
    /// When the queue was full, and how many of the requests until then are still in flight.
    filled_ns: u64,
    first_left: u32,
    measure_from_ns: u64,
    deadline_ns: u64,
    /// The ramp ends after these at the latest, so that some are left to measure.
    ramp_ops_max: u64,
    publisher: Publisher<'c>,
    stopping: bool,
}

impl IoTask for ClosedLoop<'_> {
    type Output = Recorder;

    fn run<Q: IoQueue>(self, queue: &mut Q) -> io::Result<Recorder> {
        one_thread::alone(self, queue)
    }
}

impl<'c> SteppedLoop for ClosedLoop<'c> {
    type Run = ClosedRun<'c>;

    fn prepared(self, slots: u32) -> ClosedRun<'c> {
        let plan = self;
        let ahead = (slots - plan.depth) as usize;
        let recorder = Recorder::of_closed_loop(plan.time_ns, plan.depth);
        let publisher = Publisher::new(plan.control);
        let ramp_share = plan.ramp_ns as f64 / (plan.ramp_ns + plan.time_ns).max(1) as f64;
        let ramp_ops_max = (plan.ops_max as f64 * ramp_share) as u64;
        ClosedRun {
            plan,
            recorder,
            requests: vec![(0, IoRequest::default()); slots as usize],
            free: (0..slots as u16).rev().collect(),
            staged: VecDeque::with_capacity(slots as usize),
            ahead,
            in_flight: 0,
            unsent: 0,
            issued: 0,
            made: 0,
            filled_ns: 0,
            first_left: 0,
            measure_from_ns: 0,
            deadline_ns: 0,
            ramp_ops_max,
            publisher,
            stopping: false,
        }
    }
}

impl SteppedRun for ClosedRun<'_> {
    fn begin<Q: IoQueue>(&mut self, queue: &mut Q) -> io::Result<Wait> {
        while self.staged.len() < self.ahead {
            self.stage(queue);
        }
        let now = queue.now();
        self.measure_from(now + self.plan.ramp_ns);
        self.refill(queue, now)?;
        (self.filled_ns, self.first_left) = (queue.now(), self.in_flight);
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
        if now < self.measure_from_ns && self.issued >= self.ramp_ops_max {
            self.measure_from(now);
        }
        self.stopping |= self.publisher.tick(now, &self.recorder) || now >= self.deadline_ns;
        if self.stopping {
            self.recorder.stop(now.min(self.deadline_ns));
        }
        self.refill(queue, now)?;
        Ok(self.next(queue))
    }

    fn finish<Q: IoQueue>(mut self, _: &Q) -> Recorder {
        self.publisher.publish(&self.recorder);
        self.recorder.requests = self.issued;
        self.recorder.settle();
        self.recorder
    }
}

impl ClosedRun<'_> {
    fn measure_from(&mut self, at_ns: u64) {
        self.measure_from_ns = at_ns;
        self.deadline_ns = at_ns.saturating_add(self.plan.time_ns);
        self.recorder.start(at_ns);
    }

    /// Stages a few of the missing requests while the others fly.
    #[inline]
    fn next<Q: IoQueue>(&mut self, queue: &mut Q) -> Wait {
        if self.in_flight == 0 {
            return Wait::Over;
        }
        let mut made = 0;
        while self.staged.len() < self.ahead && !self.stopping {
            if made >= PREPARE_BYTES {
                return Wait::Until(0);
            }
            self.stage(queue);
            made += self.plan.block_bytes;
        }
        Wait::Completion
    }

    /// Chooses the next request and makes its data.
    #[inline]
    fn stage<Q: IoQueue>(&mut self, queue: &mut Q) {
        let (op, offset) = self.plan.offsets.draw();
        let slot = self.free.pop().expect("a slot for each request prepared or in flight");
        if op == IoOp::Write {
            self.plan.payload.of_write(self.made).fill(queue.buffer(slot), offset);
            self.made += 1;
        }
        let request = IoRequest { op, offset, len: self.plan.block_bytes, slot };
        self.requests[usize::from(slot)].1 = request;
        self.staged.push_back(slot);
    }

    /// Sends staged requests until the depth is reached.
    #[inline]
    fn refill<Q: IoQueue>(&mut self, queue: &mut Q, mut now: u64) -> io::Result<()> {
        while self.in_flight < self.plan.depth && self.issued < self.plan.ops_max && !self.stopping
        {
            let Some(slot) = self.staged.pop_front() else {
                self.stage(queue);
                now = queue.now();
                continue;
            };
            let (sent_ns, request) = &mut self.requests[usize::from(slot)];
            *sent_ns = now;
            let request = *request;
            queue.submit(request);
            self.in_flight += 1;
            self.issued += 1;
            if request.op == IoOp::Write {
                self.recorder.writes += 1;
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
        let (sent_ns, request) = self.requests[usize::from(completion.slot)];
        self.free.push(completion.slot);
        self.in_flight -= 1;
        let is_first = self.first_left > 0 && sent_ns <= self.filled_ns;
        self.first_left -= u32::from(is_first);
        if let Some(failure) = completion.failure(request) {
            self.fail(failure);
        } else if now > self.measure_from_ns {
            let latency = now - sent_ns;
            if is_first {
                self.recorder.first(now, latency);
            }
            if now <= self.deadline_ns {
                self.recorder.complete(now, latency, u64::from(request.len));
            } else {
                self.recorder.drained(now, latency, u64::from(request.len));
            }
        }
    }

    #[cold]
    fn fail(&mut self, failure: IoFailure) {
        self.recorder.failed(failure);
        let gone =
            matches!(failure.errno, libc::ENODEV | libc::ENXIO | libc::ENOSPC | libc::EINVAL);
        self.stopping |= gone || self.recorder.errors >= ERRORS_MAX;
    }
}

#[cfg(test)]
mod tests;
