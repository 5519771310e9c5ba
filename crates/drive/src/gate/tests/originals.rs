//! A device claimed at `restore`: nothing is written before its originals are saved, and they come back.

use super::kinds::KINDS;
use super::machine::{Machine, SIZE};
use crate::gate::{RawDisk, WriteError};
use crate::journal::{BeforeImages, JournalError, file_bytes, list};
use drivescope_model::WriteLevel;
use std::ops::Range;
use std::path::PathBuf;

const AREA: Range<u64> = 40 << 20..60 << 20;

/// `sdb` with contents, and the folder for its journal.
fn machine() -> (Machine, PathBuf) {
    let machine = Machine::new();
    machine.fill("sdb", 0);
    let folder = machine.fake.path("state/journals");
    (machine, folder)
}

fn begin(disk: &RawDisk, folder: &std::path::Path) -> Result<BeforeImages, JournalError> {
    BeforeImages::begin(disk, folder, ("run1", 1), AREA.end - AREA.start)
}

#[test]
fn only_saved_ranges_are_written_and_restored() {
    let (machine, folder) = machine();
    let before = machine.contents("sdb");
    let disk = machine.claimed(WriteLevel::Restore);
    disk.begin(WriteLevel::Restore).unwrap();
    let middle = AREA.start + (1 << 20);
    assert!(!disk.allows(512, middle), "nothing is saved yet");
    let result = disk.write_at(WriteLevel::Restore, &[9; 512], middle);
    assert!(matches!(result, Err(WriteError::Unsaved { .. })), "{result:?}");
    let mut originals = begin(&disk, &folder).unwrap();
    assert!(list(&folder).unwrap().open.is_empty());
    assert!(originals.protect(&disk, AREA, &|| false, &mut |_| {}).unwrap());
    let [open] = list(&folder).unwrap().open.try_into().unwrap();
    assert_eq!((open.bytes, open.is_running), (AREA.end - AREA.start, true));
    assert!(std::fs::metadata(open.path).unwrap().len() <= file_bytes(AREA.end - AREA.start));
    assert!(disk.allows(512, AREA.start) && disk.allows(AREA.end - AREA.start, AREA.start));
    assert!(!disk.allows(512, AREA.start - 512) && !disk.allows(1024, AREA.end - 512));
    let result = disk.write_at(WriteLevel::Restore, &[9; 512], AREA.end);
    assert!(matches!(result, Err(WriteError::Unsaved { .. })), "{result:?}");
    disk.write_at(WriteLevel::Restore, &vec![9; 10 << 20], middle).unwrap();
    assert!(machine.contents("sdb") != before);
    originals.put_back(&disk, &mut |_| {}).unwrap();
    assert!(machine.contents("sdb") == before, "something did not come back");
    assert!(!disk.allows(512, middle), "the area is closed again");
    assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 0);
    // Once more, in a journal of its own.
    assert!(originals.protect(&disk, AREA, &|| false, &mut |_| {}).unwrap());
    disk.write_at(WriteLevel::Restore, &[9; 512], middle).unwrap();
    originals.put_back(&disk, &mut |_| {}).unwrap();
    assert!(machine.contents("sdb") == before);
}

#[test]
fn a_test_writes_only_as_it_was_planned() {
    let (machine, _) = machine();
    for (claim, test, allowed) in [
        (WriteLevel::Restore, WriteLevel::Read, Some(false)),
        (WriteLevel::Restore, WriteLevel::SameBytes, Some(true)),
        (WriteLevel::Restore, WriteLevel::Restore, Some(false)),
        (WriteLevel::Restore, WriteLevel::Destroy, None),
        (WriteLevel::SameBytes, WriteLevel::Read, Some(false)),
        (WriteLevel::SameBytes, WriteLevel::SameBytes, Some(true)),
        (WriteLevel::SameBytes, WriteLevel::Restore, None),
        (WriteLevel::Destroy, WriteLevel::Destroy, Some(true)),
        (WriteLevel::Destroy, WriteLevel::Restore, Some(false)),
    ] {
        let disk = machine.claimed(claim);
        assert!(!disk.allows(512, 0), "no test has begun");
        let begun = disk.begin(test).is_ok().then(|| disk.allows(512, 0));
        assert_eq!(begun, allowed, "{} in a claim for {}", test.name(), claim.name());
        assert!(!disk.allows(512, SIZE), "never beyond the claimed range");
    }
}

#[test]
fn a_stop_while_originals_are_saved_opens_nothing() {
    let (machine, folder) = machine();
    let before = machine.contents("sdb");
    let disk = machine.claimed(WriteLevel::Restore);
    let mut originals = begin(&disk, &folder).unwrap();
    let asked = std::cell::Cell::new(0);
    let stopped = || {
        asked.set(asked.get() + 1);
        asked.get() > 1
    };
    assert!(!originals.protect(&disk, AREA, &stopped, &mut |_| {}).unwrap());
    assert!(!disk.allows(512, AREA.start));
    originals.put_back(&disk, &mut |_| {}).unwrap();
    assert!(machine.contents("sdb") == before);
    assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 0);
}

