//! Other ways to the bytes of a target: memories of the kernel, loop devices, their file.

use super::gate::{SMALL_SAMPLES, opinion, refused};
use super::guards::{Loop, Mount, OnLoop, OnMount, image_of_noise, or_skip, tool};
use super::list::add_partition;
use super::originals::{ENDLESS, Target, WRITES};
use super::privileged_scratch;
use crate::support::{noise, wait_for};
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use std::fs::{self, File};
use std::os::unix::fs::FileExt;

const MIB: usize = 1 << 20;

fn is_free(node: &str) -> bool {
    let claim = OFlags::RDONLY | OFlags::EXCL | OFlags::CLOEXEC;
    match rustix::fs::open(node, claim, Mode::empty()) {
        Ok(_) => true,
        Err(Errno::BUSY) => false,
        Err(errno) => panic!("{node}: {errno}"),
    }
}

/// The kernel caches a disk and its partitions separately. A cached write that reached the drive during the patterns
/// would be lost in the restore.
#[test]
fn earlier_writes_through_the_disk_survive() {
    fn behind(bytes: &[u8]) -> Vec<u8> {
        bytes[21 * MIB..].to_vec()
    }
    let Some(scratch) = privileged_scratch() else { return };
    let image = image_of_noise(&scratch, 64);
    let Some(device) = Loop::attach(&image, &[]) else { return };
    let Some(_part) = add_partition(&device, 1, 2048, 98304) else { return };
    let part = format!("{}p1", device.node);
    // A program with the disk open, like a mounted neighbour, keeps the kernel from writing everything at the end.
    let _reader = File::open(&device.node).unwrap();
    let mut before = fs::read(&image).unwrap();
    let fresh = noise(MIB, 5);
    let disk = fs::OpenOptions::new().write(true).open(&device.node).unwrap();
    disk.write_all_at(&fresh, 20 << 20).unwrap();
    drop(disk);
    before[20 * MIB..21 * MIB].copy_from_slice(&fresh);
    let level = format!("--write=restore:{}p1:{}", device.name(), 98304 * 512);
    let running = scratch.run_call(&part, &[WRITES, ENDLESS, &[&level]]).start();
    wait_for("patterns on the partition", || {
        (behind(&fs::read(&image).unwrap()) != behind(&before)).then_some(())
    });
    tool("sync", &[&device.node]).unwrap();
    running.interrupt();
    assert!(fs::read(&image).unwrap() == before, "what was written before the run is lost");
}

#[test]
fn other_loop_devices_stay_claimed_during_the_run() {
    let Some(target) = Target::new() else { return };
    let options = ["--offset=8388608", "--sizelimit=8388608"];
    let image = target.scratch.text("image");
    let (Some(twin), Some(part)) = (Loop::attach(&image, &[]), Loop::attach(&image, &options))
    else {
        return;
    };
    assert!(is_free(&twin.node) && is_free(&part.node));
    let running = target.call(&[ENDLESS]).start();
    target.wait_for_patterns();
    for other in [&twin, &part] {
        assert!(!is_free(&other.node), "{} is given away in the middle of the run", other.node);
    }
    running.interrupt();
    target.must_be_whole("after the run");
    assert!(is_free(&twin.node) && is_free(&part.node));
}

/// Only partitions with bytes of the target count.
#[test]
fn loop_device_beside_a_mounted_partition_is_free() {
    let Some(scratch) = privileged_scratch() else { return };
    let image = scratch.file("image", vec![0; 64 * MIB]);
    let Some(device) = Loop::attach(&image, &[]) else { return };
    let Some(_first) = add_partition(&device, 1, 2048, 32768) else { return };
    let Some(_second) = add_partition(&device, 2, 65536, 32768) else { return };
    let [first, second] = [1, 2].map(|n| format!("{}p{n}", device.node));
    let options = ["--offset=1048576", "--sizelimit=16777216"];
    for below in [&image, &device.node] {
        let Some(other) = Loop::attach(below, &options) else { return };
        for (used, code) in [(&second, 0), (&first, 3)] {
            tool("mkfs.ext4", &["-q", "-F", used]).unwrap();
            let Some(_mount) = Mount::new(&scratch, used, &[]) else { return };
            opinion(&scratch, &other.node, &["--write=same-bytes"], code);
        }
    }
}

