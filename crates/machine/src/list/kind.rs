//! What kind of device a kernel name stands for, and how it is attached.

use crate::block_device::{BlockDevice, numbered};
use crate::identity::ReportedIdentity;
use crate::roots::read_text;
use drivescope_model::drive::DriveKind;

/// Vendor and model of disks that hypervisors make begin so.
const VIRTUAL_MODELS: [&str; 14] = [
    "QEMU",
    "VMware",
    "Msft Virtual",
    "VBOX",
    "ORCL-VBOX",
    "Virtual HDD",
    "Google PersistentDisk",
    "Google EphemeralDisk",
    "nvme_card-pd",
    "Amazon Elastic Block Store",
    "Nutanix VDISK",
    "Xen Virtual",
    "BHYVE",
    "AppleVirtualPlatform",
];

/// How the device is attached: `sata`, `sas`, `nvme`, `usb`, `virtio`, `mmc`, `sd`, `loop`, `memory` and,
/// rarer, `nvme-tcp`, `iscsi`, `fc`, `ufs`, `hyperv`, `xen`, `nvdimm`, `network`, `dm`, `md`,
/// `bcache`, `zvol`, `scsi`, `unknown`.
pub fn transport(device: &BlockDevice) -> String {
    match transport_by_name(&device.name) {
        // One slot and one driver serve both; the card says which it is.
        Some("mmc") if device.attr("device/type").as_deref() == Some("SD") => {
            return "sd".to_string();
        }
        Some(known) => return known.to_string(),
        None if device.is_null_device() => return "memory".to_string(),
        None => {}
    }
    if device.name.starts_with("nvme") {
        let fabric = nvme_fabric(device).filter(|t| !matches!(t.as_str(), "pcie" | "apple-nvme"));
        return fabric.map_or_else(|| "nvme".to_string(), |fabric| format!("nvme-{fabric}"));
    }
    transport_by_place(device).to_string()
}

/// Whether a transport is a network, with caches at its other end: block devices of servers and of arrays.
pub fn is_network(transport: &str) -> bool {
    matches!(transport, "network" | "iscsi" | "fc" | "nvme-tcp" | "nvme-rdma" | "nvme-fc")
}

pub fn kind(device: &BlockDevice, transport: &str, identity: &ReportedIdentity) -> DriveKind {
    let name = device.name.as_str();
    match transport {
        "loop" => DriveKind::Loop,
        "memory" => DriveKind::Memory,
        "dm" | "md" | "bcache" | "zvol" => DriveKind::Composite,
        "virtio" | "xen" | "hyperv" => DriveKind::Virtual,
        "mmc" | "sd" => DriveKind::Card,
        _ if numbered(name, "sr").is_some() => DriveKind::Optical,
        _ if identity.is_any_of(&VIRTUAL_MODELS) => DriveKind::Virtual,
        _ if name.starts_with("nvme") => DriveKind::Nvme,
        "ufs" => DriveKind::Ssd,
        _ if !name.starts_with("sd") => DriveKind::Unknown,
        _ => disk_kind(device, transport, identity),
    }
}

/// Hard disk or SSD. What the drive says of its rotation comes first. The kernel assumes rotation
/// for disks that say nothing, which is wrong for most USB sticks and card readers.
fn disk_kind(device: &BlockDevice, transport: &str, identity: &ReportedIdentity) -> DriveKind {
    let rotates = device.attr("queue/rotational").as_deref() == Some("1");
    let removable = device.attr("removable").as_deref() == Some("1");
    match identity.rpm {
        Some(0) => DriveKind::Ssd,
        Some(_) => DriveKind::HardDisk,
        None if !rotates => DriveKind::Ssd,
        None if transport == "usb" && removable => DriveKind::Unknown,
        None => DriveKind::HardDisk,
    }
}

fn transport_by_name(name: &str) -> Option<&'static str> {
    let is = |prefix: &str| numbered(name, prefix).is_some();
    let lettered = |prefix: &str| {
        name.strip_prefix(prefix)
            .is_some_and(|rest| !rest.is_empty() && rest.bytes().all(|b| b.is_ascii_lowercase()))
    };
    match name {
        _ if is("loop") => Some("loop"),
        _ if is("zram") || is("ram") => Some("memory"),
        _ if is("dm-") => Some("dm"),
        _ if is("md") || name.starts_with("md_") => Some("md"),
        _ if is("bcache") => Some("bcache"),
        _ if is("zd") => Some("zvol"),
        _ if name.starts_with("mmcblk") => Some("mmc"),
        _ if is("nbd") || is("rbd") || is("drbd") || is("rnbd") => Some("network"),
        _ if name.starts_with("etherd!") => Some("network"),
        _ if is("pmem") => Some("nvdimm"),
        _ if lettered("vd") => Some("virtio"),
        _ if lettered("xvd") => Some("xen"),
        _ => None,
    }
}

