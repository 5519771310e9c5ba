//! Full disks, bad sectors, drives that lie, and drives that are not the right one.

use super::damage::differing;
use super::world::{
    Below, DISK, Faults, Left, SECTOR, SimDisk, SimFolder, UNIT, Units, World, recover_all,
};
use crate::error::ErrorKind;
use crate::journal::format::COMMIT_MAX;
use crate::journal::{Disk, DriveIdentity, Folder, Journal, JournalError, RollbackStage, recover};

const WINDOW: u64 = 1 << 20;

fn units(first: u64, count: u64) -> std::ops::Range<u64> {
    first * UNIT as u64..(first + count) * UNIT as u64
}

/// A drive without faults yet, its contents, and its journal.
fn start() -> (World, Vec<u8>, SimDisk, Journal<SimFolder>) {
    let world = World::new(Faults::default());
    let (original, disk, journal) = (world.contents(), world.disk(), world.journal("run", WINDOW));
    (world, original, disk, journal)
}

#[test]
fn full_disk_is_noticed_before_any_write() {
    let faults = Faults { journal_room: Some(WINDOW / 2), reserves: true, ..Faults::default() };
    let world = World::new(faults);
    let original = world.contents();
    let mut journal = world.journal("run", WINDOW);
    let error = journal.write_at(&mut world.disk(), 0, &[1; UNIT], &mut |_| {}).unwrap_err();
    assert!(matches!(error, JournalError::Full { .. }), "{error}");
    assert_eq!(error.kind(), ErrorKind::Refused);
    assert!(world.contents() == original);
    assert_eq!(world.folder().names().unwrap(), [""; 0]);
}

#[test]
fn later_full_disk_stops_writes_and_restores() {
    // Wherever the space ends: in the header, a record, a commit, or the last block.
    let original = World::new(Faults::default()).contents();
    for room in (0..190).map(|blocks| blocks * UNIT as u64) {
        let world = World::new(Faults { journal_room: Some(room), ..Faults::default() });
        let mut disk = world.disk();
        let mut journal = world.journal("run", WINDOW);
        let mut before = world.contents();
        for number in 0..6 {
            let range = units(number * 3, 1);
            match journal.write_at(&mut disk, range.start, &[1; UNIT], &mut |_| {}) {
                Ok(()) => before = world.contents(),
                Err(error) => {
                    assert_eq!(error.kind(), ErrorKind::Refused, "{error}");
                    assert!(world.contents() == before, "it wrote without a journal");
                    assert!(!journal.is_protected(&range));
                }
            }
        }
        journal.roll_back(&mut disk, &mut |_| {}).unwrap();
        assert!(world.contents() == original, "room for {room} bytes");
        assert_eq!(world.folder().names().unwrap(), [""; 0]);
    }
}

#[test]
fn bad_sector_costs_itself_and_keeps_the_journal() {
    let (world, original, mut disk, mut journal) = start();
    journal.write_at(&mut disk, 0, &vec![1; 8 * UNIT], &mut |_| {}).unwrap();
    journal.write_at(&mut disk, units(20, 1).start, &[2; UNIT], &mut |_| {}).unwrap();
    world.set_faults(Faults { bad_byte: Some(units(3, 1).start + 77), ..Faults::default() });
    let error = journal.roll_back(&mut disk, &mut |_| {}).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Device);
    let error = error.to_string();
    assert!(error.contains("bytes 12288 to 16383 (writing failed: bad sector)"), "{error}");
    assert_eq!(differing(&world, &original), [units(3, 1).start]);
    // It takes nothing more, and a second attempt succeeds as soon as the drive does.
    let range = units(30, 1);
    let more = journal.protect(&mut disk, std::slice::from_ref(&range), &mut |_| {}).unwrap_err();
    assert!(matches!(more, JournalError::Failed { .. }), "{more}");
    drop(journal);
    assert!(recover_all(&world).is_err());
    world.set_faults(Faults::default());
    recover_all(&world).unwrap();
    assert!(world.contents() == original);
}

#[test]
fn drive_that_ignores_writes_is_detected() {
    let (world, _, mut disk, mut journal) = start();
    journal.write_at(&mut disk, units(5, 1).start, &[1; UNIT], &mut |_| {}).unwrap();
    world.set_faults(Faults { deaf_byte: Some(units(5, 1).start), ..Faults::default() });
    let error = journal.roll_back(&mut disk, &mut |_| {}).unwrap_err().to_string();
    assert!(error.contains("it reads back differently"), "{error}");
    assert_eq!(world.folder().names().unwrap().len(), 1);
}

/// The message must name the right disk.
#[test]
fn unreadable_journal_does_not_blame_the_drive() {
    let (world, original, mut disk, mut writer) = start();
    writer.write_at(&mut disk, 0, &[1; UNIT], &mut |_| {}).unwrap();
    world.set_faults(Faults { journal_unread: true, ..Faults::default() });
    let error = writer.roll_back(&mut disk, &mut |_| {}).unwrap_err();
    assert!(matches!(error, JournalError::Unread { .. }), "{error}");
    assert_eq!(error.kind(), ErrorKind::Device);
    let error = error.to_string();
    assert!(error.contains("bad place") && error.contains("disk of the journal"), "{error}");
    world.set_faults(Faults::default());
    recover_all(&world).unwrap();
    assert!(world.contents() == original);
}

