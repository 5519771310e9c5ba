//! Whole machines, from their files to the list.

use super::*;
use crate::ata_image;
use crate::roots::fake::Fake;
use drivescope_model::drive::Link;

const GB: u64 = 1_000_000_000;
const WITHOUT_SMART: ListOptions = ListOptions { smart: false };

fn named(fake: &Fake, name: &str) -> Drive {
    let drive = drive_named(&fake.roots, name, &WITHOUT_SMART);
    drive.unwrap_or_else(|| panic!("{name} is not in the list"))
}

/// A SATA hard disk with an old and a new partition, an encrypted root on the second.
fn sata_machine() -> Fake {
    let fake = Fake::new();
    let place = "pci0000:00/0000:00:17.0/ata3/host2/target2:0:0/2:0:0:0";
    fake.scsi_disk(&format!("{place}/block/sda"), (8, 0), 2000 * GB);
    for (file, content) in [
        ("vendor", "ATA     "),
        ("model", "IMAGINED DISK 20"),
        ("rev", "1A01"),
        ("wwid", "naa.50014ee000000001"),
        ("hwmon/hwmon2/temp1_input", "31000"),
    ] {
        fake.file(&format!("sys/devices/{place}/{file}"), content);
    }
    let words = ata_image::words("IMAGINED DISK 2000 GB", "WD-TEST123456", 5400, 0b1110);
    fake.file("sys/class/ata_device/dev3.0/id", ata_image::text_of(&words));
    for (attr, speed) in [
        ("sata_spd", "3.0 Gbps"),
        ("sata_spd_limit", "6.0 Gbps"),
        ("hw_sata_spd_limit", "6.0 Gbps"),
    ] {
        fake.file(&format!("sys/class/ata_link/link3/{attr}"), speed);
    }
    fake.attrs("sda", &[("queue/rotational", "1"), ("queue/scheduler", "none mq-deadline [bfq]")]);
    fake.partition("sda", 1, (8, 1), 63, 204_800);
    fake.partition("sda", 2, (8, 2), 206_848, 400_000);
    fake.upper("dm-0", (253, 0), 200 * 1_000_000, &["sda2"]);
    fake.file("run/udev/data/b8:2", "E:ID_FS_TYPE=crypto_LUKS\n");
    fake.mounts(&[
        "1 0 253:0 / / rw - ext4 /dev/mapper/root rw",
        "2 1 8:1 / /boot rw - ext2 /dev/sda1 rw",
    ]);
    fake
}

#[test]
fn zones_are_the_kernels_word_or_the_drives() {
    for (kernel, drive, expected) in [
        ("none", 0, None),
        ("none", 2, Some(Zoned::DriveManaged)),
        ("host-aware", 1, Some(Zoned::HostAware)),
        ("host-managed", 0, Some(Zoned::HostManaged)),
    ] {
        let fake = sata_machine();
        fake.attrs("sda", &[("queue/zoned", kernel)]);
        let mut words = ata_image::words("DISK", "S", 5400, 0b1110);
        words[69] = drive;
        fake.file("sys/class/ata_device/dev3.0/id", ata_image::text_of(&words));
        assert_eq!(named(&fake, "sda").zoned, expected, "{kernel} {drive}");
        let written = expected.filter(|_| kernel != "none");
        assert_eq!(zoned_of(&fake.roots, "sda"), written);
        assert_eq!(zoned_of(&fake.roots, "sda2"), written, "a partition has its disk's");
        assert_eq!(zoned_of(&fake.roots, "dm-0"), None, "what lies on it may hide them");
    }
}

