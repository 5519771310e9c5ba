//! The quick suite on all models, which are healthy: what it says they suit, why, and what it notices. Other suites
//! say the same of them, as far as they measure it.

use crate::support::json::{array, findings, text};
use crate::support::{Scratch, every, few_or_all, is_soak};
use drivescope_report::KnownDrive;
use drivescope_sim::library::BUILT_IN;
use serde_json::Value;

const KNOWN_DRIVES: &str = include_str!("../crates/report/src/drive_class/known_drives.tsv");

struct Healthy {
    model: &'static str,
    /// Points of system drive, database, virtual machines, media library and backup.
    points: [u64; 5],
    because: [&'static str; 5],
    /// All findings: a healthy drive has few.
    findings: &'static [&'static str],
}

/// Seeks decide for virtual machines, inner tracks for large files.
const DISK: [&str; 5] = [
    "random reads/s at depth 1",
    "random reads/s in a deep queue",
    "random reads/s in a deep queue",
    "reads at its end",
    "reads at its end",
];
const SHINGLED: &str = "a shingled drive";
const SATA_SSD: [&str; 5] = [
    "sequential reads at",
    "small synced writes/s",
    "small synced writes/s",
    "sequential reads at",
    "sequential writes at",
];

const fn disk(model: &'static str, points: [u64; 5]) -> Healthy {
    Healthy { model, points, because: DISK, findings: &[] }
}

const fn sata_ssd(model: &'static str) -> Healthy {
    Healthy { model, points: [3, 2, 2, 3, 3], because: SATA_SSD, findings: &[] }
}

const HEALTHY: [Healthy; 21] = [
    disk("hds722020ala330", [1, 0, 1, 3, 2]),
    disk("hgst-7k1000", [1, 0, 0, 3, 2]),
    disk("wd10ears", [1, 0, 1, 2, 2]),
    disk("wd15earx", [1, 0, 1, 3, 2]),
    disk("wd15gp", [1, 0, 1, 3, 2]),
    disk("wd20eads", [1, 0, 1, 2, 2]),
    disk("wd20ears", [1, 0, 1, 3, 2]),
    disk("wd4000aaks", [1, 0, 1, 2, 2]),
    disk("wd40efrx", [1, 0, 1, 3, 3]),
    disk("wd40ezrz", [1, 0, 1, 3, 3]),
    // Twice as fast at its end as the use wants, so that seeks come first.
    Healthy {
        model: "usb-16tb",
        points: [1, 0, 1, 3, 3],
        because: [DISK[0], DISK[1], DISK[2], "one small read in a hundred", DISK[4]],
        findings: &[],
    },
    Healthy {
        model: "st8000as0002-smr",
        points: [1, 0, 0, 3, 2],
        because: [DISK[0], DISK[1], SHINGLED, DISK[3], SHINGLED],
        findings: &["F046"],
    },
    // Shingled, behind a bridge that passes on one command at a time.
    Healthy {
        model: "easystore-2tb",
        points: [0, 0, 0, 2, 2],
        because: [DISK[0], DISK[1], DISK[1], DISK[3], DISK[4]],
        findings: &["F046", "F039"],
    },
    sata_ssd("pm871b-128"),
    sata_ssd("samsung-860evo-250"),
    sata_ssd("samsung-860evo-1tb"),
    sata_ssd("samsung-870evo-1tb"),
    Healthy {
        model: "laptop-ssd-2015",
        points: [3, 2, 2, 3, 3],
        because: [DISK[0], SATA_SSD[1], SATA_SSD[2], SATA_SSD[3], SATA_SSD[4]],
        findings: &[],
    },
    // Writes of later rounds find the fast part of the flash full.
    Healthy {
        model: "kioxia-bg4-128",
        points: [3, 2, 3, 3, 3],
        because: [DISK[0], DISK[1], SATA_SSD[2], SATA_SSD[3], SATA_SSD[4]],
        findings: &["F038"],
    },
    Healthy {
        model: "corsair-mp510-240",
        points: [3, 3, 3, 3, 3],
        because: [DISK[0], SATA_SSD[1], SATA_SSD[2], SATA_SSD[3], SATA_SSD[4]],
        findings: &["F038"],
    },
    Healthy {
        model: "toshiba-xg6-1tb",
        points: [3, 3, 3, 3, 3],
        because: [DISK[0], SATA_SSD[1], SATA_SSD[2], SATA_SSD[3], SATA_SSD[3]],
        findings: &[],
    },
];

