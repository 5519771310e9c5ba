//! Which devices a mounted btrfs is on: its number in the mount table is made up, and its source may name none.

use super::BlockGraph;
use crate::mounts::Mount;
use crate::roots::{Roots, list_dir};
use std::path::Path;

/// The devices of each btrfs that the kernel has open.
fn all_open(roots: &Roots) -> impl Iterator<Item = Vec<String>> {
    let all = roots.sys.join("fs/btrfs");
    let devices = list_dir(&all).into_iter().map(move |id| list_dir(&all.join(id).join("devices")));
    devices.filter(|devices| !devices.is_empty())
}

/// All devices of the one that has `name` among them.
pub(super) fn devices_beside(roots: &Roots, name: &str) -> Vec<String> {
    let has_it = |devices: &Vec<String>| devices.iter().any(|device| device == name);
    all_open(roots).find(has_it).unwrap_or_else(|| vec![name.to_string()])
}

/// All devices of one whose mount names none, as a root that the kernel mounted itself (`/dev/root`): by another
/// mount of the same number, or those of all that no mount of another number names. In doubt too many, because
/// the drive of the running system must not be missed.
pub(super) fn devices_of_unnamed(graph: &BlockGraph, mount: &Mount) -> Vec<String> {
    let roots = &graph.roots;
    let tables = graph.mounts.iter().chain(&graph.mounts_of_init);
    let named: Vec<(bool, String)> = tables
        .filter(|other| other.kind == mount.kind)
        .filter_map(|other| {
            Some((other.dev == mount.dev, roots.block_of_node(Path::new(&other.source))?))
        })
        .collect();
    if let Some((_, name)) = named.iter().find(|(is_same, _)| *is_same) {
        return devices_beside(roots, name);
    }
    let is_another = |devices: &Vec<String>| named.iter().any(|(_, name)| devices.contains(name));
    all_open(roots).filter(|devices| !is_another(devices)).flatten().collect()
}
