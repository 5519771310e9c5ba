//! Other devices with the target's bytes: the kernel gives each away on its own, so each is asked for.

use super::checks::{Use, uses};
use super::family::Family;
use super::kernel::{Access, Kernel};
use crate::error::DEVICE_RULES;
use crate::roots::Roots;
use drivescope_model::gate::Check;
use rustix::io::Errno;

/// How often a busy one is asked for; udev, and another look like this one, have each for a moment.
const ATTEMPTS: u32 = 5;

/// The check `same bytes`: each of them can be claimed for a moment. It finds uses that nothing shows, such as the
/// log of a mounted XFS, or a mount outside a container. Nothing where there is no such device.
///
/// A disk of which only some partitions are concerned is asked for by these: others may use the rest of it.
pub(super) fn check(kernel: &dyn Kernel, roots: &Roots, family: &Family) -> Vec<Check> {
    let asked = family.twins.iter().filter(|twin| !family.is_shared_in_part(roots, twin));
    let asked: Vec<&String> = asked.collect();
    if asked.is_empty() {
        return Vec::new();
    }
    let found = asked.iter().filter_map(|twin| {
        let why = held(kernel, roots, twin)?;
        let node = roots.node(twin);
        let evidence = format!("{} {why}", family.describe(roots, twin));
        Some(Use::new(evidence, format!("lsblk --fs {0}; sudo fuser -v {0}", node.display())))
    });
    let names: Vec<&str> = asked.iter().map(|twin| twin.as_str()).collect();
    let none = format!("the kernel would give {} too", names.join(", "));
    uses("same bytes", found.collect(), none)
}

/// Why a device cannot be claimed, as far as that is known. One without a drive behind it is used by nobody.
fn held(kernel: &dyn Kernel, roots: &Roots, name: &str) -> Option<String> {
    let node = roots.node(name);
    let mut errno = Errno::BUSY;
    for attempt in 0..ATTEMPTS {
        if attempt > 0 {
            kernel.wait();
        }
        let opened = kernel.open(&node, Access::ReadExclusive).and_then(|file| {
            let is_it = Some(kernel.facts(&file)?.number) == roots.block_number(name);
            if is_it { Ok(()) } else { Err(Errno::NODEV) }
        });
        match opened {
            Ok(()) | Err(Errno::NXIO | Errno::NOMEDIUM) => return None,
            Err(Errno::BUSY) => {}
            Err(other) => {
                errno = other;
                break;
            }
        }
    }
    Some(match errno {
        Errno::BUSY => "is in use, says the kernel".to_string(),
        Errno::PERM => format!("cannot be claimed: {DEVICE_RULES}"),
        errno => format!("cannot be claimed: {}", std::io::Error::from(errno)),
    })
}
