//! `--together` on drives that share something: two parts of one served disk, whose head can be at one of them only.

use super::guards::Loop;
use super::served::{Served, scratch_to_serve};
use crate::support::json::{array, findings, text};

const PART: u64 = 2_000_000_000;

#[test]
fn path_that_two_drives_share_is_named_and_neither_blamed() {
    let Some(scratch) = scratch_to_serve(true) else { return };
    let served = Served::start(&scratch, &["sim:wd40efrx", "drive", "--block"]);
    let node = served.node();
    let part = |at: u64| {
        let options = ["--direct-io=on", &format!("--offset={at}"), &format!("--sizelimit={PART}")];
        Loop::attach(&node, &options)
    };
    let (Some(one), Some(other)) = (part(1_000_000_000_000), part(3_000_000_000_000)) else {
        return;
    };
    let cell = ["--test=transfer", "--cells=seq1m_q8t1.read", "--time=1s"];
    let options =
        [&["run", &one.node, &other.node, "--together", "--json", "--no-save"], &cell[..]].concat();
    let runs = scratch.drivescope(&options).code(1).documents();
    let together = &runs[0]["together"];
    let name = node.trim_start_matches("/dev/");
    assert_eq!(text(&together["shared"][0]["name"]), format!("the drive {name}"));
    let sum = |key: &str| {
        let rates = array(&together["trial"][key]).iter().map(|rate| rate.as_f64().unwrap());
        rates.sum::<f64>()
    };
    let share = sum("together_mb_s") / sum("alone_mb_s");
    assert!(share < 0.8, "two places of one disk reached {share} of their sum");
    assert!(runs.iter().all(|run| findings(run).contains(&"F063")), "{:?}", findings(&runs[0]));
}
