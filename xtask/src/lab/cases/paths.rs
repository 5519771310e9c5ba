//! Drives with several names, and kinds of drives that the host may not have.

use super::Case;
use super::Expect::{Declined, Free, Refused};

pub const CASES: &[Case] = &[
    Case::short("nvme-two-controllers", Free, "ls /dev/nvme0n1 /dev/nvme1n1; target=/dev/nvme0n1"),
    Case::short(
        "nvme-other-mounted",
        Refused("mounts"),
        "mkfs.ext4 -q -E lazy_itable_init=0 /dev/nvme0n1; mount /dev/nvme0n1 /mnt; sync; target=/dev/nvme1n1",
    ),
    Case::short(
        "scsi-two-paths",
        Free,
        "ls /dev/sda /dev/sdb; target=/dev/disk/by-id/wwn-0x5000000000001ab0",
    ),
    Case::long(
        "scsi-other-mounted",
        Refused("mounts"),
        "set -- $(lsblk -dno PATH,WWN | sed -n 's/ *0x5000000000001ab0//p'); mkfs.ext4 -q -E lazy_itable_init=0 $1; mount $1 /mnt; sync; target=$2",
    ),
    Case::short(
        "multipath-below",
        Refused("holders"),
        "modprobe dm-multipath; modprobe dm-service-time; set -- $(lsblk -dno PATH,WWN | sed -n 's/ *0x5000000000001ab0//p'); dmsetup create many --table \"0 $(sectors $1) multipath 0 0 1 1 service-time 0 2 2 $1 1 1 $2 1 1\"; target=$1",
    ),
    Case::short(
        "multipath",
        Free,
        "modprobe dm-multipath; modprobe dm-service-time; set -- $(lsblk -dno PATH,WWN | sed -n 's/ *0x5000000000001ab0//p'); dmsetup create many --table \"0 $(sectors $1) multipath 0 0 1 1 service-time 0 2 2 $1 1 1 $2 1 1\"; target=/dev/mapper/many",
    ),
    Case::short("usb-stick", Free, "target=$(readlink -f /dev/disk/by-id/usb-*LAB-STICK*0:0)"),
    Case::long(
        "sd-card",
        Free,
        "modprobe sdhci-pci; modprobe mmc_block; sleep 2; udevadm settle; target=/dev/mmcblk0",
    ),
    Case::short(
        "null-block",
        // Recognized as memory, whatever its name: measured, and reported not to be a drive.
        Free,
        "modprobe null_blk nr_devices=0; d=$config/nullb/lab; mkdir $d; echo 32 > $d/size; echo 1 > $d/power; udevadm settle; bytes=$a; target=/dev/$(ls /sys/block | grep -E '^(nullb|lab)' | head -n 1)",
    ),
    Case::short(
        "zoned",
        Declined("zone"),
        "modprobe null_blk nr_devices=1 zoned=1 zone_size=4 gb=1 memory_backed=1; udevadm settle; bytes=$a; target=/dev/nullb0",
    ),
];
