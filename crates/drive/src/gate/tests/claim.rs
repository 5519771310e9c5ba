//! Claims: what must be said, what must stay as it was shown, and what the handle then allows.

use super::machine::{LEVELS, MODEL, Machine, SERIAL, SIZE, allowed, check, refused};
use crate::gate::{Confirmation, WriteError};
use drivescope_model::WriteLevel;
use drivescope_model::gate::Outcome;
use rustix::io::Errno;

#[test]
fn claimed_disk_is_written_within_level_and_range() {
    let machine = Machine::new();
    let mut request = machine.request(WriteLevel::Restore);
    request.range = Some(4096..8192);
    let disk = machine.claim(machine.report_on(request), &[]).unwrap();
    assert_eq!((disk.level(), disk.range()), (WriteLevel::Restore, 4096..8192));
    assert_eq!(disk.device().serial.as_deref(), Some(SERIAL));
    disk.open(4096..8192);
    disk.write_at(WriteLevel::Restore, &[7; 4096], 4096).unwrap();
    disk.write_at(WriteLevel::SameBytes, &[8; 512], 7680).unwrap();
    disk.sync().unwrap();
    let mut back = [0; 512];
    disk.read_at(&mut back, 7680).unwrap();
    assert_eq!(back, [8; 512]);
    let before = machine.contents("sdb");
    for level in [WriteLevel::Destroy, WriteLevel::Read, WriteLevel::OwnFiles] {
        let result = disk.write_at(level, &[9; 512], 4096);
        assert!(matches!(result, Err(WriteError::Level { .. })), "{result:?}");
    }
    for (length, offset) in
        [(512, 0), (512, 8192), (8192, 4096), (4096, 3584), (100, 4096), (512, 4097), (0, 4096)]
    {
        let result = disk.write_at(WriteLevel::Restore, &vec![9; length], offset);
        assert!(matches!(result, Err(WriteError::Range { .. })), "{length} {offset} {result:?}");
    }
    let result = disk.write_at(WriteLevel::Restore, &[9; 512], u64::MAX - 511);
    assert!(matches!(result, Err(WriteError::Range { .. })), "{result:?}");
    assert!(machine.contents("sdb") == before, "a refused write wrote");
}

#[test]
fn the_record_of_a_claim_has_every_step() {
    let machine = Machine::new();
    let record = machine.claimed(WriteLevel::Destroy).record().clone();
    let names: Vec<&str> = record.checks.iter().map(|check| check.name.as_str()).collect();
    let expected = "path, identity, answer, writable, range, claim, lock, flushed, mounts, file systems, \
        swap, holders, loop devices, pools, other programs, siblings, places, system, same device, \
        as shown, signatures, blankness, confirmation";
    assert_eq!(names.join(", "), expected);
    assert!(record.checks.iter().all(|check| check.outcome == Outcome::Ok), "{record:#?}");
    assert!(check(&record, "identity").evidence.contains(SERIAL));
}

#[test]
fn destroy_needs_exactly_the_serial_of_the_device() {
    let machine = Machine::new();
    let names =
        ["yes", "WD-WCAV5E999999", "wd-wcav5e123456", "WD-WCAV5E12345", "*", "", "sdb", MODEL];
    for given in names.iter().map(std::slice::from_ref).chain([&[][..]]) {
        let refusal = machine.claim(machine.report(WriteLevel::Destroy), given).unwrap_err();
        refused(&refusal.record, "confirmation", SERIAL);
        let text = refusal.to_string();
        assert!(text.contains(SERIAL) && text.contains("lsblk"), "{text}");
        assert!(!machine.opened_for_writing(), "{given:?}");
    }
    let others = ["WD-OTHER", SERIAL];
    assert!(machine.claim(machine.report(WriteLevel::Destroy), &others).is_ok());
}

