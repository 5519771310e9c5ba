//! Reading everything back and sorting it, as f3read does (AltraMayor/f3): intact, changed, overwritten
//! with what belongs elsewhere, lost, or unreadable.

mod misdirected;
mod retry_reads;

use crate::io::payload::{Payload, SECTOR, SectorContents};
use crate::io::queue::{IoCompletion, IoFailure, IoOp, IoQueue, IoRequest, IoTask};
use crate::io::recorder::Recorder;
use crate::loops::control::{Control, Publisher};
use misdirected::MisdirectedWrites;
use std::io;
use std::ops::Range;

/// Bytes of sectors, by what they hold.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct SectorTally {
    /// As written.
    pub intact: u64,
    /// A few wrong bits.
    pub changed: u64,
    /// What was written to another address.
    pub overwritten: u64,
    pub lost: u64,
    /// The drive answered with an error, so that the contents are unknown.
    pub unreadable: u64,
    /// Offsets of the first and of the last sector with wrong data.
    pub first_wrong: Option<u64>,
    pub last_wrong: Option<u64>,
    pub first_unreadable: Option<u64>,
    /// Where the last stretch of unreadable sectors ends.
    pub unreadable_end: Option<u64>,
    pub last_good: Option<u64>,
    pub newest_pass: Option<u64>,
    /// Shortest distance between a sector and the one whose data it holds.
    pub module: Option<u64>,
    /// Two addresses lead to one place: data that belong elsewhere were found there, too.
    pub repeats: bool,
}

impl SectorTally {
    fn add(&mut self, held: SectorContents, at: u64) {
        let bytes = SECTOR as u64;
        match held {
            SectorContents::Own { .. } => {
                self.intact += bytes;
                // Requests are answered in any order.
                self.last_good = self.last_good.max(Some(at));
                return;
            }
            SectorContents::Changed => self.changed += bytes,
            SectorContents::Lost => self.lost += bytes,
            SectorContents::Other { offset, .. } => {
                self.overwritten += bytes;
                let distance = offset.abs_diff(at);
                self.module = Some(self.module.map_or(distance, |known| known.min(distance)));
            }
        }
        self.first_wrong = Some(self.first_wrong.map_or(at, |known| known.min(at)));
        self.last_wrong = self.last_wrong.max(Some(at));
    }

    fn add_unreadable(&mut self, range: Range<u64>) {
        if range.is_empty() {
            return;
        }
        self.unreadable += range.end - range.start;
        let first = self.first_unreadable.map_or(range.start, |known| known.min(range.start));
        self.first_unreadable = Some(first);
        self.unreadable_end = self.unreadable_end.max(Some(range.end));
    }

    pub(crate) fn wrong(&self) -> u64 {
        self.changed + self.overwritten + self.lost
    }

    pub(crate) fn first_bad(&self) -> Option<u64> {
        self.first_wrong.into_iter().chain(self.first_unreadable).min()
    }

    pub(crate) fn good_end(&self) -> u64 {
        self.last_good.map_or(0, |last| last + SECTOR as u64)
    }

    pub(crate) fn has_stamps(&self) -> bool {
        self.intact + self.changed + self.overwritten > 0
    }

    /// Sectors before all that were read here, which an earlier run has found intact.
    pub fn add_intact(&mut self, before: Range<u64>) {
        self.intact += before.end - before.start;
        if !before.is_empty() {
            self.last_good.get_or_insert(before.end - SECTOR as u64);
        }
    }
}

#[derive(Debug)]
pub(crate) struct ReadBack<'c> {
    /// Which bytes: whole sectors.
    pub span: Range<u64>,
    pub chunk: u32,
    /// Bytes of the smallest request: in such pieces failed ones are read again.
    pub unit: u32,
    pub depth: u32,
    pub data: Payload,
    /// Whether another pass of its seed will do: a drive that dropped the last write still has the one before.
    pub any_pass: bool,
    /// What the drive did not take when it was written, by offset: that it cannot have lost.
    pub refused: &'c [Range<u64>],
    pub control: &'c Control,
}

#[derive(Debug)]
pub(crate) struct ReadBackOutcome {
    pub tally: SectorTally,
    pub reached: u64,
    /// All requests but those of the second look.
    pub recorder: Recorder,
    /// Requests that failed, and the first.
    pub failed: (u64, Option<IoFailure>),
    /// What failed and was not read again yet.
    unsettled: Vec<Range<u64>>,
    misdirected: MisdirectedWrites,
    /// Some unreadable stretches were not looked at sector by sector, but counted whole.
    pub is_coarse: bool,
}

impl ReadBackOutcome {
    pub(crate) fn at(start: u64) -> Self {
        Self {
            tally: SectorTally::default(),
            reached: start,
            recorder: Recorder::of_any_length(),
            failed: (0, None),
            unsettled: Vec::new(),
            misdirected: MisdirectedWrites::default(),
            is_coarse: false,
        }
    }
}

impl ReadBackOutcome {
    /// Adds what the drive refused when it was written, and its end if nothing of that was taken.
    pub(crate) fn add_refused(&mut self, failed: &(u64, Option<IoFailure>), tail: Range<u64>) {
        self.failed.0 += failed.0;
        self.failed.1 = failed.1.or(self.failed.1);
        if !tail.is_empty() && self.reached == tail.start {
            self.reached = tail.end;
            self.tally.add_unreadable(tail);
        }
    }
}