#[test]
fn changed_device_is_neither_saved_nor_written() {
    let (machine, folder) = machine();
    let disk = machine.claimed(WriteLevel::Restore);
    let mut originals = begin(&disk, &folder).unwrap();
    machine.change("sdb", |node| node.facts.size_bytes = SIZE / 2);
    let error = originals.protect(&disk, AREA, &|| false, &mut |_| {}).unwrap_err().to_string();
    assert!(error.contains("nothing was written") && error.contains("size"), "{error}");
    assert!(!disk.allows(512, AREA.start));
    assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 0);
}

#[test]
fn journal_on_the_drive_or_small_is_refused() {
    let (machine, folder) = machine();
    let disk = machine.claimed(WriteLevel::Restore);
    let mut small = BeforeImages::begin(&disk, &folder, ("run1", 1), 1 << 20).unwrap();
    let error = small.protect(&disk, AREA, &|| false, &mut |_| {}).unwrap_err();
    assert!(matches!(error, JournalError::TooLarge { .. }), "{error}");
    assert!(!disk.allows(512, AREA.start));
    small.put_back(&disk, &mut |_| {}).unwrap();
    machine.fake.mounts(&["1 0 8:16 / / rw - ext4 /dev/sdb rw"]);
    let error = begin(&disk, &folder).unwrap_err();
    assert!(matches!(error, JournalError::SameDisk { .. }), "{error}");
}

/// A reader of cards: the device and its descriptor stay, the card does not.
#[test]
fn another_card_in_the_reader_is_not_written() {
    let (machine, folder) = machine();
    let disk = machine.claimed(WriteLevel::Restore);
    disk.begin(WriteLevel::Restore).unwrap();
    let mut originals = begin(&disk, &folder).unwrap();
    assert!(originals.protect(&disk, AREA, &|| false, &mut |_| {}).unwrap());
    disk.write_at(WriteLevel::Restore, &[9; 512], AREA.start).unwrap();
    // The next card, with contents of its own.
    machine.change("sdb", |node| node.facts.disk_sequence = Some(9));
    machine.write("sdb", AREA.start, &vec![5; (AREA.end - AREA.start) as usize]);
    let card = machine.contents("sdb");
    let error = originals.put_back(&disk, &mut |_| {}).unwrap_err();
    assert!(matches!(error, JournalError::NotRestored { .. }), "{error}");
    assert!(error.to_string().contains("the medium in /dev/sdb may have been changed"), "{error}");
    assert!(machine.contents("sdb") == card, "originals of one card were written to another");
    assert_eq!(list(&folder).unwrap().open.len(), 1, "they are kept");
    for level in [WriteLevel::SameBytes, WriteLevel::Restore] {
        let error = disk.begin(level).unwrap_err();
        assert!(matches!(error, WriteError::OtherMedium { .. }), "{error}");
        assert!(!disk.allows(512, AREA.start));
    }
}

/// The same bytes are mounted by way of another loop device right before the area would be opened, or while the
/// originals go back.
#[test]
fn new_user_stops_saving_and_restoring() {
    let machine = Machine::of(&KINDS[4]);
    machine.fill("loop5", 0);
    let now = || machine.contents("loop5");
    let bytes = now();
    let folder = machine.fake.path("state/journals");
    let disk = machine.claimed(WriteLevel::Restore);
    let mount = || {
        machine.loop_over(6, "/srv/disk.img");
        machine.mounted("loop6", "/data", "ext4");
    };
    let unmount = || {
        machine.mounts(&[]);
        for gone in ["sys/block/loop6", "sys/class/block/loop6", "sys/dev/block/7:6"] {
            std::fs::remove_file(machine.fake.path(gone)).unwrap();
        }
        std::fs::remove_dir_all(machine.fake.path("sys/devices/virtual/block/loop6")).unwrap();
        std::fs::remove_dir_all(machine.fake.path("sys/fs")).unwrap();
    };
    disk.begin(WriteLevel::Restore).unwrap();
    let mut originals = begin(&disk, &folder).unwrap();
    let asked = std::cell::Cell::new(0);
    let coming = || {
        asked.set(asked.get() + 1);
        if asked.get() == 2 {
            mount();
        }
        false
    };
    let error = originals.protect(&disk, AREA, &coming, &mut |_| {}).unwrap_err().to_string();
    assert!(error.contains("loop6 (same bytes as loop5) is mounted on /data"), "{error}");
    assert!(!disk.allows(512, AREA.start));
    unmount();
    originals.put_back(&disk, &mut |_| {}).unwrap();
    assert!(originals.protect(&disk, AREA, &|| false, &mut |_| {}).unwrap());
    disk.write_at(WriteLevel::Restore, &vec![9; (AREA.end - AREA.start) as usize], AREA.start)
        .unwrap();
    let mut steps = 0;
    let error = originals.put_back(&disk, &mut |_| {
        steps += 1;
        if steps == 3 {
            mount();
        }
    });
    let error = error.unwrap_err();
    assert!(matches!(error, JournalError::Taken { .. }), "{error}");
    assert!(error.to_string().contains("is mounted on /data"), "{error}");
    let back = AREA.start as usize + (3 << 20);
    assert!(now()[..back] == bytes[..back], "what went back before");
    assert!(
        now()[back..AREA.end as usize].iter().all(|byte| *byte == 9),
        "nothing more was written"
    );
    assert_eq!(list(&folder).unwrap().open.len(), 1, "the journal stays");
    unmount();
    originals.put_back(&disk, &mut |_| {}).unwrap();
    assert!(now() == bytes);
}
