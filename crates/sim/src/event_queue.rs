//! Coming events: in order of time, and of entry where times are equal.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::device::Nanos;

/// A queue of events, earliest first; equal times keep the order in which they were entered.
#[derive(Debug, Clone)]
pub(crate) struct EventQueue<E> {
    heap: BinaryHeap<Reverse<(Nanos, u64, E)>>,
    entered: u64,
}

impl<E: Ord> EventQueue<E> {
    pub(crate) fn new() -> Self {
        Self { heap: BinaryHeap::new(), entered: 0 }
    }

    pub(crate) fn at(&mut self, at: Nanos, event: E) {
        self.heap.push(Reverse((at, self.entered, event)));
        self.entered += 1;
    }

    pub(crate) fn next(&self) -> Option<Nanos> {
        self.heap.peek().map(|entry| entry.0.0)
    }

    pub(crate) fn take(&mut self) -> Option<(Nanos, E)> {
        self.heap.pop().map(|Reverse((at, _, event))| (at, event))
    }
}

#[inline]
pub(crate) fn earlier(a: Option<Nanos>, b: Option<Nanos>) -> Option<Nanos> {
    match (a, b) {
        (Some(a), Some(b)) => Some(a.min(b)),
        (a, b) => a.or(b),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_come_in_order_of_time_then_of_entry() {
        let mut agenda = EventQueue::new();
        for (at, name) in [(5, 'a'), (3, 'b'), (5, 'c'), (3, 'd')] {
            agenda.at(at, name);
        }
        let order: String = std::iter::from_fn(|| agenda.take()).map(|(_, name)| name).collect();
        assert_eq!(order, "bdac");
    }

    #[test]
    fn absent_times_lose() {
        assert_eq!(earlier(Some(2), Some(1)), Some(1));
        assert_eq!(earlier(None, Some(1)), Some(1));
        assert_eq!(earlier(Some(2), None), Some(2));
        assert_eq!(earlier(None, None), None);
    }
}
