//! `trace record`: what it saw is what the kernel counted, and what a kill leaves is removed by the next one.

use super::guards::{Loop, OnLoop, image_with, tool};
use super::list::add_partition;
use super::privileged_scratch;
use crate::support::{Scratch, skip_loudly, wait_for};
use rustix::process::Signal;
use serde_json::Value;
use std::fs;
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};

const INSTANCES: &str = "/sys/kernel/tracing/instances";

/// Serializes recordings, so that each test sees its own instances only.
static ALONE: Mutex<()> = Mutex::new(());

/// Prints a note if nothing can be recorded here: a container may have no tracefs.
fn can_record() -> Option<MutexGuard<'static, ()>> {
    let alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    if !Path::new(INSTANCES).is_dir() {
        let _ = tool("mount", &["-t", "tracefs", "tracefs", "/sys/kernel/tracing"]);
    }
    let can = Path::new(INSTANCES).is_dir()
        && Path::new("/sys/kernel/tracing/events/block/block_rq_issue").is_dir();
    if !can {
        skip_loudly("the kernel has no tracefs with block events");
    }
    can.then_some(alone)
}

fn own_instances() -> Vec<String> {
    let entries = fs::read_dir(INSTANCES).expect("tracefs is mounted").flatten();
    let names = entries.map(|entry| entry.file_name().to_string_lossy().into_owned());
    names.filter(|name| name.starts_with("drivescope-")).collect()
}

/// Reads and writes of a device, with their sectors, from /sys/block/NAME/stat.
fn counters(name: &str) -> [u64; 4] {
    let text = fs::read_to_string(format!("/sys/block/{name}/stat")).expect("it is a device");
    let numbers: Vec<u64> =
        text.split_whitespace().map(|word| word.parse().expect("a number")).collect();
    [numbers[0], numbers[2], numbers[4], numbers[6]]
}

fn info(scratch: &Scratch, trace: &str) -> Value {
    scratch.drivescope(&["trace", "info", trace, "--json"]).code(0).documents().remove(0)
}

/// With direct I/O below, so that it has requests of its own.
fn direct_loop(scratch: &Scratch, mib: u64) -> Option<Loop> {
    let image = image_with(scratch, mib, "true", &[])?;
    Loop::attach(&image, &["--direct-io=on"])
}

#[test]
fn recording_matches_the_kernels_counters() {
    let Some(scratch) = privileged_scratch() else { return };
    let Some(_alone) = can_record() else { return };
    let Some(device) = direct_loop(&scratch, 64) else { return };
    let node = &device.node;
    // Anything that looks at a new device has done so.
    tool("udevadm", &["settle"]).ok();
    let script = format!(
        "dd if=/dev/urandom of={node} bs=64k count=200 oflag=direct status=none; \
         dd if={node} of=/dev/null bs=4k count=3000 skip=100 iflag=direct status=none; \
         dd if=/dev/urandom of={node} bs=4k count=300 seek=5000 conv=fsync status=none"
    );
    let before = counters(device.name());
    let trace = scratch.text("loop.trace");
    let call = ["trace", "record", &trace, "--device", node, "--", "sh", "-c", &script];
    let ended = scratch.drivescope(&call).code(0);
    assert!(ended.stderr.contains("wrote"), "{ended}");
    let after = counters(device.name());
    let seen = info(&scratch, &trace);
    let [reads, read_sectors, writes, written_sectors] =
        [0, 1, 2, 3].map(|i| (after[i] - before[i]) as f64);
    for (recorded, counted) in [
        (&seen["reads"]["requests"], reads),
        (&seen["reads"]["bytes"], read_sectors * 512.0),
        (&seen["writes"]["requests"], writes),
        (&seen["writes"]["bytes"], written_sectors * 512.0),
    ] {
        let recorded = recorded.as_f64().unwrap();
        assert!((recorded / counted - 1.0).abs() < 0.01, "{recorded} of {counted}: {seen}");
    }
    assert!(seen["flushes"].as_u64().unwrap() >= 1 && seen["lost"] == 0, "{seen}");
    assert!(seen["service"]["busy_s"].as_f64().unwrap() > 0.0, "{seen}");
    let names = seen["processes"].as_array().unwrap();
    assert!(names.iter().any(|process| process["name"] == "dd"), "{seen}");
    assert_eq!(own_instances(), [""; 0], "nothing stays");
}

