//! Devices and file systems that fail in the middle: the test fails, the run goes on and is kept.

use super::guards::{Loop, OnLoop, OnMount, image_of_noise, take_room};
use super::privileged_scratch;
use crate::support::json::{array, finding, findings, statuses, test_of, text};
use crate::support::scratch::{names, own_folder};
use crate::support::{Running, TINY, must_have, wait_for};
use serde_json::Value;
use std::fs;
use std::io::{BufRead, BufReader, pipe};

fn wait_for_reads(running: &Running, bytes: u64) {
    wait_for_io(running, "read_bytes", bytes);
}

/// Waits until one of the kernel's I/O counters of the program exceeds `bytes`.
fn wait_for_io(running: &Running, counter: &str, bytes: u64) {
    wait_for(counter, || running.io_bytes(counter).filter(|so_far| *so_far > bytes));
}

/// Truncates the file of a loop device: reads then fail with EIO.
fn take_away(image: &str) {
    let file = fs::OpenOptions::new().write(true).open(image).expect("the image is ours");
    file.set_len(64 << 10).expect("a file can be cut");
}

const ENDLESS: &[&str] = &[
    "--test=transfer,latency,surface",
    "--cells=rnd4k_q1t1.read",
    "--set=transfer.time=1h",
    "--size=64M",
    "--json",
];

#[test]
fn io_errors_end_the_test_not_the_run() {
    for engine in ["--engine=threads", "--seed=1"] {
        let Some(scratch) = privileged_scratch() else { return };
        let image = image_of_noise(&scratch, 64);
        let Some(device) = Loop::attach(&image, &[]) else { return };
        let call = scratch.run_call(&device.node, &[TINY, ENDLESS, &["target", engine]]);
        let running = call.start();
        // More than two trials before the plan read.
        wait_for_reads(&running, 32 << 20);
        take_away(&image);
        // The second target is measured all the same; it would take an hour, so it is stopped.
        wait_for("the run of the second target", || own_folder(scratch.target()));
        let runs = running.interrupt().documents();
        let run = &runs[0];
        let failed = ["transfer", "latency", "surface"].map(|test| (test, "failed"));
        assert_eq!(statuses(run), failed);
        assert_eq!(run["status"], "failed");
        let reason = text(&run["tests"][0]["reason"]);
        assert!(reason.contains("read at byte") && reason.contains("I/O error"), "{reason}");
        let error = finding(run, "F017");
        assert_eq!(error["severity"], "problem");
        assert!(text(&error["remedy"]).contains("smartctl"), "{error}");
        assert!(array(&run["tests"][0]["phases"])[0]["errors"].as_u64() > Some(0));
        for verdict in array(&run["verdict"]) {
            assert_eq!(verdict["points"], 0, "no use for a drive that fails: {verdict}");
        }
        let kept = scratch.drivescope(&["show", text(&run["id"]), "--json"]).code(0).json();
        assert_eq!(&kept, run);
    }
}

#[test]
fn io_errors_give_the_device_exit_code() {
    let Some(OnLoop { scratch, device, image, .. }) = OnLoop::of_noise(64) else { return };
    take_away(&image);
    let ended = scratch.run(&device.node, &[TINY]).code(4);
    ended.shows(&["failed", "I/O error", "F017", "saved as run"]);
    scratch.drivescope(&["runs"]).code(0).shows(&["failed"]);
}

#[test]
fn full_file_system_fails_the_test_cleanly() {
    // btrfs writes every block anew, so that another writer can take the space of our own file.
    let Some(OnMount { scratch, device: _device, mount }) = OnMount::btrfs(2048) else { return };
    let options = [
        "--test=transfer,latency",
        "--cells=rnd4k_q8t1.write",
        "--set=transfer.time=1h",
        // It continues until the file system is full.
        "--set=transfer.write_once=false",
        "--set=latency.spans_pct=[100]",
        "--set=latency.rates=[]",
        "--json",
    ];
    let running = scratch.run_call(&mount.point, &[TINY, &options]).start();
    wait_for("the run's own folder", || own_folder(&mount.point));
    // More than the trial and its file: within a round, and not between two, where free space is looked at.
    wait_for_io(&running, "write_bytes", 48 << 20);
    take_room(&mount, 0);
    // As at the plan: no device failed.
    let ended = running.end().code(3);
    let run = ended.json();
    assert_eq!(statuses(&run), [("latency", "done"), ("transfer", "failed")]);
    let reason = text(&test_of(&run, "transfer")["reason"]);
    must_have(reason, &["file system is full", "free some space"]);
    assert!(!findings(&run).contains(&"F017"), "a full file system is not the drive's fault");
    let left = names(&mount.point);
    assert!(left.iter().all(|name| name.starts_with("filler")), "{left:?}");
    assert_eq!(scratch.drivescope(&["show", "last", "--json"]).code(0).json(), run);
}

/// Direct I/O is proved with the last block: a bad one looked like a file system without it, and all reads went through
/// the page cache.
#[test]
fn bad_last_sector_does_not_refuse_direct_io() {
    let Some(OnLoop { device, image, scratch, .. }) = OnLoop::of_noise(64) else { return };
    let file = fs::OpenOptions::new().write(true).open(&image).expect("the image is ours");
    file.set_len(63 << 20).expect("a file can be cut");
    let options = ["--set=latency.spans_pct=[10]", "--set=latency.rates=[]", "--json"];
    let run = scratch.run(&device.node, &[TINY, &["--test=latency"], &options]).measured().json();
    assert_eq!(run["target"]["io_mode"], "direct");
    assert!(!findings(&run).contains(&"F011"), "{:?}", findings(&run));
}

#[test]
fn watch_continues_after_failed_reads() {
    let Some(scratch) = privileged_scratch() else { return };
    let image = image_of_noise(&scratch, 64);
    let Some(device) = Loop::attach(&image, &[]) else { return };
    let (reader, writer) = pipe().unwrap();
    let running = scratch.call(&["watch", &device.node, "--json"]).output_to(writer).start();
    let mut lines = BufReader::new(reader).lines();
    let mut next =
        || lines.next().map(|line| serde_json::from_str::<Value>(&line.unwrap()).unwrap());
    let well = next().expect("a line of the first second");
    assert_ne!(well["kind"], "error", "{well}");
    take_away(&image);
    let mut errors = 0;
    while errors < 2 {
        let line = next().expect("it goes on after a failed read");
        if line["kind"] == "error" {
            assert_eq!(line["errno"], rustix::io::Errno::IO.raw_os_error(), "{line}");
            errors += 1;
        }
    }
    running.signal(rustix::process::Signal::INT);
    let mut last = Value::Null;
    while let Some(line) = next() {
        errors += u64::from(line["kind"] == "error");
        last = line;
    }
    running.end().code(4);
    assert_eq!((&last["kind"], &last["errors"]), (&"summary".into(), &errors.into()));
}
