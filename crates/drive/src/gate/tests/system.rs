//! The running system, what this program keeps, and what lies beside them on the same drive.

use super::kinds::KINDS;
use super::machine::{Machine, OVERWRITING, allowed, check, refused};
use drivescope_model::WriteLevel;
use drivescope_model::gate::Outcome;
use rustix::io::Errno;

#[test]
fn disk_of_the_running_system_is_protected() {
    for (place, name) in [("/", "sda"), ("/boot", "sdb"), ("/usr", "sdb")] {
        let mut machine = Machine::new();
        machine.target = name;
        machine.sdb1();
        if place != "/" {
            machine.mounts(&[&format!("2 1 8:17 / {place} rw - ext4 /dev/sdb1 rw")]);
        }
        machine.refuses(&OVERWRITING, "system", "no option overrides this");
        machine.refuses(&OVERWRITING, "places", place);
    }
}

#[test]
fn free_partition_beside_the_system_takes_its_bytes() {
    let mut machine = Machine::new();
    machine.target = "sda2";
    let record = machine.examine(WriteLevel::SameBytes);
    allowed(&record);
    assert!(check(&record, "system").evidence.contains("holds the running system"));
    assert_eq!(check(&record, "siblings").outcome, Outcome::Unknown);
    assert!(check(&record, "siblings").evidence.contains("sda1"));
    machine.refuses(&OVERWRITING, "system", "sda holds the running system");
}

/// The kernel names it so when it mounts the root itself, and a btrfs has no number of its own in the table.
#[test]
fn btrfs_mounted_by_the_kernel_is_the_system() {
    let mut machine = Machine::new();
    machine.target = "sda2";
    let table = "1 0 0:30 / / rw - btrfs /dev/root rw,subvolid=5\n";
    machine.fake.mounts(&[table.trim_end()]);
    machine.fake.file("proc/1/mountinfo", table);
    machine.fake.file("sys/fs/btrfs/features/x", "1");
    machine.fake.file("sys/fs/btrfs/0b-1/devices/sda1/size", "1");
    refused(&machine.confirmed(WriteLevel::Destroy), "system", "sda holds the running system");
    machine.target = "sda1";
    refused(&machine.confirmed(WriteLevel::SameBytes), "mounts", "sda1 is mounted on /");
}

/// A second btrfs does not hide which of them is the root.
#[test]
fn beside_another_btrfs_the_system_is_found_too() {
    let root = "1 0 0:30 / / rw - btrfs /dev/root rw,subvolid=5";
    let other = "2 1 0:31 / /data rw - btrfs /dev/sdc rw,subvolid=5";
    let volume = "3 1 0:30 /@home /home rw - btrfs /dev/sda1 rw,subvolid=257";
    // If no other mount identifies either, both may be it.
    for (lines, of_other) in
        [(vec![root, other], false), (vec![root, volume], false), (vec![root], true)]
    {
        let mut machine = Machine::new();
        machine.part("sdc", 2, (8, 34), (40 << 20, 16 << 20));
        for (id, device) in [("0b-1", "sda1"), ("0b-2", "sdc")] {
            machine.fake.file(&format!("sys/fs/btrfs/{id}/devices/{device}/size"), "1");
        }
        machine.fake.mounts(&lines);
        machine.fake.file("proc/1/mountinfo", lines.join("\n"));
        machine.target = "sda2";
        refused(&machine.confirmed(WriteLevel::Destroy), "system", "sda holds the running system");
        machine.target = "sdc2";
        let report = machine.confirmed(WriteLevel::Destroy);
        assert_eq!(check(&report, "system").outcome == Outcome::Refused, of_other, "{lines:?}");
    }
}

/// A volume of ZFS shows nothing below it but its name, by udev's link.
#[test]
fn system_pool_volume_is_on_its_drive() {
    for (of_pool, root, level, by, words) in [
        ("sda", "zfs rpool/root", WriteLevel::Destroy, "system", "sda holds the running system"),
        ("sdc", "ext4 /dev/sda1", WriteLevel::Restore, "journal", "is also on sdc"),
    ] {
        let mut machine = Machine::new();
        machine.disk_at("virtual/block/zd16", (230, 16));
        machine.target = "zd16";
        let home = machine.fake.path("").canonicalize().unwrap();
        let number = if root.starts_with("zfs") { "0:30" } else { "8:1" };
        let lines = [
            format!("1 0 {number} / / rw - {root} rw"),
            format!("2 1 0:41 / {} rw - zfs rpool/state rw", home.display()),
        ];
        machine.fake.mounts(&[&lines[0], &lines[1]]);
        machine.fake.file("proc/1/mountinfo", lines.join("\n"));
        let number = machine.fake.roots.block_number(of_pool).unwrap();
        let known = "E:ID_FS_TYPE=zfs_member\nE:ID_FS_LABEL=rpool\n";
        machine.fake.file(&format!("run/udev/data/b{}:{}", number.0, number.1), known);
        let links = "S:zvol/tank/vm\nS:disk/by-id/x\n";
        machine.fake.file("run/udev/data/b230:16", links);
        assert_ne!(check(&machine.confirmed(level), by).outcome, Outcome::Refused, "another pool");
        machine.fake.file("run/udev/data/b230:16", links.replace("tank", "rpool"));
        refused(&machine.confirmed(level), by, words);
        allowed(&machine.confirmed(WriteLevel::SameBytes));
    }
}