/// Smaller drives get a note where capacity matters.
const SMALL_BYTES: u64 = 500_000_000_000;
const NEEDS_CAPACITY: [&str; 3] = ["virtual machines", "media library", "backup"];

fn faults_of(expected: &Healthy, run: &Value) -> Vec<String> {
    let Healthy { model, points, because, findings: ids } = expected;
    let mut faults = Vec::new();
    let verdicts = array(&run["verdict"]).iter().zip(points.iter().zip(because));
    let is_small = run["drive"]["capacity_bytes"].as_u64().expect("known") < SMALL_BYTES;
    for (verdict, (points, because)) in verdicts {
        let (suits, reason) = (text(&verdict["suits"]), text(&verdict["because"]));
        if verdict["points"] != *points || !reason.contains(because) {
            faults.push(format!("{model}: {suits}: {} because {reason}", verdict["points"]));
        }
        if reason.contains("Holds only")
            != (is_small && NEEDS_CAPACITY.contains(&suits) && *points > 0)
        {
            faults.push(format!("{model}: {suits}: {reason}"));
        }
        // It reads where it has written at random, and the end of the drive; only the capacity is left.
        if suits == "backup" && verdict["not_tested"] != serde_json::json!(["capacity"]) {
            faults.push(format!("{model}: {suits} without {}", verdict["not_tested"]));
        }
    }
    let document = serde_json::from_value(run.clone()).expect("a run document");
    if let Some(known) = KnownDrive::of(&document).map(|known| known.line())
        && !KNOWN_DRIVES.lines().any(|line| line == known)
    {
        faults.push(format!("{model}: not in known_drives.tsv (cargo xtask classes): {known}"));
    }
    if findings(run) != *ids {
        faults.push(format!("{model}: {:?}", run["findings"]));
    }
    faults
}

/// Suites that measure a part of `quick`, and take seconds, and the one that takes minutes.
const OTHER_SUITES: [&str; 4] = ["first", "as-ssd", "gnome-disks", "crystaldiskmark"];
const LONG_SUITE: &str = "standard";
/// Outside the soak an eighth of AS SSD's requests: a million, which disks take seconds to compute.
const SHORTER: [&str; 2] = ["--set", "transfer.io_size=128MiB"];

/// A small part of the same drive, as in a directory (written and read) or a file (read).
const PARTS: [(&str, &[&str]); 2] = [
    ("a directory", &["--size=512MiB"]),
    (
        "a file",
        &[
            "--size=1GiB",
            "--test=transfer,latency",
            "--cells=seq1m_q8t1.read,seq1m_q1t1.read,rnd4k_q32t1.read,rnd4k_q1t1.read",
        ],
    ),
];
/// Uses that depend on sequential rates, which a small part shows as well as the whole drive.
const IN_ORDER: [&str; 2] = ["media library", "backup"];

/// Different points for sequential rates between a part and the whole drive, unless the part says that the end was not
/// tested.
fn other_points(part: &Value, whole: &Value) -> Vec<String> {
    let both = array(&part["verdict"]).iter().zip(array(&whole["verdict"]));
    both.filter(|(a, _)| IN_ORDER.contains(&text(&a["suits"])))
        .filter_map(|(a, b)| Some((a["points"].as_u64()?, a, b["points"].as_u64()?, b)))
        .filter(|(a_points, _, b_points, _)| a_points != b_points)
        .filter(|(a_points, a, b_points, b)| {
            let is_end = text(&b["because"]).contains("reads at its end") && a_points > b_points;
            !(is_end && a["not_tested"].to_string().contains("end of drive"))
        })
        .map(|(_, a, _, b)| format!("{}: {a} against {b}", text(&a["suits"])))
        .collect()
}

