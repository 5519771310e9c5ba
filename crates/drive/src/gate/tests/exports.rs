//! An export whose path cannot be traced may be any device.

use super::kinds::KINDS;
use super::machine::{LEVELS, Machine, allowed, refused};
use crate::gate::reasons;
use drivescope_model::WriteLevel;
use std::fs;
use std::path::Path;

const SUBSYSTEM: &str = "sys/kernel/config/nvmet/subsystems/nqn.1";
const FILEIO: &str = "sys/kernel/config/target/core/fileio_0/lab";
const IBLOCK: &str = "sys/kernel/config/target/core/iblock_0/lab";

fn nvmet(machine: &Machine, path: &str) {
    machine.fake.file(&format!("{SUBSYSTEM}/namespaces/1/device_path"), path);
    machine.fake.file(&format!("{SUBSYSTEM}/namespaces/1/enable"), "1");
}

fn fileio(machine: &Machine, path: &str) {
    let file = format!("TCM FILEIO ID: 0        File: {path}  Size: 9  Mode: O_DSYNC Async: 0");
    machine.fake.file(&format!("{FILEIO}/info"), format!("Status: ACTIVATED  \n        {file}\n"));
    machine.fake.file(&format!("{FILEIO}/enable"), "1");
}

fn iblock(machine: &Machine, udev_path: &str, number: &str) {
    let device = format!("iBlock device: sdx  UDEV PATH: {udev_path}  readonly: 0");
    machine
        .fake
        .file(&format!("{IBLOCK}/info"), format!("{device}\n        {number} CLAIMED: IBLOCK\n"));
    machine.fake.file(&format!("{IBLOCK}/udev_path"), udev_path);
    machine.fake.file(&format!("{IBLOCK}/enable"), "1");
}

fn gadget(machine: &Machine, path: &str) {
    machine.fake.file("sys/kernel/config/usb_gadget/g1/functions/mass_storage.0/lun.0/file", path);
}

type AddExport = fn(&Machine, &str);

/// For each part of the kernel: how it exports a path, the words of the refusal, and what to type.
const PARTS: [(AddExport, &str, &str); 3] = [
    (nvmet, "NVMe target exports PATH (namespace 1 of nqn.1), which may be", "namespaces/1/enable"),
    (fileio, "SCSI target exports PATH (fileio_0/lab), which may be", "fileio delete lab"),
    (gadget, "USB gadget exports PATH (lun.0 of mass_storage.0 of g1), which may be", "echo > "),
];

/// Whether the gate refuses a target beside this export, because the export may be of it.
fn is_refused(machine: &Machine, export: AddExport, path: &str) -> bool {
    export(machine, path);
    let record = machine.confirmed(WriteLevel::SameBytes);
    reasons(&record.checks).is_some()
}

#[test]
fn untraceable_export_refuses_every_level() {
    let scratch = tempfile::tempdir().unwrap();
    let scratch = scratch.path().canonicalize().unwrap();
    fs::write(scratch.join("file"), "x").unwrap();
    std::os::unix::fs::symlink(scratch.join("file"), scratch.join("link")).unwrap();
    let link = scratch.join("link").display().to_string();
    for kind in &KINDS {
        for path in
            ["/gone/node", "/dev/gone", "srv/disk.img", "dev/sdb", "/srv/a (deleted)", &link]
        {
            for (export, words, end) in PARTS {
                let machine = Machine::of(kind);
                export(&machine, path);
                let words = words.replace("PATH", path);
                machine.refuses(&LEVELS, "holders", &words);
                machine.refuses(&LEVELS, "holders", end);
                assert!(machine.claim_to_restore().is_err());
            }
        }
    }
}

/// A link, or a node that a user made, may have led to the target when the kernel opened it.
#[test]
fn redirected_link_refuses_usual_node_does_not() {
    for (export, words, _) in PARTS {
        let machine = Machine::new();
        machine.disk("sdd", (8, 48), 1 << 30);
        machine.fake.link("dev/disk/by-id/lab", "../../sdd");
        let path = "/dev/disk/by-id/lab";
        export(&machine, path);
        let words =
            format!("{} this device: that name leads to /dev/sdd now", words.replace("PATH", path));
        machine.refuses(&LEVELS, "holders", &words);
        // To the target itself.
        fs::remove_file(machine.fake.path("dev/disk/by-id/lab")).unwrap();
        machine.fake.link("dev/disk/by-id/lab", "../../sdb");
        machine.refuses(&LEVELS, "holders", "sdb is exported by the kernel's");
        assert!(!is_refused(&machine, export, "/dev/sdd"));
        assert!(is_refused(&machine, export, "/dev/sdb"));
        // The usual node made a link to another device.
        fs::remove_file(machine.fake.path("dev/sdd")).unwrap();
        machine.fake.link("dev/sdd", "sda");
        assert!(is_refused(&machine, export, "/dev/sdd"));
    }
}

