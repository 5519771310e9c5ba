//! The disk that holds the restore journal has no room any more, or fails, while a run goes on: after the
//! look that would have refused it. The target keeps its contents, and the run says what happened.

use super::guards::{Loop, Mount, image_with, take_room, tool};
use super::originals::{ENDLESS, Target, WRITES};
use super::stamps::wait_for_writes;
use crate::support::json::{findings, statuses, test_of, text};
use crate::support::{Call, Ended, Running, Scratch, must_have};
use rustix::process::Signal;

const MIB: u64 = 1 << 20;

struct JournalDisk {
    mount: Mount,
    _device: Loop,
    _scratch: Scratch,
}

impl JournalDisk {
    fn new(mkfs: &str) -> Option<Self> {
        let scratch = Scratch::new();
        let image = image_with(&scratch, 64, mkfs, &["-q", "-F", "-m", "0"])?;
        Self::over(scratch, &image)
    }

    fn over(scratch: Scratch, image: &str) -> Option<Self> {
        let device = Loop::attach(image, &[])?;
        let mount = Mount::new(&scratch, &device.node, &[])?;
        Some(Self { mount, _device: device, _scratch: scratch })
    }

    fn journals(&self) -> usize {
        let folder = self.mount.text("drivescope/journals");
        std::fs::read_dir(folder).map_or(0, Iterator::count)
    }

    /// The first test writes the same bytes, the second needs the journal.
    fn start(&self, target: &Target) -> Running {
        let level = target.level();
        let options = ["--test=align,transfer", "--set=align.time=4", "--rounds=1", &level];
        let call = target.scratch.run_call(&target.device.node, &[WRITES, &options]);
        call.env("XDG_STATE_HOME", &self.mount.point).start()
    }

    #[track_caller]
    fn must_fail(&self, target: &Target, ended: Ended) {
        let ended = ended.code(3);
        let run = ended.json();
        assert_eq!(statuses(&run), [("align", "done"), ("transfer", "failed")], "{ended}");
        let reason = text(&test_of(&run, "transfer")["reason"]);
        must_have(reason, &["no room for the restore journal", "XDG_STATE_HOME"]);
        assert!(!findings(&run).contains(&"F017"), "a full journal is not the drive's fault");
        assert_eq!(self.journals(), 0, "a journal without a use is left");
        target.must_be_whole(reason);
    }
}

#[test]
fn no_room_when_the_journal_is_made() {
    let Some(target) = Target::new() else { return };
    let Some(disk) = JournalDisk::new("mkfs.ext4") else { return };
    let running = disk.start(&target);
    wait_for_writes(&running, MIB);
    take_room(&disk.mount, 0);
    let running = running.must_be_alive();
    disk.must_fail(&target, running.end());
    // Nothing of it is in the way of the next run, here or elsewhere.
    target.call(&[]).end().code(0);
    target.must_be_whole("after the next run");
}

/// ext2 cannot preallocate, so the journal fills the disk halfway.
#[test]
fn no_room_while_originals_are_saved() {
    let Some(target) = Target::new() else { return };
    let Some(disk) = JournalDisk::new("mkfs.ext2") else { return };
    let running = disk.start(&target);
    wait_for_writes(&running, MIB);
    take_room(&disk.mount, 8 * MIB);
    let running = running.must_be_alive();
    disk.must_fail(&target, running.end());
}

/// A thin disk: its file system has room, the storage below is full.
#[test]
fn journal_disk_fails_while_originals_are_saved() {
    let Some(target) = Target::new() else { return };
    let Some(below) = JournalDisk::new("mkfs.ext4") else { return };
    let scratch = Scratch::new();
    let Some(disk) = thin(scratch, &below) else { return };
    let running = disk.start(&target);
    wait_for_writes(&running, MIB);
    take_room(&below.mount, 4 * MIB);
    let running = running.must_be_alive();
    disk.must_fail(&target, running.end());
}

/// The originals are saved; only their restore cannot be recorded.
#[test]
fn journal_disk_fails_while_patterns_are_written() {
    let Some(target) = Target::new() else { return };
    let Some(below) = JournalDisk::new("mkfs.ext4") else { return };
    let scratch = Scratch::new();
    let Some(disk) = thin(scratch, &below) else { return };
    let call = target.call(&[ENDLESS]).env("XDG_STATE_HOME", &disk.mount.point);
    let running = call.start();
    target.wait_for_patterns();
    take_room(&below.mount, 0);
    let running = running.must_be_alive();
    running.signal(Signal::INT);
    let ended = running.end();
    target.must_be_whole("whatever became of the journal");
    // Removing the journal can fail, which is reported; it would restore the same contents again.
    if ended.exit_code() != Some(130) {
        let run = ended.code(4).json();
        let reason = text(&test_of(&run, "transfer")["reason"]);
        assert!(reason.contains("cannot remove the journal"), "{reason}");
    }
}

/// A run stopped with patterns on its target, after the journal's disk failed as given.
fn stopped_without_a_journal_disk(end: [&str; 4], words: &[&str], is_changed: bool) {
    let Some(target) = Target::new() else { return };
    let Some(disk) = JournalDisk::new("mkfs.ext4") else { return };
    let with = |call: Call| call.env("XDG_STATE_HOME", &disk.mount.point);
    let running = with(target.call(&[ENDLESS, &["--test=transfer,align"]])).start();
    target.wait_for_patterns();
    tool(end[0], &[&end[1..], &[&disk.mount.point]].concat()).expect("the file system is ours");
    running.signal(Signal::INT);
    let run = running.end().code(4).json();
    assert_eq!(statuses(&run), [("transfer", "failed"), ("align", "skipped")]);
    assert!(!findings(&run).contains(&"F017"), "no fault of the drive");
    for test in ["transfer", "align"] {
        let reason = text(&test_of(&run, test)["reason"]);
        for part in words {
            assert!(reason.contains(part), "'{part}' is missing in {test}: {reason}");
        }
        let says_so = test == "align" && reason.contains("the target's contents are not restored");
        assert_eq!(says_so, test == "align" && is_changed, "{reason}");
    }
    assert_eq!(target.is_changed(), is_changed);
    // With that disk in order again.
    let JournalDisk { mount, _device: device, _scratch: scratch } = disk;
    drop(mount);
    let Some(mount) = Mount::new(&scratch, &device.node, &[]) else { return };
    let restore = target.scratch.call(&["restore"]).env("XDG_STATE_HOME", &mount.point);
    restore.end().code(0);
    target.must_be_whole("after restore");
}

/// A run without restored contents must not look like a clean stop.
#[test]
fn unrestored_contents_outrank_a_signal() {
    let end = ["xfs_io", "-x", "-c", "shutdown"];
    let words = ["exist only in the journal", "drivescope restore"];
    stopped_without_a_journal_disk(end, &words, true);
}

#[test]
fn unremovable_journal_is_not_reported_as_loss() {
    let end = ["mount", "-o", "remount,abort", "--"];
    let words = ["cannot remove the journal", "its drive is restored", "drivescope restore"];
    stopped_without_a_journal_disk(end, &words, false);
}

/// A disk whose backing file is larger than its file system has room for.
fn thin(scratch: Scratch, below: &JournalDisk) -> Option<JournalDisk> {
    let image = below.mount.text("thin");
    let file = std::fs::File::create(&image).expect("it is ours");
    file.set_len(128 * MIB).expect("file systems have sparse files");
    tool("mkfs.ext4", &["-q", "-F", &image]).ok()?;
    JournalDisk::over(scratch, &image)
}
