//! Free devices: every kind of device, in and out of containers, and what beside them does not matter.

use super::kinds::{KINDS, Kind, nvme};
use super::machine::{LEVELS, Machine, OVERWRITING, SIZE, allowed, check, refused};
use drivescope_model::WriteLevel;
use drivescope_model::gate::Outcome;
use rustix::io::Errno;

/// The target as the kernel gives it: it holds the members of its own array or volume.
fn blank(kind: &Kind) -> Machine {
    let machine = Machine::of(kind);
    if machine.fake.roots.block_dir("sde").unwrap().join("holders").exists() {
        machine.change("sde", |node| node.exclusive = Some(Errno::BUSY));
    }
    machine
}

type View = (&'static str, fn(Machine) -> Machine);

/// From where a machine is looked at.
const VIEWS: [View; 3] = [
    ("the host", |machine| machine),
    ("a container", Machine::in_container),
    ("a container with the host's processes", Machine::in_container_with_processes),
];

#[test]
fn blank_device_is_free_from_anywhere() {
    for kind in &KINDS {
        for (from, view) in VIEWS {
            println!("{} from {from}", kind.disk);
            let machine = view(blank(kind));
            machine.allows_all();
            allowed(&machine.examine(WriteLevel::SameBytes));
            allowed(&machine.examine(WriteLevel::Restore));
            let record = machine.examine(WriteLevel::Destroy);
            assert_eq!(record.refusals().count(), 1, "only the name is missing: {record:#?}");
        }
    }
}

#[test]
fn blank_partition_is_free_from_anywhere() {
    for kind in KINDS.iter().filter(|kind| kind.part != kind.disk) {
        for (from, view) in VIEWS {
            println!("{} from {from}", kind.part);
            let mut machine = blank(kind);
            machine.target = machine.with_part();
            machine.with_second_part();
            let machine = view(machine);
            for level in LEVELS {
                let record = machine.confirmed(level);
                allowed(&record);
                assert_eq!(check(&record, "siblings").outcome, Outcome::Ok);
            }
        }
    }
}

fn among_others(kind: &Kind) -> Machine {
    let machine = blank(kind);
    machine.with_part();
    machine.part("sdc", 1, (8, 33), (1 << 20, 8 << 20));
    machine.mounted("sdc1", "/data", "ext4");
    machine.upper("md0", (9, 0), &["sdc"], &[("md/level", "raid1")]);
    machine.loop_over(0, "/data/disk.img");
    machine.fake.file("sys/fs/ext4/features/x", "1");
    machine.fake.file("proc/fs/jbd2/sdc1-8/info", "1");
    machine.fake.file("proc/fs/nfsd/pool_stats", "1");
    machine.swap("/data/swap");
    machine.fake.file("proc/spl/kstat/zfs/tank/state", "ONLINE");
    machine.label_of_pool("dozer", true);
    machine.fake.attrs("sdc", &[("wwid", "naa.2")]);
    machine.fake.link("proc/812/fd/10", "/dev/sdc");
    machine
}

#[test]
fn unrelated_use_does_not_make_a_device_busy() {
    for kind in &KINDS {
        for (from, view) in VIEWS {
            println!("{} from {from}", kind.disk);
            let machine = view(among_others(kind));
            machine.allows_all();
        }
    }
}

/// A whole disk may be given to another machine while this one has found the volumes on it.
#[test]
fn exports_of_lower_devices_count() {
    for kind in &KINDS {
        let machine = blank(kind);
        machine.export("sde", true);
        let record = machine.confirmed(WriteLevel::SameBytes);
        if machine.fake.roots.block_dir("sde").unwrap().join("holders").exists() {
            refused(&record, "holders", "sde is exported by the kernel's NVMe target")
        } else {
            allowed(&record)
        }
    }
}

#[test]
fn loop_device_is_free_beside_the_system() {
    let machine = Machine::of(&KINDS[4]);
    assert_eq!(machine.report(WriteLevel::Destroy).missing_phrase(), Some(format!("loop5:{SIZE}")));
}

#[test]
fn file_mounted_elsewhere_is_in_use_in_containers() {
    let machine = Machine::of(&KINDS[4]);
    machine.loop_over(6, "/srv/disk.img");
    machine.mounted("loop6", "/data", "ext4");
    let machine = machine.in_container();
    let words = "ext4 on loop6 (same bytes as loop5)";
    refused(&machine.confirmed(WriteLevel::SameBytes), "file systems", words);
}

/// The claim of one loop device says nothing of another one, and nothing else shows this use.
#[test]
fn bytes_claimed_through_another_device_are_in_use() {
    let machine = Machine::of(&KINDS[4]);
    machine.loop_over(6, "/srv/disk.img");
    allowed(&machine.confirmed(WriteLevel::Destroy));
    for (errno, words) in [(Errno::BUSY, "is in use"), (Errno::PERM, "device rules")] {
        machine.change("loop6", |node| node.exclusive = Some(errno));
        machine.refuses(&LEVELS, "same bytes", "loop6 (same bytes as loop5) ");
        machine.refuses(&LEVELS, "same bytes", words);
    }
    // A path that has lost its drive has no users; inspection passes.
    machine.change("loop6", |node| node.exclusive = Some(Errno::NXIO));
    allowed(&machine.confirmed(WriteLevel::Destroy));
    machine.change("loop6", |node| (node.exclusive, node.busy_for) = (Some(Errno::BUSY), Some(2)));
    allowed(&machine.confirmed(WriteLevel::Destroy));
}

/// Erofs mounts a file without any loop device, and so do programs by FUSE, which only read it.
#[test]
fn mounted_file_is_in_use() {
    let machine = Machine::of(&KINDS[4]);
    machine.fake.file("srv/disk.img", "x");
    let image = machine.fake.path("srv/disk.img").display().to_string();
    machine.fake.attrs("loop5", &[("loop/backing_file", &image)]);
    allowed(&machine.confirmed(WriteLevel::SameBytes));
    for kind in ["erofs", "fuse.ext4"] {
        machine.mounts(&[&format!("9 1 0:70 / /ro ro - {kind} {image} ro")]);
        let words = format!("the file behind loop5 is mounted on /ro ({kind})");
        refused(&machine.confirmed(WriteLevel::SameBytes), "mounts", &words);
    }
    machine.mounts(&["9 1 0:70 / /ro ro - fuse.sshfs me@host:/srv/disk.img ro"]);
    allowed(&machine.confirmed(WriteLevel::SameBytes));
}

#[test]
fn another_namespace_of_a_drive_is_another_device() {
    let machine = Machine::of(&KINDS[1]);
    nvme(&machine, "nvme1n2", (259, 40), 2);
    machine.mounted("nvme1n2", "/", "ext4");
    machine.allows_all();
    let phrase = machine.report(WriteLevel::Destroy).missing_phrase();
    assert_eq!(phrase.as_deref(), Some("S5TEST:nvme1n1"), "one serial number, two devices");
}

#[test]
fn hidden_namespace_path_is_not_another_device() {
    let machine = Machine::of(&KINDS[1]);
    nvme(&machine, "nvme1c1n1", (259, 41), 1);
    machine.fake.attrs("nvme1c1n1", &[("hidden", "1")]);
    let phrase = machine.report(WriteLevel::Destroy).missing_phrase();
    assert_eq!(phrase.as_deref(), Some("S5TEST"));
    machine.allows_all();
}

/// A volume or an array on `sda2`, beside the system, another volume of the same group, and one of a group on `sda3`.
/// The kernel refuses to claim a held device.
fn beside_volumes(name: &'static str) -> Machine {
    let mut machine = Machine::new();
    machine.mapping(0, "vg-other", "LVM-x", &["sda2"]);
    match name {
        "dm-5" => machine.mapping(5, "vg-free", "LVM-y", &["sda2"]),
        _ => machine.upper(name, (9, 5), &["dm-0"], &[("md/level", "raid0")]),
    }
    machine.part("sda", 3, (8, 3), (600 << 20, 16 << 20));
    machine.mapping(9, "far-free", "LVM-z", &["sda3"]);
    for held in ["sda", "sda2", "sda3"] {
        machine.change(held, |node| node.exclusive = Some(Errno::BUSY));
    }
    if name == "md5" {
        machine.change("dm-0", |node| node.exclusive = Some(Errno::BUSY));
    }
    machine.target = name;
    machine.in_container()
}

#[test]
fn container_volume_is_free_on_an_unused_drive() {
    for target in ["dm-5", "md5"] {
        let machine = beside_volumes(target);
        machine.allows_all();
        let others: &[&str] =
            if target == "dm-5" { &["sda1", "dm-0", "dm-9"] } else { &["sda1", "dm-9"] };
        for other in others {
            let machine = beside_volumes(target);
            machine.change(other, |node| node.exclusive = Some(Errno::BUSY));
            allowed(&machine.confirmed(WriteLevel::SameBytes));
            let words = format!("{other} on sda is in use");
            machine.refuses(&OVERWRITING, "rest of the drive", &words);
        }
    }
}

#[test]
fn loop_device_on_a_free_partition_is_free() {
    let mut machine = Machine::new();
    machine.loop_over(9, "/dev/sda2");
    machine.target = "loop9";
    allowed(&machine.confirmed(WriteLevel::SameBytes));
    let record = machine.confirmed(WriteLevel::Destroy);
    refused(&record, "system", "sda holds the running system");
}

/// Loop devices hold nothing of what they lie straight on: its own claim decides.
#[test]
fn container_loop_device_on_used_disk_is_refused() {
    let mut machine = Machine::new();
    machine.loop_over(9, "/dev/sda2");
    machine.target = "loop9";
    let machine = machine.in_container();
    allowed(&machine.confirmed(WriteLevel::Destroy));
    machine.change("sda", |node| node.exclusive = Some(Errno::BUSY));
    let record = machine.confirmed(WriteLevel::Destroy);
    refused(&record, "rest of the drive", "something else on sda is in use");
}
