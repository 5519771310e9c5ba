//! `sim reproduce`: the models against published measurements of their drives.

use crate::support::{Scratch, must_have};

/// Three quick cells: one with a figure, one with a bound, one without a figure.
const THREE: &[&str] = &[
    "sim",
    "reproduce",
    "--cell=s0-wdred-fill-start",
    "--cell=s0-hgst-spec-rpm",
    "--cell=s0-hgst-spec-form",
];

#[test]
fn cells_are_printed_by_drive_with_a_summary() {
    let scratch = Scratch::new();
    let out = scratch.drivescope(THREE).code(0).stdout;
    must_have(&out, &["hgst-7k1000", "s0-wdred-fill-start", "181", "no instrument"]);
    let share =
        "2 of 2 reachable cells within tolerance (100.0 %)\nby kind: specifications 1 of 1, other";
    assert!(out.contains(share), "{out}");
    assert!(out.lines().all(|line| line.chars().count() <= 80), "{out}");
}

#[test]
fn the_document_has_every_field_of_a_cell() {
    let scratch = Scratch::new();
    let document = scratch.drivescope(&[THREE, &["--json"]].concat()).code(0).json();
    assert_eq!((&document["reachable"], &document["passed"]), (&2.into(), &2.into()));
    let cells = document["cells"].as_array().unwrap();
    let rpm = cells.iter().find(|cell| cell["id"] == "s0-hgst-spec-rpm").unwrap();
    assert_eq!((&rpm["published"], &rpm["simulated"]), (&7200.0.into(), &7200.0.into()));
    assert_eq!((&rpm["difference_pct"], &rpm["tolerance_pct"]), (&0.0.into(), &5.0.into()));
    assert_eq!(rpm["pass"], true);
    let later = cells.iter().find(|cell| cell["id"] == "s0-hgst-spec-form").unwrap();
    for field in ["simulated", "difference_pct", "pass"] {
        assert!(later[field].is_null(), "{field}: {later}");
    }
    assert!(later["reason"].as_str().unwrap().starts_with("no instrument"));
}

#[test]
fn drive_is_found_by_both_its_names() {
    let scratch = Scratch::new();
    let count = |drive: &str| {
        let arguments =
            ["sim", "reproduce", "--cell=s0-xg6-spec-capacity", "--drive", drive, "--json"];
        scratch.drivescope(&arguments).code(0).json()["cells"].as_array().unwrap().len()
    };
    assert_eq!((count("xg6-1tb"), count("toshiba-xg6-1tb")), (1, 1));
}

#[test]
fn unknown_name_is_refused_with_the_nearest() {
    let scratch = Scratch::new();
    let refused = |arguments: &[&str]| {
        scratch.drivescope(&[&["sim", "reproduce"], arguments].concat()).refused(2)
    };
    let message = refused(&["--cell", "s0-wdred-fill-strat"]);
    assert!(message.contains("did you mean 's0-wdred-fill-start'?"), "{message}");
    let message = refused(&["--drive", "xg6-1bt"]);
    assert!(message.contains("did you mean 'xg6-1tb'?"), "{message}");
    let message = refused(&["--cell", "s0-hgst-spec-rpm", "--drive", "xg6-1tb"]);
    assert!(message.contains("no such cell"), "{message}");
}
