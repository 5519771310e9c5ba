//! Scans: timed stretches of reads or writes at given places, and single accesses one after the other.

use crate::io::payload::Payload;
use crate::io::queue::{IoFailure, IoQueue, IoTask};
use crate::io::recorder::Recorder;
use crate::loops::chunked_io::{ChunkData, ChunkedIo};
use crate::loops::control::Control;
use crate::loops::steady_rate::SteadyRate;
use std::io;

/// Fewest failed places for a statement about the drive.
pub const FAILURES_MAX: usize = 16;
/// Failed places in a row after which nothing else is to be expected; each may take seconds.
const IN_A_ROW_MAX: usize = 64;

/// When reading on makes no sense: after [`FAILURES_MAX`] failed places that are more than half of those visited,
/// or after [`IN_A_ROW_MAX`] in a row. A failed write ends a scan at once.
#[derive(Debug, Default)]
pub struct FailureCount {
    visited: usize,
    failed: usize,
    in_a_row: usize,
}

impl FailureCount {
    /// Counts one more place; returns whether it is to be the last.
    pub fn gives_up(&mut self, has_failed: bool) -> bool {
        self.visited += 1;
        self.failed += usize::from(has_failed);
        self.in_a_row = if has_failed { self.in_a_row + 1 } else { 0 };
        let is_most = self.failed >= FAILURES_MAX && 2 * self.failed > self.visited;
        is_most || self.in_a_row >= IN_A_ROW_MAX
    }
}

/// Shortest part of a stretch that is kept when a stop ends it: of less, caches would make the rate.
pub const PART_MIN: u64 = 16 << 20;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ScanRegion {
    /// Of the timed stretch.
    pub offset: u64,
    /// Of the timed stretch.
    pub len: u64,
    /// Where the untimed lead-in begins; equals `offset` for none.
    pub lead_in_from: u64,
    /// After the lead-in, go back to the beginning of the stretch (GNOME Disks) instead of reading on.
    pub lead_in_len: u64,
}

impl ScanRegion {
    pub fn new(offset: u64, len: u64) -> Self {
        Self { offset, len, lead_in_from: offset, lead_in_len: 0 }
    }

    /// `from..to` in pieces; the last may be shorter.
    pub fn pieces(from: u64, to: u64, piece: u64) -> Vec<Self> {
        let starts = (from..to).step_by(piece as usize);
        starts.map(|offset| Self::new(offset, piece.min(to - offset))).collect()
    }
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TimedRegion {
    pub offset: u64,
    /// `None` if a request failed.
    pub ns: Option<u64>,
    /// Time at its steady pace: the slope of a straight line through its completions, which hardly depends on how
    /// full a cache was at either end. `None` below eight.
    pub steady_ns: Option<u64>,
    /// Time with the median time between its answers, without the pauses between the tracks of a disk. `None` below
    /// eight.
    pub step_ns: Option<u64>,
    /// How much slower its second half went than its first; see [`SteadyRate::drift`].
    pub drift: Option<f64>,
    pub len: u64,
}

impl TimedRegion {
    pub fn new(offset: u64, len: u64, ns: Option<u64>) -> Self {
        Self { offset, ns, steady_ns: None, step_ns: None, drift: None, len }
    }
}

/// A scan over places in the given order.
#[derive(Debug)]
pub struct Scan<'c> {
    pub places: Vec<ScanRegion>,
    /// Bytes per request at most.
    pub chunk: u32,
    /// Within a stretch.
    pub depth: u32,
    /// What is written; `None` reads.
    pub data: Option<Payload>,
    pub control: &'c Control,
}

#[derive(Debug)]
pub struct ScanOutcome {
    /// One entry per place visited.
    pub timed: Vec<TimedRegion>,
    /// Of the timed requests.
    pub recorder: Recorder,
    /// Lead-ins included.
    pub asked_bytes: u64,
    /// Bytes of completed requests, lead-ins and what lies before a failure included.
    pub moved_bytes: u64,
    /// By place.
    pub failures: Vec<IoFailure>,
    /// Failures ended it before its last place.
    pub gave_up: bool,
}

