//! Files that are read: one's own, or those that a user names. Nothing here can write.
//!
//! A walk goes through directories only: never through a link, nor into another file system, nor into a run's own
//! folder. What it leaves out, it counts.

use super::PREFIX;
use super::directory_names::{DirectoryNames, as_path};
use super::syscalls;
use crate::error::DriveError;
use drivescope_machine::roots::open_to_read;
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::fs::{FileType, OFlags, Stat};
use rustix::io::{Errno, retry_on_intr};
use std::ffi::CStr;
use std::ops::Range;
use std::path::{Path, PathBuf};

/// Directories within directories that are followed; a descriptor is held for each.
pub const DEPTH_MAX: usize = 200;

#[derive(Debug)]
pub struct SourceTree {
    dir: OwnedFd,
    path: PathBuf,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct LeftOut {
    /// Symbolic links, which are not followed.
    pub links: u64,
    /// Sockets, pipes and devices.
    pub special: u64,
    /// Gone between being listed and being opened.
    pub vanished: u64,
    /// May not be read.
    pub denied: u64,
    /// Directories of other file systems, folders of other runs, and those that lie too deep.
    pub elsewhere: u64,
}

impl LeftOut {
    /// As a test reports it; `None` if nothing was left out.
    pub fn described(&self) -> Option<String> {
        let parts = [
            (self.links, "symbolic links"),
            (self.special, "sockets, pipes or devices"),
            (self.vanished, "vanished meanwhile"),
            (self.denied, "may not be read"),
            (self.elsewhere, "directories of other file systems, of runs, or too deep"),
        ];
        let named = parts.iter().filter(|(count, _)| *count > 0);
        let named: Vec<String> = named.map(|(count, what)| format!("{count} {what}")).collect();
        (!named.is_empty()).then(|| named.join(", "))
    }
}

/// Receives the entries of a walk.
pub trait TreeVisitor {
    /// Before the entries of a directory.
    fn enter(&mut self, _name: &CStr) -> Result<(), DriveError> {
        Ok(())
    }

    fn leave(&mut self) {}

    /// A regular file, not opened yet; returns whether to open it.
    fn listed(&mut self, _name: &CStr) -> bool {
        true
    }

    /// A regular file, open for reading. Returns whether the walk continues.
    fn file(&mut self, file: &SourceFile<'_>) -> Result<bool, DriveError>;
}

#[derive(Debug)]
pub struct SourceFile<'a> {
    pub name: &'a CStr,
    fd: OwnedFd,
    stat: Stat,
    folder: &'a Path,
}

impl SourceFile<'_> {
    /// Size when it was opened. Later growth is ignored.
    pub fn size_bytes(&self) -> u64 {
        self.stat.st_size.max(0) as u64
    }

    pub fn path(&self) -> PathBuf {
        self.folder.join(as_path(self.name))
    }

    /// Stretches that hold data: everything but holes.
    pub fn data(&self) -> Vec<Range<u64>> {
        let size = self.size_bytes();
        if self.stat.st_blocks.max(0) as u64 * 512 >= size {
            return std::iter::once(0..size).filter(|range| range.end > 0).collect();
        }
        stretches(self.fd.as_fd(), size)
    }

    /// Drops its clean pages from the page cache.
    pub fn evict(&self) -> Result<(), Errno> {
        crate::page_cache::evict(self.fd.as_fd())
    }

    /// Tells the kernel that it will be read in order, as `cp` does: Linux then reads twice as far ahead.
    pub fn expect_sequential_reads(&self) {
        // Only advice: where the kernel does not take it, nothing is lost.
        let _ = rustix::fs::fadvise(&self.fd, 0, None, rustix::fs::Advice::Sequential);
    }

    /// Share (0–1) in the page cache, if the kernel reports it.
    pub fn resident_share(&self) -> Option<f64> {
        crate::page_cache::resident_share(self.fd.as_fd(), self.size_bytes())
    }

    /// Reads some bytes, fewer at the end of the file.
    pub fn read_at(&self, buffer: &mut [u8], offset: u64) -> Result<usize, DriveError> {
        retry_on_intr(|| rustix::io::pread(&self.fd, &mut *buffer, offset))
            .map_err(|errno| DriveError::from_errno("read", &self.path(), errno))
    }

    /// To be called where reading found an end: an error unless the file ends here, because something made it
    /// shorter.
    pub fn check_end(&self, at: u64) -> Result<(), DriveError> {
        check_end(self.fd.as_fd(), at, &|| self.path())
    }
}

impl AsFd for SourceFile<'_> {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

/// An error if a file that could not be read beyond `at` is longer.
pub fn check_end(
    file: BorrowedFd<'_>,
    at: u64,
    path: &dyn Fn() -> PathBuf,
) -> Result<(), DriveError> {
    let stat = rustix::fs::fstat(file);
    let size = stat.map_err(|errno| DriveError::from_errno("read", &path(), errno))?.st_size;
    match size.max(0) as u64 {
        size if size > at => Err(DriveError::CutShort { path: path(), at, size }),
        _ => Ok(()),
    }
}

fn stretches(file: BorrowedFd<'_>, size: u64) -> Vec<Range<u64>> {
    use rustix::fs::{SeekFrom, seek};
    let (mut at, mut found) = (0, Vec::new());
    while at < size {
        let data = match seek(file, SeekFrom::Data(at)) {
            Ok(data) => data,
            Err(Errno::NXIO) => return found,
            // The file system does not report holes: read everything.
            Err(_) => return std::iter::once(0..size).collect(),
        };
        let hole = seek(file, SeekFrom::Hole(data)).unwrap_or(size).min(size);
        if hole <= data {
            break;
        }
        found.push(data..hole);
        at = hole;
    }
    found
}

