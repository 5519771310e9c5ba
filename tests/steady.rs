//! `steady` as a user calls it.

use crate::support::Scratch;
use crate::support::json::{array, findings, metric, statuses, test_of, text};
use crate::support::scratch::names;
use serde_json::Value;

const CELL: &str = "--set=steady.cells=['rnd4k_q4t1.write']";
const QUICK: &[&str] = &["--test=steady", CELL, "--size=16MiB"];

fn value(run: &Value, key: &str) -> Option<f64> {
    metric(run, key)?["value"].as_f64()
}

fn series<'r>(run: &'r Value, key: &str) -> Vec<&'r Value> {
    let all = array(&test_of(run, "steady")["series"]);
    let found = all.iter().find(|series| series["key"] == key);
    found.map_or(Vec::new(), |series| array(&series["y"]).iter().collect())
}

/// The drive may or may not be steady within 25 rounds of 20 ms; the figures exist either way.
#[test]
fn steady_overwrites_a_directory_and_cleans_up() {
    let scratch = Scratch::new();
    let run = scratch.run_call("target", &[QUICK, &["--time=20ms", "--json"]]).end().code(0).json();
    assert_eq!(statuses(&run), [("steady", "done")]);
    assert_eq!(names(scratch.target()), [""; 0]);
    let written = value(&run, "steady.precondition.written_bytes").unwrap();
    assert_eq!(written, f64::from(2 * (16 << 20)));
    let rounds = series(&run, "steady.rnd4k_q4t1.write.round_iops").len();
    assert!((5..=25).contains(&rounds), "{rounds}");
    let is_steady = !findings(&run).contains(&"F052");
    assert!(rounds == 25 || is_steady, "{:?}", findings(&run));
    let last = value(&run, "steady.window.last_round").unwrap();
    assert_eq!(last, rounds as f64);
    assert_eq!(value(&run, "steady.window.first_round").unwrap(), last - 4.0);
    let reason = text(&test_of(&run, "steady")["reason"]);
    assert!(reason.contains("not purged: in a directory"), "{reason}");
}

#[test]
fn text_has_window_and_preparation_page_has_rounds() {
    let scratch = Scratch::new();
    let call = ["--time=1s", "--size=64MiB", "--seed=1"];
    let ended = scratch.run("sim:kioxia-bg4-128", &[&QUICK[..2], &call]).code(0);
    ended.shows(&["steady in rounds", "range", "written in order before", "purged: TRIM"]);
    let page = scratch.path("page.html");
    let page = page.to_str().unwrap();
    scratch.drivescope(&["report", "last", "-o", page]).code(0);
    let page = std::fs::read_to_string(page).unwrap();
    assert!(page.contains("Shaded: the rounds that the figures are of"), "no chart");
}

#[test]
fn mistakes_are_reported_in_one_line() {
    let scratch = Scratch::new();
    for (more, words) in [
        (&["--rounds=3"][..], "the rule compares 5"),
        (&["--set=steady.tracking=['rnd4k_q1t1.read']"], "is not among the cells"),
        (&["--set=steady.sequence=pcmark"], "consistency"),
        (&["--set=offset=1GiB"], "begins at the start of the target"),
    ] {
        scratch.run("sim:kioxia-bg4-128", &[QUICK, more]).refused_with(2, &[words]);
    }
    // Beside others, --rounds is theirs.
    let plan = ["--test=latency,steady", "--rounds=3", "--dry-run"];
    scratch.run("sim:kioxia-bg4-128", &[&plan]).code(0).shows(&["25 rounds"]);
    let file = scratch.file("data", vec![0; 1 << 20]);
    scratch.run(&file, &[QUICK]).refused_with(2, &["existing files are never written"]);
    let message = scratch.run_call("target", &[QUICK, &["--resume"]]).end().refused(2);
    assert!(message.contains("nothing to resume"), "{message}");
}
