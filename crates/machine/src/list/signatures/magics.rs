//! Where magics lie. Offsets are those of each format's own header definition; the names are those of blkid.

pub(super) const GPT: &str = "GPT partition table";
pub(super) const MBR: &str = "MBR partition table";

/// Logical sectors of drives. Some formats count copies of their first sector in these.
const SECTORS_BYTES: [u64; 4] = [512, 1024, 2048, 4096];

/// Pages of the machines that Linux runs on: swap areas and hibernation images sign the end of their first.
const PAGES_BYTES: [usize; 5] = [4 << 10, 8 << 10, 16 << 10, 32 << 10, 64 << 10];

/// What the last ten bytes of that page begin with: swap areas, old and new, and what takes the place of that name
/// while an image of a hibernated system lies there (`kernel/power/swap.c`, and the others that blkid knows).
const LAST_OF_PAGE: [(&str, &[u8]); 6] = [
    ("swap", b"SWAPSPACE2"),
    ("swap", b"SWAP-SPACE"),
    ("swsuspend", b"S1SUSPEND"),
    ("swsuspend", b"S2SUSPEND"),
    ("swsuspend", b"ULSUSPEND"),
    ("swsuspend", b"LINHIB0001"),
];

/// Type, offset of its magic, magic. The order counts: a volume manager's label may be followed by
/// the remains of an older file system, and boot sectors look alike.
pub(super) const MAGICS: &[(&str, usize, &[u8])] = &[
    ("crypto_LUKS", 0, b"LUKS\xBA\xBE"),
    ("BitLocker", 3, b"-FVE-FS-"),
    ("ceph_bluestore", 0, b"bluestore block device"),
    ("bcache", 4096 + 24, b"\xC6\x85\x73\xF6\x4E\x1A\x45\xCA\x82\x65\xF5\x7F\x48\xBA\x6D\x81"),
    ("bcachefs", 4096 + 24, b"\xC6\x85\x73\xF6\x66\xCE\x90\xA9\xD9\x6A\x60\xCF\x80\x3D\xF7\xEF"),
    ("xfs", 0, b"XFSB"),
    ("btrfs", 0x10040, b"_BHRfS_M"),
    ("f2fs", 1024, b"\x10\x20\xF5\xF2"),
    ("swsuspend", 0, b"\xED\xC3\x02\xE9\x98\x56\xE5\x0C"),
    ("ntfs", 3, b"NTFS    "),
    ("exfat", 3, b"EXFAT   "),
    ("ReFS", 3, b"ReFS\0\0\0\0"),
    ("apfs", 32, b"NXSB"),
    ("hfsplus", 1024, b"H+\0"),
    ("hfsplus", 1024, b"HX\0"),
    ("jfs", 32768, b"JFS1"),
    ("reiserfs", 65536 + 52, b"ReIsEr"),
    ("reiser4", 65536, b"ReIsEr4"),
    ("gfs2", 65536, b"\x01\x16\x19\x70"),
    ("squashfs", 0, b"hsqs"),
    ("erofs", 1024, b"\xE2\xE1\xF5\xE0"),
    ("iso9660", 32769, b"CD001"),
    ("udf", 32769, b"BEA01"),
    ("vfat", 82, b"FAT32   "),
    ("vfat", 54, b"FAT16   "),
    ("vfat", 54, b"FAT12   "),
    (GPT, 512, b"EFI PART"),
    (GPT, 1024, b"EFI PART"),
    (GPT, 2048, b"EFI PART"),
    (GPT, 4096, b"EFI PART"),
];

