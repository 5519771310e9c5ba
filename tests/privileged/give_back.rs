//! What keeps originals from going back to a drive, and from being overwritten before they have.

use super::guards::{Loop, Mount, OnLoop, Zram, tool};
use super::journal::{contents, journals, leave_open};
use super::list::add_partition;
use super::originals::{ENDLESS, Target, WRITES};
use super::privileged_scratch;
use super::stamps::{wait_for_writes, wait_until_free};
use crate::support::json::{finding, text};
use crate::support::{Scratch, noise, wait_for};
use std::fs;
use std::os::unix::fs::MetadataExt;

/// `restore` must leave the device and its journals alone; returns its message.
#[track_caller]
fn not_restored(scratch: &Scratch, device: &Loop, image: &str) -> String {
    let before = contents(device, image);
    let open = || fs::read_dir(journals(scratch)).expect("a journal is open").count();
    let journals_before = open();
    let message = scratch.drivescope(&["restore"]).code(3).stderr;
    assert_eq!(message.lines().count(), 1, "{message}");
    assert!(contents(device, image) == before, "it was written: {message}");
    assert_eq!(open(), journals_before);
    message
}

/// Detaches a device and waits until programs that only inspected it have closed it.
fn detach(device: Loop, image: &str) {
    let file = format!("/sys/block/{}/loop/backing_file", device.name());
    drop(device);
    wait_for("the end of the device", || {
        let is_there = fs::read_to_string(&file).is_ok_and(|path| path.trim_end() == image);
        (!is_there).then_some(())
    });
}

