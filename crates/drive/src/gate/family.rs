//! Which devices are touched when one is written: its partitions, other paths to it, and everything
//! built on any of them; and what it is built of itself.

use super::shared_bytes::{
    bytes_below, disk_of, files_of, meet, on_disk, partitions_in, range, same_file, span,
    straight_on,
};
use drivescope_machine::backing_file::lower_device;
use drivescope_machine::list::{main_area, same_drive_as, udev};
use drivescope_machine::roots::{Roots, file_name, list_dir, read_text};
use drivescope_machine::stack::{Below, FileTables, below};
use std::collections::{BTreeMap, BTreeSet};
use std::fs::Metadata;
use std::ops::Range;
use std::os::unix::fs::MetadataExt;

/// The devices around a target, by kernel name.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Family {
    /// What is to be written.
    pub target: String,
    /// Its disk, when it is a partition.
    pub disk: Option<String>,
    /// Devices that share bytes with the target: itself, its partitions or its disk.
    pub same: BTreeSet<String>,
    /// Other devices with the same bytes: partitions that overlap it; disks that report to be the same drive,
    /// with the partitions concerned; for loop devices what they lie straight on, and others over the same file.
    pub twins: BTreeSet<String>,
    /// Built on any of these, with what each lies on directly.
    pub above: BTreeMap<String, String>,
    /// The target and what it is built of. A file behind a loop device is not followed: writing the
    /// device changes nothing but this file. A block device behind it is.
    pub below: BTreeSet<String>,
    /// The main area of an eMMC of which the target is another: one chip.
    pub chip: Option<String>,
    /// Partitions of the same disk that are not touched.
    pub siblings: BTreeSet<String>,
    /// Files behind the loop devices among all these, by `st_dev` and `st_ino`: the target's bytes too.
    pub files: BTreeSet<(u64, u64)>,
}

impl Family {
    /// The family of the device with this kernel name; only itself when sysfs does not know it.
    pub fn of(roots: &Roots, target: &str) -> Self {
        let (same, disk) = same(roots, target);
        let below = built_of(roots, target);
        let bytes = span(roots, target);
        let mut twins = other_paths(roots, disk.as_deref().unwrap_or(target), &bytes);
        twins.extend(by_loops(roots, target));
        twins.extend(past_holders(roots, &below));
        let parts = disk.as_ref().map(|disk| partitions(roots, disk)).unwrap_or_default();
        twins.extend(disk.iter().flat_map(|disk| partitions_in(roots, disk, &bytes)));
        twins.retain(|name| !same.contains(name));
        let is_sibling = |part: &String| part != target && !twins.contains(part);
        let siblings = parts.into_iter().filter(is_sibling).collect();
        let shared = same.union(&twins).cloned().collect();
        // A loop device straight on the disk of a partition may have other bytes of it.
        let is_apart = |upper: &str, under: &str| {
            let is_on_disk = upper.starts_with("loop") && disk.as_deref() == Some(under);
            is_on_disk && !meet(&bytes, &range(roots, upper))
        };
        let above = above(roots, &with_origins(roots, &shared, &below), &is_apart);
        let shown = same.iter().chain(&twins).chain(&below);
        let files = shown.flat_map(|name| files_of(roots, name)).collect();
        let chip = main_area(roots, &disk_of(roots, target));
        let target = target.to_string();
        Self { target, disk, same, twins, above, below, chip, siblings, files }
    }

    /// Whether a use of this device is a use of the target.
    pub fn has(&self, name: &str) -> bool {
        self.same.contains(name) || self.twins.contains(name) || self.above.contains_key(name)
    }

    /// Whether this is the file behind the target.
    pub fn has_file(&self, found: &Metadata) -> bool {
        found.is_file() && self.files.contains(&(found.dev(), found.ino()))
    }

    /// Whether only some partitions of a disk share bytes with the target, so that what is on the others is not
    /// concerned. Where none does, the bytes lie between them, and only the disk can tell.
    pub fn is_shared_in_part(&self, roots: &Roots, disk: &str) -> bool {
        let shares = |name: &String| self.same.contains(name) || self.twins.contains(name);
        let parts = partitions(roots, disk);
        shares(&disk.to_string()) && parts.iter().any(shares) && !parts.iter().all(shares)
    }

