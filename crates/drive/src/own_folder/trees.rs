//! Folders full of files within a run's own folder: made, filled and removed here, and nowhere else.
//!
//! The manifest names a tree before it is made. Everything in it is ours: its removal descends, but through
//! directories only, never through a link, and never into another file system.

use super::directory_names::{DirectoryNames, as_path};
use super::manifest::is_plain_name;
use super::source_tree::{DEPTH_MAX, SourceTree};
use super::{OwnFolder, leftovers, syscalls};
use crate::error::DriveError;
use drivescope_model::units::Bytes;
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::fs::{AtFlags, FileType, OFlags};
use rustix::io::{Errno, retry_on_intr};
use std::ffi::{CStr, CString};
use std::path::{Path, PathBuf};

impl OwnFolder {
    pub fn create_tree(&mut self, name: &str) -> Result<TreeFolder, DriveError> {
        assert!(is_plain_name(name), "own trees have plain names: {name}");
        self.holds.trees.push(name.to_string());
        self.write_manifest()?;
        let path = self.path.join(name);
        let made = syscalls::make_folder_in(self.dir.as_fd(), &c_name(name));
        made.map_err(|errno| self.write_error(&path, errno))?;
        self.open_tree(name)
    }

    pub fn open_tree(&self, name: &str) -> Result<TreeFolder, DriveError> {
        let path = self.path.join(name);
        let dir = open_folder_in(self.dir.as_fd(), &c_name(name));
        let dir = dir.map_err(|errno| self.write_error(&path, errno))?;
        Ok(TreeFolder { dir, path, parent: self.parent.clone() })
    }

    pub fn has_tree(&self, name: &str) -> bool {
        self.holds.trees.iter().any(|tree| tree == name)
    }

    /// Removes a tree and its contents. A missing one is not an error.
    pub fn remove_tree(&mut self, name: &str) -> Result<(), DriveError> {
        let path = self.path.join(name);
        remove(self.dir.as_fd(), name)
            .map_err(|errno| DriveError::from_errno("remove", &path, errno))?;
        self.holds.trees.retain(|tree| tree != name);
        self.write_manifest()
    }

    /// Keeps the trees after the run, for a later one; `run --clean` removes them.
    pub fn keep_trees(&mut self) -> Result<(), DriveError> {
        self.holds.kept = true;
        self.write_manifest()
    }

    /// Whether the target is the root of a mount and holds nothing but folders of ours and what mkfs put there.
    pub fn is_alone(&self) -> bool {
        fn device(path: &Path) -> Option<u64> {
            rustix::fs::stat(path).ok().map(|stat| stat.st_dev)
        }
        let is_mount = device(&self.parent) != device(&self.parent.join(".."));
        let Ok(entries) = std::fs::read_dir(&self.parent) else { return false };
        let is_ours = |entry: std::fs::DirEntry| {
            let name = entry.file_name();
            name == "lost+found" || name.to_string_lossy().starts_with(super::PREFIX)
        };
        is_mount && entries.flatten().all(is_ours)
    }

    /// The folder that an earlier run left in `parent` with a tree of this name, taken over; `None` if there is none.
    /// It is kept or removed at the end as before.
    pub fn adopt(parent: &Path, tree: &str) -> Result<Option<Self>, DriveError> {
        let flags = OFlags::PATH | OFlags::DIRECTORY;
        let parent_dir = drivescope_machine::roots::open_to_read(parent, flags)
            .map_err(|errno| DriveError::from_errno("write in", parent, errno))?;
        let found = leftovers::find_tree(parent, tree);
        Ok(found.map(|(path, dir, lock, holds)| {
            super::own().push(path.clone());
            let (parent, manifest) = (parent.to_path_buf(), Some(lock));
            Self { parent, parent_dir, path, dir, manifest, holds }
        }))
    }
}

/// A directory in a tree of a run's own folder.
#[derive(Debug)]
pub struct TreeFolder {
    dir: OwnedFd,
    path: PathBuf,
    parent: PathBuf,
}

impl TreeFolder {
    pub fn path(&self) -> &Path {
        &self.path
    }

    pub fn create_folder(&self, name: &CStr) -> Result<Self, DriveError> {
        let path = self.path.join(as_path(name));
        let made = syscalls::make_folder_in(self.dir.as_fd(), name)
            .and_then(|()| open_folder_in(self.dir.as_fd(), name));
        let dir = made.map_err(|errno| self.write_error(&path, errno))?;
        Ok(Self { dir, path, parent: self.parent.clone() })
    }

    pub fn create_file(&self, name: &CStr) -> Result<TreeFile, DriveError> {
        let path = || self.path.join(as_path(name));
        let fd = syscalls::create_file_in(self.dir.as_fd(), name);
        let fd = fd.map_err(|errno| self.write_error(&path(), errno))?;
        Ok(TreeFile { fd, parent: self.parent.clone() })
    }

    /// Makes an empty file with the calls of `cp`: stat of the name, open, fstat. The answers are known; asking is a
    /// part of the time that a copy takes.
    pub(super) fn create_copy(&self, name: &CStr) -> Result<TreeFile, DriveError> {
        let _ = rustix::fs::statat(&self.dir, name, AtFlags::SYMLINK_NOFOLLOW);
        let file = self.create_file(name)?;
        let _ = rustix::fs::fstat(&file.fd);
        Ok(file)
    }

