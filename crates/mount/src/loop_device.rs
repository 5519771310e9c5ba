//! A loop device with direct I/O on a served file, and the remains of such devices.
//!
//! Numbers and structures are those of the kernel's `linux/loop.h`.

use super::error::ServeError;
use super::held_device::HeldDevice;
use super::isolated_thread::run_isolated;
use super::users;
use drivescope_machine::loop_status::{LoopInfo64, LoopStatus};
use drivescope_machine::roots::{Roots, open_to_read};
use rustix::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

const LOOP_CLR_FD: libc::Ioctl = 0x4C01 as libc::Ioctl;
const LOOP_CONFIGURE: libc::Ioctl = 0x4C0A as libc::Ioctl;
const LOOP_CTL_GET_FREE: libc::Ioctl = 0x4C82 as libc::Ioctl;
/// The kernel detaches the device when its last user closes it: nothing stays of a killed server.
const LO_FLAGS_AUTOCLEAR: u32 = 4;
const LO_FLAGS_PARTSCAN: u32 = 8;
const LO_FLAGS_DIRECT_IO: u32 = 16;
const CONTROL: &str = "/dev/loop-control";
/// Others look for a free loop device too; each attempt loses at most one race.
const ATTEMPTS: usize = 16;
/// Requests above what FUSE carries at once would be split unevenly.
const MAX_SECTORS_KB: &str = "1024";
#[repr(C)]
struct LoopConfig {
    fd: u32,
    block_size: u32,
    info: LoopInfo64,
    reserved: [u64; 8],
}

#[derive(Debug, Clone, Copy)]
pub(super) struct LoopAttributes {
    /// Logical sector, 512 or 4096.
    pub(super) sector: u32,
    /// Shown as `queue/rotational`.
    pub(super) rotational: bool,
}

/// An attached loop device; detached when dropped.
#[derive(Debug)]
pub(super) struct LoopDevice {
    number: u32,
    file: PathBuf,
    /// Numbers of the file and its file system: the name changes when the mount is detached.
    numbers: Option<(u64, u64)>,
    /// Has it open for as long as the drive is served.
    held: HeldDevice,
}

impl LoopDevice {
    /// Attaches a free loop device to `file`, which must be served by other threads.
    pub(super) fn attach(file: &Path, attributes: LoopAttributes) -> Result<Self, ServeError> {
        let control = open_control()?;
        let backing = open_to_write(file, OFlags::DIRECT)
            .map_err(|errno| missing(format!("the served file cannot be opened ({errno})")))?;
        for _ in 0..ATTEMPTS {
            let number = free_number(control.as_fd())?;
            let node = node(number);
            let device =
                open_to_write(&node, OFlags::empty()).map_err(|errno| no_node(&node, errno))?;
            let (to, from) = (device.as_fd(), backing.as_fd());
            // The kernel reads the beginning of the new device meanwhile.
            let configured = run_isolated(&[to, from], || {
                configure(to, from, attributes.sector)
                    .inspect(|()| set_attributes(number, attributes))
            });
            match configured.map_err(ServeError::Thread)? {
                Ok(()) => return Self::keep(number, file),
                Err(Errno::BUSY) => {} // another program was faster
                Err(Errno::NOTTY | Errno::INVAL) => {
                    return Err(missing("LOOP_CONFIGURE is refused; it needs Linux 5.8".into()));
                }
                Err(errno) => return Err(missing(format!("{}: {errno}", node.display()))),
            }
        }
        Err(missing("no loop device stays free; detach unused ones (losetup -d)".into()))
    }

    /// Keeps an attached device open. The caller has it open too until then: else it would be detached.
    fn keep(number: u32, file: &Path) -> Result<Self, ServeError> {
        let direct = sys(number).join("loop/dio");
        if fs::read_to_string(direct).is_ok_and(|dio| dio.trim() != "1") {
            reset_settings(number);
            let why = "it has no direct I/O on FUSE, and would cache; it needs Linux 4.10";
            return Err(missing(why.into()));
        }
        let node = node(number);
        let held = HeldDevice::open(node.clone(), move || reset_settings(number))
            .map_err(|errno| no_node(&node, errno))?;
        Ok(Self { number, file: file.to_path_buf(), numbers: file_numbers(number), held })
    }

