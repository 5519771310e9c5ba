//! What passes between the measuring loops and the rest while a phase runs: two counters out, one
//! flag in, touched once per interval.

use crate::recorder::Recorder;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// Shared by the workers of a phase and the thread that watches them.
#[derive(Debug, Default)]
pub struct Control {
    stop: AtomicBool,
    bytes: AtomicU64,
    ops: AtomicU64,
}

impl Control {
    /// Asks the loops to end: they drain what is in flight and return what they have.
    pub fn stop(&self) {
        self.stop.store(true, Ordering::Relaxed);
    }
    /// Whether that was asked.
    pub fn stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }
    /// Adds to the counters.
    pub fn add(&self, ops: u64, bytes: u64) {
        self.ops.fetch_add(ops, Ordering::Relaxed);
        self.bytes.fetch_add(bytes, Ordering::Relaxed);
    }
    /// Requests and bytes so far.
    pub fn progress(&self) -> (u64, u64) {
        (self.ops.load(Ordering::Relaxed), self.bytes.load(Ordering::Relaxed))
    }
}

/// A loop's side of [`Control`].
#[derive(Debug)]
pub struct Publisher<'c> {
    control: &'c Control,
    ops: u64,
    bytes: u64,
    at_ns: u64,
}

impl<'c> Publisher<'c> {
    /// Publishes to `control`, for the first time at once.
    pub fn new(control: &'c Control) -> Self {
        Self { control, ops: 0, bytes: 0, at_ns: 0 }
    }

    /// When the next interval ends.
    pub fn at_ns(&self) -> u64 {
        self.at_ns
    }

    /// Publishes if an interval is over; returns whether the loop should stop.
    #[inline]
    pub fn tick(&mut self, now_ns: u64, recorder: &Recorder) -> bool {
        if now_ns < self.at_ns {
            return false;
        }
        self.at_ns = now_ns + recorder.interval_ns;
        self.publish(recorder);
        self.control.stopped()
    }

    /// Publishes now.
    pub fn publish(&mut self, recorder: &Recorder) {
        self.control.add(recorder.ops - self.ops, recorder.bytes - self.bytes);
        (self.ops, self.bytes) = (recorder.ops, recorder.bytes);
    }
}
