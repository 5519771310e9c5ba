//! A drive whose originals go back: whoever uses it keeps them away, what it carries does not.

use super::kinds::KINDS;
use super::machine::{Machine, PART, SIZE, refused};
use super::use_table::all;
use crate::gate::{RawDisk, checks_of_use, reasons};
use drivescope_model::WriteLevel;
use rustix::io::Errno;

/// What the journal asks before the first original goes back.
fn reason_against_restore(disk: &RawDisk) -> Option<String> {
    let changed = disk.ready().err().map(|changed| changed.to_string());
    changed.or_else(|| reasons(&checks_of_use(disk)))
}

#[test]
fn every_use_blocks_the_restore_without_opening() {
    for (name, make, (by, words, _)) in all() {
        println!("{name}");
        let machine = Machine::new();
        make(&machine);
        let refusal = machine.claim_to_restore().unwrap_err();
        let message = reasons(&refusal.record.checks).unwrap();
        // Other contents are not checked: the mount is reported first.
        if *by != "places" {
            refused(&refusal.record, by, &machine.named(words));
            assert!(
                message.contains(&machine.named(words)) && !message.contains('\n'),
                "{message}"
            );
        }
        assert!(!machine.opened_for_writing());
    }
}

#[test]
fn contents_of_the_drive_do_not_block_restore() {
    let machine = Machine::new();
    machine.write("sdb", 1024 + 56, b"\x53\xEF");
    machine.write("sdb", 40 << 20, &[7; 1 << 20]);
    let disk = machine.claim_to_restore().unwrap();
    assert_eq!(reason_against_restore(&disk), None);
    // Beside the running system too: the run that saved them was refused or had no reason to be.
    let mut machine = Machine::new();
    machine.target = "sda2";
    machine.claim_to_restore().unwrap();
}

/// The claim of a loop device, or of what one lies on, does not keep others from using the same bytes.
#[test]
fn use_after_the_claim_blocks_the_restore() {
    let machine = Machine::new();
    let disk = machine.claim_to_restore().unwrap();
    assert_eq!(reason_against_restore(&disk), None);
    machine.loop_over(5, "/dev/sdb");
    machine.mounts(&["2 1 7:5 / /mnt rw - ext4 /dev/loop5 rw"]);
    let why = reason_against_restore(&disk).unwrap();
    assert!(why.contains("loop5 on sdb is mounted on /mnt"), "{why}");
    let machine = Machine::new();
    machine.fake.attrs("sdb", &[("device/wwid", "naa.1")]);
    machine.upper("sdk", (8, 160), &[], &[("device/wwid", "naa.1")]);
    let disk = machine.claim_to_restore().unwrap();
    // Existing devices are claimed too; a refused claim of one does not count.
    machine.change("sdk", |node| node.exclusive = Some(Errno::BUSY));
    assert_eq!(reason_against_restore(&disk), None);
    // New devices are claimed when first seen, unless another program was faster.
    machine.upper("sdm", (8, 192), &[], &[("device/wwid", "naa.1")]);
    assert_eq!(reason_against_restore(&disk), None);
    machine.change("sdm", |node| node.exclusive = Some(Errno::BUSY));
    assert_eq!(reason_against_restore(&disk), None);
    machine.upper("sdl", (8, 176), &[], &[("device/wwid", "naa.1")]);
    machine.change("sdl", |node| node.exclusive = Some(Errno::BUSY));
    let why = reason_against_restore(&disk).unwrap();
    assert!(why.contains("sdl (same identity as sdb) is in use"), "{why}");
    let machine = Machine::new();
    let disk = machine.claim_to_restore().unwrap();
    machine.change("sdb", |node| node.facts.size_bytes /= 2);
    let why = reason_against_restore(&disk).unwrap();
    assert!(why.contains("size"), "{why}");
}

/// Each test that writes checks again.
#[test]
fn use_after_the_claim_blocks_writing_tests() {
    let machine = Machine::of(&KINDS[4]);
    let disk = machine.claim(machine.report(WriteLevel::SameBytes), &[]).unwrap();
    disk.begin(WriteLevel::SameBytes).unwrap();
    assert!(disk.allows(512, 0));
    machine.loop_over(6, "/srv/disk.img");
    machine.mounted("loop6", "/data", "ext4");
    let why = disk.begin(WriteLevel::SameBytes).unwrap_err().to_string();
    assert!(why.contains("loop6 (same bytes as loop5) is mounted on /data"), "{why}");
    assert!(!disk.allows(512, 0));
    disk.begin(WriteLevel::Read).unwrap();
}

