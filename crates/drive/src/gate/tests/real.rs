//! The gate on a real loop device: what the kernel does with the claim. Needs root; says so loudly.

use crate::gate::{Confirmation, GateRequest, OwnPaths, RawDisk, Refusal, claim, examine};
use drivescope_machine::roots::Roots;
use drivescope_model::WriteLevel;
use rustix::fs::inotify;
use std::ffi::OsString;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

#[path = "../../../../../tests/support/skip.rs"]
mod skip;
pub use skip::skip_loudly;

fn tool(name: &str, arguments: &[&str]) -> Result<String, String> {
    let output = Command::new(name).args(arguments).output().map_err(|e| format!("{name}: {e}"))?;
    if output.status.success() {
        Ok(String::from_utf8_lossy(&output.stdout).trim().to_string())
    } else {
        Err(format!("{name}: {}", String::from_utf8_lossy(&output.stderr).trim()))
    }
}

/// A loop device over a blank file, detached when dropped.
struct Loop {
    node: String,
    image: tempfile::NamedTempFile,
}

impl Loop {
    fn new(options: &[&str]) -> Option<Self> {
        if !rustix::process::geteuid().is_root() {
            skip_loudly("needs root");
            return None;
        }
        let image = tempfile::NamedTempFile::new_in(env!("CARGO_MANIFEST_DIR")).unwrap();
        image.as_file().set_len(64 << 20).unwrap();
        let path = image.path().to_str().unwrap();
        let attached = tool("losetup", &[&["--find", "--show"], options, &[path]].concat());
        let attached = attached.map_err(|why| skip_loudly(&why));
        attached.ok().map(|node| Self { node, image })
    }

    fn request(&self, level: WriteLevel) -> GateRequest {
        let path = PathBuf::from(&self.node);
        GateRequest { path, level, range: None, own: OwnPaths::default() }
    }

    fn claim(&self, level: WriteLevel) -> Result<RawDisk, Refusal> {
        let report = examine(&Roots::host(), self.request(level));
        let phrase = report.device().map(|device| device.phrase());
        let phrases: Vec<String> = phrase.into_iter().collect();
        claim(&Roots::host(), report, &Confirmation::given(&phrases))
    }
}

impl Drop for Loop {
    fn drop(&mut self) {
        for _ in 0..100 {
            if tool("losetup", &["--detach", &self.node]).is_ok() {
                return;
            }
            std::thread::sleep(Duration::from_millis(100));
        }
        eprintln!("left behind: {}", self.node);
    }
}

/// A page of these bytes, at an address that direct I/O takes.
fn page(memory: &mut [u8; 8192], fill: u8) -> &mut [u8] {
    memory.fill(fill);
    let start = memory.as_ptr().align_offset(4096);
    &mut memory[start..start + 4096]
}

#[test]
fn claim_writes_and_excludes_others_until_dropped() {
    let Some(device) = Loop::new(&[]) else { return };
    let disk = device.claim(WriteLevel::Destroy).unwrap();
    let mut memory = [0; 8192];
    disk.write_at(WriteLevel::Destroy, page(&mut memory, 0xA5), 8192).unwrap();
    disk.sync().unwrap();
    let back = page(&mut memory, 0);
    disk.read_at(back, 8192).unwrap();
    assert!(back.iter().all(|byte| *byte == 0xA5));
    let mut behind = [0; 4096];
    File::open(device.image.path()).unwrap().read_exact_at(&mut behind, 8192).unwrap();
    assert_eq!(behind, [0xA5; 4096]);
    let refusal = device.claim(WriteLevel::Destroy).unwrap_err().to_string();
    assert!(refusal.contains("in use"), "{refusal}");
    assert!(tool("mkfs.ext4", &["-q", &device.node]).is_err(), "mkfs got a claimed device");
    let lock = tool("flock", &["--nonblock", &device.node, "true"]);
    assert!(lock.is_err(), "the lock is not held");
    drop(disk);
    tool("flock", &["--nonblock", &device.node, "true"]).unwrap();
    device.claim(WriteLevel::Destroy).unwrap();
}

/// udev watches nodes, and starts an array whose member was written to and closed, also after a kill.
#[test]
fn restored_contents_do_not_wake_udev() {
    let Some(device) = Loop::new(&[]) else { return };
    let watch = inotify::init(inotify::CreateFlags::NONBLOCK).unwrap();
    inotify::add_watch(&watch, &device.node, inotify::WatchFlags::CLOSE_WRITE).unwrap();
    let levels = [WriteLevel::SameBytes, WriteLevel::Restore, WriteLevel::Destroy];
    for (level, is_seen) in levels.into_iter().zip([false, false, true]) {
        let is_noticed = |_| {
            drop(device.claim(level).unwrap());
            rustix::io::read(&watch, &mut [0; 4096]).is_ok()
        };
        // Who looks for a free loop device may have this node for a moment too, and a program that another test just
        // starts keeps a closed one for a moment; neither does so again and again.
        let noticed = (0..5).filter(|i| is_noticed(*i)).count();
        assert!(if is_seen { noticed > 0 } else { noticed < 5 }, "{level:?}: {noticed} of 5");
    }
    // Other tests of this process have theirs for a moment.
    let own = format!(".drivescope-{}-", std::process::id());
    let is_own = |name: OsString| name.to_string_lossy().starts_with(&own);
    let left = || std::fs::read_dir("/dev").unwrap().any(|it| is_own(it.unwrap().file_name()));
    for _ in 0..600 {
        if !left() {
            return;
        }
        std::thread::sleep(Duration::from_millis(100));
    }
    panic!("a node is left in /dev");
}