#[test]
fn drive_used_before_the_first_write_is_spared() {
    let (world, original, mut disk, mut writer) = start();
    writer.write_at(&mut disk, 0, &[1; UNIT], &mut |_| {}).unwrap();
    drop(writer);
    let before = world.contents();
    disk.used_by = Some("loop7 is mounted on /mnt".to_string());
    let recovered = recover(&mut world.folder(), "run-0.journal", &mut disk, &mut |_| {});
    let error = recovered.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Refused);
    assert!(error.to_string().contains("loop7 is mounted on /mnt; nothing was written"), "{error}");
    assert!(world.contents() == before && before != original);
    recover_all(&world).unwrap();
    assert!(world.contents() == original);
}

#[test]
fn another_drive_is_refused_and_left_alone() {
    let (world, _, mut disk, mut writer) = start();
    writer.write_at(&mut disk, 0, &[1; UNIT], &mut |_| {}).unwrap();
    let mut other = world.disk();
    other.identity.serial = Some("S-2".into());
    let error = writer.write_at(&mut other, 0, &[2; UNIT], &mut |_| {}).unwrap_err();
    assert!(matches!(error, JournalError::WrongDrive { .. }), "{error}");
    drop(writer);
    let before = world.contents();
    let changes: [fn(&mut DriveIdentity); 4] = [
        |id| id.serial = Some("S-2".into()),
        |id| id.model = Some("Other".into()),
        |id| id.disk_bytes += 512,
        |id| id.start_bytes = 512,
    ];
    for change in changes {
        let mut other = world.disk();
        change(&mut other.identity);
        let error = recover(&mut world.folder(), "run-0.journal", &mut other, &mut |_| {});
        assert!(matches!(error, Err(JournalError::WrongDrive { .. })), "{error:?}");
        assert!(world.contents() == before);
    }
}

#[test]
fn unsaved_range_is_not_written() {
    let (world, original, mut disk, mut writer) = start();
    let end = DISK as u64;
    for range in [end..end + 512, end - 512..end + 512, 512..512] {
        let error =
            writer.protect(&mut disk, std::slice::from_ref(&range), &mut |_| {}).unwrap_err();
        assert!(matches!(error, JournalError::Outside { .. }), "{error}");
    }
    let mut small = world.journal("small", 10 * UNIT as u64);
    let error = small.write_at(&mut disk, 0, &vec![1; 8 * UNIT], &mut |_| {}).unwrap_err();
    assert!(matches!(error, JournalError::TooLarge { .. }), "{error}");
    assert!(world.contents() == original && world.folder().names().unwrap().is_empty());
}

#[test]
fn many_ranges_are_saved_in_several_commits() {
    let bytes = 600 * UNIT;
    let world = World::of_size(bytes, Below::default(), Faults::default());
    let mut disk = world.disk();
    let original = world.contents();
    let mut writer = world.journal("many", 64 << 20);
    let ranges: Vec<_> = (0..600).step_by(2).map(|unit| units(unit, 1)).collect();
    assert!(ranges.len() > COMMIT_MAX);
    writer.protect(&mut disk, &ranges, &mut |_| {}).unwrap();
    for range in &ranges {
        assert!(writer.is_protected(range));
        disk.write_at(range.start, &[7; UNIT]).unwrap();
    }
    assert!(!writer.is_protected(&units(1, 1)));
    world.power_cycle(Left::Everything, 0);
    recover_all(&world).unwrap();
    assert!(world.contents() == original);
}

#[test]
fn write_protects_the_whole_physical_sector() {
    let shift = 63 * SECTOR % UNIT;
    let drive = Units { bytes: UNIT, shift };
    let world = World::over(Below { drive, ..Below::default() }, Faults::default());
    let mut disk = world.disk();
    let mut writer = world.journal("run", WINDOW);
    // The second physical sector of the drive begins here.
    let second = (UNIT - shift) as u64;
    let range = second..second + SECTOR as u64;
    writer.protect(&mut disk, std::slice::from_ref(&range), &mut |_| {}).unwrap();
    assert!(writer.is_protected(&(second..second + UNIT as u64)));
    assert!(!writer.is_protected(&(second - 512..second)));
    assert!(!writer.is_protected(&(second + UNIT as u64 - 1..second + UNIT as u64 + 1)));
}

#[test]
fn progress_reaches_the_end_of_both_stages() {
    let (_, _, mut disk, mut writer) = start();
    for unit in [1, 5, 9] {
        writer.write_at(&mut disk, units(unit, 1).start, &[1; UNIT], &mut |_| {}).unwrap();
    }
    let mut steps = Vec::new();
    writer.roll_back(&mut disk, &mut |step| steps.push(step)).unwrap();
    for stage in [RollbackStage::Writing, RollbackStage::Verifying] {
        let done = steps.iter().filter(|s| s.stage == stage).map(|s| s.done_bytes / UNIT as u64);
        assert_eq!(done.collect::<Vec<_>>(), [1, 2, 3], "{stage:?}");
    }
    assert!(steps.iter().all(|step| step.total_bytes == 3 * UNIT as u64));
}
