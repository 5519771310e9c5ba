//! Who uses a device or anything built on it: mounts of every visible namespace, file systems that the kernel has open,
//! swap areas, holders, loop devices, pools. [`crate::open_handles`] reports programs that merely have it open.

use crate::exports::{self, ExportOf};
use crate::graph::{BlockGraph, Footprint};
use crate::mounts::Mount;
use crate::processes::MountTables;
use crate::roots::{Roots, list_dir, read_text};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// Uses listed per kind; the rest is counted.
const USES_MAX: usize = 8;

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct DeviceUse {
    pub evidence: String,
    pub command: String,
}

impl DeviceUse {
    pub fn new(evidence: impl Into<String>, command: impl Into<String>) -> Self {
        Self { evidence: evidence.into(), command: command.into() }
    }
}

/// Each use of a kind once, in order; of many, how many more there are.
pub fn shortened(mut found: Vec<DeviceUse>) -> Vec<DeviceUse> {
    found.sort();
    found.dedup();
    let more = found.len().saturating_sub(USES_MAX);
    found.truncate(USES_MAX);
    if let (Some(last), 1..) = (found.last_mut(), more) {
        last.evidence.push_str(&format!("; and {more} more like it"));
    }
    found
}

/// What the kernel shows to use the block device with this kernel name, a partition of it, or anything
/// built on these: one clause each. Programs that merely have it open are not among them.
pub fn all_uses(graph: &BlockGraph, name: &str) -> Vec<String> {
    let footprint = graph.footprint(name);
    let tables = MountTables::read(graph.roots());
    let mounted = shortened(mounts(graph, &footprint, &tables));
    // A file system that is mounted visibly is open in the kernel too.
    let open = if mounted.is_empty() { file_systems(graph, &footprint) } else { Vec::new() };
    let others = [
        open,
        swap_areas(graph, &footprint),
        holders(graph, &footprint),
        loop_devices(graph, &footprint),
        pools(graph, &footprint, &[]),
    ];
    let all = mounted.into_iter().chain(others.into_iter().flat_map(shortened));
    all.map(|found| found.evidence).collect()
}

/// Where file systems on the device or on anything built on it are mounted, as this process sees it.
pub fn mount_points(graph: &BlockGraph, name: &str) -> Vec<PathBuf> {
    let footprint = graph.footprint(name);
    let is_on =
        |mount: &&Mount| graph.devices_of_mount(mount).iter().any(|device| footprint.has(device));
    graph.mounts().iter().filter(is_on).map(|mount| mount.mount_point.clone()).collect()
}

pub fn mounts(graph: &BlockGraph, footprint: &Footprint, tables: &MountTables) -> Vec<DeviceUse> {
    // By number, kind and source: bind mounts and namespaces show one file system many times.
    let mut devices = BTreeMap::new();
    let mut found = Vec::new();
    let mut places = BTreeSet::new();
    for (process, table) in &tables.read {
        for mount in table {
            // Neither needs a loop device to mount a file.
            let is_by_fuse = mount.kind.starts_with("fuse") && mount.source.starts_with('/');
            let may_be_file = mount.kind == "erofs" || is_by_fuse;
            let is_file =
                || fs::metadata(&mount.source).is_ok_and(|file| footprint.has_file(&file));
            // Query only if needed: the mount may lie on a server that never answers.
            if may_be_file && !footprint.files.is_empty() && is_file() {
                let (kind, point) = (&mount.kind, mount.mount_point.display());
                let what = format!("the file behind {} is mounted on {point}", footprint.target);
                let command = format!("findmnt --types {kind}");
                found.push(DeviceUse::new(format!("{what} ({kind})"), command));
            }
            let key = (mount.dev, mount.kind.as_str(), mount.source.as_str());
            let names = devices.entry(key).or_insert_with(|| graph.devices_of_mount(mount));
            for name in names.iter().filter(|name| footprint.has(name)) {
                let point = mount.mount_point.display().to_string();
                if places.insert((name.clone(), point)) {
                    found.push(mounted(graph.roots(), footprint, name, mount, process.as_deref()));
                }
            }
        }
    }
    found
}

fn mounted(
    roots: &Roots,
    footprint: &Footprint,
    name: &str,
    mount: &Mount,
    process: Option<&str>,
) -> DeviceUse {
    let (device, point) = (footprint.describe(name), mount.mount_point.display());
    let what = format!("{device} is mounted on {point} ({})", mount.kind);
    let Some(process) = process else {
        return DeviceUse::new(what, format!("findmnt --source {}", roots.node(name).display()));
    };
    let command = format!("cat /proc/{process}/mountinfo");
    DeviceUse::new(format!("{what} for process {process}"), command)
}

