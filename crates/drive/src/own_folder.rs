//! The folder that drivescope makes for itself inside a directory target.
//!
//! It is hidden, private, and carries a manifest that names every file *before* the file is created.
//! Removal deletes the named files, the manifest and the empty folder; it never descends, never
//! follows a link, and leaves anything it does not know. While a run lives it holds a lock on its
//! manifest, so that what a killed run left behind is told from a run in progress, whatever its
//! process id.

mod free_space;
mod syscalls;

pub(crate) use free_space::no_room;
pub use free_space::room;

use crate::error::DriveError;
use crate::io_file::IoFile;
use drivescope_machine::roots::open_to_read;
use drivescope_model::units::Bytes;
use free_space::check_room;
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::fs::{AtFlags, FileType, FlockOperation, Mode, OFlags, Stat};
use rustix::io::Errno;
use serde::{Deserialize, Serialize};
use std::ffi::OsStr;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Beginning of the folder's name.
const PREFIX: &str = ".drivescope-";
/// Name of the manifest within it.
const MANIFEST: &str = "manifest.json";
/// Says what the folder is, in the manifest.
const PURPOSE: &str = "test files of drivescope; safe to remove when no drivescope is running";
/// Longest manifest that is read: a name per file and no run makes many.
const MANIFEST_MAX_BYTES: usize = 64 << 10;

/// What FUSE and NFS call a file that was removed before its last descriptor was released.
const LEAVING: [&str; 2] = [".fuse_hidden", ".nfs"];
/// Both release a closed file a moment later: how long that is waited for, and how often it is looked.
const LEAVING_TIME_MAX: Duration = Duration::from_secs(2);
const LEAVING_LOOK: Duration = Duration::from_millis(10);

/// How often a folder is made anew that another run cleaned up before it was locked.
const MAKING_MAX: u32 = 10;

/// Folders of this process that are still there, for an end that cannot wait for their owners.
static OWN: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

fn own() -> MutexGuard<'static, Vec<PathBuf>> {
    OWN.lock().unwrap_or_else(PoisonError::into_inner)
}

#[derive(Debug, Serialize, Deserialize)]
struct Manifest {
    purpose: String,
    files: Vec<String>,
}

/// A folder of drivescope's own; removed when dropped.
#[derive(Debug)]
pub struct OwnFolder {
    parent: PathBuf,
    /// The same, should somebody give it or what it lies in another name.
    parent_dir: OwnedFd,
    path: PathBuf,
    dir: OwnedFd,
    /// Holds the lock until the files are gone; `None` when the folder is.
    manifest: Option<OwnedFd>,
    files: Vec<String>,
}

impl OwnFolder {
    /// Makes the folder in `parent`; `id` makes its name unique.
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
        let folder = Self { parent, parent_dir, path, dir, manifest, files: Vec::new() };
        folder.write_manifest()?;
        Ok(folder)
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Makes a file of `size` bytes, readable and writable, its space reserved; direct where a real
    /// transfer proves it. Refuses when the floor of free space would be broken.
    pub fn create_file(&mut self, name: &str, size: Bytes) -> Result<IoFile, DriveError> {
        assert!(is_plain_name(name), "own files have plain names: {name}");
        check_room(&self.parent, size)?;
        self.files.push(name.to_string());
        self.write_manifest()?;
        let path = self.path.join(name);
        let fail = |errno| self.write_error(&path, errno);
        let fd = syscalls::create_file(self.dir.as_fd(), name).map_err(fail)?;
        syscalls::reserve(fd.as_fd(), size.0).map_err(fail)?;
        // The probe of direct I/O reads the last block: give it one that exists on the medium.
        let block = [0u8; 4096];
        let last = size.0.saturating_sub(block.len() as u64);
        rustix::io::pwrite(&fd, &block[..block.len().min(size.0 as usize)], last).map_err(fail)?;
        rustix::fs::fsync(&fd).map_err(fail)?;
        drop(fd);
        self.open_file(name)
    }

