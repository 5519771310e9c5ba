//! Runs that are killed, and drives that fail, while patterns are on them.

use super::Case;
use super::Expect::{Restored, RestoredAfterFailure};

pub const CASES: &[Case] = &[
    Case::short(
        "killed",
        Restored("drivescope restore"),
        "target=$a; dd if=/dev/urandom of=$a bs=1M oflag=direct 2>/dev/null || true",
    ),
    Case::short(
        "killed-md-member",
        Restored("drivescope restore"),
        "modprobe raid1; mdadm --create /dev/md7 --run --quiet --assume-clean --level=1 --raid-devices=2 --metadata=1.2 $a $b; sleep 1; mdadm --stop /dev/md7; target=$a",
    ),
    Case::short(
        // As at the next boot.
        "killed-md-member-woken",
        Restored("mdadm --stop /dev/md"),
        "modprobe raid1; mdadm --create /dev/md7 --run --quiet --assume-clean --level=1 --raid-devices=2 --metadata=1.2 $a $b; sleep 1; mdadm --stop /dev/md7; target=$a; wake='udevadm trigger --action=add --subsystem-match=block --settle'; stop='mdadm --stop --scan'",
    ),
    Case::long(
        "killed-lvm-member",
        Restored("drivescope restore"),
        "vgcreate -qq lab $a; lvcreate -qq -Zn -l50%FREE -n one lab; vgchange -qq -an lab; target=$a",
    ),
    Case::long("killed-nvme", Restored("drivescope restore"), "target=/dev/nvme0n1"),
    Case::short(
        "error",
        RestoredAfterFailure,
        "mapped_over flat linear $a; mapped=flat; sound=$(dmsetup table flat); broken=\"0 $(sectors $a) error\"; target=/dev/mapper/flat",
    ),
    Case::long(
        "flakey-writes",
        RestoredAfterFailure,
        "modprobe dm-flakey; mapped_over flat linear $a; mapped=flat; sound=$(dmsetup table flat); broken=\"0 $(sectors $a) flakey $a 0 0 600 1 error_writes\"; target=/dev/mapper/flat",
    ),
];
