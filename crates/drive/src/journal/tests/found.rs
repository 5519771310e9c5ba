//! Journals in a real folder, drives of imagined machines.

use super::world::{DISK, Faults, UNIT, World, identity};
use crate::error::ErrorKind;
use crate::journal::open_journals::device_of;
use crate::journal::storage::{Folder, JournalFile, StateFolder};
use crate::journal::{DriveIdentity, Journal, JournalError, JournalSettings};
use crate::journal::{check_names, list, refuse_open, restore};
use drivescope_machine::graph::BlockGraph;
use drivescope_machine::roots::fake::Fake;
use std::path::Path;

const GIB: u64 = 1 << 30;

/// An open journal of a drive with this identity, in a real folder.
fn open_journal(folder: &Path, drive: DriveIdentity) -> Journal<StateFolder> {
    let world = World::new(Faults::default());
    let mut disk = world.disk();
    disk.identity = DriveIdentity { size_bytes: DISK as u64, ..drive };
    let settings = JournalSettings { run_id: "r1".into(), data_seed: None, window_bytes: 1 << 20 };
    let mut journal = Journal::new(StateFolder::make(folder).unwrap(), &disk, settings);
    journal.write_at(&mut disk, 0, &[1; UNIT], &mut |_| {}).unwrap();
    journal
}

fn machine() -> Fake {
    let fake = Fake::new();
    for (letter, minor, serial) in [("a", 0, "S-1"), ("b", 16, "S-2")] {
        let place = format!("pci0000:00/host{minor}/0:0:0:0");
        fake.scsi_disk(&format!("{place}/block/sd{letter}"), (8, minor), GIB);
        fake.partition(&format!("sd{letter}"), 1, (8, minor + 1), 2048, 4096);
        let attrs = [("device/model", "Model"), ("device/serial", serial)];
        fake.attrs(&format!("sd{letter}"), &attrs);
    }
    fake
}

/// How a run on device `name` starts; `is_of_others`: journals that the user assigned to other drives.
fn refusal_if_open(
    fake: &Fake,
    folder: &Path,
    name: &str,
    is_of_others: &dyn Fn(&Path) -> bool,
) -> Result<(), JournalError> {
    let graph = BlockGraph::read(&fake.roots);
    refuse_open(&graph, &graph.stack_of_device(name), folder, is_of_others)
}

/// Without assigned journals.
fn run_on(fake: &Fake, folder: &Path, name: &str) -> Result<(), JournalError> {
    refusal_if_open(fake, folder, name, &|_| false)
}

#[test]
fn only_drive_with_open_journal_is_refused() {
    let fake = machine();
    let folder = fake.path("state/journals");
    run_on(&fake, &folder, "sda1").unwrap();
    let journal = open_journal(&folder, DriveIdentity { disk_bytes: GIB, ..identity(0) });
    let error = run_on(&fake, &folder, "sda1").unwrap_err();
    assert!(matches!(error, JournalError::Running { .. }), "its run is alive: {error}");
    drop(journal);
    let error = run_on(&fake, &folder, "sda1").unwrap_err().to_string();
    let path = folder.join("r1-0.journal");
    assert!(error.ends_with(&format!("run drivescope restore --journal {}", path.display())));
    assert!(error.contains("serial S-1") && !error.contains('\n'), "{error}");
    run_on(&fake, &folder, "sdb").unwrap();
    // Without its header it may be anybody's.
    let mut bytes = std::fs::read(&path).unwrap();
    bytes[..1 << 14].fill(0);
    std::fs::write(&path, bytes).unwrap();
    let refused = run_on(&fake, &folder, "sdb");
    assert!(matches!(refused, Err(JournalError::OfAnyDrive { .. })), "{refused:?}");
    refusal_if_open(&fake, &folder, "sdb", &|it| it == path).unwrap();
}

