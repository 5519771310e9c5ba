//! Which targets an open journal concerns: the drive whose contents it has, and all that shares bytes with it.

use super::DriveIdentity;
use drivescope_machine::graph::{BlockGraph, Footprint, Stack};
use drivescope_machine::roots::read_text;

/// Every block device of this machine that can be opened, with its identity.
pub(super) fn attached_devices(graph: &BlockGraph) -> Vec<(String, DriveIdentity)> {
    let mut found = Vec::new();
    for disk in graph.disks() {
        let Some(dir) = graph.dir(disk) else { continue };
        // A single path of a multipath NVMe drive, which cannot be opened.
        if read_text(dir.join("hidden")).as_deref() == Some("1") {
            continue;
        }
        let names = std::iter::once(disk.to_string()).chain(graph.partitions(disk));
        found.extend(
            names.filter_map(|name| Some((name.clone(), DriveIdentity::of(graph.roots(), &name)?))),
        );
    }
    found
}

/// Whether a target, `stack` being everything below it, may share bytes with this drive: it lies on it, it is
/// what the drive lies on, or both show the same bytes by way of loop devices. In doubt it does.
pub(super) fn shares_bytes(graph: &BlockGraph, stack: &Stack, drive: &DriveIdentity) -> bool {
    let mut below = stack.names.iter().filter_map(|name| DriveIdentity::of(graph.roots(), name));
    if below.any(|other| drive.compare(&other).is_possible() || drive.shares_file_with(&other)) {
        return true;
    }
    let target = stack.names.first().map(|name| graph.footprint(name));
    let is_drive = |(_, other): &(String, DriveIdentity)| drive.compare(other).is_possible();
    attached_devices(graph).into_iter().filter(is_drive).any(|(name, _)| {
        let footprint = graph.footprint(&name);
        let lies_on_it = stack.names.iter().any(|below| footprint.has(below));
        lies_on_it || target.as_ref().is_some_and(|target| lies_on(&footprint, target))
    })
}

/// Whether a device lies on a target, other than with its file: writing a file system's own
/// files does not change the file of a loop device on it.
fn lies_on(device: &Footprint, target: &Footprint) -> bool {
    let shares = |name: &String| target.own.contains(name) || target.aliases.contains(name);
    target.has(&device.target) && device.below.iter().any(shares)
}
