//! What can go wrong with a journal, each with its cause and remedy in one line.

use crate::error::ErrorKind;
use std::io;
use std::path::PathBuf;

/// Why something could not be saved or restored. Unless it says otherwise, the journal stays open.
#[derive(Debug, thiserror::Error)]
pub enum JournalError {
    /// The drive refused a request while originals were saved; nothing was written to that range.
    #[error("cannot save {extent} of {drive}: {source}; nothing is written there")]
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
        "cannot write {extent} of {drive}: {source}; run drivescope restore to restore its contents"
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
        "cannot {what} the journal {path}: {source}; check that disk, then run drivescope restore"
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
        "cannot remove the journal {path}: {source}; its drive is restored, but stays refused while that file exists: check that disk, then run drivescope restore"
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
    #[error("the journal {path} failed earlier and accepts no more data; run drivescope restore")]
    Failed {
        /// The file.
        path: String,
    },
    /// A range beyond the end.
    #[error(
        "{extent} lie beyond the end of {drive} ({size_bytes} bytes); choose a range within it"
    )]
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
        "{wanted} bytes do not fit into a restore journal of {window} bytes; use a smaller --size"
    )]
    TooLarge {
        /// What was asked for.
        wanted: u64,
        /// The window.
        window: u64,
    },
    /// The journal would lie on the drive it is to protect.
    #[error(
        "the journal folder {folder} is on {disk}, the drive to be written; set XDG_STATE_HOME to a folder on another disk"
    )]
    SameDisk {
        /// The folder.
        folder: PathBuf,
        /// The device both have in common.
        disk: String,
    },
    /// The journal would not survive a power cut, or its location is unknown.
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
        "{double} reports the same names and size as {device} ({drive}), so a journal could not tell them apart; detach {double}"
    )]
    Double {
        /// The one that was to be written.
        device: String,
        /// Its names.
        drive: String,
        /// The other.
        double: String,
    },
    /// Only the kernel's number identifies the device.
    #[error(
        "{device} is known only by its number, which may belong to another device after a reboot, so its contents could not be restored; write to what it is made of, or use --write same-bytes"
    )]
    OnlyNumbered {
        /// The device.
        device: String,
    },
    /// A drive with the right names but other contents than the run left.
    #[error(
        "{extent} of {device} are neither the originals in {path} nor test data of its run: it is another drive with the same names, or was written since; attach the right one, or, if it is this one, add --is-of {path}"
    )]
    Stranger {
        /// The device.
        device: String,
        /// The journal.
        path: String,
        /// The first such bytes.
        extent: super::ByteRange,
    },
    /// The drive is in use or cannot be written; nothing was written.
    #[error(
        "cannot restore {device}: {why}; nothing was written: resolve that, then run drivescope restore"
    )]
    NotFree {
        /// The device.
        device: String,
        /// Who, or what the kernel said, with the command that shows it.
        why: String,
    },
    /// The drive itself fails; nothing was written.
    #[error(
        "cannot restore {device}: {why}; nothing was written: check the drive (dmesg, smartctl -a), then run drivescope restore"
    )]
    Failing {
        /// The device.
        device: String,
        /// What the kernel said.
        why: String,
    },
    /// A user of the drive appeared while originals were restored.
    #[error(
        "{drive} is only partly restored, because it came into use: {why}; the journal stays: resolve that, then run drivescope restore"
    )]
    Taken {
        /// The drive.
        drive: String,
        /// Who, with the command that shows it.
        why: String,
    },
    /// The run that made it, or another restore, is alive.
    #[error(
        "another drivescope is at work with {path} and restores the drive itself; if it is still there when that has ended, run drivescope restore again"
    )]
    Running {
        /// The journal.
        path: String,
    },
    /// It is not there, or not any more.
    #[error("{path} is not there; drivescope restore without --journal lists the open ones")]
    Gone {
        /// The journal.
        path: String,
    },
    /// Created by another user.
    #[error(
        "{path} belongs to another user and may be forged; restore as that user, or take it over with chown"
    )]
    Foreign {
        /// The journal.
        path: String,
    },
    /// Something else than a journal.
    #[error(
        "{path} is not a restore journal: {why}; drivescope restore without --journal lists the open ones"
    )]
    NotAJournal {
        /// What was named.
        path: String,
        /// Why.
        why: String,
    },
    /// Something in the folder of journals that cannot be looked at.
    #[error(
        "cannot tell whether {path} is a restore journal: {why}; check that file, or move it away if it is not one"
    )]
    Unknown {
        /// What lies there.
        path: String,
        /// What keeps it from being looked at.
        why: String,
    },
    /// Parts of the journal are gone.
    #[error("{path} is damaged: {what}; recover those parts from a backup, then remove that file")]
    Damaged {
        /// The journal.
        path: String,
        /// What is lost and what was restored.
        what: String,
    },
    /// A journal without its drive's identity, which may hold any drive's contents.
    #[error(
        "{path} is damaged: its header is gone, so it may belong to any drive; recover those parts from a backup, then remove that file; where it cannot be of this drive, add --not-of {path}"
    )]
    OfAnyDrive {
        /// The journal.
        path: String,
    },
    /// The drive did not take its original contents back.
    #[error(
        "{drive} did not take back {what}; the journal {path} stays: check the drive, then run drivescope restore again"
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
        "the contents of {drive} exist only in the journal {path}, which cannot be read: {what}; check the disk of the journal, then run drivescope restore"
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
        "{drive} does not have its original contents back yet; {first}run drivescope restore --journal {path}"
    )]
    StillOpen {
        /// The drive.
        drive: String,
        /// What has to end before, up to "then", if anything.
        first: String,
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
