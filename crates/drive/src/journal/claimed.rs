//! The drive that a restore writes to: claimed exclusively, direct where the kernel can.

use super::{Disk, Identity, JournalError};
use crate::list::{ListOptions, drive_named};
use crate::roots::{Roots, file_name, split_dev};
use rustix::fd::{AsFd, OwnedFd};
use rustix::fs::{FileType, FlockOperation, Mode, OFlags, SeekFrom};
use rustix::io::Errno;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::time::Duration;

/// How often a claim or a lock is asked for, and how long in between: 5 s in all.
const ATTEMPTS: u32 = 51;
const EVERY: Duration = Duration::from_millis(100);

/// A block device that nobody else can claim as long as this lives.
#[derive(Debug)]
pub(super) struct ClaimedDisk {
    file: File,
    is_direct: bool,
    identity: Identity,
    sector_bytes: u32,
    physical_bytes: u32,
}

impl ClaimedDisk {
    /// Claims the block device with this kernel name, and makes sure that what was opened is what sysfs
    /// calls so. Errors: in use, not permitted, read-only, gone.
    pub(super) fn claim(roots: &Roots, name: &str) -> Result<Self, JournalError> {
        let node = roots.node(name);
        let fail = |why: String| JournalError::Busy { device: node.display().to_string(), why };
        let (fd, is_direct) = open_patiently(roots, name).map_err(|errno| match errno {
            Errno::BUSY => fail(users(roots, name).unwrap_or_else(|| {
                "another program or a device made of it has claimed it".to_string()
            })),
            Errno::ACCESS | Errno::PERM => fail("no permission to write to it; use sudo".into()),
            errno => fail(errno.to_string()),
        })?;
        let say = |errno: Errno| fail(errno.to_string());
        let stat = rustix::fs::fstat(&fd).map_err(say)?;
        let is_block = FileType::from_raw_mode(stat.st_mode) == FileType::BlockDevice;
        if !is_block || roots.block_number(name) != Some(split_dev(stat.st_rdev)) {
            return Err(fail(format!("it is not the device that the kernel calls {name}")));
        }
        if !lock(&fd) {
            return Err(fail("another program has locked it".to_string()));
        }
        let gone = || fail("it has just been removed".to_string());
        let identity = Identity::of(roots, name).ok_or_else(gone)?;
        let size = rustix::fs::seek(&fd, SeekFrom::End(0)).map_err(say)?;
        if size != identity.size_bytes {
            return Err(fail(format!("it has {size} bytes, not {}", identity.size_bytes)));
        }
        let sector_bytes = rustix::fs::ioctl_blksszget(&fd).map_err(say)?;
        let physical_bytes = rustix::fs::ioctl_blkpbszget(&fd).map_err(say)?;
        Ok(Self { file: fd.into(), is_direct, identity, sector_bytes, physical_bytes })
    }
}

/// Locks a device as systemd asks (BLOCK_DEVICE_LOCKING): whoever keeps to it, udev above all, leaves it
/// alone. udev itself locks a device for a moment after every close, and is waited for.
fn lock(fd: &OwnedFd) -> bool {
    (0..ATTEMPTS).any(|attempt| {
        if attempt > 0 {
            std::thread::sleep(EVERY);
        }
        let locked = rustix::fs::flock(fd, FlockOperation::NonBlockingLockExclusive);
        locked != Err(Errno::WOULDBLOCK)
    })
}

/// Opens a device exclusively. The kernel closes the files of a killed program only when the requests in
/// flight have come back: a claim that nobody visible explains is waited for.
fn open_patiently(roots: &Roots, name: &str) -> Result<(OwnedFd, bool), Errno> {
    let node = roots.node(name);
    let mut opened = open(&node);
    for _ in 1..ATTEMPTS {
        if !matches!(opened, Err(Errno::BUSY)) || users(roots, name).is_some() {
            break;
        }
        std::thread::sleep(EVERY);
        opened = open(&node);
    }
    opened
}

fn open(node: &Path) -> Result<(OwnedFd, bool), Errno> {
    let flags = OFlags::RDWR | OFlags::EXCL | OFlags::CLOEXEC | OFlags::NOCTTY;
    match rustix::fs::open(node, flags | OFlags::DIRECT, Mode::empty()) {
        Err(Errno::INVAL | Errno::OPNOTSUPP) => {
            Ok((rustix::fs::open(node, flags, Mode::empty())?, false))
        }
        other => Ok((other?, true)),
    }
}

/// Who has claimed a device, as far as mounts and swap areas tell; `None` when they tell nothing.
fn users(roots: &Roots, name: &str) -> Option<String> {
    let disk = roots
        .block_dir(name)
        .filter(|dir| dir.join("partition").exists())
        .and_then(|dir| file_name(dir.parent()?))
        .unwrap_or_else(|| name.to_string());
    let drive = drive_named(roots, &disk, &ListOptions { smart: false });
    let places: Vec<String> = drive.map_or_else(Vec::new, |drive| {
        let of_parts = drive.partitions.iter().flat_map(|part| part.mounts.iter());
        drive.mounts.iter().chain(of_parts).cloned().collect()
    });
    (!places.is_empty()).then(|| format!("it is mounted on {}", places.join(", ")))
}

impl Disk for ClaimedDisk {
    fn identity(&self) -> &Identity {
        &self.identity
    }

    fn sector_bytes(&self) -> u32 {
        self.sector_bytes
    }

    fn physical_sector_bytes(&self) -> u32 {
        self.physical_bytes
    }

    fn read_at(&mut self, offset: u64, buffer: &mut [u8]) -> io::Result<()> {
        self.file.read_exact_at(buffer, offset)
    }

    fn write_at(&mut self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        self.file.write_all_at(bytes, offset)
    }

    fn sync(&mut self) -> io::Result<()> {
        self.file.sync_all()
    }

    fn drop_cache(&mut self) -> io::Result<()> {
        if self.is_direct {
            return Ok(()); // every read comes from the drive
        }
        Ok(crate::cache::evict(self.file.as_fd())?)
    }
}
