//! The gate's opinion of real loop devices with real contents and real users, through `run --dry-run`.

use super::guards::{Loop, Mount, OnLoop, OnMount, image_with, or_skip, sparse_image, tool};
use super::list::add_partition;
use super::privileged_scratch;
use crate::support::json::{array, text};
use crate::support::{Call, Running, Scratch, wait_for};
use serde_json::Value;
use std::fs;
use std::os::unix::fs::MetadataExt;

pub fn blank(scratch: &Scratch, mib: u64, options: &[&str]) -> Option<Loop> {
    Loop::attach(&sparse_image(scratch, mib), options)
}

pub const SMALL_SAMPLES: &[&str] = &["--set=surface.samples=3", "--set=surface.sample=1M"];

/// The gate's checks with these options; `code` is the expected exit code.
pub fn opinion(scratch: &Scratch, node: &str, options: &[&str], code: i32) -> Value {
    let options = [&["--dry-run", "--json"], options].concat();
    scratch.run(node, &[SMALL_SAMPLES, &options]).code(code).json()["gate"].clone()
}

/// Name and evidence of each refusing check.
pub fn refusals(gate: &Value) -> Vec<(String, String)> {
    let both = |check: &Value| (text(&check["name"]).into(), text(&check["evidence"]).into());
    array(&gate["checks"]).iter().filter(|check| check["outcome"] == "refused").map(both).collect()
}

#[track_caller]
pub fn refused(gate: &Value, name: &str, words: &str) {
    let found = refusals(gate);
    let is_it = |(check, evidence): &(String, String)| check == name && evidence.contains(words);
    assert!(found.iter().any(is_it), "no {name} with '{words}': {found:?}");
}

#[test]
fn blank_device_is_free_and_unchanged() {
    let Some(OnLoop { scratch, device, .. }) = OnLoop::blank(64) else { return };
    let changed = || fs::metadata(scratch.path("image")).unwrap().modified().unwrap();
    let before = changed();
    for (options, code) in [
        (&[][..], 0),
        (&["--write=same-bytes"], 0),
        (&["--write=restore"], 0),
        (&["--destroy=wrong"], 3),
    ] {
        scratch.run(&device.node, &[&["--dry-run"], options]).code(code).shows(&["gate at level"]);
    }
    let gate = opinion(&scratch, &device.node, &["--write=restore"], 0);
    assert_eq!(gate["level"], "restore");
    assert_eq!(gate["device"]["size_bytes"], 64 << 20);
    assert!(array(&gate["checks"]).len() > 15, "{gate}");
    tool("blockdev", &["--flushbufs", &device.node]).unwrap();
    assert_eq!(changed(), before, "a dry run changed the device");
    let run = scratch.run(&device.node, &[&["--test=latency", "--write=restore"]]).refused(2);
    assert!(run.contains("no test that writes to block devices"), "{run}");
}

#[test]
fn mounted_device_is_refused_by_table_and_claim() {
    let Some(OnMount { scratch, device, mount }) = OnMount::ext4(64) else { return };
    let gate = opinion(&scratch, &device.node, &["--write=same-bytes"], 3);
    refused(&gate, "mounts", &mount.point);
    refused(&gate, "file systems", "ext4");
    refused(&gate, "claim", "in use");
    scratch.run(&device.node, &[&["--dry-run"]]).code(0).shows(&["$ findmnt --source"]);
}

/// A shell in its own mount namespace with `device` mounted.
fn mounted_elsewhere(scratch: &Scratch, device: &Loop) -> Running {
    fs::create_dir(scratch.path("elsewhere")).expect("the scratch directory is ours");
    let (point, ready) = (scratch.text("elsewhere"), scratch.text("ready"));
    let node = &device.node;
    let script = format!("mount {node} {point} && touch {ready} && exec sleep 60");
    let running =
        Call::new("unshare").arguments(&["--mount", "sh", "-c", &script]).start().must_be_alive();
    wait_for("the mount in the other namespace", || fs::metadata(&ready).ok());
    running
}

