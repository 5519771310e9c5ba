//! Signatures by which file systems, volume managers and partition tables are known.

mod magics;

use magics::{GPT, MAGICS, MBR, at_page_ends, copies};
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

/// Bytes read from the beginning: the deepest single magic (reiserfs, btrfs) ends below 68 KiB.
const HEAD_BYTES: usize = 68 * 1024;

/// Uberblocks of ZFS fill the second half of each label of 256 KiB: where they begin, how long.
const ZFS_UBERBLOCKS: (u64, usize) = (128 * 1024, 128 * 1024);
const ZFS_UBERBLOCK_MAGIC: u64 = 0x00BA_B10C;

const MD_MAGIC: u32 = 0xA92B_4EFC;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Signature {
    /// Its type in the names of blkid, or `GPT partition table`, `MBR partition table`.
    pub kind: &'static str,
    /// Where its magic is, in bytes from the beginning of what was looked at.
    pub at: u64,
}

#[derive(Debug, Default)]
pub struct Signatures {
    /// Everything recognised, the most telling first.
    pub found: Vec<Signature>,
    /// The first place that could not be read, and why: what it holds is not known.
    pub unread: Option<(u64, io::Error)>,
}

/// What a disk, partition or image of `size_bytes` holds; `None` for nothing that is known here, or
/// when it cannot be read. Only reads, less than 1 MiB.
pub fn find(source: &File, size_bytes: u64) -> Option<&'static str> {
    all(source, 0, size_bytes).found.first().map(|signature| signature.kind)
}

/// Every signature at the head and the tail of the `size_bytes` of `source` that begin at
/// `start_bytes`: a partition, or a whole device.
///
/// Members of arrays come first: what they hold looks like a file system of their own.
pub fn all(source: &File, start_bytes: u64, size_bytes: u64) -> Signatures {
    let mut area = Area { source, start_bytes, size_bytes, unread: None };
    let head = area.read(0, HEAD_BYTES);
    let mut found = Vec::new();
    note(&mut found, "linux_raid_member", md(&mut area, &head));
    note(&mut found, "LVM2_member", lvm(&head));
    for label in zfs_labels(size_bytes) {
        let (at, length) = (label + ZFS_UBERBLOCKS.0, ZFS_UBERBLOCKS.1);
        note(&mut found, "zfs_member", is_zfs(&area.read(at, length)).then_some(label));
    }
    if let Some(kind) = ext(&head) {
        note(&mut found, kind, Some(1024 + 56));
    }
    for (kind, at, magic) in MAGICS.iter().copied().chain(at_page_ends()) {
        note(&mut found, kind, has(&head, at, magic).then_some(at as u64));
    }
    let is_mbr = has(&head, 510, b"\x55\xAA") && !is_boot_sector(&found);
    note(&mut found, MBR, is_mbr.then_some(510));
    for (kind, place, magic) in copies() {
        let at = place.within(size_bytes).filter(|at| area.read(*at, magic.len()) == magic);
        note(&mut found, kind, at);
    }
    Signatures { found, unread: area.unread }
}

fn note(found: &mut Vec<Signature>, kind: &'static str, at: Option<u64>) {
    if let Some(at) = at
        && !found.iter().any(|known| known.kind == kind)
    {
        found.push(Signature { kind, at });
    }
}

/// Whether the first sector ends as that of an MBR does because something else needs it so: the boot
/// sector of a file system, or the sector that protects a GPT.
fn is_boot_sector(found: &[Signature]) -> bool {
    found
        .iter()
        .any(|known| ["vfat", "exfat", "ntfs", "BitLocker", "ReFS", GPT].contains(&known.kind))
}

/// A part of a device, read where it can be.
struct Area<'a> {
    source: &'a File,
    start_bytes: u64,
    size_bytes: u64,
    unread: Option<(u64, io::Error)>,
}

impl Area<'_> {
    /// Up to `length` bytes, fewer at the end; none when they cannot be read, which is remembered.
    fn read(&mut self, at: u64, length: usize) -> Vec<u8> {
        let left = self.size_bytes.saturating_sub(at);
        let mut bytes = vec![0; length.min(usize::try_from(left).unwrap_or(usize::MAX))];
        if let Err(error) = self.source.read_exact_at(&mut bytes, self.start_bytes + at) {
            self.unread.get_or_insert((at, error));
            bytes.clear();
        }
        bytes
    }
}