#[test]
fn open_journals_are_described_leftovers_are_not_open() {
    let fake = machine();
    let folder = fake.path("journals");
    assert_eq!(list(&folder).unwrap().open, []);
    drop(open_journal(&folder, identity(0)));
    std::fs::write(folder.join("torn.journal.new"), vec![0; 5000]).unwrap();
    let listed = list(&folder).unwrap();
    let [journal] = listed.open.as_slice() else { panic!("{listed:?}") };
    assert_eq!((journal.bytes, journal.records), (UNIT as u64, 1));
    assert_eq!((journal.run_id.as_str(), journal.is_running), ("r1", false));
    assert_eq!(journal.drive.as_ref().unwrap().serial.as_deref(), Some("S-1"));
    assert_eq!(journal.damage, None);
    assert_eq!(listed.leftovers, [folder.join("torn.journal.new")]);
    assert!(listed.unknown.is_empty());
}

/// One that cannot be looked at may belong to any drive; it does not hide the others.
#[test]
fn unreadable_journal_refuses_every_drive() {
    let fake = machine();
    let folder = fake.path("journals");
    drop(open_journal(&folder, DriveIdentity { disk_bytes: GIB, ..identity(0) }));
    let other = fake.path("other.journal");
    std::fs::write(&other, "text").unwrap();
    std::os::unix::fs::symlink(&other, folder.join("0.journal")).unwrap();
    std::fs::create_dir(folder.join("1.journal")).unwrap();
    let listed = list(&folder).unwrap();
    assert_eq!((listed.open.len(), listed.unknown.len()), (1, 2), "{listed:?}");
    let refusal = |name: &str| run_on(&fake, &folder, name).unwrap_err();
    assert!(matches!(refusal("sda"), JournalError::StillOpen { .. }), "the repair comes first");
    let error = refusal("sdb");
    assert_eq!(error.kind(), ErrorKind::Refused);
    let error = error.to_string();
    assert!(error.contains("0.journal is a restore journal") && error.contains("link"), "{error}");
    for name in ["0.journal", "1.journal"] {
        let error = restore(&fake.roots, &folder.join(name), false, &mut |_| {}).unwrap_err();
        assert!(matches!(error, JournalError::NotAJournal { .. }), "{error}");
    }
    std::fs::remove_file(folder.join("0.journal")).unwrap();
    std::fs::remove_dir(folder.join("1.journal")).unwrap();
    run_on(&fake, &folder, "sdb").unwrap();
}

#[test]
fn a_journal_finds_its_drive_and_its_partition() {
    let fake = machine();
    let of = |name: &str| DriveIdentity::of(&fake.roots, name).unwrap();
    let find = |id: &DriveIdentity| device_of(&fake.roots, id, "j");
    for name in ["sda", "sdb", "sda1", "sdb1"] {
        assert_eq!(find(&of(name)).unwrap(), name);
    }
    let gone = DriveIdentity { serial: Some("S-3".into()), ..of("sda") };
    assert!(matches!(find(&gone), Err(JournalError::NotAttached { .. })));
    let moved = DriveIdentity { start_bytes: 4096, ..of("sda1") };
    assert!(matches!(find(&moved), Err(JournalError::NotAttached { .. })));
    fake.scsi_disk("pci0000:00/host9/0:0:0:0/block/sdc", (8, 32), GIB);
    fake.attrs("sdc", &[("device/model", "Model"), ("device/serial", "S-1")]);
    let error = find(&of("sda")).unwrap_err().to_string();
    assert!(error.contains("sda, sdc all look like"), "{error}");
    fake.attrs("sdc", &[("hidden", "1")]);
    assert_eq!(find(&of("sda")).unwrap(), "sda");
}