impl IoTask for ReadBack<'_> {
    type Output = ReadBackOutcome;

    fn run<Q: IoQueue>(self, queue: &mut Q) -> io::Result<ReadBackOutcome> {
        let mut outcome = ReadBackOutcome::at(self.span.start);
        outcome.recorder.start(queue.now());
        self.read_all(queue, &mut outcome)?;
        Ok(outcome)
    }
}

impl ReadBack<'_> {
    fn read_all<Q: IoQueue>(&self, queue: &mut Q, outcome: &mut ReadBackOutcome) -> io::Result<()> {
        let mut publisher = Publisher::new(self.control);
        let mut done: Vec<IoCompletion> = Vec::with_capacity(queue.slots() as usize);
        let mut sent = vec![(0, IoRequest::default()); queue.slots() as usize];
        let mut free: Vec<u16> = (0..queue.slots() as u16).collect();
        let (mut next, mut in_flight, mut stopping) = (self.span.start, 0, false);
        loop {
            while in_flight < self.depth && next < self.span.end && !stopping {
                let Some(slot) = free.pop() else { break };
                let len = u64::from(self.chunk).min(self.span.end - next) as u32;
                let request = IoRequest { op: IoOp::Read, offset: next, len, slot };
                sent[usize::from(slot)] = (queue.now(), request);
                queue.submit(request);
                next += u64::from(len);
                in_flight += 1;
            }
            if in_flight == 0 {
                break;
            }
            done.clear();
            queue.wait(&mut done)?;
            let now = queue.now();
            for completion in &done {
                let (at, request) = sent[usize::from(completion.slot)];
                in_flight -= 1;
                free.push(completion.slot);
                if let Some(failure) = completion.failure(request) {
                    stopping |= note_failure(outcome, request, failure);
                } else {
                    outcome.recorder.requests += 1;
                    outcome.recorder.complete(now, now - at, u64::from(request.len));
                    let data = queue.buffer(completion.slot);
                    self.sort(&data[..request.len as usize], request.offset, outcome);
                }
            }
            if now >= publisher.at_ns() {
                let first = self.unsettled(&sent, &free, next, outcome);
                self.control.settle(first);
            }
            stopping |= publisher.tick(now, &outcome.recorder);
        }
        retry_reads::settle(self, queue, outcome, &mut publisher, stopping)?;
        if !stopping {
            let overwritten = outcome.tally.overwritten;
            outcome.tally.repeats = outcome.misdirected.any_at_home(self, queue, overwritten)?;
        }
        // Nothing is in flight: all requests have been checked.
        outcome.reached = next;
        publisher.publish(&outcome.recorder);
        Ok(())
    }

    /// Where a later read must begin so that nothing is missed: at the first request in flight, or at the
    /// first sector that is not intact, which must be found again.
    fn unsettled(
        &self,
        sent: &[(u64, IoRequest)],
        free: &[u16],
        next: u64,
        outcome: &ReadBackOutcome,
    ) -> u64 {
        let in_flight =
            sent.iter().filter(|(_, request)| request.len > 0 && !free.contains(&request.slot));
        let failed = outcome.unsettled.iter().map(|range| range.start);
        let bad = outcome.tally.first_bad().into_iter().chain(failed);
        let first = in_flight.map(|(_, request)| request.offset).chain(bad).min();
        first.unwrap_or(next).min(next)
    }

    fn sort(&self, data: &[u8], offset: u64, outcome: &mut ReadBackOutcome) {
        let ReadBackOutcome { tally, misdirected, .. } = outcome;
        let (sectors, _) = data.as_chunks::<SECTOR>();
        for (sector, at) in sectors.iter().zip((offset..).step_by(SECTOR)) {
            let held = self.data.held(sector, at);
            let (SectorContents::Own { pass } | SectorContents::Other { pass, .. }) = held else {
                self.tally(held, at, tally);
                continue;
            };
            tally.newest_pass = tally.newest_pass.max(Some(pass));
            let is_stale = !self.any_pass && pass != self.data.pass();
            if let (SectorContents::Other { offset: origin, .. }, false) = (held, is_stale) {
                misdirected.note(at, origin, self.span.end);
            }
            self.tally(if is_stale { SectorContents::Lost } else { held }, at, tally);
        }
    }
}

impl ReadBack<'_> {
    /// Counts a sector; one that was refused and is not there is no wrong one.
    fn tally(&self, held: SectorContents, at: u64, tally: &mut SectorTally) {
        let is_intact = matches!(held, SectorContents::Own { .. });
        if !is_intact && self.refused.iter().any(|range| range.contains(&at)) {
            tally.add_unreadable(at..at + SECTOR as u64);
        } else {
            tally.add(held, at);
        }
    }
}

/// Keeps a failed read; whether the drive is gone.
fn note_failure(outcome: &mut ReadBackOutcome, request: IoRequest, failure: IoFailure) -> bool {
    outcome.failed.0 += 1;
    outcome.failed.1.get_or_insert(failure);
    outcome.unsettled.push(request.offset..request.offset + u64::from(request.len));
    let gone = matches!(failure.errno, libc::ENODEV | libc::ENXIO);
    if gone {
        outcome.recorder.failed(failure);
    }
    gone
}

#[cfg(test)]
mod tests;