    /// What lies on the drives that are written: the target, what it is built of, and what else shows its bytes.
    pub fn on_same_drives(&self) -> impl Iterator<Item = &String> {
        self.below.iter().chain(&self.twins).chain(&self.chip)
    }

    /// All devices of which [`Family::has`] is true.
    pub fn members(&self) -> impl Iterator<Item = &String> {
        self.same.iter().chain(&self.twins).chain(self.above.keys())
    }

    /// How a member belongs to the target: `sda1`, `dm-0 (vg-root) on sda2`.
    pub fn describe(&self, roots: &Roots, name: &str) -> String {
        let label = roots.block_dir(name).and_then(|dir| read_text(dir.join("dm/name")));
        let label = label.map(|label| format!(" ({label})")).unwrap_or_default();
        match self.above.get(name) {
            Some(lower) => format!("{name}{label} on {lower}"),
            None if self.twins.contains(name) => {
                let target = &self.target;
                let is_loop = name.starts_with("loop") || target.starts_with("loop");
                match is_loop || self.disk.as_deref() == Some(&disk_of(roots, name)) {
                    true => format!("{name}{label} (same bytes as {target})"),
                    false => {
                        format!("{name}{label}, which reports to be the same drive as {target}")
                    }
                }
            }
            None => format!("{name}{label}"),
        }
    }
}

/// A device and its partitions, or its disk, which comes back too.
fn same(roots: &Roots, name: &str) -> (BTreeSet<String>, Option<String>) {
    let disk = roots
        .block_dir(name)
        .filter(|dir| dir.join("partition").exists())
        .and_then(|dir| file_name(dir.parent()?));
    let mut same = BTreeSet::from([name.to_string()]);
    match &disk {
        Some(disk) => same.extend([disk.clone()]),
        None => same.extend(partitions(roots, name)),
    }
    (same, disk)
}

/// Partitions of a disk.
pub(crate) fn partitions(roots: &Roots, disk: &str) -> Vec<String> {
    let Some(dir) = roots.block_dir(disk) else { return Vec::new() };
    let mut names = list_dir(&dir);
    names.retain(|name| dir.join(name).join("partition").exists());
    names
}

/// Other disks that are the same drive as `disk` on another path, and of their partitions those that have any of
/// these bytes.
fn other_paths(roots: &Roots, disk: &str, bytes: &Range<u64>) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for twin in same_drive_as(roots, disk) {
        found.extend(partitions_in(roots, &twin, bytes));
        found.insert(twin);
    }
    found
}

/// Devices that have bytes in common with the target by way of loop devices, with the partitions concerned: what
/// its disk lies straight on, what that lies on, and others over the same file as any of these.
fn by_loops(roots: &Roots, target: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let mut disk = disk_of(roots, target);
    let mut bytes = span(roots, target);
    loop {
        found.extend(same_file(roots, &disk, &bytes));
        let lower = lower_device(roots, &disk).filter(|lower| !found.contains(lower));
        let Some(lower) = lower else { return found };
        bytes = bytes_below(roots, &disk, &bytes);
        disk = disk_of(roots, &lower);
        bytes = on_disk(roots, &lower, &bytes);
        found.extend(partitions_in(roots, &disk, &bytes));
        found.extend(other_paths(roots, &disk, &bytes));
        found.extend([lower, disk.clone()]);
    }
}

/// What reaches that which others of `below` hold (device mapper, md, bcache) without asking these: loop devices,
/// and other paths that are not held as well.
fn past_holders(roots: &Roots, below: &BTreeSet<String>) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for held in below.iter().flat_map(|holder| held_by(roots, holder)) {
        found.extend(by_loops(roots, &held));
        found.extend(straight_on(roots, &held));
        let paths = other_paths(roots, &disk_of(roots, &held), &span(roots, &held));
        found.extend(paths.into_iter().filter(|name| !below.contains(&disk_of(roots, name))));
    }
    found
}

/// What a device is made of and holds itself.
fn held_by(roots: &Roots, name: &str) -> Vec<String> {
    let dir = roots.block_dir(name).filter(|dir| !dir.join("partition").exists());
    match dir.map(|dir| below(&dir)) {
        Some(Below::Devices(names)) => names,
        _ => Vec::new(),
    }
}

