//! Bytes that devices have in common though neither holds the other: partitions that overlap, the block device
//! that a loop device lies straight on, loop devices over the same file. The kernel's claim of one says nothing
//! of the others.

use super::family::partitions;
use drivescope_machine::backing_file::{Kernels, lower_device};
use drivescope_machine::roots::{Roots, file_name, list_dir, read_text, read_u64, split_dev};
use drivescope_machine::stack::file_below;
use std::collections::BTreeSet;
use std::ops::Range;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// The bytes of its disk that a partition has; of any other device all of its own.
pub(super) fn span(roots: &Roots, name: &str) -> Range<u64> {
    let bytes = |attribute: &str| {
        Some(read_u64(roots.block_dir(name)?.join(attribute))?.saturating_mul(512))
    };
    let start = bytes("start").unwrap_or(0);
    start..start.saturating_add(bytes("size").unwrap_or(u64::MAX))
}

/// The disk of a partition; any other device itself.
pub(super) fn disk_of(roots: &Roots, name: &str) -> String {
    let dir = roots.block_dir(name).filter(|dir| dir.join("partition").exists());
    dir.and_then(|dir| file_name(dir.parent()?)).unwrap_or_else(|| name.to_string())
}

/// Bytes of a device as its disk counts them.
pub(super) fn on_disk(roots: &Roots, name: &str, bytes: &Range<u64>) -> Range<u64> {
    let all = span(roots, name);
    let at = |byte: u64| byte.saturating_add(all.start).min(all.end);
    at(bytes.start)..at(bytes.end)
}

pub(super) fn meet(one: &Range<u64>, other: &Range<u64>) -> bool {
    one.start < other.end && other.start < one.end
}

/// Partitions of a disk that have any of these bytes of it. Tables may give bytes to more than one: images of
/// installation media do, and Sun's and BSD's have one for the whole disk.
pub(super) fn partitions_in(roots: &Roots, disk: &str, bytes: &Range<u64>) -> Vec<String> {
    let mut names = partitions(roots, disk);
    names.retain(|name| meet(&span(roots, name), bytes));
    names
}

/// The bytes of its file, or of what it lies straight on, that are these of a loop device.
pub(super) fn bytes_below(roots: &Roots, name: &str, bytes: &Range<u64>) -> Range<u64> {
    let offset = range(roots, name).start;
    bytes.start.saturating_add(offset)..bytes.end.saturating_add(offset)
}

/// Other loop devices, with their partitions, that show any of these bytes of this one.
pub(super) fn same_file(roots: &Roots, name: &str, bytes: &Range<u64>) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let Some(file) = Backing::of(roots, name) else { return found };
    let bytes = bytes_below(roots, name, bytes);
    for other in list_dir(&roots.sys.join("block")) {
        let there = range(roots, &other);
        let is_same = || Backing::of(roots, &other).is_some_and(|there| file.is_same(&there));
        if other != name && meet(&bytes, &there) && is_same() {
            found.extend(shown(roots, other, &there, &bytes));
        }
    }
    found
}

/// Loop devices, with their partitions, that lie straight on any bytes of a device.
pub(super) fn straight_on(roots: &Roots, name: &str) -> BTreeSet<String> {
    let (disk, bytes) = (disk_of(roots, name), span(roots, name));
    let mut found = BTreeSet::new();
    for other in list_dir(&roots.sys.join("block")) {
        let Some(lower) = lower_device(roots, &other) else { continue };
        let there = on_disk(roots, &lower, &range(roots, &other));
        if disk_of(roots, &lower) == disk && meet(&bytes, &there) {
            found.extend(shown(roots, other, &there, &bytes));
        }
    }
    found
}

/// A loop device that shows the bytes `there` of something, and those of its partitions that have any of `bytes`.
fn shown(roots: &Roots, name: String, there: &Range<u64>, bytes: &Range<u64>) -> Vec<String> {
    let within = |at: u64| at.saturating_sub(there.start);
    let mut names = partitions_in(roots, &name, &(within(bytes.start)..within(bytes.end)));
    names.push(name);
    names
}

/// The file behind a loop device.
struct Backing {
    /// As the kernel names it, which may be a path of another namespace, or of a file that has another by now.
    name: String,
    /// `st_dev` and `st_ino`, which the loop device itself told.
    told: Option<(u64, u64)>,
    /// The same of the file in the layer of an overlay that has its bytes.
    below: Option<(u64, u64)>,
}

impl Backing {
    fn of(roots: &Roots, name: &str) -> Option<Self> {
        let path = read_text(roots.block_dir(name)?.join("loop/backing_file"))?;
        let told = Kernels::of(roots, name).map(|kernels| kernels.file);
        // An overlay has no device of its own.
        let may_be_layered = told.is_none_or(|(system, _)| split_dev(system).0 == 0);
        let below = may_be_layered.then(|| file_below(roots, Path::new(&path))).flatten();
        // Only now: where it is no overlay, a server that never answers may have the file.
        let is_it = || told.is_none_or(|told| number_of(&path) == Some(told));
        let below = below.filter(|_| is_it()).and_then(|file| number_of(&file));
        Some(Self { name: path, told, below })
    }

