//! Drives with SMART of QEMU's own: its SATA disk tests itself, its NVMe drive cannot.

use super::Case;
use super::Expect::Health;

pub const CASES: &[Case] = &[
    Case::short(
        "health-sata",
        Health { tests_itself: true },
        "target=$(readlink -f /dev/disk/by-id/ata-*LAB-ATA)",
    ),
    Case::short(
        "health-nvme",
        Health { tests_itself: false },
        "target=$(ls /dev/nvme*n1 | head -n 1)",
    ),
];