#[test]
fn a_mount_in_another_namespace_is_found() {
    let Some(scratch) = privileged_scratch() else { return };
    let Some(_) = or_skip(tool("unshare", &["--mount", "true"])) else { return };
    let Some(image) = image_with(&scratch, 64, "mkfs.ext4", &["-q", "-F"]) else { return };
    let Some(device) = Loop::attach(&image, &[]) else { return };
    let running = mounted_elsewhere(&scratch, &device);
    let gate = opinion(&scratch, &device.node, &["--write=same-bytes"], 3);
    refused(&gate, "mounts", &format!("for process {}", running.id()));
    refused(&gate, "claim", "in use");
}

#[test]
fn a_lazily_unmounted_file_system_is_found() {
    let Some(OnMount { scratch, device, mount }) = OnMount::ext4(64) else { return };
    let held = fs::File::create(mount.text("held")).unwrap();
    tool("umount", &["--lazy", &mount.point]).unwrap();
    let gate = opinion(&scratch, &device.node, &["--write=same-bytes"], 3);
    refused(&gate, "file systems", "ext4");
    refused(&gate, "claim", "in use");
    drop(held);
    // The guard expects something to unmount.
    wait_for("the device", || tool("mount", &[&device.node, &mount.point]).ok());
}

#[test]
fn swap_in_use_is_refused() {
    let Some(OnLoop { scratch, device, .. }) = OnLoop::with(64, "mkswap", &[]) else { return };
    let Some(_) = or_skip(tool("swapon", &[&device.node])) else { return };
    let ended = scratch.run(&device.node, &[&["--dry-run", "--json", "--write=same-bytes"]]);
    tool("swapoff", &[&device.node]).unwrap();
    let gate = ended.code(3).json()["gate"].clone();
    refused(&gate, "swap", device.name());
    refused(&gate, "claim", "in use");
}

#[test]
fn partition_is_judged_alone_disk_by_all() {
    let Some(scratch) = privileged_scratch() else { return };
    let Some(device) = blank(&scratch, 64, &["--partscan"]) else { return };
    let Some(_first) = add_partition(&device, 1, 2048, 65536) else { return };
    let Some(_second) = add_partition(&device, 2, 67584, 32768) else { return };
    let [first, second] = [1, 2].map(|n| format!("{}p{n}", device.node));
    let Some(_) = or_skip(tool("mkfs.ext4", &["-q", "-F", &first])) else { return };
    let gate = opinion(&scratch, &device.node, &["--write=restore"], 3);
    refused(&gate, "signatures", &format!("{}p1: ext4", device.name()));
    let Some(mount) = Mount::new(&scratch, &first, &[]) else { return };
    let gate = opinion(&scratch, &device.node, &["--write=same-bytes"], 3);
    refused(&gate, "mounts", &mount.point);
    let gate = opinion(&scratch, &second, &["--write=same-bytes"], 0);
    assert_eq!(text(&gate["device"]["partition_of"]), device.name());
    let siblings = array(&gate["checks"]).iter().find(|check| check["name"] == "siblings");
    assert!(text(&siblings.unwrap()["evidence"]).contains("p1"), "{gate}");
}

#[test]
fn nested_loop_device_is_found() {
    let Some(scratch) = privileged_scratch() else { return };
    let Some(lower) = blank(&scratch, 64, &[]) else { return };
    let Some(upper) = Loop::attach(&lower.node, &[]) else { return };
    let gate = opinion(&scratch, &lower.node, &["--write=same-bytes"], 3);
    refused(&gate, "loop devices", upper.name());
    opinion(&scratch, &upper.node, &["--write=same-bytes"], 0);
}

/// A claimed loop device leaves the device below it unclaimed.
#[test]
fn loop_device_on_a_used_device_is_refused() {
    let Some(OnLoop { scratch, device, .. }) = OnLoop::ext4(64) else { return };
    let Some(upper) = Loop::attach(&device.node, &[]) else { return };
    let Some(mount) = Mount::new(&scratch, &device.node, &[]) else { return };
    let gate = opinion(&scratch, &upper.node, &["--write=same-bytes"], 3);
    let words = format!("{} (same bytes as {}) is mounted", device.name(), upper.name());
    refused(&gate, "mounts", &words);
    refused(&gate, "mounts", &mount.point);
}

