//! Devices that have bytes in common by way of loop devices: the block device that one lies straight on, and
//! others over the same file. The kernel's claim of one says nothing of the others.

use crate::roots::{Roots, read_text};
use std::collections::BTreeSet;
use std::ops::Range;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// The block device that a loop device lies straight on.
pub(super) fn lower_device(roots: &Roots, name: &str) -> Option<String> {
    roots.block_of_node(Path::new(&backing_file(roots, name)?))
}

/// Other loop devices over the same bytes of the same file.
pub(super) fn same_file(roots: &Roots, name: &str) -> BTreeSet<String> {
    let Some(file) = backing_file(roots, name) else { return BTreeSet::new() };
    let bytes = range(roots, name);
    let shares = |other: &String| {
        let there = range(roots, other);
        other != name
            && backing_file(roots, other).is_some_and(|there| is_same(&file, &there))
            && bytes.start < there.end
            && there.start < bytes.end
    };
    crate::roots::list_dir(&roots.sys.join("block")).into_iter().filter(shares).collect()
}

fn backing_file(roots: &Roots, name: &str) -> Option<String> {
    read_text(roots.block_dir(name)?.join("loop/backing_file"))
}

/// Whether two names lead to one file: equal names do, as far as anybody can tell from here.
fn is_same(one: &str, other: &str) -> bool {
    let inode = |path| std::fs::metadata(path).map(|meta| (meta.dev(), meta.ino())).ok();
    one == other || inode(one).is_some_and(|found| inode(other) == Some(found))
}

/// The part of its file that a loop device shows.
pub(super) fn range(roots: &Roots, name: &str) -> Range<u64> {
    let number = |attribute: &str| {
        let text = roots.block_dir(name).and_then(|dir| read_text(dir.join(attribute)));
        text.and_then(|text| text.parse::<u64>().ok())
    };
    let start = number("loop/offset").unwrap_or(0);
    start..start.saturating_add(number("size").map_or(u64::MAX, |sectors| sectors * 512))
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
        let of = |name| same_file(&fake.roots, name).into_iter().collect::<Vec<_>>();
        assert_eq!(of("loop0"), ["loop1"]);
        assert_eq!(of("loop1"), ["loop0", "loop2"]);
        assert_eq!(of("loop2"), ["loop1"], "the first ends where it begins");
        assert_eq!(of("loop3"), [""; 0]);
    }

    #[test]
    fn a_file_has_many_names() {
        let scratch = tempfile::tempdir().unwrap();
        let [one, two] = ["one", "two"].map(|name| scratch.path().join(name));
        std::fs::write(&one, "x").unwrap();
        std::fs::hard_link(&one, &two).unwrap();
        assert!(is_same(one.to_str().unwrap(), two.to_str().unwrap()));
        assert!(!is_same(one.to_str().unwrap(), "/nothing"));
    }
}
