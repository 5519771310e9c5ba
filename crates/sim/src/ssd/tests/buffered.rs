//! The amount that the write buffer takes before a write waits for the flash.

use crate::device::RequestKind;
use crate::ssd::Ssd;
use crate::ssd::testing::{one, small};

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
            now = one(&mut ssd, now, RequestKind::Write, k * 4096, 4096);
            now - began < 1_000_000
        });
        assert_eq!(taken.count() as u32 * 4, size_kib);
    }
}
