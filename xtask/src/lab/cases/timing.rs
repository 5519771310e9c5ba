//! Delays of the kernel's own making, against fio in the same guest: an emulated processor adds to both.

use super::Case;
use super::Expect::LikeFio;

pub const CASES: &[Case] = &[
    Case::short(
        "null-block-5ms",
        LikeFio { least_us: 5_000.0 },
        "modprobe null_blk nr_devices=1 gb=1 irqmode=2 completion_nsec=5000000; udevadm settle; target=/dev/nullb0",
    ),
    Case::short(
        "delay-20ms",
        LikeFio { least_us: 20_000.0 },
        "modprobe dm-delay; mapped_over slow delay $a 20; target=/dev/mapper/slow",
    ),
    Case::long(
        "null-block-1ms",
        LikeFio { least_us: 1_000.0 },
        "modprobe null_blk nr_devices=1 gb=1 irqmode=2 completion_nsec=1000000; udevadm settle; target=/dev/nullb0",
    ),
];
