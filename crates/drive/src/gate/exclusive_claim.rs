//! The descriptors that keep a device claimed.

use super::kernel_calls::{Access, KernelCalls};
use drivescope_machine::roots::Roots;
use rustix::io::Errno;
use std::fs::File;

/// Attempts to claim a busy device; udev, and inspections like this one, hold each for a moment.
const ATTEMPTS: u32 = 5;

/// A claimed device; dropping this gives the claim up.
#[derive(Debug)]
pub(super) struct ExclusiveClaim {
    pub device: File,
    /// Keeps the advisory lock if that is on another node: the disk of a partition.
    pub _lock: Option<File>,
    pub aliases: Vec<AliasClaim>,
}

/// Another device with the target's bytes, claimed so that it cannot be mounted meanwhile.
#[derive(Debug)]
pub(super) struct AliasClaim {
    pub name: String,
    pub _claim: File,
}

/// Claims the device with this kernel name, after those that hold it only for a moment. Errors: as [`open_device`].
pub(super) fn claim_patiently(
    kernel: &dyn KernelCalls,
    roots: &Roots,
    name: &str,
) -> Result<File, Errno> {
    let claim = || open_device(kernel, roots, name, Access::ReadExclusive);
    let mut claimed = claim();
    for _ in 1..ATTEMPTS {
        if !matches!(claimed, Err(Errno::BUSY)) {
            break;
        }
        kernel.wait();
        claimed = claim();
    }
    claimed
}

/// Opens the usual node of the device with this kernel name. Errors: what the kernel says; `NODEV` if it leads to
/// another device.
pub(super) fn open_device(
    kernel: &dyn KernelCalls,
    roots: &Roots,
    name: &str,
    access: Access,
) -> Result<File, Errno> {
    let file = kernel.open(&roots.node(name), access)?;
    let is_it = Some(kernel.facts(&file)?.number) == roots.block_number(name);
    if is_it { Ok(file) } else { Err(Errno::NODEV) }
}
