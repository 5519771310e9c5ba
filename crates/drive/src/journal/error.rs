//! What can go wrong with a journal, each with its cause and remedy in one line.

use crate::error::ErrorKind;
use std::io;
use std::path::PathBuf;

/// Why something could not be saved or restored. Unless it says otherwise, the journal stays open.
#[derive(Debug, thiserror::Error)]
pub enum JournalError {
    /// The drive refused a request while originals were saved; nothing was written to that range.
    #[error("cannot save {extent} of {drive}: {source}; nothing is written there")]
    Unreadable { drive: String, extent: super::ByteRange, source: io::Error },
    #[error(
        "cannot write {extent} of {drive}: {source}; run drivescope restore to restore its contents"
    )]
    Unwritable { drive: String, extent: super::ByteRange, source: io::Error },
    #[error(
        "cannot {what} the journal {path}: {source}; check that disk, then run drivescope restore"
    )]
    File {
        /// What was tried: `write`, `sync`.
        what: &'static str,
        path: String,
        source: io::Error,
    },
    #[error(
        "cannot remove the journal {path}: {source}; its drive is restored, but stays refused while that file exists: check that disk, then run drivescope restore"
    )]
    Remains { path: String, source: io::Error },
    #[error("{why}")]
    Changed { why: String },
    #[error(
        "no room for the restore journal at {path}; nothing more was written to the drive; free some space, or set XDG_STATE_HOME to a folder on another disk"
    )]
    Full { path: String },
    #[error("the journal {path} failed earlier and accepts no more data; run drivescope restore")]
    Failed { path: String },
    #[error(
        "{extent} lie beyond the end of {drive} ({size_bytes} bytes); choose a range within it"
    )]
    Outside { drive: String, extent: super::ByteRange, size_bytes: u64 },
    #[error(
        "{wanted} bytes do not fit into a restore journal of {window} bytes; use a smaller --size"
    )]
    TooLarge { wanted: u64, window: u64 },
    #[error(
        "the journal folder {folder} is on {disk}, the drive to be written; set XDG_STATE_HOME to a folder on another disk"
    )]
    SameDisk {
        folder: PathBuf,
        /// The device that both share.
        disk: String,
    },
    /// The journal would not survive a power cut, or its location is unknown.
    #[error(
        "{folder} cannot hold a restore journal: {why}; set XDG_STATE_HOME to a folder on another disk"
    )]
    BadPlace { folder: PathBuf, why: String },
    #[error("no folder for restore journals: set HOME or XDG_STATE_HOME to an absolute path")]
    NoHome,
    #[error("{path} belongs to another drive: {what}; attach the drive it was made for")]
    WrongDrive { path: String, what: String },
    #[error("the drive of {path} is not attached: {drive}; attach it, then run drivescope restore")]
    NotAttached {
        path: String,
        /// Model, serial number and size.
        drive: String,
    },
    #[error("{devices} all look like the drive of {path}; detach all but one")]
    Ambiguous { path: String, devices: String },
    /// Another device could be taken for the one that is to be written.
    #[error(
        "{double} reports the same names and size as {device} ({drive}), so a journal could not tell them apart; detach {double}"
    )]
    Double { device: String, drive: String, double: String },
    /// Only a number of the kernel's identifies the device.
    #[error(
        "{device} is known only by its number, which may belong to another device after a reboot, so its contents could not be restored; write to what it is made of, or use --write same-bytes"
    )]
    OnlyNumbered { device: String },
    /// A drive with the right names but other contents than the run left.
    #[error(
        "{extent} of {device} are neither the originals in {path} nor test data of its run: it is another drive with the same names, or was written since; attach the right one, or, if it is this one, add --is-of {path}"
    )]
    Stranger { device: String, path: String, extent: super::ByteRange },
    #[error(
        "cannot restore {device}: {why}; nothing was written: resolve that, then run drivescope restore"
    )]
    NotFree {
        device: String,
        /// The user or the kernel's error, with the command that shows it.
        why: String,
    },
    #[error(
        "cannot restore {device}: {why}; nothing was written: check the drive (dmesg, smartctl -a), then run drivescope restore"
    )]
    Failing { device: String, why: String },
    #[error(
        "{drive} is only partly restored, because it came into use: {why}; the journal stays: resolve that, then run drivescope restore"
    )]
    Taken {
        drive: String,
        /// The user, with the command that shows it.
        why: String,
    },
    #[error(
        "another drivescope is at work with {path} and restores the drive itself; if it is still there when that has ended, run drivescope restore again"
    )]
    Running { path: String },
    #[error("{path} is not there; drivescope restore without --journal lists the open ones")]
    Gone { path: String },
    #[error(
        "{path} belongs to another user and may be forged; restore as that user, or take it over with chown"
    )]
    Foreign { path: String },
    #[error(
        "{path} is not a restore journal: {why}; drivescope restore without --journal lists the open ones"
    )]
    NotAJournal { path: String, why: String },
    /// Something in the folder of journals that cannot be looked at.
    #[error(
        "cannot determine whether {path} is a restore journal: {why}; check that file, or move it away if it is not one"
    )]
    Unknown {
        path: String,
        /// Why it cannot be read.
        why: String,
    },
    #[error("{path} is damaged: {what}; recover those parts from a backup, then remove that file")]
    Damaged { path: String, what: String },
    #[error(
        "{path} is damaged: its header is gone, so it may belong to any drive; recover those parts from a backup, then remove that file; where it cannot be of this drive, add --not-of {path}"
    )]
    OfAnyDrive { path: String },
    #[error(
        "{drive} did not take back {what}; the journal {path} stays: check the drive, then run drivescope restore again"
    )]
    NotRestored {
        drive: String,
        path: String,
        /// Ranges with their causes.
        what: String,
    },
    /// The disk of the journal did not give the original contents.
    #[error(
        "the contents of {drive} exist only in the journal {path}, which cannot be read: {what}; check the disk of the journal, then run drivescope restore"
    )]
    Unread {
        drive: String,
        path: String,
        /// Ranges with their causes.
        what: String,
    },
    #[error(
        "{drive} does not have its original contents back yet; {first}run drivescope restore --journal {path}"
    )]
    StillOpen {
        drive: String,
        /// What must end first, up to "then", if anything.
        first: String,
        path: String,
    },
}

impl JournalError {
    pub fn kind(&self) -> ErrorKind {
        match self {
            Self::Unreadable { .. }
            | Self::Unwritable { .. }
            | Self::File { .. }
            | Self::Remains { .. }
            | Self::Unread { .. }
            | Self::Failing { .. }
            | Self::NotRestored { .. } => ErrorKind::Device,
            Self::Outside { .. }
            | Self::TooLarge { .. }
            | Self::NoHome
            | Self::NotAttached { .. }
            | Self::Gone { .. }
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
