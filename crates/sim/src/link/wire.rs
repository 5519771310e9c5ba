//! One direction of the link: transfers cross one after the other, in pieces.

use std::collections::VecDeque;

use crate::device::Nanos;

/// How long data takes on the wire.
#[derive(Debug, Clone, Copy)]
pub(super) struct WireRate {
    ns_per_byte: f64,
    frame_payload_bytes: u64,
    frame_overhead_bytes: u64,
}

impl WireRate {
    pub(super) fn new(rate_mb_s: f64, frame_payload_bytes: u32, frame_overhead_bytes: u32) -> Self {
        Self {
            ns_per_byte: 1000.0 / rate_mb_s,
            frame_payload_bytes: u64::from(frame_payload_bytes),
            frame_overhead_bytes: u64::from(frame_overhead_bytes),
        }
    }

    /// Time for `bytes` in full frames and one short one: (bytes + frames × overhead) / rate.
    pub(super) fn transfer(self, bytes: u64) -> Nanos {
        let frames = bytes.div_ceil(self.frame_payload_bytes);
        let on_wire = bytes + frames * self.frame_overhead_bytes;
        (on_wire as f64 * self.ns_per_byte).round() as Nanos
    }
}

/// Transfers under way in one direction.
#[derive(Debug, Clone)]
pub(super) struct Wire {
    queue: VecDeque<Transfer>,
    burst_bytes: u64,
}

#[derive(Debug, Clone, Copy)]
struct Transfer {
    command: u32,
    left_bytes: u64,
}

impl Wire {
    pub(super) fn new(burst_bytes: Option<u64>) -> Self {
        Self { queue: VecDeque::new(), burst_bytes: burst_bytes.unwrap_or(u64::MAX) }
    }

    /// Queues a transfer. `Some(bytes)` if the wire was idle: a piece of that size starts now.
    pub(super) fn add(&mut self, command: u32, bytes: u64) -> Option<u64> {
        let idle = self.queue.is_empty();
        self.queue.push_back(Transfer { command, left_bytes: bytes });
        idle.then(|| bytes.min(self.burst_bytes))
    }

    /// The current piece has crossed: the command whose transfer is complete with it, and the size of the
    /// piece that starts now.
    pub(super) fn piece_done(&mut self) -> (Option<u32>, Option<u64>) {
        let mut current = self.queue.pop_front().expect("a piece was crossing");
        current.left_bytes -= current.left_bytes.min(self.burst_bytes);
        let finished = if current.left_bytes == 0 {
            Some(current.command)
        } else {
            self.queue.push_back(current);
            None
        };
        let next = self.queue.front().map(|next| next.left_bytes.min(self.burst_bytes));
        (finished, next)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_frame_costs_its_overhead() {
        let rate = WireRate::new(1000.0, 1024, 100);
        for (bytes, expected_ns) in [(0, 0), (1, 101), (1024, 1124), (1025, 1225), (4096, 4496)] {
            assert_eq!(rate.transfer(bytes), expected_ns, "{bytes}");
        }
    }

    #[test]
    fn pieces_alternate() {
        let mut wire = Wire::new(Some(4096));
        assert_eq!(wire.add(1, 12_288), Some(4096));
        assert_eq!(wire.add(2, 4096), None);
        assert_eq!(wire.piece_done(), (None, Some(4096)));
        assert_eq!(wire.piece_done(), (Some(2), Some(4096)));
        assert_eq!(wire.piece_done(), (None, Some(4096)));
        assert_eq!(wire.piece_done(), (Some(1), None));
    }

    #[test]
    fn without_pieces_the_first_goes_whole() {
        let mut wire = Wire::new(None);
        assert_eq!(wire.add(1, 12_288), Some(12_288));
        assert_eq!(wire.add(2, 4096), None);
        assert_eq!(wire.piece_done(), (Some(1), Some(4096)));
        assert_eq!(wire.piece_done(), (Some(2), None));
    }
}
