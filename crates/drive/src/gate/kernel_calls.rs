//! What the gate asks the kernel about a device node. Tests answer for machines that are not here.

use super::identify_command::{self, IdentifyCommand};
use drivescope_machine::roots::split_dev;
use drivescope_model::WriteLevel;
use rustix::fs::{CWD, FileType, FlockOperation, Mode, OFlags};
use rustix::io::Errno;
use rustix::ioctl::{Getter, Opcode, Setter, ioctl, opcode};
use std::fs::File;
use std::ops::Range;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

/// `include/uapi/linux/fs.h` of the kernel: size in bytes, read-only flag, number of the attachment; and the one
/// that forgets a stretch of bytes.
const BLKGETSIZE64: Opcode = opcode::read::<usize>(0x12, 114);
const BLKROGET: Opcode = opcode::none(0x12, 94);
const BLKGETDISKSEQ: Opcode = opcode::read::<u64>(0x12, 128);
const BLKDISCARD: Opcode = opcode::none(0x12, 119);

/// udev holds a shared lock while it looks at a device: a moment, after which it is free.
const LOCK_ATTEMPTS: u32 = 20;
const PAUSE: Duration = Duration::from_millis(100);

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct DeviceNode {
    /// The node, links resolved.
    pub node: PathBuf,
    pub number: (u32, u32),
}

/// How a node is opened. Every way closes on `exec` and refuses a link as the last component.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Access {
    /// Reading through the page cache, beside others.
    Read,
    /// Reading, with the kernel's exclusive claim.
    ReadExclusive,
    /// Writing past the page cache, with the exclusive claim.
    WriteExclusive,
    /// The same for contents that will be what they were, so that udev need not look at them afterwards.
    WriteUnseen,
}

impl Access {
    pub fn to_write(level: WriteLevel) -> Self {
        if level < WriteLevel::Destroy { Self::WriteUnseen } else { Self::WriteExclusive }
    }

    pub fn writes(self) -> bool {
        matches!(self, Self::WriteExclusive | Self::WriteUnseen)
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct DescriptorFacts {
    /// Major and minor number of the device that is really open.
    pub number: (u32, u32),
    pub size_bytes: u64,
    pub logical_sector_bytes: u32,
    pub physical_sector_bytes: u32,
    pub read_only: bool,
    /// Number of this attachment; `None` before Linux 5.15.
    pub disk_sequence: Option<u64>,
}

pub(super) trait KernelCalls: Send + Sync {
    /// Follows a path. `NOTBLK` when it is no block device.
    fn resolve(&self, path: &Path) -> Result<DeviceNode, Errno>;
    fn open(&self, node: &Path, access: Access) -> Result<File, Errno>;
    fn facts(&self, file: &File) -> Result<DescriptorFacts, Errno>;
    /// The raw answer of the drive behind an open descriptor.
    fn identify(&self, file: &File, command: IdentifyCommand) -> Result<Vec<u8>, Errno>;
    /// Tells the drive that it need not keep these bytes; `OPNOTSUPP` where it takes no such command.
    fn discard(&self, file: &File, bytes: Range<u64>) -> Result<(), Errno>;
    fn wait(&self);
    /// Takes the exclusive advisory lock; `WOULDBLOCK` when another program holds it.
    fn lock(&self, file: &File) -> Result<(), Errno>;
}

#[derive(Debug)]
pub(super) struct HostKernel;

/// A temporary node of a device, removed once opened. udev watches the usual node: after a writer closes it, udev
/// probes the contents and starts any array it finds, even in the test patterns of a killed run.
struct UnseenNode {
    path: PathBuf,
}

impl UnseenNode {
    /// Makes one beside the usual node; none where that is no device, or for users who may not.
    #[expect(clippy::disallowed_methods, reason = "another node of a device, removed once open")]
    fn beside(node: &Path) -> Option<Self> {
        static MADE: AtomicU32 = AtomicU32::new(0);
        let number = MADE.fetch_add(1, Ordering::Relaxed);
        let usual = std::fs::symlink_metadata(node).ok()?;
        let name = format!(".drivescope-{}-{number}", std::process::id());
        let path = node.with_file_name(name);
        if !usual.file_type().is_block_device() {
            return None;
        }
        let (mode, number) = (Mode::RUSR | Mode::WUSR, usual.rdev());
        rustix::fs::mknodat(CWD, &path, FileType::BlockDevice, mode, number).ok()?;
        Some(Self { path })
    }
}

impl Drop for UnseenNode {
    #[expect(clippy::disallowed_methods, reason = "the node that it has made")]
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.path);
    }
}

