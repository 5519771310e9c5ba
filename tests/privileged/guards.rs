//! Devices and mounts that go away with the test.

use super::privileged_scratch;
use crate::support::{Scratch, noise, skip_loudly};
use rustix::fs::FallocateFlags;
use rustix::io::Errno;
use std::fs;
use std::io::Read;
use std::process::Command;
use std::time::Duration;

/// A busy device (udev inspects it) is soon free again.
const ATTEMPTS: u32 = 20;
const MOMENT: Duration = Duration::from_millis(100);

const EXT4: &[&str] = &["-q", "-F"];

/// Runs a tool; the error is what it said.
pub fn tool(name: &str, arguments: &[&str]) -> Result<String, String> {
    let output = Command::new(name).args(arguments).output().map_err(|e| format!("{name}: {e}"))?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).trim().to_string());
    }
    Err(format!("{name}: {}", String::from_utf8_lossy(&output.stderr).trim()))
}

pub fn insist(name: &str, arguments: &[&str]) -> Result<String, String> {
    let mut result = tool(name, arguments);
    for _ in 1..ATTEMPTS {
        if result.is_ok() {
            break;
        }
        std::thread::sleep(MOMENT);
        result = tool(name, arguments);
    }
    result
}

/// Prints why the test did not run, if it did not.
pub fn or_skip<T>(result: Result<T, String>) -> Option<T> {
    result.map_err(|why| skip_loudly(&why)).ok()
}

pub fn image_of_noise(scratch: &Scratch, mib: usize) -> String {
    scratch.file("image", noise(mib << 20, 11))
}

pub fn sparse_image(scratch: &Scratch, mib: u64) -> String {
    let image = scratch.file("image", "");
    let file = fs::OpenOptions::new().write(true).open(&image).expect("it was just made");
    file.set_len(mib << 20).expect("file systems have sparse files");
    image
}

/// A sparse image with a file system; prints a note if it cannot be made.
pub fn image_with(scratch: &Scratch, mib: u64, mkfs: &str, options: &[&str]) -> Option<String> {
    let image = sparse_image(scratch, mib);
    or_skip(tool(mkfs, &[options, &[&image]].concat())).map(|_| image)
}

pub struct Loop {
    pub node: String,
}

impl Loop {
    /// Prints a note if there is no free loop device.
    pub fn attach(image: &str, options: &[&str]) -> Option<Self> {
        let arguments = [&["--find", "--show"], options, &[image]].concat();
        let device = or_skip(insist("losetup", &arguments)).map(|node| Self { node })?;
        // The switch stays as a test that failed has left it.
        if !options.contains(&"--read-only") {
            insist("blockdev", &["--setrw", &device.node]).expect("blockdev is there");
        }
        Some(device)
    }

    pub fn name(&self) -> &str {
        self.node.trim_start_matches("/dev/")
    }
}

impl Drop for Loop {
    fn drop(&mut self) {
        if let Err(why) = insist("losetup", &["--detach", &self.node]) {
            eprintln!("left behind: {why}");
        }
    }
}

/// A loop device over an image in its own scratch directory. When destructured, `device` must not outlive `scratch`, so
/// name it after that.
pub struct OnLoop {
    pub device: Loop,
    pub image: String,
    /// `--destroy=NAME:BYTES`.
    pub destroy: String,
    pub scratch: Scratch,
}

impl OnLoop {
    /// Prints a note if there is no loop device; so do the other constructors.
    pub fn of_noise(mib: usize) -> Option<Self> {
        Self::new(|scratch| Some(image_of_noise(scratch, mib)))
    }

    pub fn blank(mib: u64) -> Option<Self> {
        Self::new(|scratch| Some(sparse_image(scratch, mib)))
    }

    pub fn with(mib: u64, mkfs: &str, options: &[&str]) -> Option<Self> {
        Self::new(|scratch| image_with(scratch, mib, mkfs, options))
    }

    pub fn ext4(mib: u64) -> Option<Self> {
        Self::with(mib, "mkfs.ext4", EXT4)
    }

