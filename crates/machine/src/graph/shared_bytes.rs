//! Bytes that devices have in common though neither holds the other: partitions that overlap, the block device
//! that a loop device lies straight on, loop devices over the same file. The kernel's claim of one says nothing
//! of the others.

use super::BlockGraph;
use crate::overlay::file_in_layer;
use crate::roots::split_dev;
use crate::silent_loops::is_silent;
use std::collections::BTreeSet;
use std::ops::Range;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

fn meet(one: &Range<u64>, other: &Range<u64>) -> bool {
    one.start < other.end && other.start < one.end
}

impl BlockGraph {
    /// Bytes of a device as its disk counts them.
    pub(super) fn on_disk(&self, name: &str, bytes: &Range<u64>) -> Range<u64> {
        let all = self.span(name);
        let at = |byte: u64| byte.saturating_add(all.start).min(all.end);
        at(bytes.start)..at(bytes.end)
    }

    /// Partitions of a disk that have any of these bytes of it. Tables may give bytes to more than one: images of
    /// installation media do, and Sun's and BSD's have one for the whole disk.
    pub(super) fn partitions_in(&self, disk: &str, bytes: &Range<u64>) -> Vec<String> {
        let mut names = self.partitions(disk);
        names.retain(|name| meet(&self.span(name), bytes));
        names
    }

    /// The bytes of its file, or of what it lies straight on, that are these of a loop device.
    pub(super) fn bytes_below(&self, name: &str, bytes: &Range<u64>) -> Range<u64> {
        let offset = self.span_below(name).start;
        bytes.start.saturating_add(offset)..bytes.end.saturating_add(offset)
    }

    /// Whether a loop device straight on the disk of a partition shows any of these bytes of it.
    pub(super) fn shows_any(&self, name: &str, bytes: &Range<u64>) -> bool {
        meet(bytes, &self.span_below(name))
    }

    /// Other loop devices, with their partitions, that show any of these bytes of this one.
    pub(super) fn over_same_file(&self, name: &str, bytes: &Range<u64>) -> BTreeSet<String> {
        let mut found = BTreeSet::new();
        let Some(file) = LoopFile::of(self, name) else { return found };
        let bytes = self.bytes_below(name, bytes);
        for other in self.disks() {
            let there = self.span_below(other);
            let is_same = || LoopFile::of(self, other).is_some_and(|there| file.is_same(&there));
            if other != name && meet(&bytes, &there) && is_same() {
                found.extend(self.shown(other, &there, &bytes));
            }
        }
        found
    }

    /// Loop devices, with their partitions, that lie straight on any bytes of a device.
    pub(super) fn loops_straight_on(&self, name: &str) -> BTreeSet<String> {
        let (disk, bytes) = (self.disk_of(name), self.span(name));
        let mut found = BTreeSet::new();
        for other in self.disks() {
            let Some(lower) = self.device_of_loop(other) else { continue };
            let there = self.on_disk(&lower, &self.span_below(other));
            if self.disk_of(&lower) == disk && meet(&bytes, &there) {
                found.extend(self.shown(other, &there, &bytes));
            }
        }
        found
    }

    /// A loop device that shows the bytes `there` of something, and those of its partitions that have any of `bytes`.
    fn shown(&self, name: &str, there: &Range<u64>, bytes: &Range<u64>) -> Vec<String> {
        let within = |at: u64| at.saturating_sub(there.start);
        let mut names = self.partitions_in(name, &(within(bytes.start)..within(bytes.end)));
        names.push(name.to_string());
        names
    }

    /// Whether both are loop devices that show some of the same bytes of one file; true within if they show exactly
    /// the same.
    pub fn share_file(&self, one: &str, other: &str) -> Option<bool> {
        let do_share = self.over_same_file(one, &self.span(one)).contains(other);
        do_share.then(|| self.span_below(one) == self.span_below(other))
    }

    /// The file behind a loop device, by `st_dev` and `st_ino`: of one on an overlay also that in its layer.
    pub(super) fn files_of_loop(&self, name: &str) -> Vec<(u64, u64)> {
        let file = LoopFile::of(self, name).filter(|_| self.device_of_loop(name).is_none());
        file.map(|file| file.numbers().collect()).unwrap_or_default()
    }
}

struct LoopFile {
    /// As the kernel names it, which may be a path of another namespace, or of a file that has another by now.
    name: String,
    /// `st_dev` and `st_ino`, from the loop device itself.
    numbers: Option<(u64, u64)>,
    /// The same of the file in the layer of an overlay that has its bytes.
    below: Option<(u64, u64)>,
    /// Whether its server does not answer, so that its name must not be asked either.
    is_silent: bool,
}

