//! Every signature, at its head and tail places, on the disk and on a partition.

use super::machine::{LEVELS, Machine, OVERWRITING, PART, SERIAL, SIZE, allowed, check, refused};
use crate::gate::Confirmation;
use drivescope_model::WriteLevel;
use drivescope_model::gate::Outcome;

/// Place of bytes, from the beginning or the end of the device or partition.
#[derive(Debug, Clone, Copy)]
enum At {
    Head(u64),
    Tail(u64),
}
use At::{Head, Tail};

type Part = (At, &'static [u8]);

const MD: &[u8] = b"\xFC\x4E\x2B\xA9";
const EXT: &[u8] = b"\x53\xEF";
const LUKS2_COPY: &[u8] = b"SKUL\xBA\xBE\x00\x02";
const BCACHE: &[u8] = b"\xC6\x85\x73\xF6\x4E\x1A\x45\xCA\x82\x65\xF5\x7F\x48\xBA\x6D\x81";

/// The kind to report, and what this format writes at any one of these places. Places and magics come from each
/// format's own description, not from the code under test.
const SINGLE: &[(&str, &[At], &[u8])] = &[
    ("GPT partition table", &[Head(4096), Tail(512), Tail(4096)], b"EFI PART"),
    ("MBR partition table", &[Head(510)], b"\x55\xAA"),
    ("ext2", &[Head(1080)], EXT),
    ("ext", &[Head((8193 << 10) + 56), Head((16384 << 11) + 56)], EXT),
    ("xfs", &[Head(0)], b"XFSB"),
    ("btrfs", &[Head(65536 + 64), Head((64 << 20) + 64)], b"_BHRfS_M"),
    ("ntfs", &[Tail(509), Tail(1021), Tail(2045), Tail(4093)], b"NTFS    "),
    (
        "exfat",
        &[Head(12 * 512 + 3), Head(12 * 1024 + 3), Head(12 * 2048 + 3), Head(12 * 4096 + 3)],
        b"EXFAT   ",
    ),
    (
        "vfat",
        &[Head(6 * 512 + 82), Head(6 * 1024 + 82), Head(6 * 2048 + 82), Head(6 * 4096 + 82)],
        b"FAT32   ",
    ),
    ("apfs", &[Head(32)], b"NXSB"),
    ("hfsplus", &[Head(1024), Tail(1024)], b"H+\x00\x04"),
    ("hfsplus", &[Head(1024)], b"HX\x00\x05"),
    ("crypto_LUKS", &[Head(0)], b"LUKS\xBA\xBE\x00\x01"),
    ("crypto_LUKS", &[Head(0)], b"LUKS\xBA\xBE\x00\x02"),
    ("crypto_LUKS", &[Head(0x4000), Head(0x8000), Head(0x10000), Head(0x20000)], LUKS2_COPY),
    ("crypto_LUKS", &[Head(0x40000), Head(0x80000), Head(0x100000)], LUKS2_COPY),
    ("crypto_LUKS", &[Head(0x200000), Head(0x400000)], LUKS2_COPY),
    ("linux_raid_member", &[Tail(64 << 10), Tail(8 << 10), Head(0), Head(4096)], MD),
    ("isw_raid_member", &[Tail(8192), Tail(1024)], b"Intel Raid ISM Cfg Sig. 1.3.00"),
    ("ddf_raid_member", &[Tail(512)], b"\xDE\x11\xDE\x11"),
    ("bcache", &[Head(4096 + 24)], BCACHE),
    ("swap", &[Head(4086), Head(8182), Head(16374), Head(32758), Head(65526)], b"SWAPSPACE2"),
    ("swap", &[Head(4086)], b"SWAP-SPACE"),
    (
        "swsuspend",
        &[Head(4076), Head(8172), Head(16364), Head(32748), Head(65516)],
        b"SWAPSPACE2S1SUSPEND\x00",
    ),
    ("swsuspend", &[Head(4086)], b"S2SUSPEND\x00"),
    ("swsuspend", &[Head(4086)], b"ULSUSPEND\x00"),
    ("swsuspend", &[Head(4086)], b"LINHIB0001"),
    ("swsuspend", &[Head(0)], b"\xED\xC3\x02\xE9\x98\x56\xE5\x0C"),
    ("ceph_bluestore", &[Head(0)], b"bluestore block device\n"),
    ("reiser4", &[Head(65536)], b"ReIsEr4\x00"),
    ("gfs2", &[Head(65536)], b"\x01\x16\x19\x70\x00\x00\x00\x01"),
    ("VMFS_volume_member", &[Head(1 << 20)], b"\x0D\xD0\x01\xC0\x03\x00"),
    ("ufs", &[Head(8192 + 1372)], b"\x54\x19\x01\x00"),
    ("ufs", &[Head(8192 + 1372)], b"\x00\x01\x19\x54"),
    ("ufs", &[Head(65536 + 1372), Head(262144 + 1372)], b"\x19\x01\x54\x19"),
    ("ufs", &[Head(65536 + 1372)], b"\x19\x54\x01\x19"),
    ("BitLocker", &[Head(3)], b"-FVE-FS-"),
];

/// The kind to report, and all that this format writes.
const SEVERAL: &[(&str, &[Part])] = &[
    ("GPT partition table", &[(Head(510), b"\x55\xAA"), (Head(512), b"EFI PART")]),
    ("ext3", &[(Head(1080), EXT), (Head(1024 + 0x5C), b"\x04")]),
    ("ext4", &[(Head(1080), EXT), (Head(1024 + 0x60), b"\x40")]),
    ("ntfs", &[(Head(3), b"NTFS    "), (Head(510), b"\x55\xAA")]),
    ("exfat", &[(Head(3), b"EXFAT   "), (Head(510), b"\x55\xAA")]),
    ("vfat", &[(Head(54), b"FAT12   "), (Head(510), b"\x55\xAA")]),
    ("vfat", &[(Head(54), b"FAT16   "), (Head(510), b"\x55\xAA")]),
    ("vfat", &[(Head(82), b"FAT32   "), (Head(510), b"\x55\xAA")]),
    ("LVM2_member", &[(Head(512), b"LABELONE"), (Head(536), b"LVM2 001")]),
    ("LVM2_member", &[(Head(1536), b"LABELONE"), (Head(1560), b"LVM2 001")]),
];

fn cases() -> impl Iterator<Item = (&'static str, Vec<Part>)> {
    let single = SINGLE.iter().flat_map(|(kind, places, bytes)| {
        places.iter().map(move |place| (*kind, vec![(*place, *bytes)]))
    });
    single.chain(SEVERAL.iter().map(|(kind, parts)| (*kind, parts.to_vec())))
}

fn put(machine: &Machine, parts: &[(At, &[u8])], (start, size): (u64, u64)) {
    for (at, bytes) in parts {
        let at = match at {
            Head(at) => *at,
            Tail(distance) => size - distance,
        };
        machine.write("sdb", start + at, bytes);
    }
}

/// All levels on a disk that carries `kind`, on the host or in a container.
fn expect(machine: &Machine, kind: &str) {
    allowed(&machine.examine(WriteLevel::SameBytes));
    for level in OVERWRITING {
        let report = machine.report(level);
        let record = report.record(&Confirmation::none());
        refused(&record, "signatures", kind);
        refused(&record, "confirmation", SERIAL);
        let record = report.record(&Confirmation::given(&[SERIAL.to_string()]));
        allowed(&record);
        assert!(check(&record, "signatures").evidence.contains(kind), "it stays in the record");
    }
}

#[test]
fn every_signature_requires_the_serial() {
    for (machine, name, place) in [
        (Machine::new(), "sdb", (0, SIZE)),
        (Machine::new().in_container(), "sdb", (0, SIZE)),
        (with_partition(), "sdb1", PART),
        (with_partition().in_container(), "sdb1", PART),
    ] {
        for (kind, parts) in cases() {
            println!("{kind} {parts:?}");
            put(&machine, &parts, place);
            expect(&machine, &format!("{name}: {kind}"));
            machine.wipe("sdb");
            assert!(machine.examine(WriteLevel::Restore).is_allowed(), "the disk is blank again");
        }
    }
}

fn with_partition() -> Machine {
    let machine = Machine::new();
    machine.sdb1();
    machine
}

#[test]
fn each_of_four_zfs_labels_is_enough() {
    const LABEL: u64 = 256 << 10;
    for label in [Head(0), Head(LABEL), Tail(2 * LABEL), Tail(LABEL)] {
        let machine = Machine::new();
        for block in 0..4u64 {
            let shift = (128 << 10) + block * 1024;
            let at = match label {
                Head(at) => Head(at + shift),
                Tail(distance) => Tail(distance - shift),
            };
            put(&machine, &[(at, &0x00BA_B10Cu64.to_le_bytes())], (0, SIZE));
        }
        expect(&machine, "sdb: zfs_member");
    }
}

#[test]
fn other_endian_superblock_is_recognized() {
    let machine = Machine::new();
    put(&machine, &[(Tail(64 << 10), b"\xA9\x2B\x4E\xFC")], (0, SIZE));
    expect(&machine, "linux_raid_member");
}

#[test]
fn a_target_partition_has_its_own_signatures() {
    let mut machine = Machine::new();
    machine.sdb1();
    machine.write("sdb1", 1080, EXT);
    machine.target = "sdb1";
    refused(&machine.examine(WriteLevel::Destroy), "signatures", "sdb1: ext2");
}

#[test]
fn unknown_data_are_not_taken_for_empty() {
    let machine = Machine::new();
    machine.write("sdb", SIZE - 1, b"x");
    allowed(&machine.examine(WriteLevel::SameBytes));
    for level in OVERWRITING {
        refused(&machine.examine(level), "blankness", "unknown data");
        refused(&machine.examine(level), "confirmation", "");
        allowed(&machine.confirmed(level));
    }
}

#[test]
fn blank_disk_needs_a_serial_only_to_destroy() {
    for fill in [0x00, 0xFF] {
        let machine = Machine::new();
        machine.write("sdb", 0, &vec![fill; usize::try_from(SIZE).unwrap()]);
        for level in LEVELS {
            let record = machine.examine(level);
            assert_eq!(check(&record, "signatures").outcome, Outcome::Ok);
            assert_eq!(check(&record, "blankness").outcome, Outcome::Ok);
            assert_eq!(record.is_allowed(), level != WriteLevel::Destroy, "{level:?}");
        }
    }
}

#[test]
fn unreadable_disk_is_not_taken_as_empty() {
    let machine = Machine::new();
    let image = std::fs::OpenOptions::new().write(true).open(machine.image("sdb")).unwrap();
    image.set_len(SIZE / 2).unwrap();
    refused(&machine.examine(WriteLevel::Restore), "signatures", "cannot be read");
    allowed(&machine.confirmed(WriteLevel::Restore));
}
