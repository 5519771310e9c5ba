//! `surface.preset=full` on devices: what a killed read leaves is resumed, and an unreadable end is named.

use super::guards::OnLoop;
use super::resume::kill_after_a_checkpoint;
use super::served::{Served, scratch_to_serve};
use crate::support::json::{array, finding, statuses, test_of, text, value};
use crate::support::{Scratch, must_have};
use serde_json::Value;
use std::fs::OpenOptions;

const MIB: u64 = 1 << 20;
/// In real time: 256 MiB take a disk more than a second.
const DISK: &str = "wd40efrx";
const FULL: &[&str] =
    &["--test=surface", "--set=surface.preset=full", "--set=surface.accesses=0", "--json"];

fn positions(run: &Value) -> Vec<u64> {
    let series = array(&test_of(run, "surface")["series"]);
    let curve = series.iter().find(|series| series["key"] == "surface.read.mb_s");
    let curve = curve.expect("the curve is kept");
    array(&curve["x"]).iter().map(|x| x.as_f64().expect("a number") as u64).collect()
}

#[test]
fn killed_read_is_resumed_on_the_same_drive_only() {
    let Some(scratch) = scratch_to_serve(true) else { return };
    let served = Served::start(&scratch, &[DISK, "drive", "--block"]);
    let node = served.node();
    let start = || scratch.run_call(&node, &[FULL, &["--size=256MiB"]]).start();
    kill_after_a_checkpoint(&scratch, start, 0, "continue with --resume");
    // Samples read nothing away.
    let samples = ["--test=surface", "--set=surface.samples=2", "--set=surface.sample=1MiB"];
    scratch.run(&node, &[&samples, &["--set=surface.accesses=0", "--rounds=1"]]).measured();
    let resume = ["--test=surface", "--resume", "--json"];
    let other = |options: &[&str], parts: &[&str]| {
        scratch.run(&node, &[&resume, options]).refused_with(2, parts);
    };
    other(&["--size=512MiB", "--set=surface.accesses=0"], &["cannot resume", "omit --size"]);
    other(&["--set=surface.accesses=9"], &["cannot resume", "surface.accesses=0, not 9"]);
    let ended = scratch.run(&node, &[&resume, &["--set=surface.accesses=0"]]).measured();
    assert!(ended.stderr.contains("a full surface of"), "{ended}");
    let run = ended.json();
    assert_eq!(statuses(&run), [("surface", "done")]);
    assert!(run["plan"]["suite"]["surface"]["from"].as_u64() > Some(0), "{run}");
    let positions = positions(&run);
    assert_eq!(positions.len(), 64);
    assert!((0..).step_by(4 << 20).zip(&positions).all(|(at, x)| at == *x), "{positions:?}");
    let share = value(&run, "surface.read.share_pct") / 100.0 * 4_000_787_030_016.0;
    assert!((share - (256 * MIB) as f64).abs() < 1.0, "{share}");
    other(&[], &["nothing to resume"]);
    served.interrupt().end().code(0);
}

#[test]
fn unreadable_end_is_named_and_was_not_there_before() {
    let Some(OnLoop { scratch, image, device, .. }) = OnLoop::of_noise(64) else { return };
    let good = scratch.run(&device.node, &[FULL]).measured().json();
    assert_eq!(value(&good, "surface.read.share_pct"), 100.0);
    let cut = 40 * MIB + 4096;
    OpenOptions::new().write(true).open(&image).unwrap().set_len(cut).unwrap();
    let run = scratch.run(&device.node, &[FULL]).code(4).json();
    for (key, bytes) in [("unreadable_bytes", 64 * MIB - cut), ("silent_bytes", cut)] {
        assert_eq!(value(&run, &format!("surface.unreadable.{key}")), bytes as f64, "{key}");
    }
    let error = finding(&run, "F017").to_string();
    must_have(&error, &["bytes 41,947,136 to 67,108,863", "nothing can be read after 41.9 MB"]);
    shows(&scratch, &run);
}

fn shows(scratch: &Scratch, run: &Value) {
    let shown = scratch.drivescope(&["show", text(&run["id"])]).code(0).stdout;
    must_have(&shown, &["read: 62.5 % of the drive", "nothing can be read after 41.9 MB"]);
}