impl IoTask for Scan<'_> {
    type Output = ScanOutcome;

    fn run<Q: IoQueue>(self, queue: &mut Q) -> io::Result<ScanOutcome> {
        let mut outcome = ScanOutcome {
            timed: Vec::with_capacity(self.places.len()),
            recorder: Recorder::of_any_length(),
            asked_bytes: 0,
            moved_bytes: 0,
            failures: Vec::new(),
            gave_up: false,
        };
        outcome.recorder.start(queue.now());
        self.visit_all(queue, &mut outcome)?;
        Ok(outcome)
    }
}

impl Scan<'_> {
    fn visit_all<Q: IoQueue>(&self, queue: &mut Q, outcome: &mut ScanOutcome) -> io::Result<()> {
        let mut chunked = ChunkedIo::new(queue, self.chunk, self.depth, self.control);
        let data = || self.data.map_or(ChunkData::ReadDiscard, ChunkData::WriteFresh);
        let longest = self.places.iter().map(|place| place.len).max().unwrap_or(0);
        let mut pace = SteadyRate::of(longest.div_ceil(u64::from(self.chunk)) as usize);
        let mut failing = FailureCount::default();
        for (index, place) in self.places.iter().enumerate() {
            let ScanRegion { offset, len, lead_in_from, lead_in_len } = *place;
            let (mut failure, before) = (None, chunked.moved);
            pace.restart();
            if lead_in_len > 0 {
                failure = chunked.go(lead_in_from, lead_in_len, data(), None)?.err();
            }
            let start = chunked.queue.now();
            // The lead-in is not recorded, and no silence of the drive.
            outcome.recorder.last_ns = start;
            if failure.is_none() && chunked.stopped_at.is_none() {
                let recorded = Some((&mut outcome.recorder, Some(&mut pace)));
                failure = chunked.go(offset, len, data(), recorded)?.err();
            }
            let now = chunked.queue.now();
            if let Some(at) = chunked.stopped_at {
                outcome.asked_bytes += chunked.moved - before;
                outcome.timed.extend(self.part_of(place, at, now - start));
                break;
            }
            let ns = failure.is_none().then_some(now - start);
            outcome.asked_bytes += lead_in_len + len;
            outcome.timed.push(TimedRegion {
                steady_ns: ns.and(pace.ns_of(len)),
                step_ns: ns.and(pace.step_ns_of(len)),
                drift: ns.and(pace.drift()),
                ..TimedRegion::new(offset, len, ns)
            });
            let is_enough = failing.gives_up(failure.is_some());
            if let Some(failure) = failure {
                outcome.recorder.failed(failure);
                outcome.failures.push(failure);
                let gone = matches!(failure.errno, libc::ENODEV | libc::ENXIO);
                outcome.gave_up = gone || failure.write || is_enough;
                if outcome.gave_up {
                    break;
                }
            }
            if let Some(ns) = ns {
                self.control.done(index, ns);
            }
            if chunked.publisher.tick(now, &outcome.recorder) {
                break;
            }
        }
        outcome.moved_bytes = chunked.moved;
        chunked.publisher.publish(&outcome.recorder);
        Ok(())
    }

    /// A place that a stop ended at byte `at`, after `ns`: what was written in order need not be written again.
    fn part_of(&self, place: &ScanRegion, at: u64, ns: u64) -> Option<TimedRegion> {
        let ScanRegion { offset, lead_in_len, .. } = *place;
        let is_in_order = self.data.is_some() && lead_in_len == 0;
        let len = at.saturating_sub(offset);
        (is_in_order && len >= PART_MIN).then(|| TimedRegion::new(offset, len, Some(ns)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::io::queue::{IoOp, IoRequest};
    use crate::testing::VirtualQueue;

    fn place(offset: u64, len: u64) -> ScanRegion {
        ScanRegion::new(offset, len)
    }

    #[test]
    fn a_stretch_takes_what_the_drive_takes() {
        let control = Control::default();
        let mut drive = VirtualQueue::new(5, 1, |request: &IoRequest, _| {
            Ok(if request.offset < 1 << 30 { 1_000_000 } else { 2_000_000 })
        });
        let places = vec![place(0, 8 << 20), place(1 << 30, 8 << 20)];
        let scan = Scan { places, chunk: 1 << 20, depth: 4, data: None, control: &control };
        let outcome = scan.run(&mut drive).unwrap();
        let ns: Vec<_> = outcome.timed.iter().map(|t| t.ns.unwrap()).collect();
        assert_eq!(ns, [8_000_000, 16_000_000]);
        let steady: Vec<_> = outcome.timed.iter().map(|t| t.steady_ns.unwrap()).collect();
        assert_eq!(steady, [8_000_000, 16_000_000]);
        assert_eq!(outcome.recorder.ops, 16);
    }

    #[test]
    fn the_lead_in_is_read_but_not_timed() {
        let control = Control::default();
        let mut drive = VirtualQueue::new(2, 1, |_: &IoRequest, _| Ok(1_000_000));
        let places =
            vec![ScanRegion { offset: 4096, len: 4096, lead_in_from: 0, lead_in_len: 4096 }];
        let scan = Scan { places, chunk: 4096, depth: 1, data: None, control: &control };
        let outcome = scan.run(&mut drive).unwrap();
        assert_eq!(outcome.timed[0].ns, Some(1_000_000));
        assert_eq!(drive.served.len(), 2);
        assert_eq!(outcome.recorder.ops, 1);
    }

    #[test]
    fn long_lead_in_is_not_a_stall() {
        let control = Control::default();
        let mut drive = VirtualQueue::new(5, 1, |_: &IoRequest, _| Ok(10_000_000));
        let len = 1 << 20;
        let at = |from| ScanRegion {
            offset: from + 200 * len,
            len,
            lead_in_from: from,
            lead_in_len: 200 * len,
        };
        let places = vec![at(0), at(1 << 40)];
        let scan = Scan { places, chunk: 1 << 20, depth: 4, data: None, control: &control };
        let gap_ns = scan.run(&mut drive).unwrap().recorder.gap_max_ns;
        assert!(gap_ns <= 40_000_000, "{gap_ns}: lead-ins of 2 s were answered all the time");
    }

    #[test]
    fn unreadable_place_is_kept_and_scan_continues() {
        let control = Control::default();
        let mut drive = VirtualQueue::new(2, 1, |request: &IoRequest, _| {
            if request.offset == 8192 { Err(libc::EIO) } else { Ok(1_000) }
        });
        let places = (0..5).map(|i| place(i * 4096, 4096)).collect();
        let scan = Scan { places, chunk: 4096, depth: 1, data: None, control: &control };
        let outcome = scan.run(&mut drive).unwrap();
        assert_eq!(outcome.timed.len(), 5);
        assert_eq!(outcome.timed[2].ns, None);
        assert_eq!(outcome.failures.len(), 1);
        assert_eq!(outcome.failures[0].offset, 8192);
    }

    /// A scan of 80 places ended after the sixteenth bad one, with most of the drive unseen.
    #[test]
    fn scan_ends_when_most_of_the_drive_fails() {
        let visited = |is_bad: fn(u64) -> bool| {
            let control = Control::default();
            let mut drive = VirtualQueue::new(2, 1, |request: &IoRequest, _| {
                if is_bad(request.offset / 4096) { Err(libc::EIO) } else { Ok(1_000) }
            });
            let places = (0..400).map(|i| place(i * 4096, 4096)).collect();
            let scan = Scan { places, chunk: 4096, depth: 1, data: None, control: &control };
            let outcome = scan.run(&mut drive).unwrap();
            (outcome.timed.len(), outcome.gave_up)
        };
        assert_eq!(visited(|at| at % 4 == 3), (400, false), "a quarter");
        assert_eq!(visited(|at| (100..160).contains(&at)), (400, false), "60 in a row");
        assert_eq!(visited(|_| true), (16, true));
        assert_eq!(visited(|at| at % 3 > 0), (24, true), "two thirds");
        assert_eq!(visited(|at| at >= 200), (264, true), "the second half");
    }

    #[test]
    fn failed_write_ends_scan_and_keeps_published_places() {
        let control = Control::of_places(5);
        let mut drive = VirtualQueue::new(2, 1, |request: &IoRequest, _| {
            if request.offset == 8192 { Err(libc::EIO) } else { Ok(1_000) }
        });
        let places = (0..5).map(|i| place(i * 4096, 4096)).collect();
        let data = Some(Payload::new(1, 1));
        let scan = Scan { places, chunk: 4096, depth: 1, data, control: &control };
        let outcome = scan.run(&mut drive).unwrap();
        assert_eq!(
            outcome.timed.iter().map(|t| t.ns).collect::<Vec<_>>(),
            [Some(1_000), Some(1_000), None]
        );
        assert_eq!(control.times_ns(), [1_000, 1_000]);
    }

    #[test]
    fn bytes_before_a_failure_count_without_their_stretch() {
        let control = Control::default();
        let mut drive = VirtualQueue::new(2, 1, |request: &IoRequest, _| {
            if request.offset >= 5 << 20 { Err(libc::ENOSPC) } else { Ok(1_000) }
        });
        let lead_in =
            ScanRegion { lead_in_from: 0, lead_in_len: 1 << 20, ..place(1 << 20, 2 << 20) };
        let places = vec![lead_in, place(3 << 20, 8 << 20)];
        let data = Some(Payload::new(1, 1));
        let scan = Scan { places, chunk: 1 << 20, depth: 1, data, control: &control };
        let outcome = scan.run(&mut drive).unwrap();
        assert_eq!(outcome.moved_bytes, 5 << 20, "lead-in, stretch, and two of the next eight");
        assert_eq!(outcome.timed.iter().filter(|timed| timed.ns.is_some()).count(), 1);
    }

    /// What is written counts if it is enough for a rate and nothing before it is missing.
    #[test]
    fn stop_ends_stretch_and_keeps_ordered_writes() {
        let lead_in =
            ScanRegion { lead_in_from: 0, lead_in_len: 64 << 20, ..place(64 << 20, 64 << 20) };
        let (written, read) = (Some(Payload::new(1, 1)), None);
        for (first, data, stop_at, kept) in [
            (place(0, 256 << 20), written, 40, true),
            (place(0, 256 << 20), written, 10, false),
            (place(0, 256 << 20), read, 40, false),
            (lead_in, written, 40, false),
            (lead_in, written, 100, false),
        ] {
            let control = Control::of_places(2);
            let mut sent = 0;
            let mut drive = VirtualQueue::new(5, 1, |_: &IoRequest, _| {
                sent += 1;
                if sent == stop_at {
                    control.stop();
                }
                Ok(1_000_000_000)
            });
            let places = vec![first, place(256 << 20, 256 << 20)];
            let scan = Scan { places, chunk: 1 << 20, depth: 4, data, control: &control };
            let outcome = scan.run(&mut drive).unwrap();
            let served = drive.served.len() as u64;
            assert!(served < stop_at + 4, "{served} requests, a stop came with {stop_at}");
            assert_eq!((outcome.asked_bytes, outcome.moved_bytes), (served << 20, served << 20));
            let part = TimedRegion::new(0, served << 20, Some(served * 1_000_000_000));
            assert_eq!(outcome.timed, if kept { vec![part] } else { vec![] }, "{stop_at}");
            assert!(outcome.failures.is_empty() && control.times_ns().is_empty());
        }
    }

    #[test]
    fn writes_are_timed_like_reads() {
        let control = Control::default();
        let mut drive = VirtualQueue::new(3, 1, |request: &IoRequest, _| {
            if request.op == IoOp::Write { Ok(2_000_000) } else { Err(libc::EIO) }
        });
        let data = Some(Payload::new(1, 1));
        let places = vec![place(0, 8 << 20)];
        let scan = Scan { places, chunk: 1 << 20, depth: 2, data, control: &control };
        assert_eq!(scan.run(&mut drive).unwrap().timed[0].ns, Some(16_000_000));
        let mut drive = VirtualQueue::new(3, 1, |_: &IoRequest, _| Err(libc::EIO));
        let places = vec![place(0, 8 << 20)];
        let scan = Scan { places, chunk: 1 << 20, depth: 2, data, control: &control };
        assert!(scan.run(&mut drive).unwrap().failures[0].write);
    }

    #[test]
    fn a_vanished_drive_ends_the_scan() {
        let control = Control::default();
        let mut drive = VirtualQueue::new(2, 1, |_: &IoRequest, _| Err(libc::ENODEV));
        let places = (0..50).map(|i| place(i * 4096, 4096)).collect();
        let scan = Scan { places, chunk: 4096, depth: 1, data: None, control: &control };
        assert_eq!(scan.run(&mut drive).unwrap().timed.len(), 1);
    }
}
