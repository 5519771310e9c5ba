//! Devices that have bytes in common by way of loop devices: the block device that one lies straight on, and
//! others over the same file. The kernel's claim of one says nothing of the others.

use crate::backing_file::Kernels;
use crate::roots::{Roots, list_dir, read_text, read_u64};
use std::collections::BTreeSet;
use std::ops::Range;
use std::os::unix::fs::MetadataExt;

/// Other loop devices over the same bytes of the same file as this one, or as its partition `part`.
pub(super) fn same_file(roots: &Roots, name: &str, part: Option<&str>) -> BTreeSet<String> {
    let Some(file) = Backing::of(roots, name) else { return BTreeSet::new() };
    let whole = range(roots, name);
    let bytes = part.map_or(whole.clone(), |part| part_of(roots, &whole, part));
    let shares = |other: &String| {
        let there = range(roots, other);
        other != name
            && bytes.start < there.end
            && there.start < bytes.end
            && Backing::of(roots, other).is_some_and(|there| file.is_same(&there))
    };
    list_dir(&roots.sys.join("block")).into_iter().filter(shares).collect()
}

/// The file behind a loop device.
struct Backing {
    /// As the kernel names it, which may be a path of another namespace, or of a file that has another by now.
    name: String,
    /// `st_dev` and `st_ino`, which the loop device itself told.
    told: Option<(u64, u64)>,
}

impl Backing {
    fn of(roots: &Roots, name: &str) -> Option<Self> {
        let path = read_text(roots.block_dir(name)?.join("loop/backing_file"))?;
        Some(Self { name: path, told: Kernels::of(roots, name).map(|kernels| kernels.file) })
    }

    /// Whether both are one file: as both tell, or else as their names do, as far as anybody can see from here.
    fn is_same(&self, other: &Self) -> bool {
        if let (Some(own), Some(others)) = (self.told, other.told) {
            return own == others;
        }
        let number = |backing: &Self| backing.told.or_else(|| number_of(&backing.name));
        self.name == other.name || number(self).is_some_and(|own| number(other) == Some(own))
    }
}

fn number_of(path: &str) -> Option<(u64, u64)> {
    std::fs::metadata(path).map(|found| (found.dev(), found.ino())).ok()
}

/// The part of its file that a loop device shows.
pub(super) fn range(roots: &Roots, name: &str) -> Range<u64> {
    let number = |attribute: &str| read_u64(roots.block_dir(name)?.join(attribute));
    let start = number("loop/offset").unwrap_or(0);
    start..start.saturating_add(number("size").map_or(u64::MAX, |sectors| sectors * 512))
}

/// The part of the same file that is this partition's.
fn part_of(roots: &Roots, whole: &Range<u64>, part: &str) -> Range<u64> {
    let number = |attribute: &str| read_u64(roots.block_dir(part)?.join(attribute));
    match (number("start"), number("size")) {
        (Some(start), Some(sectors)) => {
            let start = whole.start.saturating_add(start * 512);
            start..start.saturating_add(sectors * 512)
        }
        _ => whole.clone(),
    }
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
        let of = |name| same_file(&fake.roots, name, None).into_iter().collect::<Vec<_>>();
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
        loops(&fake, &[]);
        fake.attrs("loop0", &[("loop/offset", &quarter)]);
        let of = |part| same_file(&fake.roots, "loop0", part).len();
        assert_eq!((of(Some("loop0p1")), of(Some("loop0p2")), of(None)), (1, 1, 1));
        fake.attrs("loop0", &[("loop/offset", "0")]);
        assert_eq!((of(Some("loop0p1")), of(Some("loop0p2")), of(None)), (0, 1, 1));
    }

    #[test]
    fn a_file_has_many_names() {
        let scratch = tempfile::tempdir().unwrap();
        let [one, two] = ["one", "two"].map(|name| scratch.path().join(name));
        std::fs::write(&one, "x").unwrap();
        std::fs::hard_link(&one, &two).unwrap();
        let named = |name: &str| Backing { name: name.to_string(), told: None };
        let one = named(one.to_str().unwrap());
        assert!(one.is_same(&named(two.to_str().unwrap())));
        assert!(!one.is_same(&named("/nothing")));
        // What the devices tell counts more: the same path is another file in another namespace.
        let told = |name: &str, file| Backing { name: name.to_string(), told: Some(file) };
        assert!(told("/a (deleted)", (8, 12)).is_same(&told("/b", (8, 12))));
        assert!(!told("/a", (8, 12)).is_same(&told("/a", (8, 13))));
        assert!(told("/a", (8, 12)).is_same(&named("/a")));
    }
}