fn transport_by_place(device: &BlockDevice) -> &'static str {
    let below = |is_it: &dyn Fn(&str) -> bool| device.ancestor(is_it).is_some();
    if device.attr("device/model").as_deref() == Some("scsi_debug") {
        "memory"
    } else if below(&|name| numbered(name, "usb").is_some()) {
        "usb"
    } else if below(&|name| numbered(name, "ata").is_some()) {
        "sata"
    } else if below(&|name| name.starts_with("end_device-")) {
        // An ATA drive on a SAS adapter keeps its serial-ATA link.
        if device.attr("device/vendor").as_deref() == Some("ATA") { "sata" } else { "sas" }
    } else if below(&|name| numbered(name, "virtio").is_some()) {
        "virtio"
    } else if below(&|name| name.starts_with("rport-")) {
        "fc"
    } else if below(&|name| numbered(name, "session").is_some()) {
        "iscsi"
    } else {
        transport_by_driver(device)
    }
}

fn transport_by_driver(device: &BlockDevice) -> &'static str {
    let host = device.ancestor(|name| numbered(name, "host").is_some());
    let driver = host
        .and_then(|dir| read_text(dir.join("scsi_host").join(dir.file_name()?).join("proc_name")));
    match driver.as_deref() {
        Some("ufshcd") => "ufs",
        Some("storvsc_host" | "storvsc") => "hyperv",
        Some("virtio_scsi") => "virtio",
        Some(_) => "scsi",
        None if device.dir.join("device").exists() => "scsi",
        None => "unknown",
    }
}