    fn new(make: impl FnOnce(&Scratch) -> Option<String>) -> Option<Self> {
        let scratch = privileged_scratch()?;
        let image = make(&scratch)?;
        let device = Loop::attach(&image, &[])?;
        let bytes = fs::metadata(&image).expect("it was just made").len();
        let destroy = format!("--destroy={}:{bytes}", device.name());
        Some(Self { device, image, destroy, scratch })
    }
}

/// A file system mounted from its own loop device. When destructured, name `device` after `scratch`, and `mount` last.
pub struct OnMount {
    pub mount: Mount,
    pub device: Loop,
    pub scratch: Scratch,
}

impl OnMount {
    pub fn with(mib: u64, mkfs: &str, options: &[&str]) -> Option<Self> {
        let OnLoop { scratch, device, .. } = OnLoop::with(mib, mkfs, options)?;
        let mount = Mount::new(&scratch, &device.node, &[])?;
        Some(Self { mount, device, scratch })
    }

    pub fn ext4(mib: u64) -> Option<Self> {
        Self::with(mib, "mkfs.ext4", EXT4)
    }

    /// An ext4 without blocks reserved for root.
    pub fn unreserved(mib: u64) -> Option<Self> {
        Self::with(mib, "mkfs.ext4", &["-q", "-F", "-m", "0"])
    }

    pub fn btrfs(mib: u64) -> Option<Self> {
        Self::with(mib, "mkfs.btrfs", &["-q"])
    }
}

pub struct Mount {
    pub point: String,
}

impl Mount {
    /// Mounts `source` below the scratch directory; prints a note if the kernel cannot.
    pub fn new(scratch: &Scratch, source: &str, options: &[&str]) -> Option<Self> {
        let point = scratch.text("mounted");
        fs::create_dir_all(&point).expect("the scratch directory is writable");
        let arguments = [options, &[source, &point]].concat();
        or_skip(tool("mount", &arguments)).map(|_| Self { point })
    }

    pub fn text(&self, name: &str) -> String {
        format!("{}/{name}", self.point)
    }
}

impl Drop for Mount {
    fn drop(&mut self) {
        if let Err(why) = insist("umount", &[&self.point]) {
            eprintln!("left behind: {why}");
        }
    }
}

/// Leaves `left` bytes free, with files of decreasing size.
pub fn take_room(mount: &Mount, left: u64) {
    let take = |name: &str, bytes: u64| take_space(&mount.text(name), bytes);
    if left > 0 {
        take("spare", left).expect("there is as much room");
    }
    let mut piece = 1u64 << 30;
    let mut number = 0;
    while piece >= 4096 {
        number += 1;
        if take(&format!("filler{number}"), piece).is_err() {
            piece /= 2;
        }
    }
    if left > 0 {
        fs::remove_file(mount.text("spare")).expect("it was just made");
    }
}

/// A file of zeros where the file system cannot preallocate.
fn take_space(path: &str, bytes: u64) -> std::io::Result<()> {
    let mut file = fs::File::create(path)?;
    match rustix::fs::fallocate(&file, FallocateFlags::empty(), 0, bytes) {
        Err(Errno::OPNOTSUPP) => {
            std::io::copy(&mut std::io::repeat(0).take(bytes), &mut file)?;
            file.sync_all()
        }
        other => Ok(other?),
    }
}

pub struct Zram {
    pub node: String,
    number: String,
}

impl Zram {
    const CONTROL: &str = "/sys/class/zram-control";

    /// Prints a note if the kernel cannot.
    pub fn new(size: &str) -> Option<Self> {
        let made = fs::read_to_string(format!("{}/hot_add", Self::CONTROL));
        let number = or_skip(made.map_err(|e| format!("needs zram: {e}")))?.trim().to_string();
        let zram = Self { node: format!("/dev/zram{number}"), number };
        let size = fs::write(format!("/sys/block/zram{}/disksize", zram.number), size);
        or_skip(size.map_err(|e| format!("zram takes no size: {e}"))).map(|()| zram)
    }
}

impl Drop for Zram {
    fn drop(&mut self) {
        for _ in 0..ATTEMPTS {
            if fs::write(format!("{}/hot_remove", Self::CONTROL), &self.number).is_ok() {
                return;
            }
            std::thread::sleep(MOMENT);
        }
        eprintln!("left behind: {}", self.node);
    }
}
