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
/// or after `IN_A_ROW_MAX` in a row. A failed write ends a scan at once.
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

/// A timed stretch after an untimed lead-in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ScanRegion {
    pub offset: u64,
    pub len: u64,
    /// Equals `offset` for no lead-in.
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

#[derive(Debug)]
pub struct Scan<'c> {
    pub places: Vec<ScanRegion>,
    /// Bytes per request at most.
    pub chunk: u32,
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
            if chunked.publisher.tick(now, &outcome.recorder) || self.control.is_over(now) {
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

    const MIB: u64 = 1 << 20;

    fn place(offset: u64, len: u64) -> ScanRegion {
        ScanRegion::new(offset, len)
    }

    fn fresh() -> Option<Payload> {
        Some(Payload::new(1, 1))
    }

    fn pages(count: u64) -> Vec<ScanRegion> {
        (0..count).map(|i| place(i * 4096, 4096)).collect()
    }

    /// Its outcome, and the number of requests.
    fn scanned(
        scan: Scan<'_>,
        service: impl FnMut(&IoRequest, u64) -> Result<u64, i32>,
    ) -> (ScanOutcome, u64) {
        let mut drive = VirtualQueue::new(scan.depth + 1, 1, service);
        let outcome = scan.run(&mut drive).unwrap();
        (outcome, drive.served.len() as u64)
    }

    fn of_pages(
        count: u64,
        data: Option<Payload>,
        control: &Control,
        service: impl FnMut(&IoRequest, u64) -> Result<u64, i32>,
    ) -> ScanOutcome {
        let scan = Scan { places: pages(count), chunk: 4096, depth: 1, data, control };
        scanned(scan, service).0
    }

    fn in_mib(places: Vec<ScanRegion>, data: Option<Payload>, control: &Control) -> Scan<'_> {
        Scan { places, chunk: 1 << 20, depth: 4, data, control }
    }

    #[test]
    fn a_stretch_takes_what_the_drive_takes() {
        let control = Control::default();
        let places = vec![place(0, 8 * MIB), place(1 << 30, 8 * MIB)];
        let (outcome, _) = scanned(in_mib(places, None, &control), |request, _| {
            Ok(if request.offset < 1 << 30 { 1_000_000 } else { 2_000_000 })
        });
        for (timed, ns) in outcome.timed.iter().zip([8_000_000, 16_000_000]) {
            assert_eq!((timed.ns, timed.steady_ns), (Some(ns), Some(ns)));
        }
        assert_eq!((outcome.timed.len(), outcome.recorder.ops), (2, 16));
    }

    #[test]
    fn the_lead_in_is_read_but_not_timed() {
        let control = Control::default();
        let places = vec![ScanRegion { lead_in_len: 4096, lead_in_from: 0, ..place(4096, 4096) }];
        let scan = Scan { places, chunk: 4096, depth: 1, data: None, control: &control };
        let (outcome, served) = scanned(scan, |_, _| Ok(1_000_000));
        assert_eq!((outcome.timed[0].ns, outcome.recorder.ops), (Some(1_000_000), 1));
        assert_eq!(served, 2);
    }

    #[test]
    fn long_lead_in_is_not_a_stall() {
        let control = Control::default();
        let lead_in_len = 200 * MIB;
        let places = [0, 1 << 40].map(|lead_in_from| ScanRegion {
            lead_in_from,
            lead_in_len,
            ..place(lead_in_from + lead_in_len, MIB)
        });
        let scan = in_mib(places.to_vec(), None, &control);
        let gap_ns = scanned(scan, |_, _| Ok(10_000_000)).0.recorder.gap_max_ns;
        assert!(gap_ns <= 40_000_000, "{gap_ns}: lead-ins of 2 s were answered all the time");
    }

    fn third_page_fails(request: &IoRequest, _: u64) -> Result<u64, i32> {
        if request.offset == 8192 { Err(libc::EIO) } else { Ok(1_000) }
    }

    #[test]
    fn unreadable_place_is_kept_and_scan_continues() {
        let outcome = of_pages(5, None, &Control::default(), third_page_fails);
        assert_eq!((outcome.timed.len(), outcome.timed[2].ns), (5, None));
        assert_eq!((outcome.failures.len(), outcome.failures[0].offset), (1, 8192));
    }

    /// A scan of 80 places ended after the sixteenth bad one, with most of the drive unseen.
    #[test]
    fn scan_ends_when_most_of_the_drive_fails() {
        fn visited(is_bad: fn(u64) -> bool) -> (usize, bool) {
            let outcome = of_pages(400, None, &Control::default(), |request, _| {
                if is_bad(request.offset / 4096) { Err(libc::EIO) } else { Ok(1_000) }
            });
            (outcome.timed.len(), outcome.gave_up)
        }
        assert_eq!(visited(|at| at % 4 == 3), (400, false), "a quarter");
        assert_eq!(visited(|at| (100..160).contains(&at)), (400, false), "60 in a row");
        assert_eq!(visited(|_| true), (16, true));
        assert_eq!(visited(|at| at % 3 > 0), (24, true), "two thirds");
        assert_eq!(visited(|at| at >= 200), (264, true), "the second half");
    }

    #[test]
    fn failed_write_ends_scan_and_keeps_published_places() {
        let control = Control::of_places(5);
        let outcome = of_pages(5, fresh(), &control, third_page_fails);
        let timed: Vec<_> = outcome.timed.iter().map(|timed| timed.ns).collect();
        assert_eq!(timed, [Some(1_000), Some(1_000), None]);
        assert_eq!(control.times_ns(), [1_000, 1_000]);
    }

    #[test]
    fn bytes_before_a_failure_count_without_their_stretch() {
        let control = Control::default();
        let lead_in = ScanRegion { lead_in_from: 0, lead_in_len: MIB, ..place(MIB, 2 * MIB) };
        let places = vec![lead_in, place(3 * MIB, 8 * MIB)];
        let scan = Scan { depth: 1, ..in_mib(places, fresh(), &control) };
        let (outcome, _) =
            scanned(
                scan,
                |request, _| {
                    if request.offset >= 5 * MIB { Err(libc::ENOSPC) } else { Ok(1_000) }
                },
            );
        assert_eq!(outcome.moved_bytes, 5 * MIB, "lead-in, stretch, and two of the next eight");
        assert_eq!(outcome.timed.iter().filter(|timed| timed.ns.is_some()).count(), 1);
    }

    /// What is written counts if it is enough for a rate and nothing before it is missing.
    #[test]
    fn stop_ends_stretch_and_keeps_ordered_writes() {
        let whole = place(0, 256 * MIB);
        let lead_in =
            ScanRegion { lead_in_from: 0, lead_in_len: 64 * MIB, ..place(64 * MIB, 64 * MIB) };
        for (first, data, stop_at, kept) in [
            (whole, fresh(), 40, true),
            (whole, fresh(), 10, false),
            (whole, None, 40, false),
            (lead_in, fresh(), 40, false),
            (lead_in, fresh(), 100, false),
        ] {
            let control = Control::of_places(2);
            let mut sent = 0;
            let places = vec![first, place(256 * MIB, 256 * MIB)];
            let (outcome, served) = scanned(in_mib(places, data, &control), |_, _| {
                sent += 1;
                if sent == stop_at {
                    control.stop();
                }
                Ok(1_000_000_000)
            });
            assert!(served < stop_at + 4, "{served} requests, a stop came with {stop_at}");
            assert_eq!((outcome.asked_bytes, outcome.moved_bytes), (served * MIB, served * MIB));
            let part = TimedRegion::new(0, served * MIB, Some(served * 1_000_000_000));
            assert_eq!(outcome.timed, if kept { vec![part] } else { vec![] }, "{stop_at}");
            assert!(outcome.failures.is_empty() && control.times_ns().is_empty());
        }
    }

    #[test]
    fn writes_are_timed_like_reads() {
        let control = Control::default();
        let written = |service: fn(&IoRequest, u64) -> Result<u64, i32>| {
            scanned(in_mib(vec![place(0, 8 * MIB)], fresh(), &control), service).0
        };
        let timed = written(|request, _| match request.op {
            IoOp::Write => Ok(2_000_000),
            _ => Err(libc::EIO),
        });
        assert_eq!(timed.timed[0].ns, Some(16_000_000));
        assert!(written(|_, _| Err(libc::EIO)).failures[0].write);
    }

    #[test]
    fn a_vanished_drive_ends_the_scan() {
        let gone = of_pages(50, None, &Control::default(), |_, _| Err(libc::ENODEV));
        assert_eq!(gone.timed.len(), 1);
    }
}
