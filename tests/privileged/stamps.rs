//! Looking at what `fill` and `verify` wrote, and at what they say of it.

use crate::support::{Running, wait_for};
use rustix::fs::{Mode, OFlags};
use std::fs;

/// Whether each sector begins with a stamp, its own address. The first sector has address 0, so it counts if something
/// follows.
pub fn stamped(image: &str) -> Vec<bool> {
    let bytes = fs::read(image).expect("the image is ours");
    let is_stamped = |(index, sector): (usize, &[u8; 512])| {
        let address = u64::from_le_bytes(sector[..8].try_into().expect("eight bytes"));
        address == index as u64 * 512 && sector[16..].iter().any(|byte| *byte != 0)
    };
    bytes.as_chunks::<512>().0.iter().enumerate().map(is_stamped).collect()
}

pub fn wait_for_writes(running: &Running, bytes: u64) {
    wait_for("writes", || running.io_bytes("write_bytes").filter(|written| *written > bytes));
}

/// Whether the program writes, or reads more than the gate does.
pub fn has_begun(running: &Running) -> bool {
    let passes = |counter, bytes| running.io_bytes(counter).is_some_and(|moved| moved > bytes);
    passes("read_bytes", 48 << 20) || passes("write_bytes", 1 << 20)
}

/// Waits until the kernel has ended the requests of a killed program.
pub fn wait_until_free(node: &str) {
    let claim = OFlags::RDONLY | OFlags::EXCL | OFlags::CLOEXEC;
    wait_for("the claim's end", || rustix::fs::open(node, claim, Mode::empty()).ok());
}

/// The options in the message of a stopped test.
#[track_caller]
pub fn options_to_continue(reason: &str) -> Vec<String> {
    let (_, options) = reason.split_once("not stored: ").unwrap_or_else(|| panic!("{reason}"));
    let words: Vec<&str> = options.split_whitespace().collect();
    words.chunks(2).map(|pair| pair.join("=")).collect()
}