pub struct OpenFileSystem {
    kind: String,
    /// One of the devices it is on.
    pub device: String,
    dir: PathBuf,
}

/// File systems the kernel has open, whoever mounted them: `/sys/fs` and `/proc/fs` are the same in every
/// container, and keep those that were unmounted lazily. Entries that are no devices are among them.
pub fn open_file_systems(roots: &Roots) -> Vec<OpenFileSystem> {
    let all = roots.sys.join("fs");
    let no_file_systems = ["bpf", "cgroup", "fuse", "pstore", "resctrl", "selinux", "smackfs"];
    let kinds = list_dir(&all).into_iter().filter(|kind| !no_file_systems.contains(&kind.as_str()));
    let mut found = Vec::new();
    for kind in kinds {
        for name in list_dir(&all.join(&kind)) {
            let dir = all.join(&kind).join(&name);
            // btrfs has a directory for each file system, with its devices in it.
            for device in list_dir(&dir.join("devices")) {
                let dir = dir.join("devices").join(&device);
                found.push(OpenFileSystem { kind: kind.clone(), device, dir });
            }
            found.push(OpenFileSystem { kind: kind.clone(), device: name, dir });
        }
    }
    let mut more = in_proc(roots);
    more.retain(|open| !found.iter().any(|known: &OpenFileSystem| known.device == open.device));
    found.extend(more);
    found
}

/// File systems in `/proc/fs`: ntfs3, and the journals of ext4 (`sdb1-8`, or `sdb1` where it has the device to itself).
fn in_proc(roots: &Roots) -> Vec<OpenFileSystem> {
    let all = roots.proc.join("fs");
    let mut found = Vec::new();
    for kind in list_dir(&all) {
        for name in list_dir(&all.join(&kind)) {
            let dir = all.join(&kind).join(&name);
            let owner = name.rsplit_once('-').map(|(owner, _)| owner.to_string());
            for device in std::iter::once(name).chain(owner) {
                found.push(OpenFileSystem { kind: kind.clone(), device, dir: dir.clone() });
            }
        }
    }
    found
}

pub fn file_systems(graph: &BlockGraph, footprint: &Footprint) -> Vec<DeviceUse> {
    let all = open_file_systems(graph.roots()).into_iter();
    let found = all.filter(|open| footprint.has(&open.device)).map(|open| {
        let device = footprint.describe(&open.device);
        let evidence = format!("the kernel has {} on {device} open", open.kind);
        DeviceUse::new(evidence, format!("ls -d {}", open.dir.display()))
    });
    found.collect()
}

pub fn swap_areas(graph: &BlockGraph, footprint: &Footprint) -> Vec<DeviceUse> {
    let mut found = Vec::new();
    for area in graph.swap_areas() {
        if fs::metadata(area).is_ok_and(|file| footprint.has_file(&file)) {
            let target = &footprint.target;
            let evidence = format!("the file behind {target} is the swap file {}", area.display());
            found.push(DeviceUse::new(evidence, "swapon --show"));
        }
        let (what, devices) = match graph.roots().block_of_node(area) {
            Some(device) => ("is active swap".to_string(), vec![device]),
            None => {
                let what = format!("holds the swap file {}", area.display());
                (what, graph.devices_of_file(area))
            }
        };
        for device in devices.iter().filter(|name| footprint.has(name)) {
            let device = footprint.describe(device);
            found.push(DeviceUse::new(format!("{device} {what}"), "swapon --show"));
        }
    }
    found
}

/// Device mapper, md, bcache and whatever else the kernel shows as built on the device, or gives to others.
pub fn holders(graph: &BlockGraph, footprint: &Footprint) -> Vec<DeviceUse> {
    let mut found = Vec::new();
    for name in footprint.above.keys().filter(|name| !name.starts_with("loop")) {
        // Partitions of an array add nothing to the array.
        let Some(dir) = graph.dir(name).filter(|_| !graph.is_partition(name)) else { continue };
        let (what, command) = holder_kind(dir, name);
        found.push(DeviceUse::new(format!("{}: {what}", footprint.describe(name)), command));
    }
    for name in footprint.own.iter().chain(&footprint.aliases) {
        let Some(dir) = graph.dir(name) else { continue };
        // Also a caching device that no backing device uses yet.
        if dir.join("bcache").exists() && !dir.join("bcache/dev").exists() {
            let command = format!("ls {}", dir.join("bcache").display());
            found.push(DeviceUse::new(format!("{name} is registered with bcache"), command));
        }
    }
    let exported = exports::of_footprint(graph.roots(), footprint).into_iter();
    found.extend(exported.map(|ExportOf { what, by, shown }| {
        let evidence = format!("{what} is exported by the kernel's {by}");
        DeviceUse::new(evidence, format!("cat {}", shown.display()))
    }));
    found
}

