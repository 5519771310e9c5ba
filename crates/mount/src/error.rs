//! Why a simulated drive could not be served, each with its cause and remedy in one line.

use drivescope_machine::served::MARK;
use drivescope_model::units::Bytes;
use std::path::PathBuf;

/// What still works when a drive cannot be served in real time.
const STILL_WORKS: &str = "sim:MODEL targets still work in virtual time";

/// A drive that another server still serves can be ended; what others mounted had better stay.
fn if_ours(source_name: &str) -> &'static str {
    match source_name.starts_with(MARK) {
        true => ", or end the drivescope that serves it (Ctrl-C)",
        false => "",
    }
}

/// Why a simulated drive could not be served.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// The kernel, its device node, a helper program or the permission for FUSE is missing.
    #[error("cannot serve a file through FUSE: {missing}; {}", STILL_WORKS)]
    NoFuse {
        /// What is missing, and how to get it.
        missing: String,
    },
    /// The same for the loop device; the file alone may still be served.
    #[error(
        "cannot attach a loop device: {missing}; a mount without --block may work, and {}",
        STILL_WORKS
    )]
    NoLoop {
        /// What is missing, and how to get it.
        missing: String,
    },
    /// Something is mounted on the mount point already.
    #[error(
        "{path} is busy: {kind} {source_name} is mounted on it; name an empty directory{}",
        if_ours(.source_name)
    )]
    Busy {
        /// The mount point.
        path: PathBuf,
        /// Type of what is mounted: `fuse`, `ext4`.
        kind: String,
        /// What is mounted: `drivescope-sim`, `/dev/sda1`.
        source_name: String,
    },
    /// The mount point cannot be one.
    #[error("cannot mount on {path}: {why}")]
    MountPoint {
        /// What was named.
        path: PathBuf,
        /// Cause and remedy.
        why: String,
    },
    /// The backing file cannot keep the contents.
    #[error("cannot keep the contents in {path}: {why}")]
    BackingStore {
        /// What was named.
        path: PathBuf,
        /// Cause and remedy.
        why: String,
    },
    /// The backing file belongs to a drive of another size.
    #[error(
        "{path} has {found} and the drive {wanted}: it holds another drive's contents; name another backing file or remove this one"
    )]
    BackingSize {
        /// The backing file.
        path: PathBuf,
        /// Its size.
        found: Bytes,
        /// The drive's capacity.
        wanted: Bytes,
    },
    /// The logical sector does not go with the drive.
    #[error("a logical sector of {sector} bytes cannot be served: {why}")]
    Sector {
        /// What was asked for.
        sector: u32,
        /// Cause and remedy.
        why: String,
    },
    /// A thread could not be started.
    #[error("cannot start a thread: {0}; close other programs or raise ulimit -u")]
    Thread(std::io::Error),
}
