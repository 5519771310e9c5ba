//! `history`: one drive over all its runs; and what else is done with stored runs.

use crate::support::json::array;
use crate::support::{Scratch, must_have};

fn store(scratch: &Scratch, target: &str, seed: u64) {
    let seed = seed.to_string();
    let cells = "rnd4k_q1t1.read,seq1m_q8t1.read";
    let options = ["--test", "transfer", "--cells", cells, "--time", "1s", "--seed", &seed];
    scratch.drivescope(&[&["run", target, "--quiet"][..], &options].concat()).code(0);
}

#[test]
fn only_a_slowing_drive_is_reported() {
    let scratch = Scratch::new();
    for seed in 0..10 {
        store(&scratch, "sim:wd40efrx", seed);
    }
    let judged = ["history", "wd40efrx", "--fail-on", "worse"];
    let sound = scratch.drivescope(&judged).code(0).stdout;
    assert!(sound.contains("Nothing got worse") && !sound.contains('▼'), "{sound}");
    // A bad cable: sequential reads suffer, random ones do not.
    for seed in 10..16 {
        store(&scratch, "sim:wd40efrx?fault=slow-link", seed);
    }
    scratch.drivescope(&["history", "wd40efrx"]).code(0);
    let slower = scratch.drivescope(&judged).code(1).stdout;
    assert!(slower.contains("Reads in order: "), "{slower}");
    assert_eq!(slower.matches('▼').count(), 1, "{slower}");
    // All runs began within minutes: the day would say nothing.
    assert!(slower.contains(" % slower since run "), "{slower}");
}

#[test]
fn drive_is_recognized_anywhere_and_ambiguous_names_reported() {
    let scratch = Scratch::new();
    for target in ["sim:wd40efrx", "sim:wd40efrx?seed=9", "sim:wd10ears"] {
        store(&scratch, target, 1);
    }
    scratch.drivescope(&["history", "WD40EFRX"]).code(0).shows(&["2 runs", "a trend needs 10"]);
    let json = scratch.drivescope(&["history", "WD40EFRX", "--json"]).code(0).json();
    assert_eq!(json["runs"].as_array().map(Vec::len), Some(2));
    let several = scratch.drivescope(&["history", "WD"]).refused(2);
    assert!(several.contains("more than one drive"), "{several}");
    // What it says to type names one of them.
    let id = several.split_whitespace().last().unwrap();
    let one = scratch.drivescope(&["history", id]).code(0).stdout;
    assert!(one.starts_with("WDC WD10EARS") && one.contains("1 run, "), "{one}");
    scratch.drivescope(&["history", "absent"]).refused_with(2, &["drivescope runs"]);
}

#[test]
fn judged_history_says_what_it_cannot_judge() {
    let scratch = Scratch::new();
    store(&scratch, "sim:wd40efrx", 1);
    let judged = ["history", "wd40efrx", "--fail-on", "worse"];
    let few = scratch.drivescope(&judged).code(0).stderr;
    assert!(few.contains("comparable runs: 1; --fail-on worse cannot fail"), "{few}");
    let newest_without = |is_valid: &dyn Fn(&str) -> bool| {
        store(&scratch, "sim:wd40efrx", 2);
        let mut run = scratch.drivescope(&["show", "last", "--json"]).code(0).json();
        scratch.drivescope(&["runs", "rm", "last", "--yes"]).code(0);
        for metric in run["tests"][0]["metrics"].as_array_mut().unwrap() {
            metric["valid"] = is_valid(metric["key"].as_str().unwrap()).into();
        }
        let file = scratch.file("run.json", run.to_string());
        scratch.drivescope(&["import", &file]).code(0);
        scratch.drivescope(&judged)
    };
    let some = newest_without(&|key| key.contains("rnd4k")).code(0);
    assert!(some.stdout.contains("random reads"), "{some}");
    let all = newest_without(&|_| false).code(1).stderr;
    assert!(all.contains("the newest run has no valid figure"), "{all}");
    store(&scratch, "sim:wd40efrx", 3);
    let some = newest_without(&|key| key.contains("rnd4k")).code(0).stderr;
    assert!(some.contains("not judged") && some.contains("reads in order"), "{some}");
}

/// Drives in one dock share its serial number; a machine without a clock begins in 1970.
#[test]
fn drives_of_one_dock_stay_separate() {
    let scratch = Scratch::new();
    for seed in 1..=4 {
        store(&scratch, "sim:wd40efrx", seed);
        let mut run = scratch.drivescope(&["show", "last", "--json"]).code(0).json();
        scratch.drivescope(&["runs", "rm", "last", "--yes"]).code(0);
        run["drive"]["serial"] = "DOCK123".into();
        if seed % 2 == 0 {
            run["drive"]["capacity_bytes"] = 2_000_398_934_016_u64.into();
        }
        if seed > 2 {
            run["started_at"] = format!("1970-01-01T00:0{seed}:00Z").into();
        }
        run["id"] = format!("{seed}00000000000").into();
        let file = scratch.file("run.json", run.to_string());
        scratch.drivescope(&["import", &file]).code(0);
    }
    let several = scratch.drivescope(&["history", "dock123"]).refused(2);
    let parts = ["2.00 TB", "4.00 TB", "(run 300000000000)", "drivescope history 400000000000"];
    must_have(&several, &parts);
    let one = scratch.drivescope(&["history", "300000000000", "--json"]).code(0).json();
    let ids: Vec<&str> =
        array(&one["runs"]).iter().map(|run| run["id"].as_str().unwrap()).collect();
    assert_eq!(ids, ["100000000000", "300000000000"], "oldest first, as they were saved");
    assert_eq!(one["runs"][1]["news"][0], "clock not set");
    let last = scratch.drivescope(&["show", "last", "--json"]).code(0).json();
    assert_eq!(last["id"], "400000000000");
    scratch.drivescope(&["runs"]).code(0).shows(&["1970-01-01 00:04"]);
}

#[test]
fn runs_are_noted_shown_as_markdown_and_removed() {
    let scratch = Scratch::new();
    store(&scratch, "sim:wd40efrx", 1);
    store(&scratch, "sim:wd10ears", 1);
    scratch.drivescope(&["runs", "note", "last", "new cable"]).code(0);
    scratch.drivescope(&["show", "last"]).code(0).shows(&["new cable"]);
    let markdown = scratch.drivescope(&["show", "last", "--md"]).code(0).stdout;
    assert!(markdown.starts_with("# WDC WD10EARS") && markdown.contains("- new cable"));
    let csv = scratch.drivescope(&["show", "last", "--csv"]).code(0).stdout;
    assert!(csv.contains("transfer.rnd4k_q1t1.read.iops"), "{csv}");
    scratch.drivescope(&["runs", "rm", "last"]).refused_with(2, &["--yes"]);
    scratch.drivescope(&["runs", "rm", "last", "ffffffffffff", "--yes"]).refused(2);
    scratch.drivescope(&["runs", "rm", "last", "--yes"]).code(0);
    let left = scratch.drivescope(&["runs", "--json"]).code(0).json();
    assert_eq!(left.as_array().map(Vec::len), Some(1));
    assert_eq!(left[0]["drive_model"].as_str().map(|model| model.contains("WD40")), Some(true));
}
