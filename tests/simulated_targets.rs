//! `sim:` targets: what the host sees of a drive through its link, and models and states that no drive can
//! have.

use crate::support::{ONE_CELL, Scratch, TINY, json};
use serde_json::Value;

fn one_cell(scratch: &Scratch, target: &str) -> Value {
    let arguments = [&["run", target, "--no-save", "--json", "--seed=1"], TINY, ONE_CELL].concat();
    scratch.drivescope(&arguments).code(0).json()
}

fn iops_of(run: &Value) -> f64 {
    let found = json::metrics(run).find(|metric| json::text(&metric["key"]).ends_with(".iops"));
    found.expect("the cell has IOPS")["value"].as_f64().expect("a number")
}

/// Writes a model with one change to a file in the scratch directory.
fn changed(scratch: &Scratch, model: &str, from: &str, to: &str) -> String {
    let shown = scratch.drivescope(&["sim", "show", model]).code(0);
    assert!(shown.stdout.contains(from), "no '{from}' in {model}");
    scratch.file("mine.toml", shown.stdout.replacen(from, to, 1));
    "sim:./mine.toml".to_string()
}

#[track_caller]
fn refuse(scratch: &Scratch, target: &str, parts: &[&str]) {
    scratch.drivescope(&["run", target]).refused_with(2, parts);
}

#[test]
fn impossible_faults_are_refused_with_the_possible() {
    let scratch = Scratch::new();
    for (target, why, instead) in [
        ("sim:kioxia-bg4-128?fault=first-come", "mechanics of hard disks", "throttled"),
        ("sim:kioxia-bg4-128?fault=gone,no-read-modify-write", "mechanics", "flush-lies"),
        ("sim:wd20ears?fault=throttled", "does not throttle", "first-come"),
        ("sim:wd20eads?fault=no-read-modify-write", "written whole", "flush-lies"),
        ("sim:easystore-2tb?fault=first-come", "one command at a time", "no-read-modify-write"),
        ("sim:wd20ears?fault=fire", "no fault 'fire'", "slow-region"),
    ] {
        refuse(&scratch, target, &[why, instead, "can have"]);
    }
}

#[test]
fn mistakes_in_a_model_have_their_line() {
    let scratch = Scratch::new();
    for (model, from, to, parts) in [
        ("wd40efrx", "preset = \"sata-6g\"", "preset = \"sata-9g\"", &[":18:", "sata-6g"][..]),
        (
            "wd40efrx",
            "preset = \"sata-6g\"",
            "kind = \"sata\"",
            &["the field name is missing", "preset"],
        ),
        (
            "wd40efrx",
            "preset = \"sata-6g\"",
            "preset = \"sata-6g\"\nqueue_depth = 33",
            &[":19: link.queue_depth: ", "1 to 32"],
        ),
        (
            "wd40efrx",
            "[hdd.zones]",
            "[link.bridge]\nserial = \"\"\n[hdd.zones]",
            &["link.bridge: only USB"],
        ),
        (
            "easystore-2tb",
            "hides_rotation = true",
            "hidden_tail_bytes = 9000000000000",
            &[": link.bridge.hidden_tail_bytes: leaves nothing"],
        ),
        (
            "wd40efrx",
            "reported_physical_sector_bytes = 4096",
            "reported_physical_sector_bytes = 520",
            &[":10: identity.reported_physical_sector_bytes: is 520; give 512 or 4096"],
        ),
    ] {
        let target = changed(&scratch, model, from, to);
        refuse(&scratch, &target, &[&["./mine.toml"], parts].concat());
    }
}

#[test]
fn one_line_table_mistake_names_its_line() {
    let scratch = Scratch::new();
    let skew = "[hdd.skew]\nhead_rev = 0.1417     # taken from the published WD 4 TB layout\n\
                cylinder_rev = 0.1417 # taken from the published WD 4 TB layout\n";
    let target = changed(&scratch, "wd40efrx", skew, "");
    let text = std::fs::read_to_string(scratch.path("mine.toml")).unwrap();
    let one_line = "[hdd]\nskew = { head_rev = 2, cylinder_rev = 0.1 }";
    let text = text.replacen("[hdd]", one_line, 1);
    let line = text.lines().position(|line| line.starts_with("skew")).unwrap() + 1;
    scratch.file("mine.toml", text);
    refuse(&scratch, &target, &[&format!("./mine.toml:{line}: hdd.skew.head_rev: is 2")]);
}

#[test]
fn the_host_sees_what_the_bridge_lets_through() {
    let scratch = Scratch::new();
    let lies = "model = \"easystore 2624\"\nserial = \"\"\nlogical_sector_bytes = 4096\n\
                physical_sector_bytes = 4096\nhidden_tail_bytes = 1048576\nhides_rotation";
    let target = changed(&scratch, "easystore-2tb", "hides_rotation", lies);
    let run = one_cell(&scratch, &target);
    let drive = &run["drive"];
    assert_eq!((&run["simulated"], json::text(&drive["kind"])), (&Value::Bool(true), "simulated"));
    assert_eq!(json::text(&drive["model"]), "easystore 2624");
    assert_eq!((&drive["serial"], &drive["rpm"]), (&Value::Null, &Value::Null));
    assert_eq!(json::text(&drive["transport"]), "usb");
    assert_eq!(json::text(&drive["link"]["name"]), "USB 5 Gb/s (BOT)");
    assert_eq!(drive["logical_sector_bytes"], 4096);
    assert_eq!(drive["capacity_bytes"], (2_000_398_934_016_u64 - 1_048_576) / 4096 * 4096);
    assert_eq!(drive["capacity_bytes"], run["target"]["size_bytes"]);
}