/// With what holds the contents of volumes of LVM that have snapshots (`vg-lv-real`): what is overwritten in such
/// a volume moves into its snapshots, which are lost when they overflow. A snapshot itself keeps its own changes.
fn with_origins(
    roots: &Roots,
    shared: &BTreeSet<String>,
    below: &BTreeSet<String>,
) -> BTreeSet<String> {
    let is_real = |name: &String| {
        let uuid = roots.block_dir(name).and_then(|dir| read_text(dir.join("dm/uuid")));
        uuid.is_some_and(|uuid| uuid.starts_with("LVM-") && uuid.ends_with("-real"))
    };
    let origins = below.iter().filter_map(|name| match held_by(roots, name).as_slice() {
        [only] if is_real(only) => Some(only.clone()),
        _ => None,
    });
    shared.iter().cloned().chain(origins).collect()
}

/// Everything built on `lower`, directly or over other devices, each with what it lies on, unless `is_apart` says
/// that it has no bytes in common with the target.
///
/// Looked at from both sides: what each device says to lie on, and the holders that each names.
fn above(
    roots: &Roots,
    lower: &BTreeSet<String>,
    is_apart: &dyn Fn(&str, &str) -> bool,
) -> BTreeMap<String, String> {
    let tables = FileTables::read(roots);
    let mut edges: Vec<(String, String)> = Vec::new();
    for name in list_dir(&roots.sys.join("class/block")) {
        let Some(dir) = roots.block_dir(&name) else { continue };
        let is_part = dir.join("partition").exists();
        for under in directly_below(roots, &tables, &name) {
            // Partitions that are concerned are in `lower` themselves; their siblings lie on the same disk too.
            let is_itself = is_part && lower.contains(&under);
            if !is_itself && !is_apart(&name, &under) {
                edges.push((name.clone(), under));
            }
        }
        let holders = list_dir(&dir.join("holders"));
        edges.extend(holders.into_iter().map(|holder| (holder, name.clone())));
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

/// The devices directly below one; for a loop device those of the file system that has its file.
fn directly_below(roots: &Roots, tables: &FileTables, name: &str) -> Vec<String> {
    let Some(dir) = roots.block_dir(name) else { return Vec::new() };
    match below(&dir) {
        Below::Devices(names) => names,
        Below::File(file) => match lower_device(roots, name) {
            Some(device) => vec![device],
            None => tables.devices_of(roots, &file),
        },
        Below::Nothing => Vec::new(),
    }
}

/// A device and all that it is built of, not through files.
fn built_of(roots: &Roots, name: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let mut waiting = vec![name.to_string()];
    while let Some(name) = waiting.pop() {
        if let Some(dir) = roots.block_dir(&name)
            && found.insert(name.clone())
        {
            match below(&dir) {
                Below::Devices(lower) => waiting.extend(lower),
                Below::File(_) => waiting.extend(lower_device(roots, &name)),
                Below::Nothing => waiting.extend(pool_below(roots, &name)),
            }
        }
    }
    found
}

/// The devices of the pool that has a ZFS volume, as far as udev knows them.
fn pool_below(roots: &Roots, name: &str) -> Vec<String> {
    let number = roots.block_number(name).filter(|_| name.starts_with("zd"));
    let volume = number.and_then(|number| udev::zfs_volume(roots, number));
    let pool = volume.as_deref().and_then(|volume| volume.split('/').next());
    pool.map(|pool| udev::devices_labelled(roots, "zfs_member", pool)).unwrap_or_default()
}

/// Name of the pool that udev found on a member of ZFS.
pub(crate) fn pool_of(roots: &Roots, name: &str) -> Option<String> {
    let known = udev::Udev::of(roots, roots.block_number(name)?);
    (known.get("ID_FS_TYPE") == Some("zfs_member"))
        .then(|| known.get("ID_FS_LABEL").map(str::to_string))
        .flatten()
}

#[cfg(test)]
mod tests {
    use super::*;
    use drivescope_machine::roots::fake::Fake;

    const GIB: u64 = 1 << 30;

    fn names(set: &BTreeSet<String>) -> Vec<&str> {
        set.iter().map(String::as_str).collect()
    }

    /// LVM on md on partitions of two disks, and a loop device on a file of that.
    fn layers() -> Fake {
        let fake = Fake::two_disks();
        fake.disk("virtual/block/md0", (9, 0), GIB);
        fake.slaves("md0", &["sda1", "sdb1"]);
        fake.disk("virtual/block/dm-0", (253, 0), GIB);
        fake.slaves("dm-0", &["md0"]);
        fake.attrs("dm-0", &[("dm/name", "vg-data")]);
        fake.disk("virtual/block/loop0", (7, 0), GIB);
        fake.attrs("loop0", &[("loop/backing_file", "/data/image")]);
        fake.mounts(&["1 0 0:1 / / rw - tmpfs t rw", "2 1 253:0 / /data rw - ext4 /dev/dm-0 rw"]);
        fake
    }

    #[test]
    fn a_disk_has_all_its_partitions_and_everything_on_them() {
        let fake = layers();
        let family = Family::of(&fake.roots, "sda");
        assert_eq!(names(&family.same), ["sda", "sda1", "sda2"]);
        let above: Vec<&str> = family.above.keys().map(String::as_str).collect();
        assert_eq!(above, ["dm-0", "loop0", "md0"]);
        assert_eq!(family.describe(&fake.roots, "dm-0"), "dm-0 (vg-data) on md0");
        assert_eq!(names(&family.below), ["sda"]);
        assert!(!family.has("sdb1") && !family.has("sdb"));
    }

    #[test]
    fn a_partition_has_its_disk_and_not_its_siblings() {
        let fake = layers();
        let family = Family::of(&fake.roots, "sda2");
        assert_eq!(names(&family.same), ["sda", "sda2"]);
        assert_eq!(names(&family.siblings), ["sda1"]);
        assert!(family.above.is_empty(), "{family:?}");
        assert_eq!(names(&family.below), ["sda", "sda2"]);
    }

    #[test]
    fn what_is_below_ends_at_files() {
        let fake = layers();
        assert_eq!(names(&Family::of(&fake.roots, "loop0").below), ["loop0"]);
        let below = Family::of(&fake.roots, "dm-0").below;
        assert_eq!(names(&below), ["dm-0", "md0", "sda", "sda1", "sdb", "sdb1"]);
    }

    #[test]
    fn holders_count_also_where_nothing_lies_below_them() {
        let fake = layers();
        fake.disk("virtual/block/drbd0", (147, 0), GIB);
        let drbd = fake.roots.block_dir("drbd0").unwrap();
        fake.link("sys/class/block/sdb2/holders/drbd0", drbd);
        assert!(Family::of(&fake.roots, "sdb").has("drbd0"));
        assert!(!Family::of(&fake.roots, "sda").has("drbd0"));
    }

    #[test]
    fn another_path_to_the_drive_is_a_twin() {
        let fake = layers();
        for name in ["sda", "sdb"] {
            fake.attrs(name, &[("device/wwid", "naa.5000c500a")]);
        }
        let family = Family::of(&fake.roots, "sda");
        assert_eq!(names(&family.twins), ["sdb", "sdb1", "sdb2"]);
        let family = Family::of(&fake.roots, "sda2");
        assert_eq!(names(&family.twins), ["sdb", "sdb2"], "only the partition at the same place");
        fake.attrs("sdb", &[("device/wwid", "naa.5000c500b")]);
        assert!(Family::of(&fake.roots, "sda").twins.is_empty());
    }

    /// Whoever writes the loop device writes the disk: all its partitions and users are concerned.
    #[test]
    fn a_loop_device_straight_on_a_disk_is_the_disk() {
        let fake = layers();
        for (minor, lower) in [(1, "/dev/sda"), (2, "/dev/loop1")] {
            let name = format!("loop{minor}");
            fake.disk(&format!("virtual/block/{name}"), (7, minor), 8 * GIB);
            fake.attrs(&name, &[("loop/backing_file", lower)]);
        }
        let family = Family::of(&fake.roots, "loop2");
        assert_eq!(names(&family.twins), ["loop1", "sda", "sda1", "sda2"]);
        assert!(family.has("md0") && family.has("dm-0"), "{family:?}");
        assert_eq!(names(&family.below), ["loop1", "loop2", "sda"]);
        assert_eq!(family.describe(&fake.roots, "sda1"), "sda1 (same bytes as loop2)");
        assert!(Family::of(&fake.roots, "sda").has("loop2"));
    }

    #[test]
    fn a_loop_device_straight_on_a_partition_is_that_partition_and_not_its_siblings() {
        let fake = layers();
        for (minor, lower) in [(5, "/data/disk"), (6, "/data/disk"), (7, "/dev/loop5p2")] {
            let name = format!("loop{minor}");
            fake.disk(&format!("virtual/block/{name}"), (7, minor), 8 * GIB);
            fake.attrs(&name, &[("loop/backing_file", lower)]);
        }
        fake.partition("loop5", 1, (259, 1), 2048, 2048);
        fake.partition("loop5", 2, (259, 2), 4096, 2048);
        let family = Family::of(&fake.roots, "loop7");
        assert_eq!(names(&family.twins), ["loop5", "loop5p2", "loop6"]);
        assert!(family.above.is_empty(), "{family:?}");
        assert!(family.is_shared_in_part(&fake.roots, "loop5"));
        assert!(!Family::of(&fake.roots, "loop5").is_shared_in_part(&fake.roots, "loop5"));
    }

    #[test]
    fn a_loop_device_elsewhere_on_the_disk_is_nothing_to_a_partition() {
        let fake = Fake::two_disks();
        fake.disk("virtual/block/loop1", (7, 1), 1 << 20);
        fake.attrs("loop1", &[("loop/backing_file", "/dev/sda")]);
        // sda1 has the second MiB, sda2 the third.
        for (offset, users) in [(1 << 20, "sda1"), (2 << 20, "sda2"), (3 << 20, "")] {
            fake.attrs("loop1", &[("loop/offset", &offset.to_string())]);
            for name in ["sda1", "sda2"] {
                let family = Family::of(&fake.roots, name);
                assert_eq!(family.has("loop1"), name == users, "{name} at {offset}: {family:?}");
            }
            assert!(Family::of(&fake.roots, "sda").has("loop1"));
        }
    }

    /// What holds a loop device says nothing of others over its file, nor of those straight on what it holds.
    #[test]
    fn loop_devices_that_reach_past_a_holder_share_its_bytes() {
        let fake = Fake::two_disks();
        let files = ["/data/disk", "/data/disk", "/dev/sdb1", "/dev/sdb", "/data/other"];
        for (minor, file) in (0..).zip(files) {
            fake.disk(&format!("virtual/block/loop{minor}"), (7, minor), GIB);
            fake.attrs(&format!("loop{minor}"), &[("loop/backing_file", file)]);
        }
        // Behind the partition.
        fake.attrs("loop3", &[("loop/offset", "2097152")]);
        fake.disk("virtual/block/md0", (9, 0), GIB);
        fake.slaves("md0", &["loop0", "sdb1"]);
        fake.disk("virtual/block/dm-0", (253, 0), GIB);
        fake.slaves("dm-0", &["md0"]);
        for target in ["md0", "dm-0"] {
            let family = Family::of(&fake.roots, target);
            assert_eq!(names(&family.twins), ["loop1", "loop2"], "{target}");
        }
    }

    #[test]
    fn a_snapshot_is_built_on_its_volume_and_not_the_other_way_round() {
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
        let family = Family::of(&fake.roots, "dm-1");
        assert_eq!(family.above.keys().collect::<Vec<_>>(), ["dm-3"]);
        assert_eq!(family.describe(&fake.roots, "dm-3"), "dm-3 (vg-snap) on dm-0");
        for free in ["dm-3", "dm-4"] {
            let family = Family::of(&fake.roots, free);
            assert!(family.above.is_empty(), "{free}: {family:?}");
        }
    }

    #[test]
    fn partitions_that_overlap_are_no_siblings() {
        let fake = Fake::new();
        fake.disk("pci0000:00/block/sda", (8, 0), GIB);
        for (number, start, length) in [(1, 64, 8192), (2, 4096, 1024), (3, 8256, 1024)] {
            fake.partition("sda", number, (8, number), start, length);
        }
        for (target, twin, siblings) in
            [("sda1", "sda2", &["sda3"][..]), ("sda2", "sda1", &["sda3"])]
        {
            let family = Family::of(&fake.roots, target);
            assert_eq!(names(&family.twins), [twin]);
            assert_eq!(names(&family.siblings), siblings);
            assert_eq!(
                family.describe(&fake.roots, twin),
                format!("{twin} (same bytes as {target})")
            );
        }
        assert!(Family::of(&fake.roots, "sda3").twins.is_empty());
    }

    #[test]
    fn the_unknown_is_alone() {
        let family = Family::of(&Fake::new().roots, "sdz");
        assert_eq!(names(&family.same), ["sdz"]);
        assert!(family.below.is_empty() && family.above.is_empty() && family.twins.is_empty());
    }
}
