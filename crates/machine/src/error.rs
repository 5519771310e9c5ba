//! Errors of queries to the kernel.

use rustix::io::Errno;
use std::io;
use std::path::{Path, PathBuf};

/// A question that the kernel did not answer.
#[derive(Debug, thiserror::Error)]
pub enum MachineError {
    /// A system call on a path failed.
    #[error("cannot {what} {path}: {source}")]
    Io {
        /// What was tried: `look at`.
        what: &'static str,
        /// On what.
        path: PathBuf,
        /// What the kernel said.
        source: io::Error,
    },
    /// The mount table does not show the mount of a path.
    #[error("cannot find the mount of {path}: the mount table does not show it; is /proc mounted?")]
    NoMount {
        /// Which path.
        path: PathBuf,
    },
}

impl MachineError {
    pub(crate) fn from_errno(what: &'static str, path: &Path, errno: Errno) -> Self {
        Self::Io { what, path: path.to_path_buf(), source: errno.into() }
    }
}
