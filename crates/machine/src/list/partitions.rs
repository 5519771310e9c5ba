//! The partitions of a disk.

use super::content_type::content;
use super::mounted_on::MountedOn;
use crate::block_device::BlockDevice;
use crate::roots::list_dir;
use drivescope_model::drive::Partition;

pub fn partitions(disk: &BlockDevice, mounted_on: &MountedOn, answers: bool) -> Vec<Partition> {
    let mut found: Vec<Partition> = list_dir(&disk.dir)
        .iter()
        .filter(|name| disk.dir.join(name).join("partition").exists())
        .filter_map(|name| BlockDevice::open(disk.roots, name))
        .map(|part| partition(disk, &part, mounted_on, answers))
        .collect();
    found.sort_by_key(|part| part.start_bytes);
    found
}

fn partition(
    disk: &BlockDevice,
    part: &BlockDevice,
    mounted_on: &MountedOn,
    answers: bool,
) -> Partition {
    // sysfs counts 512-byte sectors whatever the sector of the drive.
    let start_bytes = part.number_attr::<u64>("start").unwrap_or(0).saturating_mul(512);
    let behind = misaligned_bytes(
        start_bytes,
        disk.number_attr("queue/physical_block_size").unwrap_or(512),
        // -1, which is no u64, means that the kernel could not align the layers: no offset.
        disk.number_attr("alignment_offset").unwrap_or(0),
    );
    let found = Partition {
        name: part.name.clone(),
        start_bytes,
        size_bytes: part.size_bytes(),
        misaligned_bytes: 0,
        content: content(part, mounted_on, answers),
        mounts: mounted_on.places(&part.name),
    };
    if found.is_extended() { found } else { Partition { misaligned_bytes: behind, ..found } }
}

/// How far a start lies behind a boundary of physical sectors.
///
/// `alignment_offset` is where the first of these boundaries lies on the drive; drives that count
/// so that sector 63 is aligned report 3584 (Documentation/ABI/stable/sysfs-block of the kernel).
fn misaligned_bytes(start_bytes: u64, physical_bytes: u64, alignment_offset: u64) -> u64 {
    let physical = physical_bytes.max(1);
    (start_bytes % physical + physical - alignment_offset % physical) % physical
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::BlockGraph;
    use crate::roots::fake::Fake;
    use proptest::prelude::*;

    #[test]
    fn start_is_relative_to_the_drives_boundaries() {
        for (start_sectors, physical, offset, expected) in [
            (2048, 4096, 0, 0),
            (63, 4096, 0, 3584),
            (63, 4096, 3584, 0),
            (2048, 4096, 3584, 512),
            (63, 512, 0, 0),
            (1, 4096, 0, 512),
            (8, 0, 0, 0),
        ] {
            let got = misaligned_bytes(start_sectors * 512, physical, offset);
            assert_eq!(got, expected, "{start_sectors} {physical} {offset}");
        }
    }

    #[test]
    fn partitions_are_sorted_by_start_with_contents() {
        let fake = Fake::new();
        fake.disk("pci0000:00/block/nvme0n1", (259, 0), 1 << 30);
        fake.partition("nvme0n1", 1, (259, 1), 1_000_000, 8192);
        fake.partition("nvme0n1", 2, (259, 2), 63, 2048);
        fake.mounts(&["1 0 259:1 / / rw - ext4 /dev/nvme0n1p1 rw"]);
        fake.file("run/udev/data/b259:2", "E:ID_FS_TYPE=swap\n");
        let disk = BlockDevice::open(&fake.roots, "nvme0n1").unwrap();
        let found = partitions(&disk, &MountedOn::of(&BlockGraph::read(&fake.roots)), true);
        let [first, second] = found.as_slice() else { panic!("{found:?}") };
        assert_eq!((first.name.as_str(), first.start_bytes), ("nvme0n1p2", 63 * 512));
        assert_eq!((first.size_bytes, first.misaligned_bytes), (1 << 20, 3584));
        assert_eq!((first.content.as_deref(), first.mounts.len()), (Some("swap"), 0));
        assert_eq!((second.name.as_str(), second.misaligned_bytes), ("nvme0n1p1", 0));
        assert_eq!(second.content.as_deref(), Some("ext4"));
        assert_eq!(second.mounts, ["/"]);
    }

    /// As many installers make them: two sectors before the logical one, which is aligned.
    #[test]
    fn an_extended_partition_has_nothing_to_align() {
        let fake = Fake::new();
        fake.disk("pci0000:00/block/sda", (8, 0), 1 << 30);
        fake.attrs("sda", &[("queue/physical_block_size", "4096")]);
        fake.partition("sda", 2, (8, 2), 501_758, 2);
        fake.partition("sda", 5, (8, 5), 501_760, 1_000_000);
        fake.partition("sda", 6, (8, 6), 1_501_761, 8192);
        let disk = BlockDevice::open(&fake.roots, "sda").unwrap();
        let found = partitions(&disk, &MountedOn::default(), true);
        let behind: Vec<u64> = found.iter().map(|part| part.misaligned_bytes).collect();
        assert_eq!(behind, [0, 0, 512], "{found:?}");
        assert_eq!(found.iter().filter(|part| part.is_extended()).count(), 1);
    }

    #[test]
    fn unaligned_layers_have_no_offset() {
        let fake = Fake::new();
        fake.disk("pci0000:00/block/sda", (8, 0), 1 << 30);
        fake.partition("sda", 1, (8, 1), 2048, 2048);
        fake.attrs("sda", &[("alignment_offset", "-1")]);
        let disk = BlockDevice::open(&fake.roots, "sda").unwrap();
        assert_eq!(partitions(&disk, &MountedOn::default(), true)[0].misaligned_bytes, 0);
    }

    proptest! {
        #[test]
        fn start_minus_its_misalignment_is_aligned(
            start in 1u64 << 20..1 << 40, shift in 9u32..17, offset in 0u64..1 << 16,
        ) {
            let physical = 1u64 << shift;
            let off = misaligned_bytes(start, physical, offset);
            prop_assert!(off < physical);
            prop_assert_eq!(misaligned_bytes(start - off, physical, offset), 0);
        }
    }
}
