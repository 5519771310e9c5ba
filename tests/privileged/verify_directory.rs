//! `verify` in a directory: on fake drives behind a real file system, interrupted, and where others take the room.

use super::guards::{OnMount, tool};
use super::served::{Fs, Served, scratch_to_serve};
use crate::support::json::{findings, statuses, test_of, text, value};
use crate::support::scratch::{names, own_folder};
use crate::support::wait_for;
use std::fs;

const MIB: u64 = 1 << 20;
const VERIFY: &[&str] = &["--test=verify", "--json"];

#[test]
fn fake_behind_a_file_system_is_found() {
    for (fake, wrong) in [("cut:400MiB", "lost"), ("wrap:400MiB", "overwritten")] {
        let Some(scratch) = scratch_to_serve(true) else { return };
        scratch.small_flash_model(1_027_604_480);
        let model = format!("./small.toml?fake={fake}");
        let served = Served::start(&scratch, &[&model, "drive", "--block"]);
        tool("mkfs.ext4", &["-q", &served.node()]).expect("mkfs is there");
        let fs = Fs::mount(&scratch, &served.node());
        let run = scratch.run(fs.path("").trim_end_matches('/'), &[VERIFY]).code(1).json();
        assert!(findings(&run).contains(&"F031"), "{fake}: {:?}", findings(&run));
        let [tested, real, bad] = ["capacity.announced_bytes", "capacity.real_bytes"]
            .map(str::to_string)
            .into_iter()
            .chain([format!("read.{wrong}_bytes")])
            .map(|key| value(&run, &format!("verify.{key}")))
            .collect::<Vec<_>>()[..]
        else {
            unreachable!("three keys")
        };
        assert!(tested > (700 * MIB) as f64 && real <= (400 * MIB) as f64, "{tested} {real}");
        assert!(bad > (300 * MIB) as f64, "{fake}: {bad}");
        assert_eq!(own_folder(fs.path("")), None);
        drop(fs);
        served.interrupt().end();
    }
}

#[test]
fn honest_file_systems_are_full_of_intact_files() {
    let old = ["-q", "-F", "-O", "^extent,^64bit,^has_journal"];
    for (kind, mkfs, options) in [
        ("ext4", "mkfs.ext4", &["-q", "-F"][..]),
        // It cannot reserve space.
        ("ext4 without extents", "mkfs.ext4", &old),
        ("xfs", "mkfs.xfs", &["-q"]),
        ("btrfs", "mkfs.btrfs", &["-q"]),
    ] {
        let made = OnMount::with(768, mkfs, options);
        let Some(OnMount { scratch, device: _device, mount }) = made else { continue };
        let before = names(&mount.point);
        let run = scratch.run(&mount.point, &[VERIFY]).measured().json();
        assert_eq!(statuses(&run), [("verify", "done")], "{kind}");
        let tested = value(&run, "verify.capacity.announced_bytes");
        assert!(tested > (200 * MIB) as f64, "{kind}: {tested}");
        for key in ["capacity.free_bytes", "capacity.real_bytes", "read.intact_bytes"] {
            assert_eq!(value(&run, &format!("verify.{key}")), tested, "{kind}: {key}");
        }
        assert_eq!(names(&mount.point), before, "{kind}");
    }
}

/// How much is free for users, bytes.
fn free_bytes(point: &str) -> u64 {
    let vfs = rustix::fs::statvfs(point).expect("it is mounted");
    vfs.f_bavail * vfs.f_frsize
}

#[test]
fn ctrl_c_removes_the_files_and_offers_no_resume() {
    let Some(OnMount { scratch, device: _device, mount }) = OnMount::unreserved(1536) else {
        return;
    };
    let before = (names(&mount.point), free_bytes(&mount.point));
    let running = scratch.run_call(&mount.point, &[VERIFY]).start();
    wait_for("the files", || (free_bytes(&mount.point) < before.1 / 4).then_some(()));
    let run = running.interrupt().json();
    let verify = test_of(&run, "verify");
    assert_eq!(verify["status"], "interrupted", "{verify}");
    assert!(verify["resume"].is_null() && verify["reason"].is_null(), "{verify}");
    assert_eq!(names(&mount.point), before.0);
    assert!(free_bytes(&mount.point) + 16 * MIB > before.1);
}

#[test]
fn half_the_floor_taken_by_others_ends_writing() {
    let Some(OnMount { scratch, device: _device, mount }) = OnMount::unreserved(1536) else {
        return;
    };
    let (size, free) = {
        let vfs = rustix::fs::statvfs(mount.point.as_str()).unwrap();
        (vfs.f_blocks * vfs.f_frsize, free_bytes(&mount.point))
    };
    let floor = size / 10;
    let running = scratch.run_call(&mount.point, &[VERIFY]).start();
    // It begins when all files are there; before, it has to refuse what others leave no room for.
    wait_for("writes", || running.io_bytes("write_bytes").filter(|bytes| *bytes > 64 * MIB));
    let other = fs::File::create(mount.text("other")).unwrap();
    rustix::fs::fallocate(&other, rustix::fs::FallocateFlags::empty(), 0, floor * 3 / 4).unwrap();
    let run = running.end().measured().json();
    let verify = test_of(&run, "verify");
    assert_eq!(verify["status"], "done", "{verify}");
    assert!(text(&verify["reason"]).contains("other programs took it"), "{}", verify["reason"]);
    let tested = value(&run, "verify.capacity.announced_bytes");
    assert!(tested < (free - floor) as f64 * 0.99, "{tested}");
    assert_eq!(value(&run, "verify.read.intact_bytes"), tested);
    assert!(!findings(&run).iter().any(|id| ["F017", "F019", "F031"].contains(id)));
}
