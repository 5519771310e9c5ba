//! Targets without a drive below them: numbers are shown, marked, and count for nothing.

use super::guards::{Loop, Mount, Zram, or_skip, tool};
use super::privileged_scratch;
use crate::support::json::{array, finding, findings, metric, metrics, text};
use crate::support::{Ended, ONE_CELL, Scratch, TINY, noise};

/// F002, every number marked, no verdict.
fn check_is_memory(scratch: &Scratch, target: &str, evidence: &str) {
    let force: &[&str] = if std::path::Path::new(target).is_dir() { &["--force"] } else { &[] };
    // Nothing valid was measured.
    let run = scratch.run(target, &[TINY, &["--json"], force]).code(1).json();
    let memory = finding(&run, "F002");
    assert_eq!(memory["severity"], "invalid");
    assert!(text(&memory["evidence"]).contains(evidence), "{memory}");
    assert!(metrics(&run).count() > 20);
    for metric in metrics(&run) {
        assert_eq!(metric["valid"], false, "{metric}");
        assert!(array(&metric["invalid_because"]).contains(&"F002".into()), "{metric}");
    }
    for verdict in array(&run["verdict"]) {
        assert!(verdict["points"].is_null(), "{verdict}");
    }
    let ended = scratch.drivescope(&["show", "last"]).code(0);
    ended.shows(&["! invalid: F002", "not judged"]);
    scratch.drivescope(&["runs"]).code(0).shows(&["no valid figures"]);
    check_no_number_is_cut(&ended);
}

/// `34,100…000` is not a rate.
fn check_no_number_is_cut(ended: &Ended) {
    let tables = ended.stdout.lines().take_while(|line| !line.starts_with('F'));
    for line in tables {
        let letters: Vec<char> = line.chars().collect();
        for window in letters.windows(3).filter(|window| window[1] == '…') {
            fn digits(c: char) -> bool {
                c.is_ascii_digit() || c == ',' || c == '.'
            }
            assert!(!digits(window[0]) || !digits(window[2]), "a number is cut: {line}\n{ended}");
        }
    }
}

#[test]
fn tmpfs_is_memory() {
    let Some(scratch) = privileged_scratch() else { return };
    let Some(mount) = Mount::new(&scratch, "none", &["-t", "tmpfs", "-o", "size=2G"]) else {
        return;
    };
    scratch.run(&mount.point, &[TINY]).refused_with(2, &["is on no drive", "tmpfs", "--force"]);
    check_is_memory(&scratch, &mount.point, "tmpfs");
    // A warning comes before the minute that a run takes, and not where only the result is wanted.
    let options = [TINY, ONE_CELL, &["--force"]].concat();
    let before = |more: &[&str]| {
        let ended = scratch.run(&mount.point, &[&options, more]).code(1);
        let cause = "drivescope: no valid figure: no drive was measured, only memory (F002)";
        assert!(ended.stderr.starts_with(cause), "{ended}");
        assert_eq!(ended.stderr.lines().count(), 1, "{ended}");
        let (before, _) = ended.stdout.split_once("transfer  ").unwrap();
        before.replace("\n  ", " ")
    };
    let warning = "these results will not describe a drive: tmpfs ";
    assert!(
        before(&[]).contains(warning) && !before(&["--quiet"]).contains(warning),
        "{}",
        before(&[])
    );
    assert_eq!(crate::support::scratch::names(&mount.point), [""; 0]);
}

/// For a file system over several drives.
#[test]
fn traffic_of_both_btrfs_devices_gives_cache_share() {
    let Some(scratch) = privileged_scratch() else { return };
    let below = Scratch::new();
    let options = ["-t", "tmpfs", "-o", "size=3G"];
    let Some(memory) = Mount::new(&below, "none", &options) else { return };
    let images = ["one", "two"].map(|name| memory.text(name));
    for image in &images {
        std::fs::File::create(image).unwrap().set_len(1 << 30).unwrap();
    }
    let attach = |image: &String| Loop::attach(image, &["--direct-io=on"]);
    let Some([one, two]) = attach(&images[0]).zip(attach(&images[1])).map(<[_; 2]>::from) else {
        return;
    };
    let options = ["-q", "-f", "-draid0", "-mraid1", one.node.as_str(), &two.node];
    let Some(_) = or_skip(tool("mkfs.btrfs", &options)) else { return };
    let Some(mount) = Mount::new(&scratch, &one.node, &[]) else { return };
    let options = ["--test=tiny-writes", "--json"];
    let run = scratch.run(&mount.point, &[TINY, &options]).measured().json();
    let share = |cell: &str| {
        let found = metric(&run, &format!("tiny-writes.{cell}.cache_share_pct"));
        found.map(|metric| metric["value"].as_f64())
    };
    assert_eq!(share("seq512_read_warm"), Some(Some(100.0)));
    assert!(share("seq512_read_cold").flatten().is_some_and(|share| share < 10.0), "{run}");
}

#[test]
fn unlimited_memory_is_refused_by_name() {
    let Some(scratch) = privileged_scratch() else { return };
    let Some(mount) = Mount::new(&scratch, "none", &["-t", "ramfs"]) else { return };
    scratch.run(&mount.point, &[TINY]).refused_with(
        2,
        &[&mount.point, "is on ramfs", "may take all memory", "a directory on a drive"],
    );
    // A file has a size.
    let file = mount.text("data");
    std::fs::write(&file, noise(4 << 20, 1)).unwrap();
    let run = scratch.run(&file, &[TINY, ONE_CELL, &["--json"]]).code(1).json();
    assert!(findings(&run).contains(&"F002"), "{:?}", findings(&run));
}

#[test]
fn zram_is_memory() {
    let Some(scratch) = privileged_scratch() else { return };
    let Some(zram) = Zram::new("64M") else { return };
    check_is_memory(&scratch, &zram.node, "memory");
}

#[test]
fn a_loop_device_over_tmpfs_is_memory() {
    let Some(scratch) = privileged_scratch() else { return };
    let Some(mount) = Mount::new(&scratch, "none", &["-t", "tmpfs", "-o", "size=2G"]) else {
        return;
    };
    let image = mount.text("image");
    std::fs::write(&image, noise(64 << 20, 1)).unwrap();
    let Some(device) = Loop::attach(&image, &[]) else { return };
    check_is_memory(&scratch, &device.node, "is a file on tmpfs");
}