/// One namespace behind two controllers, or one LUN on two paths, was taken for two drives of one name.
#[test]
fn two_ways_to_one_drive_are_one_drive() {
    let fake = machine();
    let nvme = |number: u32, identifier: &str| {
        let name = format!("nvme{number}n1");
        let place = format!("pci0000:0{number}/nvme/nvme{number}/{name}");
        fake.disk(&place, (259, number), GIB);
        fake.link(&format!("sys/devices/{place}/device"), "..");
        let attrs = [("device/model", "Model"), ("device/serial", "N-1"), ("wwid", identifier)];
        fake.attrs(&name, &attrs);
    };
    nvme(0, "nvme.1b36-4e2d31-4d6f64656c-00000001");
    nvme(1, "nvme.1b36-4e2d31-4d6f64656c-00000001");
    let check = |name: &str| check_names(&BlockGraph::read(&fake.roots), name);
    let find = |name: &str| {
        let drive = DriveIdentity::of(&fake.roots, name).unwrap();
        device_of(&fake.roots, &drive, "j")
    };
    check("nvme0n1").unwrap();
    assert_eq!(find("nvme1n1").unwrap(), "nvme0n1");
    // A second namespace has another identifier, and the same names.
    nvme(2, "nvme.1b36-4e2d31-4d6f64656c-00000002");
    assert!(matches!(check("nvme0n1"), Err(JournalError::Double { .. })));
    assert!(matches!(find("nvme0n1"), Err(JournalError::Ambiguous { .. })));
    for (number, name) in [(7, "sdx"), (8, "sdy")] {
        let place = format!("pci0000:00/host{number}/0:0:0:0");
        fake.scsi_disk(&format!("{place}/block/{name}"), (65, number), GIB);
        for (attr, text) in [("model", "Array"), ("serial", "L-1"), ("wwid", "naa.600a")] {
            fake.attrs(name, &[(&format!("device/{attr}"), text)]);
        }
    }
    check("sdx").unwrap();
    assert_eq!(find("sdy").unwrap(), "sdx");
}

/// A loop device over a real file, known by its number.
fn add_loop(fake: &Fake, minor: u32, file: &Path, offset_bytes: u64, size_bytes: u64) {
    fake.loop_device(minor, size_bytes, file.to_str().unwrap());
    fake.attrs(&format!("loop{minor}"), &[("loop/offset", &offset_bytes.to_string())]);
}

fn is_refused(fake: &Fake, folder: &Path, name: &str) -> bool {
    match run_on(fake, folder, name) {
        Ok(()) => false,
        Err(JournalError::StillOpen { .. }) => true,
        Err(error) => panic!("{error}"),
    }
}

#[test]
fn shared_bytes_are_refused_as_the_drive() {
    const MIB: u64 = 1 << 20;
    let fake = machine();
    let (image, folder) = (fake.path("image"), fake.path("journals"));
    std::fs::write(&image, "x").unwrap();
    add_loop(&fake, 5, &image, MIB, 8 * MIB);
    let drive = DriveIdentity::of(&fake.roots, "loop5").unwrap();
    drop(open_journal(&folder, drive));
    add_loop(&fake, 6, &image, 8 * MIB, MIB);
    add_loop(&fake, 7, &image, 9 * MIB, MIB);
    add_loop(&fake, 8, Path::new("/dev/loop5"), MIB, MIB);
    fake.upper("dm-0", (253, 0), MIB, &["loop6"]);
    for name in ["loop5", "loop6", "loop8", "dm-0"] {
        assert!(is_refused(&fake, &folder, name), "{name}");
    }
    for name in ["loop7", "sda", "sda1"] {
        assert!(!is_refused(&fake, &folder, name), "{name}");
    }
    // The drive itself is detached: its file is what counts.
    std::fs::remove_file(fake.path("sys/class/block/loop5")).unwrap();
    std::fs::remove_file(fake.path("sys/block/loop5")).unwrap();
    assert!(is_refused(&fake, &folder, "loop6") && !is_refused(&fake, &folder, "loop7"));
}

#[test]
fn devices_below_a_volume_are_refused_with_it() {
    let fake = machine();
    fake.partition("sda", 2, (8, 2), 8192, 4096);
    fake.upper("dm-0", (253, 0), GIB / 2, &["sda1"]);
    fake.attrs("dm-0", &[("dm/uuid", "LVM-x")]);
    let folder = fake.path("journals");
    drop(open_journal(&folder, DriveIdentity::of(&fake.roots, "dm-0").unwrap()));
    for (name, expected) in
        [("dm-0", true), ("sda1", true), ("sda", true), ("sda2", false), ("sdb", false)]
    {
        assert_eq!(is_refused(&fake, &folder, name), expected, "{name}");
    }
}

