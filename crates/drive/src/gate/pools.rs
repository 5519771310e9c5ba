//! ZFS pools: which one a device says that it belongs to, and whether that one is imported.
//!
//! The kernel shows no holders for them. What udev found is not there in a container, so the labels on the
//! device are read too; the list of imported pools is the same everywhere.

use super::contents::parts;
use drivescope_machine::graph::BlockGraph;
use drivescope_machine::list::signatures::zfs_labels;
use drivescope_machine::uses::PoolMember;
use std::fs::File;
use std::os::unix::fs::FileExt;

/// Within each label: where the description of the pool begins, and how long it is at most (`vdev_label_t` in
/// OpenZFS, `include/sys/vdev_impl.h`).
const DESCRIPTION: (u64, usize) = (16 * 1024, 112 * 1024);
/// Of a pair of an nvlist whose value is a string.
const STRING: usize = 9;

/// What the labels on the device `name` of `size_bytes` and on its partitions say, read through `source`.
pub(super) fn members(
    graph: &BlockGraph,
    name: &str,
    source: &File,
    size_bytes: u64,
) -> Vec<PoolMember> {
    let member = |(device, start, size)| {
        let pool = zfs_labels(size).into_iter().find_map(|label| {
            let mut bytes = vec![0; DESCRIPTION.1];
            source.read_exact_at(&mut bytes, start + label + DESCRIPTION.0).ok()?;
            pool_name(&bytes)
        })?;
        Some(PoolMember { device, pool })
    };
    parts(graph, name, size_bytes).into_iter().filter_map(member).collect()
}

/// The string `name` of an nvlist in XDR (OpenZFS, `module/nvpair/nvpair.c`): four bytes of encoding, version and
/// flags; then pairs, each of its size, its decoded size, name, type, number of elements and value. Numbers
/// have four bytes and the high ones first; texts have their length before them and are filled up to four.
fn pool_name(list: &[u8]) -> Option<String> {
    const XDR: u8 = 1;
    fn number(bytes: &[u8], at: usize) -> Option<usize> {
        let bytes = bytes.get(at..at.checked_add(4)?)?.try_into().ok()?;
        usize::try_from(u32::from_be_bytes(bytes)).ok()
    }
    let text = |bytes: &[u8], at: usize| -> Option<(Vec<u8>, usize)> {
        let length = number(bytes, at)?;
        let text = bytes.get(at + 4..(at + 4).checked_add(length)?)?;
        Some((text.to_vec(), at + 4 + length.next_multiple_of(4)))
    };
    if *list.first()? != XDR {
        return None;
    }
    let mut rest = list.get(12..)?;
    loop {
        let size = number(rest, 0).filter(|size| *size > 0)?;
        let pair = rest.get(..size)?;
        let (key, after) = text(pair, 8)?;
        if key == b"name" && number(pair, after) == Some(STRING) {
            return String::from_utf8(text(pair, after + 8)?.0).ok();
        }
        rest = &rest[size..];
    }
}
