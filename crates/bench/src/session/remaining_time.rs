//! How long the rest of a test takes that ends when everything is moved: the plan could only guess the rate,
//! the drive shows it.

use super::Session;
use std::cell::RefCell;
use std::ops::Range;

/// The pace is taken over the last part of the time, this share of it and some seconds at least: the end of a fast
/// cache is soon forgotten.
const PACE_SHARE: f64 = 0.1;
const PACE_MIN_S: f64 = 5.0;
/// Flash takes the first data into a fast cache. Up to this share the plan's time counts, if it is longer.
const CACHE_SHARE: f64 = 0.1;
/// Rates go with the radius, and bytes with its square: of the square of the outermost rate, a quarter is left at
/// the innermost tracks, which hold half as much.
const INNER: f64 = 0.75;
/// After this time without progress the rest is unknown: bad places are read again and again.
const STILL_NS: u64 = 60_000_000_000;

/// What the test in progress has to move, if its end depends on that.
#[derive(Default)]
pub(super) struct RemainingTime(RefCell<Option<PlannedBytes>>);

#[derive(Debug, Clone)]
struct PlannedBytes {
    /// Stretches of the target, each moved from its start to its end.
    passes: Vec<Range<u64>>,
    /// Bytes of the whole drive, where its rate falls with the position.
    disk: Option<u64>,
    planned_s: f64,
    begun_ns: u64,
    /// Bytes of the phases that have ended.
    before: u64,
    /// Time and share of the pace's beginning.
    last: (u64, f64),
    moved_ns: u64,
    share_per_s: Option<f64>,
}

impl RemainingTime {
    pub(super) fn add(&self, bytes: u64) {
        if let Some(running) = self.0.borrow_mut().as_mut() {
            running.before += bytes;
        }
    }

    /// Share of the time that is over, and how long the rest takes, s, when this phase has moved this many bytes.
    /// `None` of tests that do not say what they move; no rest where nothing moves.
    pub(super) fn look(&self, now_ns: u64, bytes: u64) -> Option<(f64, Option<f64>)> {
        self.0.borrow_mut().as_mut().map(|running| running.look(now_ns, bytes))
    }
}

impl Session<'_> {
    /// From now on the test moves these stretches of the target, one after the other, each in order; then it ends.
    pub fn expect_transfers(&self, passes: impl IntoIterator<Item = Range<u64>>) {
        // Bridges say "disk" of flash, too, but not how fast it turns.
        let drive = self.target.drive().filter(|drive| drive.rpm > Some(1));
        let begun_ns = self.now_ns();
        *self.test.remaining.0.borrow_mut() = Some(PlannedBytes {
            passes: passes.into_iter().collect(),
            disk: drive.map(|drive| drive.capacity_bytes),
            planned_s: self.test.expected_s,
            begun_ns,
            before: 0,
            last: (begun_ns, 0.0),
            moved_ns: begun_ns,
            share_per_s: None,
        });
    }
}

impl PlannedBytes {
    fn look(&mut self, now_ns: u64, bytes: u64) -> (f64, Option<f64>) {
        let done = self.share(self.before + bytes);
        if done > self.last.1 {
            self.moved_ns = now_ns;
        }
        let elapsed_s = now_ns.saturating_sub(self.begun_ns) as f64 / 1e9;
        let since_s = now_ns.saturating_sub(self.last.0) as f64 / 1e9;
        if since_s > 0.0 {
            let newest = (done - self.last.1).max(0.0) / since_s;
            let memory_s = (elapsed_s * PACE_SHARE).max(PACE_MIN_S);
            let weight = 1.0 - (-since_s / memory_s).exp();
            let pace = self.share_per_s.get_or_insert(newest);
            *pace += weight * (newest - *pace);
            self.last = (now_ns, done);
        }
        let planned_s = self.planned_s * (1.0 - done);
        let left_s = match self.share_per_s.filter(|pace| *pace > 0.0) {
            None => planned_s,
            Some(pace) if self.disk.is_none() && done < CACHE_SHARE => {
                planned_s.max((1.0 - done) / pace)
            }
            Some(pace) => (1.0 - done) / pace,
        };
        let is_still = now_ns.saturating_sub(self.moved_ns) > STILL_NS;
        (done, (!is_still).then_some(left_s))
    }

    fn share(&self, mut bytes: u64) -> f64 {
        let (mut done, mut all) = (0.0, 0.0);
        for pass in &self.passes {
            let moved = bytes.min(pass.end - pass.start);
            bytes -= moved;
            done += self.time(pass.start + moved) - self.time(pass.start);
            all += self.time(pass.end) - self.time(pass.start);
        }
        if all > 0.0 { done / all } else { 1.0 }
    }

    /// Time to move everything before this byte, in a unit of its own.
    fn time(&self, at: u64) -> f64 {
        match self.disk {
            // The integral of 1 / sqrt(1 - INNER x).
            Some(capacity) if capacity > 0 => {
                let x = (at as f64 / capacity as f64).min(1.0);
                1.0 - (1.0 - INNER * x).sqrt()
            }
            _ => at as f64,
        }
    }
}

#[cfg(test)]
mod tests;