    /// Opens a file made by [`OwnFolder::create_file`] once more.
    pub fn open_file(&self, name: &str) -> Result<IoFile, DriveError> {
        IoFile::open(&self.path.join(name), OFlags::RDWR, true, |flags| {
            syscalls::open_file(self.dir.as_fd(), name, flags)
        })
    }

    /// The same through the page cache.
    pub fn open_file_buffered(&self, name: &str) -> Result<IoFile, DriveError> {
        let path = self.path.join(name);
        let fd = syscalls::open_file(self.dir.as_fd(), name, OFlags::RDWR)
            .map_err(|errno| self.write_error(&path, errno))?;
        IoFile::buffered(fd, &path, true)
    }

    /// Removes one file before the folder goes, to give its space back. That it was never made is no error.
    pub fn remove_file(&mut self, name: &str) -> Result<(), DriveError> {
        let path = self.path.join(name);
        match syscalls::remove_file(self.dir.as_fd(), name) {
            Ok(()) | Err(Errno::NOENT) => {}
            Err(errno) => return Err(DriveError::from_errno("remove", &path, errno)),
        }
        self.files.retain(|file| file != name);
        self.write_manifest()
    }

    /// Whether `wanted` more bytes may be written without breaking the floor.
    pub fn check_room(&self, wanted: Bytes) -> Result<(), DriveError> {
        check_room(&self.parent, wanted)
    }

    /// Has the file system finish what it holds back, such as space that it has yet to free.
    pub fn sync_file_system(&self) -> Result<(), DriveError> {
        rustix::fs::syncfs(&self.dir).map_err(|errno| self.write_error(&self.path, errno))
    }

    /// Removes the folder and says so if that fails; otherwise done silently on drop.
    pub fn remove(mut self) -> Result<(), DriveError> {
        self.remove_now()
    }

    fn remove_now(&mut self) -> Result<(), DriveError> {
        let Some(manifest) = self.manifest.take() else { return Ok(()) };
        own().retain(|path| *path != self.path);
        remove_listed(&self.path, self.dir.as_fd(), &self.files)?;
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
        let manifest = Manifest { purpose: PURPOSE.to_string(), files: self.files.clone() };
        let text = serde_json::to_vec_pretty(&manifest).expect("a list of names is valid JSON");
        let fail = |errno| self.write_error(&self.path.join(MANIFEST), errno);
        // Overwrite, then cut: a kill in between leaves trailing bytes of the longer old text, which
        // `parse_manifest` ignores by reading one JSON value only.
        write_all(file.as_fd(), &text).map_err(fail)?;
        syscalls::set_length(file.as_fd(), text.len() as u64).map_err(fail)?;
        rustix::fs::fdatasync(file).map_err(fail)
    }

    fn write_error(&self, path: &Path, errno: Errno) -> DriveError {
        match errno {
            Errno::NOSPC => no_room(&self.parent, None),
            Errno::NOENT => DriveError::FolderGone { path: path.to_path_buf() },
            _ => DriveError::from_errno("write to", path, errno),
        }
    }
}

impl Drop for OwnFolder {
    fn drop(&mut self) {
        // The caller who wants to know uses `remove`; here there is nobody left to tell.
        let _ = self.remove_now();
    }
}

/// Removes the folders of this process while their owners may still write in them: for a program that ends
/// at once. As ever only what a manifest names goes; what remains, [`clean`] finds later.
pub fn remove_all_own() {
    for path in std::mem::take(&mut *own()) {
        let Ok(dir) = open_folder(&path) else { continue };
        let manifest = syscalls::open_file(dir.as_fd(), MANIFEST, OFlags::RDONLY);
        let Ok(manifest) = manifest else { continue };
        if let Ok(files) = parse_manifest(manifest.as_fd()) {
            // There is nobody left to tell, and nothing to wait for: the owners' descriptors go with the
            // process, and what then remains is an empty folder, which [`clean`] knows.
            let removed = remove_listed(&path, dir.as_fd(), &files);
            let _ = removed.and_then(|()| remove_emptied(&path, Duration::ZERO));
        }
    }
}