#[test]
fn typed_consent_counts_and_is_recorded_as_typed() {
    let machine = Machine::new();
    let record = |confirmation| machine.report(WriteLevel::Destroy).record(&confirmation);
    let typed = record(Confirmation::typed(SERIAL));
    allowed(&typed);
    assert_eq!(
        check(&typed, "confirmation").evidence,
        format!("{SERIAL} was typed and matches the device")
    );
    let given = record(Confirmation::given(&[SERIAL.to_string()]));
    assert!(check(&given, "confirmation").evidence.contains("was given"));
    for wrong in ["", "yes", "WD-OTHER", " "] {
        refused(&record(Confirmation::typed(wrong)), "confirmation", "was typed, but");
    }
}

#[test]
fn without_a_serial_model_and_size_confirm() {
    let machine = Machine::new();
    std::fs::remove_file(machine.fake.path("sys/devices/pci0000:00/host-sdb/1:0:0:0/serial"))
        .unwrap();
    // The drive itself still reports it.
    assert_eq!(machine.report(WriteLevel::Destroy).missing_phrase().as_deref(), Some(SERIAL));
    drop(machine.claimed(WriteLevel::Destroy));
    machine.change("sdb", |node| node.answer = Err(Errno::NOTTY));
    let report = machine.report(WriteLevel::Destroy);
    let phrase = format!("WDC WD10EARS-00Y5B1:{SIZE}");
    assert_eq!(report.missing_phrase().as_ref(), Some(&phrase));
    assert!(machine.claim(report, &["WDC WD10EARS-00Y5B1"]).is_err());
    assert!(machine.claim(machine.report(WriteLevel::Destroy), &[&phrase]).is_ok());
}

#[test]
fn wrong_serial_refuses_even_if_not_needed() {
    let machine = Machine::new();
    for level in LEVELS {
        let refusal = machine.claim(machine.report(level), &["WD-OTHER"]).unwrap_err();
        refused(&refusal.record, "confirmation", "WD-OTHER was given");
    }
}

#[test]
fn drive_with_another_identity_is_refused() {
    for (model, serial) in [(MODEL, "WD-OTHER"), ("ST1000DM003", SERIAL)] {
        let machine = Machine::new();
        machine.answers(model, serial);
        machine.refuses(&LEVELS, "answer", "but the kernel reports");
        let machine = Machine::new();
        let disk = machine.claimed(WriteLevel::Destroy);
        machine.answers(model, serial);
        let error = disk.write_at(WriteLevel::Destroy, &[1; 512], 0).unwrap_err().to_string();
        assert!(error.contains("the drive reports"), "{error}");
    }
}

#[test]
fn silent_drive_is_judged_by_the_kernels_record() {
    let machine = Machine::new();
    for answer in [Err(Errno::NOTTY), Err(Errno::IO), Ok(Vec::new()), Ok(vec![0; 512])] {
        machine.change("sdb", |node| node.answer = answer.clone());
        let record = machine.claimed(WriteLevel::Destroy).record().clone();
        assert_eq!(check(&record, "answer").outcome, Outcome::Unknown);
    }
}

#[test]
fn phrase_is_requested_only_if_all_checks_pass() {
    let machine = Machine::new();
    let phrase = |level| machine.report(level).missing_phrase();
    assert_eq!(phrase(WriteLevel::Destroy).as_deref(), Some(SERIAL));
    assert_eq!(phrase(WriteLevel::Restore), None);
    machine.write("sdb", 1080, b"\x53\xEF");
    assert_eq!(phrase(WriteLevel::Restore).as_deref(), Some(SERIAL));
    assert_eq!(phrase(WriteLevel::SameBytes), None);
    machine.fake.file("proc/swaps", "Filename Type\n/dev/sdb partition\n");
    assert_eq!(phrase(WriteLevel::Destroy), None);
}

#[test]
fn killed_program_is_awaited_for_limited_time() {
    for (waits, is_free) in [(1, true), (9, true), (60, false)] {
        let machine = Machine::new();
        machine.change("sdb", |node| {
            (node.exclusive, node.busy_for) = (Some(Errno::BUSY), Some(waits));
        });
        assert_eq!(machine.confirmed(WriteLevel::Destroy).is_allowed(), is_free, "{waits}");
    }
}

