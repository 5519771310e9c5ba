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
    let IoFailure { offset, len, .. } = *failure;
    let place = if len == 0 {
        "the flush of what was written".to_string()
    } else {
        let length = Bytes(len.into()).binary();
        format!("{what} at byte {offset} ({}), {length} long,", Bytes(offset))
    };
    let why = reason(failure);
    match count {
        0 | 1 => format!("{place} {why}"),
        _ => format!("{place} {why} ({count} requests failed)"),
    }
}

fn reason(failure: &IoFailure) -> String {
    let known = match failure.errno {
        0 if failure.write => NO_SPACE,
        0 => {
            "found the end: the device is gone (drivescope list shows what is attached), or something shrank the file"
        }
        libc::EIO => "failed: I/O error; see the kernel log (dmesg)",
        libc::ENOSPC => NO_SPACE,
        libc::EFBIG => {
            "failed: the file may not grow that long (ulimit -f, or the file system's limit); use a smaller --size"
        }
        libc::EDQUOT => {
            "failed: the disk quota leaves no space; delete files that count towards it, or use a smaller --size"
        }
        libc::EINVAL => {
            "failed: the device rejects requests of this size or offset; use multiples of its sector size"
        }
        libc::ENODEV | libc::ENXIO => "failed: the device is gone; check its cable",
        // What the block layer says of a medium (BLK_STS_MEDIUM, BLK_STS_TARGET) and of a way there.
        libc::ENODATA | libc::EREMOTEIO => {
            "failed: bad sector, or the drive rejected the request; see the kernel log (dmesg) and smartctl -a"
        }
        libc::ETIMEDOUT | libc::ENOLINK => {
            "failed: the drive did not respond; check its cable and power, and see the kernel log (dmesg)"
        }
        libc::ECANCELED => {
            "failed: the kernel could not start a thread for it; raise the limit (ulimit -u, pids.max of a container) \
             or use --engine threads"
        }
        libc::EROFS => {
            "failed: the file system became read-only, perhaps after a drive error; see the kernel log (dmesg)"
        }
        errno => {
            let why = io::Error::from_raw_os_error(errno);
            return if is_want_of_the_host(errno) {
                format!(
                    "failed because this machine ran out of resources: {why}; close other programs and run again"
                )
            } else {
                format!("failed: {why}; see the kernel log (dmesg)")
            };
        }
    };
    known.to_string()
}

/// Whether a request failed before it came to a drive: the kernel had no thread or memory for it, it was broken off,
/// or it would exceed a limit of this process. No drive answers so.
pub fn is_want_of_the_host(errno: i32) -> bool {
    matches!(errno, libc::ECANCELED | libc::ENOMEM | libc::EAGAIN | libc::EINTR | libc::EFBIG)
}

const NO_SPACE: &str = "failed: no space left: the file system is full, or the device shrank; free some space or use a smaller --size";

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
pub fn is_full(failure: &IoFailure, target: TargetKind) -> bool {
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
        fn of(errno: i32) -> String {
            describe(&IoFailure { errno, offset: 512, len: 4096, write: false }, 1)
        }
        let bad = of(libc::ENODATA);
        assert!(bad.contains("bad sector") && bad.contains("smartctl"), "{bad}");
        assert!(!bad.contains("No data available"), "{bad}");
        assert!(of(0).contains("something shrank the file"));
        let cut_short = IoFailure { errno: 0, offset: 512, len: 4096, write: true };
        assert!(describe(&cut_short, 1).contains("no space left"));
        assert!(of(libc::EDQUOT).contains("quota") && !of(libc::EDQUOT).contains("is full"));
        for errno in 1..134 {
            let line = of(errno);
            let ways = ["dmesg", "cable", "space", "multiples", "ulimit", "run again"];
            assert!(ways.iter().any(|way| line.contains(way)), "{line}");
        }
    }

    #[test]
    fn only_drive_errors_exit_with_device_code() {
        use TargetKind::{Block, Directory};
        for (errno, write, target, kind) in [
            (libc::EIO, true, Directory, ErrorKind::Device),
            (libc::ENOSPC, true, Directory, ErrorKind::Refused),
            (libc::EDQUOT, true, Directory, ErrorKind::Refused),
            (0, true, Directory, ErrorKind::Refused),
            (0, false, Directory, ErrorKind::Device),
            (0, true, Block, ErrorKind::Device),
            (libc::ENOSPC, true, Block, ErrorKind::Device), // a thin one
            (libc::ECANCELED, true, Directory, ErrorKind::Usage), // io_uring without a thread
            (libc::ENOMEM, false, Block, ErrorKind::Usage),
            (libc::EFBIG, true, Directory, ErrorKind::Usage), // a limit of this process
        ] {
            let failure = IoFailure { errno, offset: 0, len: 4096, write };
            let found = BenchError::Request { failure, count: 1 }.kind(target);
            assert_eq!(found, kind, "{errno} {write} {target:?}");
        }
        let source = io::Error::from_raw_os_error(libc::EMFILE);
        assert_eq!(BenchError::of_engine(Engine::Uring, source).kind(Directory), ErrorKind::Usage);
    }

    #[test]
    fn broken_queue_names_other_engine_and_limit() {
        fn of(errno: i32, engine: Engine) -> String {
            BenchError::of_engine(engine, io::Error::from_raw_os_error(errno)).to_string()
        }
        let threads = of(libc::EAGAIN, Engine::Threads);
        assert!(threads.starts_with("the threads engine failed"), "{threads}");
        assert!(threads.contains("ulimit -u") && threads.ends_with("--engine uring"), "{threads}");
        let uring = of(libc::EMFILE, Engine::Uring);
        assert!(uring.contains("ulimit -n") && uring.ends_with("try --engine threads"), "{uring}");
        assert!(of(libc::ENOMEM, Engine::Uring).contains("ulimit -v"));
    }
}