#[test]
fn a_sata_disk_is_described_in_full() {
    let fake = sata_machine();
    let drive = named(&fake, "sda");
    assert_eq!(drive.kind, DriveKind::HardDisk);
    assert_eq!(drive.model.as_deref(), Some("IMAGINED DISK 2000 GB"));
    assert_eq!(drive.serial.as_deref(), Some("WD-TEST123456"));
    assert_eq!(drive.firmware.as_deref(), Some("01.01A01"));
    assert_eq!(drive.wwn.as_deref(), Some("naa.50014ee000000001"));
    assert_eq!((drive.capacity_bytes, drive.transport.as_str()), (2000 * GB, "sata"));
    let link = Link {
        name: "SATA 3.0 Gb/s".into(),
        payload_mb_s: 300.0,
        possible: Some("SATA 6.0 Gb/s".into()),
    };
    assert_eq!(drive.link, Some(link));
    assert_eq!((drive.rpm, drive.rotational_hint), (Some(5400), true));
    assert_eq!((drive.logical_sector_bytes, drive.physical_sector_bytes), (512, 4096));
    assert_eq!(drive.write_cache.as_deref(), Some("write back"));
    assert_eq!(drive.scheduler.as_deref(), Some("bfq"));
    assert_eq!(drive.temperature_c, Some(31.0));
    assert!(!drive.removable && !drive.read_only);
    assert_eq!((drive.content, drive.backing.len()), (None, 0));
}

#[test]
fn partitions_tell_misalignment_content_and_mounts() {
    let drive = named(&sata_machine(), "sda");
    let [boot, root] = drive.partitions.as_slice() else { panic!("{:?}", drive.partitions) };
    assert_eq!((boot.misaligned_bytes, boot.content.as_deref()), (3584, Some("ext2")));
    assert_eq!(boot.mounts, ["/boot"]);
    assert_eq!((root.misaligned_bytes, root.content.as_deref()), (0, Some("crypto_LUKS")));
    assert!(root.mounts.is_empty());
}

#[test]
fn encrypted_device_names_its_parts() {
    let drive = named(&sata_machine(), "dm-0");
    assert_eq!((drive.kind, drive.transport.as_str()), (DriveKind::Composite, "dm"));
    assert_eq!(drive.backing, ["sda2"]);
    assert_eq!((drive.content.as_deref(), drive.mounts), (Some("ext4"), vec!["/".to_string()]));
    assert_eq!(drive.link, None);
}

#[test]
fn an_nvme_drive_tells_its_link_and_temperature() {
    let fake = Fake::new();
    let card = "pci0000:00/0000:00:1d.0/0000:02:00.0";
    fake.disk(&format!("{card}/nvme/nvme0/nvme0n1"), (259, 0), 500 * GB);
    fake.link(&format!("sys/devices/{card}/nvme/nvme0/nvme0n1/device"), "..");
    for (file, content) in [
        ("nvme/nvme0/model", "IMAGINED NVME 500GB                     "),
        ("nvme/nvme0/serial", "S5TEST      "),
        ("nvme/nvme0/firmware_rev", "2B2QEXM7"),
        ("nvme/nvme0/hwmon1/temp1_input", "38850"),
        ("nvme/nvme0/nvme0n1/wwid", "eui.0025385b00000001"),
        ("current_link_speed", "8.0 GT/s PCIe"),
        ("current_link_width", "2"),
        ("max_link_speed", "8.0 GT/s PCIe"),
        ("max_link_width", "4"),
        ("../max_link_speed", "16.0 GT/s PCIe"),
        ("../max_link_width", "4"),
    ] {
        fake.file(&format!("sys/devices/{card}/{file}"), content);
    }
    let drive = named(&fake, "nvme0n1");
    assert_eq!((drive.kind, drive.transport.as_str()), (DriveKind::Nvme, "nvme"));
    assert_eq!(drive.model.as_deref(), Some("IMAGINED NVME 500GB"));
    assert_eq!(
        (drive.serial.as_deref(), drive.firmware.as_deref()),
        (Some("S5TEST"), Some("2B2QEXM7"))
    );
    assert_eq!(drive.wwn.as_deref(), Some("eui.0025385b00000001"));
    assert_eq!(drive.temperature_c, Some(38.85));
    let link = drive.link.unwrap();
    assert_eq!(
        (link.name.as_str(), link.possible.as_deref()),
        ("PCIe 3.0 x2", Some("PCIe 3.0 x4"))
    );
}

