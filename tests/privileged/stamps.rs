//! Looking at what `fill` and `verify` wrote, and at what they say of it.

use crate::support::json::metrics;
use crate::support::{Running, Scratch, wait_for};
use rustix::fs::{Mode, OFlags};
use serde_json::Value;
use std::fs;

/// A sparse file of `mib` MiB.
pub fn sparse_image(scratch: &Scratch, mib: u64) -> String {
    let image = scratch.file("image", "");
    let file = fs::OpenOptions::new().write(true).open(&image).expect("it was just made");
    file.set_len(mib << 20).expect("file systems have sparse files");
    image
}

/// For each sector, whether it begins with the stamp that test data have: its own address. The first
/// sector has address 0, so it counts when something follows.
pub fn stamped(image: &str) -> Vec<bool> {
    let bytes = fs::read(image).expect("the image is ours");
    let is_stamped = |(index, sector): (usize, &[u8; 512])| {
        let address = u64::from_le_bytes(sector[..8].try_into().expect("eight bytes"));
        address == index as u64 * 512 && sector[16..].iter().any(|byte| *byte != 0)
    };
    bytes.as_chunks::<512>().0.iter().enumerate().map(is_stamped).collect()
}

/// The value of a metric, which must be there.
#[track_caller]
pub fn value(run: &Value, key: &str) -> f64 {
    let found = metrics(run).find(|metric| metric["key"] == key);
    found.and_then(|metric| metric["value"].as_f64()).unwrap_or_else(|| panic!("no {key} in {run}"))
}

/// Bytes that a program has read from drives and written to them.
fn moved(running: &Running) -> Option<(u64, u64)> {
    let io = fs::read_to_string(format!("/proc/{}/io", running.id())).ok()?;
    let count = |name: &str| io.lines().find_map(|line| line.strip_prefix(name))?.parse().ok();
    Some((count("read_bytes: ")?, count("write_bytes: ")?))
}

/// Waits until the program has written `bytes` to drives.
pub fn wait_for_writes(running: &Running, bytes: u64) {
    wait_for("writes", || moved(running).filter(|(_, written)| *written > bytes));
}

/// Whether the program writes, or reads what was written: more than the gate looks at.
pub fn has_begun(running: &Running) -> bool {
    moved(running).is_some_and(|(read, written)| read > 48 << 20 || written > 1 << 20)
}

/// Waits until nobody claims the device: until the kernel has ended what a killed program had under way.
pub fn wait_until_free(node: &str) {
    let claim = OFlags::RDONLY | OFlags::EXCL | OFlags::CLOEXEC;
    wait_for("the claim's end", || rustix::fs::open(node, claim, Mode::empty()).ok());
}

/// The options that a stopped test names to go on.
#[track_caller]
pub fn options_to_continue(reason: &str) -> Vec<String> {
    let (_, options) = reason.split_once("not stored: ").unwrap_or_else(|| panic!("{reason}"));
    let words: Vec<&str> = options.split_whitespace().collect();
    words.chunks(2).map(|pair| pair.join("=")).collect()
}
