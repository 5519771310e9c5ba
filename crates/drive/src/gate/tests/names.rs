//! Drives that tell the names of others: whatever lies in a dock, sticks of one make.

use super::machine::{MODEL, Machine, SERIAL, SIZE, refused};
use crate::gate::RawDisk;
use crate::journal::{BeforeImages, JournalError, Recovered, StateFolder, restore_claimed};
use drivescope_model::WriteLevel;
use std::ops::Range;
use std::path::{Path, PathBuf};

const AREA: Range<u64> = 40 << 20..44 << 20;

/// A sector of test data.
fn test_data(offset: u64) -> Vec<u8> {
    [&offset.to_le_bytes()[..], &1u64.to_le_bytes(), &[7; 496]].concat()
}

fn begin(machine: &Machine, disk: &RawDisk) -> Result<(BeforeImages, PathBuf), JournalError> {
    let folder = machine.fake.path("state/journals");
    Ok((BeforeImages::begin(disk, &folder, "run1", AREA.end - AREA.start)?, folder))
}

/// A run that is killed after its first write.
fn leave_open(machine: &Machine) -> PathBuf {
    let disk = machine.claimed(WriteLevel::Restore);
    let (mut originals, folder) = begin(machine, &disk).unwrap();
    assert!(originals.protect(&disk, AREA, &|| false, &mut |_| {}).unwrap());
    disk.write_at(WriteLevel::Restore, &test_data(AREA.start), AREA.start).unwrap();
    folder
}

fn restore(machine: &Machine, folder: &Path) -> Result<Recovered, JournalError> {
    let disk = machine.claim_to_restore().unwrap();
    let mut folder = StateFolder::make(folder).unwrap();
    let roots = &machine.fake.roots;
    restore_claimed(roots, &mut folder, "run1-0.journal", &disk, &mut |_| {})
}

#[test]
fn the_name_of_a_dock_confirms_no_drive_in_it() {
    let machine = Machine::in_dock();
    machine.answers(MODEL, "WD-1");
    let phrase = || machine.report(WriteLevel::Destroy).missing_phrase();
    assert_eq!(phrase().as_deref(), Some("WD-1"));
    let refusal = machine.claim(machine.report(WriteLevel::Destroy), &[SERIAL]).unwrap_err();
    refused(&refusal.record, "confirmation", "but the device reports WD-1");
    let disk = machine.claim(machine.report(WriteLevel::Destroy), &["WD-1"]).unwrap();
    drop(disk);
    // The same words, with the next drive in the dock.
    machine.answers(MODEL, "WD-2");
    assert!(machine.claim(machine.report(WriteLevel::Destroy), &["WD-1"]).is_err());
    // Between the look and the claim.
    machine.answers(MODEL, "WD-1");
    let report = machine.report(WriteLevel::Destroy);
    machine.answers(MODEL, "WD-2");
    refused(&machine.claim(report, &["WD-1"]).unwrap_err().record, "as shown", "WD-2");
}

#[test]
fn originals_do_not_go_to_another_drive_in_the_same_dock() {
    let machine = Machine::in_dock();
    machine.answers(MODEL, "WD-1");
    machine.fill("sdb", 0);
    let before = machine.contents("sdb");
    let folder = leave_open(&machine);
    machine.answers(MODEL, "WD-2");
    let error = restore(&machine, &folder).unwrap_err();
    assert!(matches!(error, JournalError::WrongDrive { .. }), "{error}");
    assert!(error.to_string().contains("own serial number is WD-2, not WD-1"), "{error}");
    machine.answers(MODEL, "WD-1");
    restore(&machine, &folder).unwrap();
    assert!(machine.contents("sdb") == before);
}

#[test]
fn originals_do_not_go_to_a_drive_that_has_nothing_of_the_run() {
    let machine = Machine::new();
    machine.fill("sdb", 0);
    let before = machine.contents("sdb");
    let folder = leave_open(&machine);
    let left = machine.contents("sdb");
    // Another stick that tells the same names.
    machine.fill("sdb", 3);
    let other = machine.contents("sdb");
    let error = restore(&machine, &folder).unwrap_err();
    assert!(matches!(error, JournalError::Stranger { .. }), "{error}");
    assert!(error.to_string().contains("bytes 41943040 to 41943551 are neither"), "{error}");
    assert!(machine.contents("sdb") == other, "it was written");
    // The one that was written, and one that lost what was written to it, and one that lost everything.
    for bytes in [left, before.clone(), vec![0; SIZE as usize]] {
        machine.write("sdb", 0, &bytes);
        restore(&machine, &folder).unwrap();
        let area = AREA.start as usize..AREA.end as usize;
        assert!(machine.contents("sdb")[area.clone()] == before[area]);
        machine.write("sdb", 0, &before);
        leave_open(&machine);
    }
}

#[test]
fn beside_a_drive_that_tells_the_same_names_nothing_is_saved() {
    let machine = Machine::new();
    machine.fill("sdb", 0);
    machine.disk("sdd", (8, 48), SIZE);
    machine.tells("sdd", "ATA     ", MODEL, SERIAL);
    machine.fake.attrs("sdd", &[("wwid", "t10.2")]);
    machine.fake.attrs("sdb", &[("wwid", "t10.1")]);
    let disk = machine.claimed(WriteLevel::Restore);
    let error = begin(&machine, &disk).map(|_| ()).unwrap_err();
    assert!(matches!(error, JournalError::Double { .. }), "{error}");
    assert!(error.to_string().starts_with("sdd reports the same names"), "{error}");
    // Two paths to one drive, and drives that can be told apart.
    for (one, other) in [("naa.1", "naa.1"), ("naa.1", "naa.2")] {
        machine.fake.attrs("sdb", &[("wwid", one)]);
        machine.fake.attrs("sdd", &[("wwid", other)]);
        drop(begin(&machine, &disk).unwrap());
    }
}
