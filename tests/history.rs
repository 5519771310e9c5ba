//! `history`: one drive over all its runs; and what else is done with stored runs.

use crate::support::Scratch;

/// A run of a simulated disk, stored.
fn store(scratch: &Scratch, target: &str, seed: u64) {
    let seed = seed.to_string();
    let cells = "rnd4k_q1t1.read,seq1m_q8t1.read";
    let options = ["--test", "transfer", "--cells", cells, "--time", "1s", "--seed", &seed];
    scratch.drivescope(&[&["run", target, "--quiet"][..], &options].concat()).code(0);
}

#[test]
fn a_drive_that_gets_slower_is_told_and_one_that_does_not_is_not() {
    let scratch = Scratch::new();
    for seed in 0..6 {
        store(&scratch, "sim:wd40efrx", seed);
    }
    let sound = scratch.drivescope(&["history", "wd40efrx"]).code(0).stdout;
    assert!(sound.contains("Nothing got worse") && !sound.contains('▼'), "{sound}");
    // A bad cable: sequential reads suffer, random ones do not.
    for seed in 6..12 {
        store(&scratch, "sim:wd40efrx?fault=slow-link", seed);
    }
    let slower = scratch.drivescope(&["history", "wd40efrx"]).code(0).stdout;
    assert!(slower.contains("reads in order: worse since"), "{slower}");
    assert_eq!(slower.matches('▼').count(), 1, "{slower}");
}

#[test]
fn a_drive_is_one_wherever_it_is_and_names_of_none_or_several_are_told() {
    let scratch = Scratch::new();
    for target in ["sim:wd40efrx", "sim:wd40efrx?seed=9", "sim:wd10ears"] {
        store(&scratch, target, 1);
    }
    let two = scratch.drivescope(&["history", "WD40EFRX"]).code(0).stdout;
    assert!(two.contains("2 runs") && two.contains("2 of 4 at the least"), "{two}");
    let json = scratch.drivescope(&["history", "WD40EFRX", "--json"]).code(0).json();
    assert_eq!(json["runs"].as_array().map(Vec::len), Some(2));
    let several = scratch.drivescope(&["history", "WD"]).refused(2);
    assert!(several.contains("more than one drive"), "{several}");
    let none = scratch.drivescope(&["history", "absent"]).refused(2);
    assert!(none.contains("drivescope runs"), "{none}");
}

#[test]
fn runs_are_noted_shown_as_markdown_and_removed() {
    let scratch = Scratch::new();
    store(&scratch, "sim:wd40efrx", 1);
    store(&scratch, "sim:wd10ears", 1);
    scratch.drivescope(&["runs", "note", "last", "new cable"]).code(0);
    let shown = scratch.drivescope(&["show", "last"]).code(0).stdout;
    assert!(shown.contains("new cable"), "{shown}");
    let markdown = scratch.drivescope(&["show", "last", "--md"]).code(0).stdout;
    assert!(markdown.starts_with("# WDC WD10EARS") && markdown.contains("- new cable"));
    let csv = scratch.drivescope(&["show", "last", "--csv"]).code(0).stdout;
    assert!(csv.contains("transfer.rnd4k_q1t1.read.iops"), "{csv}");
    let unsure = scratch.drivescope(&["runs", "rm", "last"]).refused(2);
    assert!(unsure.contains("--yes"), "{unsure}");
    scratch.drivescope(&["runs", "rm", "last", "ffffffffffff", "--yes"]).refused(2);
    scratch.drivescope(&["runs", "rm", "last", "--yes"]).code(0);
    let left = scratch.drivescope(&["runs", "--json"]).code(0).json();
    assert_eq!(left.as_array().map(Vec::len), Some(1));
    assert_eq!(left[0]["drive_model"].as_str().map(|model| model.contains("WD40")), Some(true));
}
