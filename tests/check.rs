//! `check`: what it decides of simulated drives whose state is known, and what it refuses.

use crate::support::json::{array, text};
use crate::support::{Scratch, every};
use drivescope_drive::simulated::spec::model_of;
use drivescope_sim::library::BUILT_IN;
use serde_json::Value;
use std::fs;
use std::path::Path;

const KEEP: &str = "keep";
const NOT_SURE: &str = "not-sure";
const SEND_BACK: &str = "send-back";

/// A drive, how it is checked, and what must be decided.
struct Case {
    model: &'static str,
    state: &'static str,
    options: &'static [&'static str],
    advice: &'static str,
    /// In a reason; empty if there must be none.
    because: &'static str,
}

const fn case(
    model: &'static str,
    state: &'static str,
    options: &'static [&'static str],
    advice: &'static str,
    because: &'static str,
) -> Case {
    Case { model, state, options, advice, because }
}

const DESTROY: &[&str] = &["--destroy", "any"];

/// Healthy drives. Those on USB are kept once their capacity is tested.
const HEALTHY: [Case; 26] = [
    case("hds722020ala330", "", &[], KEEP, ""),
    case("hgst-7k1000", "", &[], KEEP, ""),
    case("wd10ears", "", &[], KEEP, ""),
    case("wd15earx", "", &[], KEEP, ""),
    case("wd15gp", "", &[], KEEP, ""),
    case("wd20eads", "", &[], KEEP, ""),
    case("wd20ears", "fill=0.8", &[], KEEP, ""),
    case("wd4000aaks", "", &[], KEEP, ""),
    case("wd40efrx", "", &[], KEEP, ""),
    case("wd40efrx", "", DESTROY, KEEP, ""),
    case("wd40ezrz", "smart=healthy.json", &[], KEEP, ""),
    case("wd40efrx", "smart=healthy.json", &["--long"], KEEP, ""),
    case("st8000as0002-smr", "", &[], KEEP, ""),
    case("st8000as0002-smr", "", DESTROY, KEEP, ""),
    case("pm871b-128", "", &[], KEEP, ""),
    case("pm871b-128", "", DESTROY, KEEP, ""),
    case("samsung-860evo-250", "fill=0", &[], KEEP, ""),
    case("samsung-860evo-1tb", "fill=0.3", &[], KEEP, ""),
    case("samsung-870evo-1tb", "", DESTROY, KEEP, ""),
    case("laptop-ssd-2015", "", &[], KEEP, ""),
    case("kioxia-bg4-128", "", &[], KEEP, ""),
    case("corsair-mp510-240", "", DESTROY, KEEP, ""),
    case("toshiba-xg6-1tb", "", &[], KEEP, ""),
    case("usb-16tb", "", &[], NOT_SURE, "capacity is not tested"),
    case("usb-16tb", "", DESTROY, KEEP, ""),
    case("easystore-2tb", "", DESTROY, KEEP, ""),
];

