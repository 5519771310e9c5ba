//! Reads everything in order, each piece timed, and looks closely where requests fail: which byte is the first that
//! cannot be read, which the last.
//!
//! A dying drive may take many seconds for each failed read, so a long unreadable stretch is not read sector by sector:
//! its end is looked for in steps that double, and then by halves. Readable gaps shorter than [`GAP`] do not divide a
//! stretch. After [`FAILURES_MAX`] failed reads the look ends, and with it the read.

use crate::error::is_want_of_the_host;
use crate::io::queue::{IoCompletion, IoFailure, IoOp, IoQueue, IoRequest, IoTask};
use crate::io::recorder::Recorder;
use crate::loops::chunked_io::{ChunkData, ChunkedIo};
use crate::loops::control::Control;
use crate::loops::scan::{ScanRegion, TimedRegion};
use std::io;
use std::ops::Range;
use std::sync::Mutex;

/// Failed reads of the close look, all stretches together: at five seconds each, nearly six hours. Those of the stream,
/// up to four for a stretch, come on top.
const FAILURES_MAX: u32 = 4096;
const GAP: u64 = 64 << 10;
/// Stands for the time of a piece with unreadable bytes.
const NO_TIME_NS: u64 = u64::MAX;

/// From the first to the last byte that cannot be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct BadStretch {
    pub bytes: Range<u64>,
    /// Without the readable gaps that were seen in it.
    pub unreadable: u64,
}

#[derive(Debug)]
pub(super) struct WholeRead<'c> {
    /// One after the other without gaps, up to the end of the examined part.
    pub pieces: &'c [ScanRegion],
    /// Where to begin: within or after the pieces where an earlier run found nothing readable before this byte.
    pub from: u64,
    pub chunk: u32,
    pub depth: u32,
    /// Bytes of the smallest request.
    pub unit: u64,
    pub control: &'c Control,
    /// Written outside of timed stretches only.
    pub found: &'c Mutex<Vec<BadStretch>>,
}

#[derive(Debug)]
pub(super) struct WholeReadOutcome {
    /// One entry per piece that is over, in order.
    pub timed: Vec<TimedRegion>,
    pub recorder: Recorder,
    /// Requests that failed, and the first of them.
    pub failed: (u64, Option<IoFailure>),
    /// What ended the read before its end: the drive is gone, or the machine lacks something.
    pub ended_by: Option<IoFailure>,
    /// Too many reads failed.
    pub gave_up: bool,
}

/// The times of the pieces so far, by the control of a running read.
pub(super) fn timed_so_far(pieces: &[ScanRegion], control: &Control) -> Vec<TimedRegion> {
    let timed = |(piece, ns): (&ScanRegion, u64)| {
        TimedRegion::new(piece.offset, piece.len, (ns != NO_TIME_NS).then_some(ns))
    };
    pieces.iter().zip(control.times_ns()).map(timed).collect()
}

impl IoTask for WholeRead<'_> {
    type Output = WholeReadOutcome;

    fn run<Q: IoQueue>(self, queue: &mut Q) -> io::Result<WholeReadOutcome> {
        let mut recorder = Recorder::of_any_length();
        recorder.start(queue.now());
        let outcome = WholeReadOutcome {
            timed: Vec::with_capacity(self.pieces.len()),
            recorder,
            failed: (0, None),
            ended_by: None,
            gave_up: false,
        };
        let slots = queue.slots() as usize;
        let chunked = ChunkedIo::new(queue, self.chunk, self.depth, self.control);
        let end = self.pieces.last().map_or(0, |piece| piece.offset + piece.len);
        let done = Vec::with_capacity(slots);
        let failures_left = FAILURES_MAX;
        let mut reader =
            WholeReader { read: &self, chunked, outcome, end, done, failures_left, is_over: false };
        reader.read_all()?;
        reader.chunked.publisher.publish(&reader.outcome.recorder);
        Ok(reader.outcome)
    }
}

struct WholeReader<'r, 'q, Q: IoQueue> {
    read: &'r WholeRead<'r>,
    chunked: ChunkedIo<'q, Q>,
    outcome: WholeReadOutcome,
    /// Where the last piece ends.
    end: u64,
    done: Vec<IoCompletion>,
    failures_left: u32,
    /// The user waits, the drive is gone, or too much failed.
    is_over: bool,
}

impl<Q: IoQueue> WholeReader<'_, '_, Q> {
    fn read_all(&mut self) -> io::Result<()> {
        let mut from = self.read.from;
        for (index, piece) in self.read.pieces.iter().enumerate() {
            let start = self.chunked.queue.now();
            // The drive was not silent while it was looked at closely.
            self.outcome.recorder.last_ns = start;
            let is_whole = from <= piece.offset;
            from = from.max(piece.offset);
            let read = self.piece(&mut from, piece.offset + piece.len)?;
            if self.is_over {
                break;
            }
            let now = self.chunked.queue.now();
            let ns = (is_whole && read).then_some(now - start);
            self.outcome.timed.push(TimedRegion::new(piece.offset, piece.len, ns));
            self.read.control.done(index, ns.unwrap_or(NO_TIME_NS));
            if self.chunked.publisher.tick(now, &self.outcome.recorder) {
                break;
            }
        }
        Ok(())
    }