/// What [`clean`] and [`look`] found.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Cleaned {
    /// Folders of dead runs, which [`clean`] has removed and [`look`] has not.
    pub removed: Vec<PathBuf>,
    /// Folders of runs that are still alive.
    pub in_use: Vec<PathBuf>,
    /// Folders that look like ours but could not be removed, with the reason.
    pub kept: Vec<(PathBuf, String)>,
}

/// Removes what killed runs left in `parent`. Never touches a folder whose run is alive, that belongs
/// to another user, or that has no manifest of ours.
pub fn clean(parent: &Path) -> Result<Cleaned, DriveError> {
    walk(parent, remove_if_dead)
}

/// What [`clean`] would do in `parent`; changes nothing.
pub fn look(parent: &Path) -> Result<Cleaned, DriveError> {
    walk(parent, is_dead)
}

/// Asks `is_done` about everything in `parent` that is named like a folder of ours.
fn walk(
    parent: &Path,
    is_done: impl Fn(&Path) -> Result<bool, String>,
) -> Result<Cleaned, DriveError> {
    let mut cleaned = Cleaned::default();
    let entries = std::fs::read_dir(parent).map_err(|e| DriveError::from_io("read", parent, e))?;
    for entry in entries.flatten() {
        let name = entry.file_name();
        if !name.to_string_lossy().starts_with(PREFIX) {
            continue;
        }
        let path = entry.path();
        match is_done(&path) {
            Ok(true) => cleaned.removed.push(path),
            Ok(false) => cleaned.in_use.push(path),
            Err(why) => cleaned.kept.push((path, why)),
        }
    }
    Ok(cleaned)
}

/// Space that the files take which [`clean`] would remove from `parent`.
fn leftover_bytes(parent: &Path) -> u64 {
    let bytes_of = |folder: PathBuf| {
        let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
        entries.filter_map(|entry| Some(entry.metadata().ok()?.blocks() * 512)).sum::<u64>()
    };
    look(parent).map_or(0, |found| found.removed.into_iter().map(bytes_of).sum())
}

/// Makes the folder and its manifest, and locks that.
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

/// A folder that is ours by its owner and its manifest.
enum LeftoverFolder {
    Alive,
    /// Killed between making the folder and its manifest.
    Empty,
    /// The lock on the manifest keeps others from cleaning it at the same time.
    Dead {
        dir: OwnedFd,
        lock: OwnedFd,
        files: Vec<String>,
    },
}

fn examine(path: &Path) -> Result<LeftoverFolder, String> {
    let say = |errno: Errno| errno.to_string();
    let dir = open_folder(path).map_err(say)?;
    let found = rustix::fs::fstat(&dir).map_err(say)?;
    // It is made for its user alone: where others may enter, owners are not kept (FAT, NTFS).
    let keeps_owners =
        Mode::from_raw_mode(found.st_mode).intersection(Mode::RWXG | Mode::RWXO).is_empty();
    if keeps_owners && found.st_uid != rustix::process::geteuid().as_raw() {
        return Err(
            "it belongs to another user, who (or root) can remove it with run --clean".to_string()
        );
    }
    let manifest = match syscalls::open_file(dir.as_fd(), MANIFEST, OFlags::RDWR) {
        Ok(manifest) => manifest,
        Err(Errno::NOENT) => return Ok(LeftoverFolder::Empty),
        Err(errno) => return Err(say(errno)),
    };
    if lock(manifest.as_fd()) == Err(Errno::WOULDBLOCK) {
        return Ok(LeftoverFolder::Alive);
    }
    let files = parse_manifest(manifest.as_fd())?;
    Ok(LeftoverFolder::Dead { dir, lock: manifest, files })
}