impl SourceTree {
    /// Opens a directory for reading.
    ///
    /// Errors: there is none, or it may not be read.
    pub fn open(path: &Path) -> Result<Self, DriveError> {
        let dir = open_to_read(path, OFlags::DIRECTORY);
        let dir = dir.map_err(|errno| match errno {
            Errno::NOTDIR => {
                DriveError::WrongKind { path: path.to_path_buf(), what: "file, not a directory" }
            }
            _ => DriveError::from_errno("read", path, errno),
        })?;
        Ok(Self { dir, path: path.to_path_buf() })
    }

    pub fn device(&self) -> Option<u64> {
        rustix::fs::fstat(&self.dir).ok().map(|stat| stat.st_dev)
    }

    /// Waits until its file system has written everything: dirty pages cannot be dropped from memory.
    pub fn sync_file_system(&self) -> Result<(), DriveError> {
        retry_on_intr(|| rustix::fs::syncfs(&self.dir))
            .map_err(|errno| DriveError::from_errno("flush", &self.path, errno))
    }

    /// Regular files in it. No file is opened, nor asked for its size.
    pub fn count_files(&self) -> Result<u64, DriveError> {
        let mut counter = FileCounter::default();
        self.walk(&mut counter)?;
        Ok(counter.files)
    }

    /// Shows everything in it to the visitor; returns what was left out.
    pub fn walk(&self, visitor: &mut dyn TreeVisitor) -> Result<LeftOut, DriveError> {
        let device = rustix::fs::fstat(&self.dir)
            .map_err(|errno| DriveError::from_errno("read", &self.path, errno))?
            .st_dev;
        let mut walk =
            TreeWalk { visitor, left_out: LeftOut::default(), device, path: self.path.clone() };
        walk.folder(self.dir.as_fd(), 0)?;
        Ok(walk.left_out)
    }
}

#[derive(Default)]
struct FileCounter {
    files: u64,
}

impl TreeVisitor for FileCounter {
    fn listed(&mut self, _name: &CStr) -> bool {
        self.files += 1;
        false
    }

    fn file(&mut self, _file: &SourceFile<'_>) -> Result<bool, DriveError> {
        Ok(true)
    }
}

struct TreeWalk<'v> {
    visitor: &'v mut dyn TreeVisitor,
    left_out: LeftOut,
    device: u64,
    path: PathBuf,
}

impl TreeWalk<'_> {
    /// Returns whether the walk continues.
    fn folder(&mut self, dir: BorrowedFd<'_>, depth: usize) -> Result<bool, DriveError> {
        let listing = match DirectoryNames::read(dir) {
            Ok(listing) => listing,
            Err(errno) => return self.missed(errno).map(|()| true),
        };
        for (name, kind) in listing.iter() {
            let goes_on = match kind {
                FileType::RegularFile => self.file(dir, name)?,
                FileType::Directory => self.subfolder(dir, name, depth)?,
                FileType::Symlink => {
                    self.left_out.links += 1;
                    true
                }
                _ => {
                    self.left_out.special += 1;
                    true
                }
            };
            if !goes_on {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn file(&mut self, dir: BorrowedFd<'_>, name: &CStr) -> Result<bool, DriveError> {
        if !self.visitor.listed(name) {
            return Ok(true);
        }
        let Some((fd, stat)) = self.open(dir, name, OFlags::empty())? else { return Ok(true) };
        if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
            self.left_out.special += 1;
            return Ok(true);
        }
        self.visitor.file(&SourceFile { name, fd, stat, folder: &self.path })
    }

    fn subfolder(
        &mut self,
        dir: BorrowedFd<'_>,
        name: &CStr,
        depth: usize,
    ) -> Result<bool, DriveError> {
        let Some((folder, stat)) = self.open(dir, name, OFlags::DIRECTORY)? else {
            return Ok(true);
        };
        let is_of_a_run = name.to_bytes().starts_with(PREFIX.as_bytes());
        if stat.st_dev != self.device || is_of_a_run || depth >= DEPTH_MAX {
            self.left_out.elsewhere += 1;
            return Ok(true);
        }
        self.visitor.enter(name)?;
        self.path.push(as_path(name));
        let goes_on = self.folder(folder.as_fd(), depth + 1);
        self.path.pop();
        self.visitor.leave();
        goes_on
    }

    /// Opens an entry, unless it is to be left out.
    fn open(
        &mut self,
        dir: BorrowedFd<'_>,
        name: &CStr,
        flags: OFlags,
    ) -> Result<Option<(OwnedFd, Stat)>, DriveError> {
        let opened = syscalls::open_in(dir, name, flags)
            .and_then(|fd| rustix::fs::fstat(&fd).map(|stat| (fd, stat)));
        opened.map(Some).or_else(|errno| self.missed(errno).map(|()| None))
    }

    fn missed(&mut self, errno: Errno) -> Result<(), DriveError> {
        match errno {
            Errno::NOENT | Errno::NOTDIR | Errno::STALE => self.left_out.vanished += 1,
            Errno::ACCESS | Errno::PERM => self.left_out.denied += 1,
            // A link or a socket stands where a file was.
            Errno::LOOP | Errno::NXIO => self.left_out.special += 1,
            errno => return Err(DriveError::from_errno("read", &self.path, errno)),
        }
        Ok(())
    }
}
