//! Failed requests are read again in smaller ones: which sectors of them are unreadable?
//!
//! First the whole again, then by halves for the first and the last bad sector, then what lies between, the
//! longest pieces first. Each failed read may take a dying drive many seconds, so that their number is bounded;
//! what is left then counts as unreadable in whole.

use super::{ReadBack, ReadBackOutcome};
use crate::io::queue::{IoCompletion, IoOp, IoQueue, IoRequest};
use crate::loops::control::Publisher;
use std::collections::VecDeque;
use std::io;
use std::ops::Range;

/// Reads of all second looks together: at five seconds each, three hours.
const READS_MAX: u32 = 2048;
/// Reads between the first and the last bad sector of one request: they find gaps of an eighth of it.
const READS_BETWEEN: u32 = 14;

/// Settles every request that failed; without a second look if the user waits or the drive is gone.
pub(crate) fn settle<'c, Q: IoQueue>(
    read_back: &ReadBack<'c>,
    queue: &mut Q,
    outcome: &mut ReadBackOutcome,
    publisher: &mut Publisher<'c>,
    is_stopped: bool,
) -> io::Result<()> {
    let mut failed = std::mem::take(&mut outcome.unsettled);
    failed.sort_unstable_by_key(|range| range.start);
    let reads_left = if is_stopped { 0 } else { READS_MAX };
    let done = Vec::with_capacity(queue.slots() as usize);
    let mut look = RetryReads { read_back, queue, outcome, publisher, done, reads_left };
    for range in failed {
        look.settle(range)?;
    }
    Ok(())
}

struct RetryReads<'a, 'c, Q> {
    read_back: &'a ReadBack<'c>,
    queue: &'a mut Q,
    outcome: &'a mut ReadBackOutcome,
    publisher: &'a mut Publisher<'c>,
    done: Vec<IoCompletion>,
    reads_left: u32,
}

impl<Q: IoQueue> RetryReads<'_, '_, Q> {
    fn unit(&self) -> u64 {
        u64::from(self.read_back.unit)
    }

    fn settle(&mut self, range: Range<u64>) -> io::Result<()> {
        if self.comes(&range)? {
            return Ok(());
        }
        let bad = self.without_good_start(range)?;
        let bad = self.without_good_end(bad)?;
        let unit = self.unit();
        if bad.end - bad.start <= 2 * unit || self.reads_left == 0 {
            self.give_up(bad);
            return Ok(());
        }
        let between = bad.start + unit..bad.end - unit;
        self.give_up(bad.start..between.start);
        self.give_up(between.end..bad.end);
        self.settle_between(between)
    }

    /// Reads a stretch; whether it came. What came is sorted.
    fn comes(&mut self, range: &Range<u64>) -> io::Result<bool> {
        if self.reads_left == 0 {
            return Ok(false);
        }
        self.reads_left -= 1;
        let len = (range.end - range.start) as u32;
        let request = IoRequest { op: IoOp::Read, offset: range.start, len, slot: 0 };
        let came = self.queue.exchange(request, &mut self.done)?.is_ok();
        if came {
            let data = self.queue.buffer(0);
            self.read_back.sort(&data[..len as usize], range.start, self.outcome);
        }
        if self.publisher.tick(self.queue.now(), &self.outcome.recorder) {
            self.reads_left = 0;
        }
        Ok(came)
    }

    /// From the first bad unit on. `bad` has one; where most begin is looked at first.
    fn without_good_start(&mut self, mut bad: Range<u64>) -> io::Result<Range<u64>> {
        let (unit, mut known_end) = (self.unit(), bad.end);
        let mut step = unit;
        while known_end - bad.start > unit && self.reads_left > 0 {
            let middle = bad.start + step;
            if self.comes(&(bad.start..middle))? {
                bad.start = middle;
            } else {
                known_end = middle;
            }
            step = ((known_end - bad.start) / 2 / unit * unit).max(unit);
        }
        Ok(bad)
    }

    /// Up to the last bad unit.
    fn without_good_end(&mut self, mut bad: Range<u64>) -> io::Result<Range<u64>> {
        // The first unit is bad.
        let (unit, mut known_start) = (self.unit(), bad.start);
        let mut step = unit;
        while bad.end - known_start > unit && self.reads_left > 0 {
            let middle = bad.end - step;
            if self.comes(&(middle..bad.end))? {
                bad.end = middle;
            } else {
                known_start = middle;
            }
            step = ((bad.end - known_start) / 2 / unit * unit).max(unit);
        }
        Ok(bad)
    }

    /// Tells good from bad by halves, the longest pieces first.
    fn settle_between(&mut self, between: Range<u64>) -> io::Result<()> {
        let (unit, mut left) = (self.unit(), READS_BETWEEN);
        let mut pieces = VecDeque::from([between]);
        while let Some(piece) = pieces.pop_front() {
            if left == 0 {
                self.give_up(piece);
                continue;
            }
            left -= 1;
            if self.comes(&piece)? {
                continue;
            }
            if piece.end - piece.start <= unit || self.reads_left == 0 {
                self.give_up(piece);
                continue;
            }
            let half = ((piece.end - piece.start) / 2).next_multiple_of(unit);
            let middle = piece.start + half;
            pieces.push_back(piece.start..middle);
            pieces.push_back(middle..piece.end);
        }
        Ok(())
    }

    fn give_up(&mut self, range: Range<u64>) {
        self.outcome.is_coarse |= range.end - range.start > 2 * self.unit();
        self.outcome.tally.add_unreadable(range);
    }
}
