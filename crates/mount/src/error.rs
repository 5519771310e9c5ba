//! Why a simulated drive could not be served, each with its cause and remedy in one line.

use drivescope_machine::served::MARK;
use drivescope_model::units::Bytes;
use std::path::PathBuf;

const STILL_WORKS: &str = "sim:MODEL targets still work in virtual time";

/// A drive that another server still serves can be ended; what others mounted had better stay.
fn if_ours(source_name: &str) -> &'static str {
    if source_name.starts_with(MARK) {
        ", or end the drivescope that serves it (Ctrl-C)"
    } else {
        ""
    }
}

#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// The kernel, its device node, a helper program or the permission for FUSE is missing.
    #[error("cannot serve a file through FUSE: {missing}; {}", STILL_WORKS)]
    NoFuse { missing: String },
    /// The same for the loop device; the file alone may still be served.
    #[error(
        "cannot attach a loop device: {missing}; a mount without --block may work, and {}",
        STILL_WORKS
    )]
    NoLoop { missing: String },
    #[error(
        "{path} is busy: {kind} {source_name} is mounted on it; name an empty directory{}",
        if_ours(.source_name)
    )]
    Busy {
        path: PathBuf,
        /// Type of what is mounted: `fuse`, `ext4`.
        kind: String,
        /// What is mounted: `drivescope-sim`, `/dev/sda1`.
        source_name: String,
    },
    #[error("cannot mount on {path}: {why}")]
    MountPoint { path: PathBuf, why: String },
    #[error("cannot keep the contents in {path}: {why}")]
    BackingStore { path: PathBuf, why: String },
    #[error(
        "{path} has {found} and the drive {wanted}: it holds another drive's contents; name another backing file or remove this one"
    )]
    BackingSize { path: PathBuf, found: Bytes, wanted: Bytes },
    #[error("a logical sector of {sector} bytes cannot be served: {why}")]
    Sector { sector: u32, why: String },
    #[error("cannot start a thread: {0}; close other programs or raise ulimit -u")]
    Thread(std::io::Error),
}