/// The same for another loop device over the file, unless they show different parts.
#[test]
fn loop_device_over_a_mounted_file_is_refused() {
    let Some(OnLoop { scratch, device, image, .. }) = OnLoop::ext4(64) else { return };
    fs::OpenOptions::new().write(true).open(&image).unwrap().set_len(96 << 20).unwrap();
    let options = ["--offset=67108864"];
    let (Some(twin), Some(behind)) = (Loop::attach(&image, &[]), Loop::attach(&image, &options))
    else {
        return;
    };
    let Some(mount) = Mount::new(&scratch, &device.node, &[]) else { return };
    let gate = opinion(&scratch, &twin.node, &["--write=same-bytes"], 3);
    refused(&gate, "mounts", &mount.point);
    opinion(&scratch, &behind.node, &["--write=same-bytes"], 0);
}

/// The log device of a mounted XFS is in no list of mounts: only the kernel's claim shows it.
#[test]
fn loop_device_over_an_active_log_is_refused() {
    let Some(OnLoop { scratch, device, .. }) = OnLoop::blank(400) else { return };
    let log = scratch.file("log", "");
    fs::OpenOptions::new().write(true).open(&log).unwrap().set_len(100 << 20).unwrap();
    let (Some(held), Some(twin)) = (Loop::attach(&log, &[]), Loop::attach(&log, &[])) else {
        return;
    };
    let place = format!("logdev={}", held.node);
    let Some(_) = or_skip(tool("mkfs.xfs", &["-q", "-f", "-l", &place, &device.node])) else {
        return;
    };
    opinion(&scratch, &twin.node, &["--write=same-bytes"], 0);
    let Some(_mount) = Mount::new(&scratch, &device.node, &["-o", &place]) else { return };
    let gate = opinion(&scratch, &twin.node, &["--write=same-bytes"], 3);
    let words = format!("{} (same bytes as {}) is in use", held.name(), twin.name());
    refused(&gate, "same bytes", &words);
}

/// The kernel names the file of a loop device by the path at attachment, which leads nowhere once it is removed, or
/// from another mount namespace.
#[test]
fn file_is_identified_by_number_not_name() {
    let Some(OnLoop { scratch, device, image, .. }) = OnLoop::ext4(64) else { return };
    let renamed = scratch.text("renamed");
    fs::hard_link(&image, &renamed).unwrap();
    fs::remove_file(&image).unwrap();
    let Some(twin) = Loop::attach(&renamed, &[]) else { return };
    let Some(mount) = Mount::new(&scratch, &twin.node, &[]) else { return };
    let gate = opinion(&scratch, &device.node, &["--write=same-bytes"], 3);
    refused(&gate, "mounts", &mount.point);
    let call = ["run", &device.node, &twin.node, "--dry-run"];
    scratch.drivescope(&call).refused_with(2, &["loop devices over the same bytes of a file"]);
}

#[test]
fn loop_device_on_another_used_node_is_refused() {
    let Some(OnLoop { scratch, device, .. }) = OnLoop::ext4(64) else { return };
    let number = fs::metadata(&device.node).unwrap().rdev();
    let (major, minor) = (rustix::fs::major(number), rustix::fs::minor(number));
    let node = scratch.text("node");
    tool("mknod", &[&node, "b", &major.to_string(), &minor.to_string()]).unwrap();
    let Some(upper) = Loop::attach(&node, &[]) else { return };
    let Some(mount) = Mount::new(&scratch, &device.node, &[]) else { return };
    let gate = opinion(&scratch, &upper.node, &["--write=same-bytes"], 3);
    refused(&gate, "mounts", &mount.point);
}

