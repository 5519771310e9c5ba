//! What the kernel keeps in memory of what others wrote goes to the drive before anything is saved or written.

use super::kinds::KINDS;
use super::machine::{Machine, SERIAL, check};
use super::use_table::all;
use drivescope_model::WriteLevel;
use drivescope_model::gate::Outcome;
use std::sync::Arc;
use std::time::Duration;

/// A program that looks at the device for a moment is let go; what it wrote in that moment counts.
#[test]
fn writes_until_a_program_closes_are_flushed() {
    let machine = Machine::new();
    let report = machine.report(WriteLevel::Restore);
    let (_, make, _) = all().find(|case| case.0 == "a program that writes to it").unwrap();
    make(&machine);
    let process = machine.fake.path("proc/812");
    *machine.kernel.watched.lock().unwrap() = process.clone();
    let kernel = Arc::clone(&machine.kernel);
    let ending = std::thread::spawn(move || {
        // Once it was seen there.
        while !kernel.read.lock().unwrap().iter().any(|(_, is_there)| *is_there) {
            std::thread::sleep(Duration::from_millis(1));
        }
        std::fs::remove_dir_all(process).unwrap();
    });
    let disk = machine.claim(report, &[SERIAL]).unwrap_or_else(|refusal| panic!("{refusal}"));
    ending.join().unwrap();
    assert_eq!(check(disk.record(), "flushed").outcome, Outcome::Ok);
    let read = machine.kernel.read.lock().unwrap();
    assert!(read.iter().any(|(_, is_there)| *is_there), "it came too late for the test: {read:?}");
    assert!(!read.last().unwrap().1, "flushed while it wrote: {read:?}");
}

#[test]
fn writes_to_lower_layers_are_flushed() {
    for kind in KINDS.iter().filter(|kind| ["dm-5", "md5"].contains(&kind.disk)) {
        let machine = Machine::of(kind);
        let report = machine.report(WriteLevel::SameBytes);
        machine.kernel.read.lock().unwrap().clear();
        machine.claim(report, &[]).unwrap_or_else(|refusal| panic!("{refusal}"));
        let read = machine.kernel.read.lock().unwrap();
        let has = |name: &str| read.iter().any(|(node, _)| node.ends_with(name));
        assert!(has(kind.disk) && has("sde"), "{read:?}");
    }
}
