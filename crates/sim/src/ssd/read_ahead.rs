//! Recognises sequential readers and keeps the units fetched ahead of them.

use std::collections::VecDeque;

use super::geometry::Lpn;
use crate::device::Nanos;

const STREAMS: usize = 4;
/// Requests in sequence after which data are fetched ahead.
const SEQUENCE_MIN: u32 = 2;

#[derive(Debug, Clone, Default)]
struct ReadStream {
    /// Byte at which the next request is expected.
    next: u64,
    /// Requests seen in sequence; 0: not in use.
    sequence: u32,
    fetched: Lpn,
    /// (end, when it is in memory) of each piece fetched, ascending.
    pieces: VecDeque<(Lpn, Nanos)>,
    last_used: u64,
}

#[derive(Debug, Clone)]
pub(super) struct FlashReadAhead {
    window: u32,
    unit_bytes: u64,
    streams: Vec<ReadStream>,
    clock: u64,
}

impl FlashReadAhead {
    /// Fetches `window` units of `unit_bytes` ahead; 0: never.
    pub(super) fn new(window: u32, unit_bytes: u64) -> Self {
        let count = if window == 0 { 0 } else { STREAMS };
        Self { window, unit_bytes, streams: vec![ReadStream::default(); count], clock: 0 }
    }

    /// Notes a request for the bytes `from..to`; returns the reader it belongs to if that reads in sequence.
    pub(super) fn note(&mut self, from: u64, to: u64) -> Option<usize> {
        self.clock += 1;
        let found = self.streams.iter().position(|s| s.sequence > 0 && s.next == from);
        let index = match found {
            Some(index) => index,
            None => (0..self.streams.len()).min_by_key(|&k| self.streams[k].last_used)?,
        };
        let stream = &mut self.streams[index];
        if found.is_none() {
            stream.sequence = 0;
            stream.fetched = 0;
            stream.pieces.clear();
        }
        stream.sequence += 1;
        stream.next = to;
        stream.last_used = self.clock;
        (stream.sequence >= SEQUENCE_MIN).then_some(index)
    }

    /// Where `lpn` has been fetched ahead for `stream`: the end of its piece, and when it is there.
    pub(super) fn fetched(&mut self, stream: usize, lpn: Lpn) -> Option<(Lpn, Nanos)> {
        let pieces = &mut self.streams[stream].pieces;
        while pieces.front().is_some_and(|piece| piece.0 <= lpn) {
            pieces.pop_front();
        }
        if lpn < self.streams[stream].fetched {
            self.streams[stream].pieces.front().copied()
        } else {
            None
        }
    }

    /// What to fetch now for `stream`: from the first unit not fetched to the window's end. A unit that the
    /// last request ended in is wanted again for the next.
    pub(super) fn wanted(&self, stream: usize, units: u32) -> std::ops::Range<Lpn> {
        let stream = &self.streams[stream];
        let next = stream.next / self.unit_bytes;
        let from = stream.fetched.max(next as Lpn);
        let to = (next + u64::from(self.window)).min(u64::from(units)) as Lpn;
        from..to.max(from)
    }

    /// Notes that everything to `end` will be in memory at `ready`.
    pub(super) fn add(&mut self, stream: usize, end: Lpn, ready: Nanos) {
        let stream = &mut self.streams[stream];
        stream.fetched = end;
        stream.pieces.push_back((end, ready));
    }
}

#[cfg(test)]
mod tests {
    use super::FlashReadAhead;

    #[test]
    fn only_sequences_are_followed() {
        fn note(ahead: &mut FlashReadAhead, from: u64, to: u64) -> Option<usize> {
            ahead.note(from * 4096, to * 4096)
        }
        let mut ahead = FlashReadAhead::new(256, 4096);
        assert_eq!(note(&mut ahead, 100, 132), None);
        let stream = note(&mut ahead, 132, 164).unwrap();
        assert_eq!(ahead.wanted(stream, 10_000), 164..420);
        ahead.add(stream, 200, 5);
        ahead.add(stream, 420, 9);
        assert_eq!(note(&mut ahead, 5000, 5001), None);
        assert_eq!(note(&mut ahead, 164, 196), Some(stream));
        assert_eq!(ahead.fetched(stream, 164), Some((200, 5)));
        assert_eq!(ahead.fetched(stream, 200), Some((420, 9)));
        assert_eq!(ahead.fetched(stream, 420), None);
        assert_eq!(ahead.wanted(stream, 10_000), 420..452);
        assert_eq!(ahead.wanted(stream, 430), 420..430);
    }

    #[test]
    fn requests_smaller_than_a_unit_are_one_reader() {
        let mut ahead = FlashReadAhead::new(16, 4096);
        assert_eq!(ahead.note(0, 512), None);
        let stream = ahead.note(512, 1024).unwrap();
        assert_eq!(ahead.wanted(stream, 10_000), 0..16);
        ahead.add(stream, 16, 7);
        for from in (1024..8192).step_by(512) {
            assert_eq!(ahead.note(from, from + 512), Some(stream));
            assert_eq!(ahead.fetched(stream, (from / 4096) as u32), Some((16, 7)));
        }
        assert_eq!(ahead.wanted(stream, 10_000), 16..18);
    }

    #[test]
    fn no_window_no_readers() {
        let mut ahead = FlashReadAhead::new(0, 4096);
        assert_eq!(ahead.note(0, 4096), None);
        assert_eq!(ahead.note(4096, 8192), None);
    }
}