    /// Reads up to `to`, or farther where the unreadable reaches farther; whether all of it came at once.
    fn piece(&mut self, from: &mut u64, to: u64) -> io::Result<bool> {
        let mut all_came = true;
        while *from < to {
            let recorded = Some((&mut self.outcome.recorder, None));
            let went = self.chunked.go(*from, to - *from, ChunkData::ReadDiscard, recorded)?;
            let Err(failure) = went else {
                self.is_over = self.chunked.stopped_at.is_some();
                return Ok(all_came);
            };
            all_came = false;
            self.outcome.recorder.failed(failure);
            self.note(failure);
            let in_flight = u64::from(self.read.depth) * u64::from(self.read.chunk);
            // Requests are answered in any order: one sent before this one may have failed, too.
            let before = failure.offset.saturating_sub(in_flight).max(*from);
            let after = (failure.offset + u64::from(failure.len)).min(self.end);
            *from = self.look(before..after)?;
            if self.is_over {
                break;
            }
        }
        Ok(all_came)
    }

    /// Looks where requests failed, and returns where to read on.
    fn look(&mut self, range: Range<u64>) -> io::Result<u64> {
        let mut at = range.start;
        while at < range.end && !self.is_over {
            let chunk = at..(at + u64::from(self.read.chunk)).min(self.end);
            at = chunk.end;
            if self.comes(chunk.clone())? {
                continue;
            }
            let Some(first) = self.first_bad(chunk)? else { continue };
            let stretch = self.stretch(first)?;
            at = stretch.bytes.end;
            // One that a stop cut short is found again by the run that resumes this one.
            let is_known = !self.is_over || self.outcome.gave_up;
            if is_known && self.answers(&stretch)? {
                self.read.found.lock().expect("no holder panics").push(stretch);
            }
            break;
        }
        Ok(at)
    }

    /// The stretch that begins with a bad unit.
    fn stretch(&mut self, first: u64) -> io::Result<BadStretch> {
        let unit = self.read.unit;
        let mut stretch = BadStretch { bytes: first..first + unit, unreadable: unit };
        loop {
            let good = self.next_good(stretch.bytes.end)?;
            stretch.unreadable += good - stretch.bytes.end;
            stretch.bytes.end = good;
            let ahead = good..(good + GAP).min(self.end);
            if self.is_over || ahead.is_empty() || self.comes(ahead.clone())? {
                return Ok(stretch);
            }
            let Some(bad) = self.first_bad(ahead)? else { return Ok(stretch) };
            stretch.bytes.end = bad + unit;
            stretch.unreadable += unit;
        }
    }

    /// The first bad unit of a range that did not come, by halves; `None` if all of it comes now.
    fn first_bad(&mut self, range: Range<u64>) -> io::Result<Option<u64>> {
        let unit = self.read.unit;
        let (mut good, mut bad) = (range.start, range.end);
        let mut is_proved = bad - good <= unit;
        while bad - good > unit && !self.is_over {
            let half = ((bad - good) / 2 / unit * unit).max(unit);
            if self.comes(good..good + half)? {
                (good, is_proved) = (good + half, false);
            } else {
                (bad, is_proved) = (good + half, half == unit);
            }
        }
        let comes_now = !is_proved && self.comes(good..bad)?;
        Ok((!comes_now && !self.is_over).then_some(good))
    }

    /// The first unit from `at` on that comes, in steps that double, and then by halves; the end if none does.
    fn next_good(&mut self, at: u64) -> io::Result<u64> {
        let unit = self.read.unit;
        let last = self.end.saturating_sub(unit);
        if self.is_over || at > last || self.comes(at..at + unit)? {
            return Ok(at);
        }
        let (mut bad, mut step) = (at, unit);
        let mut good = loop {
            if self.is_over || bad >= last {
                return Ok(bad + unit);
            }
            let next = (bad + step).min(last);
            if self.comes(next..next + unit)? {
                break next;
            }
            (bad, step) = (next, step * 2);
        };
        while good - bad > unit && !self.is_over {
            let middle = bad + (good - bad) / 2 / unit * unit;
            if self.comes(middle..middle + unit)? {
                good = middle;
            } else {
                bad = middle;
            }
        }
        Ok(if self.is_over { bad + unit } else { good })
    }

    /// Whether the drive still answers: one that vanished would seem to have an unreadable end. It is asked for its
    /// first bytes, and for the last that came.
    fn answers(&mut self, stretch: &BadStretch) -> io::Result<bool> {
        let (unit, first) = (self.read.unit, stretch.bytes.start);
        if stretch.bytes.end < self.end || first < unit || self.outcome.gave_up {
            return Ok(true);
        }
        if self.comes(0..unit)? || self.comes(first - unit..first)? {
            return Ok(true);
        }
        self.outcome.ended_by = self.outcome.ended_by.or(self.outcome.failed.1);
        self.is_over = true;
        Ok(false)
    }

    fn comes(&mut self, range: Range<u64>) -> io::Result<bool> {
        if self.is_over {
            return Ok(false);
        }
        debug_assert!(!range.is_empty());
        let len = (range.end - range.start) as u32;
        let request = IoRequest { op: IoOp::Read, offset: range.start, len, slot: 0 };
        let failure = self.chunked.queue.exchange(request, &mut self.done)?.err();
        if let Some(failure) = failure {
            self.note(failure);
            self.failures_left = self.failures_left.saturating_sub(1);
            self.outcome.gave_up |= self.failures_left == 0;
            self.is_over |= self.outcome.gave_up;
        }
        let now = self.chunked.queue.now();
        let publisher = &mut self.chunked.publisher;
        self.is_over |= publisher.tick(now, &self.outcome.recorder) || publisher.stopped();
        Ok(failure.is_none())
    }

    fn note(&mut self, failure: IoFailure) {
        self.outcome.failed.0 += 1;
        self.outcome.failed.1.get_or_insert(failure);
        let is_gone = matches!(failure.errno, libc::ENODEV | libc::ENXIO);
        if is_gone || is_want_of_the_host(failure.errno) {
            self.outcome.ended_by.get_or_insert(failure);
            self.is_over = true;
        }
    }
}
