//! What is touched when a device is written: its partitions, other devices with the same bytes, everything
//! built on any of them, and what it is built of itself.

use super::BlockGraph;
use crate::block_device::Below;
use crate::roots::read_text;
use crate::udev;
use std::collections::{BTreeMap, BTreeSet};
use std::fs::Metadata;
use std::ops::Range;
use std::os::unix::fs::MetadataExt;

/// The devices that share bytes with a target, or hold what does, by kernel name.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Footprint {
    pub target: String,
    /// Its disk, when it is a partition.
    pub disk: Option<String>,
    /// The target itself, its partitions or its disk.
    pub own: BTreeSet<String>,
    /// Other devices with the same bytes: partitions that overlap it; disks that report to be the same drive,
    /// with the partitions concerned; for loop devices what they lie straight on, and others over the same file.
    pub aliases: BTreeSet<String>,
    /// Built on any of these, with what each lies on directly.
    pub above: BTreeMap<String, String>,
    /// The target and what it is built of. A file behind a loop device is not followed: writing the device changes only
    /// this file. A block device that backs it is followed.
    pub below: BTreeSet<String>,
    /// The main area of an eMMC of which the target is another: one chip.
    pub emmc_main_area: Option<String>,
    /// Partitions of the same disk that are not touched.
    pub siblings: BTreeSet<String>,
    /// Files behind the loop devices among all these, by `st_dev` and `st_ino`: the target's bytes too.
    pub files: BTreeSet<(u64, u64)>,
    labels: BTreeMap<String, String>,
    alias_disks: BTreeMap<String, String>,
    /// Disks of which only some partitions share bytes with the target.
    shared_in_part: BTreeSet<String>,
}

impl BlockGraph {
    /// The footprint of the device with this kernel name; only itself when sysfs does not know it.
    pub fn footprint(&self, target: &str) -> Footprint {
        let disk = self.node(target).and_then(|node| node.disk.clone());
        let mut own = BTreeSet::from([target.to_string()]);
        match &disk {
            Some(disk) => own.extend([disk.clone()]),
            None => own.extend(self.partitions(target)),
        }
        let below = self.built_of(target);
        let bytes = self.span(target);
        let mut aliases = self.other_paths(disk.as_deref().unwrap_or(target), &bytes);
        aliases.extend(self.aliases_by_loops(target));
        aliases.extend(self.past_holders(&below));
        let parts = disk.as_ref().map(|disk| self.partitions(disk)).unwrap_or_default();
        aliases.extend(disk.iter().flat_map(|disk| self.partitions_in(disk, &bytes)));
        aliases.retain(|name| !own.contains(name));
        let siblings =
            parts.into_iter().filter(|part| part != target && !aliases.contains(part)).collect();
        let shared: BTreeSet<String> = own.union(&aliases).cloned().collect();
        // A loop device straight on the disk of a partition may have other bytes of it.
        let is_apart = |upper: &str, under: &str| {
            let is_on_disk = upper.starts_with("loop") && disk.as_deref() == Some(under);
            is_on_disk && !self.shows_any(upper, &bytes)
        };
        let above = self.built_on(&self.with_origins(&shared, &below), &is_apart);
        let shown = shared.iter().chain(&below);
        let label =
            |name: &String| Some((name.clone(), read_text(self.dir(name)?.join("dm/name"))?));
        let is_in_part = |disk: &&String| {
            let parts = self.partitions(disk);
            parts.iter().any(|part| shared.contains(part))
                && !parts.iter().all(|part| shared.contains(part))
        };
        Footprint {
            files: shown.flat_map(|name| self.files_of_loop(name)).collect(),
            emmc_main_area: self.emmc_main_area(&self.disk_of(target)),
            labels: shared.iter().chain(above.keys()).chain(&below).filter_map(label).collect(),
            alias_disks: aliases.iter().map(|name| (name.clone(), self.disk_of(name))).collect(),
            shared_in_part: shared.iter().filter(is_in_part).cloned().collect(),
            target: target.to_string(),
            disk,
            own,
            aliases,
            above,
            below,
            siblings,
        }
    }

