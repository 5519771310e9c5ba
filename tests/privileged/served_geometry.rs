//! `geometry` in real time, on drives that `sim mount` serves: every answer passes FUSE and a loop device, whose time
//! is added to the drive's and varies. The truth is what the same test says of the same model in virtual time.
//!
//! Where other tests keep both cores busy the served drive itself is late, so that figures are held to their bounds in
//! the soak only; the check sees that every question is answered or named.

use super::served::{Served, scratch_to_serve};
use crate::support::json::metric;
use crate::support::{Scratch, is_soak};
use serde_json::Value;
use std::io::Write;

/// One disk by default, more in the soak, which has the machine to itself: 5,400 and 7,200 rpm, one with hidden
/// sectors, a shingled one, and an SSD.
const ONE: [&str; 1] = ["wd40efrx"];
const HANDFUL: [&str; 5] =
    ["wd40efrx", "hds722020ala330", "wd20ears", "st8000as0002-smr", "samsung-860evo-250"];
/// Real time of each. In the check: rotation, zones, and seeks.
const TIME: &str = "30s";
const TIME_SOAK: &str = "120s";
/// Tolerances between real and virtual time, as a share. The path adds some tenths of a millisecond to every access,
/// and a busy core sometimes a revolution.
const SHARES: [(&str, f64); 5] = [
    ("geometry.rotation.rpm", 0.005),
    ("geometry.zone01.mb_s", 0.05),
    ("geometry.zones.count", 0.3),
    ("geometry.read_cache.read_ahead_bytes", 0.25),
    ("geometry.read_cache.cache_bytes", 0.25),
];
/// Tolerances in the unit of the figure.
const DIFFERENCES: [(&str, f64); 1] = [("geometry.seek.average_ms", 1.5)];

/// Means of many times. Other properties compare single times, which a shared machine may spoil.
const ALWAYS_TOLD: [&str; 2] = ["geometry.rotation.rpm", "geometry.zone01.mb_s"];

fn value(document: &Value, key: &str) -> Option<f64> {
    metric(document, key)?["value"].as_f64()
}

fn geometry(scratch: &Scratch, target: &str, time: &str) -> Value {
    let test = ["--test=geometry", "--set=geometry.writes=false", "--time", time];
    let call = scratch.run_call(target, &[&test, &["--json", "--no-save", "--quiet", "--seed=3"]]);
    call.end().not_panicked().json()
}

/// The report on the served drive must match its model; properties hidden by the path are listed instead. `is_held`:
/// figures must be within tolerance. Returns a line per figure.
fn compared(model: &str, found: &Value, truth: &Value, is_held: bool) -> String {
    let mut lines = String::new();
    let reason = found["tests"][0]["reason"].as_str().unwrap_or_default();
    let shares = SHARES.map(|(key, bound)| (key, bound, true));
    let differences = DIFFERENCES.map(|(key, bound)| (key, bound, false));
    for (key, bound, is_share) in shares.into_iter().chain(differences) {
        let Some(truth) = value(truth, key) else {
            assert_eq!(value(found, key), None, "{model}: {key}");
            continue;
        };
        let Some(found) = value(found, key) else {
            lines += &format!("{model} {key}: nothing, of {truth}\n");
            assert!(reason.contains("could not tell"), "{model}: {key}");
            assert!(!is_held || !ALWAYS_TOLD.contains(&key), "{model}: {key}: {reason}");
            continue;
        };
        lines += &format!("{model} {key}: {found} of {truth}\n");
        let off = if is_share { found / truth - 1.0 } else { found - truth };
        assert!(off.abs() < bound || !is_held, "{model} {key}: {found} of {truth}");
    }
    lines
}

#[test]
#[ignore = "takes a minute: CI and the soak"]
fn served_disk_rotates_and_seeks_like_its_model() {
    let is_soak = is_soak();
    let (models, time) = if is_soak { (&HANDFUL[..], TIME_SOAK) } else { (&ONE[..], TIME) };
    for model in models {
        let Some(scratch) = scratch_to_serve(true) else { return };
        let truth = geometry(&scratch, &format!("sim:{model}"), "10min");
        let served = Served::start(&scratch, &[model, "drive", "--block"]);
        let found = geometry(&scratch, &served.node(), time);
        served.interrupt().end().code(0);
        let lines = compared(model, &found, &truth, is_soak);
        let _ = write!(std::io::stderr().lock(), "{lines}");
    }
}
