//! `copy`, `fill-files` and `read-files` as a user calls them: what is kept, continued and removed.

use crate::support::json::{array, test_of, text};
use crate::support::scratch::{names, own_folder};
use crate::support::{Running, Scratch, wait_for};

const FILL: &[&str] =
    &["--test=fill-files", "--set=fill-files.size=8MiB", "--set=fill-files.files=6", "--json"];

#[test]
fn killed_fill_resumes_after_its_last_file() {
    let scratch = Scratch::new();
    let endless =
        ["--test=fill-files", "--set=fill-files.size=4MiB", "--set=fill-files.files=100000"];
    let running = scratch.run_call("target", &[&endless]).start();
    // A checkpoint is due after a quarter of a second.
    let id = wait_for("a checkpoint with some files", || {
        let runs = scratch.drivescope(&["runs", "--json"]);
        let runs = (runs.exit_code() == Some(0)).then(|| runs.json())?;
        let id = text(&array(&runs).first()?["id"]).to_string();
        let run = scratch.drivescope(&["show", &id, "--json"]).json();
        (array(&run["tests"]).first()?["resume"]["at_bytes"].as_u64()? > 4 << 20).then_some(id)
    });
    running.kill();
    let before = scratch.drivescope(&["show", &id, "--json"]).code(0).json();
    let known = array(&before["tests"][0]["series"][0]["x"]).len();
    assert!(own_folder(scratch.target()).is_some(), "the files are still there");
    let files = format!("--set=fill-files.files={}", known + 3);
    let resumed = ["--test=fill-files", "--set=fill-files.size=4MiB", &files, "--resume", "--json"];
    let run = scratch.run_call("target", &[&resumed]).end().code(0).json();
    let fill = test_of(&run, "fill-files");
    assert_eq!(array(&fill["series"][0]["x"]).len(), known + 3);
    assert_eq!(names(scratch.target()), [""; 0], "kept only if requested");
}

/// An endless copy.
fn copy_under_way(scratch: &Scratch) -> Running {
    let copies = ["--test=copy", "--size=256MiB", "--rounds=1000", "--set=copy.small_files=300"];
    let running = scratch.run_call("target", &[&copies]).start();
    wait_for("a copy under way", || {
        own_folder(scratch.target()).filter(|folder| folder.join("copy").exists())
    });
    running
}

#[test]
fn next_run_removes_a_killed_copy() {
    let scratch = Scratch::new();
    copy_under_way(&scratch).kill();
    assert!(own_folder(scratch.target()).is_some());
    scratch.run_call("target", &[FILL]).end().code(0);
    assert_eq!(names(scratch.target()), [""; 0]);
}

#[test]
fn a_signal_during_a_copy_leaves_nothing() {
    let scratch = Scratch::new();
    copy_under_way(&scratch).interrupt();
    assert_eq!(names(scratch.target()), [""; 0]);
}

#[test]
fn kept_files_survive_runs_until_cleaned() {
    let scratch = Scratch::new();
    scratch.run_call("target", &[FILL, &["--keep"]]).end().code(0);
    assert!(own_folder(scratch.target()).is_some());
    let copies =
        ["--test=copy", "--size=64MiB", "--rounds=1", "--set=copy.small_files=20", "--json"];
    scratch.run_call("target", &[&copies]).end().code(0);
    let read = scratch.run_call("target", &[&["--test=read-files", "--json"]]).end().code(0).json();
    assert_eq!(array(&test_of(&read, "read-files")["series"][0]["x"]).len(), 6);
    let target = scratch.target();
    scratch.drivescope(&["run", "--clean", &target]).code(0);
    assert_eq!(names(scratch.target()), [""; 0]);
}

#[test]
fn impossible_copy_is_reported_in_one_line() {
    let scratch = Scratch::new();
    for (options, words) in [
        (["--files", "/nonexistent"], "cannot copy from /nonexistent"),
        (["--from", "/dev/null"], "it is not a directory"),
    ] {
        let call: Vec<&str> = ["--test=copy", "--no-save"].into_iter().chain(options).collect();
        scratch.run_call("target", &[&call]).end().refused_with(2, &[words]);
    }
    assert_eq!(names(scratch.target()), [""; 0]);
}