    /// Other disks that are the same drive as `disk` on another path, and of their partitions those that have any of
    /// these bytes.
    fn other_paths(&self, disk: &str, bytes: &Range<u64>) -> BTreeSet<String> {
        let mut found = BTreeSet::new();
        for path in self.other_paths_to(disk) {
            found.extend(self.partitions_in(&path, bytes));
            found.insert(path);
        }
        found
    }

    /// Devices that have bytes in common with the target by way of loop devices, with the partitions concerned: what
    /// its disk lies straight on, what that lies on, and others over the same file as any of these.
    fn aliases_by_loops(&self, target: &str) -> BTreeSet<String> {
        let mut found = BTreeSet::new();
        let mut disk = self.disk_of(target);
        let mut bytes = self.span(target);
        loop {
            found.extend(self.over_same_file(&disk, &bytes));
            let lower = self.device_of_loop(&disk).filter(|lower| !found.contains(lower));
            let Some(lower) = lower else { return found };
            bytes = self.bytes_below(&disk, &bytes);
            disk = self.disk_of(&lower);
            bytes = self.on_disk(&lower, &bytes);
            found.extend(self.partitions_in(&disk, &bytes));
            found.extend(self.other_paths(&disk, &bytes));
            found.extend([lower, disk.clone()]);
        }
    }

    /// What reaches that which others of `below` hold (device mapper, md, bcache) without asking these: loop devices,
    /// and other paths that are not held as well.
    fn past_holders(&self, below: &BTreeSet<String>) -> BTreeSet<String> {
        let mut found = BTreeSet::new();
        for held in below.iter().flat_map(|holder| self.held_by(holder)) {
            found.extend(self.aliases_by_loops(held));
            found.extend(self.loops_straight_on(held));
            let paths = self.other_paths(&self.disk_of(held), &self.span(held));
            found.extend(paths.into_iter().filter(|name| !below.contains(&self.disk_of(name))));
        }
        found
    }

    /// What a device is made of and holds itself.
    fn held_by(&self, name: &str) -> &[String] {
        match self.below(name) {
            Below::Devices(names) if !self.is_partition(name) => names,
            _ => &[],
        }
    }

    /// With what holds the contents of volumes of LVM that have snapshots (`vg-lv-real`): what is overwritten in such
    /// a volume moves into its snapshots, which are lost when they overflow. A snapshot itself keeps its own changes.
    fn with_origins(
        &self,
        shared: &BTreeSet<String>,
        below: &BTreeSet<String>,
    ) -> BTreeSet<String> {
        let is_real = |name: &String| {
            let uuid = self.dir(name).and_then(|dir| read_text(dir.join("dm/uuid")));
            uuid.is_some_and(|uuid| uuid.starts_with("LVM-") && uuid.ends_with("-real"))
        };
        let origins = below.iter().filter_map(|name| match self.held_by(name) {
            [only] if is_real(only) => Some(only.clone()),
            _ => None,
        });
        shared.iter().cloned().chain(origins).collect()
    }

    /// Everything built on `lower`, directly or over other devices, each with what it lies on, unless `is_apart` says
    /// that it has no bytes in common with the target.
    ///
    /// Looked at from both sides: what each device says to lie on, and the holders that each names.
    fn built_on(
        &self,
        lower: &BTreeSet<String>,
        is_apart: &dyn Fn(&str, &str) -> bool,
    ) -> BTreeMap<String, String> {
        let mut edges: Vec<(String, String)> = Vec::new();
        for (name, node) in &self.nodes {
            for under in self.directly_below(name) {
                // Partitions that are concerned are in `lower` themselves; their siblings lie on the same disk too.
                let is_itself = node.disk.is_some() && lower.contains(&under);
                if !is_itself && !is_apart(name, &under) {
                    edges.push((name.clone(), under));
                }
            }
            edges.extend(node.holders.iter().map(|holder| (holder.clone(), name.clone())));
        }
        let mut found: BTreeMap<String, String> = BTreeMap::new();
        loop {
            let before = found.len();
            for (upper, under) in &edges {
                if (lower.contains(under) || found.contains_key(under)) && !lower.contains(upper) {
                    found.entry(upper.clone()).or_insert_with(|| under.clone());
                }
            }
            if found.len() == before {
                return found;
            }
        }
    }

