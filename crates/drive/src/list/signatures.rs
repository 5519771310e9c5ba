//! Signatures by which file systems, volume managers and partition tables are known.
//!
//! Offsets are those of each format's own header definition; the names are those of blkid.

use std::fs::File;
use std::os::unix::fs::FileExt;

/// Bytes read from the beginning: the deepest single magic (reiserfs, btrfs) ends below 68 KiB.
const HEAD_BYTES: usize = 68 * 1024;

/// Uberblocks of ZFS fill the second half of its first label of 256 KiB.
const ZFS_UBERBLOCKS: (u64, usize) = (128 * 1024, 128 * 1024);
const ZFS_UBERBLOCK_MAGIC: u64 = 0x00BA_B10C;

/// Magic number of md superblocks.
const MD_MAGIC: u32 = 0xA92B_4EFC;

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
    ("GPT partition table", 512, b"EFI PART"),
    ("GPT partition table", 4096, b"EFI PART"),
    ("MBR partition table", 510, b"\x55\xAA"),
];

/// What a disk, partition or image of `size_bytes` holds; `None` for nothing that is known here, or
/// when it cannot be read. Only reads, about 256 KiB.
///
/// Members of arrays come first: what they hold looks like a file system of their own.
pub fn find(source: &File, size_bytes: u64) -> Option<&'static str> {
    let head = read(source, 0, HEAD_BYTES, size_bytes)?;
    let (zfs_at, zfs_bytes) = ZFS_UBERBLOCKS;
    if is_md(source, &head, size_bytes) {
        Some("linux_raid_member")
    } else if is_lvm(&head) {
        Some("LVM2_member")
    } else if read(source, zfs_at, zfs_bytes, size_bytes).is_some_and(|label| is_zfs(&label)) {
        Some("zfs_member")
    } else {
        ext(&head).or_else(|| {
            MAGICS.iter().find(|(_, at, magic)| has(&head, *at, magic)).map(|(name, ..)| *name)
        })
    }
}

/// Up to `length` bytes, fewer at the end of the device.
fn read(source: &File, at: u64, length: usize, size_bytes: u64) -> Option<Vec<u8>> {
    let left = usize::try_from(size_bytes.checked_sub(at)?).unwrap_or(usize::MAX);
    let mut bytes = vec![0; length.min(left)];
    source.read_exact_at(&mut bytes, at).ok()?;
    Some(bytes)
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

/// A label in one of the first four sectors.
fn is_lvm(head: &[u8]) -> bool {
    (0..4).any(|sector| {
        has(head, sector * 512, b"LABELONE") && has(head, sector * 512 + 24, b"LVM2 001")
    })
}

/// md superblocks: version 1.1 at the beginning, 1.2 at 4 KiB, 1.0 in the last 8 to 12 KiB, 0.90 in
/// the last 64 to 128 KiB.
fn is_md(source: &File, head: &[u8], size_bytes: u64) -> bool {
    let is_magic = |bytes: &[u8], at: usize| u32_le(bytes, at) == Some(MD_MAGIC);
    if is_magic(head, 0) || is_magic(head, 4096) {
        return true;
    }
    let tail_1_0 = size_bytes.checked_sub(8 * 1024).map(|at| at & !(4 * 1024 - 1));
    let tail_0_90 = (size_bytes & !(64 * 1024 - 1)).checked_sub(64 * 1024);
    let tail = |at: Option<u64>| at.and_then(|at| read(source, at, 4, size_bytes));
    tail(tail_1_0).is_some_and(|bytes| is_magic(&bytes, 0))
        // 0.90 is in the byte order of the machine that made it.
        || tail(tail_0_90).is_some_and(|b| is_magic(&b, 0) || is_magic(&[b[3], b[2], b[1], b[0]], 0))
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
