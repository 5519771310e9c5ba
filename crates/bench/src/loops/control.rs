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
    /// Time of each place of a scan, ns, in its order; 0 until it is done.
    places: Box<[AtomicU64]>,
    settled: AtomicU64,
    /// When a scan visits no further place, in the queue's time, ns.
    until_ns: Option<u64>,
}

impl Control {
    /// For a scan of `count` places, each of which shows as soon as it is done.
    pub fn of_places(count: usize) -> Self {
        Self { places: (0..count).map(|_| AtomicU64::new(0)).collect(), ..Self::default() }
    }

    /// For a scan that begins no place after this time.
    pub fn until(until_ns: u64) -> Self {
        Self { until_ns: Some(until_ns), ..Self::default() }
    }

    pub fn is_over(&self, now_ns: u64) -> bool {
        self.until_ns.is_some_and(|until_ns| now_ns >= until_ns)
    }

    pub fn done(&self, place: usize, ns: u64) {
        if let Some(time) = self.places.get(place) {
            time.store(ns.max(1), Ordering::Relaxed);
        }
    }

    /// Up to the first place that is not done.
    pub fn times_ns(&self) -> Vec<u64> {
        let times = self.places.iter().map(|time| time.load(Ordering::Relaxed));
        times.take_while(|ns| *ns > 0).collect()
    }

    /// Everything before this byte is final.
    pub fn settle(&self, offset: u64) {
        self.settled.store(offset, Ordering::Relaxed);
    }

    pub fn settled(&self) -> u64 {
        self.settled.load(Ordering::Relaxed)
    }

    /// Asks the loops to end: they drain what is in flight and return what they have.
    pub fn stop(&self) {
        self.stop.store(true, Ordering::Relaxed);
    }
    pub fn stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }
    pub fn add(&self, ops: u64, bytes: u64) {
        self.ops.fetch_add(ops, Ordering::Relaxed);
        self.bytes.fetch_add(bytes, Ordering::Relaxed);
    }
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
    /// Publishes for the first time at once.
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

    pub fn publish(&mut self, recorder: &Recorder) {
        self.control.add(recorder.ops - self.ops, recorder.bytes - self.bytes);
        (self.ops, self.bytes) = (recorder.ops, recorder.bytes);
    }
}