impl LoopFile {
    fn of(graph: &BlockGraph, name: &str) -> Option<Self> {
        let path = graph.node(name)?.backing_file.clone()?;
        let numbers = graph.loop_status(name).map(|status| status.file);
        if numbers.is_none() && is_silent(&graph.roots, name) {
            return Some(Self { name: path, numbers, below: None, is_silent: true });
        }
        // An overlay has no device of its own.
        let may_be_layered = numbers.is_none_or(|(system, _)| split_dev(system).0 == 0);
        let below = may_be_layered.then(|| file_in_layer(&graph.mounts, Path::new(&path)));
        // Only now: where it is no overlay, a server that never answers may have the file.
        let is_it = || numbers.is_none_or(|numbers| number_of(&path) == Some(numbers));
        let below = below.flatten().filter(|_| is_it()).and_then(|file| number_of(&file));
        Some(Self { name: path, numbers, below, is_silent: false })
    }

    /// Its numbers, from the device or its name, as far as known.
    fn numbers(&self) -> impl Iterator<Item = (u64, u64)> {
        let of_name = || (!self.is_silent).then(|| number_of(&self.name)).flatten();
        self.numbers.or_else(of_name).into_iter().chain(self.below)
    }

    /// Whether both are one file: by both devices' numbers, else by names, as far as visible from here.
    fn is_same(&self, other: &Self) -> bool {
        let are_known = self.numbers.is_some() && other.numbers.is_some();
        let is_named_alike = !are_known && self.name == other.name;
        is_named_alike || self.numbers().any(|own| other.numbers().any(|others| own == others))
    }
}

fn number_of(path: impl AsRef<Path>) -> Option<(u64, u64)> {
    std::fs::metadata(path).map(|found| (found.dev(), found.ino())).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::roots::fake::Fake;

    const MIB: u64 = 1 << 20;

    fn loops(fake: &Fake, entries: &[(&str, &str, u64)]) {
        for (index, (name, file, offset)) in entries.iter().enumerate() {
            fake.disk(&format!("virtual/block/{name}"), (7, index as u32), MIB);
            let offset = offset.to_string();
            fake.attrs(name, &[("loop/backing_file", file), ("loop/offset", &offset)]);
        }
    }

    #[test]
    fn loops_over_the_same_bytes_belong_together() {
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
            let graph = BlockGraph::read(&fake.roots);
            graph.over_same_file(name, &graph.span(name)).into_iter().collect::<Vec<_>>()
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
        let of = |name| {
            let graph = BlockGraph::read(&fake.roots);
            graph.over_same_file("loop0", &graph.span(name)).len()
        };
        assert_eq!((of("loop0p1"), of("loop0p2"), of("loop0")), (1, 1, 1));
        fake.attrs("loop0", &[("loop/offset", "0")]);
        assert_eq!((of("loop0p1"), of("loop0p2"), of("loop0")), (0, 1, 1));
        // Seen from the other one, which has nothing of the first partition.
        let of = |name| {
            let graph = BlockGraph::read(&fake.roots);
            graph.over_same_file(name, &graph.span(name))
        };
        assert_eq!(of("loop1").into_iter().collect::<Vec<_>>(), ["loop0", "loop0p2"]);
    }

    #[test]
    fn a_file_has_many_names() {
        fn file(name: &str, numbers: Option<(u64, u64)>) -> LoopFile {
            LoopFile { name: name.into(), numbers, below: None, is_silent: false }
        }
        fn named(name: &str) -> LoopFile {
            file(name, None)
        }
        let scratch = tempfile::tempdir().unwrap();
        let [one, two] = ["one", "two"].map(|name| scratch.path().join(name));
        std::fs::write(&one, "x").unwrap();
        std::fs::hard_link(&one, &two).unwrap();
        let one = named(one.to_str().unwrap());
        assert!(one.is_same(&named(two.to_str().unwrap())));
        assert!(!one.is_same(&named("/nothing")));
        // The devices' numbers count more: the same path is another file in another namespace.
        let numbered = |name: &str, numbers| file(name, Some(numbers));
        assert!(numbered("/a (deleted)", (8, 12)).is_same(&numbered("/b", (8, 12))));
        assert!(!numbered("/a", (8, 12)).is_same(&numbered("/a", (8, 13))));
        assert!(numbered("/a", (8, 12)).is_same(&named("/a")));
    }
}