    /// Its numbers, as far as it or its name tells any.
    fn numbers(&self) -> impl Iterator<Item = (u64, u64)> {
        self.told.or_else(|| number_of(&self.name)).into_iter().chain(self.below)
    }

    /// Whether both are one file: as both tell, or else as their names do, as far as anybody can see from here.
    fn is_same(&self, other: &Self) -> bool {
        let are_told = self.told.is_some() && other.told.is_some();
        let is_named_alike = !are_told && self.name == other.name;
        is_named_alike || self.numbers().any(|own| other.numbers().any(|others| own == others))
    }
}

fn number_of(path: impl AsRef<Path>) -> Option<(u64, u64)> {
    std::fs::metadata(path).map(|found| (found.dev(), found.ino())).ok()
}

/// The file behind a loop device, by `st_dev` and `st_ino`: of one on an overlay also that in its layer.
pub(super) fn files_of(roots: &Roots, name: &str) -> Vec<(u64, u64)> {
    let backing = Backing::of(roots, name).filter(|_| lower_device(roots, name).is_none());
    backing.map(|backing| backing.numbers().collect()).unwrap_or_default()
}

/// The part of its file that a loop device shows.
pub(super) fn range(roots: &Roots, name: &str) -> Range<u64> {
    let number = |attribute: &str| read_u64(roots.block_dir(name)?.join(attribute));
    let start = number("loop/offset").unwrap_or(0);
    start..start.saturating_add(number("size").map_or(u64::MAX, |sectors| sectors * 512))
}

#[cfg(test)]
mod tests {
    use super::*;
    use drivescope_machine::roots::fake::Fake;

    const MIB: u64 = 1 << 20;

    fn loops(fake: &Fake, entries: &[(&str, &str, u64)]) {
        for (index, (name, file, offset)) in entries.iter().enumerate() {
            fake.disk(&format!("virtual/block/{name}"), (7, index as u32), MIB);
            let offset = offset.to_string();
            fake.attrs(name, &[("loop/backing_file", file), ("loop/offset", &offset)]);
        }
    }

    #[test]
    fn loops_over_the_same_bytes_of_a_file_belong_together() {
        let fake = Fake::new();
        loops(
            &fake,
            &[
                ("loop0", "/data/image", 0),
                ("loop1", "/data/image", MIB / 2),
                ("loop2", "/data/image", MIB),
                ("loop3", "/data/other", 0),
            ],
        );
        let of = |name| {
            let bytes = span(&fake.roots, name);
            same_file(&fake.roots, name, &bytes).into_iter().collect::<Vec<_>>()
        };
        assert_eq!(of("loop0"), ["loop1"]);
        assert_eq!(of("loop1"), ["loop0", "loop2"]);
        assert_eq!(of("loop2"), ["loop1"], "the first ends where it begins");
        assert_eq!(of("loop3"), [""; 0]);
    }

    #[test]
    fn a_partition_shares_its_own_bytes_only() {
        let fake = Fake::new();
        let quarter = (MIB / 4).to_string();
        loops(&fake, &[("loop0", "/data/image", 0), ("loop1", "/data/image", 3 * MIB / 4)]);
        fake.partition("loop0", 1, (259, 1), MIB / 4 / 512, MIB / 2 / 512);
        fake.partition("loop0", 2, (259, 2), 3 * MIB / 4 / 512, MIB / 4 / 512);
        fake.attrs("loop0", &[("loop/offset", &quarter)]);
        let of = |name| same_file(&fake.roots, "loop0", &span(&fake.roots, name)).len();
        assert_eq!((of("loop0p1"), of("loop0p2"), of("loop0")), (1, 1, 1));
        fake.attrs("loop0", &[("loop/offset", "0")]);
        assert_eq!((of("loop0p1"), of("loop0p2"), of("loop0")), (0, 1, 1));
        // Seen from the other one, which has nothing of the first partition.
        let of = |name| same_file(&fake.roots, name, &span(&fake.roots, name));
        assert_eq!(of("loop1").into_iter().collect::<Vec<_>>(), ["loop0", "loop0p2"]);
    }

    #[test]
    fn a_file_has_many_names() {
        let scratch = tempfile::tempdir().unwrap();
        let [one, two] = ["one", "two"].map(|name| scratch.path().join(name));
        std::fs::write(&one, "x").unwrap();
        std::fs::hard_link(&one, &two).unwrap();
        let named = |name: &str| Backing { name: name.to_string(), told: None, below: None };
        let one = named(one.to_str().unwrap());
        assert!(one.is_same(&named(two.to_str().unwrap())));
        assert!(!one.is_same(&named("/nothing")));
        // What the devices tell counts more: the same path is another file in another namespace.
        let told =
            |name: &str, file| Backing { name: name.to_string(), told: Some(file), below: None };
        assert!(told("/a (deleted)", (8, 12)).is_same(&told("/b", (8, 12))));
        assert!(!told("/a", (8, 12)).is_same(&told("/a", (8, 13))));
        assert!(told("/a", (8, 12)).is_same(&named("/a")));
    }
}
