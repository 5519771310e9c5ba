//! `run --metrics`: the file that a collector reads.

use crate::support::scratch::names;
use crate::support::{Call, ONE_CELL, Scratch, must_have};
use std::fs;
use std::process::Command;

const SERIES: &str = "drivescope_requests_per_second{drive=\"WDC WD40EFRX-68N32N0\",serial=\"SIM-WD40EFRX\",\
                      target=\"sim:wd40efrx\",suite=\"quick\",test=\"transfer\",cell=\"rnd4k_q1t1.read\"} ";

/// Every sample belongs to a family with help and type, and no series comes twice; `promtool` agrees where it is
/// installed.
pub fn check(text: &str) {
    let (mut family, mut series) = ("", Vec::new());
    for line in text.lines().filter(|line| *line != "# EOF") {
        if let Some(typed) = line.strip_prefix("# TYPE ") {
            family = typed.strip_suffix(" gauge").unwrap_or_else(|| panic!("{line}"));
        } else if let Some(help) = line.strip_prefix("# HELP ") {
            assert!(help.contains(' '), "{line}");
        } else {
            let (name, value) = line.rsplit_once(' ').unwrap_or_else(|| panic!("{line}"));
            assert!(name.starts_with(&format!("{family}{{")) && name.ends_with('}'), "{line}");
            assert!(value.parse::<f64>().is_ok_and(f64::is_finite), "{line}");
            series.push(name);
        }
    }
    let count = series.len();
    series.sort_unstable();
    series.dedup();
    assert!(count > 0 && series.len() == count && text.ends_with("\n# EOF\n"), "{text}");
    if Command::new("promtool").arg("--version").output().is_ok() {
        let ended = Call::new("promtool").arguments(&["check", "metrics"]).input(text).end();
        let ended = ended.code(0);
        assert_eq!((ended.stdout.as_str(), ended.stderr.as_str()), ("", ""));
    }
}

fn run(scratch: &Scratch, target: &str, file: &str) -> crate::support::Ended {
    let options =
        ["run", target, "--quiet", "--time=1s", "--rounds=3", "--seed=1", "--metrics", file];
    scratch.drivescope(&[&options[..], ONE_CELL].concat())
}

#[test]
fn metrics_are_written_aside_and_replaced_whole() {
    let scratch = Scratch::new();
    let file = scratch.text("drives.prom");
    run(&scratch, "sim:wd40efrx", &file).code(0);
    let first = fs::read_to_string(&file).expect("it was written");
    must_have(&first, &[SERIES, "drivescope_run_info{", "drivescope_run_complete{"]);
    check(&first);
    // A collector that has opened the old file still reads all of it.
    let opened = scratch.path("opened");
    fs::hard_link(&file, &opened).expect("it is on the same file system");
    run(&scratch, "sim:wd10ears", &file).code(0);
    let second = fs::read_to_string(&file).expect("it was written");
    assert!(second.contains("WD10EARS") && !second.contains("WD40EFRX"), "{second}");
    assert_eq!(fs::read_to_string(&opened).expect("it is there"), first);
    let left = names(scratch.path(""));
    assert!(left.iter().all(|name| !name.ends_with(".part")), "{left:?}");
}

#[test]
fn unusable_file_is_refused_before_anything_is_measured() {
    let scratch = Scratch::new();
    let absent = scratch.text("absent/drives.prom");
    run(&scratch, "sim:wd40efrx", &absent).refused_with(2, &["absent"]);
    run(&scratch, "sim:wd40efrx", &scratch.text("home")).refused_with(3, &["no ordinary file"]);
    assert!(!scratch.store().exists());
}
