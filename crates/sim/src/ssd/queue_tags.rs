//! The drive's own queue: up to its depth at once, the rest in order of arrival.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::device::Nanos;

/// When each tag in use becomes free.
#[derive(Debug, Clone)]
pub(super) struct QueueTags {
    depth: usize,
    in_use: BinaryHeap<Reverse<Nanos>>,
}

impl QueueTags {
    pub(super) fn new(depth: u32) -> Self {
        Self { depth: depth as usize, in_use: BinaryHeap::new() }
    }

    /// When a command that arrives `now`, after all earlier ones, gets a tag.
    pub(super) fn acquire(&mut self, now: Nanos) -> Nanos {
        while self.in_use.peek().is_some_and(|&Reverse(free)| free <= now) {
            self.in_use.pop();
        }
        if self.in_use.len() < self.depth {
            return now;
        }
        self.in_use.pop().map_or(now, |Reverse(free)| free)
    }

    pub(super) fn release(&mut self, at: Nanos) {
        self.in_use.push(Reverse(at));
    }
}

#[cfg(test)]
mod tests {
    use super::QueueTags;

    #[test]
    fn commands_beyond_depth_wait_for_first_to_finish() {
        let mut tags = QueueTags::new(2);
        for (arrives, starts, ends) in
            [(0, 0, 100), (0, 0, 50), (10, 50, 80), (10, 80, 90), (95, 95, 99)]
        {
            assert_eq!(tags.acquire(arrives), starts);
            tags.release(ends);
        }
    }
}
