//! How a test can end before its end.

use crate::io::queue::IoFailure;
use drivescope_drive::gate::WriteError;
use drivescope_drive::journal::JournalError;
use drivescope_drive::{DriveError, ErrorKind};
use drivescope_model::plan::Engine;
use drivescope_model::target::TargetKind;
use drivescope_model::units::Bytes;
use drivescope_sql::SqlError;
use std::io;

#[derive(Debug, thiserror::Error)]
pub enum BenchError {
    #[error(transparent)]
    Drive(#[from] DriveError),
    /// The source of a copy, on another drive than the target.
    #[error("the source of the copy failed, not the target: {0}")]
    Source(DriveError),
    #[error(transparent)]
    Raw(#[from] WriteError),
    #[error("{error}{}", after(before))]
    Journal {
        error: JournalError,
        /// How the test had ended before, if not well.
        before: String,
    },
    #[error("{}", describe(failure, *count))]
    Request { failure: IoFailure, count: u64 },
    #[error("the {engine} engine failed: {source}{}; try --engine {other}", limit_of(source))]
    Engine { engine: &'static str, other: &'static str, source: io::Error },
    #[error(
        "data at byte {offset} is not what was written there; do not trust this drive or this machine's memory"
    )]
    Mismatch { offset: u64 },
    #[error(transparent)]
    Sql(#[from] SqlError),
    #[error("interrupted")]
    Interrupted,
    #[error("{0}")]
    Unsuitable(String),
}

fn after(before: &str) -> String {
    if before.is_empty() { String::new() } else { format!("; before that: {before}") }
}

pub(crate) fn flush_failed(errno: i32) -> BenchError {
    let failure = IoFailure { errno: -errno, offset: 0, len: 0, write: true };
    BenchError::Request { failure, count: 1 }
}

/// One line for people: what failed, where, how often, and the kernel's word for it.
pub fn describe(failure: &IoFailure, count: u64) -> String {
    let what = if failure.write { "write" } else { "read" };
    let length = Bytes(failure.len.into()).binary();
    let place = match failure.len {
        0 => "the flush of what was written".to_string(),
        _ => {
            format!("{what} at byte {} ({}), {length} long,", failure.offset, Bytes(failure.offset))
        }
    };
    let why = match failure.errno {
        0 if failure.write => no_space(),
        0 => "found the end: the device is gone (drivescope list shows what is attached), or something shrank the file"
            .to_string(),
        libc::EIO => "failed: I/O error; see the kernel log (dmesg)".to_string(),
        libc::ENOSPC => no_space(),
        libc::EFBIG => "failed: the file may not grow that long (ulimit -f, or the file system's limit); use a smaller \
                        --size"
            .to_string(),
        libc::EDQUOT => {
            "failed: the disk quota leaves no space; delete files that count towards it, or use a smaller --size"
                .to_string()
        }
        libc::EINVAL => {
            "failed: the device rejects requests of this size or offset; use multiples of its sector size"
                .to_string()
        }
        libc::ENODEV | libc::ENXIO => "failed: the device is gone; check its cable".to_string(),
        // What the block layer says of a medium (BLK_STS_MEDIUM, BLK_STS_TARGET) and of a way there.
        libc::ENODATA | libc::EREMOTEIO => {
            "failed: bad sector, or the drive rejected the request; see the kernel log (dmesg) and smartctl -a"
                .to_string()
        }
        libc::ETIMEDOUT | libc::ENOLINK => {
            "failed: the drive did not respond; check its cable and power, and see the kernel log (dmesg)"
                .to_string()
        }
        libc::ECANCELED => "failed: the kernel could not start a thread for it; raise the limit (ulimit -u, pids.max \
                            of a container) or use --engine threads"
            .to_string(),
        errno if is_want_of_the_host(errno) => {
            let why = io::Error::from_raw_os_error(errno);
            format!("failed because this machine ran out of resources: {why}; close other programs and run again")
        }
        libc::EROFS => "failed: the file system became read-only, perhaps after a drive error; see the kernel log \
                        (dmesg)"
            .to_string(),
        errno => {
            let why = io::Error::from_raw_os_error(errno);
            format!("failed: {why}; see the kernel log (dmesg)")
        }
    };
    match count {
        0 | 1 => format!("{place} {why}"),
        _ => format!("{place} {why} ({count} requests failed)"),
    }
}

/// Whether a request failed before it came to a drive: the kernel had no thread or memory for it, it was broken off,
/// or it would exceed a limit of this process. No drive answers so.
pub fn is_want_of_the_host(errno: i32) -> bool {
    matches!(errno, libc::ECANCELED | libc::ENOMEM | libc::EAGAIN | libc::EINTR | libc::EFBIG)
}

fn no_space() -> String {
    "failed: no space left: the file system is full, or the device shrank; free some space or use a smaller --size"
        .to_string()
}

impl From<JournalError> for BenchError {
    fn from(error: JournalError) -> Self {
        Self::Journal { error, before: String::new() }
    }
}

fn limit_of(source: &io::Error) -> &'static str {
    match source.raw_os_error() {
        Some(libc::EMFILE | libc::ENFILE) => " (raise the limit of open files: ulimit -n)",
        Some(libc::EAGAIN) => {
            " (raise the limit of threads: ulimit -u, or pids.max of a container)"
        }
        Some(libc::ENOMEM) => {
            " (raise the limit of memory: ulimit -v, or the container's, or use a smaller block or depth)"
        }
        _ => "",
    }
}

