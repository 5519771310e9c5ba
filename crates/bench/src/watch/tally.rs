//! From reads to lines: what is a stall, and what all reads come to.

use super::{STALL_MIN_NS, Sighting, TimedRead, WatchWindow};
use crate::error::describe;
use crate::io::queue::IoFailure;
use crate::io::recorder::latency_histogram;
use drivescope_model::watch::{
    STEPS, WatchError, WatchLine, WatchSecond, WatchSummary, WatchedRead, step_of,
};
use hdrhistogram::Histogram;

/// A stall takes more than this many times the median.
const STALL_MEDIANS: u64 = 10;
/// Fewer reads have no median that says what is usual.
const READS_MIN: u64 = 16;

pub(super) struct WatchTally<C> {
    /// Names a time for people.
    at: C,
    start_ns: u64,
    end_ns: u64,
    latencies: Histogram<u64>,
    slowest: Option<TimedRead>,
    /// Slow reads from before the median was known.
    unjudged: Vec<TimedRead>,
    stalls: u64,
    stalled_ns: u64,
    errors: u64,
}

impl<C: Fn(u64) -> Option<String>> WatchTally<C> {
    pub(super) fn new(start_ns: u64, at: C) -> Self {
        Self {
            at,
            start_ns,
            end_ns: start_ns,
            latencies: latency_histogram(),
            slowest: None,
            unjudged: Vec::new(),
            stalls: 0,
            stalled_ns: 0,
            errors: 0,
        }
    }

    pub(super) fn take(&mut self, sighting: Sighting) -> Vec<WatchLine> {
        match sighting {
            Sighting::Failed(read, failure) => {
                self.errors += 1;
                vec![WatchLine::Error(self.error(read, failure))]
            }
            Sighting::Slow(read) => {
                self.unjudged.push(read);
                self.judge(READS_MIN)
            }
            Sighting::Window(window) => {
                let add = self.latencies.add(&window.latencies);
                add.expect("all histograms have the same bounds");
                self.end_ns = window.last_ns;
                let slower = |read: &TimedRead| {
                    self.slowest.is_none_or(|slowest| slowest.took_ns < read.took_ns)
                };
                self.slowest = window.slowest.filter(slower).or(self.slowest);
                let mut lines = self.judge(READS_MIN);
                lines.push(WatchLine::Second(self.second(&window)));
                lines
            }
        }
    }

    /// What was still to be judged at the end.
    pub(super) fn end(&mut self) -> impl Iterator<Item = WatchLine> + use<C> {
        self.judge(1).into_iter()
    }

    fn judge(&mut self, reads_min: u64) -> Vec<WatchLine> {
        if self.unjudged.is_empty() || self.latencies.len() < reads_min {
            return Vec::new();
        }
        let from_ns = self.stall_from_ns();
        let mut stalls = std::mem::take(&mut self.unjudged);
        stalls.retain(|read| read.took_ns > from_ns);
        self.stalls += stalls.len() as u64;
        self.stalled_ns += stalls.iter().map(|read| read.took_ns).sum::<u64>();
        stalls.into_iter().map(|read| WatchLine::Stall(self.watched(read))).collect()
    }

    fn stall_from_ns(&self) -> u64 {
        STALL_MIN_NS.max(self.latencies.value_at_quantile(0.5).saturating_mul(STALL_MEDIANS))
    }

    fn since_start_s(&self, at_ns: u64) -> f64 {
        at_ns.saturating_sub(self.start_ns) as f64 / 1e9
    }

    fn second(&self, window: &WatchWindow) -> WatchSecond {
        let elapsed_s = (window.end_ns - window.start_ns) as f64 / 1e9;
        let mut steps = vec![0; STEPS];
        for value in window.latencies.iter_recorded() {
            steps[step_of(value.value_iterated_to() as f64 / 1e3)] +=
                value.count_since_last_iteration();
        }
        let reads = window.latencies.len();
        WatchSecond {
            at: (self.at)(window.start_ns),
            start_s: self.since_start_s(window.start_ns),
            elapsed_s,
            reads,
            iops: reads as f64 / elapsed_s.max(1e-9),
            lat_p50_us: quantile_us(&window.latencies, 0.5, window.slowest),
            lat_p99_us: quantile_us(&window.latencies, 0.99, window.slowest),
            lat_max_us: window.slowest.map(|read| read.took_ns as f64 / 1e3),
            errors: window.errors,
            steps,
        }
    }

    fn watched(&self, read: TimedRead) -> WatchedRead {
        let median_ns = self.latencies.value_at_quantile(0.5).max(1);
        WatchedRead {
            at: (self.at)(read.sent_ns),
            start_s: self.since_start_s(read.sent_ns),
            lat_us: read.took_ns as f64 / 1e3,
            medians: read.took_ns as f64 / median_ns as f64,
            offset: read.offset,
        }
    }

    fn error(&self, read: TimedRead, failure: IoFailure) -> WatchError {
        WatchError {
            at: (self.at)(read.sent_ns),
            start_s: self.since_start_s(read.sent_ns),
            elapsed_s: read.took_ns as f64 / 1e9,
            offset: read.offset,
            errno: failure.errno,
            message: describe(&failure, 1),
        }
    }

    pub(super) fn summary(&self) -> WatchSummary {
        let elapsed_s = self.since_start_s(self.end_ns);
        let reads = self.latencies.len();
        WatchSummary {
            reads,
            errors: self.errors,
            elapsed_s,
            iops: if elapsed_s > 0.0 { reads as f64 / elapsed_s } else { 0.0 },
            lat_p50_us: quantile_us(&self.latencies, 0.5, self.slowest),
            lat_p90_us: quantile_us(&self.latencies, 0.9, self.slowest),
            lat_p99_us: quantile_us(&self.latencies, 0.99, self.slowest),
            slowest: self.slowest.map(|read| self.watched(read)),
            stalls: self.stalls,
            stalled_s: self.stalled_ns as f64 / 1e9,
            stall_from_us: self.stall_from_ns() as f64 / 1e3,
        }
    }
}

/// A histogram rounds up, but nothing took longer than the slowest.
fn quantile_us(latencies: &Histogram<u64>, share: f64, slowest: Option<TimedRead>) -> Option<f64> {
    slowest.map(|slowest| latencies.value_at_quantile(share).min(slowest.took_ns) as f64 / 1e3)
}
