//! Users of drives in the kernel: file systems, volumes, arrays, caches. Cases that loop devices show as well are in
//! the long pass only: tests on the host have them.

use super::Case;
use super::Expect::{Declined, Free, Refused};

pub const CASES: &[Case] = &[
    Case::short("blank", Free, "target=$a"),
    Case::short("system-disk", Refused("system"), "target=$(findmnt -no SOURCE /); bytes=$a"),
    Case::short(
        "mounted-ext4",
        Refused("mounts"),
        "target=$a; mkfs.ext4 -q -E lazy_itable_init=0 $a; mount $a /mnt; sync",
    ),
    Case::long(
        "mounted-elsewhere",
        Refused("claim"),
        "target=$a; mkfs.ext4 -q -E lazy_itable_init=0 $a; unshare --mount --propagation=private sh -c \"mount $a /mnt; sync; exec sleep 200\" & trap \"kill $!\" EXIT; sleep 3",
    ),
    Case::long("unmounted-ext4", Free, "target=$a; mkfs.ext4 -q $a"),
    Case::long(
        "partition-of-mounted",
        Refused("mounts"),
        "target=$a; printf ',16M\\n,\\n' | sfdisk -q -X gpt $a; udevadm settle; mkfs.ext4 -q -E lazy_itable_init=0 ${a}1; mount ${a}1 /mnt; sync",
    ),
    Case::long(
        "partition-beside-mounted",
        Free,
        "printf ',16M\\n,\\n' | sfdisk -q -X gpt $a; udevadm settle; mkfs.ext4 -q -E lazy_itable_init=0 ${a}1; mount ${a}1 /mnt; sync; target=${a}2",
    ),
    Case::long("swap", Refused("swap"), "target=$a; mkswap -q $a; swapon $a"),
    Case::short(
        "btrfs-second-device",
        Refused("claim"),
        "modprobe btrfs; truncate -s 160M /root/x /root/y; x=$(losetup -f --show /root/x); y=$(losetup -f --show /root/y); mkfs.btrfs -q -f $x $y; btrfs device scan; mount $x /mnt; sync; target=$y",
    ),
    Case::long(
        "xfs-external-log",
        Refused("claim"),
        "truncate -s 320M /root/x; x=$(losetup -f --show /root/x); mkfs.xfs -q -f -l logdev=$a,size=16m $x; mount -o logdev=$a $x /mnt; sync; target=$a",
    ),
    Case::short(
        "lvm-physical-volume",
        Refused("holders"),
        "target=$a; vgcreate -qq lab $a; lvcreate -qq -an -Zn -l50%FREE -n one lab; lvchange -ay lab/one",
    ),
    Case::short(
        "lvm-volume",
        Free,
        "vgcreate -qq lab $a; lvcreate -qq -Zn -l50%FREE -n one lab; target=/dev/lab/one",
    ),
    Case::short(
        "lvm-with-snapshot",
        Refused("holders"),
        "modprobe dm-snapshot; vgcreate -qq lab $a; lvcreate -qq -Zn -L8M -n one lab; lvcreate -qq -s -L8M -n then lab/one; target=/dev/lab/one",
    ),
    Case::long(
        "lvm-thin-pool",
        Refused("holders"),
        "modprobe dm-thin-pool; vgcreate -qq lab $a; lvcreate -qq -L16M -T lab/pool -V8M -n thin; target=$a",
    ),
    Case::long(
        "lvm-inactive",
        Free,
        "target=$a; vgcreate -qq lab $a; lvcreate -qq -Zn -l50%FREE -n one lab; vgchange -qq -an lab",
    ),
    Case::short(
        "md-member",
        Refused("holders"),
        "modprobe raid1; mdadm --create /dev/md7 --run --quiet --assume-clean --level=1 --raid-devices=2 --metadata=1.2 $a $b; sleep 1; target=$a",
    ),
    Case::short(
        "md-array",
        Free,
        "modprobe raid1; mdadm --create /dev/md7 --run --quiet --assume-clean --level=1 --raid-devices=2 --metadata=1.2 $a $b; target=/dev/md7",
    ),
    Case::long(
        "md-member-at-end",
        Refused("holders"),
        "modprobe raid1; mdadm --create /dev/md7 --run --quiet --assume-clean --level=1 --raid-devices=2 --metadata=1.0 $a $b; sleep 1; target=$b",
    ),
    Case::short(
        "luks-open",
        Refused("holders"),
        "truncate -s 64M /root/x; x=$(losetup -f --show /root/x); echo lab > /root/key; cryptsetup luksFormat -q --pbkdf pbkdf2 --pbkdf-force-iterations 1000 $x /root/key; cryptsetup open --key-file /root/key $x lab; target=$x",
    ),
    Case::long(
        "luks-inside",
        Free,
        "truncate -s 64M /root/x; x=$(losetup -f --show /root/x); echo lab > /root/key; cryptsetup luksFormat -q --pbkdf pbkdf2 --pbkdf-force-iterations 1000 $x /root/key; cryptsetup open --key-file /root/key $x lab; target=/dev/mapper/lab",
    ),
    Case::short(
        "bcache-backing",
        Refused("holders"),
        "modprobe bcache; make-bcache -B $a; udevadm settle; [ -e /dev/bcache0 ] || echo $a > /sys/fs/bcache/register; sleep 1; target=$a",
    ),
    Case::long(
        "bcache-cache",
        Refused("claim"),
        "modprobe bcache; make-bcache --bucket 64k -C $a -B $b; udevadm settle; sleep 1; ls /sys/fs/bcache/*-*; target=$a",
    ),
    Case::short("linear-below", Refused("holders"), "mapped_over flat linear $a; target=$a"),
    Case::short("linear", Free, "mapped_over flat linear $a; target=/dev/mapper/flat"),
    Case::short(
        "suspended",
        Declined("suspended"),
        "mapped_over flat linear $a; bytes=$b; dmsetup suspend flat; target=/dev/mapper/flat",
    ),
    Case::long("loop-over-it", Refused("loop devices"), "losetup -f $a; target=$a"),
    Case::long(
        "loop-file-on-it",
        Refused("file systems"),
        "mkfs.ext4 -q -E lazy_itable_init=0 $a; mount $a /mnt; truncate -s 8M /mnt/file; losetup -f /mnt/file; umount -l /mnt; sync; target=$a",
    ),
    Case::long("open-for-writing", Refused("other programs"), "exec 9<> $a; target=$a"),
    Case::long("read-only", Refused("writable"), "target=$a; blockdev --setro $a"),
    Case::long(
        "zram-backing",
        Refused("claim"),
        "modprobe zram; echo $a > /sys/block/zram0/backing_dev; echo 16M > /sys/block/zram0/disksize; target=$a",
    ),
];
