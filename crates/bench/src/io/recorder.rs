//! What a loop writes down: a histogram of latencies, an interval series, and the first error.
//! Everything is allocated beforehand.

mod round_edges;

use crate::io::queue::IoFailure;
use hdrhistogram::Histogram;
use round_edges::RoundEdges;
use std::ops::Range;

pub(crate) const STALL_NS: u64 = 1_000_000_000;
/// Stalls kept one by one, besides those that fit into the expected time.
const STALLS_SPARE: u64 = 60;

/// An hour, longer than any driver's time-out. Longer latencies are counted as this.
const LATENCY_MAX_NS: u64 = 3_600_000_000_000;
/// Values within 0.1 %.
const DIGITS: u8 = 3;
/// Later completions are added to the last.
const INTERVALS_MAX: usize = 20_000;

pub(crate) fn latency_histogram() -> Histogram<u64> {
    Histogram::new_with_bounds(1, LATENCY_MAX_NS, DIGITS).expect("constant bounds are valid")
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RateInterval {
    pub ops: u64,
    pub bytes: u64,
}

#[derive(Debug, Clone)]
pub struct Recorder {
    /// Of the measured time, and of requests drained after it.
    pub latencies: Histogram<u64>,
    pub intervals: Vec<RateInterval>,
    pub interval_ns: u64,
    /// Of the whole round, ramp and drained ones included.
    pub requests: u64,
    /// Of these `requests`.
    pub sent_bytes: u64,
    /// Among `sent_bytes`, in a closed loop: chance decides which requests of a mix write.
    pub written_bytes: u64,
    /// Requests of an open loop that were due within the measured time.
    pub due: u64,
    /// Completed within the measured time.
    pub ops: u64,
    /// Moved within the measured time.
    pub bytes: u64,
    /// Among `ops`: due before the measured time.
    pub overdue: u64,
    /// At any time.
    pub errors: u64,
    pub first_error: Option<IoFailure>,
    /// Longest time between two completions. Merged from several workers: 0 unless a stall.
    pub gap_max_ns: u64,
    /// Times of more than [`STALL_NS`] without a completion, in order.
    stalls: Vec<Range<u64>>,
    /// Beginning of the measured time.
    pub start_ns: u64,
    /// Last completion within the measured time.
    pub last_ns: u64,
    /// When the loop was stopped; `None` if it sent all it had.
    stopped_ns: Option<u64>,
    /// Requests done within the measured time beyond those that completed in it.
    parts: f64,
    /// Requests of a closed loop in flight at both ends of the measured time.
    edges: RoundEdges,
    late: Late,
}

#[derive(Debug, Clone, Copy, Default)]
struct Late {
    ops: u64,
    bytes: u64,
    first_ns: u64,
    /// Requests that came with the first.
    first_ops: u64,
    last_ns: u64,
}

impl Recorder {
    /// For a phase that ends when everything is moved: beyond a minute, its intervals share the last.
    pub fn of_any_length() -> Self {
        Self::new(60_000_000_000)
    }

    /// With intervals of 100 ms, finer for short phases.
    pub fn new(expected_ns: u64) -> Self {
        let interval_ns = (expected_ns / 50).clamp(1_000_000, 100_000_000);
        let intervals = (expected_ns / interval_ns + 2).min(INTERVALS_MAX as u64) as usize;
        let stalls = (expected_ns / STALL_NS + STALLS_SPARE).min(INTERVALS_MAX as u64) as usize;
        Self {
            latencies: latency_histogram(),
            intervals: vec![RateInterval::default(); intervals],
            interval_ns,
            requests: 0,
            sent_bytes: 0,
            written_bytes: 0,
            due: 0,
            ops: 0,
            bytes: 0,
            overdue: 0,
            errors: 0,
            first_error: None,
            gap_max_ns: 0,
            stalls: Vec::with_capacity(stalls),
            start_ns: 0,
            last_ns: 0,
            stopped_ns: None,
            parts: 0.0,
            edges: RoundEdges::default(),
            late: Late::default(),
        }
    }

    pub fn of_closed_loop(expected_ns: u64, depth: u32) -> Self {
        Self { edges: RoundEdges::of_depth(depth), ..Self::new(expected_ns) }
    }

    /// Begins the measured time.
    pub fn start(&mut self, now_ns: u64) {
        self.start_ns = now_ns;
        self.last_ns = now_ns;
    }

    /// Within the measured time.
    #[inline]
    pub fn complete(&mut self, now_ns: u64, latency_ns: u64, bytes: u64) {
        self.latencies.saturating_record(latency_ns);
        if latency_ns >= now_ns - self.start_ns {
            self.edges.at_start(now_ns - self.start_ns, latency_ns);
        }
        self.moved(now_ns, bytes);
    }

    /// The request just completed is one of those that its loop began with, all at once.
    #[cold]
    pub fn first(&mut self, now_ns: u64, latency_ns: u64) {
        self.edges.first(now_ns - self.start_ns, latency_ns);
    }

    /// A completion without its latency.
    #[inline]
    pub fn moved(&mut self, now_ns: u64, bytes: u64) {
        self.ops += 1;
        self.bytes += bytes;
        self.silent(self.last_ns, now_ns);
        self.last_ns = now_ns;
        let index = ((now_ns - self.start_ns) / self.interval_ns) as usize;
        let index = index.min(self.intervals.len() - 1);
        let interval = &mut self.intervals[index];
        interval.ops += 1;
        interval.bytes += bytes;
    }

    /// A request still in flight at the end of the measured time: its latency counts, lest a stall at the end be
    /// hidden; its bytes do not.
    #[inline]
    pub fn drained(&mut self, now_ns: u64, latency_ns: u64, bytes: u64) {
        self.latencies.saturating_record(latency_ns);
        self.silent(self.heard_ns(), now_ns);
        if self.late.ops == 0 {
            self.late.first_ns = now_ns;
        }
        self.late.first_ops += u64::from(now_ns == self.late.first_ns);
        self.late.ops += 1;
        self.late.bytes += bytes;
        self.late.last_ns = now_ns;
        self.edges.late(now_ns - self.start_ns, latency_ns);
    }

    /// Nothing was asked of the drive until now, or something that moves no data: it was not silent.
    #[inline]
    pub fn not_silent(&mut self, now_ns: u64) {
        self.last_ns = now_ns;
    }

    /// One comparison for nearly every completion: each pays for it.
    #[inline]
    fn silent(&mut self, from_ns: u64, to_ns: u64) {
        if to_ns.saturating_sub(from_ns) > self.gap_max_ns.min(STALL_NS) {
            self.long_silence(from_ns, to_ns);
        }
    }

    /// A gap that is a stall, or longer than all before it.
    #[cold]
    #[inline(never)]
    fn long_silence(&mut self, from_ns: u64, to_ns: u64) {
        let gap_ns = to_ns - from_ns;
        self.gap_max_ns = self.gap_max_ns.max(gap_ns);
        if gap_ns > STALL_NS && self.stalls.len() < self.stalls.capacity() {
            self.stalls.push(from_ns..to_ns);
        }
    }

    /// Last completion, within the measured time or after it.
    fn heard_ns(&self) -> u64 {
        self.last_ns.max(self.late.last_ns)
    }

    /// Ends the measured time or the load; later completions were in flight.
    #[inline]
    pub fn stop(&mut self, now_ns: u64) {
        self.stopped_ns.get_or_insert(now_ns);
    }

    /// Ends the round. If not one request completed in time (a drive slower than the round is long),
    /// the late ones count, over the time they really took.
    pub fn settle(&mut self) {
        if self.ops == 0 && self.late.ops > 0 {
            (self.ops, self.bytes) = (self.late.ops, self.late.bytes);
            self.last_ns = self.late.last_ns;
            self.stopped_ns = None;
            self.parts = -self.edges.before();
            return;
        }
        let Some(stopped_ns) = self.stopped_ns else { return };
        if self.edges.is_closed_loop() && stopped_ns >= self.last_ns {
            self.parts = self.edges.parts(self.window_ns(), &self.latencies);
        } else if self.late.first_ns > self.last_ns {
            let silence_ns = stopped_ns.saturating_sub(self.last_ns) as f64;
            let share = silence_ns / (self.late.first_ns - self.last_ns) as f64;
            self.parts = share.min(1.0) * self.late.first_ops as f64;
        }
    }

    #[cold]
    pub fn failed(&mut self, failure: IoFailure) {
        self.errors += 1;
        self.first_error.get_or_insert(failure);
    }

    /// Measured time, corrected so that requests over it are the rate: shorter by the time spent on requests
    /// unfinished at its end, longer by the work before it on those that completed. A round that ends in silence is
    /// as slow as it was, one that ends within a request not too slow.
    pub fn elapsed_ns(&self) -> u64 {
        let done = self.ops as f64;
        let share = if self.parts == 0.0 { 1.0 } else { done / (done + self.parts) };
        (self.window_ns() as f64 * share) as u64
    }

    /// Measured time by the clock.
    pub fn window_ns(&self) -> u64 {
        self.end_ns() - self.start_ns
    }

    fn end_ns(&self) -> u64 {
        self.stopped_ns.unwrap_or(self.last_ns).max(self.last_ns)
    }

    pub fn merge(&mut self, other: &Self) {
        self.latencies.add(&other.latencies).expect("all histograms have the same bounds");
        for (mine, theirs) in self.intervals.iter_mut().zip(&other.intervals) {
            mine.ops += theirs.ops;
            mine.bytes += theirs.bytes;
        }
        self.requests += other.requests;
        self.sent_bytes += other.sent_bytes;
        self.written_bytes += other.written_bytes;
        self.due += other.due;
        self.ops += other.ops;
        self.bytes += other.bytes;
        self.overdue += other.overdue;
        self.errors += other.errors;
        self.first_error = self.first_error.or(other.first_error);
        self.stalls = common_stalls(self, other);
        self.gap_max_ns = self.stalls.iter().map(|s| s.end - s.start).max().unwrap_or(0);
        self.start_ns = self.start_ns.min(other.start_ns);
        self.late.last_ns = self.late.last_ns.max(other.late.last_ns);
        self.parts += other.parts;
        if self.stopped_ns.is_some() || other.stopped_ns.is_some() {
            self.stopped_ns = Some(self.end_ns().max(other.end_ns()));
        }
        self.last_ns = self.last_ns.max(other.last_ns);
    }
}

/// A stall of one worker counts while the other completes nothing either: it stalls, has not begun, or has ended.
fn common_stalls(a: &Recorder, b: &Recorder) -> Vec<Range<u64>> {
    let silences = |worker: &Recorder| {
        let before = std::iter::once(0..worker.start_ns);
        let after = std::iter::once(worker.heard_ns()..u64::MAX);
        before.chain(worker.stalls.clone()).chain(after).collect::<Vec<_>>()
    };
    let (of_a, of_b) = (silences(a), silences(b));
    let both =
        of_a.iter().flat_map(|a| of_b.iter().map(move |b| a.start.max(b.start)..a.end.min(b.end)));
    let is_within = |gap: &Range<u64>| gap.start > 0 && gap.end < u64::MAX;
    both.filter(|gap| is_within(gap) && gap.end.saturating_sub(gap.start) > STALL_NS).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn completions_fall_into_their_intervals() {
        let mut recorder = Recorder::new(1_000_000_000);
        assert_eq!(recorder.interval_ns, 20_000_000);
        recorder.start(5_000_000_000);
        recorder.complete(5_010_000_000, 10_000_000, 4096);
        recorder.complete(5_030_000_000, 20_000_000, 4096);
        recorder.complete(99_000_000_000, 1, 1);
        assert_eq!(recorder.intervals[0], RateInterval { ops: 1, bytes: 4096 });
        assert_eq!(recorder.intervals[1], RateInterval { ops: 1, bytes: 4096 });
        assert_eq!(recorder.intervals.last().unwrap().ops, 1, "late ones go to the last interval");
        assert_eq!(recorder.ops, 3);
        assert_eq!(recorder.gap_max_ns, 93_970_000_000);
    }

    #[test]
    fn draining_deep_queue_is_not_a_silence() {
        let mut recorder = Recorder::new(1_000_000_000);
        recorder.start(0);
        recorder.complete(990_000_000, 1, 4096);
        recorder.stop(1_000_000_000);
        for late in 1..=300 {
            recorder.drained(990_000_000 + late * 10_000_000, 1, 4096);
        }
        assert_eq!(recorder.gap_max_ns, 990_000_000);
        recorder.drained(9_000_000_000, 1, 4096);
        assert_eq!(recorder.gap_max_ns, 5_010_000_000, "but a stall at the end counts");
    }

    #[test]
    fn merging_adds_everything() {
        let mut a = Recorder::new(1_000_000_000);
        a.start(100);
        a.complete(200, 100, 512);
        let mut b = Recorder::new(1_000_000_000);
        b.start(150);
        b.complete(400, 250, 512);
        b.failed(IoFailure { errno: 5, offset: 8192, len: 4096, write: false });
        (a.requests, b.requests, b.written_bytes) = (3, 4, 1024);
        a.merge(&b);
        assert_eq!((a.requests, a.written_bytes), (7, 1024));
        assert_eq!((a.ops, a.bytes, a.errors), (2, 1024, 1));
        assert_eq!(a.elapsed_ns(), 300);
        assert_eq!(a.latencies.len(), 2);
        assert_eq!(a.first_error.unwrap().offset, 8192);
    }

    /// A worker with a completion at each of these tenths of a second.
    fn worker(completions: &[u64]) -> Recorder {
        let mut recorder = Recorder::new(10_000_000_000);
        recorder.start(1_000);
        completions.iter().for_each(|at| recorder.complete(at * 100_000_000, 1, 4096));
        recorder
    }

    #[test]
    fn stall_counts_only_when_all_workers_wait() {
        for (workers, gap) in [
            // Each waits for three seconds, never both.
            (vec![worker(&[10, 40, 50, 60, 70]), worker(&[10, 20, 30, 40, 70])], 0),
            // Both wait for 1.5 s of the three of each.
            (vec![worker(&[10, 40, 50]), worker(&[5, 25, 55, 65])], 15),
            // Twice; what the third hears divides the longer stall.
            (vec![worker(&[10, 50, 90]), worker(&[10, 50, 90]), worker(&[10, 38, 50, 75, 90])], 28),
            // One ended before.
            (vec![worker(&[10]), worker(&[10, 30, 60])], 30),
        ] {
            let mut all = workers[0].clone();
            workers[1..].iter().for_each(|other| all.merge(other));
            assert_eq!(all.gap_max_ns, gap * 100_000_000, "{:?}", all.stalls);
        }
    }

    #[test]
    fn latency_beyond_the_range_counts_as_the_largest() {
        let mut recorder = Recorder::new(1_000);
        recorder.start(0);
        recorder.complete(u64::MAX / 2, u64::MAX / 2, 1);
        assert!(recorder.latencies.max() >= LATENCY_MAX_NS / 1000 * 999);
    }
}