impl KernelCalls for HostKernel {
    fn resolve(&self, path: &Path) -> Result<DeviceNode, Errno> {
        fn errno(error: std::io::Error) -> Errno {
            Errno::from_io_error(&error).unwrap_or(Errno::IO)
        }
        let node = std::fs::canonicalize(path).map_err(errno)?;
        let meta = std::fs::symlink_metadata(&node).map_err(errno)?;
        if !meta.file_type().is_block_device() {
            return Err(Errno::NOTBLK);
        }
        Ok(DeviceNode { node, number: split_dev(meta.rdev()) })
    }

    #[expect(
        clippy::disallowed_methods,
        reason = "a block device, for the gate alone; for writing after all checks"
    )]
    fn open(&self, node: &Path, access: Access) -> Result<File, Errno> {
        let how = match access {
            Access::Read => OFlags::RDONLY,
            Access::ReadExclusive => OFlags::RDONLY | OFlags::EXCL,
            Access::WriteExclusive | Access::WriteUnseen => {
                OFlags::RDWR | OFlags::EXCL | OFlags::DIRECT
            }
        };
        let flags = how | OFlags::CLOEXEC | OFlags::NOFOLLOW | OFlags::NOCTTY;
        let unseen = match access {
            Access::WriteUnseen => UnseenNode::beside(node),
            _ => None,
        };
        let node = unseen.as_ref().map_or(node, |unseen| &unseen.path);
        rustix::fs::open(node, flags, Mode::empty()).map(File::from)
    }

    #[expect(
        clippy::disallowed_methods,
        reason = "BLKGETSIZE64, BLKROGET and BLKGETDISKSEQ only ask"
    )]
    fn facts(&self, file: &File) -> Result<DescriptorFacts, Errno> {
        let stat = rustix::fs::fstat(file)?;
        if !FileType::from_raw_mode(stat.st_mode).is_block_device() {
            return Err(Errno::NOTBLK);
        }
        let number = split_dev(stat.st_rdev);
        // SAFETY: the descriptor is a block device, and each number belongs to the type it fills.
        let (size, read_only, sequence) = unsafe {
            (
                ioctl(file, Getter::<BLKGETSIZE64, u64>::new())?,
                ioctl(file, Getter::<BLKROGET, libc::c_int>::new())?,
                ioctl(file, Getter::<BLKGETDISKSEQ, u64>::new()),
            )
        };
        Ok(DescriptorFacts {
            number,
            size_bytes: size,
            logical_sector_bytes: rustix::fs::ioctl_blksszget(file)?,
            physical_sector_bytes: rustix::fs::ioctl_blkpbszget(file)?,
            read_only: read_only != 0,
            disk_sequence: sequence.ok(),
        })
    }

    fn identify(&self, file: &File, command: IdentifyCommand) -> Result<Vec<u8>, Errno> {
        identify_command::ask(file, command)
    }

    #[expect(
        clippy::disallowed_methods,
        reason = "BLKDISCARD of bytes that RawDisk has permitted, at the level destroy"
    )]
    fn discard(&self, file: &File, bytes: Range<u64>) -> Result<(), Errno> {
        let stretch = [bytes.start, bytes.end - bytes.start];
        // SAFETY: the command reads two numbers of 64 bits, start and length, and changes no memory.
        unsafe { ioctl(file, Setter::<BLKDISCARD, [u64; 2]>::new(stretch)) }
    }

    fn wait(&self) {
        std::thread::sleep(PAUSE);
    }

    fn lock(&self, file: &File) -> Result<(), Errno> {
        let mut result = Err(Errno::WOULDBLOCK);
        for attempt in 0..LOCK_ATTEMPTS {
            if attempt > 0 {
                self.wait();
            }
            result = rustix::fs::flock(file, FlockOperation::NonBlockingLockExclusive);
            if result != Err(Errno::WOULDBLOCK) {
                break;
            }
        }
        result
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_file_types_are_refused_before_opening() {
        let file = tempfile::NamedTempFile::new().unwrap();
        assert_eq!(HostKernel.resolve(file.path()), Err(Errno::NOTBLK));
        assert_eq!(HostKernel.resolve(Path::new("/dev/null")), Err(Errno::NOTBLK));
        assert_eq!(HostKernel.resolve(Path::new("/nonexistent")), Err(Errno::NOENT));
    }

    #[test]
    fn link_replacing_a_node_is_not_followed() {
        let dir = tempfile::tempdir().unwrap();
        let link = dir.path().join("sda");
        std::os::unix::fs::symlink("/dev/null", &link).unwrap();
        assert_eq!(HostKernel.open(&link, Access::Read).unwrap_err(), Errno::LOOP);
    }

    #[test]
    fn a_lock_that_another_descriptor_holds_is_refused() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let (one, two) = (file.reopen().unwrap(), file.reopen().unwrap());
        HostKernel.lock(&one).unwrap();
        assert_eq!(HostKernel.lock(&two), Err(Errno::WOULDBLOCK));
        drop(one);
        HostKernel.lock(&two).unwrap();
    }
}