fn holder_kind(dir: &Path, name: &str) -> (String, String) {
    let uuid = read_text(dir.join("dm/uuid")).unwrap_or_default();
    let dmsetup = format!("dmsetup info /dev/{name}");
    let level = read_text(dir.join("md/level"));
    if uuid.starts_with("LVM-") {
        let end = "lvchange --activate n ends it";
        (format!("an active logical volume of LVM; {end}"), dmsetup)
    } else if uuid.starts_with("CRYPT-") {
        ("an open encrypted volume".to_string(), dmsetup)
    } else if uuid.starts_with("mpath-") {
        ("a multipath device; name it instead of its path".to_string(), "multipath -ll".to_string())
    } else if name.starts_with("dm-") {
        ("a device-mapper device".to_string(), dmsetup)
    } else if name.starts_with("md") {
        let level = level.map(|level| format!(" ({level})")).unwrap_or_default();
        let end = format!("mdadm --stop /dev/{name} ends it");
        (format!("an md array{level}; {end}"), "cat /proc/mdstat".to_string())
    } else if name.starts_with("bcache") {
        let end = format!("echo 1 > /sys/block/{name}/bcache/stop ends it");
        (format!("a bcache device; {end}"), format!("ls /sys/block/{name}/bcache"))
    } else {
        ("built on it".to_string(), format!("lsblk --inverse /dev/{name}"))
    }
}

/// Loop devices whose file lies on it.
pub fn loop_devices(graph: &BlockGraph, footprint: &Footprint) -> Vec<DeviceUse> {
    let found = footprint.above.iter().filter_map(|(name, below)| {
        let file = read_text(graph.dir(name)?.join("loop/backing_file"))?;
        let evidence = format!("the file behind {name} is on {below}: {file}");
        Some(DeviceUse::new(evidence, format!("losetup --list /dev/{name}")))
    });
    found.collect()
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PoolMember {
    pub device: String,
    pub pool: String,
}

/// Imported pools that the device belongs to: as udev knows them, and as its own labels tell, if these were read.
pub fn pools(graph: &BlockGraph, footprint: &Footprint, labelled: &[PoolMember]) -> Vec<DeviceUse> {
    let imported = list_dir(&graph.roots().proc.join("spl/kstat/zfs"));
    let by_udev = footprint.members().filter_map(|name| {
        Some(PoolMember { device: name.clone(), pool: graph.pool_of_member(name)? })
    });
    let all = by_udev.chain(labelled.iter().cloned());
    let found = all.filter(|member| imported.contains(&member.pool));
    let found = found.map(|PoolMember { device, pool }| {
        let evidence = format!("{device} belongs to the imported ZFS pool {pool}");
        DeviceUse::new(evidence, format!("zpool status -L {pool}"))
    });
    found.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::roots::fake::Fake;

    #[test]
    fn mount_is_found_through_layers_and_listed_once() {
        let fake = Fake::new();
        fake.disk("virtual/block/loop7", (7, 7), 1 << 30);
        fake.upper("dm-0", (253, 0), 1 << 30, &["loop7"]);
        fake.mounts(&[
            "1 0 8:1 / / rw - ext4 /dev/sda1 rw",
            "2 1 253:0 / /data rw - ext4 /dev/dm-0 rw",
        ]);
        fake.file("sys/fs/ext4/dm-0/state", "");
        let graph = BlockGraph::read(&fake.roots);
        assert_eq!(mount_points(&graph, "loop7"), [PathBuf::from("/data")]);
        let uses = all_uses(&graph, "loop7");
        assert_eq!(uses.iter().filter(|text| text.contains("/data")).count(), 1, "{uses:?}");
        assert!(!uses.iter().any(|text| text.contains("the kernel has")), "{uses:?}");
        assert!(uses.iter().any(|text| text.contains("dm-0 on loop7")), "{uses:?}");
        assert!(all_uses(&graph, "loop8").is_empty());
    }

    #[test]
    fn each_use_is_listed_once_many_are_counted() {
        let uses = |of: fn(usize) -> usize, count| {
            let uses = (0..count).map(|i| DeviceUse::new(format!("u{:02}", of(i)), "c"));
            shortened(uses.collect())
        };
        assert_eq!(uses(|i| i / 2 * 2, 12).len(), 6);
        let many = uses(|i| i, 11);
        assert_eq!((many.len(), many[7].evidence.as_str()), (USES_MAX, "u07; and 3 more like it"));
    }
}
