//! A SATA disk of QEMU's, which has SMART and tests itself, under a model's name that is no virtual drive's.

use super::{Case, Expect};

pub const CASES: &[Case] =
    &[Case::short("health", Expect::Health, "target=$(readlink -f /dev/disk/by-id/ata-*LAB-ATA)")];