#[test]
fn a_usb_disk_tells_enclosure_and_protocol() {
    let fake = Fake::new();
    let usb = "pci0000:00/usb2/2-1";
    fake.scsi_disk(
        &format!("{usb}/2-1:1.0/host6/target6:0:0/6:0:0:0/block/sdb"),
        (8, 16),
        1000 * GB,
    );
    fake.file(&format!("sys/devices/{usb}/speed"), "5000");
    fake.file(&format!("sys/devices/{usb}/serial"), "ENCLOSURE1");
    fake.file("sys/bus/usb/drivers/uas/module", "");
    fake.link(&format!("sys/devices/{usb}/2-1:1.0/driver"), fake.path("sys/bus/usb/drivers/uas"));
    let drive = named(&fake, "sdb");
    assert_eq!((drive.kind, drive.transport.as_str()), (DriveKind::Ssd, "usb"));
    assert_eq!(drive.serial.as_deref(), Some("ENCLOSURE1"));
    assert_eq!(drive.link.unwrap().name, "USB 5 Gb/s (UAS)");
}

#[test]
fn virtual_disk_has_neither_name_nor_link() {
    let fake = Fake::new();
    fake.disk("pci0000:00/0000:00:02.0/virtio1/block/vda", (254, 0), 256 << 30);
    fake.file("sys/devices/pci0000:00/0000:00:02.0/virtio1/vendor", "0x1af4");
    fake.link("sys/devices/pci0000:00/0000:00:02.0/virtio1/block/vda/device", "../..");
    fake.attrs("vda", &[("queue/rotational", "1")]);
    fake.mounts(&["1 0 254:0 / / rw - ext4 /dev/vda rw"]);
    let drive = drive_named(&fake.roots, "vda", &ListOptions { smart: true }).unwrap();
    assert_eq!((drive.kind, drive.transport.as_str()), (DriveKind::Virtual, "virtio"));
    assert_eq!((&drive.model, &drive.serial, &drive.link), (&None, &None, &None));
    assert_eq!((drive.rpm, drive.rotational_hint), (None, true));
    assert_eq!(
        (drive.content.as_deref(), drive.mounts.as_slice()),
        (Some("ext4"), &["/".to_string()][..])
    );
    assert!(drive.health.note.unwrap().contains("host of the virtual machine"));
}

/// Rates of a fast host's disk were above such a link, and invalid (F003).
#[test]
fn hypervisor_link_is_not_a_limit() {
    fn sata(model: &str) -> Drive {
        let fake = Fake::new();
        let device = "pci0000:00/ata3/host2/target2:0:0/2:0:0:0";
        fake.scsi_disk(&format!("{device}/block/sda"), (8, 0), GB);
        fake.file(&format!("sys/devices/{device}/vendor"), "ATA     ");
        fake.file(&format!("sys/devices/{device}/model"), model);
        fake.file("sys/class/ata_link/link3/sata_spd", "1.5 Gbps");
        named(&fake, "sda")
    }
    assert_eq!(sata("IMAGINED DISK").link.map(|link| link.payload_mb_s), Some(150.0));
    for model in ["QEMU HARDDISK", "VBOX HARDDISK", "VMware Virtual S"] {
        let drive = sata(model);
        assert_eq!((drive.kind, drive.transport.as_str()), (DriveKind::Virtual, "sata"));
        assert_eq!(drive.link, None, "{model}");
    }
}

