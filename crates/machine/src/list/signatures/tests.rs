//! Each signature at its place, copies, and whatever else a device may hold.

use super::*;
use crate::roots::fake::image;
use proptest::prelude::*;

const SIZE: u64 = 1 << 20;

fn found(parts: &[(u64, &[u8])]) -> Option<&'static str> {
    find(&image(SIZE, parts), SIZE)
}

#[test]
fn each_magic_is_found_only_at_its_place() {
    for (name, at, magic) in MAGICS.iter().copied().chain(at_page_ends()) {
        let at = at as u64;
        assert_eq!(found(&[(at, magic)]), Some(name), "{name} at {at}");
        assert_ne!(found(&[(at + 8, magic)]), Some(name), "{name} at {}", at + 8);
    }
    assert_eq!(found(&[]), None);
}

#[test]
fn the_generations_of_ext_differ_by_their_features() {
    for (compatible, incompatible, read_only, expected) in [
        (0u32, 0x2u32, 0x1u32, "ext2"),
        (0x4, 0x2 | 0x4, 0x1 | 0x2, "ext3"),
        (0x4, 0x2 | 0x40, 0x1, "ext4"),
        (0x4, 0x2, 0x8, "ext4"),
        (0, 0x40, 0, "ext4"),
        (0, 0x8, 0, "jbd"),
    ] {
        let features =
            [compatible.to_le_bytes(), incompatible.to_le_bytes(), read_only.to_le_bytes()]
                .concat();
        let parts: &[(u64, &[u8])] = &[(1080, b"\x53\xEF"), (1024 + 0x5C, &features)];
        assert_eq!(found(parts), Some(expected));
    }
}

#[test]
fn array_members_are_recognized_at_both_ends() {
    let magic = MD_MAGIC.to_le_bytes();
    let ext4: (u64, &[u8]) = (1080, b"\x53\xEF");
    for at in [0, 4096, SIZE - 8192, SIZE - 65536] {
        assert_eq!(found(&[(at, &magic), ext4]), Some("linux_raid_member"), "{at}");
    }
    let other_order = MD_MAGIC.to_be_bytes();
    assert_eq!(found(&[(SIZE - 65536, &other_order)]), Some("linux_raid_member"));
    assert_eq!(found(&[(8192, &magic)]), None);
}

#[test]
fn volume_group_is_recognized_by_label_and_version() {
    for sector in 0..4 {
        let parts: &[(u64, &[u8])] =
            &[(sector * 512, b"LABELONE"), (sector * 512 + 24, b"LVM2 001"), (510, b"\x55\xAA")];
        assert_eq!(found(parts), Some("LVM2_member"), "{sector}");
    }
    assert_eq!(found(&[(512, b"LABELONE")]), None);
}

#[test]
fn pool_is_recognized_by_uberblocks_in_either_endianness() {
    for magic in [ZFS_UBERBLOCK_MAGIC.to_le_bytes(), ZFS_UBERBLOCK_MAGIC.to_be_bytes()] {
        let at = |i: u64| (128 * 1024 + i * 4096, &magic[..]);
        assert_eq!(found(&[at(0), at(1), at(2), at(3)]), Some("zfs_member"));
        assert_eq!(found(&[at(0), at(1), at(2)]), None);
    }
}

#[test]
fn file_system_precedes_a_table_in_one_sector() {
    let boot: (u64, &[u8]) = (510, b"\x55\xAA");
    assert_eq!(found(&[boot, (82, b"FAT32   ")]), Some("vfat"));
    assert_eq!(found(&[boot, (3, b"NTFS    ")]), Some("ntfs"));
    assert_eq!(found(&[boot, (512, b"EFI PART")]), Some("GPT partition table"));
    assert_eq!(found(&[boot]), Some("MBR partition table"));
}

#[test]
fn copies_are_found_when_the_beginning_is_wiped() {
    let uberblocks = ZFS_UBERBLOCK_MAGIC.to_le_bytes();
    for label in [256 * 1024, 512 * 1024, 768 * 1024] {
        let at = |i: u64| (label + 128 * 1024 + i * 1024, &uberblocks[..]);
        assert_eq!(found(&[at(0), at(1), at(2), at(3)]), Some("zfs_member"), "{label}");
    }
    for (kind, place, magic) in copies() {
        let size = SIZE.max(129 << 20);
        let image = image(SIZE, &[]);
        image.set_len(size).unwrap();
        image.write_all_at(magic, place.within(size).unwrap()).unwrap();
        assert_eq!(find(&image, size), Some(kind), "{place:?}");
    }
}

#[test]
fn everything_is_listed_once_and_within_its_part() {
    let parts: &[(u64, &[u8])] = &[
        (510, b"\x55\xAA"),
        (512, b"EFI PART"),
        (SIZE - 512, b"EFI PART"),
        (0x40000 + 1080, b"\x53\xEF"),
    ];
    let whole = all(&image(SIZE, parts), 0, SIZE);
    let kinds = |look: &Signatures| look.found.iter().map(|s| s.kind).collect::<Vec<_>>();
    assert_eq!(kinds(&whole), ["GPT partition table"]);
    assert!(whole.unread.is_none());
    let part = all(&image(SIZE, parts), 0x40000, 0x40000);
    assert_eq!(part.found, [Signature { kind: "ext2", at: 1080 }]);
}

#[test]
fn unreadable_device_is_not_taken_as_empty() {
    let look = all(&image(SIZE, &[(1080, b"\x53\xEF")]), 0, 2 * SIZE);
    assert_eq!(look.found[0].kind, "ext2");
    assert!(look.unread.is_some_and(|(at, _)| at >= SIZE));
}

proptest! {
    #[test]
    fn any_device_of_any_size_is_taken(
        bytes in proptest::collection::vec(any::<u8>(), 0..6000),
        claimed in 0u64..200_000,
    ) {
        let _ = find(&image(bytes.len() as u64, &[(0, &bytes)]), claimed);
    }
}