impl BenchError {
    pub fn of_engine(engine: Engine, source: io::Error) -> Self {
        let other = if engine == Engine::Uring { Engine::Threads } else { Engine::Uring };
        Self::Engine { engine: engine.name(), other: other.name(), source }
    }

    pub(crate) fn is_of_a_device_gone(&self) -> bool {
        let errno = match self {
            Self::Request { failure, .. } => Some(failure.errno),
            Self::Drive(DriveError::Io { source, .. }) => source.raw_os_error(),
            _ => None,
        };
        matches!(errno, Some(libc::ENODEV | libc::ENXIO))
    }

    /// A full file system, and one that would be filled, are the same to the user.
    pub fn kind(&self, target: TargetKind) -> ErrorKind {
        match self {
            Self::Drive(error) | Self::Source(error) => error.kind(),
            Self::Journal { error, .. } => error.kind(),
            Self::Request { failure, .. } if is_full(failure, target) => ErrorKind::Refused,
            Self::Request { failure, .. } if is_want_of_the_host(failure.errno) => ErrorKind::Usage,
            Self::Raw(WriteError::InUse { .. } | WriteError::OtherMedium { .. }) => {
                ErrorKind::Refused
            }
            Self::Request { .. } | Self::Mismatch { .. } | Self::Raw(_) => ErrorKind::Device,
            Self::Sql(
                SqlError::NoSpace { .. } | SqlError::Quota { .. } | SqlError::CannotEnter { .. },
            ) => ErrorKind::Refused,
            Self::Sql(SqlError::Device { .. }) => ErrorKind::Device,
            Self::Sql(_) => ErrorKind::Usage,
            Self::Engine { .. } | Self::Interrupted | Self::Unsuitable(_) => ErrorKind::Usage,
        }
    }
}

/// Whether a write to a file found no room or was cut short for lack of it. A full device fails differently.
fn is_full(failure: &IoFailure, target: TargetKind) -> bool {
    let no_room = match failure.errno {
        libc::ENOSPC | libc::EDQUOT => true,
        0 => failure.write,
        _ => false,
    };
    no_room && target == TargetKind::Directory
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn enodata_from_block_layer_is_a_bad_place() {
        let of = |errno| describe(&IoFailure { errno, offset: 512, len: 4096, write: false }, 1);
        let bad = of(libc::ENODATA);
        assert!(bad.contains("bad sector") && bad.contains("smartctl"), "{bad}");
        assert!(!bad.contains("No data available"), "{bad}");
        assert!(of(libc::EDQUOT).contains("quota") && !of(libc::EDQUOT).contains("is full"));
        for errno in 1..134 {
            let line = of(errno);
            assert!(
                ["dmesg", "cable", "space", "multiples", "ulimit", "run again"]
                    .iter()
                    .any(|way| line.contains(way)),
                "{line}"
            );
        }
    }

    #[test]
    fn only_drive_errors_exit_with_device_code() {
        let of = |errno, write, target| {
            let failure = IoFailure { errno, offset: 0, len: 4096, write };
            BenchError::Request { failure, count: 1 }.kind(target)
        };
        let directory = TargetKind::Directory;
        assert_eq!(of(libc::EIO, true, directory), ErrorKind::Device);
        assert_eq!(of(libc::ENOSPC, true, directory), ErrorKind::Refused);
        assert_eq!(of(libc::EDQUOT, true, directory), ErrorKind::Refused);
        assert_eq!(of(0, true, directory), ErrorKind::Refused);
        assert_eq!(of(0, false, directory), ErrorKind::Device);
        assert_eq!(of(0, true, TargetKind::Block), ErrorKind::Device);
        assert_eq!(of(libc::ENOSPC, true, TargetKind::Block), ErrorKind::Device, "a thin one");
        assert_eq!(
            of(libc::ECANCELED, true, directory),
            ErrorKind::Usage,
            "io_uring without a thread"
        );
        assert_eq!(of(libc::ENOMEM, false, TargetKind::Block), ErrorKind::Usage);
        assert_eq!(of(libc::EFBIG, true, directory), ErrorKind::Usage, "a limit of this process");
        let source = io::Error::from_raw_os_error(libc::EMFILE);
        let engine = BenchError::of_engine(Engine::Uring, source);
        assert_eq!(engine.kind(directory), ErrorKind::Usage);
    }

    #[test]
    fn broken_queue_names_other_engine_and_limit() {
        let of = |errno, engine| {
            BenchError::of_engine(engine, io::Error::from_raw_os_error(errno)).to_string()
        };
        let threads = of(libc::EAGAIN, Engine::Threads);
        assert!(threads.starts_with("the threads engine failed"), "{threads}");
        assert!(
            threads.contains("ulimit -u") && threads.ends_with("try --engine uring"),
            "{threads}"
        );
        let uring = of(libc::EMFILE, Engine::Uring);
        assert!(uring.contains("ulimit -n") && uring.ends_with("try --engine threads"), "{uring}");
        assert!(of(libc::ENOMEM, Engine::Uring).contains("ulimit -v"));
    }
}