    pub(super) fn node(&self) -> PathBuf {
        node(self.number)
    }

    /// Who uses the device or a partition of it, as far as that can be seen, one clause each.
    pub(super) fn users(&self) -> Vec<String> {
        let mut users = users::of_device(&Roots::host(), &self.node());
        if users.is_empty() && self.held.is_closing() {
            let node = self.node();
            users.push(format!("the kernel writes what it has in memory for {}", node.display()));
        }
        users
    }

    /// Lets go of the device: the kernel detaches it with its last user, who can use it as before until
    /// then. Whether that has happened.
    pub(super) fn release(&mut self) -> bool {
        self.held.let_go();
        !self.is_attached()
    }

    /// Detaches the device and waits until its last user is gone; false if that takes longer than
    /// `patience`. It is then detached as soon as they go.
    pub(super) fn detach(&mut self, patience: Duration) -> bool {
        self.release();
        let start = Instant::now();
        while self.is_attached() {
            if start.elapsed() > patience {
                return false;
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        true
    }

    fn is_attached(&self) -> bool {
        let numbers = file_numbers(self.number);
        (numbers.is_some() && numbers == self.numbers)
            || backing_file(self.number).is_some_and(|path| path == self.file)
    }
}

impl Drop for LoopDevice {
    fn drop(&mut self) {
        self.detach(Duration::ZERO);
    }
}

/// Whether loop devices can be attached at all; said before anything is mounted.
pub(super) fn check_available() -> Result<(), ServeError> {
    open_control().map(drop)
}

/// Detaches every loop device on `file`, whose server is gone. Devices still in use go with their
/// last user.
pub(super) fn detach_from(file: &Path) {
    for entry in fs::read_dir("/sys/block").into_iter().flatten().flatten() {
        let name = entry.file_name();
        let number = name.to_str().and_then(|name| name.strip_prefix("loop")?.parse().ok());
        let Some(number) = number.filter(|n| backing_file(*n).as_deref() == Some(file)) else {
            continue;
        };
        if let Ok(device) = open_to_read(&node(number), OFlags::empty()) {
            reset_settings(number);
            clear(device.as_fd());
        }
    }
}

/// Takes back what would stay with the device for whoever uses it next. The kernel itself sets
/// `rotational` when a device is attached.
fn reset_settings(number: u32) {
    // 0 stands for the default since Linux 6.9; before, the default of loop devices was this.
    if set_attribute(number, "max_sectors_kb", "0").is_err() {
        let _ = set_attribute(number, "max_sectors_kb", "1280");
    }
}

fn backing_file(number: u32) -> Option<PathBuf> {
    let text = fs::read_to_string(sys(number).join("loop/backing_file")).ok()?;
    Some(PathBuf::from(text.strip_suffix('\n').unwrap_or(&text)))
}

/// Device and inode number of the file under a loop device, as the kernel reports them.
fn file_numbers(number: u32) -> Option<(u64, u64)> {
    LoopStatus::of(&Roots::host(), &format!("loop{number}")).map(|status| status.file)
}

fn node(number: u32) -> PathBuf {
    PathBuf::from(format!("/dev/loop{number}"))
}

fn sys(number: u32) -> PathBuf {
    PathBuf::from(format!("/sys/block/loop{number}"))
}

fn missing(what: String) -> ServeError {
    ServeError::NoLoop { missing: what }
}

fn no_node(node: &Path, errno: Errno) -> ServeError {
    let node = node.display();
    missing(match errno {
        Errno::NOENT | Errno::NXIO => {
            format!(
                "{node} is missing; load the loop module, and in a container pass the device in"
            )
        }
        Errno::ACCESS | Errno::PERM => format!("no permission to open {node}; run with sudo"),
        _ => format!("{node}: {errno}"),
    })
}

#[expect(
    clippy::disallowed_methods,
    reason = "the served file, a free loop device for it, and the node that finds one"
)]
fn open_to_write(path: &Path, flags: OFlags) -> Result<OwnedFd, Errno> {
    rustix::fs::open(path, flags | OFlags::RDWR | OFlags::CLOEXEC, Mode::empty())
}

