//! Stored runs done again.

use crate::store::{add_run, with_a_run};
use crate::support::Scratch;
use crate::support::json::{array, text};
use serde_json::Value;
use std::fs;
use std::path::Path;

#[test]
fn rerun_does_the_same_again() {
    let scratch = Scratch::new();
    let options = ["--seed=99", "--label=again", "--price=105USD", "--engine=threads"];
    let first = add_run(&scratch, &options);
    let second = scratch.drivescope(&["rerun", &first, "--json"]).code(0).json();
    let first = scratch.drivescope(&["show", &first, "--json"]).code(0).json();
    assert_ne!(first["id"], second["id"]);
    assert_eq!(first["plan"], second["plan"]);
    for key in ["label", "price"] {
        assert_eq!(first[key], second[key], "{key}");
    }
    assert_eq!(first["target"]["path"], second["target"]["path"]);
    assert_eq!(array(&scratch.drivescope(&["runs", "--json"]).code(0).json()).len(), 2);
    let plan = scratch.drivescope(&["rerun", "last", "--dry-run", "--json"]).code(0).json();
    assert_eq!(plan, first["plan"]);
    scratch.drivescope(&["rerun", "last", "--no-save", "--quiet"]).code(0);
    assert_eq!(array(&scratch.drivescope(&["runs", "--json"]).code(0).json()).len(), 2);
}

/// Permission to write is never taken from the earlier run.
#[test]
fn device_writing_run_repeats_with_its_options() {
    let scratch = Scratch::new();
    let options = ["--test=surface", "--write=same-bytes", "--rounds=1", "--json"];
    let first = scratch.run("sim:wd4000aaks", &[&options]).code(0).json();
    let wrote = |run: &Value| text(&run["plan"]["tests"][0]["writes"]).to_string();
    assert_eq!(wrote(&first), "same-bytes");
    let again = ["rerun", "last", "--write=same-bytes", "--no-save", "--json"];
    let second = scratch.drivescope(&again).code(0).json();
    assert_eq!(first["plan"], second["plan"]);
    let reads = scratch.drivescope(&["rerun", "last", "--dry-run", "--json"]).code(0).json();
    assert_eq!(reads["tests"][0]["writes"], "read");
}

/// From another directory, the model file's name meant nothing, or another file.
#[test]
fn run_of_a_model_file_repeats_from_anywhere() {
    let scratch = Scratch::new();
    let model = scratch.drivescope(&["sim", "show", "wd40efrx"]).code(0);
    scratch.file("own.toml", model.stdout.clone());
    let options = ["--test=latency", "--time=100ms", "--rounds=1", "--json"];
    let first = scratch.run("sim:own.toml?seed=3", &[&options]).code(0).json();
    let place = text(&first["target"]["path"]);
    assert!(place.starts_with("sim:/") && place.ends_with("/own.toml?seed=3"), "{place}");
    let again = scratch.call(&["rerun", "last", "--json"]).in_folder(Path::new("/"));
    assert_eq!(again.end().code(0).json()["plan"], first["plan"]);
}

/// `import` accepts options that no suite may have: a block of 0 bytes panicked, a file of 0 bytes was blamed on the
/// drive.
#[test]
fn imported_run_with_impossible_options_is_refused() {
    let scratch = Scratch::new();
    let id = add_run(&scratch, &[]);
    let run = scratch.drivescope(&["show", &id, "--json"]).code(0).json();
    for (number, option, word) in [
        (1, "/plan/suite/latency/block", "latency.block"),
        (2, "/plan/suite/tiny-writes/stream_block", "tiny-writes"),
        (3, "/plan/suite/rounds", "rounds"),
    ] {
        let id = format!("{number:012x}");
        let mut odd = run.clone();
        odd["id"] = id.as_str().into();
        *odd.pointer_mut(option).unwrap() = 0.into();
        scratch.file("odd.json", odd.to_string());
        scratch.drivescope(&["import", "odd.json"]).code(0);
        scratch.drivescope(&["rerun", &id]).refused_with(2, &[word]);
    }
    let mut of_a_file = run;
    of_a_file["id"] = "00000000000f".into();
    of_a_file["plan"]["own_bytes"] = 0.into();
    scratch.file("file.json", of_a_file.to_string());
    scratch.drivescope(&["import", "file.json"]).code(0);
    let again = scratch.drivescope(&["rerun", "00000000000f", "--dry-run", "--json"]);
    assert!(again.code(0).json()["own_bytes"].as_u64().unwrap() > 0);
}

#[test]
fn rerun_without_its_target_says_so() {
    let (scratch, id) = with_a_run();
    fs::remove_dir(scratch.target()).unwrap();
    scratch.drivescope(&["rerun", &id]).refused_with(2, &["no such path"]);
}
