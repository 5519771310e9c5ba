//! Exit codes, and the one place where errors of all parts get theirs.

use drivescope_bench::error::BenchError;
use drivescope_bench::suites::SuiteError;
use drivescope_drive::journal::JournalError;
use drivescope_drive::{DriveError, ErrorKind};
use drivescope_store::{FormatError, StoreError, StoreFault};
use std::io;
use std::process::ExitCode;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Code {
    Ok = 0,
    /// A test found a problem with the drive or its data, or nothing valid was measured or compared.
    Problem = 1,
    /// The command line cannot work.
    Usage = 2,
    Refused = 3,
    Device = 4,
    Interrupted = 130,
}

impl From<Code> for ExitCode {
    fn from(code: Code) -> Self {
        Self::from(code as u8)
    }
}

/// One line for a thread that cannot be started.
pub fn no_thread(error: &io::Error) -> String {
    format!(
        "cannot start a thread: {error}; raise the limits on processes and open files (ulimit -u, ulimit -n, \
         pids.max of a container)"
    )
}

/// An error for the user: one line and a code.
#[derive(Debug)]
pub struct Failure {
    pub message: String,
    pub code: Code,
}

impl Failure {
    pub fn usage(message: impl Into<String>) -> Self {
        Self { message: message.into(), code: Code::Usage }
    }
}

impl From<ErrorKind> for Code {
    fn from(kind: ErrorKind) -> Self {
        match kind {
            ErrorKind::Usage => Self::Usage,
            ErrorKind::Refused => Self::Refused,
            ErrorKind::Device => Self::Device,
        }
    }
}

impl From<DriveError> for Failure {
    fn from(error: DriveError) -> Self {
        Self { message: error.to_string(), code: error.kind().into() }
    }
}

impl From<BenchError> for Failure {
    fn from(error: BenchError) -> Self {
        match error {
            BenchError::Drive(error) => error.into(),
            BenchError::Interrupted => Self { message: error.to_string(), code: Code::Interrupted },
            BenchError::Unsuitable(_) | BenchError::Engine { .. } => Self::usage(error.to_string()),
            other => Self { message: other.to_string(), code: Code::Device },
        }
    }
}

impl From<SuiteError> for Failure {
    fn from(error: SuiteError) -> Self {
        Self::usage(error.to_string())
    }
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Self {
        let code = match error.fault {
            // Nothing that was named is wrong: the disk of the store is, or its server.
            StoreFault::Full | StoreFault::Io | StoreFault::Unreachable => Code::Device,
            _ => Code::Usage,
        };
        Self { message: error.to_string(), code }
    }
}

impl From<FormatError> for Failure {
    fn from(error: FormatError) -> Self {
        Self::usage(error.to_string())
    }
}

impl From<JournalError> for Failure {
    fn from(error: JournalError) -> Self {
        let code = match &error {
            // A problem of the data, which stays whatever is tried.
            JournalError::Damaged { .. } => Code::Problem,
            _ => error.kind().into(),
        };
        Self { message: error.to_string(), code }
    }
}
