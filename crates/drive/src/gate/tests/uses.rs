//! Every way in which a device can be in use, seen from the host and from a container.

use super::machine::{LEVELS, Machine, SIZE, allowed, check, refused};
use drivescope_model::WriteLevel;
use drivescope_model::gate::Outcome;
use rustix::io::Errno;

/// A use: its name, how it comes about, the check that tells it and words of its evidence.
type Case = (&'static str, fn(&Machine), &'static str, &'static str);

/// Uses that `/sys` and `/proc/swaps` show in every container.
const VISIBLE_EVERYWHERE: &[Case] = &[
    (
        "a file system that was unmounted lazily",
        |m| {
            m.sdb1();
            m.fake.file("sys/fs/ext4/sdb1/lifetime_write_kbytes", "1");
        },
        "file systems",
        "ext4 on sdb1",
    ),
    (
        "xfs on the whole disk",
        |m| m.fake.file("sys/fs/xfs/sdb/error/x", "1"),
        "file systems",
        "xfs on sdb",
    ),
    (
        "one of two devices of a btrfs",
        |m| {
            m.sdb1();
            m.fake.file("sys/fs/btrfs/0b-1/devices/sdb1/size", "1");
            m.fake.file("sys/fs/btrfs/0b-1/devices/sdc/size", "1");
        },
        "file systems",
        "btrfs on sdb1",
    ),
    (
        "a swap partition",
        |m| {
            m.sdb1();
            m.fake.file(
                "proc/swaps",
                "Filename Type Size Used Priority\n/dev/sdb1 partition 8 0 -2\n",
            );
        },
        "swap",
        "sdb1 is a swap area",
    ),
    (
        "a logical volume on a partition",
        |m| {
            m.sdb1();
            let attrs = [("dm/name", "vg-data"), ("dm/uuid", "LVM-abc")];
            m.upper("dm-0", (253, 0), &["sdb1"], &attrs);
        },
        "holders",
        "dm-0 (vg-data) on sdb1: an active logical volume",
    ),
    (
        "an open LUKS volume on the disk",
        |m| {
            let attrs = [("dm/name", "secret"), ("dm/uuid", "CRYPT-LUKS2-abc-secret")];
            m.upper("dm-0", (253, 0), &["sdb"], &attrs);
        },
        "holders",
        "dm-0 (secret) on sdb: an open encrypted volume",
    ),
    (
        "a device-mapper device of another kind",
        |m| m.upper("dm-0", (253, 0), &["sdb"], &[("dm/name", "snap"), ("dm/uuid", "")]),
        "holders",
        "a device-mapper device",
    ),
    (
        "a path of a multipath device",
        |m| {
            let attrs = [("dm/name", "mpatha"), ("dm/uuid", "mpath-3600a")];
            m.upper("dm-0", (253, 0), &["sdb", "sdc"], &attrs);
        },
        "holders",
        "a multipath device",
    ),
    (
        "a member of an array",
        |m| m.upper("md0", (9, 0), &["sdb", "sdc"], &[("md/level", "raid1")]),
        "holders",
        "md0 on sdb: an md array (raid1)",
    ),
    (
        "a logical volume on an array on partitions",
        |m| {
            m.sdb1();
            m.upper("md0", (9, 0), &["sdb1", "sdc"], &[("md/level", "raid5")]);
            m.upper("dm-3", (253, 3), &["md0"], &[("dm/uuid", "LVM-x"), ("dm/name", "vg-lv")]);
        },
        "holders",
        "dm-3 (vg-lv) on md0",
    ),
    (
        "the backing device of a bcache",
        |m| m.upper("bcache0", (252, 0), &["sdb"], &[]),
        "holders",
        "bcache0 on sdb: a bcache device",
    ),
    (
        "a caching device of bcache without a backing device",
        |m| m.fake.file("sys/class/block/sdb/bcache/cache_replacement_policy", "lru"),
        "holders",
        "sdb is registered with bcache",
    ),
    (
        "a holder of a kind nobody knows",
        |m| m.upper("drbd0", (147, 0), &["sdb"], &[]),
        "holders",
        "drbd0 on sdb: built on it",
    ),
    (
        "a loop device straight on a partition",
        |m| {
            m.sdb1();
            m.upper("loop0", (7, 0), &[], &[("loop/backing_file", "/dev/sdb1")]);
        },
        "loop devices",
        "loop0 lies on sdb1",
    ),
    (
        "the other path to the same drive",
        |m| {
            m.fake.attrs("sdb", &[("wwid", "naa.5000c500a")]);
            m.fake.attrs("sdc", &[("wwid", "naa.5000c500a")]);
            m.fake.file("sys/fs/xfs/sdc/error/x", "1");
        },
        "file systems",
        "sdc, which reports to be the same drive as sdb",
    ),
];

/// Uses that only the host's mount tables and processes show.
const VISIBLE_ON_THE_HOST: &[Case] = &[
    (
        "a mounted partition",
        |m| {
            m.sdb1();
            m.mounts(&["2 1 8:17 / /data rw - ext4 /dev/sdb1 rw"]);
        },
        "mounts",
        "sdb1 is mounted on /data (ext4)",
    ),
    (
        "the mounted disk itself",
        |m| m.mounts(&["2 1 8:16 / /media/My\\040Stick rw - vfat /dev/sdb rw"]),
        "mounts",
        "sdb is mounted on /media/My Stick (vfat)",
    ),
    (
        "ntfs through FUSE",
        |m| {
            m.sdb1();
            m.mounts(&["2 1 8:17 / /win rw - fuseblk /dev/sdb1 rw"]);
        },
        "mounts",
        "sdb1 is mounted on /win",
    ),
    (
        "a mount in another namespace only",
        |m| {
            m.sdb1();
            m.fake.file("proc/812/mountinfo", "5 1 8:17 / /srv rw - ext4 /dev/sdb1 rw\n");
        },
        "mounts",
        "sdb1 is mounted on /srv (ext4) for process 812",
    ),
    (
        "a mount that only the first process sees",
        |m| m.fake.file("proc/1/mountinfo", "5 1 8:16 / /srv rw - xfs /dev/sdb rw\n"),
        "mounts",
        "for process 1",
    ),
    (
        "a btrfs that is mounted by its other device",
        |m| {
            m.fake.file("sys/fs/btrfs/0b-1/devices/sdb/size", "1");
            m.fake.file("sys/fs/btrfs/0b-1/devices/sdc/size", "1");
            m.mounts(&["2 1 0:40 /@ /data rw - btrfs /dev/sdc rw"]);
        },
        "mounts",
        "sdb is mounted on /data (btrfs)",
    ),
    (
        "a mounted logical volume",
        |m| {
            m.upper("dm-0", (253, 0), &["sdb"], &[("dm/uuid", "LVM-x"), ("dm/name", "vg-lv")]);
            m.mounts(&["2 1 253:0 / /data rw - ext4 /dev/mapper/vg-lv rw"]);
        },
        "mounts",
        "dm-0 (vg-lv) on sdb is mounted on /data",
    ),
    (
        "a mounted pool",
        |m| {
            m.fake.file("run/udev/data/b8:16", "E:ID_FS_TYPE=zfs_member\nE:ID_FS_LABEL=tank\n");
            m.mounts(&["2 1 0:41 / /tank rw - zfs tank rw"]);
        },
        "mounts",
        "sdb is mounted on /tank (zfs)",
    ),
    (
        "an imported pool without mounts",
        |m| {
            m.sdb1();
            m.fake.file("run/udev/data/b8:17", "E:ID_FS_TYPE=zfs_member\nE:ID_FS_LABEL=tank\n");
            m.fake.file("proc/spl/kstat/zfs/tank/state", "ONLINE");
        },
        "pools",
        "sdb1 belongs to the imported ZFS pool tank",
    ),
    (
        "a loop device whose file lies on it",
        |m| {
            m.sdb1();
            m.mounts(&["2 1 8:17 / /data rw - ext4 /dev/sdb1 rw"]);
            m.upper("loop0", (7, 0), &[], &[("loop/backing_file", "/data/disk.img")]);
        },
        "loop devices",
        "the file of loop0 lies on sdb1: /data/disk.img",
    ),
    (
        "a swap file on it",
        |m| {
            m.mounts(&["2 1 8:16 / /data rw - ext4 /dev/sdb rw"]);
            m.fake.file("proc/swaps", "Filename Type Size Used Priority\n/data/swap file 8 0 -2\n");
        },
        "mounts",
        "sdb is mounted on /data",
    ),
    (
        "a program that writes to it",
        |m| {
            m.fake.file("proc/812/comm", "qemu");
            m.fake.link("proc/812/fd/9", m.fake.roots.node("gate-absent"));
            m.fake.link("proc/812/fd/10", "/dev/sdb");
            m.fake.file("proc/812/fdinfo/10", "pos:\t0\nflags:\t02100002\n");
        },
        "other programs",
        "qemu (process 812) has sdb open for writing",
    ),
];

#[test]
fn every_use_is_refused_at_every_level_with_and_without_the_kernels_claim() {
    for (name, make, by, words) in VISIBLE_EVERYWHERE.iter().chain(VISIBLE_ON_THE_HOST) {
        let machine = Machine::new();
        make(&machine);
        for level in LEVELS {
            println!("{name}: {level:?}");
            // The tables alone must be enough: claims have holes of their own.
            refused(&machine.confirmed(level), by, words);
            machine.change("sdb", |node| node.exclusive = Some(Errno::BUSY));
            let record = machine.confirmed(level);
            refused(&record, by, words);
            refused(&record, "claim", "in use");
            machine.change("sdb", |node| node.exclusive = None);
        }
    }
}

#[test]
fn in_a_container_sysfs_or_the_kernels_claim_refuses_every_use() {
    for (name, make, by, words) in VISIBLE_EVERYWHERE {
        let machine = Machine::new();
        make(&machine);
        let machine = machine.in_container();
        println!("{name}");
        refused(&machine.confirmed(WriteLevel::SameBytes), by, words);
    }
    for (name, make, ..) in VISIBLE_ON_THE_HOST.iter().filter(|case| case.2 != "other programs") {
        let machine = Machine::new();
        make(&machine);
        let machine = machine.in_container();
        machine.change("sdb", |node| node.exclusive = Some(Errno::BUSY));
        println!("{name}");
        refused(&machine.confirmed(WriteLevel::SameBytes), "claim", "in use");
    }
}

#[test]
fn a_use_that_nobody_shows_is_refused_and_said_to_be_hidden() {
    let machine = Machine::new().in_container();
    machine.change("sdb", |node| node.exclusive = Some(Errno::BUSY));
    refused(&machine.confirmed(WriteLevel::Destroy), "claim", "not visible here");
}

#[test]
fn a_blank_disk_is_free_on_the_host_and_in_a_container() {
    for machine in [Machine::new(), Machine::new().in_container()] {
        for level in LEVELS {
            allowed(&machine.confirmed(level));
        }
        allowed(&machine.examine(WriteLevel::SameBytes));
        allowed(&machine.examine(WriteLevel::Restore));
    }
}

#[test]
fn what_others_use_does_not_make_a_disk_busy() {
    let machine = Machine::new();
    machine.sdb1();
    machine.part("sdc", 1, (8, 33), (1 << 20, 8 << 20));
    machine.mounts(&["2 1 8:33 / /data rw - ext4 /dev/sdc1 rw"]);
    machine.upper("md0", (9, 0), &["sdc"], &[("md/level", "raid1")]);
    machine.upper("loop0", (7, 0), &[], &[("loop/backing_file", "/data/disk.img")]);
    machine.fake.file("sys/fs/ext4/sdc1/x", "1");
    machine.fake.file("sys/fs/ext4/features/x", "1");
    machine.fake.file("proc/swaps", "Filename Type\n/dev/sda2 partition 8 0 -2\n");
    machine.fake.file("proc/spl/kstat/zfs/tank/state", "ONLINE");
    machine.fake.attrs("sdb", &[("wwid", "naa.1")]);
    machine.fake.attrs("sdc", &[("wwid", "naa.2")]);
    machine.fake.link("proc/812/fd/10", "/dev/sdc");
    for level in LEVELS {
        allowed(&machine.confirmed(level));
    }
}

#[test]
fn the_disk_of_the_running_system_is_never_overwritten() {
    for (place, name) in [("/", "sda"), ("/boot", "sdb"), ("/usr", "sdb")] {
        let mut machine = Machine::new();
        machine.target = name;
        machine.sdb1();
        machine.mounts(&[&format!("2 1 8:17 / {place} rw - ext4 /dev/sdb1 rw")]);
        if place == "/" {
            machine.mounts(&[]);
        }
        for level in [WriteLevel::Restore, WriteLevel::Destroy] {
            refused(&machine.confirmed(level), "system", "no override");
            refused(&machine.confirmed(level), "places", place);
        }
    }
}

#[test]
fn a_free_partition_beside_the_system_takes_only_its_own_bytes() {
    let mut machine = Machine::new();
    machine.target = "sda2";
    let record = machine.examine(WriteLevel::SameBytes);
    allowed(&record);
    assert!(check(&record, "system").evidence.contains("carries the running system"));
    assert_eq!(check(&record, "siblings").outcome, Outcome::Unknown);
    assert!(check(&record, "siblings").evidence.contains("sda1"));
    for level in [WriteLevel::Restore, WriteLevel::Destroy] {
        refused(&machine.confirmed(level), "system", "sda carries the running system");
    }
}

/// A target below which the system lies, as a container sees it: `sda2`, and a volume on it.
fn beside_the_hidden_system(is_volume: bool) -> Machine {
    let mut machine = Machine::new();
    machine.target = "sda2";
    if is_volume {
        machine.upper("dm-0", (253, 0), &["sda2"], &[("dm/uuid", "LVM-x"), ("dm/name", "vg-free")]);
        machine.target = "dm-0";
    }
    machine.in_container()
}

#[test]
fn beside_a_system_that_cannot_be_seen_nothing_is_overwritten() {
    for (is_volume, busy) in [(false, Errno::BUSY), (true, Errno::BUSY), (false, Errno::NOENT)] {
        let machine = beside_the_hidden_system(is_volume);
        // What hides the system shows other uses: swap of the host, and a volume of it.
        machine.fake.file("proc/swaps", "Filename Type\n/dev/sdc partition 8 0 -2\n");
        machine.change("sda", |node| node.exclusive = Some(busy));
        allowed(&machine.confirmed(WriteLevel::SameBytes));
        for level in [WriteLevel::Restore, WriteLevel::Destroy] {
            refused(&machine.confirmed(level), "rest of the drive", "from the host");
        }
    }
    for is_volume in [false, true] {
        let machine = beside_the_hidden_system(is_volume);
        allowed(&machine.confirmed(WriteLevel::Destroy));
    }
}

#[test]
fn without_the_mounts_of_the_first_process_the_system_is_hidden_too() {
    let mut machine = Machine::new();
    machine.sdb1();
    machine.target = "sdb1";
    machine.change("sdb", |node| node.exclusive = Some(Errno::BUSY));
    allowed(&machine.confirmed(WriteLevel::Destroy));
    std::fs::remove_file(machine.fake.path("proc/1/mountinfo")).unwrap();
    refused(&machine.confirmed(WriteLevel::Destroy), "rest of the drive", "not root");
}

#[test]
fn a_sibling_that_another_container_has_mounted_is_told() {
    let machine = beside_the_hidden_system(false);
    machine.fake.file("sys/fs/ext4/sda1/x", "1");
    let record = machine.examine(WriteLevel::SameBytes);
    assert!(check(&record, "siblings").evidence.contains("sda1"), "{record:#?}");
    allowed(&record);
}

#[test]
fn swap_and_the_running_program_are_part_of_the_system() {
    let machine = Machine::new();
    machine.fake.file("proc/swaps", "Filename Type\n/dev/sdb partition 8 0 -2\n");
    refused(&machine.confirmed(WriteLevel::Destroy), "system", "sdb");
    let machine = Machine::new();
    let home = machine.fake.path("").canonicalize().unwrap();
    machine.mounts(&[&format!("2 1 8:16 / {} rw - ext4 /dev/sdb rw", home.display())]);
    machine.fake.file("program", "");
    machine.fake.link("proc/self/exe", machine.fake.path("program"));
    let record = machine.confirmed(WriteLevel::Restore);
    refused(&record, "system", "sdb");
    refused(&record, "places", "this program");
}

#[test]
fn the_store_and_the_journal_must_lie_elsewhere() {
    let mut machine = Machine::new();
    let home = machine.fake.path("").canonicalize().unwrap();
    machine.own.store = Some(home.join("not/yet/there/runs.db"));
    machine.own.journal = Some(home.join("journal"));
    allowed(&machine.examine(WriteLevel::Restore));
    assert!(check(&machine.examine(WriteLevel::Restore), "journal").evidence.contains("sda1"));
    machine.mounts(&[&format!("2 1 8:16 / {} rw - ext4 /dev/sdb rw", home.display())]);
    let record = machine.confirmed(WriteLevel::Restore);
    refused(&record, "places", "the store of runs");
    refused(&record, "places", "the restore journal");
    refused(&record, "journal", "lies on sdb too");
}

#[test]
fn a_loop_device_is_free_although_its_file_lies_on_the_system_disk() {
    let mut machine = Machine::new();
    machine.upper("loop0", (7, 0), &[], &[("loop/backing_file", "/srv/disk.img")]);
    machine.target = "loop0";
    for level in LEVELS {
        allowed(&machine.confirmed(level));
    }
    assert_eq!(machine.report(WriteLevel::Destroy).missing_phrase(), Some(format!("loop0:{SIZE}")));
}

#[test]
fn a_logical_volume_on_the_system_disk_is_part_of_it() {
    let mut machine = Machine::new();
    machine.upper("dm-0", (253, 0), &["sda2"], &[("dm/uuid", "LVM-x"), ("dm/name", "vg-free")]);
    machine.target = "dm-0";
    allowed(&machine.examine(WriteLevel::SameBytes));
    refused(&machine.confirmed(WriteLevel::Destroy), "system", "carries the running system");
}

#[test]
fn processes_that_hide_their_mounts_are_told() {
    let machine = Machine::new();
    // A directory where the file should be cannot be read as one, not even by root.
    std::fs::remove_file(machine.fake.path("proc/1/mountinfo")).unwrap();
    machine.fake.file("proc/1/mountinfo/x", "");
    let record = machine.examine(WriteLevel::SameBytes);
    assert_eq!(check(&record, "mounts").outcome, Outcome::Unknown);
    assert!(check(&record, "mounts").evidence.contains("1 processes do not show theirs"));
    allowed(&record);
}
