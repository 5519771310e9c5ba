//! Other partitions of the target's disk: what uses them does not refuse, but it shares the drive's time.

use super::checks::{ok, unknown};
use drivescope_machine::graph::{BlockGraph, Footprint};
use drivescope_machine::uses::open_file_systems;
use drivescope_model::gate::Check;
use std::collections::BTreeMap;

pub(super) fn check(graph: &BlockGraph, footprint: &Footprint) -> Check {
    let roots = graph.roots();
    let mounted = graph.mounts().iter().flat_map(|mount| graph.devices_of_mount(mount));
    let open = open_file_systems(roots).into_iter().map(|open| open.device);
    let swap = graph.swap_areas().iter().filter_map(|area| roots.block_of_node(area));
    let built_on =
        footprint.siblings.iter().filter(|name| !graph.holders(name).is_empty()).cloned();
    let mut used: BTreeMap<String, &str> = BTreeMap::new();
    // The last statement about a device counts.
    used.extend(built_on.map(|name| (name, "has something built on it")));
    used.extend(swap.map(|name| (name, "is active swap")));
    used.extend(open.map(|name| (name, "has an open file system")));
    used.extend(mounted.map(|name| (name, "is mounted")));
    let uses: Vec<String> = footprint
        .siblings
        .iter()
        .filter_map(|name| Some(format!("{name} {}", used.get(name)?)))
        .collect();
    if uses.is_empty() {
        return ok("siblings", "no other partition of the disk is in use");
    }
    let evidence = format!("{} on the same disk, which may slow the test", uses.join(", "));
    unknown("siblings", evidence, "lsblk; findmnt; swapon --show")
}
