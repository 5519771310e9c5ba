//! Models as files.

mod document;
mod extremes;
mod origins;
mod planted_faults;
mod ports;
mod toml_errors;

use super::*;
use crate::device::RequestKind::{Read, Write};
use crate::device::{Nanos, RequestKind, SimDevice};
use crate::hdd::HardDisk;
use crate::link::Bridge;
use crate::testing::{Served, serve};
use crate::{sequential_pass, testing};

pub(crate) fn text_of(name: &str) -> &'static str {
    BUILT_IN.iter().find(|(known, _)| *known == name).unwrap().1
}

pub(crate) fn model(name: &str) -> Model {
    Model::parse(name, text_of(name)).unwrap()
}

/// The refusal of a built-in model's file with a text replaced.
fn refusal(name: &str, from: &str, to: &str) -> ModelError {
    let text = text_of(name);
    let changed = text.replacen(from, to, 1);
    assert_ne!(changed, text, "{from}");
    Model::parse(name, &changed).expect_err(to)
}

#[test]
fn built_in_models_are_valid_with_file_names() {
    for &(name, text) in BUILT_IN {
        let model = Model::parse(name, text).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(model.name, name);
        let drive = model.build(&Start::default()).unwrap();
        assert_eq!(drive.capacity_bytes(), model.capacity_bytes());
    }
}

#[test]
fn every_file_is_a_built_in_model() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/models");
    let mut files: Vec<String> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    files.sort();
    let listed: Vec<String> = BUILT_IN.iter().map(|(name, _)| format!("{name}.toml")).collect();
    assert_eq!(files, listed);
}

#[test]
fn impossible_values_are_named_with_line_and_field() {
    let (usb, disk, rotation) = ("easystore-2tb", "wd20ears", "hides_rotation = true ");
    let (logical, physical) = ("reported_logical_sector_bytes", "reported_physical_sector_bytes");
    for (name, from, to, table, key) in [
        (disk, "\nrpm = 5400", "\nrpm = 0", "hdd", "rpm"),
        (disk, "physical_sector_bytes = 512", "physical_sector_bytes = 1024", "identity", physical),
        (disk, "logical_sector_bytes = 512", "logical_sector_bytes = 4096", "identity", logical),
        (
            disk,
            "\nlogical_sector_bytes = 512",
            "\nlogical_sector_bytes = 4096",
            "identity",
            logical,
        ),
        (usb, rotation, "hidden_tail_bytes = 4000000000000 ", "link.bridge", "hidden_tail_bytes"),
        (usb, rotation, "logical_sector_bytes = 1000 ", "link.bridge", "logical_sector_bytes"),
        (usb, "\"usb3-bulk-only\"", "\"usb3-bulk-only\"\nqueue_depth = 2", "link", "queue_depth"),
        (usb, "\"usb3-bulk-only\"", "\"sata-6g\"", "link", "bridge"),
    ] {
        let (changed, heading) = (text_of(name).replacen(from, to, 1), format!("[{table}.{key}]"));
        let expected =
            changed.lines().position(|line| line.starts_with(key) || line == heading).unwrap() + 1;
        match refusal(name, from, to) {
            ModelError::Impossible { line, field, .. } => {
                assert_eq!((line, field), (expected, format!("{table}.{key}")), "{to}");
            }
            other => panic!("{other}"),
        }
    }
}

/// Mean time in ns of a request and the end of the last, at a queue depth.
fn closed_loop(
    device: &mut impl SimDevice,
    depth: usize,
    count: u64,
    request: impl Fn(u64) -> (RequestKind, u64, u64),
) -> (f64, Nanos) {
    let requests = (0..count).map(|id| {
        let (op, offset, len) = request(id);
        testing::request(id, op, offset, len)
    });
    let served = serve(device, 0, depth, requests);
    let total: Nanos = served.iter().map(Served::took).sum();
    (total as f64 / count as f64, served.last().unwrap().answered)
}

