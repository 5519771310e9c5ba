//! The checks of who uses a device or anything built on it.

use super::checks::uses;
use drivescope_machine::exports::{self, HiddenExports, UntracedExport};
use drivescope_machine::graph::{BlockGraph, Footprint};
use drivescope_machine::processes::{MountTables, hides_processes};
use drivescope_machine::uses::{self as found, DeviceUse, PoolMember};
use drivescope_model::gate::{Check, Outcome};

/// Every check of this file, in the order of the record. `labelled` are the pools that the target's own labels name,
/// if they were read.
pub(super) fn check(
    graph: &BlockGraph,
    footprint: &Footprint,
    labelled: &[PoolMember],
) -> Vec<Check> {
    let mut checks = mounts(graph, footprint);
    let node = graph.roots().node(&footprint.target);
    let nothing_built = format!("nothing is built on it (lsblk {})", node.display());
    let mut holders = found::holders(graph, footprint);
    holders.extend(exports::hidden(graph.roots()).into_iter().map(|HiddenExports { by, unread }| {
        let unread = unread.display();
        let evidence = format!(
            "the kernel's {by} may export it: {unread} cannot be read to tell; run mount -t configfs none \
             /sys/kernel/config, or run on the host"
        );
        DeviceUse::new(evidence, format!("ls {unread}"))
    }));
    holders.extend(exports::untraced(graph.roots(), footprint).into_iter().map(may_be_it));
    for (name, found, none) in [
        ("file systems", found::file_systems(graph, footprint), "none on it is open in the kernel"),
        ("swap", found::swap_areas(graph, footprint), "no swap area in use"),
        ("holders", holders, &nothing_built),
        ("loop devices", found::loop_devices(graph, footprint), "no loop device uses it"),
        ("pools", found::pools(graph, footprint, labelled), "not in an imported ZFS pool"),
    ] {
        checks.extend(uses(name, found, none));
    }
    checks
}

/// An export that may include the target.
fn may_be_it(export: UntracedExport) -> DeviceUse {
    let UntracedExport { by, name, path, why, end, shown } = export;
    let path =
        if path.as_os_str().is_empty() { "something".into() } else { path.display().to_string() };
    let evidence = format!(
        "the kernel's {by} exports {path} ({name}), which may be this device: {why}; end that export: {end}"
    );
    DeviceUse::new(evidence, format!("cat {}", shown.display()))
}

fn mounts(graph: &BlockGraph, footprint: &Footprint) -> Vec<Check> {
    let tables = MountTables::read(graph.roots());
    let none = format!("none in {} mount namespaces", tables.read.len());
    let mut checks = uses("mounts", found::mounts(graph, footprint, &tables), none);
    let hidden = match tables.hidden {
        0 if hides_processes(graph.roots()) => Some("those of other users".to_string()),
        0 => None,
        count => Some(format!("{count} processes")),
    };
    if let (Some(hidden), [check]) = (hidden, checks.as_mut_slice())
        && check.outcome == Outcome::Ok
    {
        check.outcome = Outcome::Unknown;
        check.evidence.push_str(&format!("; {hidden} are not visible: the kernel's claim decides"));
        check.command = Some("sudo cat /proc/*/mountinfo".to_string());
    }
    checks
}
