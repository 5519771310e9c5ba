//! Every way in which a device can be in use.

use super::machine::Machine;

/// What a container without the processes and mounts of the host can see of a use.
#[derive(Debug, Clone, Copy)]
pub enum Seen {
    /// As on the host.
    Same,
    /// Another check reports it, with these words.
    As(&'static str, &'static str),
    /// Only that the kernel refuses the claim.
    Claim,
    Not,
}
use Seen::{As, Claim, Not, Same};

/// Name of a use, how it is made, and how it shows.
pub type Use = (&'static str, fn(&Machine), Told);

/// The check that refuses on the host, words of its evidence, and what a container sees. `DISK` and `PART` stand for
/// the names of the target and its first partition.
pub type Told = (&'static str, &'static str, Seen);

pub const MOUNTS: &[Use] = &[
    (
        "a mounted partition",
        |m| m.mounted(m.with_part(), "/data", "ext4"),
        ("mounts", "PART is mounted on /data (ext4)", As("file systems", "ext4 on PART")),
    ),
    (
        "the mounted disk itself, of a kind that the kernel does not list",
        |m| m.mounted(m.kind.disk, "/media/My\\040Stick", "vfat"),
        ("mounts", "DISK is mounted on /media/My Stick (vfat)", Claim),
    ),
    (
        "ntfs through FUSE",
        |m| m.mounted(m.with_part(), "/win", "fuseblk"),
        ("mounts", "PART is mounted on /win", Claim),
    ),
    (
        "ntfs by the kernel",
        |m| m.mounted(m.with_part(), "/win", "ntfs3"),
        ("mounts", "PART is mounted on /win", As("file systems", "ntfs3 on PART")),
    ),
    (
        "a mount in another namespace only",
        |m| m.mounted_for("812", m.with_part(), "/srv", "f2fs"),
        (
            "mounts",
            "PART is mounted on /srv (f2fs) for process 812",
            As("file systems", "f2fs on PART"),
        ),
    ),
    (
        "a mount that only the first process sees",
        |m| m.mounted_for("1", m.kind.disk, "/srv", "xfs"),
        ("mounts", "for process 1", As("file systems", "xfs on DISK")),
    ),
    (
        "a file system that was unmounted lazily",
        |m| m.open_file_system(m.with_part(), "ext4"),
        ("file systems", "ext4 on PART", Same),
    ),
    (
        "one of two devices of a btrfs",
        |m| {
            m.fake.file(&format!("sys/fs/btrfs/0b-1/devices/{}/size", m.with_part()), "1");
            m.fake.file("sys/fs/btrfs/0b-1/devices/sdc/size", "1");
        },
        ("file systems", "btrfs on PART", Same),
    ),
    (
        "a btrfs that is mounted by its other device",
        |m| {
            m.fake.file(&format!("sys/fs/btrfs/0b-1/devices/{}/size", m.kind.disk), "1");
            m.fake.file("sys/fs/btrfs/0b-1/devices/sdc/size", "1");
            m.mounts(&["2 1 0:40 /@ /data rw - btrfs /dev/sdc rw"]);
        },
        ("mounts", "DISK is mounted on /data (btrfs)", As("file systems", "btrfs on DISK")),
    ),
    (
        "the external journal of an ext4",
        |m| m.fake.file(&format!("proc/fs/jbd2/{}/info", m.with_part()), "1"),
        ("file systems", "jbd2 on PART", Same),
    ),
    (
        "the log of a mounted XFS",
        |m| {
            let part = m.with_part();
            let options = format!("rw,logdev=/dev/{part}");
            m.mounts(&[&format!("9 1 8:32 / /data rw - xfs /dev/sdc {options}")]);
        },
        ("mounts", "PART is mounted on /data (xfs)", Claim),
    ),
    (
        "a loop device whose file lies on it",
        |m| {
            m.mounted(m.with_part(), "/data", "ext4");
            m.loop_over(9, "/data/disk.img");
        },
        (
            "loop devices",
            "the file behind loop9 is on PART: /data/disk.img",
            As("file systems", "ext4 on PART"),
        ),
    ),
    (
        "a loop device whose file lies on it, in a file system that the kernel does not list",
        |m| {
            m.mounted(m.with_part(), "/data", "exfat");
            m.loop_over(9, "/data/disk.img");
        },
        ("loop devices", "the file behind loop9 is on PART: /data/disk.img", Claim),
    ),
    (
        "a swap file on it",
        |m| {
            m.mounted(m.kind.disk, "/data", "ext4");
            m.swap("/data/swap");
        },
        ("swap", "DISK holds the swap file /data/swap", As("file systems", "ext4 on DISK")),
    ),
    (
        "a swap file on it, in a file system that the kernel does not list",
        |m| {
            m.mounted(m.with_part(), "/data", "hfsplus");
            m.swap("/data/swap");
        },
        ("swap", "PART holds the swap file /data/swap", Claim),
    ),
];

pub const BUILT: &[Use] = &[
    (
        "a swap partition",
        |m| m.swap(&format!("/dev/{}", m.with_part())),
        ("swap", "PART is active swap", Same),
    ),
    (
        "swap on a logical volume",
        |m| {
            m.mapping(0, "vg-swap", "LVM-x", &[m.with_part()]);
            m.swap("/dev/mapper/vg-swap");
        },
        ("swap", "dm-0 (vg-swap) on PART is active swap", Same),
    ),
    (
        "a logical volume on a partition",
        |m| m.mapping(0, "vg-data", "LVM-abc", &[m.with_part()]),
        ("holders", "dm-0 (vg-data) on PART: an active logical volume", Same),
    ),
    (
        "a mounted logical volume",
        |m| {
            m.mapping(0, "vg-lv", "LVM-x", &[m.kind.disk]);
            m.mounted("dm-0", "/data", "ext4");
        },
        (
            "mounts",
            "dm-0 (vg-lv) on DISK is mounted on /data",
            As("holders", "dm-0 (vg-lv) on DISK: an active logical volume"),
        ),
    ),
    (
        "an open LUKS volume on the disk",
        |m| m.mapping(0, "secret", "CRYPT-LUKS2-abc-secret", &[m.kind.disk]),
        ("holders", "dm-0 (secret) on DISK: an open encrypted volume", Same),
    ),
    (
        "a device-mapper device of another kind",
        |m| m.mapping(0, "snap", "", &[m.with_part()]),
        ("holders", "dm-0 (snap) on PART: a device-mapper device", Same),
    ),
    (
        "a path of a multipath device",
        |m| m.mapping(0, "mpatha", "mpath-3600a", &[m.kind.disk, "sdc"]),
        ("holders", "dm-0 (mpatha) on DISK: a multipath device", Same),
    ),
    (
        "a member of an array",
        |m| m.upper("md0", (9, 0), &[m.kind.disk, "sdc"], &[("md/level", "raid1")]),
        ("holders", "md0 on DISK: an md array (raid1)", Same),
    ),
    (
        "a logical volume on an array on partitions",
        |m| {
            m.upper("md0", (9, 0), &[m.with_part(), "sdc"], &[("md/level", "raid5")]);
            m.mapping(3, "vg-lv", "LVM-x", &["md0"]);
        },
        ("holders", "dm-3 (vg-lv) on md0", Same),
    ),
    (
        "the backing device of a bcache",
        |m| m.upper("bcache0", (252, 0), &[m.with_part()], &[]),
        ("holders", "bcache0 on PART: a bcache device", Same),
    ),
    (
        "a caching device of bcache without a backing device",
        |m| m.fake.attrs(m.kind.disk, &[("bcache/cache_replacement_policy", "lru")]),
        ("holders", "DISK is registered with bcache", Same),
    ),
    (
        "a holder of an unknown kind",
        |m| m.upper("drbd0", (147, 0), &[m.kind.disk], &[]),
        ("holders", "drbd0 on DISK: built on it", Same),
    ),
    (
        "a namespace of the kernel's NVMe target",
        |m| m.export(m.with_part(), true),
        ("holders", "PART is exported by the kernel's NVMe target", Same),
    ),
    (
        "a file of the kernel's SCSI target",
        |m| {
            let store = "sys/kernel/config/target/core/fileio_0/disk";
            let file = format!("TCM FILEIO ID: 0        File: /dev/{}  Size: 9", m.kind.disk);
            m.fake.file(&format!("{store}/info"), format!("Status: ACTIVATED  \n        {file}\n"));
            m.fake.file(&format!("{store}/enable"), "1");
        },
        ("holders", "DISK is exported by the kernel's SCSI target", Same),
    ),
    (
        "a disk that the kernel shows over USB",
        |m| {
            let unit = "sys/kernel/config/usb_gadget/g1/functions/mass_storage.0/lun.0";
            m.fake.file(&format!("{unit}/file"), format!("/dev/{}", m.kind.disk));
        },
        ("holders", "DISK is exported by the kernel's USB gadget", Same),
    ),
    (
        "the disk of a virtual machine of Xen",
        |m| {
            let (major, minor) = m.kind.number;
            let place = "sys/bus/xen-backend/devices/vbd-1-51712/physical_device";
            m.fake.file(place, format!("{major:x}:{minor:x}"));
        },
        ("holders", "DISK is exported by the kernel's Xen back end", Same),
    ),
    (
        "a loop device straight on a partition",
        |m| m.loop_over(9, &format!("/dev/{}", m.with_part())),
        ("loop devices", "loop9 is on PART", Same),
    ),
    (
        "the other path to the same drive",
        |m| {
            m.fake.attrs(m.kind.disk, &[("wwid", "naa.5000c500a")]);
            m.fake.attrs("sdc", &[("wwid", "naa.5000c500a")]);
            m.open_file_system("sdc", "xfs");
        },
        ("file systems", "xfs on sdc", Same),
    ),
    (
        "an imported pool that udev does not know",
        |m| {
            m.with_part();
            m.label_of_pool("tank", true);
            m.fake.file("proc/spl/kstat/zfs/tank/state", "ONLINE");
        },
        ("pools", "PART belongs to the imported ZFS pool tank", Same),
    ),
    (
        "a mounted pool that udev knows",
        |m| {
            let (major, minor) = m.kind.number;
            let known = "E:ID_FS_TYPE=zfs_member\nE:ID_FS_LABEL=tank\n";
            m.fake.file(&format!("run/udev/data/b{major}:{minor}"), known);
            m.label_of_pool("tank", false);
            m.fake.file("proc/spl/kstat/zfs/tank/state", "ONLINE");
            m.mounts(&["2 1 0:41 / /tank rw - zfs tank rw"]);
        },
        (
            "mounts",
            "DISK is mounted on /tank (zfs)",
            As("pools", "DISK belongs to the imported ZFS pool tank"),
        ),
    ),
];

/// Places that the system and drivescope need, and other programs.
pub const PLACES: &[Use] = &[
    (
        "the root of the system",
        |m| {
            m.fake.mounts(&[]);
            m.mounted(m.with_part(), "/", "ext4");
        },
        ("places", "the directory / is on PART", As("file systems", "ext4 on PART")),
    ),
    (
        "/boot",
        |m| m.mounted(m.with_part(), "/boot", "ext4"),
        ("places", "the directory /boot is on PART", As("file systems", "ext4 on PART")),
    ),
    (
        "the system's EFI partition",
        |m| m.mounted(m.with_part(), "/boot/efi", "vfat"),
        ("mounts", "PART is mounted on /boot/efi (vfat)", Claim),
    ),
    (
        "/usr",
        |m| m.mounted(m.with_part(), "/usr", "xfs"),
        ("places", "the directory /usr is on PART", As("file systems", "xfs on PART")),
    ),
    (
        "/home",
        |m| m.mounted(m.kind.disk, "/home", "ext4"),
        ("places", "the directory /home is on DISK", As("file systems", "ext4 on DISK")),
    ),
    (
        "the working directory",
        |m| {
            m.mounted_at_own("work", m.with_part());
            m.fake.link("proc/self/cwd", m.fake.path("work"));
        },
        ("places", "the working directory", Same),
    ),
    (
        "this program",
        |m| {
            m.mounted_at_own("programs", m.with_part());
            m.fake.link("proc/self/exe", m.fake.path("programs/x"));
        },
        ("places", "this program", Same),
    ),
    (
        "the store of runs",
        |m| m.mounted_at_own("store", m.kind.disk),
        ("places", "the store of runs", Same),
    ),
    (
        "the restore journal",
        |m| m.mounted_at_own("journal", m.with_part()),
        ("places", "the restore journal", Same),
    ),
    (
        "a program that writes to it",
        |m| {
            m.fake.file("proc/812/comm", "qemu");
            m.fake.link("proc/812/fd/9", m.fake.roots.node("gate-absent"));
            // By a name that the machine of the test does not have, whatever else it has.
            m.fake.link("dev/disk/by-id/gate-absent", m.fake.roots.node(m.kind.disk));
            m.fake.link("proc/812/fd/10", "/dev/disk/by-id/gate-absent");
            m.fake.file("proc/812/fdinfo/10", "pos:\t0\nflags:\t02100002\n");
        },
        ("other programs", "qemu (process 812) has DISK open for writing", Not),
    ),
];

pub fn all() -> impl Iterator<Item = &'static Use> {
    MOUNTS.iter().chain(BUILT).chain(PLACES)
}
