//! A lock on a drive: on one machine, one job measures it at a time, whichever agent has started it.
//!
//! The program of the job gets the lock as its standard input, so that it lasts as long as the program.

use super::state_folder::AgentFolder;
use drivescope_bench::io::offsets::derive_seed;
use drivescope_model::fleet::FleetDrive;
use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;
use std::fs::File;
use std::path::PathBuf;

#[derive(Debug)]
pub struct DriveLock(pub File);

/// Why there is no lock.
#[derive(Debug, PartialEq, Eq)]
pub enum NoLock {
    Held,
    Unknown(String),
}

impl DriveLock {
    /// Of a block device, its folder in sysfs is locked: all programs of the machine see the same one, nothing has to
    /// be made, and locks on the node itself stay free for udev and for claims.
    pub fn take(drive: &FleetDrive, state: &AgentFolder) -> Result<Self, NoLock> {
        let path = PathBuf::from("/sys/class/block").join(&drive.name);
        let is_device = !drive.name.contains('/') && path.is_dir();
        let path = if is_device {
            path
        } else {
            let name = format!("{:016x}", derive_seed(0, &drive.key, 0, 0));
            state.lock_file(&name).map_err(NoLock::Unknown)?
        };
        let file = File::open(&path)
            .map_err(|error| NoLock::Unknown(format!("cannot open {}: {error}", path.display())))?;
        match flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => Ok(Self(file)),
            Err(Errno::WOULDBLOCK) => Err(NoLock::Held),
            Err(errno) => Err(NoLock::Unknown(format!("cannot lock {}: {errno}", path.display()))),
        }
    }
}