/// Transport of the controller of an NVMe namespace: `pcie`, `tcp`, `rdma`, `fc`, `loop`.
fn nvme_fabric(device: &BlockDevice) -> Option<String> {
    device.attr("device/transport").or_else(|| {
        // Behind a subsystem with several paths: of its first controller.
        read_text(super::link::nvme_controller(device)?.join("transport"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::roots::fake::Fake;

    fn kind_of(fake: &Fake, name: &str) -> (String, DriveKind) {
        let device = BlockDevice::open(&fake.roots, name).unwrap();
        let transport = transport(&device);
        let identity = ReportedIdentity::of(&device);
        let kind = kind(&device, &transport, &identity);
        (transport, kind)
    }

    #[test]
    fn names_tell_most_kinds() {
        for (name, transport, expected) in [
            ("loop7", "loop", DriveKind::Loop),
            ("zram0", "memory", DriveKind::Memory),
            ("ram15", "memory", DriveKind::Memory),
            ("nullb0", "memory", DriveKind::Memory),
            ("dm-3", "dm", DriveKind::Composite),
            ("md127", "md", DriveKind::Composite),
            ("md_d0", "md", DriveKind::Composite),
            ("bcache0", "bcache", DriveKind::Composite),
            ("zd16", "zvol", DriveKind::Composite),
            ("vda", "virtio", DriveKind::Virtual),
            ("xvda", "xen", DriveKind::Virtual),
            ("mmcblk0", "mmc", DriveKind::Card),
            ("nbd0", "network", DriveKind::Unknown),
            ("pmem0", "nvdimm", DriveKind::Unknown),
            ("nvme0n1", "nvme", DriveKind::Nvme),
            ("vdo", "virtio", DriveKind::Virtual),
            ("fd0", "unknown", DriveKind::Unknown),
        ] {
            let fake = Fake::new();
            fake.disk(&format!("virtual/block/{name}"), (99, 0), 1 << 30);
            assert_eq!(kind_of(&fake, name), (transport.to_string(), expected), "{name}");
        }
    }

    #[test]
    fn null_device_shows_by_driver_card_by_type() {
        let fake = Fake::new();
        fake.file(
            "proc/devices",
            "Character devices:\n  8 x\n\nBlock devices:\n  8 sd\n251 nullb\n",
        );
        fake.disk("virtual/block/fast", (251, 3), 1 << 30);
        assert_eq!(kind_of(&fake, "fast"), ("memory".to_string(), DriveKind::Memory));
        for (card, transport) in [("SD", "sd"), ("MMC", "mmc")] {
            let fake = Fake::new();
            fake.scsi_disk("platform/mmc0/mmc0:0001/block/mmcblk0", (179, 0), 1 << 30);
            fake.file("sys/devices/platform/mmc0/mmc0:0001/type", card);
            assert_eq!(kind_of(&fake, "mmcblk0"), (transport.to_string(), DriveKind::Card));
        }
    }

    /// A SCSI disk at a place, with vendor, model and whether it says it rotates.
    fn scsi(place: &str, vendor: &str, model: &str, rotational: &str) -> (String, DriveKind) {
        let fake = Fake::new();
        fake.scsi_disk(&format!("{place}/2:0:0:0/block/sda"), (8, 0), 1 << 30);
        fake.file(&format!("sys/devices/{place}/2:0:0:0/vendor"), vendor);
        fake.file(&format!("sys/devices/{place}/2:0:0:0/model"), model);
        fake.attrs("sda", &[("queue/rotational", rotational)]);
        kind_of(&fake, "sda")
    }

    #[test]
    fn places_tell_the_transports_of_scsi_disks() {
        use DriveKind::{HardDisk, Memory, Ssd, Virtual};
        let pci = "pci0000:00/0000:00:17.0";
        for (place, vendor, model, rotational, transport, expected) in [
            ("ata3/host2/target2:0:0", "ATA", "ST4000", "1", "sata", HardDisk),
            ("ata3/host2/target2:0:0", "ATA", "Samsung SSD", "0", "sata", Ssd),
            ("ata3/host2/target2:0:0", "ATA", "QEMU HARDDISK", "1", "sata", Virtual),
            ("ata3/host2/target2:0:0", "ATA", "VBOX HARDDISK", "1", "sata", Virtual),
            ("host0/port-0:0/end_device-0:0", "SEAGATE", "ST4", "1", "sas", HardDisk),
            ("host0/port-0:0/end_device-0:0", "ATA", "ST4", "1", "sata", HardDisk),
            ("usb2/2-1/2-1:1.0/host6", "WD", "Elements", "1", "usb", HardDisk),
            ("virtio3/host2/target2:0:0", "QEMU", "QEMU HARDDISK", "1", "virtio", Virtual),
            ("host5/session2/target5:0:0", "LIO-ORG", "disk", "1", "iscsi", HardDisk),
            ("host5/rport-5:0-1/target5:0:0", "IBM", "2145", "0", "fc", Ssd),
            ("host5/target5:0:0", "VMware", "Virtual disk", "1", "scsi", Virtual),
            ("host5/target5:0:0", "Msft", "Virtual Disk", "1", "scsi", Virtual),
            ("host5/target5:0:0", "Linux", "scsi_debug", "1", "memory", Memory),
        ] {
            let got = scsi(&format!("{pci}/{place}"), vendor, model, rotational);
            assert_eq!(got, (transport.to_string(), expected), "{place} {vendor} {model}");
        }
    }

    #[test]
    fn stick_without_a_rotation_rate_is_unknown() {
        let fake = Fake::new();
        let place = "pci0000:00/usb1/1-1/1-1:1.0/host6/6:0:0:0";
        fake.scsi_disk(&format!("{place}/block/sda"), (8, 0), 1 << 30);
        fake.attrs("sda", &[("queue/rotational", "1"), ("removable", "1")]);
        assert_eq!(kind_of(&fake, "sda").1, DriveKind::Unknown);
        fake.file(&format!("sys/devices/{place}/vpd_pgb1"), [0, 0xB1, 0, 60, 0, 1]);
        assert_eq!(kind_of(&fake, "sda").1, DriveKind::Ssd);
    }

    #[test]
    fn other_kinds_show_by_host_driver_and_fabric() {
        let fake = Fake::new();
        fake.scsi_disk("soc/host0/0:0:0:0/block/sda", (8, 0), 1 << 30);
        fake.file("sys/devices/soc/host0/scsi_host/host0/proc_name", "ufshcd");
        assert_eq!(kind_of(&fake, "sda"), ("ufs".to_string(), DriveKind::Ssd));
        fake.disk("virtual/nvme-fabrics/ctl/nvme1/nvme1n1", (259, 0), 1 << 30);
        fake.file("sys/devices/virtual/nvme-fabrics/ctl/nvme1/transport", "tcp");
        fake.link("sys/devices/virtual/nvme-fabrics/ctl/nvme1/nvme1n1/device", "..");
        assert_eq!(kind_of(&fake, "nvme1n1"), ("nvme-tcp".to_string(), DriveKind::Nvme));
    }
}
