//! Finishing what a run could not: originals go back to the drive, whatever happened.

use super::byte_range::listed;
use super::format::{self, Id};
use super::rollback::{RollbackStep, not_restored, roll_back};
use super::scan::{JournalContents, SavedOriginals, scan};
use super::storage::{Folder, JournalFile, is_made};
use super::watermark::Watermark;
use super::{Disk, JournalError};
use std::io;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Recovered {
    /// The drive was never written, or is restored already; the file is removed.
    NothingToDo,
    /// Bytes restored and verified; the file is removed.
    Restored { bytes: u64 },
}

/// Restores `disk` from the journal `name`, verifies, and removes it. May be cut short and repeated.
///
/// Errors: another drive; one that is in use; a run that is alive; a damaged journal, of which all that is
/// whole is restored first; a drive that does not take it back. The journal stays.
pub fn recover<F: Folder>(
    folder: &mut F,
    name: &str,
    disk: &mut dyn Disk,
    on: &mut dyn FnMut(RollbackStep),
) -> Result<Recovered, JournalError> {
    let path = folder.path(name).display().to_string();
    let file = folder.open(name).map_err(|error| cannot_open(&path, error))?;
    recover_opened(folder, file, name, disk, on)
}

/// The same for an open, thus locked, journal.
pub(super) fn recover_opened<F: Folder>(
    folder: &mut F,
    mut file: F::File,
    name: &str,
    disk: &mut dyn Disk,
    on: &mut dyn FnMut(RollbackStep),
) -> Result<Recovered, JournalError> {
    let path = folder.path(name).display().to_string();
    let contents = scan(&mut file, is_made(name))
        .map_err(|e| JournalError::of_file("read", path.as_str(), e))?;
    let originals = match contents {
        JournalContents::NeverUsed | JournalContents::Done => {
            remove(folder, name)?;
            return Ok(Recovered::NothingToDo);
        }
        JournalContents::Nameless { records, required } => {
            let what = nameless(records, required.as_ref());
            return Err(JournalError::Damaged { path, what });
        }
        JournalContents::Open(originals) => originals,
    };
    if let Some(what) = originals.header.drive.difference(disk.identity()) {
        return Err(JournalError::WrongDrive { path, what });
    }
    if let Err(why) = disk.ready() {
        return Err(why.of_device(originals.header.drive.to_string()));
    }
    let refused = roll_back(disk, &mut file, &originals.saved, on).map_err(|why| {
        let drive = originals.header.drive.to_string();
        JournalError::Taken { drive, why }
    })?;
    if !refused.is_empty() {
        let drive = originals.header.drive.to_string();
        let besides = if originals.is_damaged() {
            format!("; besides, the journal is damaged: {}", damage(&originals))
        } else {
            String::new()
        };
        return Err(not_restored(drive, path, &refused, &besides));
    }
    if originals.is_damaged() {
        return Err(JournalError::Damaged { path, what: damage(&originals) });
    }
    remove_done(folder, file, name, &originals.header.id, originals.end)?;
    Ok(Recovered::Restored { bytes: originals.bytes() })
}

/// Removes a journal that needs no restore; `None` if it needs one.
pub(super) fn discard_if_settled<F: Folder>(
    folder: &mut F,
    name: &str,
) -> Result<Option<Recovered>, JournalError> {
    let path = folder.path(name).display().to_string();
    let mut file = folder.open(name).map_err(|error| cannot_open(&path, error))?;
    let contents = scan(&mut file, is_made(name))
        .map_err(|e| JournalError::of_file("read", path.as_str(), e))?;
    match contents {
        JournalContents::NeverUsed | JournalContents::Done => {
            remove(folder, name)?;
            Ok(Some(Recovered::NothingToDo))
        }
        _ => Ok(None),
    }
}

/// Marks the journal as done, and removes it.
pub(super) fn remove_done<F: Folder>(
    folder: &mut F,
    mut file: F::File,
    name: &str,
    id: &Id,
    end: u64,
) -> Result<(), JournalError> {
    // The drive has been verified: where there is no space even for this, removing says the same.
    let _ = file.write_at(end, &format::done(id)).and_then(|()| file.sync());
    remove(folder, name)
}

fn remove<F: Folder>(folder: &mut F, name: &str) -> Result<(), JournalError> {
    let removed = match folder.remove(name) {
        // Another process was faster.
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        other => other,
    };
    removed.and_then(|()| folder.sync()).map_err(|source| {
        let path = folder.path(name).display().to_string();
        JournalError::Remains { path, source }
    })
}

pub(super) fn cannot_open(path: &str, error: io::Error) -> JournalError {
    match error.kind() {
        io::ErrorKind::NotFound => JournalError::Gone { path: path.to_string() },
        io::ErrorKind::WouldBlock => JournalError::Running { path: path.to_string() },
        io::ErrorKind::PermissionDenied => JournalError::Foreign { path: path.to_string() },
        io::ErrorKind::Unsupported => {
            JournalError::NotAJournal { path: path.to_string(), why: error.to_string() }
        }
        _ => JournalError::of_file("open", path, error),
    }
}

pub(super) fn nameless(records: usize, required: Option<&Watermark>) -> String {
    let held = required.map_or(String::new(), |mark| format!("; it held {}", mark.description()));
    format!("its header is gone, so the drive of its {records} intact records is unknown{held}")
}

/// What of a journal is lost, and what is not.
pub(super) fn damage(originals: &SavedOriginals) -> String {
    let mut parts = Vec::new();
    if !originals.lost.is_empty() {
        parts.push(format!("the originals of {} are lost", listed(&originals.lost)));
    }
    if originals.unknown > 0 {
        parts.push(format!(
            "{} records are lost, some of them with unknown ranges",
            originals.unknown
        ));
    }
    if originals.is_uncounted {
        parts.push("how much it held is unknown".to_string());
    }
    parts.push(format!("the other {} bytes are restored", originals.bytes()));
    parts.join("; ")
}
