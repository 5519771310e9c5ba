//! One flash die: reads go first, programs and erases form a chain behind them.

use std::collections::VecDeque;

use crate::device::Nanos;

/// A read may interrupt the same program or erase this often; then it waits. Without a limit a steady
/// reader would keep a program from ever ending.
const SUSPENSIONS_MAX: u8 = 8;

/// A program, an erase or a copy read that is under way or waiting.
#[derive(Debug, Clone, Copy)]
struct DieWork {
    start: Nanos,
    end: Nanos,
    suspensions: u8,
}

/// One die.
#[derive(Debug, Clone, Default)]
pub(super) struct Die {
    /// End of the last page read.
    read_free: Nanos,
    /// The chain, in order, nothing overlapping; what has ended is dropped.
    chain: VecDeque<DieWork>,
    /// When the last program in the chain begins, as planned.
    program_began: Nanos,
    /// How many entries of the chain have been dropped: the number of its first entry.
    dropped: u64,
}

impl Die {
    /// Reads for `len` from `at` on and returns the end. A program in progress is suspended, which
    /// takes `suspend`, or awaited where the die cannot suspend. What follows in the chain is delayed.
    pub(super) fn read(
        &mut self,
        now: Nanos,
        at: Nanos,
        len: Nanos,
        suspend: Option<Nanos>,
    ) -> Nanos {
        let start = at.max(self.read_free);
        self.forget(now);
        self.read_free = match self.chain.back() {
            Some(last) if last.end > start => self.interrupt(start, len, suspend),
            _ => start + len,
        };
        self.read_free
    }

    /// Fits a read of `len` at `start` into the chain; returns its end.
    fn interrupt(&mut self, start: Nanos, len: Nanos, suspend: Option<Nanos>) -> Nanos {
        let index = self.chain.partition_point(|work| work.end <= start);
        let work = &mut self.chain[index];
        let (read_end, next) = match suspend {
            _ if work.start >= start => (start + len, index),
            Some(wait) if work.suspensions < SUSPENSIONS_MAX => {
                work.suspensions += 1;
                // what has been done stays done: only the end moves
                work.end += wait + len;
                (start + wait + len, index + 1)
            }
            _ => (work.end + len, index + 1),
        };
        let mut free = match next.checked_sub(1) {
            Some(previous) => read_end.max(self.chain[previous].end),
            None => read_end,
        };
        for later in self.chain.range_mut(next..) {
            if later.start >= free {
                break;
            }
            let shift = free - later.start;
            later.start += shift;
            later.end += shift;
            free = later.end;
        }
        read_end
    }

    /// When something asked for at `at` could begin behind everything else.
    pub(super) fn free_from(&self, at: Nanos) -> Nanos {
        let chain = self.chain.back().map_or(0, |work| work.end);
        at.max(chain).max(self.read_free)
    }

    /// From when the cache register is free for the data of the next program: since the last one began.
    pub(super) fn register_free_from(&self, at: Nanos) -> Nanos {
        at.max(self.program_began)
    }

    /// Appends a program to the chain, as early as the chain allows once its data are there.
    pub(super) fn program(&mut self, now: Nanos, there: Nanos, len: Nanos) -> u64 {
        self.program_began = self.free_from(there);
        self.append(now, self.program_began, len)
    }

    /// Appends to the chain; `start` is at or after [`Die::free_from`]. Returns the entry's number.
    pub(super) fn append(&mut self, now: Nanos, start: Nanos, len: Nanos) -> u64 {
        self.forget(now);
        self.chain.push_back(DieWork { start, end: start + len, suspensions: 0 });
        self.dropped + self.chain.len() as u64 - 1
    }

    /// When entry `number` ends, as things stand; `None` once it has ended.
    pub(super) fn end_of(&self, number: u64) -> Option<Nanos> {
        let index = number.checked_sub(self.dropped)?;
        self.chain.get(usize::try_from(index).ok()?).map(|work| work.end)
    }

    fn forget(&mut self, now: Nanos) {
        while self.chain.front().is_some_and(|work| work.end <= now) {
            self.chain.pop_front();
            self.dropped += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Die, SUSPENSIONS_MAX};

    #[test]
    fn reads_queue_behind_reads() {
        let mut die = Die::default();
        assert_eq!(die.read(0, 100, 50, None), 150);
        assert_eq!(die.read(100, 110, 50, None), 200);
    }

    #[test]
    fn a_read_waits_for_a_program_that_cannot_be_suspended() {
        let mut die = Die::default();
        let first = die.append(0, 0, 1000);
        let second = die.append(0, 1000, 1000);
        assert_eq!(die.read(0, 100, 50, None), 1050);
        assert_eq!(die.end_of(first), Some(1000));
        assert_eq!(die.end_of(second), Some(2050), "the next program makes way");
    }

    #[test]
    fn a_suspended_program_ends_later() {
        let mut die = Die::default();
        let first = die.append(0, 0, 1000);
        assert_eq!(die.read(0, 100, 50, Some(20)), 170);
        assert_eq!(die.end_of(first), Some(1070));
        assert_eq!(die.free_from(0), 1070);
    }

    #[test]
    fn suspensions_have_a_limit() {
        let mut die = Die::default();
        let program = die.append(0, 0, 100_000);
        let mut at = 0;
        for _ in 0..SUSPENSIONS_MAX {
            at = die.read(at, at + 10, 50, Some(20));
            assert!(at < 10_000);
        }
        let end = die.end_of(program).unwrap();
        assert_eq!(die.read(at, at + 10, 50, Some(20)), end + 50);
    }

    #[test]
    fn a_read_before_a_waiting_program_goes_first() {
        let mut die = Die::default();
        let program = die.append(0, 120, 1000);
        assert_eq!(die.read(0, 100, 50, None), 150);
        assert_eq!(die.end_of(program), Some(1150));
    }
}