/// Copies and labels elsewhere, by which content is known when its beginning was wiped: type, place
/// of its magic, magic.
const COPIES: &[Copy] = &[
    ("hfsplus", MagicOffset::BeforeEnd(1024), b"H+\0"),
    ("hfsplus", MagicOffset::BeforeEnd(1024), b"HX\0"),
    ("isw_raid_member", MagicOffset::BeforeEnd(1024), b"Intel Raid ISM Cfg Sig. "),
    ("isw_raid_member", MagicOffset::BeforeEnd(8192), b"Intel Raid ISM Cfg Sig. "),
    ("ddf_raid_member", MagicOffset::BeforeEnd(512), b"\xDE\x11\xDE\x11"),
    ("btrfs", MagicOffset::At((64 << 20) + 0x40), b"_BHRfS_M"),
    // ext keeps copies of its superblock at the beginning of the second group, whose number of blocks is eight
    // times their size in bytes (`ext2fs/ext2_fs.h`): blocks of 1, 2 and 4 KiB.
    ("ext", MagicOffset::At((8 << 20) + (1 << 10) + 56), b"\x53\xEF"),
    ("ext", MagicOffset::At((32 << 20) + 56), b"\x53\xEF"),
    ("ext", MagicOffset::At((128 << 20) + 56), b"\x53\xEF"),
    ("VMFS_volume_member", MagicOffset::At(1 << 20), b"\x0D\xD0\x01\xC0"),
];

/// Where the superblock of UFS begins: on floppies, of UFS1, of UFS2, and behind larger boot blocks
/// (`SBLOCKSEARCH` of FreeBSD's `ufs/ffs/fs.h`).
const UFS_SUPERBLOCKS: [u64; 4] = [0, 8 << 10, 64 << 10, 256 << 10];
/// Where its magic lies in it: the last four bytes of `struct fs`.
const UFS_MAGIC_AT: u64 = 1372;
/// The magics of UFS1 and UFS2, each in the byte order of the machine that made it.
const UFS: [&[u8]; 4] =
    [b"\x54\x19\x01\x00", b"\x00\x01\x19\x54", b"\x19\x01\x54\x19", b"\x19\x54\x01\x19"];

/// Type, place of its magic, magic.
pub(super) type Copy = (&'static str, MagicOffset, &'static [u8]);

/// The second header of LUKS2 follows the first, which has as many bytes as one of these (LUKS2 On-Disk Format,
/// 2.1): powers of two from 16 KiB to 4 MiB.
const LUKS2_HEADERS_BYTES: std::ops::RangeInclusive<u32> = 14..=22;

/// Everything that lies at the end of the first page of some machine: type, offset, magic.
pub(super) fn at_page_ends() -> impl Iterator<Item = (&'static str, usize, &'static [u8])> {
    PAGES_BYTES
        .into_iter()
        .flat_map(|page| LAST_OF_PAGE.map(|(kind, magic)| (kind, page - 10, magic)))
}

/// All copies, those that are counted in sectors for every size of these.
pub(super) fn copies() -> impl Iterator<Item = Copy> {
    let in_sectors = |sector: u64| -> [Copy; 4] {
        [
            (GPT, MagicOffset::BeforeEnd(sector), b"EFI PART"),
            ("ntfs", MagicOffset::BeforeEnd(sector - 3), b"NTFS    "),
            ("exfat", MagicOffset::At(12 * sector + 3), b"EXFAT   "),
            ("vfat", MagicOffset::At(6 * sector + 82), b"FAT32   "),
        ]
    };
    let luks2 = LUKS2_HEADERS_BYTES
        .map(|power| -> Copy { ("crypto_LUKS", MagicOffset::At(1 << power), b"SKUL\xBA\xBE") });
    let ufs = UFS_SUPERBLOCKS.into_iter().flat_map(|superblock| {
        UFS.map(|magic| -> Copy { ("ufs", MagicOffset::At(superblock + UFS_MAGIC_AT), magic) })
    });
    let in_sectors = SECTORS_BYTES.into_iter().flat_map(in_sectors);
    COPIES.iter().copied().chain(in_sectors).chain(luks2).chain(ufs)
}

/// A place on a device, in bytes.
#[derive(Debug, Clone, Copy)]
pub(super) enum MagicOffset {
    At(u64),
    BeforeEnd(u64),
}

impl MagicOffset {
    /// In bytes from the beginning of a device of this size; `None` when it is too small.
    pub(super) fn within(self, size_bytes: u64) -> Option<u64> {
        match self {
            Self::At(at) => (at < size_bytes).then_some(at),
            Self::BeforeEnd(distance) => size_bytes.checked_sub(distance),
        }
    }
}