#[test]
fn inspection_and_refusal_open_nothing_for_writing() {
    let machine = Machine::new();
    machine.mounts(&["2 1 8:16 / /data rw - ext4 /dev/sdb rw"]);
    for level in LEVELS {
        let refusal = machine.claim(machine.report(level), &[SERIAL]).unwrap_err();
        refused(&refusal.record, "mounts", "/data");
    }
    assert!(!machine.opened_for_writing());
}

#[test]
fn swapped_link_is_refused_at_any_time() {
    // Each look asks once at its beginning and once at its end.
    for (ways, by) in [
        (&["sdb", "sdc", "sdc"][..], "same device"),
        (&["sdb", "sdb", "sdc", "sdc"], "as shown"),
        (&["sdb", "sdb", "sdb", "sdc"], "same device"),
    ] {
        let machine = Machine::new();
        machine.link("/dev/disk/by-id/mine", ways);
        let mut request = machine.request(WriteLevel::SameBytes);
        request.path = "/dev/disk/by-id/mine".into();
        let report = machine.report_on(request);
        refused(&machine.claim(report, &[]).unwrap_err().record, by, "");
    }
}

#[test]
fn node_of_another_device_is_refused() {
    let machine = Machine::new();
    // The path is asked at the time of check, the descriptor at the time of use.
    let image = machine.image("sdc");
    machine.change("sdb", |node| node.image.clone_from(&image));
    let record = machine.examine(WriteLevel::SameBytes);
    refused(&record, "path", "led to another device");
    let machine = Machine::new();
    machine.change("sdb", |node| node.claimed = Some(machine.image("sdc")));
    refused(&machine.examine(WriteLevel::SameBytes), "claim", "led to another device");
    machine.change("sdb", |node| node.claimed = None);
    let report = machine.report(WriteLevel::SameBytes);
    machine.change("sdb", |node| node.claimed = Some(machine.image("sdc")));
    refused(&machine.claim(report, &[]).unwrap_err().record, "claim", "led to another device");
}

#[test]
fn checks_repeat_once_before_the_first_write() {
    type Change = fn(&Machine);
    let changes: [(Change, &str); 6] = [
        (|m| m.link("/dev/sdb", &["sdc"]), "another device"),
        (|m| m.link("/dev/sdb", &["gone"]), "gone"),
        (|m| m.change("sdb", |node| node.facts.size_bytes -= 512), "size"),
        (|m| m.change("sdb", |node| node.facts.disk_sequence = Some(9)), "disk sequence"),
        (
            |m| m.fake.attrs("sdb", &[("device/serial", "OTHER")]),
            "serial number was WD-WCAV5E123456, now OTHER",
        ),
        (|m| m.fake.attrs("sdb", &[("size", "1")]), "its size is changing"),
    ];
    for (change, words) in changes {
        let machine = Machine::new();
        let disk = machine.claimed(WriteLevel::Destroy);
        change(&machine);
        for _ in 0..2 {
            let error = disk.write_at(WriteLevel::Destroy, &[1; 512], 0).unwrap_err().to_string();
            assert!(error.contains(words) && error.contains("nothing was written"), "{error}");
        }
        assert!(machine.contents("sdb").iter().all(|byte| *byte == 0));
    }
    let machine = Machine::new();
    let disk = machine.claimed(WriteLevel::Destroy);
    disk.write_at(WriteLevel::Destroy, &[1; 512], 0).unwrap();
    machine.link("/dev/sdb", &["gone"]);
    disk.write_at(WriteLevel::Destroy, &[1; 512], 512).unwrap();
}