fn has(bytes: &[u8], at: usize, magic: &[u8]) -> bool {
    bytes.get(at..at + magic.len()) == Some(magic)
}

fn u32_le(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_le_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

/// ext2, ext3 and ext4 share their magic; the features tell them apart (ext4.h of the kernel).
fn ext(head: &[u8]) -> Option<&'static str> {
    const HAS_JOURNAL: u32 = 0x4;
    const JOURNAL_DEVICE: u32 = 0x8;
    /// File types, recovery, meta block groups: all that ext3 knows.
    const INCOMPATIBLE_EXT3: u32 = 0x2 | 0x4 | 0x10;
    /// Sparse super-blocks, large files, directory trees.
    const READ_ONLY_EXT3: u32 = 0x1 | 0x2 | 0x4;
    if !has(head, 1024 + 56, b"\x53\xEF") {
        return None;
    }
    let [compatible, incompatible, read_only] =
        [0x5C, 0x60, 0x64].map(|at| u32_le(head, 1024 + at).unwrap_or(0));
    Some(if incompatible & JOURNAL_DEVICE != 0 {
        "jbd"
    } else if incompatible & !INCOMPATIBLE_EXT3 != 0 || read_only & !READ_ONLY_EXT3 != 0 {
        "ext4"
    } else if compatible & HAS_JOURNAL != 0 {
        "ext3"
    } else {
        "ext2"
    })
}

/// Where a label in one of the first four sectors is.
fn lvm(head: &[u8]) -> Option<u64> {
    let sector = (0..4).find(|sector| {
        has(head, sector * 512, b"LABELONE") && has(head, sector * 512 + 24, b"LVM2 001")
    });
    sector.map(|sector| sector as u64 * 512)
}

/// Where an md superblock is: version 1.1 at the beginning, 1.2 at 4 KiB, 1.0 in the last 8 to
/// 12 KiB, 0.90 in the last 64 to 128 KiB.
fn md(area: &mut Area<'_>, head: &[u8]) -> Option<u64> {
    if let Some(at) = [0, 4096].into_iter().find(|at| is_magic(head, *at)) {
        return Some(at as u64);
    }
    let size = area.size_bytes;
    let tail_1_0 = size.checked_sub(8 * 1024).map(|at| at & !(4 * 1024 - 1));
    let tail_0_90 = (size & !(64 * 1024 - 1)).checked_sub(64 * 1024);
    let found_1_0 = tail_1_0.filter(|at| is_magic(&area.read(*at, 4), 0));
    found_1_0.or_else(|| {
        tail_0_90.filter(|at| {
            let mut bytes = area.read(*at, 4);
            let same_order = is_magic(&bytes, 0);
            // 0.90 is in the byte order of the machine that made it.
            bytes.reverse();
            same_order || is_magic(&bytes, 0)
        })
    })
}

fn is_magic(bytes: &[u8], at: usize) -> bool {
    u32_le(bytes, at) == Some(MD_MAGIC)
}

/// Where the labels of ZFS are on a device of `size_bytes`: two at the head and two at the tail, of 256 KiB each.
pub fn zfs_labels(size_bytes: u64) -> Vec<u64> {
    const LABEL: u64 = 256 * 1024;
    let end = size_bytes & !(LABEL - 1);
    let mut places = vec![0, LABEL];
    places.extend([2, 1].into_iter().filter_map(|labels| end.checked_sub(labels * LABEL)));
    places.sort_unstable();
    places.dedup();
    places
}

/// Several uberblocks: one alone may be what is left of an older pool.
fn is_zfs(uberblocks: &[u8]) -> bool {
    let (blocks, _) = uberblocks.as_chunks::<1024>();
    let found = blocks.iter().filter(|block| {
        let magic = block[..8].try_into().map(u64::from_le_bytes).unwrap_or(0);
        magic == ZFS_UBERBLOCK_MAGIC || magic.swap_bytes() == ZFS_UBERBLOCK_MAGIC
    });
    found.count() >= 4
}

#[cfg(test)]
mod tests;
