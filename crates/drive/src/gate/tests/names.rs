//! Drives that tell the names of others: whatever lies in a dock, sticks of one make.

use super::machine::{MODEL, Machine, SERIAL, SIZE, refused};
use crate::gate::RawDisk;
use crate::journal::{BeforeImages, Folder, JournalError, Recovered, StateFolder, restore_claimed};
use crate::test_data::fill_sector;
use drivescope_model::WriteLevel;
use std::ops::Range;
use std::path::{Path, PathBuf};

const AREA: Range<u64> = 40 << 20..44 << 20;

const SEED: u64 = 77;

/// A sector of test data of the run with this seed.
fn test_data(seed: u64, offset: u64) -> [u8; 512] {
    let mut sector = [0; 512];
    fill_sector(&mut sector, seed, 1, offset);
    sector
}

fn begin(machine: &Machine, disk: &RawDisk) -> Result<(BeforeImages, PathBuf), JournalError> {
    let folder = machine.fake.path("state/journals");
    Ok((BeforeImages::begin(disk, &folder, ("run1", SEED), AREA.end - AREA.start)?, folder))
}

/// A run that is killed after its first write.
fn leave_open(machine: &Machine) -> PathBuf {
    let disk = machine.claimed(WriteLevel::Restore);
    let (mut originals, folder) = begin(machine, &disk).unwrap();
    assert!(originals.protect(&disk, AREA, &|| false, &mut |_| {}).unwrap());
    disk.write_at(WriteLevel::Restore, &test_data(SEED, AREA.start), AREA.start).unwrap();
    folder
}

fn restore(machine: &Machine, folder: &Path) -> Result<Recovered, JournalError> {
    restore_if(machine, folder, false)
}

fn restore_if(machine: &Machine, folder: &Path, is_sure: bool) -> Result<Recovered, JournalError> {
    let disk = machine.claim_to_restore().unwrap();
    let (mut folder, name) = (StateFolder::make(folder).unwrap(), "run1-0.journal");
    let file = folder.open(name).unwrap();
    restore_claimed((&mut folder, name, file), &disk, is_sure, &mut |_| {})
}

#[test]
fn name_of_a_dock_confirms_no_drive() {
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
fn originals_avoid_another_drive_in_the_dock() {
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
fn originals_avoid_a_drive_without_the_runs_data() {
    let machine = Machine::new();
    machine.fill("sdb", 0);
    let before = machine.contents("sdb");
    let folder = leave_open(&machine);
    let left = machine.contents("sdb");
    // Other sticks that report the same names: with contents, blank, and with test data of another run.
    machine.fill("sdb", 3);
    let full = machine.contents("sdb");
    let pattern: Vec<u8> = AREA.step_by(512).flat_map(|at| test_data(SEED + 1, at)).collect();
    let (start, end) = (AREA.start as usize, AREA.end as usize);
    let of_another_run = [&left[..start], &pattern, &left[end..]].concat();
    let size = SIZE as usize;
    for (index, other) in
        [full, vec![0; size], vec![0xFF; size], of_another_run].into_iter().enumerate()
    {
        machine.write("sdb", 0, &other);
        let error = restore(&machine, &folder).unwrap_err();
        assert!(matches!(error, JournalError::Stranger { .. }), "{index}: {error}");
        let text = error.to_string();
        assert!(
            text.contains("bytes 41943040 to 41943551 of") && text.contains("are neither"),
            "{text}"
        );
        assert!(
            text.contains(&format!("--is-of {}", folder.join("run1-0.journal").display())),
            "{text}"
        );
        assert!(machine.contents("sdb") == other, "it was written");
    }
    // The right drive was written since, and its user insists.
    let mut changed = left.clone();
    changed[AREA.end as usize - 1] ^= 1;
    machine.write("sdb", 0, &changed);
    assert!(matches!(restore(&machine, &folder), Err(JournalError::Stranger { .. })));
    restore_if(&machine, &folder, true).unwrap();
    assert!(machine.contents("sdb") == before);
    // The one that was written, and one that lost what was written to it.
    for bytes in [&left, &before] {
        let folder = leave_open(&machine);
        machine.write("sdb", 0, bytes);
        restore(&machine, &folder).unwrap();
        assert!(machine.contents("sdb") == before);
    }
}

#[test]
fn nothing_is_saved_beside_a_drives_namesake() {
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
    // Two paths to one drive, and two distinguishable drives.
    for (one, other) in [("naa.1", "naa.1"), ("naa.1", "naa.2")] {
        machine.fake.attrs("sdb", &[("wwid", one)]);
        machine.fake.attrs("sdd", &[("wwid", other)]);
        drop(begin(&machine, &disk).unwrap());
    }
}