#[test]
fn unwritable_device_is_refused_with_a_remedy() {
    type Case = (fn(&Machine), &'static str, &'static str);
    let cases: [Case; 14] = [
        (|m| m.change("sdb", |n| n.open = Some(Errno::NOMEDIUM)), "path", "no medium"),
        (|m| m.change("sdb", |n| n.open = Some(Errno::ACCESS)), "path", "sudo"),
        (
            |m| m.change("sdb", |n| n.open = Some(Errno::PERM)),
            "path",
            "the container's device rules",
        ),
        (|m| m.change("sdb", |n| n.open = Some(Errno::NXIO)), "path", "no device behind it"),
        (|m| m.change("sdb", |n| n.open = Some(Errno::LOOP)), "path", "became a link"),
        (|m| m.change("sdb", |n| n.open = Some(Errno::IO)), "path", "dmesg"),
        (|m| m.change("sdb", |n| n.facts.read_only = true), "writable", "read-only"),
        (|m| m.fake.attrs("sdb", &[("ro", "1")]), "writable", "read-only"),
        (
            |m| {
                m.sdb1();
                m.fake.attrs("sdb1", &[("ro", "1")]);
            },
            "writable",
            "/dev/sdb1 is read-only; look for a switch",
        ),
        (|m| m.change("sdb", |n| n.facts.size_bytes = 0), "writable", "no size"),
        (
            |m| m.change("sdb", |n| n.facts.logical_sector_bytes = 16384),
            "writable",
            "sectors have 16384 bytes",
        ),
        (|m| m.fake.attrs("sdb", &[("size", "8")]), "identity", "its size is changing"),
        (|m| m.fake.attrs("sdb", &[("dm/suspended", "1")]), "path", "dmsetup resume"),
        (
            |m| {
                m.upper("dm-0", (253, 0), &[], &[("dm/suspended", "1")]);
                m.fake.slaves("sdb", &["dm-0"]);
            },
            "path",
            "dm-0 is suspended",
        ),
    ];
    for (make, by, words) in cases {
        let machine = Machine::new();
        make(&machine);
        machine.refuses(&LEVELS, by, words);
    }
}

#[test]
fn missing_or_unknown_device_is_refused() {
    let mut machine = Machine::new();
    machine.target = "absent";
    refused(&machine.examine(WriteLevel::SameBytes), "path", "no such path");
    let machine = Machine::new();
    std::fs::remove_file(machine.fake.path("sys/dev/block/8:16")).unwrap();
    refused(&machine.examine(WriteLevel::SameBytes), "identity", "does not describe device 8:16");
}

#[test]
fn kernels_refusal_and_foreign_lock_are_reported() {
    for (errno, words) in [
        (Errno::ROFS, "cannot open /dev/sdb for writing"),
        // A container may be given a device to read only.
        (Errno::PERM, "the container's device rules"),
    ] {
        let machine = Machine::new();
        let report = machine.report(WriteLevel::SameBytes);
        machine.change("sdb", |node| node.write = Some(errno));
        refused(&machine.claim(report, &[]).unwrap_err().record, "claim", words);
    }
    let machine = Machine::new();
    machine.change("sdb", |node| node.lock = Some(Errno::WOULDBLOCK));
    refused(&machine.examine(WriteLevel::SameBytes), "lock", "another program holds the lock");
}

#[test]
fn claim_of_a_partition_locks_its_disk() {
    let mut machine = Machine::new();
    machine.sdb1();
    machine.target = "sdb1";
    let record = machine.examine(WriteLevel::SameBytes);
    allowed(&record);
    assert!(check(&record, "lock").evidence.ends_with("/sdb taken"));
    machine.change("sdb", |node| node.lock = Some(Errno::WOULDBLOCK));
    refused(&machine.examine(WriteLevel::SameBytes), "lock", "sdb");
    machine.change("sdb", |node| node.lock = None);
    // The serial number alone names the disk: it must not erase a partition, nor the other way round.
    let own = format!("{SERIAL}:sdb1");
    let refusal = machine.claim(machine.report(WriteLevel::Destroy), &[SERIAL]).unwrap_err();
    refused(&refusal.record, "confirmation", &own);
    let disk = machine.claim(machine.report(WriteLevel::Destroy), &[&own]).unwrap();
    assert_eq!(disk.device().partition_of.as_deref(), Some("sdb"));
}

