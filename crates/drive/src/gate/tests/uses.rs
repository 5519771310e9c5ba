//! Every use refuses, on every kind of device, seen from the host and from containers.

use super::kinds::{KINDS, Kind, SDB};
use super::machine::{LEVELS, Machine, OVERWRITING, allowed, check, refusals, refused};
use super::use_table::{Seen, Use, all};
use drivescope_model::WriteLevel;
use drivescope_model::gate::Outcome;
use rustix::io::Errno;

fn used(kind: &Kind, (name, make, ..): &Use) -> Machine {
    println!("{}: {name}", kind.disk);
    let machine = Machine::of(kind);
    make(&machine);
    machine
}

fn claims(machine: &Machine, device: &str, answer: Option<Errno>) {
    machine.change(device, |node| node.exclusive = answer);
}

#[test]
fn every_use_is_refused_at_every_level() {
    for case @ (.., (by, words, _)) in all() {
        let machine = used(&SDB, case);
        let words = machine.named(words);
        // The tables alone must be enough: claims have holes of their own.
        machine.refuses(&LEVELS, by, &words);
        claims(&machine, "sdb", Some(Errno::BUSY));
        let record = machine.confirmed(WriteLevel::Destroy);
        refused(&record, by, &words);
        refused(&record, "claim", "in use");
    }
}

#[test]
fn every_use_is_refused_on_every_device_kind() {
    for kind in &KINDS {
        for case @ (.., (by, words, _)) in all() {
            let machine = used(kind, case);
            refused(&machine.confirmed(WriteLevel::SameBytes), by, &machine.named(words));
        }
    }
}

/// Uses that `/sys` and the kernel's tables show are reported with their reason. If they show none, no other check
/// invents one, and the claim refuses.
#[test]
fn container_reports_visible_uses_and_refuses_hidden() {
    for kind in &KINDS {
        for case @ (.., (by, words, seen)) in all() {
            let machine = used(kind, case).in_container();
            let record = machine.confirmed(WriteLevel::SameBytes);
            match seen {
                Seen::Same => refused(&record, by, &machine.named(words)),
                Seen::As(by, words) => refused(&record, by, &machine.named(words)),
                Seen::Claim | Seen::Not => allowed(&record),
            }
            if matches!(seen, Seen::Claim) {
                claims(&machine, kind.disk, Some(Errno::BUSY));
                let record = machine.confirmed(WriteLevel::SameBytes);
                refused(&record, "claim", "something not visible here");
                assert_eq!(refusals(&record).len(), 1, "{record:#?}");
            }
        }
    }
}

/// A container that shares the processes of the host sees its mounts in those.
#[test]
fn host_mounts_are_found_beside_host_processes() {
    let by_mounts = ["mounts", "swap", "loop devices"];
    for case @ (.., (by, words, _)) in all().filter(|case| by_mounts.contains(&case.2.0)) {
        let machine = used(&SDB, case).in_container_with_processes();
        let words = machine.named(words);
        refused(&machine.confirmed(WriteLevel::SameBytes), by, &words);
    }
}

/// From a container, contents of a free partition are not given up beside a use of the first, seen or not.
#[test]
fn container_overwrites_nothing_on_a_used_disk() {
    for kind in KINDS.iter().filter(|kind| kind.part != kind.disk) {
        for case in all().filter(|(.., (_, words, _))| words.contains("PART")) {
            let mut machine = used(kind, case);
            machine.target = machine.with_second_part().leak();
            let machine = machine.in_container();
            claims(&machine, kind.disk, Some(Errno::BUSY));
            allowed(&machine.confirmed(WriteLevel::SameBytes));
            machine.refuses(&OVERWRITING, "rest of the drive", "is in use");
        }
    }
}

/// Without configfs, or in a container without it, the exported disk looked free and was written.
#[test]
fn possible_export_is_refused_if_unknown() {
    for (module, place) in [
        ("nvmet", "nvmet/subsystems"),
        ("target_core_file", "target/core"),
        ("usb_f_mass_storage", "usb_gadget"),
    ] {
        for users in [Some("1"), Some("0"), None] {
            let machine = Machine::new();
            let dir = format!("sys/module/{module}");
            std::fs::create_dir_all(machine.fake.path(&dir)).unwrap();
            if let Some(users) = users {
                machine.fake.file(&format!("{dir}/refcnt"), users);
            }
            let record = machine.confirmed(WriteLevel::SameBytes);
            match users {
                Some("0") => allowed(&record),
                _ => refused(&record, "holders", &format!("{place} cannot be read to tell")),
            }
            let place = machine.fake.path(&format!("sys/kernel/config/{place}"));
            std::fs::create_dir_all(place).unwrap();
            allowed(&machine.confirmed(WriteLevel::SameBytes));
        }
    }
}

#[test]
fn invisible_use_is_refused_as_hidden() {
    let machine = Machine::new().in_container();
    machine.change("sdb", |node| node.exclusive = Some(Errno::BUSY));
    refused(&machine.confirmed(WriteLevel::Destroy), "claim", "not visible here");
}

#[test]
fn processes_with_hidden_mounts_are_reported() {
    let machine = Machine::new();
    // A directory where the file should be cannot be read as one, not even by root.
    std::fs::remove_file(machine.fake.path("proc/1/mountinfo")).unwrap();
    machine.fake.file("proc/1/mountinfo/x", "");
    let record = machine.examine(WriteLevel::SameBytes);
    assert_eq!(check(&record, "mounts").outcome, Outcome::Unknown);
    assert!(check(&record, "mounts").evidence.contains("1 processes are not visible"));
    allowed(&record);
}
