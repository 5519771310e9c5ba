//! A flush saves the rest of an unfinished row, once.

use crate::device::{Nanos, RequestKind};
use crate::ssd::testing::{full, one, small};

/// Command, then in rounds a stripe over the channel and a program of one bit per cell, then the journal.
fn flush_ns(rounds: Nanos) -> Nanos {
    8_000 + rounds * (40_960 + 300_000) + 1_000_000
}

#[test]
fn second_flush_saves_only_new_data() {
    let mut ssd = full(small());
    let mut now = 0;
    let mut write_and_flush = |offset: u64, len: u64| {
        if len > 0 {
            now = one(&mut ssd, now, RequestKind::Write, offset, len);
        }
        let began = now;
        now = one(&mut ssd, now, RequestKind::Flush, 0, 0);
        now - began
    };
    // a page of each plane of nine dies in turn, of which there are eight; no row is complete
    assert_eq!(write_and_flush(0, 9 * 32_768), flush_ns(2));
    assert_eq!(write_and_flush(1 << 20, 4096), flush_ns(1), "one page, not ten");
    assert_eq!(write_and_flush(2 << 20, 3 * 32_768), flush_ns(1), "four, not thirteen");
    assert_eq!(write_and_flush(0, 0), 8_000, "nothing new");
}
