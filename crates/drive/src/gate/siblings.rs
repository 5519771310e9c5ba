//! Other partitions of the target's disk: what uses them does not refuse, but it shares the drive's time.

use super::checks::{ok, unknown};
use super::family::Family;
use super::users::open_file_systems;
use drivescope_machine::mounts::{mounts, swaps};
use drivescope_machine::roots::{Roots, list_dir};
use drivescope_machine::stack::devices_of_mount;
use drivescope_model::gate::Check;
use std::collections::BTreeMap;

/// The check `siblings`.
pub(crate) fn check(roots: &Roots, family: &Family) -> Check {
    let table = mounts(roots);
    let mounted = table.iter().flat_map(|mount| devices_of_mount(roots, mount));
    let open = open_file_systems(roots).into_iter().map(|open| open.device);
    let swap = swaps(roots).into_iter().filter_map(|area| roots.block_of_node(&area));
    let has_holders = |name: &&String| {
        roots.block_dir(name).is_some_and(|dir| !list_dir(&dir.join("holders")).is_empty())
    };
    let built_on = family.siblings.iter().filter(has_holders).cloned();
    let mut used: BTreeMap<String, &str> = BTreeMap::new();
    // The last that is said of a device counts.
    used.extend(built_on.map(|name| (name, "has something built on it")));
    used.extend(swap.map(|name| (name, "is swap in use")));
    used.extend(open.map(|name| (name, "has an open file system")));
    used.extend(mounted.map(|name| (name, "is mounted")));
    let told: Vec<String> = family
        .siblings
        .iter()
        .filter_map(|name| Some(format!("{name} {}", used.get(name)?)))
        .collect();
    if told.is_empty() {
        return ok("siblings", "no other partition of the disk is in use");
    }
    let evidence = format!("{}: on the same disk, so its time is shared", told.join(", "));
    unknown("siblings", evidence, "lsblk; findmnt; swapon --show")
}
