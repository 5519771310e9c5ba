//! What a container does not show: the gate from namespaces of its own, on real loop devices.

use super::gate::{SMALL_SAMPLES, blank, refusals, refused};
use super::guards::{Loop, Mount, OnLoop, OnMount, or_skip, tool};
use super::is_privileged;
use super::list::add_partition;
use crate::support::{Call, Scratch, skip_loudly, wait_for};
use serde_json::Value;
use std::fs;

const MIB: u64 = 1 << 20;
const NAMESPACES: [&str; 4] = ["--mount", "--pid", "--fork", "--mount-proc"];

fn has_containers() -> bool {
    if !is_privileged() {
        return false;
    }
    let made = tool("unshare", &[&NAMESPACES[..], &["true"]].concat());
    made.map_err(|why| skip_loudly(&why)).is_ok()
}

fn scratch_with_containers() -> Option<Scratch> {
    has_containers().then(Scratch::new)
}

/// Runs the program in its own namespaces. Mounts of loop devices are removed from its mount table, also those of other
/// tests, which a copy of the table would keep busy.
fn within(scratch: &Scratch, arguments: &[&str]) -> Call {
    let program = env!("CARGO_BIN_EXE_drivescope");
    let script = format!(
        "grep ^/dev/loop /proc/mounts | while read -r device point rest; do umount $point; done; \
         exec {program} \"$@\""
    );
    let options = [&["sh", "-c", &script, "sh", "run", "--dry-run", "--json"], arguments].concat();
    Call::new("unshare")
        .arguments(&[&NAMESPACES[..], &options].concat())
        .with_home(&scratch.path("home"))
}

/// The refusal of the gate at `same-bytes`.
fn opinion_within(scratch: &Scratch, node: &str) -> Value {
    let arguments = [&[node, "--write=same-bytes"], SMALL_SAMPLES].concat();
    let ended = within(scratch, &arguments).end();
    ended.code(3).json()["gate"].clone()
}

fn refusing(gate: &Value) -> Vec<String> {
    let mut names: Vec<String> = refusals(gate).into_iter().map(|(name, _)| name).collect();
    names.dedup();
    names
}

#[test]
fn container_free_partition_keeps_its_contents() {
    let Some(scratch) = scratch_with_containers() else { return };
    let Some(device) = blank(&scratch, 128, &["--partscan"]) else { return };
    let Some(_first) = add_partition(&device, 1, 2048, 64 * MIB / 512) else { return };
    let Some(_second) = add_partition(&device, 2, 2048 + 64 * MIB / 512, 32 * MIB / 512) else {
        return;
    };
    let (first, second) = (format!("{}p1", device.node), format!("{}p2", device.node));
    tool("mkfs.ext4", &["-q", "-F", &first]).unwrap();
    let Some(mount) = Mount::new(&scratch, &first, &[]) else { return };
    let phrase = format!("--destroy={}p2:{}", device.name(), 32 * MIB);
    let here = |level: &str| within(&scratch, &[&second, level]).end();
    let gate = here(&phrase).code(3).json()["gate"].clone();
    assert_eq!(refusing(&gate), ["rest of the drive"], "{gate}");
    here("--write=same-bytes").code(0);
    // The machine itself knows what lies beside it.
    scratch.run(&second, &[&["--dry-run", &phrase]]).code(0);
    // With the whole disk free there is nothing that could be hidden on it.
    drop(mount);
    wait_for("the disk to be free as a whole", || {
        (within(&scratch, &[&second, &phrase]).end().exit_code() == Some(0)).then_some(())
    });
}

#[test]
fn container_blank_device_is_free_at_every_level() {
    if !has_containers() {
        return;
    }
    let Some(OnLoop { device, scratch, destroy, .. }) = OnLoop::blank(64) else { return };
    for level in ["--write=same-bytes", "--write=restore", &destroy] {
        within(&scratch, &[&device.node, level]).end().code(0);
    }
}

#[test]
fn container_host_mount_shows_by_its_file_system() {
    if !has_containers() {
        return;
    }
    for (mkfs, options, kind) in
        [("mkfs.ext4", &["-q", "-F"][..], "ext4"), ("mkfs.btrfs", &["-q"], "btrfs")]
    {
        let Some(OnMount { scratch, device, mount: _mount }) = OnMount::with(256, mkfs, options)
        else {
            return;
        };
        let gate = opinion_within(&scratch, &device.node);
        refused(&gate, "file systems", &format!("{kind} on {}", device.name()));
        assert_eq!(refusing(&gate), ["claim", "file systems"], "{gate}");
    }
}