/// Contradictions to the verdicts of `quick` that are not explained by what only one suite measured.
fn contradictions(other: &Value, quick: &Value) -> Vec<String> {
    let both = array(&other["verdict"]).iter().zip(array(&quick["verdict"]));
    let judged =
        both.filter_map(|(a, b)| Some((a["points"].as_u64()?, a, b["points"].as_u64()?, b)));
    judged
        .filter(|(a_points, _, b_points, _)| a_points != b_points)
        .map(|(a_points, a, b_points, b)| if a_points < b_points { (a, b) } else { (b, a) })
        .filter(|(low, high)| !has_reason(low, high))
        .map(|(low, high)| format!("{}: {low} against {high}", text(&low["suits"])))
        .collect()
}

/// Whether the lower of two verdicts rests on what the other lacks and says so, or on a finding that it names, or one
/// of them is borderline.
fn has_reason(low: &Value, high: &Value) -> bool {
    fn what(rule: &Value) -> String {
        text(&rule["what"]).to_string()
    }
    let because = text(&low["because"]);
    if because.contains("Caution") || because.contains("(F0") {
        return true;
    }
    if [low, high].iter().any(|verdict| text(&verdict["because"]).contains("borderline")) {
        return true;
    }
    let measured: Vec<String> = array(&high["rules"]).iter().map(what).collect();
    let lacks = array(&low["rules"])
        .iter()
        .filter(|rule| rule["points"] == low["points"])
        .any(|rule| !measured.contains(&what(rule)));
    lacks && high["not_tested"].as_array().is_some_and(|all| !all.is_empty())
}

#[track_caller]
fn assert_healthy(nth: usize) {
    let mut faults = Vec::new();
    let others = few_or_all(0, OTHER_SUITES.len() as u64) as usize;
    let quarter: Vec<&Healthy> = HEALTHY.iter().skip(nth).step_by(4).collect();
    for expected in every(3, &quarter) {
        let scratch = Scratch::new();
        let target = format!("sim:{}", expected.model);
        let run = scratch.run(&target, &[&["--json", "--no-save", "--seed=1"]]).code(0).json();
        assert_eq!(
            (&run["status"], &run["plan"]["suite"]["name"]),
            (&"done".into(), &"quick".into())
        );
        faults.extend(faults_of(expected, &run));
        for (what, part) in PARTS {
            let asked: &[&str] = &["--json", "--no-save", "--seed=1"];
            let other = scratch.run(&target, &[asked, part]).code(0).json();
            let of = |fault| format!("{what} on {}: {fault}", expected.model);
            faults.extend(other_points(&other, &run).into_iter().map(of));
        }
        for suite in OTHER_SUITES.into_iter().take(others).chain(is_soak().then_some(LONG_SUITE)) {
            let asked: &[&str] = &["--json", "--no-save", "--seed=1", "--suite", suite];
            let shorter: &[&str] = if suite == "as-ssd" && !is_soak() { &SHORTER } else { &[] };
            let other = scratch.run(&target, &[asked, shorter]).code(0).json();
            let of = |fault| format!("{suite} on {}: {fault}", expected.model);
            faults.extend(contradictions(&other, &run).into_iter().map(of));
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn every_model_is_in_the_table() {
    let mut all: Vec<&str> = HEALTHY.iter().map(|expected| expected.model).collect();
    all.sort_unstable();
    let built_in: Vec<&str> = BUILT_IN.iter().map(|(name, _)| *name).collect();
    assert_eq!(all, built_in);
}

#[test]
fn first_quarter_of_models_gets_its_verdicts() {
    assert_healthy(0);
}

#[test]
fn second_quarter_of_models_gets_its_verdicts() {
    assert_healthy(1);
}

#[test]
fn third_quarter_of_models_gets_its_verdicts() {
    assert_healthy(2);
}

#[test]
fn last_quarter_of_models_gets_its_verdicts() {
    assert_healthy(3);
}
