//! What a disk or partition holds: by its mount, by udev, or by its own signatures.

use super::mounted_on::MountedOn;
use super::signatures;
use crate::block_device::BlockDevice;
use std::fs::File;

/// Type of the content in the names of blkid (`ext4`, `crypto_LUKS`, `LVM2_member`, `swap`), or
/// `GPT partition table`, `MBR partition table`; `None` for nothing that is known.
///
/// The device is read only where udev is not at work and the user may read it, and not if it does not answer.
pub fn content(device: &BlockDevice, mounted_on: &MountedOn, answers: bool) -> Option<String> {
    mounted_on
        .content(&device.name)
        .or_else(|| by_udev(device))
        .or_else(|| answers.then(|| by_signature(device)).flatten())
}

fn by_udev(device: &BlockDevice) -> Option<String> {
    if let Some(known) = device.udev.get("ID_FS_TYPE") {
        return Some(known.to_string());
    }
    match device.udev.get("ID_PART_TABLE_TYPE")? {
        "gpt" => Some("GPT partition table".to_string()),
        "dos" => Some("MBR partition table".to_string()),
        other => Some(format!("{other} partition table")),
    }
}

fn by_signature(device: &BlockDevice) -> Option<String> {
    // A medium that can be taken out may have to be started first.
    let removable = device.attr("removable").as_deref() == Some("1");
    if device.udev.is_known() || removable || device.size_bytes() == 0 {
        return None;
    }
    let node = File::open(device.roots.node(&device.name)).ok()?;
    signatures::find(&node, device.size_bytes()).map(str::to_string)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::BlockGraph;
    use crate::roots::fake::Fake;

    /// A disk whose node is a file with the signature of swap.
    fn disk() -> Fake {
        let fake = Fake::new();
        fake.disk("pci0000:00/block/sda", (8, 0), 1 << 20);
        let mut bytes = vec![0u8; 1 << 20];
        bytes[4086..4096].copy_from_slice(b"SWAPSPACE2");
        fake.file("dev/sda", bytes);
        fake
    }

    fn content_of(fake: &Fake) -> Option<String> {
        let mounted_on = MountedOn::of(&BlockGraph::read(&fake.roots));
        content(&BlockDevice::open(&fake.roots, "sda").unwrap(), &mounted_on, true)
    }

    #[test]
    fn mount_precedes_udev_and_udev_the_device() {
        let fake = disk();
        assert_eq!(content_of(&fake).as_deref(), Some("swap"));
        fake.file("run/udev/data/b8:0", "E:ID_FS_TYPE=crypto_LUKS\n");
        assert_eq!(content_of(&fake).as_deref(), Some("crypto_LUKS"));
        fake.mounts(&["1 0 8:0 / / rw - xfs /dev/sda rw"]);
        assert_eq!(content_of(&fake).as_deref(), Some("xfs"));
    }

    #[test]
    fn udev_names_partition_tables_and_its_silence_counts() {
        let fake = disk();
        fake.file("run/udev/data/b8:0", "E:ID_PART_TABLE_TYPE=gpt\n");
        assert_eq!(content_of(&fake).as_deref(), Some("GPT partition table"));
        fake.file("run/udev/data/b8:0", "E:ID_PART_TABLE_TYPE=dos\n");
        assert_eq!(content_of(&fake).as_deref(), Some("MBR partition table"));
        fake.file("run/udev/data/b8:0", "E:ID_MODEL=x\n");
        assert_eq!(content_of(&fake), None);
    }

    #[test]
    fn devices_that_might_not_answer_are_not_read() {
        for attr in [("removable", "1"), ("size", "0")] {
            let fake = disk();
            fake.attrs("sda", &[attr]);
            assert_eq!(content_of(&fake), None, "{attr:?}");
        }
    }
}
