//! The loop of a replay: each request at its time, or after what it waited for, with the delays written down.

use super::feed::Feed;
use super::steps::{Due, ReplayStep};
use crate::io::payload::Payload;
use crate::io::queue::{IoCompletion, IoFailure, IoOp, IoQueue, IoRequest, IoTask};
use crate::io::recorder::{Recorder, latency_histogram};
use crate::loops::control::{Control, Publisher};
use crate::loops::one_thread::Wait;
use hdrhistogram::Histogram;
use std::io;

/// The causes of longer delays are reported.
pub const LATE_NS: u64 = 1_000_000;

#[derive(Debug)]
pub struct ReplayTask<'c> {
    pub feed: Feed,
    /// Requests in flight at most; the queue has one slot more.
    pub depth: u32,
    pub payload: Payload,
    pub expected_ns: u64,
    pub control: &'c Control,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum LateCause {
    Depth,
    Reading,
    Machine,
}

#[derive(Debug, Clone)]
pub struct Lag {
    pub delays: Histogram<u64>,
    /// Requests that were more than [`LATE_NS`] late: because as many were in flight as allowed, because the trace was
    /// not read so far, and because the machine did not run the loop.
    pub late: [u64; 3],
    pub last_ns: u64,
}

#[derive(Debug)]
pub struct ReplayOutcome {
    /// The record; latencies are those of reads and writes.
    pub recorder: Recorder,
    pub busy_ns: u64,
    pub lag: Lag,
    /// Bytes read and written.
    pub moved: [u64; 2],
    pub flushes: u64,
}

impl IoTask for ReplayTask<'_> {
    type Output = ReplayOutcome;

    fn run<Q: IoQueue>(self, queue: &mut Q) -> io::Result<ReplayOutcome> {
        let mut done = Vec::with_capacity(queue.slots() as usize);
        let mut run = ReplayState::new(self, queue);
        loop {
            run.send_due(queue)?;
            match run.wait() {
                Wait::Over => break,
                Wait::Completion => queue.wait(&mut done)?,
                Wait::Until(at_ns) => queue.wait_until(at_ns, &mut done)?,
            }
            run.take(queue.now(), &mut done);
        }
        run.publisher.publish(&run.outcome.recorder);
        run.outcome.recorder.settle();
        Ok(run.outcome)
    }
}

struct ReplayState<'c> {
    feed: Feed,
    payload: Payload,
    publisher: Publisher<'c>,
    depth: u32,
    outcome: ReplayOutcome,
    /// Per slot: when its request was sent, and which it was.
    sent: Vec<(u64, IoRequest)>,
    free: Vec<u16>,
    /// The next request, with its data made.
    staged: Option<(IoRequest, Due)>,
    in_flight: u32,
    start_ns: u64,
    last_sent_ns: u64,
    /// Since when something, or nothing, is in flight.
    busy_since_ns: u64,
    idle_since_ns: u64,
    /// Requests wait for a place in the queue since the last one that was in time.
    was_full: bool,
    is_stopping: bool,
    written: u64,
}

impl<'c> ReplayState<'c> {
    fn new<Q: IoQueue>(task: ReplayTask<'c>, queue: &mut Q) -> Self {
        let slots = queue.slots();
        let lag = Lag { delays: latency_histogram(), late: [0; 3], last_ns: 0 };
        let recorder = Recorder::new(task.expected_ns);
        let outcome = ReplayOutcome { recorder, busy_ns: 0, lag, moved: [0; 2], flushes: 0 };
        let mut run = Self {
            feed: task.feed,
            payload: task.payload,
            publisher: Publisher::new(task.control),
            depth: task.depth.min(slots - 1),
            outcome,
            sent: vec![(0, IoRequest::default()); slots as usize],
            free: (0..slots as u16).rev().collect(),
            staged: None,
            in_flight: 0,
            start_ns: 0,
            last_sent_ns: 0,
            busy_since_ns: 0,
            idle_since_ns: 0,
            was_full: false,
            is_stopping: false,
            written: 0,
        };
        run.stage(queue);
        // Waiting for the first block does not delay a request.
        run.feed.is_late = false;
        let now = queue.now();
        (run.start_ns, run.last_sent_ns, run.idle_since_ns) = (now, now, now);
        run.outcome.recorder.start(now);
        run
    }

