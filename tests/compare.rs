//! `compare`: what differs between runs, what does not, and runs that cannot be compared.

use crate::support::Scratch;
use std::fs;

/// A run of a simulated drive as a file, and its name for `compare`.
fn run(scratch: &Scratch, target: &str, options: &[&str], name: &str) -> String {
    let arguments = ["run", target, "--no-save", "--json", "--rounds", "5"];
    let out = scratch.drivescope(&[&arguments[..], options].concat()).code(0).stdout;
    let path = scratch.path(name);
    fs::write(&path, out).expect("the scratch directory is writable");
    path.display().to_string()
}

const LATENCY: &[&str] = &["--test", "latency", "--time", "5s"];

#[test]
fn two_drives_differ_and_one_drive_does_not_differ_from_itself() {
    let scratch = Scratch::new();
    let slow = run(&scratch, "sim:wd10ears", LATENCY, "slow.json");
    let fast = run(&scratch, "sim:hds722020ala330", LATENCY, "fast.json");
    let other_places = [LATENCY, &["--seed", "7"]].concat();
    let again = run(&scratch, "sim:wd10ears", &other_places, "again.json");
    let shown = scratch.drivescope(&["compare", &slow, &fast]).code(0).stdout;
    assert!(shown.contains("better in") && shown.contains('▲'), "{shown}");
    let turned = scratch.drivescope(&["compare", &fast, &slow]).code(0).stdout;
    assert!(turned.contains("worse in") && turned.contains('▼'), "{turned}");
    let same = scratch.drivescope(&["compare", &slow, &again, "--band", "10%"]).code(0).stdout;
    assert!(same.contains("the same within 10 %"), "{same}");
    assert!(!same.contains('▲') && !same.contains('▼'), "{same}");
}

#[test]
fn runs_that_were_not_made_alike_are_only_compared_when_forced() {
    let scratch = Scratch::new();
    let plain = run(&scratch, "sim:wd10ears", LATENCY, "plain.json");
    let options = [LATENCY, &["--set", "latency.block=8k"]].concat();
    let other = run(&scratch, "sim:wd10ears", &options, "other.json");
    let message = scratch.drivescope(&["compare", &plain, &other]).refused(3);
    assert!(message.contains("latency") && message.contains("--force"), "{message}");
    let forced = scratch.drivescope(&["compare", &plain, &other, "--force"]).code(0).stdout;
    assert!(forced.contains("! not the same"), "{forced}");
}

#[test]
fn runs_are_named_by_label_and_drive_and_mistakes_are_told() {
    let scratch = Scratch::new();
    for (target, label) in [("sim:wd10ears", "old"), ("sim:wd20ears", "new")] {
        let options = ["run", target, "--label", label, "--quiet"];
        scratch.drivescope(&[&options[..], LATENCY].concat()).code(0);
    }
    let by_label = scratch.drivescope(&["compare", "old", "new"]).code(0).stdout;
    assert!(by_label.contains("new against old"), "{by_label}");
    let by_drive = scratch.drivescope(&["compare", "WD10EARS", "WD20EARS"]).code(0).stdout;
    assert_eq!(by_label, by_drive);
    scratch.drivescope(&["compare", "old", "absent"]).refused(2);
    scratch.drivescope(&["compare", "old", "new", "--band", "90"]).refused(2);
    let alone = scratch.drivescope(&["compare", "old"]).refused(2);
    assert!(alone.contains("RUN"), "{alone}");
}
