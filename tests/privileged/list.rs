//! `list` shows loop devices, memory devices and partitions as what they are.

use super::guards::{Loop, OnMount, Zram, image_of_noise, tool};
use super::privileged_scratch;
use crate::support::json::{array, text};
use crate::support::{Scratch, must_have, skip_loudly};
use serde_json::Value;

/// A partition known to the kernel without a partition table; removed when dropped.
pub struct Partition<'d> {
    device: &'d Loop,
    number: String,
}

/// Start and length in 512-byte sectors; prints a note if the kernel or the tool cannot.
pub fn add_partition(device: &Loop, number: u32, start: u64, length: u64) -> Option<Partition<'_>> {
    let [number, start, length] = [number.to_string(), start.to_string(), length.to_string()];
    match tool("addpart", &[&device.node, &number, &start, &length]) {
        Ok(_) => Some(Partition { device, number }),
        Err(why) => {
            skip_loudly(&why);
            None
        }
    }
}

impl Drop for Partition<'_> {
    fn drop(&mut self) {
        if let Err(why) = tool("delpart", &[&self.device.node, &self.number]) {
            eprintln!("left behind: {why}");
        }
    }
}

fn shown(scratch: &Scratch, name: &str) -> (Value, String) {
    let list = scratch.drivescope(&["list", "--json"]).code(0).json();
    let drive = array(&list).iter().find(|drive| drive["name"] == name);
    let drive = drive.unwrap_or_else(|| panic!("{name} is not listed: {list}")).clone();
    let table = scratch.drivescope(&["list"]).code(0).stdout;
    let entry = table.split("\n\n").find(|entry| entry.starts_with(&format!("{name} ")));
    let entry = entry.unwrap_or_else(|| panic!("{name} is not listed: {table}")).to_string();
    (drive, entry)
}

#[test]
fn a_loop_device_shows_the_file_behind_it() {
    let Some(scratch) = privileged_scratch() else { return };
    let image = image_of_noise(&scratch, 8);
    let Some(device) = Loop::attach(&image, &["--read-only"]) else { return };
    let (drive, entry) = shown(&scratch, device.name());
    assert_eq!((text(&drive["kind"]), text(&drive["transport"])), ("loop", "loop"));
    assert_eq!(drive["capacity_bytes"], 8 << 20);
    assert_eq!(text(&drive["backing"][0]), image);
    assert_eq!(drive["read_only"], true);
    assert!(drive["model"].is_null() && drive["health"]["passed"].is_null(), "{drive}");
    assert!(entry.contains("loop device"), "{entry}");
    assert!(!entry.contains("rotat"), "a file does not rotate: {entry}");
}

#[test]
fn zram_is_memory_not_a_drive() {
    let Some(scratch) = privileged_scratch() else { return };
    let Some(zram) = Zram::new("64M") else { return };
    let (drive, entry) = shown(&scratch, zram.node.trim_start_matches("/dev/"));
    assert_eq!((text(&drive["kind"]), text(&drive["transport"])), ("memory", "memory"));
    assert_eq!(drive["capacity_bytes"], 64 << 20);
    assert!(entry.contains("memory, not a drive"), "{entry}");
}

#[test]
fn partitions_have_start_size_and_alignment() {
    let Some(scratch) = privileged_scratch() else { return };
    let Some(device) = Loop::attach(&image_of_noise(&scratch, 32), &["--partscan"]) else { return };
    let Some(_first) = add_partition(&device, 1, 2048, 8192) else { return };
    let Some(_second) = add_partition(&device, 2, 10303, 4096) else { return };
    let (drive, entry) = shown(&scratch, device.name());
    let facts: Vec<(&str, u64, u64)> = array(&drive["partitions"])
        .iter()
        .map(|p| {
            (
                text(&p["name"]),
                p["start_bytes"].as_u64().unwrap(),
                p["size_bytes"].as_u64().unwrap(),
            )
        })
        .collect();
    let [first, second] = [1, 2].map(|n| format!("{}p{n}", device.name()));
    let expected = [(first.as_str(), 1 << 20, 4 << 20), (second.as_str(), 10303 * 512, 2 << 20)];
    assert_eq!(facts, expected);
    must_have(&entry, &[first.as_str(), "at 1 MiB", "aligned", second.as_str()]);
}

#[test]
fn a_file_system_shows_its_kind_and_mount() {
    let Some(OnMount { scratch, device, mount }) = OnMount::ext4(64) else { return };
    let (drive, entry) = shown(&scratch, device.name());
    assert_eq!(drive["content"], "ext4");
    assert_eq!(text(&drive["mounts"][0]), mount.point);
    assert!(entry.contains("ext4"), "{entry}");
}