/// A partition's requests have positions on the whole disk; those of other partitions are left out.
#[test]
fn a_partition_has_its_own_places() {
    let Some(scratch) = privileged_scratch() else { return };
    let Some(_alone) = can_record() else { return };
    let Some(image) = image_with(&scratch, 64, "true", &[]) else { return };
    let options = ["--direct-io=on", "--partscan"];
    let Some(device) = Loop::attach(&image, &options) else { return };
    let Some(_first) = add_partition(&device, 1, 2048, 32768) else { return };
    let Some(_second) = add_partition(&device, 2, 40960, 65536) else { return };
    let (one, two) = (format!("{}p1", device.node), format!("{}p2", device.node));
    let script = format!(
        "dd if=/dev/zero of={two} bs=4k seek=10 count=5 oflag=direct status=none; \
         dd if=/dev/zero of={one} bs=4k seek=20 count=7 oflag=direct status=none"
    );
    let trace = scratch.text("part.trace");
    let call = ["trace", "record", &trace, "--device", &two, "--", "sh", "-c", &script];
    scratch.drivescope(&call).code(0);
    let seen = info(&scratch, &trace);
    assert_eq!((&seen["writes"]["requests"], &seen["end_bytes"]), (&5.into(), &(15 * 4096).into()));
    assert_eq!(seen["device_bytes"], 65536 * 512);
}

#[test]
fn next_recording_removes_a_killed_one() {
    let Some(scratch) = privileged_scratch() else { return };
    let Some(_alone) = can_record() else { return };
    let Some(device) = direct_loop(&scratch, 16) else { return };
    let (node, trace) = (&device.node, scratch.text("killed.trace"));
    let call = ["trace", "record", &trace, "--device", node, "--time=1min"];
    let running = scratch.call(&call).start();
    wait_for("the instance", || (!own_instances().is_empty()).then_some(()));
    assert_eq!(running.kill().signal(), Some(9));
    assert_eq!(own_instances().len(), 1, "a kill leaves it");
    assert!(!scratch.path("killed.trace").exists());
    let read = format!("dd if={node} of=/dev/null bs=4k count=1 iflag=direct status=none");
    let call = ["trace", "record", &trace, "--device", node, "--", "sh", "-c", &read];
    scratch.drivescope(&call).code(0);
    assert_eq!(own_instances(), [""; 0], "the next one removes it");
    // Ctrl-C keeps what was recorded, and removes the instance too.
    let call = ["trace", "record", &trace, "--force", "--device", node];
    let errors = scratch.path("errors");
    let running = scratch.call(&call).errors_to(fs::File::create(&errors).unwrap()).start();
    let has_begun = || fs::read_to_string(&errors).unwrap().contains("recording /dev/");
    wait_for("the recording", || has_begun().then_some(()));
    tool("sh", &["-c", &read]).unwrap();
    running.signal(Signal::INT);
    running.end().code(0);
    assert_eq!(own_instances(), [""; 0]);
    assert_eq!(info(&scratch, &trace)["reads"]["requests"], 1);
}

#[test]
fn impossible_recording_is_refused_without_a_file() {
    let Some(on) = OnLoop::blank(16) else { return };
    let Some(_alone) = can_record() else { return };
    let (scratch, node) = (&on.scratch, &on.device.node);
    let trace = scratch.text("no.trace");
    let record = |words: &[&str]| {
        let call = [&["trace", "record", &trace], words].concat();
        let ended = scratch.drivescope(&call);
        let error = ended.code(2).stderr;
        assert!(!scratch.path("no.trace").exists() && own_instances().is_empty(), "{error}");
        error
    };
    assert!(record(&["--device", "/dev/null", "--time=1s"]).contains("is not a block device"));
    assert!(record(&["--device", node, "--", "true"]).contains("no request reached"));
    assert!(record(&["--device", node, "--", "/nonexistent"]).contains("cannot run"));
}
