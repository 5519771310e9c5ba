//! Ways to a target that do not show among the descriptors of processes, or lead by other nodes.

use super::gate::{SMALL_SAMPLES, opinion, refused};
use super::guards::{Loop, Mount, OnLoop, image_of_noise, tool};
use super::journal::{contents, journals, leave_open};
use super::list::add_partition;
use super::originals::{ENDLESS, WRITES};
use super::privileged_scratch;
use crate::support::json::{statuses, test_of, text};
use crate::support::{Scratch, wait_for};
use rustix::fs::{Advice, FlockOperation};
use rustix::mm::{MapFlags, ProtFlags};
use rustix::thread::UnshareFlags;
use std::fs::{self, File};
use std::os::unix::fs::{FileExt, MetadataExt};
use std::sync::mpsc::channel;

const MIB: usize = 1 << 20;

fn writable(path: &str) -> File {
    fs::OpenOptions::new().read(true).write(true).open(path).expect("it is ours")
}

struct Mapping(*mut std::ffi::c_void);

impl Mapping {
    fn of(path: &str) -> Self {
        let (file, access) = (writable(path), ProtFlags::READ | ProtFlags::WRITE);
        // SAFETY: a new mapping at an address of the kernel's choice, never read or written.
        let place = unsafe {
            rustix::mm::mmap(std::ptr::null_mut(), MIB, access, MapFlags::SHARED, &file, 0)
        };
        Self(place.expect("what is open can be mapped"))
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: made above, with that length.
        unsafe { rustix::mm::munmap(self.0, MIB) }.expect("it is ours");
    }
}

#[test]
fn program_with_only_a_mapping_is_reported() {
    let Some(OnLoop { scratch, device, image, .. }) = OnLoop::blank(64) else { return };
    let its_file = format!("the file behind {}", device.name());
    for (path, what) in [(&device.node, device.name()), (&image, &its_file)] {
        let mapping = Mapping::of(path);
        let gate = opinion(&scratch, &device.node, &["--write=same-bytes"], 3);
        refused(&gate, "other programs", &format!("has {what} mapped into its memory"));
        drop(mapping);
        opinion(&scratch, &device.node, &["--write=same-bytes"], 0);
    }
}

#[test]
fn thread_with_its_own_descriptors_is_reported() {
    let Some(OnLoop { scratch, device, .. }) = OnLoop::blank(64) else { return };
    let (node, (ready, is_ready), (end, ended)) = (device.node.clone(), channel(), channel::<()>());
    let thread = std::thread::spawn(move || {
        // SAFETY: the thread opens and closes its own file only.
        unsafe { rustix::thread::unshare_unsafe(UnshareFlags::FILES) }.expect("needs no right");
        let file = writable(&node);
        ready.send(()).unwrap();
        let _ = ended.recv();
        drop(file);
    });
    is_ready.recv().unwrap();
    let gate = opinion(&scratch, &device.node, &["--write=same-bytes"], 3);
    refused(&gate, "other programs", &format!("has {} open for writing", device.name()));
    drop(end);
    thread.join().unwrap();
    opinion(&scratch, &device.node, &["--write=same-bytes"], 0);
}

fn node_beside(scratch: &Scratch, node: &str) -> String {
    let number = fs::metadata(node).expect("it is there").rdev();
    let (major, minor) = (rustix::fs::major(number), rustix::fs::minor(number));
    let other = scratch.text("node");
    let made = tool("mknod", &[&other, "b", &major.to_string(), &minor.to_string()]);
    made.expect("root can make nodes");
    other
}

#[test]
fn additional_node_is_the_device() {
    let Some(OnLoop { scratch, device, image, .. }) = OnLoop::of_noise(64) else { return };
    let other = node_beside(&scratch, &device.node);
    let locked = File::open(&device.node).unwrap();
    rustix::fs::flock(&locked, FlockOperation::NonBlockingLockExclusive).unwrap();
    let gate = opinion(&scratch, &other, &["--write=same-bytes"], 3);
    refused(&gate, "lock", &format!("another program holds the lock on {}", device.node));
    drop(locked);
    opinion(&scratch, &other, &["--write=same-bytes"], 0);
    let memory = [("XDG_STATE_HOME", "/dev/shm")];
    let level = format!("--write=restore:{}:{}", device.name(), 64 * MIB);
    let call = scratch.run_call(&other, &[WRITES, &["--dry-run", &level]]);
    let call = memory.iter().fold(call, |call, (name, value)| call.env(name, value));
    let message = call.end().code(3).stderr;
    assert!(message.contains("cannot hold a restore journal"), "{message}");
    let before = contents(&device, &image);
    leave_open(&device.node, &journals(&scratch), 2, 1);
    scratch.drivescope(&["restore", "--journal", &other]).code(0);
    assert_eq!(fs::read_dir(journals(&scratch)).unwrap().count(), 0);
    assert!(contents(&device, &image) == before);
}

