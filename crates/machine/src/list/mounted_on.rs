//! What is mounted and what is swapped to, by device.

use crate::graph::BlockGraph;
use std::collections::{HashMap, HashSet};

/// Where lsblk and fstab users expect the word for a swap area.
const SWAP: &str = "[SWAP]";

#[derive(Debug, Default)]
pub struct MountedOn {
    mounted: HashMap<String, Vec<MountedPlace>>,
    swapped: HashSet<String>,
}

#[derive(Debug)]
struct MountedPlace {
    kind: String,
    mount_point: String,
}

impl MountedOn {
    pub fn of(graph: &BlockGraph) -> Self {
        let mut mounted: HashMap<String, Vec<MountedPlace>> = HashMap::new();
        // A pool has one mount for each of its many data sets; its devices are looked up once.
        let mut pools: HashMap<String, Vec<String>> = HashMap::new();
        for mount in graph.mounts() {
            let devices = match mount.source.split('/').next() {
                Some(pool) if mount.kind == "zfs" => pools
                    .entry(pool.to_string())
                    .or_insert_with(|| graph.data_devices(mount))
                    .clone(),
                _ => graph.data_devices(mount),
            };
            for name in devices {
                mounted.entry(name).or_default().push(MountedPlace {
                    kind: mount.kind.clone(),
                    mount_point: mount.mount_point.to_string_lossy().into_owned(),
                });
            }
        }
        let areas = graph.swap_areas().iter();
        let swapped = areas.filter_map(|area| graph.roots().block_of_node(area)).collect();
        Self { mounted, swapped }
    }

    /// Where a device is mounted, in the order of the mount table, each place once; `[SWAP]` for a
    /// swap area in use.
    pub fn places(&self, name: &str) -> Vec<String> {
        let mut places: Vec<String> = Vec::new();
        for mounted in self.mounted.get(name).into_iter().flatten() {
            if !places.contains(&mounted.mount_point) {
                places.push(mounted.mount_point.clone());
            }
        }
        if self.swapped.contains(name) {
            places.push(SWAP.to_string());
        }
        places
    }

    /// What a device in use holds: type of the file system, or `swap`. FUSE does not report the type.
    pub fn content(&self, name: &str) -> Option<String> {
        if self.swapped.contains(name) {
            return Some("swap".to_string());
        }
        let mounted = self.mounted.get(name)?;
        mounted.iter().map(|m| &m.kind).find(|kind| !kind.starts_with("fuse")).cloned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::roots::fake::Fake;

    #[test]
    fn pool_data_sets_are_on_its_devices() {
        let fake = Fake::new();
        fake.disk("pci0000:00/block/sda", (8, 0), 1 << 30);
        fake.file("run/udev/data/b8:0", "E:ID_FS_TYPE=zfs_member\nE:ID_FS_LABEL=tank\n");
        fake.mounts(&["1 0 0:40 / / rw - zfs tank/a rw", "2 1 0:41 / /b rw - zfs tank/b rw"]);
        let usage = MountedOn::of(&BlockGraph::read(&fake.roots));
        assert_eq!(usage.places("sda"), ["/", "/b"]);
        assert_eq!(usage.content("sda").as_deref(), Some("zfs"));
    }

    #[test]
    fn devices_in_use_tell_places_and_content() {
        let fake = Fake::new();
        fake.disk("pci0000:00/block/sda", (8, 0), 1 << 30);
        for number in 1..=4 {
            fake.partition("sda", number, (8, number), 2048 * u64::from(number), 2048);
        }
        fake.mounts(&[
            "1 0 8:1 / / rw - ext4 /dev/sda1 rw",
            "2 1 8:1 /x /bind rw - ext4 /dev/sda1 rw",
            "3 1 0:40 /@ /data rw - btrfs /dev/sda3 rw",
            "4 1 8:4 / /win rw - fuseblk /dev/sda4 rw",
            "5 1 8:1 /x /bind rw - ext4 /dev/sda1 rw",
        ]);
        fake.file("proc/swaps", "Filename Type\n/dev/sda2 partition\n");
        let usage = MountedOn::of(&BlockGraph::read(&fake.roots));
        assert_eq!(usage.places("sda1"), ["/", "/bind"]);
        assert_eq!(usage.places("sda2"), ["[SWAP]"]);
        assert_eq!(usage.places("sda3"), ["/data"]);
        assert!(usage.places("sda").is_empty());
        let content = |name: &str| usage.content(name);
        assert_eq!(content("sda1").as_deref(), Some("ext4"));
        assert_eq!(content("sda2").as_deref(), Some("swap"));
        assert_eq!(content("sda3").as_deref(), Some("btrfs"));
        assert_eq!(content("sda4"), None);
        assert_eq!(content("sda"), None);
    }
}