/// The kernel's claim of a loop device does not cover mounts of its file elsewhere.
#[test]
fn originals_avoid_a_file_mounted_elsewhere() {
    let Some(OnLoop { scratch, device, image, .. }) = OnLoop::of_noise(64) else { return };
    let original = contents(&device, &image);
    leave_open(&device.node, &journals(&scratch), 2, 1);
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
fn originals_avoid_swap_and_writing_programs() {
    let Some(OnLoop { scratch, device, image, .. }) = OnLoop::of_noise(64) else { return };
    leave_open(&device.node, &journals(&scratch), 2, 1);
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
    assert!(message.contains("is active swap"), "{message}");
    scratch.drivescope(&["restore"]).code(0);
}

#[test]
fn read_only_drive_is_reported_before_any_write() {
    let Some(OnLoop { scratch, device, image, .. }) = OnLoop::of_noise(64) else { return };
    let original = contents(&device, &image);
    leave_open(&device.node, &journals(&scratch), 2, 1);
    tool("blockdev", &["--setro", &device.node]).unwrap();
    let message = not_restored(&scratch, &device, &image);
    let remedy = format!("blockdev --setrw {}", device.node);
    assert!(message.contains("is read-only") && message.contains(&remedy), "{message}");
    tool("blockdev", &["--setrw", &device.node]).unwrap();
    scratch.drivescope(&["restore"]).code(0);
    assert!(contents(&device, &image) == original);
}

/// A fill of the same bytes through another device would be undone by the restore.
#[test]
fn open_journal_blocks_writes_through_other_devices() {
    let Some(OnLoop { scratch, device, image, .. }) = OnLoop::of_noise(64) else { return };
    leave_open(&device.node, &journals(&scratch), 2, 1);
    let journal = journals(&scratch).join("kill1-0.journal");
    let refused = |node: &str| {
        let destroy = format!("--destroy={}:1", node.trim_start_matches("/dev/"));
        let fill = ["--test=fill", "--set=fill.mode=full", &destroy];
        let message = scratch.run(node, &[&fill]).refused(3);
        assert!(message.contains(journal.to_str().unwrap()), "{message}");
    };
    let window = "--offset=1048576";
    for below in [&device.node, &image] {
        let Some(other) = Loop::attach(below, &[window]) else { return };
        refused(&other.node);
    }
    detach(device, &image);
    // The drive is gone, its file is not.
    let renamed = scratch.text("renamed");
    fs::rename(&image, &renamed).unwrap();
    let Some(other) = Loop::attach(&renamed, &[window]) else { return };
    refused(&other.node);
    let free = scratch.file("free", vec![0; 4 << 20]);
    let Some(free) = Loop::attach(&free, &[]) else { return };
    scratch.run(&free.node, &[&["--dry-run"]]).code(0);
}

#[test]
fn originals_avoid_another_file_of_that_name() {
    let Some(OnLoop { scratch, device, image, .. }) = OnLoop::of_noise(8) else { return };
    let original = contents(&device, &image);
    leave_open(&device.node, &journals(&scratch), 2, 1);
    detach(device, &image);
    let moved = scratch.text("moved");
    fs::rename(&image, &moved).unwrap();
    for bytes in [vec![3; 8 << 20], original.clone()] {
        fs::write(&image, bytes).unwrap();
        let Some(other) = Loop::attach(&image, &[]) else { return };
        let message = not_restored(&scratch, &other, &image);
        assert!(message.contains("another file that has taken that name"), "{message}");
        detach(other, &image);
        fs::remove_file(&image).unwrap();
    }
    // The file itself, under any name.
    let Some(device) = Loop::attach(&moved, &[]) else { return };
    scratch.drivescope(&["restore"]).code(0);
    assert!(contents(&device, &moved) == original);
}

/// Inode numbers are reused; the time of birth distinguishes files.
#[test]
fn originals_avoid_a_file_with_a_reused_number() {
    let Some(OnLoop { scratch, device, image, .. }) = OnLoop::of_noise(8) else { return };
    leave_open(&device.node, &journals(&scratch), 2, 1);
    detach(device, &image);
    let number = || fs::metadata(&image).unwrap().ino();
    let first = number();
    fs::remove_file(&image).unwrap();
    let is_again = (0..50).any(|_| {
        let _ = fs::remove_file(&image);
        fs::write(&image, vec![3; 8 << 20]).unwrap();
        number() == first
    });
    println!("the number was given again: {is_again}");
    let Some(other) = Loop::attach(&image, &[]) else { return };
    let message = not_restored(&scratch, &other, &image);
    assert!(message.contains("another file that has taken that name"), "{message}");
}

/// Device numbers are reused.
#[test]
fn originals_avoid_a_device_with_a_reused_number() {
    let Some(scratch) = privileged_scratch() else { return };
    let Some(zram) = Zram::new("64M") else { return };
    let node = zram.node.clone();
    fs::write(&node, noise(64 << 20, 3)).unwrap();
    let level = format!("--write=restore:{}:{}", node.trim_start_matches("/dev/"), 64 << 20);
    let running = scratch.run_call(&node, &[WRITES, ENDLESS, &[&level]]).start();
    wait_for_writes(&running, 40 << 20);
    running.kill();
    wait_until_free(&node);
    drop(zram);
    // Other tests may take the number meanwhile, and leave it again.
    let other = wait_for("the number", || Zram::new("64M").filter(|zram| zram.node == node));
    let bytes = noise(64 << 20, 4);
    fs::write(&other.node, &bytes).unwrap();
    let message = scratch.drivescope(&["restore"]).code(3).stderr;
    assert!(message.contains("is another device that has taken that number"), "{message}");
    assert!(fs::read(&other.node).unwrap() == bytes, "it was written: {message}");
    assert_eq!(fs::read_dir(journals(&scratch)).unwrap().count(), 1);
}

/// The run reports what was not restored as one range, and `restore` the remedy.
#[test]
fn read_only_turn_is_reported_as_one_range() {
    let Some(target) = Target::new() else { return };
    let node = &target.device.node;
    // Not done with writing once the area is full.
    let running = target.call(&[ENDLESS, &["--set=transfer.write_once=false"]]).start();
    target.wait_for_patterns();
    tool("blockdev", &["--setro", node]).unwrap();
    let run = running.end().code(4).json();
    let failed = text(&finding(&run, "F017")["evidence"]).to_string();
    assert_eq!(failed.matches(" (writing failed: ").count(), 1, "{failed}");
    assert!(failed.contains("did not take back bytes 25165824 to 41943039"), "{failed}");
    let ended = target.scratch.drivescope(&["restore"]).code(3);
    assert!(ended.stderr.contains(&format!("blockdev --setrw {node}")), "{ended}");
    tool("blockdev", &["--setrw", node]).unwrap();
    target.scratch.drivescope(&["restore"]).code(0);
    target.must_be_whole("after the restore");
}

#[test]
fn shrunk_drive_is_reported() {
    let Some(OnLoop { scratch, device, image, .. }) = OnLoop::of_noise(8) else { return };
    let original = contents(&device, &image);
    leave_open(&device.node, &journals(&scratch), 2, 1);
    let resize = |bytes: u64| {
        fs::OpenOptions::new().write(true).open(&image).unwrap().set_len(bytes).unwrap();
        tool("losetup", &["--set-capacity", &device.node]).unwrap();
    };
    resize(4 << 20);
    let message = not_restored(&scratch, &device, &image);
    assert!(message.contains("its size is 4194304, not 8388608"), "{message}");
    resize(8 << 20);
    scratch.drivescope(&["restore"]).code(0);
    assert!(contents(&device, &image)[..4 << 20] == original[..4 << 20]);
}
