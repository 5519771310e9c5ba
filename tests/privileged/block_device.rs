//! Block devices are read and never written.

use super::guards::{Loop, OnLoop, image_of_noise, tool};
use super::privileged_scratch;
use crate::support::json::{array, finding, findings, keys, metrics, statuses, test_of, text};
use crate::support::{TINY, must_have};
use std::fs;

#[test]
fn read_tests_leave_a_device_unchanged() {
    let Some(OnLoop { scratch, device, image, .. }) = OnLoop::ext4(64) else { return };
    let before = fs::read(&image).unwrap();
    let run = scratch.run(&device.node, &[TINY, &["--json", "--rounds=3"]]).measured().json();
    tool("blockdev", &["--flushbufs", &device.node]).unwrap();
    assert!(fs::read(&image).unwrap() == before, "the device was changed");
    let reads = ["transfer", "latency", "surface"].map(|test| (test, "done"));
    assert_eq!(statuses(&run), [&reads[..], &[("tiny-writes", "skipped")]].concat());
    assert_eq!(run["target"]["kind"], "block");
    assert_eq!(run["target"]["size_bytes"], 64 << 20);
    assert_eq!(run["target"]["stack"][0], device.name());
    for key in keys(&run) {
        assert!(!key.contains("write"), "{key} of a device that is only read");
    }
    for (test, needs) in [("transfer", "needs a raw write"), ("tiny-writes", "needs a directory")] {
        let reason = text(&test_of(&run, test)["reason"]);
        assert!(reason.contains(needs), "{reason}");
    }
    for test in array(&run["plan"]["tests"]) {
        assert_eq!(test["writes"], "read", "{test}");
    }
    let access = array(&run["gate"]).iter().find(|check| check["check"] == "access");
    assert!(text(&access.unwrap()["evidence"]).contains("read-only"));
    for key in ["surface.read.mean_mb_s", "surface.access.access_mean_ms"] {
        assert!(keys(&run).iter().any(|known| known == key), "no {key}");
    }
}

#[test]
fn plan_of_a_device_says_read_only() {
    let Some(scratch) = privileged_scratch() else { return };
    let Some(device) = Loop::attach(&image_of_noise(&scratch, 64), &[]) else { return };
    let plan = scratch.run(&device.node, &[&["--dry-run"]]).code(0).stdout;
    must_have(&plan, &["reads only", "opened read-only", "needs a raw write", "surface"]);
    for options in [&["--test=fill,verify"][..], &["--test=transfer", "--cells=rnd4k_q1t1.write"]] {
        scratch.run(&device.node, &[options]).refused_with(2, &["needs a raw write"]);
    }
}

#[test]
fn presets_of_other_instruments_run_on_a_device() {
    let Some(scratch) = privileged_scratch() else { return };
    let Some(device) = Loop::attach(&image_of_noise(&scratch, 64), &[]) else { return };
    for (suite, options) in [
        ("gnome-disks", &["--set=surface.sample=1M", "--set=surface.samples=10"][..]),
        ("zcav", &["--set=surface.sample=8M"]),
    ] {
        let options = [options, &["--suite", suite, "--json", "--rounds=1"]].concat();
        let run = scratch.run(&device.node, &[&options]).measured().json();
        assert_eq!(statuses(&run), [("surface", "done")], "{suite}");
        let key = "surface.read.mean_mb_s";
        assert!(keys(&run).iter().any(|known| known == key), "{suite}: {:?}", keys(&run));
    }
}

#[test]
fn one_device_by_two_names_is_one_target() {
    let Some(scratch) = privileged_scratch() else { return };
    let Some(device) = Loop::attach(&image_of_noise(&scratch, 4), &[]) else { return };
    std::os::unix::fs::symlink(&device.node, scratch.path("my disk")).unwrap();
    scratch.drivescope(&["run", &device.node, "my disk"]).refused_with(2, &["given twice"]);
}

#[test]
fn partition_is_a_target_of_its_size() {
    let Some(scratch) = privileged_scratch() else { return };
    let Some(device) = Loop::attach(&image_of_noise(&scratch, 64), &["--partscan"]) else { return };
    let Some(_partition) = super::list::add_partition(&device, 1, 2048, 65536) else { return };
    let node = format!("{}p1", device.node);
    let run = scratch.run(&node, &[TINY, &["--test=latency", "--json"]]).measured().json();
    assert_eq!(run["target"]["size_bytes"], 32 << 20);
    let stack: Vec<&str> = array(&run["target"]["stack"]).iter().map(text).collect();
    assert_eq!(stack[..2], [&format!("{}p1", device.name()), device.name()]);
}

#[test]
fn sectors_of_4096_bytes_are_respected() {
    let Some(scratch) = privileged_scratch() else { return };
    let image = image_of_noise(&scratch, 64);
    let Some(device) = Loop::attach(&image, &["--sector-size", "4096"]) else { return };
    let cells = "--cells=rnd512_q1t1.read,rnd4k_q1t1.read";
    let options = ["--test=transfer,latency", cells, "--json"];
    let run = scratch.run(&device.node, &[TINY, &options]).measured().json();
    assert_eq!(run["target"]["io_mode"], "direct");
    assert_eq!(run["target"]["io_align_bytes"], 4096);
    assert_eq!(statuses(&run), [("transfer", "done"), ("latency", "done")]);
    let reason = text(&test_of(&run, "transfer")["reason"]);
    must_have(reason, &["rnd512_q1t1.read", "multiples of 4096"]);
    assert!(keys(&run).iter().all(|key| !key.contains("rnd512")), "{:?}", keys(&run));
}

#[test]
fn test_that_fits_no_sector_is_not_complete() {
    let Some(scratch) = privileged_scratch() else { return };
    let image = image_of_noise(&scratch, 64);
    let Some(device) = Loop::attach(&image, &["--sector-size", "4096"]) else { return };
    let options = ["--test=transfer", "--cells=rnd512_q1t1.read"];
    let ended = scratch.run(&device.node, &[TINY, &options]).code(2);
    let said = format!("{}{}", ended.stdout, ended.stderr);
    assert!(said.contains("multiples of 4096"), "the reason is missing: {ended}");
}

#[test]
fn loop_device_is_named_as_a_drive() {
    let Some(scratch) = privileged_scratch() else { return };
    let Some(device) = Loop::attach(&image_of_noise(&scratch, 64), &[]) else { return };
    let run = scratch.run(&device.node, &[TINY, &["--json"]]).measured().json();
    let virtual_drive = finding(&run, "F022");
    let evidence = text(&virtual_drive["evidence"]);
    assert!(evidence.contains(device.name()) && evidence.contains("file"), "{evidence}");
    // The whole file fits into memory, which caches it below the loop device.
    let small = text(&finding(&run, "F012")["evidence"]);
    assert!(small.contains("memory, which caches"), "{small}");
}

#[test]
fn cached_loop_reads_do_not_describe_the_drive() {
    let Some(scratch) = privileged_scratch() else { return };
    // The file was just written and lies in the page cache, through which the loop device reads:
    // no byte comes from a drive.
    let Some(device) = Loop::attach(&image_of_noise(&scratch, 64), &[]) else { return };
    let cells = "--cells=rnd4k_q1t1.read";
    let options = ["--test=transfer", cells, "--time=100ms", "--rounds=3", "--json"];
    let run = scratch.run(&device.node, &[TINY, &options]).measured().json();
    for metric in metrics(&run).filter(|metric| text(&metric["key"]).ends_with(".mb_s")) {
        assert_eq!(metric["valid"], false, "{metric}\nfindings: {:?}", findings(&run));
    }
}
