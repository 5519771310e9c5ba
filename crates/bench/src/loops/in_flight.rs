//! What closed and open loops share: their requests in flight, and the time in which these count.

use crate::io::queue::{IoCompletion, IoRequest};
use crate::io::recorder::Recorder;
use crate::loops::control::{Control, Publisher};

#[derive(Debug)]
pub(super) struct InFlight<'c> {
    pub recorder: Recorder,
    /// Per slot: when its request was sent or due, and the request.
    pub requests: Vec<(u64, IoRequest)>,
    pub free: Vec<u16>,
    pub count: u32,
    pub measure_from_ns: u64,
    pub deadline_ns: u64,
    pub publisher: Publisher<'c>,
    pub stopping: bool,
}

impl<'c> InFlight<'c> {
    pub fn new(slots: u32, recorder: Recorder, control: &'c Control) -> Self {
        Self {
            recorder,
            requests: vec![(0, IoRequest::default()); slots as usize],
            free: (0..slots as u16).rev().collect(),
            count: 0,
            measure_from_ns: 0,
            deadline_ns: 0,
            publisher: Publisher::new(control),
            stopping: false,
        }
    }

    pub fn measure(&mut self, from_ns: u64, time_ns: u64) {
        self.measure_from_ns = from_ns;
        self.deadline_ns = from_ns.saturating_add(time_ns);
        self.recorder.start(from_ns);
    }

    /// Frees the slot of a completion; when its request was sent or due, and the request.
    #[inline]
    pub fn take(&mut self, completion: IoCompletion) -> (u64, IoRequest) {
        self.free.push(completion.slot);
        self.count -= 1;
        self.requests[usize::from(completion.slot)]
    }

    #[inline]
    pub fn succeeded(&mut self, request: IoRequest, now_ns: u64, latency_ns: u64) {
        if now_ns <= self.deadline_ns {
            self.recorder.complete(now_ns, latency_ns, u64::from(request.len));
        } else {
            self.recorder.drained(now_ns, latency_ns, u64::from(request.len));
        }
    }

    /// Whether the loop sends no more: its time is over, or a stop was asked for.
    #[inline]
    pub fn is_over(&mut self, now_ns: u64) -> bool {
        self.stopping |= self.publisher.tick(now_ns, &self.recorder) || now_ns >= self.deadline_ns;
        if self.stopping {
            self.recorder.stop(now_ns.min(self.deadline_ns));
        }
        self.stopping
    }

    pub fn finish(mut self) -> Recorder {
        self.publisher.publish(&self.recorder);
        self.recorder.settle();
        self.recorder
    }
}