    /// For a loop device, the devices of its file's file system.
    fn directly_below(&self, name: &str) -> Vec<String> {
        match self.below(name) {
            Below::Devices(names) => names.clone(),
            Below::File(file) => match self.device_of_loop(name) {
                Some(device) => vec![device],
                None => self.devices_of_file(file),
            },
            Below::Nothing => Vec::new(),
        }
    }

    /// A device and all that it is built of, not through files.
    fn built_of(&self, name: &str) -> BTreeSet<String> {
        let mut found = BTreeSet::new();
        let mut waiting = vec![name.to_string()];
        while let Some(name) = waiting.pop() {
            if self.node(&name).is_some() && found.insert(name.clone()) {
                match self.below(&name) {
                    Below::Devices(lower) => waiting.extend(lower.iter().cloned()),
                    Below::File(_) => waiting.extend(self.device_of_loop(&name)),
                    Below::Nothing => waiting.extend(self.pool_below(&name)),
                }
            }
        }
        found
    }

    /// The devices of the pool that has a ZFS volume, as far as udev knows them.
    fn pool_below(&self, name: &str) -> Vec<String> {
        let number = self.roots.block_number(name).filter(|_| name.starts_with("zd"));
        let volume = number.and_then(|number| udev::zfs_volume(&self.roots, number));
        let pool = volume.as_deref().and_then(|volume| volume.split('/').next());
        pool.map(|pool| udev::devices_labelled(&self.roots, "zfs_member", pool)).unwrap_or_default()
    }
}

impl Footprint {
    /// Whether a use of this device is a use of the target.
    pub fn has(&self, name: &str) -> bool {
        self.own.contains(name) || self.aliases.contains(name) || self.above.contains_key(name)
    }

    /// Whether this is the file behind the target.
    pub fn has_file(&self, found: &Metadata) -> bool {
        found.is_file() && self.files.contains(&(found.dev(), found.ino()))
    }

    /// Whether only some partitions of a disk share bytes with the target, so that the others are not concerned. If
    /// none does, the bytes lie between partitions, and the whole disk counts.
    pub fn is_shared_in_part(&self, disk: &str) -> bool {
        self.shared_in_part.contains(disk)
    }

    /// What lies on the drives that are written: the target, what it is built of, and what else shows its bytes.
    pub fn on_same_drives(&self) -> impl Iterator<Item = &String> {
        self.below.iter().chain(&self.aliases).chain(&self.emmc_main_area)
    }

    pub fn members(&self) -> impl Iterator<Item = &String> {
        self.own.iter().chain(&self.aliases).chain(self.above.keys())
    }

