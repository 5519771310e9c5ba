//! What keeps originals from going back to a drive, and from being overwritten before they have.

use super::guards::{Loop, Mount, OnLoop, tool};
use super::journal::{contents, journals, leave_open};
use super::list::add_partition;
use crate::support::Scratch;
use std::fs;

/// What `restore` says when it leaves the device and its journals alone.
#[track_caller]
fn not_restored(scratch: &Scratch, device: &Loop, image: &str) -> String {
    let before = contents(device, image);
    let open = fs::read_dir(journals(scratch)).unwrap().count();
    let message = scratch.drivescope(&["restore"]).code(3).stderr;
    assert_eq!(message.lines().count(), 1, "{message}");
    assert!(contents(device, image) == before, "it was written: {message}");
    assert_eq!(fs::read_dir(journals(scratch)).unwrap().count(), open);
    message
}

/// The kernel's claim of a loop device does not see what is mounted beside it.
#[test]
fn originals_do_not_go_under_a_file_system_that_another_loop_device_has_mounted() {
    let Some(OnLoop { scratch, device, image, .. }) = OnLoop::of_noise(64) else { return };
    let original = contents(&device, &image);
    leave_open(&device, &journals(&scratch), 2, 1);
    for below in [&device.node, &image] {
        let window = ["--offset=16777216", "--sizelimit=33554432"];
        let Some(other) = Loop::attach(below, &window) else { return };
        tool("mkfs.ext4", &["-q", "-F", &other.node]).unwrap();
        let Some(mount) = Mount::new(&scratch, &other.node, &[]) else { return };
        let message = not_restored(&scratch, &device, &image);
        assert!(message.contains(&format!("mounted on {}", mount.point)), "{message}");
        assert!(message.contains("run drivescope restore"), "{message}");
        drop(mount);
        tool("e2fsck", &["-f", "-n", &other.node]).unwrap();
    }
    scratch.drivescope(&["restore"]).code(0);
    assert!(contents(&device, &image)[..2 << 20] == original[..2 << 20]);
}

#[test]
fn originals_do_not_go_under_swap_or_a_program_that_writes() {
    let Some(OnLoop { scratch, device, image, .. }) = OnLoop::of_noise(64) else { return };
    leave_open(&device, &journals(&scratch), 2, 1);
    let writer = fs::OpenOptions::new().write(true).open(&device.node).unwrap();
    let message = not_restored(&scratch, &device, &image);
    assert!(message.contains("open for writing"), "{message}");
    drop(writer);
    let Some(_part) = add_partition(&device, 1, 65536, 32768) else { return };
    let part = format!("{}p1", device.node);
    tool("mkswap", &[&part]).unwrap();
    tool("swapon", &[&part]).unwrap();
    let message = scratch.drivescope(&["restore"]);
    tool("swapoff", &[&part]).unwrap();
    let message = message.code(3).stderr;
    assert!(message.contains("is a swap area in use"), "{message}");
    scratch.drivescope(&["restore"]).code(0);
}

#[test]
fn a_read_only_drive_is_told_before_anything_is_written() {
    let Some(OnLoop { scratch, device, image, .. }) = OnLoop::of_noise(64) else { return };
    let original = contents(&device, &image);
    leave_open(&device, &journals(&scratch), 2, 1);
    tool("blockdev", &["--setro", &device.node]).unwrap();
    let message = not_restored(&scratch, &device, &image);
    let remedy = format!("blockdev --setrw {}", device.node);
    assert!(message.contains("is read-only") && message.contains(&remedy), "{message}");
    tool("blockdev", &["--setrw", &device.node]).unwrap();
    scratch.drivescope(&["restore"]).code(0);
    assert!(contents(&device, &image) == original);
}
