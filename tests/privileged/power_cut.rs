//! The disk that holds the journal loses its power: a file system that is shut down without its log keeps
//! what was synced and nothing else, files and folders alike.

use super::guards::{Loop, Mount, image_with, tool};
use super::originals::{Target, moment};
use crate::support::{Scratch, few_or_all, wait_for};
use std::fs;

const MOST: u64 = 80;

#[test]
fn synced_journal_survives_a_power_cut() {
    let Some(target) = Target::new() else { return };
    let small = Scratch::new();
    let Some(image) = image_with(&small, 128, "mkfs.ext4", &["-q", "-F"]) else { return };
    let Some(other) = Loop::attach(&image, &[]) else { return };
    let (mut changed, mut seed) = (0, 0);
    // Cuts while the device carried patterns that must be taken back.
    let enough = few_or_all(1, 4);
    while changed < enough {
        seed += 1;
        assert!(seed <= MOST, "only {changed} cuts hit a change");
        let Some(mount) = Mount::new(&small, &other.node, &[]) else { return };
        let state = mount.text("state");
        let journals = mount.text("state/drivescope/journals");
        let options = ["--set=transfer.time=1h"];
        let running = target.call(&[&options]).env("XDG_STATE_HOME", &state).start();
        let is_open = || fs::read_dir(&journals).is_ok_and(|mut all| all.next().is_some());
        wait_for("a journal", || is_open().then_some(()));
        std::thread::sleep(moment(seed, 200_000));
        tool("xfs_io", &["-x", "-c", "shutdown", &mount.point]).expect("xfsprogs is there");
        running.kill();
        drop(mount);
        changed += u64::from(target.is_changed());
        // The power is back.
        let Some(mount) = Mount::new(&small, &other.node, &[]) else { return };
        let restore = target.scratch.call(&["restore"]).env("XDG_STATE_HOME", &state);
        let ended = restore.end().code(0);
        assert!(!target.is_changed(), "cut {seed}: the contents are not back: {ended}");
        assert_eq!(fs::read_dir(&journals).map_or(0, Iterator::count), 0, "cut {seed}: {ended}");
        drop(mount);
    }
    eprintln!("{seed} cuts, {changed} while something was changed");
}