fn scattered_read(id: u64) -> (RequestKind, u64, u64) {
    // no fixed stride, with which a platter would be in step
    let mixed = (id + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (Read, (mixed ^ (mixed >> 29)).wrapping_mul(0xbf58_476d_1ce4_e5b9) % 250_000 * 4096, 4096)
}

fn large_read(id: u64) -> (RequestKind, u64, u64) {
    (Read, id << 20, 1 << 20)
}

fn large_write(id: u64) -> (RequestKind, u64, u64) {
    (Write, id << 20, 1 << 20)
}

/// The drive of a model without its link, its port as fast as in the link.
fn bare(model: &Model, start: &Start) -> Medium {
    let mut wide = model.clone();
    wide.link.bridge = Bridge::default();
    wide.build(start).unwrap().inner().clone()
}

#[test]
fn link_adds_command_times_but_no_data_time() {
    for &(name, text) in BUILT_IN {
        let model = Model::parse(name, text).unwrap();
        let start = Start { seed: 1, fill: 0.2, ..Start::default() };
        let both = |depth, count, request: fn(u64) -> (RequestKind, u64, u64)| {
            let through = closed_loop(&mut model.build(&start).unwrap(), depth, count, request);
            (through, closed_loop(&mut bare(&model, &start), depth, count, request))
        };
        let link = &model.link;
        let added_ns = 1000.0 * (link.command_us + link.latency_us + link.status_us);
        let (through, alone) = both(1, 2000, scattered_read);
        let (added, slack) = (through.0 - alone.0, alone.0 * 0.01);
        assert!((added - added_ns).abs() < slack.max(1.0), "{name}: {added} for {added_ns}");
        for request in [large_read, large_write] {
            let (through, alone) = both(4, 300, request);
            let off = through.1 as f64 / alone.1 as f64 - 1.0;
            assert!(off.abs() < 0.015, "{name}: {off}");
        }
    }
}

#[test]
fn slow_link_caps_fast_drive_at_payload() {
    let text = text_of("toshiba-xg6-1tb");
    let start = Start { fill: 0.2, ..Start::default() };
    for (preset, least, most) in [
        ("sata-3g", 270.0, 280.1),
        ("usb3-uas", 410.0, 430.1),
        ("usb3-bulk-only", 390.0, 430.1),
        ("usb2-bulk-only", 30.0, 38.1),
    ] {
        let model = Model::parse(preset, &text.replace("\"pcie3-x4\"", &format!("\"{preset}\"")));
        let model = model.unwrap();
        for request in [large_read, large_write] {
            let end = closed_loop(&mut model.build(&start).unwrap(), 4, 300, request).1;
            let rate_mb_s = (300u64 << 20) as f64 * 1000.0 / end as f64;
            assert!((least..=most).contains(&rate_mb_s), "{preset}: {rate_mb_s}");
        }
    }
}

#[test]
fn ssd_without_port_is_fast_as_its_link() {
    let mut model = model("samsung-870evo-1tb");
    model.ssd.as_mut().unwrap().port = None;
    let start = Start { fill: 0.2, ..Start::default() };
    let end = closed_loop(&mut model.build(&start).unwrap(), 4, 300, large_read).1;
    let rate_mb_s = (300u64 << 20) as f64 * 1000.0 / end as f64;
    assert!((550.0..560.1).contains(&rate_mb_s), "{rate_mb_s}");
}

#[test]
fn a_bridge_changes_what_the_host_sees() {
    let text = text_of("easystore-2tb");
    let lies =
        "hidden_tail_bytes = 1000000\nserial = \"\"\nlogical_sector_bytes = 4096\nhides_rotation";
    let model = Model::parse("easystore-2tb", &text.replacen("hides_rotation", lies, 1)).unwrap();
    let (seen, drive) = (model.shown(), model.build(&Start::default()).unwrap());
    assert_eq!((seen.serial.as_str(), seen.rotation_rpm), ("", None));
    assert_eq!(seen.reported_logical_sector_bytes, 4096);
    assert_eq!((drive.sector_bytes(), drive.capacity_bytes()), (4096, model.capacity_bytes()));
    assert_eq!(model.capacity_bytes(), (2_000_398_934_016 - 1_000_000) / 4096 * 4096);
    assert!(model.looks_rotating() && model.shows_write_cache().is_none());
}

#[test]
fn a_seed_moves_a_disks_start_and_repeats_it() {
    for name in ["wd40efrx", "st8000as0002-smr"] {
        let model = model(name);
        let run = |seed, anywhere| {
            let start = Start { seed, anywhere, ..Start::default() };
            closed_loop(&mut model.build(&start).unwrap(), 1, 500, scattered_read)
        };
        let (first, second, unmoved) = (run(1, true), run(2, true), run(1, false));
        assert_eq!((first, unmoved), (run(1, true), run(2, false)), "{name}");
        assert!(first != second && first != unmoved, "{name}");
        assert!((first.0 / second.0 - 1.0).abs() < 0.03, "{name}: {first:?} and {second:?}");
    }
}

#[test]
fn a_long_pass_takes_as_long_through_its_link() {
    let (model, start) = (model("usb-16tb"), Start::default());
    let write = (Write, 0, 256 << 30);
    let through = sequential_pass(&mut model.build(&start).unwrap(), 0, write, 1 << 20, 2);
    let alone = sequential_pass(&mut bare(&model, &start), 0, write, 1 << 20, 2);
    let off = through as f64 / alone as f64 - 1.0;
    assert!(off.abs() < 1e-5, "{off}");
}

/// Every hard disk whose writes go where they belong at once.
fn conventional_disks() -> impl Iterator<Item = (Model, HardDisk)> {
    BUILT_IN.iter().filter_map(|(name, text)| {
        let model = Model::parse(name, text).unwrap();
        let params = model.hdd.as_ref().filter(|params| params.smr.is_none())?;
        let disk = HardDisk::new(params, 1).unwrap();
        Some((model, disk))
    })
}

/// A full fill times its pieces; where the rate is the same, so must they be. What remains is a turn more or
/// less, since a write is answered when a track has left the cache.
#[test]
fn pieces_of_one_zone_take_the_same_time() {
    for (model, disk) in conventional_disks() {
        let piece = (4u64 << 30).max(model.capacity_bytes() / 1024) >> 20 << 20;
        let mut drive = model.build(&Start::default()).unwrap();
        let (mut now, mut compared) = (0, 0);
        for zone in disk.zones().iter().filter(|zone| zone.len_bytes > 4 * piece) {
            let from = zone.offset_bytes.next_multiple_of(1 << 20);
            // the first is shorter by the amount that the empty cache takes
            let took = [0, 1, 2].map(|number| {
                let began = now;
                let write = (Write, from + number * piece, piece);
                now = sequential_pass(&mut drive, began, write, 1 << 20, 4);
                now - began
            });
            for time in &took[1..] {
                let rate_mb_s = piece as f64 * 1e3 / *time as f64;
                let off = rate_mb_s / zone.rate_mb_s - 1.0;
                assert!(off.abs() < 0.001, "{} at {from}: {off}", model.name);
            }
            let spread = took[1].abs_diff(took[2]) as f64 / took[1] as f64;
            assert!(spread < 0.001, "{} at {from}: {spread}", model.name);
            compared += 1;
            now += 10_000_000_000;
            drive.advance(now, &mut Vec::new());
        }
        assert!(compared >= 8, "{}: {compared} zones", model.name);
    }
}
