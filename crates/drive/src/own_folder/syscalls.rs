//! The calls that change a run's own folder and the files in it.

use rustix::fd::{BorrowedFd, OwnedFd};
use rustix::fs::{AtFlags, FallocateFlags, Mode, OFlags};
use rustix::io::{Errno, retry_on_intr};
use std::ffi::{CStr, OsStr};
use std::path::Path;

#[expect(clippy::disallowed_methods, reason = "a new folder, for its user alone")]
pub(super) fn make_folder(path: &Path) -> Result<(), Errno> {
    rustix::fs::mkdir(path, Mode::RWXU)
}

#[expect(clippy::disallowed_methods, reason = "a new file in the run's own folder")]
pub(super) fn create_file(dir: BorrowedFd<'_>, name: &str) -> Result<OwnedFd, Errno> {
    let flags = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
    rustix::fs::openat(dir, name, flags, Mode::RUSR | Mode::WUSR)
}

#[expect(
    clippy::disallowed_methods,
    reason = "a file that the manifest of the run's own folder names"
)]
pub(super) fn open_file(dir: BorrowedFd<'_>, name: &str, flags: OFlags) -> Result<OwnedFd, Errno> {
    let flags = flags | OFlags::CLOEXEC | OFlags::NOFOLLOW;
    rustix::fs::openat(dir, name, flags, Mode::empty())
}

#[expect(
    clippy::disallowed_methods,
    reason = "a file that the manifest of the run's own folder names"
)]
pub(super) fn set_length(file: BorrowedFd<'_>, bytes: u64) -> Result<(), Errno> {
    retry_on_intr(|| rustix::fs::ftruncate(file, bytes))
}

/// Reserves space, so that a full file system says so at once and the file is laid out in one piece;
/// where the file system cannot, the length alone is set.
#[expect(clippy::disallowed_methods, reason = "it only adds space to a file that was just made")]
pub(super) fn reserve(file: BorrowedFd<'_>, bytes: u64) -> Result<(), Errno> {
    match retry_on_intr(|| rustix::fs::fallocate(file, FallocateFlags::empty(), 0, bytes)) {
        Err(Errno::OPNOTSUPP | Errno::NOSYS | Errno::INVAL) => set_length(file, bytes),
        other => other,
    }
}

/// As [`reserve`], but the file gets its length only where its space is reserved, which is returned. FAT reserves
/// space beyond the end of a file only, and fills a file that is made longer with zeros.
#[expect(clippy::disallowed_methods, reason = "it only adds space to a file that was just made")]
pub(super) fn reserve_if_possible(file: BorrowedFd<'_>, bytes: u64) -> Result<bool, Errno> {
    fn cannot(errno: Errno) -> bool {
        matches!(errno, Errno::OPNOTSUPP | Errno::NOSYS | Errno::INVAL)
    }
    let with = |flags| retry_on_intr(|| rustix::fs::fallocate(file, flags, 0, bytes));
    match with(FallocateFlags::empty()) {
        Err(errno) if cannot(errno) => match with(FallocateFlags::KEEP_SIZE) {
            Err(errno) if !cannot(errno) => Err(errno),
            _ => Ok(false),
        },
        other => other.map(|()| true),
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "a file that the manifest of the run's own folder names"
)]
pub(super) fn remove_file(dir: BorrowedFd<'_>, name: &str) -> Result<(), Errno> {
    rustix::fs::unlinkat(dir, name, AtFlags::empty())
}

#[expect(
    clippy::disallowed_methods,
    reason = "the run's own folder; the kernel removes only an empty one"
)]
pub(super) fn remove_folder(path: &Path) -> Result<(), Errno> {
    rustix::fs::rmdir(path)
}

#[expect(
    clippy::disallowed_methods,
    reason = "the run's own folder; the kernel removes only an empty one"
)]
pub(super) fn remove_folder_in(parent: BorrowedFd<'_>, name: &OsStr) -> Result<(), Errno> {
    rustix::fs::unlinkat(parent, name, AtFlags::REMOVEDIR)
}

#[expect(clippy::disallowed_methods, reason = "a new folder in a tree of the run's own folder")]
pub(super) fn make_folder_in(parent: BorrowedFd<'_>, name: &CStr) -> Result<(), Errno> {
    rustix::fs::mkdirat(parent, name, Mode::RWXU)
}

#[expect(clippy::disallowed_methods, reason = "a new file in a tree of the run's own folder")]
pub(super) fn create_file_in(parent: BorrowedFd<'_>, name: &CStr) -> Result<OwnedFd, Errno> {
    let flags = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC | OFlags::NOFOLLOW;
    rustix::fs::openat(parent, name, flags, Mode::RUSR | Mode::WUSR)
}

#[expect(clippy::disallowed_methods, reason = "it opens for reading only")]
pub(super) fn open_in(
    parent: BorrowedFd<'_>,
    name: &CStr,
    flags: OFlags,
) -> Result<OwnedFd, Errno> {
    // A pipe that was put in a file's place must not be waited for.
    let flags = flags | OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NOFOLLOW | OFlags::NONBLOCK;
    rustix::fs::openat(parent, name, flags, Mode::empty())
}

#[expect(clippy::disallowed_methods, reason = "an entry of a tree of the run's own folder")]
pub(super) fn remove_in(parent: BorrowedFd<'_>, name: &CStr, flags: AtFlags) -> Result<(), Errno> {
    rustix::fs::unlinkat(parent, name, flags)
}

#[expect(
    clippy::disallowed_methods,
    reason = "into a file that was just made in the run's own folder"
)]
pub(super) fn copy_range(
    from: BorrowedFd<'_>,
    into: BorrowedFd<'_>,
    at: u64,
    len: usize,
) -> Result<usize, Errno> {
    retry_on_intr(|| {
        let (mut read_at, mut write_at) = (at, at);
        rustix::fs::copy_file_range(from, Some(&mut read_at), into, Some(&mut write_at), len)
    })
}