/// A file renamed since below a loop device: another one may have its name, or none.
#[test]
fn exported_file_may_be_below_a_loop_device() {
    let file = tempfile::NamedTempFile::new().unwrap();
    let path = file.path().canonicalize().unwrap();
    for (export, words, _) in PARTS {
        assert!(
            !is_refused(&Machine::new(), export, path.to_str().unwrap()),
            "a disk is not a file"
        );
        let machine = Machine::of(&KINDS[4]);
        export(&machine, path.to_str().unwrap());
        let words = words.replace("PATH", path.to_str().unwrap());
        machine.refuses(&LEVELS, "holders", &words);
    }
}

#[test]
fn disabled_or_in_memory_export_does_not_count() {
    let machine = Machine::new();
    for (export, ..) in &PARTS[..2] {
        export(&machine, "/gone");
    }
    for dir in [&format!("{SUBSYSTEM}/namespaces/1"), FILEIO] {
        machine.fake.file(&format!("{dir}/enable"), "0");
    }
    machine.fake.file("sys/kernel/config/target/core/rd_mcp_0/memory/enable", "1");
    machine.fake.file("sys/kernel/config/target/core/rd_mcp_0/memory/info", "TCM RD ID: 0");
    allowed(&machine.confirmed(WriteLevel::SameBytes));
    // Neither its state nor its device is known.
    fs::remove_file(machine.fake.path(&format!("{FILEIO}/enable"))).unwrap();
    machine.refuses(&LEVELS, "holders", "exports /gone (fileio_0/lab)");
    machine.fake.file(&format!("{FILEIO}/info"), "Status: ACTIVATED");
    machine.refuses(&LEVELS, "holders", "exports something (fileio_0/lab)");
}

/// The kernel shows the number of the block device that it has open, whatever the path means now.
#[test]
fn device_number_from_the_kernel_overrides_the_path() {
    let machine = Machine::new();
    machine.disk("sdd", (8, 48), 1 << 30);
    for (path, number, is_ours) in [
        ("/gone", "Major: 8 Minor: 16", true),
        ("/dev/sdd", "Major: 8 Minor: 16", true),
        ("/gone", "Major: 8 Minor: 48", false),
        ("/dev/sdb", "Major: 8 Minor: 48", false),
        ("/gone", "", true),
    ] {
        iblock(&machine, path, number);
        let record = machine.confirmed(WriteLevel::SameBytes);
        if is_ours {
            refused(&record, "holders", "the kernel's SCSI target")
        } else {
            allowed(&record)
        }
    }
}

/// An empty folder mounted over configfs, as a container may have it.
#[test]
fn folder_that_is_not_configfs_proves_nothing() {
    let machine = Machine::new();
    machine.fake.file("sys/module/nvmet/refcnt", "1");
    let place = "sys/kernel/config/nvmet/subsystems";
    fs::create_dir_all(machine.fake.path(place)).unwrap();
    allowed(&machine.confirmed(WriteLevel::SameBytes));
    fs::remove_dir(machine.fake.path(place)).unwrap();
    // Another file system than the one that stands for configfs here.
    machine.fake.link(place, Path::new("/proc/self/task"));
    machine.refuses(&LEVELS, "holders", &format!("{place} cannot be read to tell"));
    machine.fake.file("sys/module/nvmet/refcnt", "0");
    allowed(&machine.confirmed(WriteLevel::SameBytes));
}

/// A controller that is exported as a whole stands for its namespaces, and for no other drive.
#[test]
fn a_controller_passed_through_is_traced() {
    let machine = Machine::of(&KINDS[1]);
    for (node, is_ours) in [("nvme1", true), ("nvme7", false)] {
        machine.fake.file(&format!("dev/{node}"), "");
        machine.fake.file(&format!("{SUBSYSTEM}/passthru/device_path"), format!("/dev/{node}"));
        machine.fake.file(&format!("{SUBSYSTEM}/passthru/enable"), "1");
        let record = machine.confirmed(WriteLevel::SameBytes);
        if is_ours {
            refused(&record, "holders", "nvme1n1 is exported by the kernel's NVMe target")
        } else {
            allowed(&record)
        }
    }
}
