//! Who uses a served drive, and saving what they still have in memory before they lose it.

use drivescope_machine::graph::BlockGraph;
use drivescope_machine::open_handles::{OpenHandles, Sought};
use drivescope_machine::processes::describe_process;
use drivescope_machine::roots::{Roots, file_name, open_to_read};
use drivescope_machine::uses::{all_uses, mount_points};
use rustix::fs::OFlags;
use rustix::io::Errno;
use std::collections::BTreeSet;
use std::path::Path;

/// Who uses the served file: programs that have it open.
pub(super) fn of_file(roots: &Roots, file: &Path) -> Vec<String> {
    openers(roots, &|open| open == file, file)
}

/// Who uses the block device or a partition of it: file systems, swap areas, devices built on it, and
/// programs that have it open.
pub(super) fn of_device(roots: &Roots, node: &Path) -> Vec<String> {
    let Some(name) = file_name(node) else { return Vec::new() };
    let mut users = all_uses(&BlockGraph::read(roots), &name);
    let partition = format!("{}p", node.display());
    let is_ours = |open: &Path| {
        open == node || open.to_str().is_some_and(|open| open.starts_with(&partition))
    };
    users.extend(openers(roots, &is_ours, node));
    users
}

/// `fio (process 812) has /dev/loop5 open`, for every other program whose descriptors may be looked at.
fn openers(roots: &Roots, is_it: &dyn Fn(&Path) -> bool, what: &Path) -> Vec<String> {
    let handles = OpenHandles::scan(roots, Sought::Paths(is_it)).found.into_iter();
    let programs: BTreeSet<String> = handles
        .map(|open| describe_process(roots, &open.process))
        .map(|program| format!("{program} has {} open", what.display()))
        .collect();
    programs.into_iter().collect()
}

/// Writes to the drive what file systems on it and the kernel's cache of the device still have in
/// memory. Takes as long as the drive needs; one sentence for each that could not be saved.
pub(super) fn save(roots: &Roots, node: &Path) -> Vec<String> {
    let name = file_name(node).unwrap_or_default();
    let open = |path: &Path| open_to_read(path, OFlags::NONBLOCK);
    let mut lost = Vec::new();
    let mut note = |what: &Path, result: Result<(), Errno>| {
        if let Err(errno) = result {
            lost.push(format!("what {} had in memory could not be saved: {errno}", what.display()));
        }
    };
    for place in mount_points(&BlockGraph::read(roots), &name) {
        note(&place, open(&place).and_then(rustix::fs::syncfs));
    }
    note(node, open(node).and_then(rustix::fs::fsync));
    lost
}

#[cfg(test)]
mod tests {
    use super::*;
    use drivescope_machine::roots::fake::Fake;

    #[test]
    fn other_programs_with_an_open_partition_are_named() {
        let fake = Fake::new();
        fake.link("proc/self", "99");
        for (process, open) in
            [("99", "/dev/loop7"), ("812", "/dev/loop7p2"), ("813", "/dev/loop70")]
        {
            fake.file(&format!("proc/{process}/comm"), "fio\n");
            fake.link(&format!("proc/{process}/fd/3"), open);
        }
        let users = of_device(&fake.roots, Path::new("/dev/loop7"));
        assert_eq!(users, ["fio (process 812) has /dev/loop7 open"]);
        assert!(of_file(&fake.roots, Path::new("/mnt/disk.img")).is_empty());
    }
}