#[test]
fn program_with_the_file_open_is_reported() {
    let Some(OnLoop { scratch, device, image, .. }) = OnLoop::blank(64) else { return };
    let reader = File::open(&image).unwrap();
    opinion(&scratch, &device.node, &["--write=same-bytes"], 0);
    let writer = fs::OpenOptions::new().write(true).open(&image).unwrap();
    let gate = opinion(&scratch, &device.node, &["--write=same-bytes"], 3);
    let words = format!("has the file behind {} open for writing", device.name());
    refused(&gate, "other programs", &words);
    drop((reader, writer));
    opinion(&scratch, &device.node, &["--write=same-bytes"], 0);
}

#[test]
fn swap_file_is_reported() {
    let Some(OnMount { scratch, device: _device, mount }) = OnMount::ext4(128) else { return };
    let swap = mount.text("swap");
    fs::write(&swap, vec![0; 16 * MIB]).unwrap();
    tool("chmod", &["600", &swap]).unwrap();
    tool("mkswap", &[&swap]).unwrap();
    let Some(upper) = Loop::attach(&swap, &[]) else { return };
    let Some(_) = or_skip(tool("swapon", &[&swap])) else { return };
    let ended =
        scratch.run(&upper.node, &[SMALL_SAMPLES, &["--dry-run", "--json", "--write=same-bytes"]]);
    tool("swapoff", &[&swap]).unwrap();
    let gate = ended.code(3).json()["gate"].clone();
    refused(&gate, "swap", &format!("the file behind {} is the swap file {swap}", upper.name()));
}

/// An overlay numbers its files itself: by these numbers, loop devices over it and over its layer have nothing in
/// common.
#[test]
fn overlay_file_equals_its_layers_file() {
    let Some(scratch) = privileged_scratch() else { return };
    for folder in ["lower", "upper", "work"] {
        fs::create_dir(scratch.path(folder)).unwrap();
    }
    fs::write(scratch.path("lower/image"), vec![0; 64 * MIB]).unwrap();
    let [lower, upper, work] = ["lower", "upper", "work"].map(|folder| scratch.text(folder));
    let layers = format!("lowerdir={lower},upperdir={upper},workdir={work}");
    let Some(merged) = Mount::new(&scratch, "overlay", &["-t", "overlay", "-o", &layers]) else {
        return;
    };
    let Some(over) = Loop::attach(&merged.text("image"), &[]) else { return };
    // It was copied up when it was opened.
    let Some(under) = Loop::attach(&format!("{upper}/image"), &[]) else { return };
    tool("mkfs.ext4", &["-q", "-F", &under.node]).unwrap();
    let point = scratch.text("data");
    fs::create_dir(&point).unwrap();
    for (mounted, target) in [(&under, &over), (&over, &under)] {
        tool("mount", &[&mounted.node, &point]).unwrap();
        let gate = opinion(&scratch, &target.node, &["--write=same-bytes"], 3);
        tool("umount", &[&point]).unwrap();
        let words = format!("{} (same bytes as {}) is mounted on", mounted.name(), target.name());
        refused(&gate, "mounts", &words);
        opinion(&scratch, &target.node, &["--write=same-bytes"], 0);
    }
    let writer = fs::OpenOptions::new().write(true).open(format!("{upper}/image")).unwrap();
    let gate = opinion(&scratch, &over.node, &["--write=same-bytes"], 3);
    refused(&gate, "other programs", &format!("the file behind {}", over.name()));
    drop(writer);
}