/// After a boot its originals could go back to nothing.
#[test]
fn device_with_only_a_number_is_refused() {
    let fake = machine();
    fake.file("proc/sys/kernel/random/boot_id", "first\n");
    let names = ["nbd0", "md5", "md6", "dm-0", "dm-1", "zram0"];
    for (minor, name) in (0..).zip(names) {
        fake.disk(&format!("virtual/block/{name}"), (240, minor), GIB);
        fake.attrs(name, &[("diskseq", "7")]);
    }
    fake.attrs("md6", &[("md/uuid", "6c0c6c2f-9e1d-4a3e-8b5a-0123456789ab")]);
    fake.attrs("dm-0", &[("dm/name", "one")]);
    fake.attrs("dm-1", &[("dm/uuid", "LVM-x")]);
    let image = fake.path("image");
    std::fs::write(&image, "x").unwrap();
    add_loop(&fake, 5, &image, 0, GIB);
    for name in names.into_iter().chain(["sda", "sda1", "loop5"]) {
        let checked = check_names(&BlockGraph::read(&fake.roots), name).map_err(|e| e.to_string());
        if ["nbd0", "md5"].contains(&name) {
            assert!(checked.unwrap_err().contains("only by its number"), "{name}")
        } else {
            assert_eq!(checked, Ok(()), "{name}")
        }
    }
}

#[test]
fn file_of_that_name_is_not_the_drive() {
    let fake = machine();
    let image = fake.path("image");
    std::fs::write(&image, "x").unwrap();
    add_loop(&fake, 5, &image, 0, GIB);
    let drive = DriveIdentity::of(&fake.roots, "loop5").unwrap();
    let find = || device_of(&fake.roots, &drive, "j");
    assert_eq!(find().unwrap(), "loop5");
    let moved = fake.path("moved");
    std::fs::rename(&image, &moved).unwrap();
    std::fs::write(&image, "y").unwrap();
    let error = find().unwrap_err();
    assert!(matches!(error, JournalError::WrongDrive { .. }), "{error}");
    assert!(error.to_string().contains("another file that has taken that name"), "{error}");
    let shrunk =
        DriveIdentity { disk_bytes: 2 * GIB, ..DriveIdentity::of(&fake.roots, "loop5").unwrap() };
    let error = device_of(&fake.roots, &shrunk, "j").unwrap_err();
    assert!(error.to_string().contains("loop5 looks like it, but its size is"), "{error}");
    // Under its new name it is the drive still.
    add_loop(&fake, 6, &moved, 0, GIB);
    assert_eq!(find().unwrap(), "loop6");
}

#[test]
fn other_file_is_never_removed() {
    let fake = machine();
    let file = fake.path("precious.txt");
    std::fs::write(&file, "keep").unwrap();
    let error = restore(&fake.roots, &file, false, &mut |_| {}).unwrap_err();
    assert!(matches!(error, JournalError::NotAJournal { .. }), "{error}");
    assert_eq!(std::fs::read(&file).unwrap(), b"keep");
    let find = |path: &str| restore(&fake.roots, &fake.path(path), false, &mut |_| {}).unwrap_err();
    assert!(matches!(find("missing/x.journal"), JournalError::NotAJournal { .. }));
    // Another restore may just have removed it.
    assert!(matches!(find("x.journal"), JournalError::Gone { .. }));
}

#[test]
fn a_journal_without_its_drive_stays() {
    let fake = machine();
    let folder = fake.path("journals");
    drop(open_journal(&folder, DriveIdentity { serial: Some("S-9".into()), ..identity(0) }));
    let path = folder.join("r1-0.journal");
    let error = restore(&fake.roots, &path, false, &mut |_| {}).unwrap_err();
    assert!(matches!(error, JournalError::NotAttached { .. }), "{error}");
    let mut held = StateFolder::make(&folder).unwrap();
    let mut file = held.open("r1-0.journal").unwrap();
    assert!(file.size_bytes().unwrap() > 0);
    let error = restore(&fake.roots, &path, false, &mut |_| {}).unwrap_err();
    assert!(matches!(error, JournalError::Running { .. }), "{error}");
}
