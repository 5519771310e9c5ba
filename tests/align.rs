//! `align` as people call it, on simulated drives.

use crate::support::json::{array, statuses, test_of, text};
use crate::support::{Scratch, TINY, must_have};

fn printed(scratch: &Scratch, target: &str, options: &[&str]) -> String {
    let arguments = [&["run", target, "--test=align", "--no-save", "--seed=7"], options].concat();
    scratch.drivescope(&arguments).code(0).stdout
}

#[test]
fn lying_drive_is_detected_with_its_partitions() {
    let scratch = Scratch::new();
    let out = printed(&scratch, "sim:wd20ears?partition=63,2048", &[]);
    must_have(
        &out,
        &[
            "4096 bytes · the drive reports 512, which is wrong",
            "wd20ears1 · from sector 63 · misaligned by 3584 bytes",
            "wd20ears2 · from sector 2048 · aligned",
            "misaligned synced writes take",
            "F026",
            "F029",
        ],
    );
    let out = printed(&scratch, "sim:hds722020ala330", &[]);
    assert!(out.contains("512 bytes · as the drive reports"), "{out}");
    assert!(!out.contains("F029"), "{out}");
}

#[test]
fn directory_is_measured_in_a_scratch_file() {
    let scratch = Scratch::new();
    let options = ["--test=align", "--json"];
    let ended = scratch.run("target", &[TINY, &options]);
    // File systems without direct I/O align every write themselves.
    if ended.exit_code() == Some(2) {
        let run = ended.json();
        let reason = text(&test_of(&run, "align")["reason"]);
        return assert!(reason.contains("direct I/O"), "{reason}");
    }
    let run = ended.code(0).json();
    assert_eq!(array(&run["plan"]["tests"])[0]["writes"], "own-files");
    assert_eq!(statuses(&run), [("align", "done")]);
    assert!(std::fs::read_dir(scratch.path("target")).unwrap().next().is_none());
}

#[test]
fn phybs_prints_its_own_table_now_and_later() {
    let scratch = Scratch::new();
    let options = ["--suite=phybs", "--set=align.min=2k", "--set=align.total=4M", "--table"];
    let arguments = [&["run", "sim:wd10ears"], &options[..]].concat();
    let table = scratch.drivescope(&arguments).code(0).stdout;
    let lines: Vec<&str> = table.lines().collect();
    assert_eq!(lines[0], "   count    size  offset    step        msec     tps    kBps");
    assert!(lines[1].starts_with("    2048    2048       0    8192  "), "{table}");
    // Three passes of 2 KiB, four of 4 KiB, five of 8 KiB, with an empty line between.
    assert_eq!((lines.len(), lines[4], lines[9]), (15, "", ""), "{table}");
    assert!(lines.iter().all(|line| line.is_empty() || line.len() == lines[0].len()), "{table}");
    assert_eq!(scratch.drivescope(&["show", "last", "--table"]).code(0).stdout, table);
    let shown = scratch.drivescope(&["show", "last"]).code(0).stdout;
    assert!(shown.contains("4 KiB blocks, 1/s"), "{shown}");
    assert!(shown.contains("physical sector not found"), "4 MiB fit into the cache: {shown}");
}

#[test]
fn tables_of_several_targets_have_names() {
    let scratch = Scratch::new();
    let options = ["--suite=phybs", "--set=align.min=8k", "--set=align.total=1M", "--table"];
    let targets = ["run", "sim:wd10ears", "sim:wd20ears?seed=2"];
    let tables = scratch.drivescope(&[&targets[..], &options].concat()).code(0).stdout;
    let names: Vec<&str> = tables.lines().filter(|line| line.starts_with("sim:")).collect();
    assert_eq!(names, &targets[1..], "{tables}");
    assert_eq!(tables.matches("   count    size").count(), 2, "{tables}");
}

#[test]
fn a_run_without_passes_has_no_table() {
    let scratch = Scratch::new();
    scratch.drivescope(&["run", "sim:wd20ears", "--test=align", "--quiet"]).code(0);
    scratch.drivescope(&["show", "last", "--table"]).refused_with(2, &["--suite phybs"]);
}

#[test]
fn partitions_that_no_drive_can_have_are_refused() {
    let scratch = Scratch::new();
    for wrong in ["63,63", "x", "99999999999"] {
        let target = format!("sim:wd20ears?partition={wrong}");
        scratch.drivescope(&["run", &target]).refused_with(2, &["63,2048"]);
    }
}

/// Jumper 7-8 of a WD10EARS shifts every address by one sector.
#[test]
fn drive_with_shifted_sectors_is_detected() {
    let scratch = Scratch::new();
    let model = scratch.drivescope(&["sim", "show", "wd10ears"]).code(0).stdout;
    let plain = "\nphysical_sector_bytes = 4096";
    assert!(model.contains(plain), "{model}");
    let shifted = model.replace(plain, &format!("\nalignment_shift_sectors = 1{plain}"));
    let file = scratch.file("shifted.toml", shifted);
    let out = printed(&scratch, &format!("sim:{file}?partition=63,2048"), &[]);
    must_have(
        &out,
        &[
            "3584 bytes past multiples of 4096",
            "from sector 63 · aligned",
            "from sector 2048 · misaligned by 512 bytes",
            "F030",
        ],
    );
}

#[test]
fn disappearing_drive_keeps_the_finished_passes() {
    let scratch = Scratch::new();
    let options = ["--suite=phybs", "--set=align.min=4k", "--set=align.max=4k", "--json"];
    let arguments = [&["run", "sim:wd20ears?fault=gone"], &options[..]].concat();
    let run = scratch.drivescope(&arguments).code(4).json();
    assert_eq!(statuses(&run), [("align", "failed")]);
    let keys = crate::support::json::keys(&run);
    assert!(keys.iter().any(|key| key == "align.pass4k_at_0.tps"), "{keys:?}");
    assert!(!keys.iter().any(|key| key.contains("pass4k_at_512")), "{keys:?}");
}