#[expect(clippy::disallowed_methods, reason = "sysfs: how the loop device of a served drive looks")]
fn set_attribute(number: u32, name: &str, value: &str) -> std::io::Result<()> {
    fs::write(sys(number).join("queue").join(name), value)
}

fn open_control() -> Result<OwnedFd, ServeError> {
    open_to_write(Path::new(CONTROL), OFlags::empty())
        .map_err(|errno| no_node(Path::new(CONTROL), errno))
}

#[expect(
    clippy::disallowed_methods,
    reason = "LOOP_CTL_GET_FREE makes a loop device, or finds a free one"
)]
fn free_number(control: BorrowedFd<'_>) -> Result<u32, ServeError> {
    // SAFETY: LOOP_CTL_GET_FREE takes no argument and returns a number or -1.
    let number = unsafe { libc::ioctl(control.as_raw_fd(), LOOP_CTL_GET_FREE) };
    u32::try_from(number).map_err(|_| {
        missing(format!("no free loop device ({}); detach unused ones (losetup -d)", last_errno()))
    })
}

#[expect(
    clippy::disallowed_methods,
    reason = "LOOP_CONFIGURE attaches the served file to a free loop device"
)]
fn configure(device: BorrowedFd<'_>, file: BorrowedFd<'_>, sector: u32) -> Result<(), Errno> {
    let config = LoopConfig {
        fd: file.as_raw_fd() as u32,
        block_size: sector,
        info: LoopInfo64 {
            device: 0,
            inode: 0,
            rdevice: 0,
            offset: 0,
            size_limit: 0,
            number: 0,
            encrypt_type: 0,
            encrypt_key_size: 0,
            flags: LO_FLAGS_AUTOCLEAR | LO_FLAGS_PARTSCAN | LO_FLAGS_DIRECT_IO,
            file_name: [0; 64],
            crypt_name: [0; 64],
            encrypt_key: [0; 32],
            init: [0; 2],
        },
        reserved: [0; 8],
    };
    // SAFETY: LOOP_CONFIGURE reads one `loop_config`, whose layout LoopConfig has.
    let result = unsafe { libc::ioctl(device.as_raw_fd(), LOOP_CONFIGURE, &config) };
    if result < 0 { Err(last_errno()) } else { Ok(()) }
}

/// Makes the device look like the drive. Where the kernel refuses something, the drive works and only looks a
/// little different. `discard_max_bytes` is left alone even where there is no TRIM: once it is 0, Linux 6.18
/// takes no other value until the device is removed. Discards are refused when they come.
fn set_attributes(number: u32, attributes: LoopAttributes) {
    let rotational = if attributes.rotational { "1" } else { "0" };
    let _ = set_attribute(number, "rotational", rotational);
    let _ = set_attribute(number, "max_sectors_kb", MAX_SECTORS_KB);
}

/// Asks for the file to be let go, at once or with the last user. A device that has none is as good.
#[expect(
    clippy::disallowed_methods,
    reason = "LOOP_CLR_FD detaches a loop device of a served drive"
)]
fn clear(device: BorrowedFd<'_>) {
    // SAFETY: LOOP_CLR_FD takes no argument that is looked at.
    let _ = unsafe { libc::ioctl(device.as_raw_fd(), LOOP_CLR_FD, 0) };
}

fn last_errno() -> Errno {
    Errno::from_io_error(&std::io::Error::last_os_error()).unwrap_or(Errno::IO)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_structure_has_the_kernels_size() {
        assert_eq!(size_of::<LoopConfig>(), 304);
    }

    #[test]
    fn missing_device_is_reported_with_an_alternative() {
        for (errno, word) in [(Errno::NOENT, "is missing"), (Errno::ACCESS, "sudo")] {
            let error = no_node(Path::new(CONTROL), errno).to_string();
            assert!(error.contains(word) && error.contains("virtual time"), "{error}");
            assert!(error.contains(CONTROL), "{error}");
        }
    }
}
