//! Chooses the next of the reads that wait for the port: the one whose data came first.
//!
//! The port's times are given out as requests arrive, its turns as data do: a read that waited for its die is passed
//! by others. So in a queue the answers come in the order in which the dies are done, and take as different times as
//! those have. Only reads of one length change places, since their turns are alike.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::device::Nanos;

/// Reads of one length, by when their data are there.
#[derive(Debug, Clone, Default)]
pub(super) struct PortTurns {
    len: u64,
    arrived: u64,
    /// When the data are there, order of arrival, request.
    waiting: BinaryHeap<Reverse<(Nanos, u64, u64)>>,
}

impl PortTurns {
    /// Lets a read of `len` bytes wait, whose data are there at `ready`; not one of another length than those that
    /// wait already.
    pub(super) fn wait(&mut self, len: u64, ready: Nanos, id: u64) -> bool {
        if self.waiting.is_empty() {
            self.len = len;
        }
        self.arrived += 1;
        if self.len == len {
            self.waiting.push(Reverse((ready, self.arrived, id)));
        }
        self.len == len
    }

    /// The read whose turn it is.
    pub(super) fn next(&mut self) -> Option<u64> {
        self.waiting.pop().map(|Reverse((_, _, id))| id)
    }
}

#[cfg(test)]
mod tests {
    use super::PortTurns;

    #[test]
    fn equal_lengths_go_in_order_of_readiness() {
        let mut turns = PortTurns::default();
        assert!(turns.wait(4096, 30, 1) && turns.wait(4096, 10, 2) && turns.wait(4096, 30, 3));
        assert!(!turns.wait(8192, 5, 4));
        let order: Vec<u64> = std::iter::from_fn(|| turns.next()).collect();
        assert_eq!(order, [2, 1, 3]);
        assert!(turns.wait(8192, 5, 4));
    }
}