/// Each writing test checks now and then while it runs.
#[test]
fn use_during_a_test_is_seen() {
    let machine = Machine::of(&KINDS[4]);
    let disk = machine.claim(machine.report(WriteLevel::SameBytes), &[]).unwrap();
    disk.begin(WriteLevel::SameBytes).unwrap();
    disk.still_free().unwrap();
    // Something else of the machine.
    machine.loop_over(7, "/srv/other.img");
    machine.mounted("loop7", "/other", "ext4");
    disk.still_free().unwrap();
    machine.loop_over(6, "/srv/disk.img");
    disk.still_free().unwrap();
    machine.mounted("loop6", "/data", "ext4");
    for _ in 0..2 {
        let why = disk.still_free().unwrap_err().to_string();
        assert!(why.contains("loop6 (same bytes as loop5) is mounted on /data"), "{why}");
    }
    machine.mounts(&[]);
    std::fs::remove_dir_all(machine.fake.path("sys/fs")).unwrap();
    disk.still_free().unwrap();
    machine.change("loop5", |node| node.facts.disk_sequence = Some(9));
    assert!(disk.still_free().is_err());
}

/// What the kernel gives to others takes no claim, and shows in no table of mounts.
#[test]
fn export_during_a_test_is_seen() {
    let machine = Machine::new();
    let disk = machine.claim(machine.report(WriteLevel::SameBytes), &[]).unwrap();
    disk.begin(WriteLevel::SameBytes).unwrap();
    disk.still_free().unwrap();
    disk.still_free().unwrap();
    let looks = disk.rechecks();
    assert_eq!((looks.made, looks.whole, looks.refused), (3, 2, false), "{looks:?}");
    machine.export("sdb", false);
    disk.still_free().unwrap();
    machine.export("sdb", true);
    let why = disk.still_free().unwrap_err().to_string();
    assert!(why.contains("sdb is exported by the kernel's NVMe target"), "{why}");
    assert!(disk.rechecks().refused);
    machine.export("sdb", false);
    disk.still_free().unwrap();
    let place = "sys/bus/xen-backend/devices/vbd-1-51712/physical_device";
    machine.fake.file(place, "8:10");
    assert!(disk.still_free().is_err());
}

/// A loop device that shows another part of its file by now.
#[test]
fn loop_device_moved_onto_the_target_is_seen() {
    let machine = Machine::of(&KINDS[4]);
    machine.loop_over(6, "/srv/disk.img");
    machine.fake.attrs("loop6", &[("loop/offset", &SIZE.to_string())]);
    machine.mounted("loop6", "/data", "ext4");
    let disk = machine.claim(machine.report(WriteLevel::SameBytes), &[]).unwrap();
    disk.begin(WriteLevel::SameBytes).unwrap();
    disk.still_free().unwrap();
    machine.fake.attrs("loop6", &[("loop/offset", "4096")]);
    let why = disk.still_free().unwrap_err().to_string();
    assert!(why.contains("loop6 (same bytes as loop5) is mounted on /data"), "{why}");
}

#[test]
fn unwritable_drive_is_reported_with_the_remedy() {
    let machine = Machine::new();
    machine.change("sdb", |node| node.facts.read_only = true);
    let why = reasons(&machine.claim_to_restore().unwrap_err().record.checks).unwrap();
    assert!(why.contains("/dev/sdb is read-only") && why.contains("blockdev --setrw"), "{why}");
}

#[test]
fn hidden_user_is_found_by_the_claim_alone() {
    let machine = Machine::new();
    machine.change("sdb", |node| node.exclusive = Some(Errno::BUSY));
    let why = reasons(&machine.claim_to_restore().unwrap_err().record.checks).unwrap();
    assert!(why.contains("not visible here"), "{why}");
}

#[test]
fn container_restore_needs_a_free_drive() {
    let mut machine = Machine::new();
    machine.part("sdb", 1, (8, 17), PART);
    machine.target = "sdb1";
    let machine = machine.in_container();
    machine.claim_to_restore().unwrap();
    machine.change("sdb", |node| node.exclusive = Some(Errno::BUSY));
    refused(&machine.claim_to_restore().unwrap_err().record, "rest of the drive", "in use");
}
