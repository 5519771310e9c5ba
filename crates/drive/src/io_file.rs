//! Open files and devices, as the I/O engines use them.

use crate::direct_io;
use crate::error::DriveError;
use crate::gate::RawDisk;
use crate::joined_files::JoinedFiles;
use drivescope_machine::roots::{Roots, open_to_read, read_text, split_dev};
use drivescope_model::target::IoMode;
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::fs::{FileType, OFlags};
use rustix::io::{Errno, retry_on_intr};
use std::path::{Path, PathBuf};

/// An open file or device with its effective I/O mode.
///
/// Opened read-only by [`IoFile::open_read`]; a writable one comes only from `OwnFolder`, or from the
/// gate's claim of a block device.
#[derive(Debug)]
pub struct IoFile {
    fd: OwnedFd,
    path: PathBuf,
    size_bytes: u64,
    mode: IoMode,
    align_bytes: u32,
    writable: bool,
    /// Dropping it gives the claim up.
    claim: Option<Box<RawDisk>>,
    /// More files, which together with this one are one address space.
    joined: Option<Box<JoinedFiles>>,
}

impl IoFile {
    /// A claimed device behind an I/O engine. Errors: direct I/O does not work on it.
    pub fn claimed(disk: RawDisk) -> Result<Self, DriveError> {
        let path = PathBuf::from(&disk.device().path);
        let fd = disk.descriptor().map_err(|e| DriveError::from_io("claim", &path, e))?;
        let size_bytes = disk.device().size_bytes;
        let Some(align_bytes) = direct_io::proven_alignment(fd.as_fd(), size_bytes) else {
            return Err(DriveError::NoDirect { path });
        };
        let (mode, claim) = (IoMode::Direct, Some(Box::new(disk)));
        Ok(Self { fd, path, size_bytes, mode, align_bytes, writable: true, claim, joined: None })
    }

    /// `files` as one of `size_bytes`: each holds `part_bytes` of it, the last one what is left.
    pub(crate) fn joined(files: Vec<Self>, part_bytes: u64, size_bytes: u64) -> Self {
        let is_direct = files.iter().all(|file| file.mode == IoMode::Direct);
        let mode = if is_direct { IoMode::Direct } else { IoMode::Buffered };
        let align_bytes = files.iter().map(|file| file.align_bytes).max().unwrap_or(1);
        let mut files = files.into_iter();
        let first = files.next().expect("at least one file is joined");
        let rest: Vec<OwnedFd> = files.map(|file| file.fd).collect();
        let joined = JoinedFiles::new(first.as_fd(), rest, part_bytes, size_bytes);
        Self { size_bytes, mode, align_bytes, joined: Some(Box::new(joined)), ..first }
    }

    pub fn is_joined(&self) -> bool {
        self.joined.is_some()
    }

    /// The file that holds the byte `offset`, and where.
    #[inline]
    pub fn place(&self, offset: u64) -> (BorrowedFd<'_>, u64) {
        match &self.joined {
            None => (self.as_fd(), offset),
            Some(joined) => joined.place(self.as_fd(), offset),
        }
    }

    /// Each open file, with the bytes of it that are in use.
    fn files(&self) -> Vec<(BorrowedFd<'_>, u64)> {
        match &self.joined {
            None => vec![(self.as_fd(), self.size_bytes)],
            Some(joined) => joined.files(self.as_fd(), self.size_bytes),
        }
    }

    pub fn claim(&self) -> Option<&RawDisk> {
        self.claim.as_deref()
    }

    /// Whether this write is permitted. Engines ask before every write.
    pub fn allows_write(&self, length: u64, offset: u64) -> bool {
        self.writable && self.claim.as_ref().is_none_or(|disk| disk.allows(length, offset))
    }

    /// Direct if a real transfer proves it.
    pub fn open_read(path: &Path) -> Result<Self, DriveError> {
        Self::open(path, OFlags::RDONLY, false, |flags| open_to_read(path, flags))
    }

    /// Opens an existing file or block device for reading through the page cache.
    pub(crate) fn open_read_buffered(path: &Path) -> Result<Self, DriveError> {
        let fd = open_to_read(path, OFlags::RDONLY)
            .map_err(|e| DriveError::from_errno("read", path, e))?;
        Self::buffered(fd, path, false)
    }

    /// Opens by `open_with(flags)` with `O_DIRECT` first; falls back to the page cache where the
    /// open or the transfer is refused.
    pub(crate) fn open(
        path: &Path,
        flags: OFlags,
        writable: bool,
        open_with: impl Fn(OFlags) -> Result<OwnedFd, Errno>,
    ) -> Result<Self, DriveError> {
        let what = if writable { "write to" } else { "read" };
        match open_with(flags | OFlags::DIRECT) {
            Ok(fd) => {
                let file = Self::buffered(fd, path, writable)?;
                let proven = direct_io::proven_alignment(file.as_fd(), file.size_bytes);
                if let Some(align_bytes) = proven {
                    return Ok(Self { mode: IoMode::Direct, align_bytes, ..file });
                }
            }
            Err(Errno::INVAL | Errno::OPNOTSUPP) => {}
            Err(errno) => return Err(DriveError::from_errno(what, path, errno)),
        }
        let fd = open_with(flags).map_err(|e| DriveError::from_errno(what, path, e))?;
        Self::buffered(fd, path, writable)
    }

