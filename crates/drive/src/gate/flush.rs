//! What others wrote before and the kernel still keeps in memory. A disk and its partitions have a memory each,
//! so that of one may go to the drive over what a test has just saved, written or put back by way of another; and
//! what somebody has read by way of another stays there after it was put back.

use super::checks::{Use, unknown, uses};
use super::family::Family;
use super::kernel::{Access, Kernel};
use super::{RawDisk, reasons};
use crate::page_cache::evict;
use drivescope_machine::roots::Roots;
use drivescope_model::gate::Check;
use rustix::fd::AsFd;
use rustix::io::Errno;
use std::collections::BTreeSet;

/// The check `flushed`, made through the claim only: a look changes nothing. To be made when nobody has the device
/// open for writing any more: what a program writes until it lets go is to be on the drive as well.
pub(super) fn check(kernel: &dyn Kernel, roots: &Roots, family: &Family) -> Vec<Check> {
    let (mut failed, mut closed) = (Vec::new(), Vec::new());
    for name in with_memory(family) {
        let node = roots.node(name);
        match kernel.open(&node, Access::Read) {
            Ok(file) => {
                if let Err(error) = file.sync_data() {
                    let evidence =
                        format!("what was written to {name} before is not on it: {error}");
                    failed.push(Use::new(evidence, format!("dmesg; sync {}", node.display())));
                }
            }
            // Nothing behind it, and nothing kept of it.
            Err(Errno::NXIO | Errno::NOMEDIUM) => {}
            Err(_) => closed.push(name.as_str()),
        }
    }
    if failed.is_empty() && !closed.is_empty() {
        let evidence = format!("{} cannot be opened from here", closed.join(", "));
        return vec![unknown("flushed", evidence, "sync")];
    }
    uses("flushed", failed, "what was written to it before is on it")
}

/// Devices whose memory may hold bytes of the target: those that share them, and what it is built of.
fn with_memory(family: &Family) -> BTreeSet<&String> {
    family.same.iter().chain(&family.twins).chain(&family.below).collect()
}

/// The same right before the originals of an area are read: others may have written since the claim.
/// Errors: what is not on the drive.
pub(crate) fn settle(disk: &RawDisk) -> Result<(), String> {
    let family = Family::of(disk.roots(), &disk.device().name);
    reasons(&check(disk.kernel(), disk.roots(), &family)).map_or(Ok(()), Err)
}

/// Lets the kernel forget what anybody has read of the device or of what shares its bytes: whoever keeps one of
/// these open would go on to see patterns where the originals are back, and write them with the next few bytes.
pub(crate) fn forget(disk: &RawDisk) {
    let family = Family::of(disk.roots(), &disk.device().name);
    for name in with_memory(&family) {
        // What cannot be opened from here is no reason against what is on the drive.
        if let Ok(file) = disk.kernel().open(&disk.roots().node(name), Access::Read) {
            let _ = evict(file.as_fd());
        }
    }
}