    /// Removes a file of the tree; a missing one is not an error.
    pub fn remove_file(&self, name: &CStr) -> Result<(), DriveError> {
        match syscalls::remove_in(self.dir.as_fd(), name, AtFlags::empty()) {
            Ok(()) | Err(Errno::NOENT) => Ok(()),
            Err(errno) => {
                Err(DriveError::from_errno("remove", &self.path.join(as_path(name)), errno))
            }
        }
    }

    pub fn to_read(&self) -> Result<SourceTree, DriveError> {
        SourceTree::open(&self.path)
    }

    /// Through the page cache; `None` if there is none.
    pub fn open_file(&self, name: &CStr) -> Result<Option<OwnedFd>, DriveError> {
        match syscalls::open_in(self.dir.as_fd(), name, OFlags::empty()) {
            Ok(file) => Ok(Some(file)),
            Err(Errno::NOENT) => Ok(None),
            Err(errno) => {
                Err(DriveError::from_errno("read", &self.path.join(as_path(name)), errno))
            }
        }
    }

    pub fn file_names(&self) -> Result<Vec<CString>, DriveError> {
        let listing = DirectoryNames::read(self.dir.as_fd())
            .map_err(|errno| DriveError::from_errno("read", &self.path, errno))?;
        let files = listing.iter().filter(|(_, kind)| *kind == FileType::RegularFile);
        Ok(files.map(|(name, _)| name.to_owned()).collect())
    }

    pub(super) fn check_room(&self, wanted: u64) -> Result<(), DriveError> {
        super::check_room(&self.parent, Bytes(wanted))
    }

    pub(super) fn write_error(&self, path: &Path, errno: Errno) -> DriveError {
        super::write_error(&self.parent, path, errno)
    }
}

#[derive(Debug)]
pub struct TreeFile {
    pub(super) fd: OwnedFd,
    parent: PathBuf,
}

impl TreeFile {
    /// Writes all of `bytes` at this offset, through the page cache.
    pub fn write_at(&self, bytes: &[u8], offset: u64) -> Result<(), DriveError> {
        let mut done = 0;
        while done < bytes.len() {
            let write = || rustix::io::pwrite(&self.fd, &bytes[done..], offset + done as u64);
            match retry_on_intr(write) {
                Ok(0) => return Err(super::no_room(&self.parent, None)),
                Ok(count) => done += count,
                Err(errno) => return Err(super::write_error(&self.parent, &self.parent, errno)),
            }
        }
        Ok(())
    }

    /// Refuses `wanted` more bytes that would break the floor of free space.
    pub fn check_room(&self, wanted: u64) -> Result<(), DriveError> {
        super::check_room(&self.parent, Bytes(wanted))
    }

    /// Waits until its data are on the drive (`fdatasync`).
    pub fn sync(&self) -> Result<(), DriveError> {
        retry_on_intr(|| rustix::fs::fdatasync(&self.fd))
            .map_err(|errno| DriveError::from_errno("flush", &self.parent, errno))
    }
}

impl AsFd for TreeFile {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

/// A missing one is not an error.
pub(super) fn remove(dir: BorrowedFd<'_>, name: &str) -> Result<(), Errno> {
    let name = c_name(name);
    let tree = match open_folder_in(dir, &name) {
        Err(Errno::NOENT) => return Ok(()),
        other => other?,
    };
    let device = rustix::fs::fstat(&tree)?.st_dev;
    if rustix::fs::fstat(dir)?.st_dev != device {
        return Err(Errno::XDEV);
    }
    remove_contents(tree.as_fd(), device, 0)?;
    syscalls::remove_in(dir, &name, AtFlags::REMOVEDIR)
}

fn remove_contents(dir: BorrowedFd<'_>, device: u64, depth: usize) -> Result<(), Errno> {
    // What is copied here is no deeper; a descriptor is held for each level.
    if depth > DEPTH_MAX + 1 {
        return Err(Errno::LOOP);
    }
    for (name, kind) in DirectoryNames::read(dir)?.iter() {
        if kind != FileType::Directory {
            syscalls::remove_in(dir, name, AtFlags::empty())?;
            continue;
        }
        let folder = open_folder_in(dir, name)?;
        if rustix::fs::fstat(&folder)?.st_dev != device {
            return Err(Errno::XDEV);
        }
        remove_contents(folder.as_fd(), device, depth + 1)?;
        syscalls::remove_in(dir, name, AtFlags::REMOVEDIR)?;
    }
    Ok(())
}

pub(super) fn open(dir: BorrowedFd<'_>, name: &str) -> Result<OwnedFd, Errno> {
    open_folder_in(dir, &c_name(name))
}

fn open_folder_in(dir: BorrowedFd<'_>, name: &CStr) -> Result<OwnedFd, Errno> {
    syscalls::open_in(dir, name, OFlags::DIRECTORY)
}

fn c_name(name: &str) -> CString {
    CString::new(name).expect("plain names have no NUL")
}

#[cfg(test)]
mod tests;
