//! What can go wrong with a journal, each with its cause and remedy in one line.

use crate::error::ErrorKind;
use std::io;
use std::path::PathBuf;

/// Why something could not be saved or restored. Unless it says otherwise, the journal stays open.
#[derive(Debug, thiserror::Error)]
pub enum JournalError {
    /// The drive refused a request while originals were saved; nothing was written to that range.
    #[error(
        "cannot read {extent} of {drive} before writing there: {source}; that part is left alone"
    )]
    Unreadable {
        /// The drive.
        drive: String,
        /// Where.
        extent: super::ByteRange,
        /// What the kernel said.
        source: io::Error,
    },
    /// A write by way of the journal failed.
    #[error(
        "cannot write {extent} of {drive}: {source}; drivescope restore brings the original back"
    )]
    Unwritable {
        /// The drive.
        drive: String,
        /// Where.
        extent: super::ByteRange,
        /// What the kernel said.
        source: io::Error,
    },
    /// The file of the journal cannot be used.
    #[error(
        "cannot {what} the journal {path}: {source}; see to that disk, then run drivescope restore"
    )]
    File {
        /// What was tried: `write`, `sync`.
        what: &'static str,
        /// The file or its folder.
        path: String,
        /// What the kernel said.
        source: io::Error,
    },
    /// It is needed no more, and cannot be removed.
    #[error(
        "cannot remove the journal {path}: {source}; its drive has everything back, but is refused as long as that file is there: see to that disk, then run drivescope restore"
    )]
    Remains {
        /// The file.
        path: String,
        /// What the kernel said.
        source: io::Error,
    },
    /// The claimed device is not the same any more.
    #[error("{why}")]
    Changed {
        /// In which way, and the remedy.
        why: String,
    },
    /// The disk of the journal is full.
    #[error(
        "no room for the restore journal at {path}; nothing more was written to the drive; free some space, or set XDG_STATE_HOME to a folder on another disk"
    )]
    Full {
        /// The journal, or the folder where it would be.
        path: String,
    },
    /// An earlier failure made the journal unfit to save more.
    #[error("the journal {path} failed before and takes no more; run drivescope restore")]
    Failed {
        /// The file.
        path: String,
    },
    /// A range beyond the end.
    #[error("{extent} are not on {drive}, which has {size_bytes} bytes; name a range within")]
    Outside {
        /// The drive.
        drive: String,
        /// What was asked for.
        extent: super::ByteRange,
        /// Its size.
        size_bytes: u64,
    },
    /// More at once than a window holds.
    #[error(
        "{wanted} bytes at once do not fit into a restore journal of {window} bytes; use a smaller --size"
    )]
    TooLarge {
        /// What was asked for.
        wanted: u64,
        /// The window.
        window: u64,
    },
    /// The journal would lie on the drive it is to protect.
    #[error(
        "the journal's folder {folder} is on {disk}, the drive that is to be written; set XDG_STATE_HOME to a folder on another disk"
    )]
    SameDisk {
        /// The folder.
        folder: PathBuf,
        /// The device both have in common.
        disk: String,
    },
    /// The journal would not survive a power cut, or nobody can tell where it lies.
    #[error(
        "{folder} cannot hold a restore journal: {why}; set XDG_STATE_HOME to a folder on another disk"
    )]
    BadPlace {
        /// The folder.
        folder: PathBuf,
        /// Why.
        why: String,
    },
    /// There is no folder for it.
    #[error("no folder for restore journals: set HOME or XDG_STATE_HOME to an absolute path")]
    NoHome,
    /// Another drive than the one it was made for.
    #[error("{path} belongs to another drive: {what}; attach the drive it was made for")]
    WrongDrive {
        /// The journal.
        path: String,
        /// What differs.
        what: String,
    },
    /// The drive is not there.
    #[error("the drive of {path} is not attached: {drive}; attach it, then run drivescope restore")]
    NotAttached {
        /// The journal.
        path: String,
        /// Model, serial number and size.
        drive: String,
    },
    /// Several devices look like the one it was made for.
    #[error("{devices} all look like the drive of {path}; detach all but one")]
    Ambiguous {
        /// The journal.
        path: String,
        /// Their names.
        devices: String,
    },
    /// Another device could be taken for the one that is to be written.
    #[error(
        "{double} tells the same names and size as {device} ({drive}): nobody could tell to which of them the originals in a journal belong; detach {double}"
    )]
    Double {
        /// The one that was to be written.
        device: String,
        /// Its names.
        drive: String,
        /// The other.
        double: String,
    },
    /// Nothing but the kernel's number tells what it is.
    #[error(
        "nothing tells what {device} is but its number, which may be another device's after a boot: its contents could not be put back then; write to what it is made of, or with --write same-bytes"
    )]
    OnlyNumbered {
        /// The device.
        device: String,
    },
    /// A drive that tells the right names, and has nothing of the run.
    #[error(
        "{device} has nothing of the run that {path} is of: {extent} are neither what was saved nor test data, and nowhere else are any; it is another drive that tells the same names, or was written since; attach the one that was written, or remove that file if nothing is missing there"
    )]
    Stranger {
        /// The device.
        device: String,
        /// The journal.
        path: String,
        /// The first such bytes.
        extent: super::ByteRange,
    },
    /// Somebody uses the drive, or it cannot be written; nothing was written.
    #[error(
        "cannot restore {device}: {why}; nothing was written: see to that, then run drivescope restore"
    )]
    NotFree {
        /// The device.
        device: String,
        /// Who, or what the kernel said, with the command that shows it.
        why: String,
    },
    /// Somebody came to use the drive while originals went back.
    #[error(
        "{drive} got only a part of its contents back, since it came into use: {why}; the journal stays: see to that, then run drivescope restore"
    )]
    Taken {
        /// The drive.
        drive: String,
        /// Who, with the command that shows it.
        why: String,
    },
    /// The run that made it is alive.
    #[error("{path} is in use by a drivescope that is still running; it restores the drive itself")]
    Running {
        /// The journal.
        path: String,
    },
    /// Made by somebody else.
    #[error(
        "{path} belongs to another user, who may have made it up; restore as that user, or make it yours with chown"
    )]
    Foreign {
        /// The journal.
        path: String,
    },
    /// Something else than a journal.
    #[error(
        "{path} is no restore journal: {why}; drivescope restore without --journal lists the open ones"
    )]
    NotAJournal {
        /// What was named.
        path: String,
        /// Why.
        why: String,
    },
    /// Something in the folder of journals that cannot be looked at.
    #[error(
        "nobody can tell whether {path} is the restore journal of a drive: {why}; see to that file, or move it away if it is none"
    )]
    Unknown {
        /// What lies there.
        path: String,
        /// What keeps it from being looked at.
        why: String,
    },
    /// Parts of the journal are gone.
    #[error("{path} is damaged: {what}; put those parts back from a backup, then remove that file")]
    Damaged {
        /// The journal.
        path: String,
        /// What is lost and what was restored.
        what: String,
    },
    /// The drive did not take its original contents back.
    #[error(
        "{drive} did not take back {what}; the journal {path} stays: see to the drive, then run drivescope restore again"
    )]
    NotRestored {
        /// The drive.
        drive: String,
        /// The journal.
        path: String,
        /// Ranges, and why.
        what: String,
    },
    /// The disk of the journal did not give the original contents.
    #[error(
        "the contents of {drive} are only in the journal {path}, which cannot be read: {what}; see to the disk of the journal, then run drivescope restore"
    )]
    Unread {
        /// The drive.
        drive: String,
        /// The journal.
        path: String,
        /// Ranges, and why.
        what: String,
    },
    /// A command that would use a drive with an open journal.
    #[error(
        "{drive} does not have its original contents back yet; run drivescope restore --journal {path}"
    )]
    StillOpen {
        /// The drive.
        drive: String,
        /// The journal.
        path: String,
    },
}

impl JournalError {
    /// Which exit code it deserves.
    pub fn kind(&self) -> ErrorKind {
        match self {
            Self::Unreadable { .. }
            | Self::Unwritable { .. }
            | Self::File { .. }
            | Self::Remains { .. }
            | Self::Unread { .. }
            | Self::NotRestored { .. } => ErrorKind::Device,
            Self::Outside { .. }
            | Self::TooLarge { .. }
            | Self::NoHome
            | Self::NotAttached { .. }
            | Self::NotAJournal { .. } => ErrorKind::Usage,
            _ => ErrorKind::Refused,
        }
    }

    /// An error of the journal's file, sorted by its cause.
    pub(super) fn of_file(what: &'static str, path: impl Into<String>, source: io::Error) -> Self {
        match source.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
                Self::Full { path: path.into() }
            }
            _ => Self::File { what, path: path.into(), source },
        }
    }
}
