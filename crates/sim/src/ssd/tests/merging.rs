//! A write of part of a mapping unit reads the rest: from the flash, or from the buffer where that still has it.

use crate::device::RequestKind;
use crate::ssd::testing::{full, one, small};

#[test]
fn buffered_data_are_not_read_from_flash() {
    let mut ssd = full(small());
    let from_flash = one(&mut ssd, 0, RequestKind::Write, 512, 512);
    // command, page read, and the unit over the channel
    assert_eq!(from_flash, 8_000 + 50_000 + 5_120);
    let began = from_flash;
    let from_buffer = one(&mut ssd, began, RequestKind::Write, 1024, 512) - began;
    // command, half a microsecond of port for data and one for the command
    assert_eq!(from_buffer, 8_000 + 256 + 1_000);
}
