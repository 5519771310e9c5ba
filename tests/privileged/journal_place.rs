//! Folders that cannot keep a restore journal over a power cut, though they seem to lie on a disk.

use super::guards::{Loop, Mount, OnLoop, image_with, or_skip, tool};
use super::originals::WRITES;
use crate::support::{Call, Scratch, wait_for};
use std::fs;

/// The refusal of a dry run with its journal in `folder`.
#[track_caller]
fn refused(target: &OnLoop, folder: &str) -> String {
    let call =
        target.scratch.run_call(&target.device.node, &[WRITES, &["--dry-run", "--write=restore"]]);
    let message = call.env("XDG_STATE_HOME", folder).end().code(3).stderr;
    assert!(message.contains("cannot hold a restore journal"), "{message}");
    message
}

#[test]
fn journal_without_durable_syncs_is_refused() {
    let Some(target) = OnLoop::blank(64) else { return };
    let scratch = Scratch::new();
    let Some(image) = image_with(&scratch, 64, "mkfs.ext4", &["-q", "-F"]) else { return };
    let Some(device) = Loop::attach(&image, &[]) else { return };
    let Some(below) = Mount::new(&scratch, &device.node, &["--options=nobarrier"]) else { return };
    let words = format!("{} is mounted with nobarrier", below.point);
    assert!(refused(&target, &below.point).contains(&words));
    let upper = Scratch::new();
    let folders = ["lower", "upper", "work"].map(|name| below.text(name));
    folders.iter().for_each(|folder| fs::create_dir(folder).unwrap());
    let [lower, top, work] = folders;
    let options = format!("--options=lowerdir={lower},upperdir={top},workdir={work}");
    let Some(overlay) = Mount::new(&upper, "overlay", &["--types=overlay", &options]) else {
        return;
    };
    let message = refused(&target, &overlay.point);
    assert!(message.contains(&words), "{message}");
    drop(overlay);
    let file = below.text("image");
    fs::File::create(&file).unwrap().set_len(16 << 20).unwrap();
    tool("mkfs.ext4", &["-q", "-F", &file]).unwrap();
    let Some(device) = Loop::attach(&file, &[]) else { return };
    let Some(mount) = Mount::new(&upper, &device.node, &[]) else { return };
    let message = refused(&target, &mount.point);
    assert!(message.contains(&words), "{message}");
}

/// The kernel names its file by a path of another mount namespace.
#[test]
fn journal_in_hidden_memory_is_refused() {
    let Some(target) = OnLoop::blank(64) else { return };
    let Some(_) = or_skip(tool("unshare", &["--mount", "true"])) else { return };
    let scratch = Scratch::new();
    fs::create_dir(scratch.path("hidden")).unwrap();
    let (folder, shown) = (scratch.text("hidden"), scratch.text("shown"));
    let script = format!(
        "mount -t tmpfs none {folder} && truncate -s 32M {folder}/image && mkfs.ext4 -q {folder}/image \
         && losetup --find --show {folder}/image > {shown}.new && mv {shown}.new {shown} && exec sleep 60"
    );
    let elsewhere =
        Call::new("unshare").arguments(&["--mount", "sh", "-c", &script]).start().must_be_alive();
    let node = wait_for("the device", || fs::read_to_string(&shown).ok());
    let device = Loop { node: node.trim().to_string() };
    let Some(mount) = Mount::new(&scratch, &device.node, &[]) else { return };
    let message = refused(&target, &mount.point);
    assert!(message.contains("not visible from here"), "{message}");
    drop((mount, device, elsewhere));
}