/// Drives that are not to be kept, or not before something is settled.
const BAD: [Case; 27] = [
    case("wd40efrx", "smart=failing.json", &[], SEND_BACK, "it reports that it is failing (F057)"),
    case("wd40efrx", "smart=healthy.json,pending.json", &[], SEND_BACK, "lost sectors"),
    case("wd40efrx", "smart=healthy.json,crc.json", &[], NOT_SURE, "damaged on the way (F058)"),
    case("wd40efrx", "smart=reset.json", &[], NOT_SURE, "it is not new"),
    case("toshiba-xg6-1tb", "smart=nvme.json", &[], SEND_BACK, "it reports that it is failing"),
    case("wd40efrx", "fault=failing-region", &[], SEND_BACK, "cannot be read or written (F017)"),
    case("wd15gp", "fault=failing-region", &[], SEND_BACK, "cannot be read or written (F017)"),
    case("pm871b-128", "fault=failing-region", &[], SEND_BACK, "cannot be read or written"),
    case("toshiba-xg6-1tb", "fault=failing-region", &[], SEND_BACK, "cannot be read or written"),
    case("usb-16tb", "fault=failing-region", &[], SEND_BACK, "cannot be read or written"),
    case("wd40efrx", "fault=failing-region", &["--quick"], SEND_BACK, "cannot be read"),
    case("wd40efrx", "fault=unreadable-end", &[], SEND_BACK, "cannot be read or written (F017)"),
    case("samsung-860evo-250", "fault=unreadable-end", &[], SEND_BACK, "cannot be read"),
    case("easystore-2tb", "fault=unreadable-end", &[], SEND_BACK, "cannot be read or written"),
    case("wd40ezrz", "fault=slow-region", &[], SEND_BACK, "reads slowly"),
    case("hgst-7k1000", "fault=slow-region", &[], SEND_BACK, "reads slowly"),
    case("samsung-870evo-1tb", "fault=slow-region", &[], SEND_BACK, "reads slowly"),
    case("usb-16tb", "fake=wrap:1GiB", DESTROY, SEND_BACK, "holds less than it claims (F031)"),
    case("easystore-2tb", "fake=cut:1GiB", DESTROY, SEND_BACK, "holds less than it claims"),
    case("pm871b-128", "fake=cut:1GiB:8MiB", DESTROY, SEND_BACK, "holds less than it claims"),
    case("usb-16tb", "fake=wrap:1GiB", &[], NOT_SURE, "capacity is not tested"),
    case("wd40efrx", "fault=flush-lies", DESTROY, SEND_BACK, "flushes before the data are safe"),
    case("pm871b-128", "fault=flush-lies", DESTROY, NOT_SURE, "flushes cost nothing"),
    case("wd40efrx", "fault=slow-link", &[], NOT_SURE, "its link is slower"),
    case("wd40efrx", "fault=stalls", &[], NOT_SURE, "it answered nothing for more than a second"),
    case("wd40efrx", "fault=gone", &[], NOT_SURE, "it vanished during the check (F062)"),
    case("wd40efrx", "", &["--quick"], NOT_SURE, "of its surface was read; 98 % sure to see"),
];

/// A model with the smallest capacity at which it can be built: its surface is read in a moment.
fn small_model(scratch: &Scratch, model: &str) -> String {
    let (_, text) = BUILT_IN.iter().find(|(name, _)| *name == model).expect("a built-in model");
    let is_capacity = |line: &&str| line.starts_with("capacity_bytes = ");
    let line = text.lines().find(is_capacity).expect("every model has a capacity");
    // A shingled disk must hold its cache, flash its spare blocks.
    let with = |doubled: u32| {
        text.replacen(line, &format!("capacity_bytes = {}", 4_096_000_000_u64 << doubled), 1)
    };
    let is_sound = |text: &String| model_of(model, text).is_ok();
    let small = (0..8).map(with).find(is_sound).expect("the model itself is larger");
    scratch.file(&format!("{model}.toml"), small)
}

/// What smartctl printed of real drives, by what they stand for.
fn smart_files(scratch: &Scratch) {
    fn sample(name: &str) -> String {
        let samples = "../machine/src/list/smart_report/samples";
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(samples).join(name);
        fs::read_to_string(path).expect("the repository has it")
    }
    let healthy = sample("farm.json").replace("{\"hours\": 12}", "{\"hours\": 22341}");
    let risen = |attribute: &str, value: u32, count: u32| {
        let of = |raw: u32| {
            format!(
                "\"{attribute}\", \"value\": {value}, \"worst\": {value}, \"thresh\": 0, \"when_failed\": \"\", \
                 \"raw\": {{\"value\": {raw}, \"string\": \"{raw}\""
            )
        };
        let after = healthy.replace(&of(0), &of(count));
        assert_ne!(after, healthy, "{attribute}");
        after
    };
    scratch.file("crc.json", risen("UDMA_CRC_Error_Count", 200, 3));
    scratch.file("pending.json", risen("Current_Pending_Sector", 100, 8));
    scratch.file("reset.json", sample("farm.json"));
    scratch.file("failing.json", sample("disk.json"));
    scratch.file("nvme.json", sample("nvme.json"));
    scratch.file("healthy.json", healthy);
}

fn target(scratch: &Scratch, case: &Case) -> String {
    let model = small_model(scratch, case.model);
    let state = if case.state.is_empty() { String::new() } else { format!("&{}", case.state) };
    format!("sim:{model}?seed=1{state}")
}

