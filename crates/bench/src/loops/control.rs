//! What passes between the measuring loops and the rest while a phase runs: two counters out, one
//! flag in, touched once per interval.

use crate::io::recorder::Recorder;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// Shared by the workers of a phase and the thread that watches them.
#[derive(Debug, Default)]
pub struct Control {
    stop: AtomicBool,
    bytes: AtomicU64,
    ops: AtomicU64,
    /// Time of each place that a scan is done with, ns, in its order; 0 is not yet.
    places: Box<[AtomicU64]>,
    settled: AtomicU64,
}

impl Control {
    /// The same for a scan of `count` places, each of which shows as soon as it is done.
    pub fn of_places(count: usize) -> Self {
        Self { places: (0..count).map(|_| AtomicU64::new(0)).collect(), ..Self::default() }
    }

    /// Marks a place as done, with its time in ns.
    pub fn done(&self, place: usize, ns: u64) {
        if let Some(time) = self.places.get(place) {
            time.store(ns.max(1), Ordering::Relaxed);
        }
    }

    /// Times of the places done so far, ns, up to the first that is not.
    pub fn times_ns(&self) -> Vec<u64> {
        let times = self.places.iter().map(|time| time.load(Ordering::Relaxed));
        times.take_while(|ns| *ns > 0).collect()
    }

    /// Says that everything before this byte is settled for good.
    pub fn settle(&self, offset: u64) {
        self.settled.store(offset, Ordering::Relaxed);
    }

    /// The byte before which everything is settled; 0 before anything was said.
    pub fn settled(&self) -> u64 {
        self.settled.load(Ordering::Relaxed)
    }

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

    /// Whether the loop should stop, now and not only when an interval is over.
    #[inline]
    pub fn stopped(&self) -> bool {
        self.control.stopped()
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
