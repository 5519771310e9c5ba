//! How much is written where: not more than the plan says, and never into the floor of free space.

use super::guards::{Loop, OnMount, tool};
use crate::support::json::{statuses, test_of, text};
use crate::support::scratch::{names, own_folder};
use crate::support::wait_for;
use std::fs;

const SECTOR_BYTES: u64 = 512;

fn written_bytes(device: &Loop) -> u64 {
    let stat = fs::read_to_string(format!("/sys/block/{}/stat", device.name()));
    let stat = stat.expect("the kernel counts what an attached device writes");
    let sectors = stat.split_whitespace().nth(6).and_then(|field| field.parse::<u64>().ok());
    sectors.expect("the seventh number counts sectors") * SECTOR_BYTES
}

#[test]
fn device_takes_no_more_than_planned() {
    let Some(OnMount { scratch, device, mount }) =
        OnMount::with(2048, "mkfs.ext4", &["-q", "-F", "-E", "lazy_itable_init=0"])
    else {
        return;
    };
    let before = written_bytes(&device);
    let options = ["--size=64M", "--time=100ms", "--test=transfer,tiny-writes", "--json"];
    let run = scratch.run(&mount.point, &[&options]).measured().json();
    let written = written_bytes(&device) - before;
    let planned = |test: &str| {
        let tests = run["plan"]["tests"].as_array().unwrap();
        let test = tests.iter().find(|planned| planned["test"] == test).unwrap();
        test["cost"]["written_bytes"].as_u64().unwrap()
    };
    let most = planned("transfer") + planned("tiny-writes");
    // The journal of the file system and its other blocks are not the plan's.
    assert!(written <= most + most / 20, "{written} of {most}");
    assert!(written > 64 << 20, "{written}: the counter was not read");
}

#[test]
fn filling_program_ends_the_run_early() {
    let Some(OnMount { scratch, device: _device, mount }) = OnMount::unreserved(3072) else {
        return;
    };
    let options = ["--size=512M", "--test=transfer", "--cells=rnd4k_q1t1.write", "--time=1s"];
    let running = scratch.run_call(&mount.point, &[&options, &["--json"]]).start();
    let own = wait_for("the test file", || {
        let names =
            names(&mount.point).into_iter().find(|name| name.starts_with(".drivescope-"))?;
        Some(mount.text(&names)).filter(|folder| fs::exists(format!("{folder}/data")).unwrap())
    });
    // What is left is less than the floor, a tenth of the file system.
    tool("fallocate", &["-l", "2250M", &mount.text("filler")]).unwrap();
    let ended = running.end();
    assert!(!fs::exists(own).unwrap());
    let run = ended.code(3).json();
    assert_eq!(statuses(&run), [("transfer", "failed")]);
    let reason = text(&test_of(&run, "transfer")["reason"]).to_string();
    assert!(reason.contains("must keep 309 MB"), "{reason}");
    assert_eq!(names(&mount.point), ["filler", "lost+found"]);
}

#[test]
fn copy_on_write_needs_room_for_copies() {
    let Some(OnMount { scratch, device: _device, mount }) = OnMount::btrfs(2048) else { return };
    scratch.run(&mount.point, &[&["--size=640M"]]).refused_with(3, &["must keep 215 MB"]);
    let plan = scratch.run(&mount.point, &[&["--size=128M", "--dry-run"]]).code(0).stdout;
    let words = plan.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("btrfs copies on write"), "{plan}");
    let options = ["--size=128M", "--test=transfer", "--cells=rnd4k_q32t1.write", "--time=300ms"];
    let run = scratch.run(&mount.point, &[&options, &["--json"]]).measured().json();
    assert_eq!(statuses(&run), [("transfer", "done")]);
}

#[test]
fn remains_of_a_killed_run_count_as_room() {
    let Some(OnMount { scratch, device: _device, mount }) = OnMount::unreserved(1280) else {
        return;
    };
    let options = ["--size=128M", "--test=transfer", "--cells=rnd4k_q1t1.read"];
    let endless = scratch.run_call(&mount.point, &[&options, &["--set=transfer.time=1h"]]).start();
    wait_for("the test file", || {
        let own = own_folder(&mount.point)?;
        fs::exists(own.join("data")).unwrap().then_some(())
    });
    endless.kill();
    let once_more = [&options[..], &["--time=50ms", "--rounds=1"]];
    // A dry run counts it too, and leaves it there.
    let left = names(&mount.point);
    let planned = scratch.run(&mount.point, &[&options, &["--dry-run"]]).code(0);
    assert!(planned.stderr.contains("would remove "), "{planned}");
    assert_eq!(names(&mount.point), left);
    let ended = scratch.run(&mount.point, &once_more).measured();
    assert!(ended.stderr.contains("left by a killed run"), "{ended}");
    assert_eq!(names(&mount.point), ["lost+found"]);
}
