//! How a test can end before its end.

use crate::recorder::IoFailure;
use drivescope_drive::DriveError;
use drivescope_drive::journal::JournalError;
use drivescope_model::units::Bytes;
use std::io;

/// Why a test stopped.
#[derive(Debug, thiserror::Error)]
pub enum BenchError {
    /// The target refused.
    #[error(transparent)]
    Drive(#[from] DriveError),
    /// A claimed device is not the same any more.
    #[error(transparent)]
    Raw(#[from] drivescope_drive::gate::WriteError),
    /// Originals could not be saved, or not be put back.
    #[error("{error}{}", after(before))]
    Journal {
        /// Why.
        error: JournalError,
        /// How the test had ended before, if not well.
        before: String,
    },
    /// A request failed: the drive's fault.
    #[error("{}", describe(failure, *count))]
    Request {
        /// The first that failed.
        failure: IoFailure,
        /// How many failed.
        count: u64,
    },
    /// The engine could not be set up or broke.
    #[error("the {engine} engine failed: {source}; try --engine {other}")]
    Engine {
        /// Which.
        engine: &'static str,
        /// The other one.
        other: &'static str,
        /// What the kernel said.
        source: io::Error,
    },
    /// Data read back is not what was written.
    #[error(
        "data at byte {offset} is not what was written there; do not trust this drive or this machine's memory"
    )]
    Mismatch {
        /// Byte offset on the file.
        offset: u64,
    },
    /// The user or the system asked to stop.
    #[error("interrupted")]
    Interrupted,
    /// The target does not suit the test; nothing is wrong with it.
    #[error("{0}")]
    Unsuitable(String),
}

/// What a later error does not let be forgotten.
fn after(before: &str) -> String {
    if before.is_empty() { String::new() } else { format!("; before that: {before}") }
}

/// One line for people: what failed, where, how often, and what the kernel called it.
pub fn describe(failure: &IoFailure, count: u64) -> String {
    let what = if failure.write { "write" } else { "read" };
    let place = format!("{what} at byte {} ({})", failure.offset, Bytes(failure.offset));
    let why = match failure.errno {
        0 if failure.write => no_space(),
        0 => "was cut short: the file or device ends there now; something made it smaller"
            .to_string(),
        libc::EIO => "failed: I/O error; the kernel log (dmesg) says more".to_string(),
        libc::ENOSPC | libc::EDQUOT => no_space(),
        libc::EINVAL => {
            "failed: the device does not take requests of this size or place; use multiples of \
                         its sectors"
                .to_string()
        }
        libc::ENODEV | libc::ENXIO => "failed: the device is gone; check its cable".to_string(),
        errno => format!("failed: {}", io::Error::from_raw_os_error(errno)),
    };
    match count {
        0 | 1 => format!("{place} {why}"),
        _ => format!("{place} {why} ({count} requests failed)"),
    }
}

/// Where a file system is full, and so it is where a write of several pages found room for some of them.
fn no_space() -> String {
    "failed: no space is left: the file system is full, or the device became smaller; free some space or use \
     a smaller --size"
        .to_string()
}

impl From<JournalError> for BenchError {
    fn from(error: JournalError) -> Self {
        Self::Journal { error, before: String::new() }
    }
}

impl BenchError {
    /// Whether the device (not the user, not the plan) is to blame: exit code 4.
    pub fn is_device_error(&self) -> bool {
        match self {
            Self::Request { .. } | Self::Mismatch { .. } => true,
            Self::Drive(error) => error.kind() == drivescope_drive::ErrorKind::Device,
            Self::Journal { error, .. } => error.kind() == drivescope_drive::ErrorKind::Device,
            _ => false,
        }
    }
}
