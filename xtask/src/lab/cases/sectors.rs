//! Sector sizes and offsets that scsi_debug reports. Its memory has no sectors whose rewriting costs anything, so
//! the timing must claim none.

use super::Case;
use super::Expect::Sectors;

pub const CASES: &[Case] = &[
    Case::short(
        "512n",
        Sectors { logical: 512, physical: 512, misaligned: 0 },
        "debug_disk sector_size=512; echo 2048 | sfdisk -q -X dos $target; udevadm settle",
    ),
    Case::short(
        "512e",
        Sectors { logical: 512, physical: 4096, misaligned: 0 },
        "debug_disk sector_size=512 physblk_exp=3; echo 2048 | sfdisk -q -X dos $target; udevadm settle",
    ),
    Case::short(
        "512e-shifted",
        Sectors { logical: 512, physical: 4096, misaligned: 512 },
        "debug_disk sector_size=512 physblk_exp=3 lowest_aligned=7; echo 2048 | sfdisk -q -X dos $target; udevadm settle",
    ),
    Case::short(
        "4kn",
        Sectors { logical: 4096, physical: 4096, misaligned: 0 },
        "debug_disk sector_size=4096; echo 256 | sfdisk -q -X dos $target; udevadm settle",
    ),
    Case::long(
        "512e-of-16k",
        Sectors { logical: 512, physical: 16384, misaligned: 0 },
        "debug_disk sector_size=512 physblk_exp=5; echo 2048 | sfdisk -q -X dos $target; udevadm settle",
    ),
];
