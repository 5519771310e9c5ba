//! Where the running system cannot be seen, what is below a target must be free as a whole.

use super::checks::{ok, refused};
use super::exclusive_claim::claim_patiently;
use super::kernel_calls::KernelCalls;
use drivescope_machine::graph::{BlockGraph, Footprint};
use drivescope_machine::processes::sees_mounts_of_init;
use drivescope_model::WriteLevel;
use drivescope_model::gate::Check;
use rustix::io::Errno;

/// The check `rest of the drive`, for levels that replace contents.
///
/// In a container the running system may lie on a sibling of the target, or on another volume of the same group,
/// without any sign. The kernel refuses to claim a disk of which any part is in use. A disk that is in use by what the
/// target is made of (device mapper, md) cannot be claimed for that reason alone: then everything else on it is checked
/// individually.
pub(crate) fn check(
    kernel: &dyn KernelCalls,
    graph: &BlockGraph,
    footprint: &Footprint,
    level: WriteLevel,
) -> Option<Check> {
    let is_disk = |name: &&String| **name != footprint.target && !graph.is_partition(name);
    let disks: Vec<&String> = footprint.on_same_drives().filter(is_disk).collect();
    if level < WriteLevel::Restore || disks.is_empty() || sees_mounts_of_init(graph.roots()) {
        return None;
    }
    let blocked = disks.iter().find_map(|disk| blocked(kernel, graph, footprint, disk));
    Some(match blocked {
        None => ok("rest of the drive", "nothing else on it is in use"),
        Some(why) => {
            let evidence = format!(
                "{why}; it may be the running system, which is not visible from here (a container, or not \
                 root); run on the host, as root"
            );
            refused(
                "rest of the drive",
                evidence,
                "readlink /proc/self/ns/pid; ls /proc/1/mountinfo",
            )
        }
    })
}

fn blocked(
    kernel: &dyn KernelCalls,
    graph: &BlockGraph,
    footprint: &Footprint,
    disk: &str,
) -> Option<String> {
    let why = |name: &String, errno| match errno {
        Errno::BUSY if name == disk => format!("something else on {disk} is in use"),
        Errno::BUSY => format!("{name} on {disk} is in use"),
        errno => format!("{name} cannot be claimed ({})", std::io::Error::from(errno)),
    };
    match claim_patiently(kernel, graph.roots(), disk) {
        Ok(_) => None,
        Err(Errno::BUSY) if is_held_for_target(graph, footprint, disk) => {
            let claim = |name: &String| claim_patiently(kernel, graph.roots(), name);
            others_on(graph, footprint, disk)
                .iter()
                .find_map(|other| Some(why(other, claim(other).err()?)))
        }
        Err(errno) => Some(why(&disk.to_string(), errno)),
    }
}

/// Whether what the target is made of holds the disk or a partition of it. A held device cannot be claimed: its other
/// users are holders too.
fn is_held_for_target(graph: &BlockGraph, footprint: &Footprint, disk: &str) -> bool {
    let mut names = graph.partitions(disk);
    names.push(disk.to_string());
    let is_ours = |holder: &String| footprint.below.contains(holder);
    names.iter().any(|name| graph.holders(name).iter().any(is_ours))
}

/// Partitions of a disk and whatever is built on it, besides the target and what it is made of. What others
/// hold is left out for these, which are among them.
fn others_on(graph: &BlockGraph, footprint: &Footprint, disk: &str) -> Vec<String> {
    let is_other = |name: &&String| {
        !footprint.below.contains(*name) && !footprint.has(name) && graph.holders(name).is_empty()
    };
    graph.footprint(disk).members().filter(is_other).cloned().collect()
}
