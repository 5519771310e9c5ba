//! Runs that write to block devices, through the gate's claim, on loop devices.

use super::guards::{Loop, image_of_noise};
use super::list::add_partition;
use super::privileged_scratch;
use crate::support::json::{array, test_of, text, value};
use crate::support::{Scratch, TINY};
use std::fs;

fn device(scratch: &Scratch, mib: u64) -> Option<(Loop, String, String)> {
    let image = image_of_noise(scratch, mib as usize);
    let device = Loop::attach(&image, &["--direct-io=on"])?;
    let phrase = format!("{}:{}", device.name(), mib << 20);
    Some((device, image, phrase))
}

#[test]
fn align_at_same_bytes_changes_nothing() {
    let Some(scratch) = privileged_scratch() else { return };
    let Some((device, image, _)) = device(&scratch, 64) else { return };
    let before = fs::read(&image).unwrap();
    let options = ["--test=align", "--write=same-bytes", "--set=align.time=2", "--json"];
    let run = scratch.run(&device.node, &[&options]).code(0).json();
    assert_eq!(test_of(&run, "align")["status"], "done", "{run}");
    assert_eq!(run["plan"]["tests"][0]["writes"], "same-bytes");
    let check = |name: &str| array(&run["gate"]).iter().find(|check| check["check"] == name);
    assert_eq!(text(&check("level").unwrap()["evidence"]), "same-bytes");
    assert!(check("claim").is_some_and(|check| check["passed"] == true), "{}", run["gate"]);
    assert!(fs::read(&image).unwrap() == before, "the image changed");
}

/// The file's drive has a partition table of its own; the device's table counts.
#[test]
fn align_judges_the_partitions_of_its_device() {
    let Some(scratch) = privileged_scratch() else { return };
    let Some((device, ..)) = device(&scratch, 64) else { return };
    let Some(_first) = add_partition(&device, 1, 2048, 8192) else { return };
    let Some(_second) = add_partition(&device, 2, 10303, 8192) else { return };
    let options = ["--test=align", "--write=same-bytes", "--set=align.time=2", "--json"];
    let run = scratch.run(&device.node, &[&options]).code(0).json();
    let of =
        |number: u32, what: &str| value(&run, &format!("align.{}p{number}.{what}", device.name()));
    assert_eq!(of(1, "start_bytes"), f64::from(1 << 20));
    assert_eq!(of(1, "misaligned_bytes"), 0.0);
    assert_eq!(of(2, "start_bytes"), 10303.0 * 512.0);
}

#[test]
fn contents_are_erased_only_by_serial_number() {
    let Some(scratch) = privileged_scratch() else { return };
    let Some((device, image, phrase)) = device(&scratch, 64) else { return };
    let before = fs::read(&image).unwrap();
    let verify = ["--test=verify", "--json"];
    for (options, code, words) in [
        (&["--test=verify"][..], 2, "--destroy SERIAL"),
        (&["--test=verify", "--write=same-bytes"], 2, "--destroy SERIAL"),
        (&["--test=verify", "--write=restore"], 2, "--destroy SERIAL"),
        (&["--test=align", "--destroy=WD-1234"], 2, "no more than --write same-bytes"),
        (&["--test=surface", "--write=restore"], 2, "no more than --write same-bytes"),
        (&["--test=latency", "--destroy=WD-1234"], 2, "no test that writes to block devices"),
        (&["--test=verify", "--destroy=WD-1234"], 3, "WD-1234 was given"),
    ] {
        let ended = scratch.run(&device.node, &[TINY, options]).code(code);
        assert!(ended.stderr.contains(words), "{options:?}: {}", ended.stderr);
        if code == 2 {
            let dry = scratch.run(&device.node, &[TINY, options, &["--dry-run"]]).code(code);
            assert!(dry.stderr.contains(words), "{options:?}: {}", dry.stderr);
        }
    }
    assert!(fs::read(&image).unwrap() == before, "the image changed");
    let destroy = format!("--destroy={phrase}");
    let run = scratch.run(&device.node, &[&verify, &[&destroy]]).code(0).json();
    let capacity = |key: &str| {
        let mut metrics = crate::support::json::metrics(&run);
        metrics.find(|m| m["key"] == key).map(|m| m["value"].as_f64().unwrap())
    };
    assert_eq!(capacity("verify.capacity.real_bytes"), Some((64 << 20) as f64));
    assert!(fs::read(&image).unwrap() != before, "nothing was written");
}

/// The ring must release a claimed device before the program ends.
#[test]
fn one_run_after_the_other_gets_the_claim() {
    let Some(scratch) = privileged_scratch() else { return };
    let Some((device, _, phrase)) = device(&scratch, 64) else { return };
    let destroy = format!("--destroy={phrase}");
    let options = ["--test=transfer", "--cells=rnd4k_q32t1.write", "--json", &destroy];
    for _ in 0..5 {
        let run = scratch.run(&device.node, &[TINY, &options]).code(0).json();
        assert_eq!(test_of(&run, "transfer")["status"], "done", "{run}");
        assert_eq!(run["plan"]["tests"][0]["writes"], "destroy");
    }
}
