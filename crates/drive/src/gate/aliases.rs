//! Other devices with the target's bytes: the kernel gives each away on its own, so each is claimed too.

use super::checks::uses;
use super::exclusive_claim::{AliasClaim, claim_patiently};
use super::kernel_calls::KernelCalls;
use crate::error::DEVICE_RULES;
use drivescope_machine::graph::{BlockGraph, Footprint};
use drivescope_machine::roots::Roots;
use drivescope_machine::uses::DeviceUse;
use drivescope_model::gate::Check;
use rustix::io::Errno;

/// The check `same bytes`, and the claims it was given: one for each of them that is not `held` already. It finds
/// uses that nothing shows, such as the log of a mounted XFS, or a mount outside a container. Nothing where there
/// is no such device.
///
/// A disk of which only some partitions are concerned is asked for by these: others may use the rest of it.
pub(super) fn claim(
    kernel: &dyn KernelCalls,
    graph: &BlockGraph,
    footprint: &Footprint,
    held: &[AliasClaim],
) -> (Vec<Check>, Vec<AliasClaim>) {
    let roots = graph.roots();
    let is_whole = |name: &String| !footprint.is_shared_in_part(name);
    let whole: Vec<&String> = footprint.aliases.iter().filter(|name| is_whole(name)).collect();
    // The claim of a disk is one of its partitions too.
    let is_within = |name: &String| {
        let disk = graph.disk_of(name);
        disk != *name && whole.contains(&&disk)
    };
    let is_held = |name: &String| held.iter().any(|alias| alias.name == *name);
    let asked: Vec<&String> =
        whole.iter().copied().filter(|name| !is_within(name) && !is_held(name)).collect();
    if asked.is_empty() {
        return (Vec::new(), Vec::new());
    }
    let (mut found, mut claimed) = (Vec::new(), Vec::new());
    for name in &asked {
        match ask(kernel, roots, name) {
            Ok(claim) => claimed.extend(claim),
            Err(why) => {
                let node = roots.node(name);
                let evidence = format!("{} {why}", footprint.describe(name));
                let show = format!("lsblk --fs {0}; sudo fuser -v {0}", node.display());
                found.push(DeviceUse::new(evidence, show));
            }
        }
    }
    let names: Vec<&str> = asked.iter().map(|name| name.as_str()).collect();
    let none = format!("also claimed: {}", names.join(", "));
    (uses("same bytes", found, none), claimed)
}

/// The claim of a device; none if it has no drive and no user. Errors: why it is refused, as far as known.
fn ask(kernel: &dyn KernelCalls, roots: &Roots, name: &str) -> Result<Option<AliasClaim>, String> {
    match claim_patiently(kernel, roots, name) {
        Ok(file) => Ok(Some(AliasClaim { name: name.to_string(), _claim: file })),
        Err(Errno::NXIO | Errno::NOMEDIUM) => Ok(None),
        Err(Errno::BUSY) => Err("is in use according to the kernel".to_string()),
        Err(Errno::PERM) => Err(format!("cannot be claimed: {DEVICE_RULES}")),
        Err(errno) => Err(format!("cannot be claimed: {}", std::io::Error::from(errno))),
    }
}