#[test]
fn single_command_bridge_removes_the_queue() {
    let scratch = Scratch::new();
    let iops = |target: &str| {
        let queued = ["--test=transfer", "--cells=rnd4k_q32t1.read", "--time=4s", "--rounds=1"];
        let arguments = [&["run", target, "--no-save", "--json", "--seed=1"], &queued[..]].concat();
        let run = scratch.drivescope(&arguments).code(0).json();
        iops_of(&run)
    };
    let direct = iops("sim:wd20ears");
    let target = changed(&scratch, "wd20ears", "\"sata-3g\"", "\"usb3-bulk-only\"");
    let bridged = iops(&target);
    assert!(direct > 1.6 * bridged, "{direct} against {bridged}");
}

#[test]
fn ssd_reads_reach_flash_unless_empty() {
    let scratch = Scratch::new();
    let iops = |target: &str| iops_of(&one_cell(&scratch, target));
    let (usual, empty) = (iops("sim:samsung-870evo-1tb"), iops("sim:samsung-870evo-1tb?fill=0"));
    assert!(
        (11_000.0..12_000.0).contains(&usual),
        "{usual}: 77 us of the drive and 10 of the host"
    );
    assert!(empty > 2.0 * usual, "{empty} against {usual}");
    let has_finding = |target: &str| json::findings(&one_cell(&scratch, target)).contains(&"F043");
    assert!(
        has_finding("sim:samsung-870evo-1tb?fill=0")
            && has_finding("sim:samsung-870evo-1tb?fill=0.5")
    );
    assert!(
        !has_finding("sim:samsung-870evo-1tb") && !has_finding("sim:wd40efrx"),
        "a disk reads what is there"
    );
}

#[test]
fn hard_disk_fill_moves_the_measured_part() {
    let scratch = Scratch::new();
    let run = |target: &str, more: &[&str]| {
        let options =
            ["--no-save", "--seed=1", "--rounds=1", "--time=1s", "--size=1GiB", "--test=transfer"];
        let cell = ["--cells=seq1m_q1t1.read", "--json"];
        scratch.drivescope(&[&["run", target], &options[..], &cell, more].concat()).code(0)
    };
    let rate = |target: &str| iops_of(&run(target, &[]).json());
    let empty = rate("sim:wd40ezrz");
    // the drive's own curve: 175 MB/s at the start, 105 at 80 %, 78 at the end
    let share = |target: &str| rate(target) / empty;
    assert!((0.57..0.63).contains(&share("sim:wd40ezrz?fill=0.8")), "at 80 %");
    assert!((0.42..0.48).contains(&share("sim:wd40ezrz?fill=1")), "at the end");
    let said = run("sim:wd40ezrz?fill=0.8", &[]).stderr;
    assert!(said.contains("note: fill=0.8 on a hard disk"), "{said}");
    let quiet = run("sim:wd40ezrz?fill=0.8", &["--quiet"]);
    assert!(!quiet.stderr.contains("note:"), "{}", quiet.stderr);
    refuse(&scratch, "sim:wd40ezrz?fill=1.5", &["between 0 and 1"]);
}

#[test]
fn hard_disk_seed_repeats_exactly() {
    let scratch = Scratch::new();
    let options = ["--no-save", "--json", "--seed=1", "--rounds=1", "--time=4s"];
    let iops = |target: &str| {
        iops_of(
            &scratch
                .drivescope(&[&["run", target], &options[..], ONE_CELL].concat())
                .code(0)
                .json(),
        )
    };
    let (seventh, eighth) = (iops("sim:wd40ezrz?seed=7"), iops("sim:wd40ezrz?seed=8"));
    assert!((seventh - iops("sim:wd40ezrz?seed=7")).abs() < f64::EPSILON, "{seventh}");
    let ratio = seventh / eighth;
    assert!((0.9..1.1).contains(&ratio) && (ratio - 1.0).abs() > 1e-9, "{seventh} and {eighth}");
}

#[test]
fn show_checks_a_user_file_without_running_it() {
    let scratch = Scratch::new();
    let model = scratch.drivescope(&["sim", "show", "wd40efrx"]).code(0).stdout;
    let name = "./what?.toml";
    scratch.file("what?.toml", &model);
    let shown = scratch.drivescope(&["sim", "show", name]).code(0);
    assert!(shown.stderr.contains("is a valid model") && shown.stdout == model, "{}", shown.stderr);
    one_cell(&scratch, &format!("sim:{name}?seed=3"));
    scratch.file("what?.toml", model.replacen("heads = 6 ", "heads = 0 ", 1));
    let wrong = scratch.drivescope(&["sim", "show", name]).code(2);
    assert!(wrong.stderr.contains("hdd.heads: is 0; give 1 to 64"), "{}", wrong.stderr);
    assert_eq!(wrong.stdout, "");
}

#[test]
fn show_prints_every_model_with_its_link() {
    let scratch = Scratch::new();
    for (model, part) in [
        ("usb-16tb", "preset = \"usb3-uas\""),
        ("easystore-2tb", "[link.bridge]"),
        ("kioxia-bg4-128", "preset = \"pcie3-x4\""),
        ("wd20ears", "preset = \"sata-3g\""),
    ] {
        let shown = scratch.drivescope(&["sim", "show", model]).code(0);
        assert!(shown.stdout.contains(part), "{model}");
    }
}