    #[inline]
    fn stage<Q: IoQueue>(&mut self, queue: &mut Q) {
        let Some(ReplayStep { op, offset, len, due }) = self.feed.take() else { return };
        let slot = self.free.pop().expect("one slot more than the depth");
        if op.writes() {
            let buffer = queue.buffer(slot);
            let here = buffer.len().min(len as usize);
            self.payload.of_write(self.written).fill(&mut buffer[..here], offset);
            self.written += 1;
        }
        self.staged = Some((IoRequest { op, offset, len, slot }, due));
    }

    /// When a request is due; `None` while it waits for completions.
    #[inline]
    fn due_ns(&self, due: Due) -> Option<u64> {
        match due {
            Due::At(ns) => Some(self.start_ns + ns),
            Due::AfterSend(ns) => Some(self.last_sent_ns + ns),
            Due::AfterIdle(ns) => (self.in_flight == 0).then(|| self.idle_since_ns + ns),
        }
    }

    #[inline]
    fn send_due<Q: IoQueue>(&mut self, queue: &mut Q) -> io::Result<()> {
        while let Some((request, due)) = self.staged.filter(|_| !self.is_stopping) {
            let Some(due_ns) = self.due_ns(due) else { return Ok(()) };
            let now = queue.now();
            if due_ns > now {
                return Ok(());
            }
            if self.in_flight == self.depth {
                self.was_full = true;
                return Ok(());
            }
            self.sent[usize::from(request.slot)] = (now, request);
            queue.submit(request);
            queue.kick()?;
            if self.in_flight == 0 {
                self.busy_since_ns = now;
                self.outcome.recorder.not_silent(now);
            }
            self.in_flight += 1;
            self.last_sent_ns = now;
            self.outcome.recorder.requests += 1;
            self.late(now - due_ns);
            self.staged = None;
            self.stage(queue);
        }
        Ok(())
    }

    #[inline]
    fn late(&mut self, delay_ns: u64) {
        let lag = &mut self.outcome.lag;
        lag.delays.saturating_record(delay_ns);
        lag.last_ns = delay_ns;
        if delay_ns <= LATE_NS {
            (self.was_full, self.feed.is_late) = (false, false);
            return;
        }
        let cause = match (self.was_full, self.feed.is_late) {
            (true, _) => LateCause::Depth,
            (_, true) => LateCause::Reading,
            _ => LateCause::Machine,
        };
        lag.late[cause as usize] += 1;
    }

    #[inline]
    fn wait(&self) -> Wait {
        let next = self.staged.filter(|_| !self.is_stopping);
        match next.map(|(_, due)| self.due_ns(due)) {
            Some(Some(due_ns)) if self.in_flight < self.depth => {
                Wait::Until(due_ns.min(self.publisher.at_ns()))
            }
            _ if self.in_flight > 0 => Wait::Completion,
            _ => Wait::Over,
        }
    }

    #[inline]
    fn take(&mut self, now: u64, done: &mut Vec<IoCompletion>) {
        let was_busy = self.in_flight > 0;
        for completion in done.drain(..) {
            let (sent_ns, request) = self.sent[usize::from(completion.slot)];
            self.free.push(completion.slot);
            self.in_flight -= 1;
            let recorder = &mut self.outcome.recorder;
            if let Some(failure) = completion.failure(request) {
                self.fail(failure);
            } else if request.op == IoOp::Sync {
                self.outcome.flushes += 1;
                recorder.not_silent(now);
            } else {
                recorder.complete(now, now - sent_ns, u64::from(request.len));
                self.outcome.moved[usize::from(request.op.writes())] += u64::from(request.len);
            }
        }
        if was_busy && self.in_flight == 0 {
            self.outcome.busy_ns += now - self.busy_since_ns;
            self.idle_since_ns = now;
        }
        self.is_stopping |= self.publisher.tick(now, &self.outcome.recorder);
    }

    /// A bad sector is counted, and the trace continues; a drive that is gone or refuses ends it.
    #[cold]
    fn fail(&mut self, failure: IoFailure) {
        self.outcome.recorder.failed(failure);
        let is_over =
            matches!(failure.errno, libc::ENODEV | libc::ENXIO | libc::ENOSPC | libc::EINVAL);
        self.is_stopping |= is_over;
    }
}