/// The kernel shows squashfs only in the mount table.
#[test]
fn container_hidden_mount_is_refused_by_the_claim() {
    let Some(scratch) = scratch_with_containers() else { return };
    let image = scratch.text("image");
    let Some(_) =
        or_skip(tool("mksquashfs", &[&scratch.target(), &image, "-quiet", "-no-progress"]))
    else {
        return;
    };
    fs::OpenOptions::new().write(true).open(&image).unwrap().set_len(64 * MIB).unwrap();
    let Some(device) = Loop::attach(&image, &[]) else { return };
    let Some(_mount) = Mount::new(&scratch, &device.node, &["-t", "squashfs", "-o", "ro"]) else {
        return;
    };
    let gate = opinion_within(&scratch, &device.node);
    refused(&gate, "claim", "something not visible here");
    assert_eq!(refusing(&gate), ["claim"], "{gate}");
}

#[test]
fn container_host_swap_is_reported() {
    if !has_containers() {
        return;
    }
    let Some(OnLoop { device, scratch, .. }) = OnLoop::with(64, "mkswap", &[]) else { return };
    let Some(_) = or_skip(tool("swapon", &[&device.node])) else { return };
    let ended =
        within(&scratch, &[&[&device.node, "--write=same-bytes"], SMALL_SAMPLES].concat()).end();
    tool("swapoff", &[&device.node]).unwrap();
    let gate = ended.code(3).json()["gate"].clone();
    refused(&gate, "swap", device.name());
    refused(&gate, "claim", "in use");
}

/// A swap file, and a file behind a loop device: the kernel's path leads nowhere in the container, but their file
/// system is open.
#[test]
fn container_files_in_use_are_reported() {
    if !has_containers() {
        return;
    }
    let Some(OnMount { scratch, device, mount }) = OnMount::ext4(128) else { return };
    let file = |name: &str| {
        fs::write(mount.text(name), vec![0; 16 << 20]).unwrap();
        mount.text(name)
    };
    let swap = file("swap");
    tool("chmod", &["600", &swap]).unwrap();
    tool("mkswap", &[&swap]).unwrap();
    let Some(_) = or_skip(tool("swapon", &[&swap])) else { return };
    let upper = Loop::attach(&file("disk"), &[]);
    let inside =
        within(&scratch, &[&[&device.node, "--write=same-bytes"], SMALL_SAMPLES].concat()).end();
    let on_host =
        scratch.run(&device.node, &[SMALL_SAMPLES, &["--dry-run", "--json", "--write=same-bytes"]]);
    tool("swapoff", &[&swap]).unwrap();
    let Some(upper) = upper else { return };
    let gate = inside.code(3).json()["gate"].clone();
    refused(&gate, "file systems", &format!("ext4 on {}", device.name()));
    assert_eq!(refusing(&gate), ["claim", "file systems"], "{gate}");
    let gate = on_host.code(3).json()["gate"].clone();
    refused(&gate, "swap", &format!("{} holds the swap file {swap}", device.name()));
    refused(
        &gate,
        "loop devices",
        &format!("the file behind {} is on {}", upper.name(), device.name()),
    );
}

/// A cgroup that may not open a device, as in a container without it.
struct DeviceRules {
    folder: String,
}

impl DeviceRules {
    /// Denies `device`; prints a note if the kernel has no such groups (cgroups version 1).
    fn deny(device: &Loop) -> Option<Self> {
        // A killed test leaves its group behind.
        let folder =
            format!("/sys/fs/cgroup/devices/drivescope-{}-{}", device.name(), std::process::id());
        let number = fs::read_to_string(format!("/sys/block/{}/dev", device.name()))
            .expect("the device is ours");
        let made = fs::create_dir(&folder).map_err(|error| format!("{folder}: {error}"));
        made.map_err(|why| skip_loudly(&why)).ok()?;
        let rules = Self { folder };
        fs::write(format!("{}/devices.deny", rules.folder), format!("b {} rwm", number.trim()))
            .expect("the group is ours");
        Some(rules)
    }
}

impl Drop for DeviceRules {
    fn drop(&mut self) {
        if let Err(error) = fs::remove_dir(&self.folder) {
            eprintln!("left behind: {}: {error}", self.folder);
        }
    }
}

#[test]
fn device_denied_by_a_container_is_reported() {
    let Some(OnLoop { device, scratch, .. }) = OnLoop::blank(64) else { return };
    let Some(rules) = DeviceRules::deny(&device) else { return };
    let program = env!("CARGO_BIN_EXE_drivescope");
    let script = format!("echo $$ > {}/cgroup.procs; exec {program} \"$@\"", rules.folder);
    let message = Call::new("sh")
        .arguments(&["-c", &script, "sh", "run", &device.node, "--dry-run", "--write=same-bytes"])
        .with_home(&scratch.path("home"))
        .end()
        .refused(2);
    assert!(message.contains("the container's device rules (cgroup)"), "{message}");
    assert!(!message.contains("sudo"), "{message}");
}