#[test]
fn one_name_never_confirms_two_devices() {
    for (serial, size) in [(SERIAL, 2 * SIZE), ("", SIZE)] {
        let mut machine = Machine::new();
        if serial.is_empty() {
            machine.answer_nothing();
        }
        // A second unit of the same drive, or a second stick of the same make.
        machine.disk("sdd", (8, 48), size);
        machine.tells("sdd", "ATA     ", MODEL, serial);
        // Not two paths to one unit.
        machine.fake.attrs("sdb", &[("wwid", "naa.1")]);
        machine.fake.attrs("sdd", &[("wwid", "naa.2")]);
        let base = if serial.is_empty() { format!("{MODEL}:{SIZE}") } else { serial.to_string() };
        for (target, other) in [("sdb", "sdd"), ("sdd", "sdb")] {
            machine.target = target;
            for wrong in [base.clone(), format!("{base}:{other}")] {
                let given: &[&str] = &[&wrong];
                let refusal =
                    machine.claim(machine.report(WriteLevel::Destroy), given).unwrap_err();
                refused(&refusal.record, "confirmation", &format!("{base}:{target}"));
            }
            let own = format!("{base}:{target}");
            machine.claim(machine.report(WriteLevel::Destroy), &[&own]).unwrap();
        }
    }
}

#[test]
fn disk_changed_after_the_report_is_refused() {
    let machine = Machine::new();
    let report = machine.report(WriteLevel::Restore);
    machine.change("sdb", |node| node.exclusive = Some(Errno::BUSY));
    refused(&machine.claim(report, &[]).unwrap_err().record, "claim", "in use");
    let machine = Machine::new();
    let report = machine.report(WriteLevel::Restore);
    machine.write("sdb", 1080, b"\x53\xEF");
    let refusal = machine.claim(report, &[]).unwrap_err();
    refused(&refusal.record, "signatures", "ext2");
    refused(&refusal.record, "confirmation", "--write 'restore:WD-WCAV5E123456'");
}

#[test]
fn ranges_must_be_whole_sectors_of_the_device() {
    let machine = Machine::new();
    for (start, end) in
        [(0, 0), (512, 511), (100, 512), (0, 1000), (0, SIZE + 512), (SIZE, SIZE + 512)]
    {
        let mut request = machine.request(WriteLevel::SameBytes);
        request.range = Some(start..end);
        let record = machine.report_on(request).record(&Confirmation::none());
        refused(&record, "range", "sectors");
    }
}

#[test]
fn levels_that_write_nothing_raw_get_no_handle() {
    let machine = Machine::new();
    for level in [WriteLevel::Read, WriteLevel::OwnFiles] {
        let refusal = machine.claim(machine.report(level), &[SERIAL]).unwrap_err();
        refused(&refusal.record, "level", "needs no raw write");
    }
    assert!(machine.kernel.opened.lock().unwrap().is_empty());
}

#[test]
fn without_procfs_nothing_is_called_free() {
    let machine = Machine::new();
    std::fs::remove_file(machine.fake.path("proc/self/mountinfo")).unwrap();
    machine.refuses(&LEVELS, "mounts", "mount -t proc proc /proc");
}

#[test]
fn only_destroy_discards_within_its_claim() {
    let machine = Machine::new();
    let disk = machine.claimed(WriteLevel::Restore);
    assert!(matches!(disk.discard(0..4096), Err(WriteError::Level { .. })));
    assert!(machine.kernel.discarded.lock().unwrap().is_empty());
    drop(disk);
    let machine = Machine::new();
    let disk = machine.claimed(WriteLevel::Destroy);
    assert!(matches!(disk.discard(0..4096), Err(WriteError::Unsaved { .. })), "no test has begun");
    disk.begin(WriteLevel::Destroy).unwrap();
    assert!(disk.discard(0..4096).unwrap());
    for bytes in [0..SIZE + 4096, 100..612, 4096..4096] {
        assert!(matches!(disk.discard(bytes), Err(WriteError::Range { .. })));
    }
    assert_eq!(*machine.kernel.discarded.lock().unwrap(), vec![0..4096]);
}