/// Only the partition's bytes count.
#[test]
fn loop_device_on_a_neighbour_spares_a_partition() {
    let Some(OnLoop { scratch, device, image, .. }) = OnLoop::blank(64) else { return };
    let Some(_first) = add_partition(&device, 1, 2048, 32768) else { return };
    let options = ["--offset=33554432"];
    let Some(behind) = Loop::attach(&image, &options) else { return };
    tool("mkfs.ext4", &["-q", "-F", &behind.node]).unwrap();
    let Some(mount) = Mount::new(&scratch, &behind.node, &[]) else { return };
    opinion(&scratch, &format!("{}p1", device.node), &["--write=same-bytes"], 0);
    let gate = opinion(&scratch, &device.node, &["--write=same-bytes"], 3);
    refused(&gate, "mounts", &mount.point);
}

#[test]
fn two_loop_devices_over_one_file_are_refused() {
    let Some(OnLoop { scratch, device, image, .. }) = OnLoop::blank(64) else { return };
    let Some(twin) = Loop::attach(&image, &[]) else { return };
    for options in [&["--dry-run"][..], &["--test=align", "--write=same-bytes"]] {
        let call = [&["run", &device.node, &twin.node], options].concat();
        scratch.drivescope(&call).refused_with(2, &["loop devices over the same bytes of a file"]);
    }
}

#[test]
fn disk_and_its_partition_are_refused_together() {
    let Some(scratch) = privileged_scratch() else { return };
    let Some(device) = blank(&scratch, 64, &["--partscan"]) else { return };
    let Some(_part) = add_partition(&device, 1, 2048, 65536) else { return };
    let part = format!("{}p1", device.node);
    for targets in [[&device.node, &part], [&part, &device.node]] {
        let call = ["run", targets[0], targets[1], "--test=align", "--write=same-bytes"];
        let message = scratch.drivescope(&call).refused(2);
        let words =
            format!("two of these targets share bytes: {0}p1 is a partition of {0}", device.name());
        assert!(message.contains(&words), "{message}");
        scratch.drivescope(&["run", targets[0], targets[1], "--dry-run"]).code(0);
    }
}

/// Both would lock the disk, so the program would block itself.
#[test]
fn two_partitions_of_a_disk_are_refused_together() {
    let Some(scratch) = privileged_scratch() else { return };
    let Some(device) = blank(&scratch, 64, &["--partscan"]) else { return };
    let Some(_first) = add_partition(&device, 1, 2048, 32768) else { return };
    let Some(_second) = add_partition(&device, 2, 34816, 32768) else { return };
    let [first, second] = [1, 2].map(|n| format!("{}p{n}", device.node));
    for options in [&["--dry-run"][..], &["--quiet"]] {
        let call = ["run", &first, &second, "--test=align", "--write=same-bytes"];
        let message = scratch.drivescope(&[&call, options].concat()).refused(2);
        let words = format!("are partitions of {}, and writing locks the whole", device.name());
        assert!(message.contains(&words), "{message}");
    }
    scratch.drivescope(&["run", &first, &second, "--dry-run"]).code(0);
}

#[test]
fn swap_beside_the_target_is_reported() {
    let Some(scratch) = privileged_scratch() else { return };
    let Some(device) = blank(&scratch, 64, &["--partscan"]) else { return };
    let Some(_first) = add_partition(&device, 1, 2048, 65536) else { return };
    let Some(_second) = add_partition(&device, 2, 67584, 32768) else { return };
    let [first, second] = [1, 2].map(|n| format!("{}p{n}", device.node));
    tool("mkswap", &[&first]).unwrap();
    let Some(_) = or_skip(tool("swapon", &[&first])) else { return };
    let ended =
        scratch.run(&second, &[SMALL_SAMPLES, &["--dry-run", "--json", "--write=same-bytes"]]);
    tool("swapoff", &[&first]).unwrap();
    let gate = ended.code(0).json()["gate"].clone();
    let siblings = array(&gate["checks"]).iter().find(|check| check["name"] == "siblings");
    let words = format!("{}p1 is active swap", device.name());
    assert!(text(&siblings.unwrap()["evidence"]).contains(&words), "{gate}");
}
