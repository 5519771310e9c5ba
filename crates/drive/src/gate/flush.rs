//! Earlier writes of other programs that the kernel still caches. A disk and each of its partitions have their own
//! cache: one may be written out over bytes that a test has saved, written or restored through another, and cached
//! reads stay outdated after a restore.

use super::checks::{unknown, uses};
use super::kernel_calls::{Access, KernelCalls};
use drivescope_machine::graph::Footprint;
use drivescope_machine::roots::Roots;
use drivescope_machine::uses::DeviceUse;
use drivescope_model::gate::Check;
use rustix::io::Errno;
use std::collections::BTreeSet;
use std::fs::File;

/// The check `flushed`, made by a claim only: inspection changes nothing. To be made once no program has the device
/// open for writing, so that everything they wrote reaches the drive.
pub(super) fn check(kernel: &dyn KernelCalls, roots: &Roots, footprint: &Footprint) -> Vec<Check> {
    let (mut failed, mut closed) = (Vec::new(), Vec::new());
    for name in with_memory(footprint) {
        let node = roots.node(name);
        match kernel.open(&node, Access::Read) {
            Ok(file) => {
                if let Err(error) = file.sync_data() {
                    let evidence = format!("cached writes to {name} cannot be flushed: {error}");
                    failed
                        .push(DeviceUse::new(evidence, format!("dmesg; sync {}", node.display())));
                }
            }
            // No drive, so nothing is cached.
            Err(Errno::NXIO | Errno::NOMEDIUM) => {}
            Err(_) => closed.push(name.as_str()),
        }
    }
    if failed.is_empty() && !closed.is_empty() {
        let evidence = format!("{} cannot be opened from here", closed.join(", "));
        return vec![unknown("flushed", evidence, "sync")];
    }
    uses("flushed", failed, "cached writes are flushed")
}

/// Devices whose memory may hold bytes of the target: those that share them, and what it is built of.
fn with_memory(footprint: &Footprint) -> BTreeSet<&String> {
    footprint.own.iter().chain(&footprint.aliases).chain(&footprint.below).collect()
}

/// The devices that can be opened from here.
pub(super) fn cached_devices(
    kernel: &dyn KernelCalls,
    roots: &Roots,
    footprint: &Footprint,
) -> Vec<File> {
    with_memory(footprint)
        .into_iter()
        .filter_map(|name| kernel.open(&roots.node(name), Access::Read).ok())
        .collect()
}
