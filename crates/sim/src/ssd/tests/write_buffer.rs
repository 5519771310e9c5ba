//! The write buffer: its size, what a flush saves of it, and writes of part of a mapping unit.

use crate::device::Nanos;
use crate::device::RequestKind::{Flush, Write};
use crate::ssd::Ssd;
use crate::ssd::testing::{full, one, small};

#[test]
fn the_buffer_holds_as_many_kib_as_it_has() {
    for size_kib in [2048, 8192] {
        let mut params = small();
        params.buffer.size_kib = size_kib;
        // no program ends while the buffer fills
        params.flash.program_us = 1e6;
        let mut ssd = Ssd::new(params, 1).unwrap();
        let mut now = 0;
        let taken = (0..10_000).take_while(|&k| {
            let began = now;
            now = one(&mut ssd, now, Write, k * 4096, 4096);
            now - began < 1_000_000
        });
        assert_eq!(taken.count() as u32 * 4, size_kib);
    }
}

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
            now = one(&mut ssd, now, Write, offset, len);
        }
        let began = now;
        now = one(&mut ssd, now, Flush, 0, 0);
        now - began
    };
    // a page of each plane of nine dies in turn, of which there are eight; no row is complete
    assert_eq!(write_and_flush(0, 9 * 32_768), flush_ns(2));
    assert_eq!(write_and_flush(1 << 20, 4096), flush_ns(1), "one page, not ten");
    assert_eq!(write_and_flush(2 << 20, 3 * 32_768), flush_ns(1), "four, not thirteen");
    assert_eq!(write_and_flush(0, 0), 8_000, "nothing new");
}

#[test]
fn buffered_data_are_not_read_from_flash() {
    let mut ssd = full(small());
    let from_flash = one(&mut ssd, 0, Write, 512, 512);
    // command, page read, and the unit over the channel
    assert_eq!(from_flash, 8_000 + 50_000 + 5_120);
    let began = from_flash;
    let from_buffer = one(&mut ssd, began, Write, 1024, 512) - began;
    // command, half a microsecond of port for data and one for the command
    assert_eq!(from_buffer, 8_000 + 256 + 1_000);
}
