//! `sim reproduce` beside the program's own tests: where the program repeats a published method on the same model,
//! both must give the same figure.
//!
//! Each test runs the program, names its figures as the instrument does, puts them into the formulas of the
//! published cells, and holds the outcome against what `sim reproduce --json` prints for these cells.

/// The program's figures under the names of the instruments.
mod figures;

use crate::support::Scratch;
use crate::support::json::{array, text};
use drivescope_sim::reproduce::{self, Cell, Figures, Job, Measured};
use serde_json::Value;
use std::collections::BTreeMap;

/// Beginning of a cell's id, and by how much both may differ there, in percent.
type Tolerance = (&'static str, f64);

/// The cells of a method with a model, in the table's order.
fn cells_of(method: &str) -> Vec<Cell> {
    let cells = reproduce::cells().expect("the table is right");
    cells.into_iter().filter(|cell| cell.method == method && cell.measured.is_some()).collect()
}

/// What `sim reproduce` gives for each of these cells.
fn reproduced(scratch: &Scratch, cells: &[Cell]) -> BTreeMap<String, f64> {
    let ids: Vec<String> = cells.iter().map(|cell| format!("--cell={}", cell.id)).collect();
    let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
    let document = scratch.drivescope(&[&["sim", "reproduce", "--json"], &ids[..]].concat());
    let document = document.code(0).json();
    let value = |cell: &Value| {
        let simulated = cell["simulated"].as_f64().expect("these cells have a figure");
        (text(&cell["id"]).to_string(), simulated)
    };
    array(&document["cells"]).iter().map(value).collect()
}

/// Holds all cells of `method` against `figures`, which runs the program on a drive. `missing` are the cells
/// whose figure the program has no test for; the first fitting tolerance counts for a cell.
fn hold(
    method: &str,
    figures: impl Fn(&Scratch, &str) -> Figures,
    tolerances: &[Tolerance],
    missing: &[&str],
) {
    let scratch = Scratch::new();
    let cells = cells_of(method);
    let run = |job: Job| (job.clone(), Ok(figures(&scratch, &job.drive)));
    let measured: Measured = reproduce::jobs(&cells).into_iter().map(run).collect();
    let reproduced = reproduced(&scratch, &cells);
    let (mut without, mut wrong) = (Vec::new(), Vec::new());
    for cell in &cells {
        let id = cell.id.as_str();
        let Some(program) = cell.result(&measured).simulated else {
            without.push(id);
            continue;
        };
        let fits = tolerances.iter().find(|(start, _)| id.starts_with(start));
        let (_, tolerance_pct) = fits.unwrap_or_else(|| panic!("no tolerance for {id}"));
        let instrument = reproduced[id];
        let off_pct = (program / instrument - 1.0) * 100.0;
        if off_pct.is_nan() || off_pct.abs() > *tolerance_pct {
            wrong.push(format!(
                "{id}: {program} by the program, {instrument} reproduced: {off_pct:+.2} %"
            ));
        }
    }
    assert_eq!(without, missing, "cells that the program has no figure for");
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// The same numbers, but for rounding.
const SAME: f64 = 1e-6;

#[test]
fn data_sheets_are_what_the_program_finds_of_the_drive() {
    // no test of the program finds these
    let on_paper = [
        "s0-hgst-spec-cache",
        "s0-hgst-spec-form",
        "s0-wdred-spec-cache",
        "s0-wdred-spec-form",
        "s4-wd20ears-spec-link",
        "s4-wd20eads-spec-cache",
        "s4-wd15earx-spec-link",
    ];
    hold("spec", figures::of_identity, &[("", SAME)], &on_paper);
}

/// The same requests. Where destaging locks to the platter they take the same time to the nanosecond; elsewhere
/// the angle at which the first one comes, a few reads later in the program, moves each pass by some percent.
#[test]
fn phybs() {
    let locked = ["s4-wd20ears", "s4-wd20eads", "s4-wd15earx-r"].map(|drive| (drive, 0.001));
    let tolerances = [&locked[..], &[("", 3.0)]].concat();
    hold("phybs", figures::of_phybs, &tolerances, &[]);
}

/// The same requests, except that the program reads all samples before it rewrites them, where GNOME Disks
/// rewrites each at once.
#[test]
fn gnome_disks() {
    // the program takes a part of a simulated drive from its start on only
    let at_the_end = [
        "s2-usb16-gd-2tb-last-read-vs",
        "s2-usb16-gd-2tb-last-write-vs",
        "s2-usb16-gd-256m-back-read",
        "s2-usb16-gd-256m-back-write",
        "s2-usb16-gd-256m-back-access",
        "s2-usb16-gd-2tb-back-access",
        "s2-usb16-gd-diff-read",
        "s2-usb16-gd-diff-write",
    ];
    hold("gnome-disks", figures::of_gnome_disks, &[("", 0.5)], &at_the_end);
}

/// The same requests in the same order, with a flush between writing and reading: AS SSD's reads of a disk, by
/// which those of flash are divided, wait for what its cache has not written yet, 2.9 % of their time.
#[test]
fn as_ssd_sequential() {
    let tolerances = [
        ("s0-860evo-asssd-seq-read", 3.0),
        ("s0-pm871b-asssd-seq-read", 3.0),
        ("s0-xg6-asssd-seq-read", 3.0),
        ("", SAME),
    ];
    hold("as-ssd-seq", figures::of_as_ssd_seq, &tolerances, &[]);
}

/// Other random places: a few thousand of a disk's accesses, whose time varies by 40 %, leave about 1 % to chance.
#[test]
fn as_ssd_random() {
    hold("as-ssd-4k", figures::of_as_ssd_4k, &[("", 3.0)], &[]);
}

/// Other random places: a disk's best run of five, of some 700 accesses, has another 1 % of chance. Flash has
/// less: that of its slower pages. Of a shorter run, what its buffer takes is a larger part.
#[test]
fn crystaldiskmark() {
    let tolerances = [("s3-wdblue", 3.0), ("", 1.5)];
    hold("crystaldiskmark-realworld", figures::of_crystaldiskmark, &tolerances, &[]);
}

#[test]
fn diskinfo() {
    hold("diskinfo-t", figures::of_diskinfo, &[("", 0.1)], &[]);
}

/// The program cuts the drive into other pieces; flash of a new drive fills its cache once in either.
#[test]
fn fill() {
    let flash = ["s0-860evo", "s0-xg6"].map(|drive| (drive, 0.5));
    hold("fill", figures::of_fill, &[&flash[..], &[("", 0.1)]].concat(), &[]);
}

/// Regions of the large disk by samples of it, other pieces than the instrument's.
#[test]
fn transfer() {
    hold("transfer", figures::of_transfer, &[("", 1.0)], &[]);
}

/// Seed 001's instruments, below the host that the program simulates instead of the article's laptop. `dd` writes
/// a new file and `tiny-writes` an old one, so only what they read can be compared; and that only where reading is
/// not slowed by the tiny writes before, as on the shingled disk of the article. Writes meet other random places.
#[test]
fn small_blocks() {
    for (drive, tolerances) in [
        ("wd40efrx", &[("read_iops", 1.0), ("write_iops", 5.0)][..]),
        ("easystore-2tb", &[("write_iops", 5.0)]),
        ("laptop-ssd-2015", &[("read_iops", 1.0), ("write_iops", 1.0)]),
    ] {
        let program = figures::of_tiny_writes(&Scratch::new(), drive);
        let instruments = figures::of_small_instruments(drive);
        for &(name, tolerance_pct) in tolerances {
            let (seen, expected) = (program[name], instruments[name]);
            let off_pct = (seen / expected - 1.0) * 100.0;
            assert!(off_pct.abs() <= tolerance_pct, "{drive} {name}: {seen} for {expected}");
        }
    }
}
