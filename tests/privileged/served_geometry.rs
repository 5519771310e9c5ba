//! `geometry` in real time, on drives that `sim mount` serves: every answer passes FUSE and a loop device, whose time
//! is added to the drive's and varies. The truth is what the same test says of the same model in virtual time.
//!
//! Where other tests keep both cores busy the served drive itself is late, so that figures are held to their bounds in
//! the soak only; the check sees that every question is answered or named.

use super::served::{Served, scratch_to_serve};
use crate::support::Scratch;
use crate::support::json::{array, text};
use serde_json::Value;

/// A disk by default, and a handful in the soak, which has the machine to itself.
const ONE: [&str; 1] = ["wd40efrx"];
const HANDFUL: [&str; 4] = ["wd40efrx", "hds722020ala330", "wd20ears", "wd4000aaks"];
/// Real time of each: rotation, zones, and the movements of the arm.
const TIME: &str = "30s";
/// How far answers in real time may be from those in virtual time: shares, and for movements ms. The path adds some
/// tenths of a millisecond to every access, and what waits for a core a turn now and then.
const BOUNDS: [(&str, f64); 3] = [
    ("geometry.rotation.rpm", 0.005),
    ("geometry.zone01.mb_s", 0.05),
    ("geometry.zones.count", 0.3),
];
const AVERAGE_SEEK: (&str, f64) = ("geometry.seek.average_ms", 1.5);

fn value(document: &Value, key: &str) -> Option<f64> {
    let metrics = array(&document["tests"][0]["metrics"]);
    metrics.iter().find(|metric| text(&metric["key"]) == key)?["value"].as_f64()
}

fn geometry(scratch: &Scratch, target: &str) -> Value {
    let call = [
        "run",
        target,
        "--test",
        "geometry",
        "--time",
        TIME,
        "--set",
        "geometry.writes=false",
        "--json",
        "--no-save",
        "--quiet",
        "--seed",
        "3",
    ];
    scratch.drivescope(&call).not_panicked().json()
}

#[test]
fn a_served_disk_turns_and_moves_as_its_model_does() {
    let is_soak = std::env::var_os("DRIVESCOPE_TESTS_SOAK").is_some_and(|value| value == "1");
    for model in if is_soak { &HANDFUL[..] } else { &ONE[..] } {
        let Some(scratch) = scratch_to_serve(true) else { return };
        let truth = geometry(&scratch, &format!("sim:{model}"));
        let served = Served::start(&scratch, &[model, "drive", "--block"]);
        let found = geometry(&scratch, &served.node());
        served.interrupt().end().code(0);
        let reason = &found["tests"][0]["reason"];
        assert!(!is_soak || value(&found, "geometry.rotation.rpm").is_some(), "{model}: {reason}");
        for (key, bound) in BOUNDS {
            // What the path hides is named instead.
            let (Some(found), Some(truth)) = (value(&found, key), value(&truth, key)) else {
                assert!(text(reason).contains("could not tell"), "{model}: {key}");
                continue;
            };
            println!("{model} {key}: {found} of {truth}");
            let is_near = (found / truth - 1.0).abs() < bound;
            assert!(is_near || !is_soak, "{model} {key}: {found} of {truth}");
        }
        let (key, bound) = AVERAGE_SEEK;
        if let (Some(found), Some(truth)) = (value(&found, key), value(&truth, key)) {
            println!("{model} {key}: {found} of {truth}");
            let is_near = (found - truth).abs() < bound;
            assert!(is_near || !is_soak, "{model} {key}: {found} of {truth}");
        }
    }
}