fn assert_decides(scratch: &Scratch, case: &Case) {
    let target = target(scratch, case);
    let code = if case.advice == KEEP { 0 } else { 1 };
    let call = scratch.call(&["check", &target, "--json", "--no-save"]).arguments(case.options);
    let run = call.end().code(code).json();
    let name = format!("{} {} {:?}", case.model, case.state, case.options);
    let decision = &run["decision"];
    let reasons: Vec<&str> =
        array(&decision["reasons"]).iter().map(|it| text(&it["because"])).collect();
    assert_eq!(text(&decision["advice"]), case.advice, "{name}: {reasons:?}");
    let is_there = reasons.iter().any(|reason| reason.contains(case.because));
    assert!(
        if case.because.is_empty() { reasons.is_empty() } else { is_there },
        "{name}: {reasons:?}"
    );
    let parts: Vec<&str> = array(&decision["parts"]).iter().map(|it| text(&it["part"])).collect();
    assert_eq!(parts.len(), 7, "{name}: {parts:?}");
}

#[test]
fn no_healthy_drive_is_sent_back() {
    let scratch = Scratch::new();
    smart_files(&scratch);
    every(5, &HEALTHY).for_each(|case| assert_decides(&scratch, case));
}

#[test]
fn no_bad_drive_is_kept() {
    let scratch = Scratch::new();
    smart_files(&scratch);
    every(4, &BAD).for_each(|case| assert_decides(&scratch, case));
}

#[test]
fn every_model_is_checked() {
    for (model, _) in BUILT_IN {
        assert!(HEALTHY.iter().any(|case| case.model == *model), "{model}");
    }
    assert!(HEALTHY.len() + BAD.len() >= 40);
}

/// Shown, exported and stored as other runs, with the decision first.
#[test]
fn decision_is_the_first_line_everywhere() {
    let scratch = Scratch::new();
    smart_files(&scratch);
    let case = case("wd40efrx", "smart=healthy.json,crc.json", &[], NOT_SURE, "");
    let (target, page) = (target(&scratch, &case), scratch.text("check.html"));
    let ended =
        scratch.drivescope(&["check", &target, "-q", "-o", &page, "--label", "Anna"]).code(1);
    let first = ended.stdout.lines().next();
    assert_eq!(first, Some("not sure, because"), "{}", ended.stdout);
    // A command is never broken, so that it can be copied.
    let fits = |line: &str| line.chars().count() <= 80 || line.contains("drivescope check");
    assert!(ended.stdout.lines().all(fits), "{}", ended.stdout);
    ended.shows(&["use another cable", "  surface      ok  all 4.10 GB read"]);
    let page = fs::read_to_string(page).unwrap();
    for part in ["Not sure", "CRC errors: 3 more", "Serial number", "SIM-WD40EFRX", "<svg", "Anna"]
    {
        assert!(page.contains(part), "{part}");
    }
    assert!(page.len() < 500_000, "{} bytes", page.len());
    scratch.drivescope(&["show", "last"]).code(0).shows(&["not sure, because"]);
    scratch.drivescope(&["runs"]).code(0).shows(&["check"]);
    let markdown = scratch.text("check.md");
    scratch.drivescope(&["report", "last", "-o", &markdown]).code(0);
    assert!(fs::read_to_string(markdown).unwrap().contains("**not sure**"));
    let again = ["check", &target, "-o", &scratch.text("check.html")];
    scratch.drivescope(&again).refused_with(2, &["is there already: name another file"]);
}

#[test]
fn other_suites_decide_nothing() {
    let scratch = Scratch::new();
    let run = scratch.drivescope(&["run", "sim:wd40efrx", "--test", "self-test", "--json"]);
    let run: Value = run.code(0).json();
    assert!(run.get("decision").is_none());
    assert_eq!(run["tests"][0]["self_test"]["passed"], true);
}

#[test]
fn what_is_not_a_whole_drive_is_refused_in_a_line() {
    let scratch = Scratch::new();
    let file = scratch.file("image.raw", [0; 4096]);
    for (arguments, words) in [
        (&["check", &scratch.target()][..], "is a directory, and a check is of a whole drive"),
        (&["check", &file], "is a file, and a check is of a whole drive"),
        (&["check", "/dev/nonexistent"], "/dev/nonexistent"),
        (&["check", "/dev/null"], "/dev/null"),
        (&["check", "wd40efrx"], "sim:wd40efrx"),
        (&["check"], "DRIVE"),
        (&["check", "sim:wd40efrx", "--quick", "--long"], "--long"),
        (&["check", "sim:wd40efrx", "--destroy", ""], "--destroy"),
        (&["check", "sim:wd40efrx", "-o", "check.pdf"], "ends in .html or .md"),
        (&["check", "sim:wd40efrx", "--resume"], "nothing to resume"),
    ] {
        scratch.drivescope(arguments).refused_with(2, &[words]);
    }
}
