//! The folder that drivescope makes for itself inside a directory target.
//!
//! It is hidden, private, and carries a manifest that names every file *before* the file is created. Removal deletes
//! the named files, the named trees, the manifest and the empty folder; it never follows a link, never leaves the file
//! system, and keeps anything that it does not know beside them. A living run holds a lock on its manifest, which
//! distinguishes it from the remains of a killed run, whatever its process id.
//!
//! Tests of many files work in [`trees`]: folders in it that the manifest names as a whole. Servers that work in such a
//! tree are named too (`programs.rs`), and ended before it goes.

pub mod copying;
mod directory_names;
mod free_space;
mod joined;
mod leftovers;
mod manifest;
mod programs;
pub mod source_tree;
mod syscalls;
pub mod trees;

pub(crate) use free_space::no_room;
pub use free_space::room;
pub use leftovers::{Cleaned, clean, clean_for, look, look_for};

use crate::error::DriveError;
use crate::io_file::IoFile;
use drivescope_machine::roots::open_to_read;
use drivescope_model::units::Bytes;
use free_space::{check_room, not_reserved};
use manifest::{MANIFEST, Manifest, is_plain_name, parse_manifest};
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::fs::{AtFlags, FileType, FlockOperation, OFlags, Stat};
use rustix::io::{Errno, retry_on_intr};
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

const PREFIX: &str = ".drivescope-";

/// Prefixes of removed files that a program still has open, on FUSE and NFS.
const LEAVING: [&str; 2] = [".fuse_hidden", ".nfs"];
/// Both release a closed file a moment later: the longest wait, and the interval between checks.
const LEAVING_TIME_MAX: Duration = Duration::from_secs(2);
const LEAVING_LOOK: Duration = Duration::from_millis(10);

/// Attempts to make a folder that other runs clean up before it is locked.
const MAKING_MAX: u32 = 10;

/// Existing folders of this process, for an end that cannot wait for their owners.
static OWN: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

fn own() -> MutexGuard<'static, Vec<PathBuf>> {
    OWN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A folder of drivescope's own; removed when dropped.
#[derive(Debug)]
pub struct OwnFolder {
    parent: PathBuf,
    /// Valid even if the folder or its parent is renamed.
    parent_dir: OwnedFd,
    path: PathBuf,
    dir: OwnedFd,
    /// Holds the lock until the files are gone; `None` when the folder is.
    manifest: Option<OwnedFd>,
    holds: Manifest,
}

