//! `advise`: layouts and advice as a user asks for them, and the drives' kinds by geometry alone.

use crate::support::json::{array, text};
use crate::support::{Scratch, must_have};

/// The needs for the 16 TB drive of nequalsonelifestyle.com, in the article's order.
const NEEDS: [&str; 8] = [
    "--need",
    "vms:2TB,fast",
    "--need",
    "photos:9TB",
    "--need",
    "backup:3TB",
    "--need",
    "exchange:2TB,exfat",
];

/// The published plan: machines outermost, then bulk, backup, and the exchange partition innermost; with its figures,
/// "upwards of 250 MB/s", "above 200 MB/s on reading", and about 9 ms within 2 TB against 12 over all.
#[test]
fn layout_of_16_tb_matches_the_owners_choice() {
    let scratch = Scratch::new();
    let call = |more: &[&str]| {
        let call = [&["advise", "sim:usb-16tb"][..], &NEEDS, more].concat();
        scratch.drivescope(&call).code(0)
    };
    let document = call(&["--json"]).json();
    let parts = array(&document["layout"]["placements"]);
    let names: Vec<&str> = parts.iter().map(|part| text(&part["need"]["name"])).collect();
    assert_eq!(names, ["vms", "photos", "backup", "exchange"]);
    let of = |part: usize, figure: &str| parts[part]["expected"][figure].as_f64().unwrap();
    assert!(of(0, "read_end_mb_s") > 240.0, "{parts:?}");
    assert!(of(1, "read_mean_mb_s") > 200.0 && of(3, "read_mean_mb_s") < 160.0, "{parts:?}");
    assert!((6.0..10.0).contains(&of(0, "access_ms")), "{parts:?}");
    let script = text(&document["scripts"][0]);
    assert_eq!(script.lines().filter(|line| line.starts_with("start=")).count(), 4, "{script}");
    must_have(script, &["label: gpt", "EBD0A0A2", "ERASES", "mkfs.exfat"]);
    let output = call(&[]).stdout;
    assert!(output.contains("vms") && output.contains("over the whole"), "{output}");
}

#[test]
fn measured_run_is_stored_and_missing_writes_named() {
    let scratch = Scratch::new();
    let call = ["advise", "sim:wd40efrx", "--measure", "--need", "vms:100GB"];
    let ended = scratch.drivescope(&call).code(0);
    let id = ended.stderr.split_whitespace().skip_while(|word| *word != "run").nth(1).unwrap();
    assert!(ended.stderr.contains("saved as run"), "{}", ended.stderr);
    let shown = scratch.drivescope(&["show", id, "--json"]).code(0).json();
    assert!(array(&shown["tests"]).iter().any(|result| result["test"] == "geometry"));
    let geometry = ["run", "sim:wd40efrx", "--test", "geometry", "--quiet", "--set"];
    let file = scratch.text("geometry.json");
    let output =
        scratch.drivescope(&[&geometry[..], &["geometry.writes=false", "--json"]].concat());
    std::fs::write(&file, output.code(0).stdout).unwrap();
    scratch.drivescope(&["advise", &file, "--need", "vms:100GB"]).code(0).shows(&["as reads"]);
}

#[test]
fn impossible_layout_is_refused_or_named() {
    let scratch = Scratch::new();
    let ssd = ["advise", "sim:samsung-860evo-250", "--need", "vms:100GB", "--need", "photos:50GB"];
    scratch.drivescope(&ssd).code(0).shows(&["partitioning buys no speed"]);
    let large = ["advise", "sim:samsung-860evo-250", "--need", "photos:9TB"];
    scratch.drivescope(&large).code(2).shows(&["no room for photos"]);
    let ended = scratch.drivescope(&[&large[..], &["--json"]].concat()).code(2);
    assert!(ended.stderr.contains("no room for photos: it needs 9.00 TB"), "{ended}");
    assert_eq!(text(&ended.json()["layout"]["unplaced"][0][0]["name"]), "photos");
    let wrong = scratch.drivescope(&["advise", "sim:wd40efrx", "--need", "vms"]).refused(2);
    assert!(wrong.contains("NAME:SIZE"), "{wrong}");
    let unknown = scratch.drivescope(&["advise", "absent"]).refused(2);
    assert!(unknown.contains("absent") || unknown.contains("no run"), "{unknown}");
}

#[test]
fn shingled_and_lying_disks_are_named_first() {
    let scratch = Scratch::new();
    for (model, words) in [
        ("sim:st8000as0002-smr", "disk, shingled"),
        ("sim:wd40efrx?fault=flush-lies", "answers flushes before data are safe"),
    ] {
        let call =
            ["run", model, "--test", "geometry,transfer", "--quiet", "--no-save", "--seed", "3"];
        let output = scratch.drivescope(&call).not_panicked().stdout;
        let first: String = output.lines().take(4).collect::<Vec<_>>().join(" ");
        assert!(first.contains(words), "{output}");
    }
}
