//! Finds and removes the remains of killed runs in a directory; living runs stay.

use super::manifest::{MANIFEST, Manifest, parse_manifest};
use super::{
    LEAVING_TIME_MAX, PREFIX, empty_listed, lock, open_folder, remove_emptied, remove_listed,
    syscalls,
};
use crate::error::DriveError;
use rustix::fd::{AsFd, OwnedFd};
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// What [`clean`] and [`look`] found.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Cleaned {
    /// Folders of dead runs, removed by [`clean`], only listed by [`look`].
    pub removed: Vec<PathBuf>,
    pub in_use: Vec<PathBuf>,
    /// Folders whose files were kept on purpose, or may be continued.
    pub spared: Vec<PathBuf>,
    /// Folders that look like ours but could not be removed, with the reason.
    pub kept: Vec<(PathBuf, String)>,
}

/// Removes what killed runs left in `parent`. Never touches a folder whose run is alive, that belongs
/// to another user, or that has no manifest of ours.
pub fn clean(parent: &Path) -> Result<Cleaned, DriveError> {
    walk(parent, |path| remove_if_dead(path, |_| false))
}

/// What [`clean`] would do in `parent`; changes nothing.
pub fn look(parent: &Path) -> Result<Cleaned, DriveError> {
    walk(parent, |path| is_dead(path, |_| false))
}

/// Like [`clean`] before a run: files that were kept on purpose stay, and with `resumes` all that could be continued.
pub fn clean_for(parent: &Path, resumes: bool) -> Result<Cleaned, DriveError> {
    walk(parent, |path| remove_if_dead(path, |holds| is_spared(holds, resumes)))
}

/// What [`clean_for`] would do in `parent`; changes nothing.
pub fn look_for(parent: &Path, resumes: bool) -> Result<Cleaned, DriveError> {
    walk(parent, |path| is_dead(path, |holds| is_spared(holds, resumes)))
}

fn is_spared(holds: &Manifest, resumes: bool) -> bool {
    holds.kept || (resumes && !holds.trees.is_empty() && holds.programs.is_empty())
}

/// A folder of a dead run in `parent` that has a tree of this name, now locked and ours; the one whose manifest
/// was changed last.
pub(super) fn find_tree(
    parent: &Path,
    tree: &str,
) -> Option<(PathBuf, OwnedFd, OwnedFd, Manifest)> {
    let entries = std::fs::read_dir(parent).ok()?.flatten();
    let named = entries.filter(|entry| entry.file_name().to_string_lossy().starts_with(PREFIX));
    let mut paths: Vec<PathBuf> = named.map(|entry| entry.path()).collect();
    paths
        .sort_by_key(|path| std::fs::metadata(path.join(MANIFEST)).and_then(|m| m.modified()).ok());
    paths.into_iter().rev().find_map(|path| match examine(&path) {
        Ok(LeftoverFolder::Dead { dir, lock, holds })
            if holds.trees.iter().any(|name| name == tree) =>
        {
            Some((path, dir, lock, holds))
        }
        _ => None,
    })
}

enum Leftover {
    Removed,
    InUse,
    Spared,
}

/// Asks `is_done` about every entry of `parent` that is named like a folder of ours.
fn walk(
    parent: &Path,
    is_done: impl Fn(&Path) -> Result<Leftover, String>,
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
            Ok(Leftover::Removed) => cleaned.removed.push(path),
            Ok(Leftover::InUse) => cleaned.in_use.push(path),
            Ok(Leftover::Spared) => cleaned.spared.push(path),
            Err(why) => cleaned.kept.push((path, why)),
        }
    }
    Ok(cleaned)
}

/// Space of the files that [`clean_for`] would remove from `parent`.
pub(super) fn leftover_bytes(parent: &Path) -> u64 {
    look_for(parent, false).map_or(0, |found| found.removed.iter().map(|path| bytes_in(path)).sum())
}

fn bytes_in(folder: &Path) -> u64 {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let bytes_of = |entry: std::fs::DirEntry| match entry.metadata() {
        Ok(found) if found.is_dir() => bytes_in(&entry.path()),
        Ok(found) => found.blocks() * 512,
        Err(_) => 0,
    };
    entries.map(bytes_of).sum()
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
        holds: Manifest,
    },
}

fn examine(path: &Path) -> Result<LeftoverFolder, String> {
    fn say(errno: Errno) -> String {
        errno.to_string()
    }
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
    let holds = parse_manifest(manifest.as_fd())?;
    Ok(LeftoverFolder::Dead { dir, lock: manifest, holds })
}

/// Removes the folder of a dead run that is not spared; whether it did.
fn remove_if_dead(path: &Path, is_spared: impl Fn(&Manifest) -> bool) -> Result<Leftover, String> {
    match examine(path)? {
        LeftoverFolder::Alive => return Ok(Leftover::InUse),
        LeftoverFolder::Dead { holds, .. } if is_spared(&holds) => return Ok(Leftover::Spared),
        LeftoverFolder::Empty => {
            syscalls::remove_folder(path).map_err(|errno| errno.to_string())?
        }
        LeftoverFolder::Dead { dir, lock, holds } => {
            // All or nothing: without its manifest the folder would not be recognized.
            refuse_foreign(path, &holds)?;
            empty_listed(dir.as_fd(), &holds.files);
            remove_listed(path, dir.as_fd(), &holds).map_err(|error| error.to_string())?;
            drop(lock);
            remove_emptied(path, LEAVING_TIME_MAX).map_err(|error| error.to_string())?;
        }
    }
    Ok(Leftover::Removed)
}

/// Whether the folder is one of a dead run with nothing else in it.
fn is_dead(path: &Path, is_spared: impl Fn(&Manifest) -> bool) -> Result<Leftover, String> {
    let holds = match examine(path)? {
        LeftoverFolder::Alive => return Ok(Leftover::InUse),
        LeftoverFolder::Empty => Manifest::empty(),
        LeftoverFolder::Dead { holds, .. } if is_spared(&holds) => return Ok(Leftover::Spared),
        LeftoverFolder::Dead { holds, .. } => holds,
    };
    refuse_foreign(path, &holds).map(|()| Leftover::Removed)
}

/// Errors: it names files of the folder that no manifest has.
fn refuse_foreign(path: &Path, holds: &Manifest) -> Result<(), String> {
    let entries = std::fs::read_dir(path).map_err(|error| error.to_string())?;
    match entries.flatten().map(|entry| entry.file_name()).find(|name| !holds.names(name)) {
        None => Ok(()),
        Some(name) => Err(format!(
            "{} in it is not drivescope's; move it elsewhere and clean again, or remove the folder by hand",
            name.to_string_lossy()
        )),
    }
}
