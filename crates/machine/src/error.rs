//! Errors of queries to the kernel.

use rustix::io::Errno;
use std::io;
use std::path::{Path, PathBuf};

#[derive(Debug, thiserror::Error)]
pub enum MachineError {
    #[error("cannot {what} {path}: {source}")]
    Io {
        /// `look at`.
        what: &'static str,
        path: PathBuf,
        source: io::Error,
    },
    #[error("cannot find the mount of {path}: the mount table does not show it; is /proc mounted?")]
    NoMount { path: PathBuf },
}

impl MachineError {
    pub(crate) fn from_errno(what: &'static str, path: &Path, errno: Errno) -> Self {
        Self::Io { what, path: path.to_path_buf(), source: errno.into() }
    }
}
