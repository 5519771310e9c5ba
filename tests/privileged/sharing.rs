//! Drives that others use at the same time.

use super::guards::{Loop, image_of_noise, tool};
use super::privileged_scratch;
use crate::support::json::{findings, noticed_other_io};
use crate::support::{Call, PATIENCE, TINY};
use std::time::{Duration, Instant};

fn wait_until_read(name: &str, more: u64) {
    let read = || {
        let text = std::fs::read_to_string(format!("/sys/block/{name}/stat"));
        let text = text.expect("the kernel counts what an attached device reads");
        let sectors = text.split_whitespace().nth(2).and_then(|field| field.parse::<u64>().ok());
        sectors.expect("the third number counts sectors") * 512
    };
    let (before, begun) = (read(), Instant::now());
    while read() < before + more {
        assert!(begun.elapsed() < PATIENCE, "no program reads {name}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn another_reader_of_the_same_device_is_noticed() {
    let Some(scratch) = privileged_scratch() else { return };
    let Some(device) = Loop::attach(&image_of_noise(&scratch, 64), &[]) else { return };
    let read = format!("dd if={} of=/dev/null bs=1M iflag=direct", device.node);
    let script = format!("while {read}; do :; done");
    let busy = Call::new("bash").arguments(&["-c", &script]).start();
    wait_until_read(device.name(), 8 << 20);
    // Long enough on a loaded machine for the other reader to have its turn in one of the rounds.
    let options = [
        "--test=transfer",
        "--cells=rnd4k_q1t1.read",
        "--rounds=3",
        "--set=transfer.time=1s",
        "--json",
    ];
    let run = scratch.run(&device.node, &[TINY, &options]).measured().json();
    let busy = busy.must_be_alive();
    busy.kill();
    assert!(noticed_other_io(&run), "{:?} {}", findings(&run), run["tests"][0]["phases"]);
}

fn evict(file: &str) {
    let of = format!("of={file}");
    tool("dd", &[&of, "oflag=nocache", "conv=notrunc,fdatasync", "count=0"])
        .expect("dd can drop a file from memory");
}

#[test]
fn exclusively_used_device_is_not_called_shared() {
    let Some(scratch) = privileged_scratch() else { return };
    let image = image_of_noise(&scratch, 64);
    // Not in the page cache, so that every read of the loop device is one of the drive below.
    evict(&image);
    let Some(device) = Loop::attach(&image, &[]) else { return };
    let options =
        ["--test=transfer", "--cells=rnd4k_q1t1.read", "--set=transfer.time=300ms", "--json"];
    let run = scratch.run(&device.node, &[TINY, &options]).measured().json();
    assert!(!noticed_other_io(&run), "{} {}", run["findings"], run["tests"][0]["phases"]);
}
