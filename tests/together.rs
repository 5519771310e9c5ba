//! `--together`: several drives at the same time, one document each.

use crate::support::json::{array, text};
use crate::support::{ONE_CELL, Scratch, TINY};

#[test]
fn each_drive_has_a_document_that_names_the_others() {
    let scratch = Scratch::new();
    let targets = ["sim:wd40efrx", "sim:pm871b-128", "sim:kioxia-bg4-128"];
    let options = [&["run", "--together", "--json", "--seed=1"], TINY, ONE_CELL].concat();
    let ended = scratch.drivescope(&[&options[..], &targets].concat()).code(0);
    let runs = ended.documents();
    assert_eq!(runs.len(), 3);
    for (run, target) in runs.iter().zip(targets) {
        assert_eq!(text(&run["target"]["path"]), target);
        let together = &run["together"];
        assert_eq!(array(&together["targets"]).len(), 3);
        assert!(array(&together["runs"]).contains(&run["id"]));
        assert!(together["trial"].is_null(), "simulated drives share nothing");
    }
    assert_ne!(runs[0]["id"], runs[1]["id"]);
    scratch.drivescope(&["runs"]).code(0).shows(&targets);
    scratch
        .drivescope(&["show", text(&runs[0]["id"])])
        .code(0)
        .shows(&["measured together with sim:pm871b-128, sim:kioxia-bg4-128"]);
}

#[test]
fn figures_are_those_of_each_drive_alone() {
    let scratch = Scratch::new();
    let options = [&["run", "--json", "--no-save", "--seed=1"], TINY, ONE_CELL].concat();
    let targets = ["sim:wd40efrx", "sim:pm871b-128"];
    let alone = scratch.drivescope(&[&options[..], &targets].concat()).code(0).documents();
    let options = [&options[..], &["--together"]].concat();
    let together = scratch.drivescope(&[&options[..], &targets].concat()).code(0).documents();
    for (alone, together) in alone.iter().zip(&together) {
        assert_eq!(alone["tests"][0]["metrics"], together["tests"][0]["metrics"]);
        assert!(alone["together"].is_null());
    }
}

#[test]
fn sixty_drives_have_the_figures_of_each_alone() {
    let scratch = Scratch::new();
    let options = [&["run", "--json", "--no-save", "--seed=1"], TINY, ONE_CELL].concat();
    let models = ["wd40efrx", "pm871b-128", "st8000as0002-smr"];
    let targets: Vec<String> =
        (0..60).map(|number| format!("sim:{}?seed={number}", models[number % 3])).collect();
    let targets: Vec<&str> = targets.iter().map(String::as_str).collect();
    let together = [&options[..], &["--together"], &targets].concat();
    let together = scratch.drivescope(&together).code(0).documents();
    assert_eq!(together.len(), 60);
    for place in [0, 31, 59] {
        let alone = [&options[..], &[targets[place]]].concat();
        let alone = scratch.drivescope(&alone).code(0).documents();
        assert_eq!(alone[0]["tests"][0]["metrics"], together[place]["tests"][0]["metrics"]);
        assert_eq!(array(&together[place]["together"]["runs"]).len(), 60);
    }
}

#[test]
fn drive_that_fails_does_not_end_the_others() {
    let scratch = Scratch::new();
    let targets = ["sim:wd40efrx?fault=gone", "sim:pm871b-128"];
    let options = ["run", "--together", "--json", "--no-save", "--seed=1", "--suite=quick"];
    let ended = scratch.drivescope(&[&options[..], &targets].concat()).code(4);
    let runs = ended.documents();
    assert_eq!(["failed", "done"], [&runs[0], &runs[1]].map(|run| text(&run["status"])));
}

#[test]
fn full_screen_view_of_several_is_refused() {
    let scratch = Scratch::new();
    let both = ["run", "sim:wd40efrx", "sim:pm871b-128", "--together", "--live"];
    scratch.drivescope(&both).refused_with(2, &["--live", "--together"]);
}
