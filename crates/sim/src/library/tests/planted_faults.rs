//! Planted faults have the places and sizes of docs/models.md.

use super::{model, text_of};
use crate::device::{Nanos, RequestKind, SimOutcome};
use crate::library::*;
use crate::testing::{ask, request};

const BLOCK: u64 = 4096;

/// The first read of a drive, at `offset`: how long it takes, and how it ends.
fn read(model: &Model, planted: Planted, offset: u64) -> (Nanos, SimOutcome) {
    let start = Start { seed: 1, fill: 1.0, planted, ..Start::default() };
    let mut drive = model.build(&start).unwrap();
    let answer = ask(&mut drive, 0, request(1, RequestKind::Read, offset, BLOCK));
    (answer.at, answer.outcome)
}

fn added(model: &Model, planted: Planted, offset: u64) -> (Nanos, SimOutcome) {
    let (with, outcome) = read(model, planted, offset);
    (with - read(model, Planted::default(), offset).0, outcome)
}

#[test]
fn bad_regions_lie_midway_at_documented_cost() {
    let two_turns = 2 * 11_111_111;
    let slow = Planted { slow_region: true, ..Planted::default() };
    let failing = Planted { failing_region: true, ..Planted::default() };
    for (name, planted, share, costs, ends) in [
        ("wd40efrx", slow, 20, two_turns, SimOutcome::Done),
        ("wd40efrx", failing, 1000, 2_000_000_000, SimOutcome::MediaError),
        ("samsung-870evo-1tb", slow, 20, 1_000_000, SimOutcome::Done),
        ("samsung-870evo-1tb", failing, 1000, 50_000_000, SimOutcome::MediaError),
    ] {
        let model = model(name);
        let capacity = model.capacity_bytes();
        let first = capacity / 2 / BLOCK * BLOCK;
        let last = (first + capacity / share - 1) / BLOCK * BLOCK;
        for inside in [first, first + capacity / share / 3 / BLOCK * BLOCK, last] {
            assert_eq!(added(&model, planted, inside), (costs, ends), "{name} at {inside}");
        }
        for outside in [0, first - BLOCK, last + BLOCK] {
            let nothing = (0, SimOutcome::Done);
            assert_eq!(added(&model, planted, outside), nothing, "{name} at {outside}");
        }
    }
}

#[test]
fn throttled_drive_runs_at_third_of_speed() {
    let model = model("samsung-870evo-1tb");
    let throttled = Planted { throttled: true, ..Planted::default() };
    // beside the 10 µs of the link
    let own = |planted| (read(&model, planted, 1 << 30).0 - 10_000) as f64;
    let slower = own(throttled) / own(Planted::default());
    assert!((slower - 3.0).abs() < 0.01, "{slower}");
}

#[test]
fn unwritten_units_are_read_without_flash() {
    let model = model("samsung-870evo-1tb");
    let read = |fill: f64| {
        let mut drive = model.build(&Start { seed: 1, fill, ..Start::default() }).unwrap();
        let offset = model.capacity_bytes() / 2 / BLOCK * BLOCK;
        (ask(&mut drive, 0, request(1, RequestKind::Read, offset, BLOCK)).at + 500) / 1000
    };
    // µs, as docs/models.md has them
    let (empty, less, full) = (read(0.0), read(0.3), read(1.0));
    assert_eq!((empty, less), (38, 38));
    assert!((80..95).contains(&full), "{full}");
}

#[test]
fn host_limits_follow_from_drive_and_bridge() {
    for (name, write_cache, rotating, trim) in [
        ("wd40efrx", Some(true), true, false),
        ("st8000as0002-smr", Some(true), true, true),
        ("easystore-2tb", None, true, false),
        ("samsung-870evo-1tb", Some(true), false, true),
    ] {
        let model = model(name);
        assert_eq!(model.shows_write_cache(), write_cache, "{name}");
        assert_eq!((model.looks_rotating(), model.takes_trim()), (rotating, trim), "{name}");
    }
    let text = text_of("samsung-870evo-1tb");
    let bridge = "[link.bridge]\nhides_rotation = true\nfirmware = \"B1\"\n\n[ssd]\n";
    let enclosed = text.replacen("preset = \"sata-6g\"", "preset = \"usb3-uas\"", 1);
    let enclosed = Model::parse("mine", &enclosed.replacen("[ssd]\n", bridge, 1)).unwrap();
    // Linux takes a device that does not report it for a disk; UAS lets TRIM pass, bulk-only does not
    assert!(enclosed.looks_rotating() && enclosed.takes_trim());
    assert_eq!(enclosed.shown().firmware, "B1");
    let bulk_only = text.replacen("preset = \"sata-6g\"", "preset = \"usb3-bulk-only\"", 1);
    assert!(!Model::parse("mine", &bulk_only).unwrap().takes_trim());
}