#[test]
fn list_has_every_drive_in_order_only() {
    let fake = Fake::new();
    for (i, name) in ["sdaa", "sda", "sdb"].into_iter().enumerate() {
        fake.scsi_disk(&format!("pci0000:00/host0/0:0:{i}:0/block/{name}"), (8, i as u32), GB);
    }
    fake.scsi_disk("pci0000:00/host1/1:0:0:0/block/sr0", (11, 0), 0);
    fake.attrs("sr0", &[("removable", "1")]);
    fake.disk("pci0000:00/nvme/nvme10/nvme10n1", (259, 3), GB);
    fake.disk("pci0000:00/nvme/nvme2/nvme2n1", (259, 1), GB);
    fake.disk("pci0000:00/nvme/nvme2/nvme2c0n1", (259, 2), GB);
    fake.attrs("nvme2c0n1", &[("hidden", "1")]);
    fake.loop_device(0, GB, "/x");
    fake.disk("virtual/block/loop1", (7, 1), 0);
    fake.disk("virtual/block/loop2", (7, 2), GB);
    fake.disk("virtual/block/zram0", (253, 0), 0);
    fake.disk("virtual/block/zram1", (253, 1), GB);
    fake.disk("soc/mmc0/block/mmcblk0", (179, 0), GB);
    fake.disk("soc/mmc0/block/mmcblk0boot0", (179, 8), 4 << 20);
    let drives = drives(&fake.roots, &WITHOUT_SMART);
    let names: Vec<&str> = drives.iter().map(|drive| drive.name.as_str()).collect();
    assert_eq!(
        names,
        ["loop0", "mmcblk0", "nvme2n1", "nvme10n1", "sda", "sdb", "sdaa", "sr0", "zram1"]
    );
    let of = |name: &str| drives.iter().find(|d| d.name == name).unwrap();
    assert_eq!((of("sr0").kind, of("sr0").capacity_bytes), (DriveKind::Optical, 0));
    assert_eq!(
        (of("loop0").kind, of("loop0").backing.as_slice()),
        (DriveKind::Loop, &["/x".to_string()][..])
    );
    assert_eq!((of("zram1").kind, of("zram1").transport.as_str()), (DriveKind::Memory, "memory"));
}

#[test]
fn only_whole_devices_have_a_description() {
    let fake = sata_machine();
    for name in ["sda1", "sdz", "", "..", "../sda"] {
        assert_eq!(drive_named(&fake.roots, name, &WITHOUT_SMART), None, "{name}");
    }
}

#[test]
fn drives_own_rotation_corrects_the_kernels_guess() {
    for (kind, reported, expected, rpm) in [
        (DriveKind::HardDisk, Some(0), DriveKind::Ssd, None),
        (DriveKind::Unknown, Some(7200), DriveKind::HardDisk, Some(7200)),
        (DriveKind::Ssd, None, DriveKind::Ssd, None),
        (DriveKind::Nvme, Some(0), DriveKind::Nvme, None),
    ] {
        let mut drive = Drive { kind, rpm: None, ..named(&sata_machine(), "sda") };
        let health = Health { passed: Some(true), ..Health::default() };
        let report = Report { rpm: reported, temperature_c: Some(50.0), health: health.clone() };
        apply(&mut drive, report);
        assert_eq!((drive.kind, drive.rpm, drive.health), (expected, rpm, health), "{kind:?}");
        assert_eq!(drive.temperature_c, Some(31.0), "the kernel's own sensor comes first");
    }
}

#[test]
fn the_active_scheduler_is_the_one_in_brackets() {
    for (all, active) in
        [("[none] mq-deadline", "none"), ("none mq-deadline [bfq]", "bfq"), ("none", "none")]
    {
        assert_eq!(active_choice(all), active);
    }
}

#[test]
fn this_machines_root_drive_is_in_the_list() {
    let roots = Roots::host();
    let all = drives(&roots, &WITHOUT_SMART);
    for disk in BlockGraph::read(&roots).stack_of_path(Path::new("/")).whole_disks {
        let drive = all.iter().find(|drive| drive.name == disk);
        let drive = drive.unwrap_or_else(|| panic!("{disk} holds / and is not in {all:?}"));
        assert!(drive.capacity_bytes > 0 && drive.logical_sector_bytes >= 512, "{drive:?}");
        assert_eq!(drive_named(&roots, &disk, &WITHOUT_SMART).as_ref(), Some(drive));
    }
}