impl OwnFolder {
    pub fn create(parent: &Path, id: &str) -> Result<Self, DriveError> {
        let fail = |errno| DriveError::from_errno("write in", parent, errno);
        let parent_dir = open_to_read(parent, OFlags::PATH | OFlags::DIRECTORY).map_err(fail)?;
        // Until it is locked, another run may take it for one that a killed run left.
        let taken = |errno: &Errno| matches!(*errno, Errno::NOENT | Errno::WOULDBLOCK);
        let mut path = parent.join(format!("{PREFIX}{id}"));
        let mut made = make_locked(&path);
        for again in 1..MAKING_MAX {
            if !made.as_ref().is_err_and(taken) {
                break;
            }
            path = parent.join(format!("{PREFIX}{id}-{again}"));
            made = make_locked(&path);
        }
        let (dir, manifest) = made.map_err(fail)?;
        own().push(path.clone());
        let (parent, manifest) = (parent.to_path_buf(), Some(manifest));
        let folder = Self { parent, parent_dir, path, dir, manifest, holds: Manifest::empty() };
        folder.write_manifest()?;
        Ok(folder)
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Makes a file of `size` bytes, readable and writable, its space reserved; direct where a real
    /// transfer proves it. Refuses when the floor of free space would be broken.
    pub fn create_file(&mut self, name: &str, size: Bytes) -> Result<IoFile, DriveError> {
        assert!(is_plain_name(name), "own files have plain names: {name}");
        check_room(&self.parent, size)?;
        self.holds.files.push(name.to_string());
        self.write_manifest()?;
        let path = self.path.join(name);
        let fail = |errno| self.write_error(&path, errno);
        let fd = syscalls::create_file(self.dir.as_fd(), name).map_err(fail)?;
        syscalls::reserve(fd.as_fd(), size.0).map_err(|errno| match errno {
            Errno::NOSPC => not_reserved(&self.parent, &path, size),
            _ => fail(errno),
        })?;
        // The probe of direct I/O reads the last block: give it one that exists on the medium.
        let block = [0u8; 4096];
        let last = size.0.saturating_sub(block.len() as u64);
        let block = &block[..block.len().min(size.0 as usize)];
        retry_on_intr(|| rustix::io::pwrite(&fd, block, last)).map_err(fail)?;
        retry_on_intr(|| rustix::fs::fsync(&fd)).map_err(fail)?;
        drop(fd);
        self.open_file(name)
    }

    /// Cuts a file made by [`OwnFolder::create_file`], and opens it once more.
    pub fn shorten_file(&self, name: &str, size: Bytes) -> Result<IoFile, DriveError> {
        let fail = |errno| self.write_error(&self.path.join(name), errno);
        let fd = syscalls::open_file(self.dir.as_fd(), name, OFlags::WRONLY).map_err(fail)?;
        syscalls::set_length(fd.as_fd(), size.0).map_err(fail)?;
        rustix::fs::fsync(&fd).map_err(fail)?;
        self.open_file(name)
    }

    /// A file of [`OwnFolder::create_file`], once more.
    pub fn open_file(&self, name: &str) -> Result<IoFile, DriveError> {
        IoFile::open(&self.path.join(name), OFlags::RDWR, true, |flags| {
            syscalls::open_file(self.dir.as_fd(), name, flags)
        })
    }

    /// As [`Self::open_file`], through the page cache.
    pub fn open_file_buffered(&self, name: &str) -> Result<IoFile, DriveError> {
        let path = self.path.join(name);
        let fd = syscalls::open_file(self.dir.as_fd(), name, OFlags::RDWR)
            .map_err(|errno| self.write_error(&path, errno))?;
        IoFile::buffered(fd, &path, true)
    }

    /// Removes one file before the folder goes, to free its space. A missing one is not an error.
    pub fn remove_file(&mut self, name: &str) -> Result<(), DriveError> {
        let path = self.path.join(name);
        match syscalls::remove_file(self.dir.as_fd(), name) {
            Ok(()) | Err(Errno::NOENT) => {}
            Err(errno) => return Err(DriveError::from_errno("remove", &path, errno)),
        }
        self.holds.files.retain(|file| file != name);
        self.write_manifest()
    }

    /// Whether `wanted` more bytes may be written without breaking the floor.
    pub fn check_room(&self, wanted: Bytes) -> Result<(), DriveError> {
        check_room(&self.parent, wanted)
    }

    /// Lets the file system finish pending work, such as freeing space.
    pub fn sync_file_system(&self) -> Result<(), DriveError> {
        retry_on_intr(|| rustix::fs::syncfs(&self.dir))
            .map_err(|errno| self.write_error(&self.path, errno))
    }

    /// Removes the folder and says so if that fails; otherwise done silently on drop.
    pub fn remove(mut self) -> Result<(), DriveError> {
        self.remove_now()
    }

    fn remove_now(&mut self) -> Result<(), DriveError> {
        let Some(manifest) = self.manifest.take() else { return Ok(()) };
        own().retain(|path| *path != self.path);
        if self.holds.kept {
            return remove_files(&self.path, self.dir.as_fd(), &self.holds.files);
        }
        remove_listed(&self.path, self.dir.as_fd(), &self.holds)?;
        drop(manifest);
        remove_emptied(&self.path, LEAVING_TIME_MAX)?;
        let Some(name) = self.path.file_name() else { return Ok(()) };
        match syscalls::remove_folder_in(self.parent_dir.as_fd(), name) {
            Ok(()) | Err(Errno::NOENT) => Ok(()),
            Err(errno) => Err(cannot_clean(&self.path, errno)),
        }
    }

    fn write_manifest(&self) -> Result<(), DriveError> {
        let Some(file) = &self.manifest else { return Ok(()) };
        let text = serde_json::to_vec_pretty(&self.holds).expect("a list of names is valid JSON");
        let fail = |errno| self.write_error(&self.path.join(MANIFEST), errno);
        // Overwrite, then cut: a kill in between leaves trailing bytes of the longer old text, which
        // `parse_manifest` ignores by reading one JSON value only.
        write_all(file.as_fd(), &text).map_err(fail)?;
        syscalls::set_length(file.as_fd(), text.len() as u64).map_err(fail)?;
        retry_on_intr(|| rustix::fs::fdatasync(file)).map_err(fail)
    }

    fn write_error(&self, path: &Path, errno: Errno) -> DriveError {
        write_error(&self.parent, path, errno)
    }
}

/// The error for something in a folder of `parent` that could not be written.
fn write_error(parent: &Path, path: &Path, errno: Errno) -> DriveError {
    match errno {
        Errno::NOSPC => no_room(parent, None),
        Errno::NOENT => DriveError::FolderGone { path: path.to_path_buf() },
        _ => DriveError::from_errno("write to", path, errno),
    }
}

impl Drop for OwnFolder {
    fn drop(&mut self) {
        // A caller that needs the result uses `remove`; a drop has no one to report to.
        let _ = self.remove_now();
    }
}

/// Removes the folders of this process although their owners may still write in them: for a program that ends at
/// once. Only what a manifest names goes; what remains, [`clean`] finds later.
pub fn remove_all_own() {
    for path in std::mem::take(&mut *own()) {
        let Ok(dir) = open_folder(&path) else { continue };
        let manifest = syscalls::open_file(dir.as_fd(), MANIFEST, OFlags::RDONLY);
        let Ok(manifest) = manifest else { continue };
        if let Ok(holds) = parse_manifest(manifest.as_fd()).and_then(not_kept) {
            // Nothing to report or wait for: the descriptors close with the process, and [`clean`] removes the empty
            // folder that remains.
            let removed = remove_listed(&path, dir.as_fd(), &holds);
            let _ = removed.and_then(|()| remove_emptied(&path, Duration::ZERO));
        }
    }
}

/// Makes the folder with its locked manifest.
fn make_locked(path: &Path) -> Result<(OwnedFd, OwnedFd), Errno> {
    syscalls::make_folder(path)?;
    let made = open_folder(path).and_then(|dir| {
        let locked = syscalls::create_file(dir.as_fd(), MANIFEST)
            .and_then(|manifest| lock(manifest.as_fd()).map(|()| manifest));
        if locked.is_err() {
            // Nothing is in it yet but, perhaps, an empty manifest.
            let _ = syscalls::remove_file(dir.as_fd(), MANIFEST);
        }
        Ok((dir, locked?))
    });
    if made.is_err() {
        let _ = syscalls::remove_folder(path);
    }
    made
}

fn open_folder(path: &Path) -> Result<OwnedFd, Errno> {
    open_to_read(path, OFlags::DIRECTORY | OFlags::NOFOLLOW)
}

fn lock(fd: BorrowedFd<'_>) -> Result<(), Errno> {
    match rustix::fs::flock(fd, FlockOperation::NonBlockingLockExclusive) {
        // A file system without locks: only the folders' names distinguish runs.
        Err(Errno::NOLCK | Errno::OPNOTSUPP | Errno::NOSYS) => Ok(()),
        other => other,
    }
}

fn cannot_clean(path: &Path, errno: Errno) -> DriveError {
    DriveError::CannotClean { path: path.into(), why: errno.to_string() }
}

/// Gives the space of a dead run's files back at once: its io_uring may hold them a moment longer than its
/// process lives, and deleted files keep their space for as long as they are held. Files with a second name are
/// left alone.
fn empty_listed(dir: BorrowedFd<'_>, files: &[String]) {
    for name in files {
        let found = rustix::fs::statat(dir, name, AtFlags::SYMLINK_NOFOLLOW);
        if !found.is_ok_and(is_ours_alone) {
            continue;
        }
        let Ok(file) = syscalls::open_file(dir, name, OFlags::WRONLY) else { continue };
        if rustix::fs::fstat(&file).is_ok_and(is_ours_alone) {
            // What cannot be emptied is deleted all the same.
            let _ = syscalls::set_length(file.as_fd(), 0);
        }
    }
}

fn is_ours_alone(stat: Stat) -> bool {
    stat.st_nlink == 1 && FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile
}

/// A manifest whose folder ends with its run. Errors: it is to stay.
fn not_kept(holds: Manifest) -> Result<Manifest, String> {
    if holds.kept { Err("kept for later".to_string()) } else { Ok(holds) }
}

/// Ends the programs, and deletes the named files, the trees and the manifest.
fn remove_listed(path: &Path, dir: BorrowedFd<'_>, holds: &Manifest) -> Result<(), DriveError> {
    programs::end(path, dir, holds)?;
    remove_files(path, dir, &holds.files)?;
    for name in &holds.trees {
        trees::remove(dir, name).map_err(|errno| cannot_clean(path, errno))?;
    }
    remove_files(path, dir, &[MANIFEST.to_string()])
}

fn remove_files(path: &Path, dir: BorrowedFd<'_>, files: &[String]) -> Result<(), DriveError> {
    let fail = |errno| cannot_clean(path, errno);
    for name in files {
        match rustix::fs::statat(dir, name, AtFlags::SYMLINK_NOFOLLOW) {
            Err(Errno::NOENT) => continue,
            Err(errno) => return Err(fail(errno)),
            Ok(stat) if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile => {
                return Err(fail(Errno::NOTSUP));
            }
            Ok(_) => syscalls::remove_file(dir, name).map_err(fail)?,
        }
    }
    Ok(())
}

/// Removes the folder whose files are deleted and closed; fails if anything else is in it. The manifest
/// must be closed too: while it is open, its file system may keep it under another name.
fn remove_emptied(path: &Path, patience: Duration) -> Result<(), DriveError> {
    let start = Instant::now();
    loop {
        match syscalls::remove_folder(path) {
            Err(Errno::NOTEMPTY | Errno::EXIST)
                if start.elapsed() < patience && holds_only_leaving(path) =>
            {
                std::thread::sleep(LEAVING_LOOK);
            }
            // Without its manifest it looks like one that was never finished: another run may remove it.
            Err(Errno::NOENT) => return Ok(()),
            other => return other.map_err(|errno| cannot_clean(path, errno)),
        }
    }
}

/// Whether the folder holds only removed files that other programs have yet to close.
fn holds_only_leaving(path: &Path) -> bool {
    let Ok(entries) = std::fs::read_dir(path) else { return false };
    let is_leaving = |name: &OsStr| {
        LEAVING.iter().any(|prefix| name.as_encoded_bytes().starts_with(prefix.as_bytes()))
    };
    entries.flatten().all(|entry| is_leaving(&entry.file_name()))
}

fn write_all(fd: BorrowedFd<'_>, bytes: &[u8]) -> Result<(), Errno> {
    let mut done = 0;
    while done < bytes.len() {
        done += retry_on_intr(|| rustix::io::pwrite(fd, &bytes[done..], done as u64))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests;