#[test]
fn swap_through_another_node_is_reported() {
    let Some(OnLoop { scratch, device, .. }) = OnLoop::with(64, "mkswap", &[]) else { return };
    let other = node_beside(&scratch, &device.node);
    if let Err(why) = tool("swapon", &[&other]) {
        return crate::support::skip_loudly(&why);
    }
    let ended =
        scratch.run(&device.node, &[SMALL_SAMPLES, &["--dry-run", "--json", "--write=same-bytes"]]);
    tool("swapoff", &[&other]).unwrap();
    let gate = ended.code(3).json()["gate"].clone();
    refused(&gate, "swap", &format!("{} is active swap", device.name()));
}

/// The claim of a loop device does not keep other programs from its file.
#[test]
#[ignore = "waits for ten seconds: CI and the soak"]
fn file_mounted_after_the_claim_is_not_written() {
    let Some(OnLoop { scratch, device, image, .. }) = OnLoop::ext4(64) else { return };
    let tests = ["--test=latency,align", "--set=latency.time=3s", "--rounds=1", "--json"];
    let stat = format!("/sys/block/{}/stat", device.name());
    let reads = || -> u64 {
        let numbers = fs::read_to_string(&stat).unwrap();
        numbers.split_whitespace().next().unwrap().parse().unwrap()
    };
    let before = reads();
    let running = scratch.run_call(&device.node, &[&tests, &["--write=same-bytes"]]).start();
    wait_for("the first test", || (reads() > before + 5000).then_some(()));
    let Some(other) = Loop::attach(&image, &[]) else { return };
    let Some(mount) = Mount::new(&scratch, &other.node, &[]) else { return };
    let ended = running.end().code(3);
    let run = ended.json();
    assert_eq!(statuses(&run), [("latency", "done"), ("align", "failed")]);
    let reason = text(&test_of(&run, "align")["reason"]);
    assert!(reason.contains(&format!("is mounted on {}", mount.point)), "{reason}");
}

/// Then the test ends, and nothing is changed under the mount.
#[test]
fn file_mounted_during_a_test_is_not_written() {
    let Some(OnLoop { scratch, device, image, .. }) = OnLoop::ext4(64) else { return };
    let before = contents(&device, &image);
    let level = format!("--write=restore:{}:{}", device.name(), 64 * MIB);
    let running = scratch.run_call(&device.node, &[WRITES, ENDLESS, &[&level]]).start();
    wait_for("patterns", || (fs::read(&image).unwrap() != before).then_some(()));
    let point = scratch.text("mounted");
    fs::create_dir(&point).unwrap();
    // A new, unused loop device is claimed by the next check, at most a second later.
    let other = (0..20).find_map(|_| {
        let other = Loop::attach(&image, &["--read-only"])?;
        tool("mount", &["-o", "ro,noload", &other.node, &point]).ok().map(|_| other)
    });
    let other = other.expect("attached and mounted between two looks");
    let ended = running.end();
    let patterns = fs::read(&image).unwrap();
    let journals = || fs::read_dir(journals(&scratch)).unwrap().count();
    let left = journals();
    let refused = scratch.drivescope(&["restore"]);
    tool("umount", &[&point]).unwrap();
    drop(other);
    let run = ended.code(3).json();
    assert_eq!(statuses(&run), [("transfer", "failed")]);
    let reason = text(&test_of(&run, "transfer")["reason"]);
    assert!(reason.contains(&format!("is mounted on {point}")), "{reason}");
    assert!(patterns != before && left == 1, "written under a file system: {reason}");
    refused.code(3);
    scratch.drivescope(&["restore"]).code(0);
    assert!(contents(&device, &image) == before && journals() == 0);
}

/// An open partition keeps its cached pages, also after the disk is restored.
#[test]
fn cached_patterns_are_dropped_after_the_restore() {
    let Some(scratch) = privileged_scratch() else { return };
    let image = image_of_noise(&scratch, 64);
    let before = fs::read(&image).unwrap();
    let Some(device) = Loop::attach(&image, &[]) else { return };
    let Some(_part) = add_partition(&device, 1, 2048, 122_880) else { return };
    let reader = File::open(format!("{}p1", device.node)).unwrap();
    let area = &before[24 * MIB..40 * MIB];
    let read = || {
        let mut bytes = vec![0; area.len()];
        reader.read_exact_at(&mut bytes, 23 << 20).unwrap();
        bytes
    };
    let level = format!("--write=restore:{}:{}", device.name(), 64 * MIB);
    let running = scratch.run_call(&device.node, &[WRITES, ENDLESS, &[&level]]).start();
    wait_for("patterns by way of the partition", || {
        rustix::fs::fadvise(&reader, 0, None, Advice::DontNeed).unwrap();
        (read() != area).then_some(())
    });
    running.interrupt();
    assert!(fs::read(&image).unwrap() == before, "the contents are not back");
    assert!(read() == area, "patterns are still seen by way of the partition");
}
