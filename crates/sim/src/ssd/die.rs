//! One flash die: reads go first, programs and erases form a chain after them.

use std::collections::VecDeque;

use crate::device::Nanos;

/// A read may interrupt the same program or erase this often; then it waits. Without a limit a steady
/// reader would keep a program from ever ending.
const SUSPENSIONS_MAX: u8 = 8;

/// A program, an erase or a copy read that is under way or waiting, in times that its stretch shifts.
#[derive(Debug, Clone, Copy)]
struct DieWork {
    start: Nanos,
    end: Nanos,
    suspensions: u8,
}

/// Works of the chain that follow each other without a gap, and so are delayed together: up to the next stretch.
#[derive(Debug, Clone, Copy)]
struct DieStretch {
    /// Number of its first work.
    first: u64,
    delay: Nanos,
}

#[derive(Debug, Clone, Default)]
pub(super) struct Die {
    /// End of the last page read.
    read_free: Nanos,
    /// The chain, in order, nothing overlapping; what has ended is dropped.
    chain: VecDeque<DieWork>,
    /// The stretches of the chain: a read delays a long one in one step.
    stretches: VecDeque<DieStretch>,
    /// When the last program in the chain begins, as planned.
    program_began: Nanos,
    /// Number of the chain's first entry: the count of those that have been dropped.
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
        self.read_free = if self.chain_end() > start {
            self.interrupt(start, len, suspend)
        } else {
            start + len
        };
        self.read_free
    }

    /// Fits a read of `len` at `start` into the chain, which ends later; returns its end.
    fn interrupt(&mut self, start: Nanos, len: Nanos, suspend: Option<Nanos>) -> Nanos {
        let is_over = |nth: &usize| self.last_of(*nth).end + self.stretches[*nth].delay <= start;
        let nth = (0..self.stretches.len()).find(|nth| !is_over(nth)).unwrap_or(0);
        let DieStretch { first, delay } = self.stretches[nth];
        let first = first.max(self.dropped);
        let works = self.index(first)..self.index(self.behind(nth));
        let over = self.chain.range(works.clone()).take_while(|work| work.end + delay <= start);
        let index = works.start + over.count();
        let work = &mut self.chain[index];
        let (read_end, next) = match suspend {
            _ if work.start + delay >= start => (start + len, index),
            Some(wait) if work.suspensions < SUSPENSIONS_MAX => {
                work.suspensions += 1;
                // what has been done stays done: only the end moves
                work.end += wait + len;
                (start + wait + len, index + 1)
            }
            _ => (work.end + delay + len, index + 1),
        };
        let free = if next > index { read_end.max(work.end + delay) } else { read_end };
        let next = self.dropped + next as u64;
        if first < next && next < self.behind(nth) {
            self.stretches.insert(nth + 1, DieStretch { first: next, delay });
        }
        self.delay_from(if first < next { nth + 1 } else { nth }, free);
        read_end
    }

    /// Lets the `nth` stretch begin at `free` at the earliest, and those that are in the way of it later too.
    fn delay_from(&mut self, nth: usize, mut free: Nanos) {
        for nth in nth..self.stretches.len() {
            let DieStretch { first, delay } = self.stretches[nth];
            let start = self.chain[self.index(first)].start + delay;
            if start >= free {
                break;
            }
            self.stretches[nth].delay += free - start;
            free = self.last_of(nth).end + self.stretches[nth].delay;
        }
    }

    fn last_of(&self, nth: usize) -> &DieWork {
        &self.chain[self.index(self.behind(nth)) - 1]
    }

    /// Number of the first work after the `nth` stretch.
    fn behind(&self, nth: usize) -> u64 {
        let end = self.dropped + self.chain.len() as u64;
        self.stretches.get(nth + 1).map_or(end, |next| next.first)
    }

    /// Where work `number` stands in the chain; one that was dropped counts as its first.
    fn index(&self, number: u64) -> usize {
        number.saturating_sub(self.dropped) as usize
    }

    /// When the chain ends; 0 if nothing is left of it.
    fn chain_end(&self) -> Nanos {
        match (self.chain.back(), self.stretches.back()) {
            (Some(last), Some(stretch)) => last.end + stretch.delay,
            _ => 0,
        }
    }

    /// When work requested at `at` could begin after everything else.
    pub(super) fn free_from(&self, at: Nanos) -> Nanos {
        at.max(self.chain_end()).max(self.read_free)
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
        let number = self.dropped + self.chain.len() as u64;
        if self.chain.is_empty() || self.chain_end() < start {
            self.stretches.push_back(DieStretch { first: number, delay: 0 });
        }
        let start = start - self.stretches.back().map_or(0, |stretch| stretch.delay);
        self.chain.push_back(DieWork { start, end: start + len, suspensions: 0 });
        number
    }

    /// When entry `number` ends, as things stand; `None` once it has ended.
    pub(super) fn end_of(&self, number: u64) -> Option<Nanos> {
        let index = number.checked_sub(self.dropped)?;
        let work = self.chain.get(usize::try_from(index).ok()?)?;
        let behind = self.stretches.partition_point(|stretch| stretch.first <= number);
        Some(work.end + self.stretches[behind.checked_sub(1)?].delay)
    }

    fn forget(&mut self, now: Nanos) {
        while let (Some(work), Some(stretch)) = (self.chain.front(), self.stretches.front())
            && work.end + stretch.delay <= now
        {
            self.chain.pop_front();
            self.dropped += 1;
            if self.behind(0) == self.dropped {
                self.stretches.pop_front();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Die, SUSPENSIONS_MAX};
    use proptest::prelude::*;

    #[test]
    fn reads_queue_behind_reads() {
        let mut die = Die::default();
        assert_eq!(die.read(0, 100, 50, None), 150);
        assert_eq!(die.read(100, 110, 50, None), 200);
    }

    #[test]
    fn read_waits_for_program_without_suspend() {
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

    /// A chain without stretches, for comparison: every work is delayed by itself.
    fn read_plainly(chain: &mut [(u64, u64, u8)], start: u64, len: u64, wait: Option<u64>) -> u64 {
        let index = chain.partition_point(|work| work.1 <= start);
        let Some(work) = chain.get_mut(index) else { return start + len };
        let (read_end, mut free, next) = match wait {
            _ if work.0 >= start => (start + len, start + len, index),
            Some(wait) if work.2 < SUSPENSIONS_MAX => {
                *work = (work.0, work.1 + wait + len, work.2 + 1);
                (start + wait + len, work.1.max(start + wait + len), index + 1)
            }
            _ => (work.1 + len, work.1 + len, index + 1),
        };
        for later in &mut chain[next..] {
            let shift = free.saturating_sub(later.0);
            *later = (later.0 + shift, later.1 + shift, later.2);
            free = if shift > 0 { later.1 } else { 0 };
        }
        read_end
    }

    proptest! {
        #[test]
        fn stretches_are_delayed_as_their_works_would_be(
            steps in prop::collection::vec((0u64..400, 1u64..300, 0u64..300, any::<bool>()), 1..80),
            wait in prop::option::of(1u64..30),
        ) {
            let (mut die, mut plain, mut now, mut read_free) = (Die::default(), Vec::new(), 0, 0);
            for (later, len, gap, reads) in steps {
                if reads {
                    now += later;
                    let start = read_free.max(now + gap);
                    read_free = read_plainly(&mut plain, start, len, wait);
                    prop_assert_eq!(die.read(now, now + gap, len, wait), read_free);
                } else {
                    // Most follow each other at once.
                    let start = die.free_from(now) + gap.saturating_sub(250);
                    prop_assert_eq!(die.append(now, start, len), plain.len() as u64);
                    plain.push((start, start + len, 0));
                }
                for (number, work) in plain.iter().enumerate() {
                    if let Some(end) = die.end_of(number as u64) {
                        prop_assert_eq!(end, work.1);
                    }
                }
            }
        }
    }
}