    pub(crate) fn buffered(fd: OwnedFd, path: &Path, writable: bool) -> Result<Self, DriveError> {
        let size_bytes = size_of(&fd, path)?;
        let (path, mode) = (path.to_path_buf(), IoMode::Buffered);
        Ok(Self { fd, path, size_bytes, mode, align_bytes: 1, writable, claim: None, joined: None })
    }

    pub fn size_bytes(&self) -> u64 {
        self.size_bytes
    }
    pub fn mode(&self) -> IoMode {
        self.mode
    }
    /// 512 or 4096 for direct I/O, 1 through the page cache.
    pub fn align_bytes(&self) -> u32 {
        self.align_bytes
    }
    /// Whether requests may block the sender, so that io_uring passes each to a kernel thread; `false` through the
    /// page cache, where it depends on what is in memory.
    pub fn may_block(&self) -> bool {
        self.mode == IoMode::Direct && direct_io::may_block(self.as_fd(), self.align_bytes)
    }
    /// Whether a thread of the kernel answers each request, instead of a drive by interrupt: requests may block, or
    /// this is, or is on, a loop device that answers from the page cache.
    pub fn wakes_a_thread(&self) -> bool {
        self.may_block() || (self.mode == IoMode::Direct && self.is_on_cached_loop())
    }
    /// A loop device with direct I/O below it only passes requests on, and the drive answers.
    fn is_on_cached_loop(&self) -> bool {
        let Ok(stat) = rustix::fs::fstat(&self.fd) else { return false };
        let is_device = FileType::from_raw_mode(stat.st_mode) == FileType::BlockDevice;
        let number = split_dev(if is_device { stat.st_rdev } else { stat.st_dev });
        let roots = Roots::host();
        let name = roots.block_name(number).filter(|name| name.starts_with("loop"));
        let dir = name.and_then(|name| roots.block_dir(&name));
        dir.is_some_and(|dir| read_text(dir.join("loop/dio")).as_deref() == Some("0"))
    }
    pub fn writable(&self) -> bool {
        self.writable
    }
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Waits until everything written has reached the drive (`fdatasync`).
    pub fn sync(&self) -> Result<(), DriveError> {
        self.flush().map_err(|e| DriveError::from_errno("flush", &self.path, e))
    }

    pub fn flush(&self) -> Result<(), Errno> {
        self.files().into_iter().try_for_each(|(fd, _)| retry_on_intr(|| rustix::fs::fdatasync(fd)))
    }

    /// Drops this file's clean pages from the page cache; [`crate::page_cache::resident_share`] proves it.
    pub fn evict(&self) -> Result<(), DriveError> {
        if self.writable {
            self.sync()?;
        }
        self.files()
            .into_iter()
            .try_for_each(|(fd, _)| crate::page_cache::evict(fd))
            .map_err(|e| DriveError::from_errno("evict from memory", &self.path, e))
    }

    /// Share (0–1) of the file that is in the page cache, if the kernel reports it.
    pub fn resident_share(&self) -> Option<f64> {
        let mut resident = 0.0;
        for (fd, bytes) in self.files() {
            resident += crate::page_cache::resident_share(fd, bytes)? * bytes as f64;
        }
        Some(resident / self.size_bytes.max(1) as f64)
    }
}

impl AsFd for IoFile {
    #[inline]
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

/// Size of a file or block device: the end that seeking finds works for both.
fn size_of(fd: &OwnedFd, path: &Path) -> Result<u64, DriveError> {
    rustix::fs::seek(fd, rustix::fs::SeekFrom::End(0)).map_err(|errno| match errno {
        // Files that the kernel makes up as they are read (/proc).
        Errno::INVAL | Errno::SPIPE => {
            DriveError::WrongKind { path: path.to_path_buf(), what: "file without a size" }
        }
        _ => DriveError::from_errno("find the size of", path, errno),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_opened_for_reading_cannot_be_written() {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), vec![7u8; 8192]).unwrap();
        let io = IoFile::open_read(file.path()).unwrap();
        assert!(!io.writable());
        assert_eq!(io.size_bytes(), 8192);
        assert_eq!(rustix::io::pwrite(&io, &[1u8; 512], 0), Err(Errno::BADF));
        assert_eq!(std::fs::read(file.path()).unwrap(), vec![7u8; 8192]);
    }

    #[test]
    fn missing_paths_say_so() {
        let error = IoFile::open_read(Path::new("/nonexistent/drive")).unwrap_err();
        assert!(matches!(error, DriveError::NotFound { .. }), "{error}");
    }
}