/// Removes the folder of a dead run; `Ok(false)` if the run is alive.
fn remove_if_dead(path: &Path) -> Result<bool, String> {
    match examine(path)? {
        LeftoverFolder::Alive => return Ok(false),
        LeftoverFolder::Empty => {
            syscalls::remove_folder(path).map_err(|errno| errno.to_string())?
        }
        LeftoverFolder::Dead { dir, lock, files } => {
            // All or nothing: without its manifest the folder would be nobody's.
            refuse_foreign(path, &files)?;
            empty_listed(dir.as_fd(), &files);
            remove_listed(path, dir.as_fd(), &files).map_err(|error| error.to_string())?;
            drop(lock);
            remove_emptied(path, LEAVING_TIME_MAX).map_err(|error| error.to_string())?;
        }
    }
    Ok(true)
}

/// Whether the folder is one of a dead run with nothing else in it; `Ok(false)` if the run is alive.
fn is_dead(path: &Path) -> Result<bool, String> {
    let files = match examine(path)? {
        LeftoverFolder::Alive => return Ok(false),
        LeftoverFolder::Empty => Vec::new(),
        LeftoverFolder::Dead { files, .. } => files,
    };
    refuse_foreign(path, &files).map(|()| true)
}

/// Names what lies in the folder and is in no manifest.
fn refuse_foreign(path: &Path, files: &[String]) -> Result<(), String> {
    let is_ours = |name: &OsStr| name == MANIFEST || files.iter().any(|file| **file == *name);
    let entries = std::fs::read_dir(path).map_err(|error| error.to_string())?;
    match entries.flatten().map(|entry| entry.file_name()).find(|name| !is_ours(name)) {
        None => Ok(()),
        Some(name) => Err(format!(
            "{} in it is not drivescope's; move it elsewhere and clean again, or remove the folder by hand",
            name.to_string_lossy()
        )),
    }
}

fn parse_manifest(fd: BorrowedFd<'_>) -> Result<Vec<String>, String> {
    let mut text = vec![0u8; MANIFEST_MAX_BYTES];
    let len = rustix::io::pread(fd, &mut text, 0).map_err(|e| e.to_string())?;
    if len == 0 {
        return Ok(Vec::new()); // killed before the first line was written: no files yet
    }
    let mut values = serde_json::Deserializer::from_slice(&text[..len]).into_iter::<Manifest>();
    match values.next() {
        Some(Ok(manifest)) if manifest.files.iter().all(|name| is_plain_name(name)) => {
            Ok(manifest.files)
        }
        _ => Err("its manifest is not drivescope's; remove it by hand if nothing in it is needed"
            .to_string()),
    }
}

/// A name that stays within the folder.
fn is_plain_name(name: &str) -> bool {
    !name.is_empty() && name != "." && name != ".." && !name.contains(['/', '\0'])
}

fn open_folder(path: &Path) -> Result<OwnedFd, Errno> {
    open_to_read(path, OFlags::DIRECTORY | OFlags::NOFOLLOW)
}

fn lock(fd: BorrowedFd<'_>) -> Result<(), Errno> {
    match rustix::fs::flock(fd, FlockOperation::NonBlockingLockExclusive) {
        // A file system without locks: other runs are told apart by their folders' names only.
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
    let is_ours_alone = |stat: Stat| {
        stat.st_nlink == 1 && FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile
    };
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

/// Deletes the named files and the manifest.
fn remove_listed(path: &Path, dir: BorrowedFd<'_>, files: &[String]) -> Result<(), DriveError> {
    let fail = |errno| cannot_clean(path, errno);
    for name in files.iter().map(String::as_str).chain([MANIFEST]) {
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

/// Whether all that is still in the folder are removed files that somebody has yet to release.
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
        done += rustix::io::pwrite(fd, &bytes[done..], done as u64)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests;
