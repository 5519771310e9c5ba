//! One flash die: reads go first, programs and erases form a chain behind them.

use std::collections::VecDeque;

use crate::device::Nanos;

/// A read may interrupt the same program or erase this often; then it waits. Without a limit a steady
/// reader would keep a program from ever ending.
const SUSPENSIONS_MAX: u8 = 8;

/// A program or erase that is under way or waiting.
#[derive(Debug, Clone, Copy)]
struct Work {
    start: Nanos,
    end: Nanos,
    suspensions: u8,
}

/// One die.
#[derive(Debug, Clone, Default)]
pub(super) struct Die {
    /// End of the last page read.
    read_free: Nanos,
    /// Programs, erases and copy reads in order; those that have ended are dropped.
    work: VecDeque<Work>,
    /// Sum of the delays that reads have caused to the chain.
    delay: Nanos,
}

impl Die {
    /// Reads for `len` from `at` on and returns the end. A program in progress is suspended, which
    /// takes `suspend`, or awaited where the die cannot suspend. What follows in the chain is delayed.
    pub(super) fn read(&mut self, now: Nanos, at: Nanos, len: Nanos, suspend: Option<Nanos>) -> Nanos {
        let mut start = at.max(self.read_free);
        while self.work.front().is_some_and(|work| work.end <= now) {
            self.work.pop_front();
        }
        if self.work.back().is_some_and(|work| work.end > start) {
            start = self.interrupt(start, len, suspend);
        }
        self.read_free = start + len;
        self.read_free
    }

    /// Makes room in the chain for a read at `start`; returns when the read can begin.
    fn interrupt(&mut self, start: Nanos, len: Nanos, suspend: Option<Nanos>) -> Nanos {
        let index = self.work.partition_point(|work| work.end <= start);
        let work = &mut self.work[index];
        let (begin, from) = match suspend {
            _ if work.start >= start => (start, index),
            Some(wait) if work.suspensions < SUSPENSIONS_MAX => {
                work.suspensions += 1;
                let begin = start + wait;
                // the part already done stays done: only the end moves
                work.end += wait + len;
                self.delay += wait + len;
                (begin, index + 1)
            }
            _ => (work.end, index + 1),
        };
        self.push_back_from(from, begin + len);
        begin
    }

    /// Delays the chain from `index` on so that nothing overlaps what comes before.
    fn push_back_from(&mut self, index: usize, read_end: Nanos) {
        let mut free = if index > 0 {
            read_end.max(self.work[index - 1].end)
        } else {
            read_end
        };
        for work in self.work.range_mut(index..) {
            if work.start >= free {
                return;
            }
            let shift = free - work.start;
            work.start += shift;
            work.end += shift;
            free = work.end;
        }
        self.delay = self.delay.max(1);
    }

    /// When a program asked for at `at` could begin.
    pub(super) fn free_from(&self, at: Nanos) -> Nanos {
        let chain = self.work.back().map_or(0, |work| work.end);
        at.max(chain).max(self.read_free)
    }

    /// Appends a program, an erase or a copy read; `start` is at or after [`Die::free_from`].
    pub(super) fn append(&mut self, now: Nanos, start: Nanos, len: Nanos) -> Nanos {
        while self.work.front().is_some_and(|work| work.end <= now) {
            self.work.pop_front();
        }
        self.work.push_back(Work {
            start,
            end: start + len,
            suspensions: 0,
        });
        start + len
    }

    /// When everything in the chain will have been done.
    pub(super) fn idle_from(&self) -> Nanos {
        self.free_from(0)
    }
}