/// A machine without multipath, where the drive of the system has another name as well.
fn on_another_path() -> Machine {
    let mut machine = Machine::new();
    for name in ["sda", "sdb"] {
        machine.fake.attrs(name, &[("wwid", "naa.5000c500a")]);
    }
    machine.part("sdb", 2, (8, 18), (512 << 20, 16 << 20));
    machine.target = "sdb2";
    machine
}

#[test]
fn system_drive_is_recognized_on_any_path() {
    let machine = on_another_path();
    allowed(&machine.examine(WriteLevel::SameBytes));
    machine.refuses(&OVERWRITING, "system", "sda holds the running system");
    refused(&machine.confirmed(WriteLevel::Restore), "journal", "is also on sda");
    let machine = on_another_path().in_container();
    machine.change("sda", |node| node.exclusive = Some(Errno::BUSY));
    machine.refuses(&OVERWRITING, "rest of the drive", "run on the host");
}

/// A target below which the system lies, as a container sees it: `sda2`, and a volume on it.
fn beside_the_hidden_system(is_volume: bool) -> Machine {
    let mut machine = Machine::new();
    machine.target = "sda2";
    if is_volume {
        machine.mapping(0, "vg-free", "LVM-x", &["sda2"]);
        machine.target = "dm-0";
    }
    machine.in_container()
}

#[test]
fn invisible_system_blocks_overwriting() {
    for (is_volume, busy) in [(false, Errno::BUSY), (true, Errno::BUSY), (false, Errno::NOENT)] {
        let machine = beside_the_hidden_system(is_volume);
        // What hides the system shows other uses: swap of the host, and a volume of it.
        machine.fake.file("proc/swaps", "Filename Type\n/dev/sdc partition 8 0 -2\n");
        for name in ["sda", "sda1"] {
            machine.change(name, |node| node.exclusive = Some(busy));
        }
        allowed(&machine.confirmed(WriteLevel::SameBytes));
        machine.refuses(&OVERWRITING, "rest of the drive", "run on the host");
    }
    for is_volume in [false, true] {
        let machine = beside_the_hidden_system(is_volume);
        allowed(&machine.confirmed(WriteLevel::Destroy));
    }
}

#[test]
fn hidden_mounts_of_process_1_hide_the_system() {
    let mut machine = Machine::new();
    machine.sdb1();
    machine.target = "sdb1";
    machine.change("sdb", |node| node.exclusive = Some(Errno::BUSY));
    allowed(&machine.confirmed(WriteLevel::Destroy));
    std::fs::remove_file(machine.fake.path("proc/1/mountinfo")).unwrap();
    refused(&machine.confirmed(WriteLevel::Destroy), "rest of the drive", "not root");
}

#[test]
fn sibling_mounted_by_another_container_is_reported() {
    let machine = beside_the_hidden_system(false);
    machine.fake.file("sys/fs/ext4/sda1/x", "1");
    let record = machine.examine(WriteLevel::SameBytes);
    assert!(check(&record, "siblings").evidence.contains("sda1"), "{record:#?}");
    allowed(&record);
}

#[test]
fn swap_and_the_running_program_are_system() {
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
    refused(&record, "journal", "is also on sdb");
}

#[test]
fn logical_volume_on_the_system_disk_is_system() {
    let mut machine = Machine::new();
    machine.mapping(0, "vg-free", "LVM-x", &["sda2"]);
    machine.target = "dm-0";
    allowed(&machine.examine(WriteLevel::SameBytes));
    refused(&machine.confirmed(WriteLevel::Destroy), "system", "holds the running system");
}

/// What starts the machine lies in the boot areas of the same chip.
#[test]
fn boot_areas_of_the_system_chip_are_protected() {
    let mut machine = Machine::of(&KINDS[3]);
    machine.change("mmcblk1boot0", |node| node.facts.size_bytes = 4 << 20);
    machine.target = "mmcblk1boot0";
    allowed(&machine.confirmed(WriteLevel::Destroy));
    machine.with_part();
    machine.fake.mounts(&["1 0 179:9 / / rw - ext4 /dev/mmcblk1p1 rw"]);
    machine.refuses(&OVERWRITING, "system", "mmcblk1 holds the running system");
}

#[test]
fn siblings_are_reported_with_their_users() {
    type Case = (fn(&Machine), &'static str);
    let cases: [Case; 5] = [
        (|m| m.mounted("sdb1", "/data", "ext4"), "sdb1 is mounted"),
        (|m| m.open_file_system("sdb1", "xfs"), "sdb1 has an open file system"),
        (|m| m.swap("/dev/sdb1"), "sdb1 is active swap"),
        (
            |m| m.upper("md0", (9, 0), &["sdb1"], &[("md/level", "raid1")]),
            "sdb1 has something built on it",
        ),
        (|m| m.swap("/dev/sda2"), "no other partition of the disk is in use"),
    ];
    for (make, words) in cases {
        let mut machine = Machine::new();
        machine.with_part();
        machine.target = "sdb2";
        machine.with_second_part();
        make(&machine);
        let record = machine.examine(WriteLevel::SameBytes);
        allowed(&record);
        assert!(check(&record, "siblings").evidence.starts_with(words), "{record:#?}");
    }
}