    /// How a member belongs to the target: `sda1`, `dm-0 (vg-root) on sda2`.
    pub fn describe(&self, name: &str) -> String {
        let label = self.labels.get(name).map(|label| format!(" ({label})")).unwrap_or_default();
        if let Some(lower) = self.above.get(name) {
            return format!("{name}{label} on {lower}");
        }
        let target = &self.target;
        let is_loop = name.starts_with("loop") || target.starts_with("loop");
        match self.alias_disks.get(name) {
            Some(disk) if is_loop || self.disk.as_ref() == Some(disk) => {
                format!("{name}{label} (same bytes as {target})")
            }
            Some(_) => format!("{name}{label} (same identity as {target})"),
            None => format!("{name}{label}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::roots::Roots;
    use crate::roots::fake::Fake;

    const GIB: u64 = 1 << 30;

    fn footprint(roots: &Roots, target: &str) -> Footprint {
        BlockGraph::read(roots).footprint(target)
    }

    fn names(set: &BTreeSet<String>) -> Vec<&str> {
        set.iter().map(String::as_str).collect()
    }

    /// LVM on md on partitions of two disks, and a loop device on a file of that.
    fn layers() -> Fake {
        let fake = Fake::two_disks();
        fake.upper("md0", (9, 0), GIB, &["sda1", "sdb1"]);
        fake.upper("dm-0", (253, 0), GIB, &["md0"]);
        fake.attrs("dm-0", &[("dm/name", "vg-data")]);
        fake.loop_device(0, GIB, "/data/image");
        fake.mounts(&["1 0 0:1 / / rw - tmpfs t rw", "2 1 253:0 / /data rw - ext4 /dev/dm-0 rw"]);
        fake
    }

    #[test]
    fn disk_includes_its_partitions_and_their_users() {
        let fake = layers();
        let found = footprint(&fake.roots, "sda");
        assert_eq!(names(&found.own), ["sda", "sda1", "sda2"]);
        let above: Vec<&str> = found.above.keys().map(String::as_str).collect();
        assert_eq!(above, ["dm-0", "loop0", "md0"]);
        assert_eq!(found.describe("dm-0"), "dm-0 (vg-data) on md0");
        assert_eq!(names(&found.below), ["sda"]);
        assert!(!found.has("sdb1") && !found.has("sdb"));
    }

    #[test]
    fn partition_includes_its_disk_not_its_siblings() {
        let fake = layers();
        let found = footprint(&fake.roots, "sda2");
        assert_eq!(names(&found.own), ["sda", "sda2"]);
        assert_eq!(names(&found.siblings), ["sda1"]);
        assert!(found.above.is_empty(), "{found:?}");
        assert_eq!(names(&found.below), ["sda", "sda2"]);
    }

    #[test]
    fn footprint_ends_at_files() {
        let fake = layers();
        assert_eq!(names(&footprint(&fake.roots, "loop0").below), ["loop0"]);
        let below = footprint(&fake.roots, "dm-0").below;
        assert_eq!(names(&below), ["dm-0", "md0", "sda", "sda1", "sdb", "sdb1"]);
    }

    #[test]
    fn holders_count_also_where_nothing_lies_below_them() {
        let fake = layers();
        fake.disk("virtual/block/drbd0", (147, 0), GIB);
        let drbd = fake.roots.block_dir("drbd0").unwrap();
        fake.link("sys/class/block/sdb2/holders/drbd0", drbd);
        assert!(footprint(&fake.roots, "sdb").has("drbd0"));
        assert!(!footprint(&fake.roots, "sda").has("drbd0"));
    }

    #[test]
    fn another_path_to_the_drive_is_an_alias() {
        let fake = layers();
        for name in ["sda", "sdb"] {
            fake.attrs(name, &[("device/wwid", "naa.5000c500a")]);
        }
        let found = footprint(&fake.roots, "sda");
        assert_eq!(names(&found.aliases), ["sdb", "sdb1", "sdb2"]);
        let found = footprint(&fake.roots, "sda2");
        assert_eq!(names(&found.aliases), ["sdb", "sdb2"], "only the partition at the same place");
        fake.attrs("sdb", &[("device/wwid", "naa.5000c500b")]);
        assert!(footprint(&fake.roots, "sda").aliases.is_empty());
    }

    #[test]
    fn loop_device_on_a_disk_is_the_disk() {
        let fake = layers();
        for (minor, lower) in [(1, "/dev/sda"), (2, "/dev/loop1")] {
            fake.loop_device(minor, 8 * GIB, lower);
        }
        let found = footprint(&fake.roots, "loop2");
        assert_eq!(names(&found.aliases), ["loop1", "sda", "sda1", "sda2"]);
        assert!(found.has("md0") && found.has("dm-0"), "{found:?}");
        assert_eq!(names(&found.below), ["loop1", "loop2", "sda"]);
        assert_eq!(found.describe("sda1"), "sda1 (same bytes as loop2)");
        assert!(footprint(&fake.roots, "sda").has("loop2"));
    }

    #[test]
    fn loop_device_on_a_partition_excludes_its_siblings() {
        let fake = layers();
        for (minor, lower) in [(5, "/data/disk"), (6, "/data/disk"), (7, "/dev/loop5p2")] {
            fake.loop_device(minor, 8 * GIB, lower);
        }
        fake.partition("loop5", 1, (259, 1), 2048, 2048);
        fake.partition("loop5", 2, (259, 2), 4096, 2048);
        let found = footprint(&fake.roots, "loop7");
        assert_eq!(names(&found.aliases), ["loop5", "loop5p2", "loop6"]);
        assert!(found.above.is_empty(), "{found:?}");
        assert!(found.is_shared_in_part("loop5"));
        assert!(!footprint(&fake.roots, "loop5").is_shared_in_part("loop5"));
    }

    #[test]
    fn loop_device_elsewhere_does_not_touch_a_partition() {
        let fake = Fake::two_disks();
        fake.loop_device(1, 1 << 20, "/dev/sda");
        // sda1 has the second MiB, sda2 the third.
        for (offset, users) in [(1 << 20, "sda1"), (2 << 20, "sda2"), (3 << 20, "")] {
            fake.attrs("loop1", &[("loop/offset", &offset.to_string())]);
            for name in ["sda1", "sda2"] {
                let found = footprint(&fake.roots, name);
                assert_eq!(found.has("loop1"), name == users, "{name} at {offset}: {found:?}");
            }
            assert!(footprint(&fake.roots, "sda").has("loop1"));
        }
    }

    /// What holds a loop device says nothing of others over its file, nor of those straight on what it holds.
    #[test]
    fn loop_devices_past_a_holder_share_its_bytes() {
        let fake = Fake::two_disks();
        let files = ["/data/disk", "/data/disk", "/dev/sdb1", "/dev/sdb", "/data/other"];
        for (minor, file) in (0..).zip(files) {
            fake.loop_device(minor, GIB, file);
        }
        // Behind the partition.
        fake.attrs("loop3", &[("loop/offset", "2097152")]);
        fake.upper("md0", (9, 0), GIB, &["loop0", "sdb1"]);
        fake.upper("dm-0", (253, 0), GIB, &["md0"]);
        for target in ["md0", "dm-0"] {
            let found = footprint(&fake.roots, target);
            assert_eq!(names(&found.aliases), ["loop1", "loop2"], "{target}");
        }
    }

    #[test]
    fn snapshot_is_built_on_its_volume() {
        let fake = Fake::two_disks();
        let volumes: [(&str, &str, &[&str]); 5] = [
            ("vg-lv-real", "LVM-vvvvoooo-real", &["sda1"]),
            ("vg-lv", "LVM-vvvvoooo", &["dm-0"]),
            ("vg-snap-cow", "LVM-vvvvssss-cow", &["sda1"]),
            ("vg-snap", "LVM-vvvvssss", &["dm-0", "dm-2"]),
            ("vg-other", "LVM-vvvvtttt", &["sda1"]),
        ];
        for (minor, (label, uuid, lower)) in (0..).zip(volumes) {
            let name = format!("dm-{minor}");
            fake.disk(&format!("virtual/block/{name}"), (253, minor), GIB);
            fake.attrs(&name, &[("dm/name", label), ("dm/uuid", uuid)]);
            fake.slaves(&name, lower);
        }
        let found = footprint(&fake.roots, "dm-1");
        assert_eq!(found.above.keys().collect::<Vec<_>>(), ["dm-3"]);
        assert_eq!(found.describe("dm-3"), "dm-3 (vg-snap) on dm-0");
        for free in ["dm-3", "dm-4"] {
            let found = footprint(&fake.roots, free);
            assert!(found.above.is_empty(), "{free}: {found:?}");
        }
    }

    #[test]
    fn overlapping_partitions_are_not_siblings() {
        let fake = Fake::new();
        fake.disk("pci0000:00/block/sda", (8, 0), GIB);
        for (number, start, length) in [(1, 64, 8192), (2, 4096, 1024), (3, 8256, 1024)] {
            fake.partition("sda", number, (8, number), start, length);
        }
        for (target, alias, siblings) in
            [("sda1", "sda2", &["sda3"][..]), ("sda2", "sda1", &["sda3"])]
        {
            let found = footprint(&fake.roots, target);
            assert_eq!(names(&found.aliases), [alias]);
            assert_eq!(names(&found.siblings), siblings);
            assert_eq!(found.describe(alias), format!("{alias} (same bytes as {target})"));
        }
        assert!(footprint(&fake.roots, "sda3").aliases.is_empty());
    }

    #[test]
    fn the_unknown_is_alone() {
        let found = footprint(&Fake::new().roots, "sdz");
        assert_eq!(names(&found.own), ["sdz"]);
        assert!(found.below.is_empty() && found.above.is_empty() && found.aliases.is_empty());
    }
}
