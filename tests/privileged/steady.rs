//! `steady` on loop devices: purged, prepared, killed in the middle, and resumed with one word.

use super::guards::OnLoop;
use super::resume::kill_after_a_checkpoint;
use super::stamps::stamped;
use crate::support::json::{array, statuses, test_of, text, value};
use serde_json::Value;

const MIB: u64 = 1 << 20;
const STEADY: &[&str] =
    &["--test=steady", "--set=steady.cells=['rnd4k_q4t1.write']", "--set=steady.passes=1"];

fn rounds(run: &Value) -> usize {
    let all = array(&test_of(run, "steady")["series"]);
    let found = all.iter().find(|series| series["key"] == "steady.rounds.written_bytes");
    found.map_or(0, |series| array(&series["y"]).len())
}

#[test]
fn killed_run_resumes_after_its_rounds() {
    let Some(OnLoop { scratch, image, device, destroy }) = OnLoop::of_noise(64) else { return };
    // Rounds that are never steady by chance alone: they are killed before the window is whole.
    let long = ["--time=1s", "--rounds=300", "--json", &destroy];
    let start = || scratch.run_call(&device.node, &[STEADY, &long]).start();
    kill_after_a_checkpoint(&scratch, start, 0, "written; continue with --resume");
    let stopped = scratch.drivescope(&["show", "last", "--json"]).code(0).json();
    let id = text(&stopped["id"]);
    let reason = text(&test_of(&stopped, "steady")["reason"]).to_string();
    let plan = scratch.run(&device.node, &[STEADY, &[&destroy, "--dry-run"]]).code(0);
    assert!(plan.stderr.contains(&format!("(run {id}); --resume continues it")), "{plan}");
    let short = ["--time=50ms", "--resume", "--json", &destroy];
    let resumed = scratch.run(&device.node, &[STEADY, &short]).measured();
    let run = resumed.json();
    assert_eq!(statuses(&run), [("steady", "done")]);
    assert_eq!(run["plan"]["seed"], stopped["plan"]["seed"]);
    assert_eq!(value(&run, "steady.precondition.written_bytes"), (64 * MIB) as f64);
    assert!(stamped(&image).iter().all(|&is_stamped| is_stamped), "a gap");
    let before = rounds(&stopped);
    assert!(rounds(&run) >= before + 5, "{before} before ({reason}), {} now", rounds(&run));
    assert!(value(&run, "steady.window.first_round") > before as f64);
    assert!(text(&test_of(&run, "steady")["reason"]).contains("resumed"), "{resumed}");
    scratch.run(&device.node, &[STEADY, &short]).refused_with(2, &["nothing to resume"]);
}

/// Under a loop device, discarded blocks become holes in the file.
#[test]
fn a_purge_discards_everything_before_it_is_written() {
    let Some(OnLoop { scratch, device, destroy, .. }) = OnLoop::of_noise(64) else { return };
    let quick = ["--time=20ms", "--json", &destroy];
    let run = scratch.run(&device.node, &[STEADY, &quick]).code(0).json();
    let reason = text(&test_of(&run, "steady")["reason"]);
    assert!(reason.contains("purged: TRIM of 67.1 MB, all of 64 sampled"), "{reason}");
    let kept = ["--set=steady.purge=false", "--time=20ms", "--json", &destroy];
    let run = scratch.run(&device.node, &[STEADY, &kept]).code(0).json();
    let reason = text(&test_of(&run, "steady")["reason"]);
    assert!(reason.contains("not purged: steady.purge=false"), "{reason}");
    scratch.run(&device.node, &[STEADY]).refused_with(2, &["--destroy SERIAL"]);
}
