//! Signatures by which file systems, volume managers and partition tables are known.
//!
//! Offsets are those of each format's own header definition; the names are those of blkid.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

/// Bytes read from the beginning: the deepest single magic (reiserfs, btrfs) ends below 68 KiB.
const HEAD_BYTES: usize = 68 * 1024;

/// Uberblocks of ZFS fill the second half of each label of 256 KiB: where they begin, how long.
const ZFS_UBERBLOCKS: (u64, usize) = (128 * 1024, 128 * 1024);
const ZFS_UBERBLOCK_MAGIC: u64 = 0x00BA_B10C;

/// Magic number of md superblocks.
const MD_MAGIC: u32 = 0xA92B_4EFC;

const GPT: &str = "GPT partition table";
const MBR: &str = "MBR partition table";

/// Type, offset of its magic, magic. The order counts: a volume manager's label may be followed by
/// the remains of an older file system, and boot sectors look alike.
const MAGICS: &[(&str, usize, &[u8])] = &[
    ("crypto_LUKS", 0, b"LUKS\xBA\xBE"),
    ("crypto_LUKS", 0x4000, b"SKUL\xBA\xBE"),
    ("BitLocker", 3, b"-FVE-FS-"),
    ("ceph_bluestore", 0, b"bluestore block device"),
    ("bcache", 4096 + 24, b"\xC6\x85\x73\xF6\x4E\x1A\x45\xCA\x82\x65\xF5\x7F\x48\xBA\x6D\x81"),
    ("bcachefs", 4096 + 24, b"\xC6\x85\x73\xF6\x66\xCE\x90\xA9\xD9\x6A\x60\xCF\x80\x3D\xF7\xEF"),
    ("xfs", 0, b"XFSB"),
    ("btrfs", 0x10040, b"_BHRfS_M"),
    ("f2fs", 1024, b"\x10\x20\xF5\xF2"),
    ("swap", 4096 - 10, b"SWAPSPACE2"),
    ("swap", 16384 - 10, b"SWAPSPACE2"),
    ("swap", 65536 - 10, b"SWAPSPACE2"),
    ("ntfs", 3, b"NTFS    "),
    ("exfat", 3, b"EXFAT   "),
    ("ReFS", 3, b"ReFS\0\0\0\0"),
    ("apfs", 32, b"NXSB"),
    ("hfsplus", 1024, b"H+\0"),
    ("hfsplus", 1024, b"HX\0"),
    ("jfs", 32768, b"JFS1"),
    ("reiserfs", 65536 + 52, b"ReIsEr"),
    ("squashfs", 0, b"hsqs"),
    ("erofs", 1024, b"\xE2\xE1\xF5\xE0"),
    ("iso9660", 32769, b"CD001"),
    ("udf", 32769, b"BEA01"),
    ("vfat", 82, b"FAT32   "),
    ("vfat", 54, b"FAT16   "),
    ("vfat", 54, b"FAT12   "),
    (GPT, 512, b"EFI PART"),
    (GPT, 4096, b"EFI PART"),
    (MBR, 510, b"\x55\xAA"),
];

/// Copies and labels elsewhere, by which content is known when its beginning was wiped: type, place
/// of its magic, magic.
const COPIES: &[(&str, Place, &[u8])] = &[
    (GPT, Place::BeforeEnd(512), b"EFI PART"),
    (GPT, Place::BeforeEnd(4096), b"EFI PART"),
    ("ntfs", Place::BeforeEnd(512 - 3), b"NTFS    "),
    ("hfsplus", Place::BeforeEnd(1024), b"H+\0"),
    ("hfsplus", Place::BeforeEnd(1024), b"HX\0"),
    ("isw_raid_member", Place::BeforeEnd(1024), b"Intel Raid ISM Cfg Sig. "),
    ("ddf_raid_member", Place::BeforeEnd(512), b"\xDE\x11\xDE\x11"),
    ("exfat", Place::At(12 * 512 + 3), b"EXFAT   "),
    ("vfat", Place::At(6 * 512 + 82), b"FAT32   "),
    ("btrfs", Place::At((64 << 20) + 0x40), b"_BHRfS_M"),
];