#[test]
fn swapped_link_is_seen_before_the_first_write() {
    let (Some(one), Some(two)) = (Loop::new(&[]), Loop::new(&[])) else { return };
    let folder = tempfile::tempdir().unwrap();
    let link = folder.path().join("disk");
    let point_to = |device: &Loop| {
        let _ = std::fs::remove_file(&link);
        std::os::unix::fs::symlink(&device.node, &link).unwrap();
    };
    let look = || {
        let request = GateRequest { path: link.clone(), ..one.request(WriteLevel::SameBytes) };
        examine(&Roots::host(), request)
    };
    point_to(&one);
    let report = look();
    point_to(&two);
    let refusal = claim(&Roots::host(), report, &Confirmation::none()).unwrap_err().to_string();
    assert!(refusal.contains("not the device that was shown"), "{refusal}");
    point_to(&one);
    let disk = claim(&Roots::host(), look(), &Confirmation::none()).unwrap();
    point_to(&two);
    let mut memory = [0; 8192];
    let error = disk.write_at(WriteLevel::SameBytes, page(&mut memory, 1), 0).unwrap_err();
    assert!(error.to_string().contains("leads to another device"), "{error}");
    for device in [&one, &two] {
        let bytes = std::fs::read(device.image.path()).unwrap();
        assert!(bytes.iter().all(|byte| *byte == 0), "something was written");
    }
}

#[test]
fn a_device_that_changes_its_size_is_refused() {
    let Some(device) = Loop::new(&[]) else { return };
    let disk = device.claim(WriteLevel::Destroy).unwrap();
    device.image.as_file().set_len(32 << 20).unwrap();
    tool("losetup", &["--set-capacity", &device.node]).unwrap();
    let mut memory = [0; 8192];
    let error = disk.write_at(WriteLevel::Destroy, page(&mut memory, 1), 0).unwrap_err();
    assert!(error.to_string().contains("size was 67108864, now 33554432"), "{error}");
}

#[test]
fn a_read_only_device_is_refused() {
    let Some(device) = Loop::new(&["--read-only"]) else { return };
    for level in [WriteLevel::SameBytes, WriteLevel::Destroy] {
        let refusal = device.claim(level).unwrap_err().to_string();
        assert!(refusal.contains("read-only"), "{refusal}");
    }
}

#[test]
fn writing_program_is_seen_despite_a_granted_claim() {
    let Some(device) = Loop::new(&[]) else { return };
    // Another process, because our own descriptors do not count.
    let mut other = Command::new("sleep")
        .arg("60")
        .stdout(File::options().write(true).open(&device.node).unwrap())
        .spawn()
        .unwrap();
    let refusal = device.claim(WriteLevel::SameBytes);
    other.kill().unwrap();
    other.wait().unwrap();
    let refusal = refusal.unwrap_err().to_string();
    assert!(refusal.contains("open for writing") && refusal.contains("sleep"), "{refusal}");
    device.claim(WriteLevel::SameBytes).unwrap();
}

#[test]
fn nothing_that_is_only_looked_at_changes() {
    fn changed(path: &Path) -> std::time::SystemTime {
        std::fs::metadata(path).unwrap().modified().unwrap()
    }
    let Some(device) = Loop::new(&[]) else { return };
    let before = changed(device.image.path());
    for level in [WriteLevel::SameBytes, WriteLevel::Restore, WriteLevel::Destroy] {
        examine(&Roots::host(), device.request(level));
    }
    tool("blockdev", &["--flushbufs", &device.node]).unwrap();
    assert_eq!(changed(device.image.path()), before);
}

#[test]
fn thread_answers_for_a_loop_device_without_drive() {
    for (options, wakes) in [(&["--direct-io=off"][..], true), (&["--direct-io=on"], false)] {
        let Some(device) = Loop::new(options) else { return };
        let dio = format!("/sys/block/{}/loop/dio", device.node.trim_start_matches("/dev/"));
        let is_direct = std::fs::read_to_string(dio).unwrap().trim() == "1";
        assert_eq!(is_direct, !wakes, "{options:?}");
        let file = crate::IoFile::open_read(std::path::Path::new(&device.node)).unwrap();
        assert_eq!(file.wakes_a_thread(), wakes, "{options:?}");
    }
}