/// A place on a device, in bytes.
#[derive(Debug, Clone, Copy)]
enum Place {
    At(u64),
    BeforeEnd(u64),
}

/// Something that was recognised.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Signature {
    /// Its type in the names of blkid, or `GPT partition table`, `MBR partition table`.
    pub kind: &'static str,
    /// Where its magic is, in bytes from the beginning of what was looked at.
    pub at: u64,
}

/// What a look at a device found.
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
    for (kind, at, magic) in MAGICS {
        let is_there = has(&head, *at, magic) && !(*kind == MBR && is_boot_sector(&found));
        note(&mut found, kind, is_there.then_some(*at as u64));
    }
    for (kind, place, magic) in COPIES {
        let at = place.within(size_bytes).filter(|at| area.read(*at, magic.len()) == *magic);
        note(&mut found, kind, at);
    }
    Signatures { found, unread: area.unread }
}

/// Adds what was found, each kind once.
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

impl Place {
    /// In bytes from the beginning of a device of this size; `None` when it is too small.
    fn within(self, size_bytes: u64) -> Option<u64> {
        match self {
            Self::At(at) => (at < size_bytes).then_some(at),
            Self::BeforeEnd(distance) => size_bytes.checked_sub(distance),
        }
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
    let is_magic = |bytes: &[u8], at: usize| u32_le(bytes, at) == Some(MD_MAGIC);
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

/// Where the labels of ZFS are: two at the head and two at the tail, of 256 KiB each.
fn zfs_labels(size_bytes: u64) -> Vec<u64> {
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
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::io::{Seek, SeekFrom, Write};

    const SIZE: u64 = 1 << 20;

    /// A device of 1 MiB of zeroes with these bytes in it.
    fn image(parts: &[(u64, &[u8])]) -> File {
        let mut file = tempfile::tempfile().unwrap();
        file.set_len(SIZE).unwrap();
        for (at, bytes) in parts {
            file.seek(SeekFrom::Start(*at)).unwrap();
            file.write_all(bytes).unwrap();
        }
        file
    }

    fn found(parts: &[(u64, &[u8])]) -> Option<&'static str> {
        find(&image(parts), SIZE)
    }

    #[test]
    fn each_magic_is_found_at_its_place_and_nowhere_else() {
        for (name, at, magic) in MAGICS {
            let at = *at as u64;
            assert_eq!(found(&[(at, magic)]), Some(*name), "{name} at {at}");
            if *name != "swap" && !name.starts_with("GPT") {
                assert_ne!(found(&[(at + 8, magic)]), Some(*name), "{name} at {}", at + 8);
            }
        }
        assert_eq!(found(&[]), None);
    }

    #[test]
    fn the_generations_of_ext_differ_by_their_features() {
        for (compatible, incompatible, read_only, expected) in [
            (0u32, 0x2u32, 0x1u32, "ext2"),
            (0x4, 0x2 | 0x4, 0x1 | 0x2, "ext3"),
            (0x4, 0x2 | 0x40, 0x1, "ext4"),
            (0x4, 0x2, 0x8, "ext4"),
            (0, 0x40, 0, "ext4"),
            (0, 0x8, 0, "jbd"),
        ] {
            let features =
                [compatible.to_le_bytes(), incompatible.to_le_bytes(), read_only.to_le_bytes()]
                    .concat();
            let parts: &[(u64, &[u8])] = &[(1080, b"\x53\xEF"), (1024 + 0x5C, &features)];
            assert_eq!(found(parts), Some(expected));
        }
    }

    #[test]
    fn members_of_arrays_are_known_at_both_ends_and_before_what_they_hold() {
        let magic = MD_MAGIC.to_le_bytes();
        let ext4: (u64, &[u8]) = (1080, b"\x53\xEF");
        for at in [0, 4096, SIZE - 8192, SIZE - 65536] {
            assert_eq!(found(&[(at, &magic), ext4]), Some("linux_raid_member"), "{at}");
        }
        let other_order = MD_MAGIC.to_be_bytes();
        assert_eq!(found(&[(SIZE - 65536, &other_order)]), Some("linux_raid_member"));
        assert_eq!(found(&[(8192, &magic)]), None);
    }

    #[test]
    fn a_volume_group_is_known_by_label_and_version() {
        for sector in 0..4 {
            let parts: &[(u64, &[u8])] = &[
                (sector * 512, b"LABELONE"),
                (sector * 512 + 24, b"LVM2 001"),
                (510, b"\x55\xAA"),
            ];
            assert_eq!(found(parts), Some("LVM2_member"), "{sector}");
        }
        assert_eq!(found(&[(512, b"LABELONE")]), None);
    }

    #[test]
    fn a_pool_is_known_by_several_uberblocks_in_either_byte_order() {
        for magic in [ZFS_UBERBLOCK_MAGIC.to_le_bytes(), ZFS_UBERBLOCK_MAGIC.to_be_bytes()] {
            let at = |i: u64| (128 * 1024 + i * 4096, &magic[..]);
            assert_eq!(found(&[at(0), at(1), at(2), at(3)]), Some("zfs_member"));
            assert_eq!(found(&[at(0), at(1), at(2)]), None);
        }
    }

    #[test]
    fn file_systems_come_before_partition_tables_in_the_same_sector() {
        let boot: (u64, &[u8]) = (510, b"\x55\xAA");
        assert_eq!(found(&[boot, (82, b"FAT32   ")]), Some("vfat"));
        assert_eq!(found(&[boot, (3, b"NTFS    ")]), Some("ntfs"));
        assert_eq!(found(&[boot, (512, b"EFI PART")]), Some("GPT partition table"));
        assert_eq!(found(&[boot]), Some("MBR partition table"));
    }

    #[test]
    fn copies_are_found_when_the_beginning_is_wiped() {
        let uberblocks = ZFS_UBERBLOCK_MAGIC.to_le_bytes();
        for label in [256 * 1024, 512 * 1024, 768 * 1024] {
            let at = |i: u64| (label + 128 * 1024 + i * 1024, &uberblocks[..]);
            assert_eq!(found(&[at(0), at(1), at(2), at(3)]), Some("zfs_member"), "{label}");
        }
        for (kind, place, magic) in COPIES {
            let size = SIZE.max(65 << 20);
            let image = image(&[]);
            image.set_len(size).unwrap();
            image.write_all_at(magic, place.within(size).unwrap()).unwrap();
            assert_eq!(find(&image, size), Some(*kind), "{place:?}");
        }
    }

    #[test]
    fn everything_is_listed_once_and_within_its_part() {
        let parts: &[(u64, &[u8])] = &[
            (510, b"\x55\xAA"),
            (512, b"EFI PART"),
            (SIZE - 512, b"EFI PART"),
            (0x40000 + 1080, b"\x53\xEF"),
        ];
        let whole = all(&image(parts), 0, SIZE);
        let kinds = |look: &Signatures| look.found.iter().map(|s| s.kind).collect::<Vec<_>>();
        assert_eq!(kinds(&whole), ["GPT partition table"]);
        assert!(whole.unread.is_none());
        let part = all(&image(parts), 0x40000, 0x40000);
        assert_eq!(part.found, [Signature { kind: "ext2", at: 1080 }]);
    }

    #[test]
    fn what_cannot_be_read_is_not_taken_for_empty() {
        let look = all(&image(&[(1080, b"\x53\xEF")]), 0, 2 * SIZE);
        assert_eq!(look.found[0].kind, "ext2");
        assert!(look.unread.is_some_and(|(at, _)| at >= SIZE));
    }

    proptest! {
        #[test]
        fn any_device_of_any_size_is_taken(
            bytes in proptest::collection::vec(any::<u8>(), 0..6000),
            claimed in 0u64..200_000,
        ) {
            let mut file = tempfile::tempfile().unwrap();
            file.write_all(&bytes).unwrap();
            let _ = find(&file, claimed);
        }
    }
}
