//! Who a drive is: model, serial number, firmware, world-wide name, rotation.

use crate::ata;
use crate::block_device::BlockDevice;
use crate::roots::read_text;
use drivescope_model::drive::Zoned;
use std::fs;

/// Prefixes of names that are unique in the world. Others (`t10.ATA …`, `nvme.144d-…`) are made of
/// vendor, model and serial number by the driver.
const WORLD_WIDE: [&str; 4] = ["naa.", "eui.", "uuid.", "0x"];

/// What a drive says of itself without being asked by a program.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ReportedIdentity {
    /// Model, with the vendor when that is more than the bus.
    pub model: Option<String>,
    pub serial: Option<String>,
    pub firmware: Option<String>,
    pub wwn: Option<String>,
    /// What the kernel calls its identifier, unique in the world or not.
    pub identifier: Option<String>,
    pub size_bytes: u64,
    /// Revolutions per minute; `Some(0)`: it does not rotate.
    pub rpm: Option<u32>,
    pub zoned: Option<Zoned>,
    pub sata_generation: Option<u32>,
}

impl ReportedIdentity {
    /// Each part from the most complete source.
    pub fn of(device: &BlockDevice) -> Self {
        let ata = ata::identify(device).unwrap_or_default();
        Self {
            model: ata.model.or_else(|| model(device)),
            // What a target makes up of an ATA drive (VPD page 89h) may be the same for each of its units.
            serial: serial(device).or(ata.serial).or_else(|| serial_of_enclosure(device)),
            firmware: ata.firmware.or_else(|| firmware(device)),
            wwn: wwn(device),
            identifier: identifier(device),
            size_bytes: device.size_bytes(),
            rpm: ata.rpm.or_else(|| rotation_page(device)),
            zoned: ata.zoned.or_else(|| zoned_page(device)),
            sata_generation: ata.sata_generation,
        }
    }

    /// Whether another attached disk reports to be the same drive, as one LUN on two paths is: equal identifiers, or
    /// where one has none, equal model, serial number and size.
    pub fn is_same_drive_as(&self, other: &Self) -> bool {
        match (&self.identifier, &other.identifier) {
            (Some(one), Some(two)) => one == two,
            _ => {
                let is_named_alike = self.serial.is_some() && self.serial == other.serial;
                is_named_alike && self.model == other.model && self.size_bytes == other.size_bytes
            }
        }
    }

    /// Whether the model begins with one of these, in any case.
    pub fn is_any_of(&self, models: &[&str]) -> bool {
        let Some(model) = &self.model else { return false };
        models.iter().any(|m| {
            model.get(..m.len()).is_some_and(|beginning| beginning.eq_ignore_ascii_case(m))
        })
    }
}

/// Model from udev, which has it in full, or from the kernel.
fn model(device: &BlockDevice) -> Option<String> {
    let name = device
        .attr("device/model")
        .or_else(|| device.attr("device/name"))
        .map(|short| match device.udev.get_encoded("ID_MODEL_ENC") {
            Some(full) if full.starts_with(&short) => full,
            _ => short,
        })
        .or_else(|| device.udev.get_encoded("ID_MODEL_ENC"))?;
    // The vendor is "ATA" for ATA drives, a number for virtio and NVMe.
    let vendor = device
        .attr("device/vendor")
        .filter(|v| v != "ATA" && !v.starts_with("0x") && !name.starts_with(v.as_str()));
    let name = name.split_whitespace().collect::<Vec<_>>().join(" ");
    Some(vendor.map_or_else(|| name.clone(), |vendor| format!("{vendor} {name}")))
}

fn serial(device: &BlockDevice) -> Option<String> {
    device
        .attr("device/serial")
        .or_else(|| device.attr("serial"))
        .or_else(|| vpd_serial(device))
        .or_else(|| device.udev.get_encoded("ID_SERIAL_SHORT"))
}

fn serial_of_enclosure(device: &BlockDevice) -> Option<String> {
    read_text(device.usb_device()?.join("serial"))
}

/// VPD page 80h, Unit Serial Number (SPC-5): four bytes of header, then text.
fn vpd_serial(device: &BlockDevice) -> Option<String> {
    let page = fs::read(device.dir.join("device/vpd_pg80")).ok()?;
    let length = usize::from(u16::from_be_bytes([*page.get(2)?, *page.get(3)?]));
    let text = page.get(4..)?;
    let text = String::from_utf8_lossy(&text[..length.min(text.len())]).into_owned();
    let text = text.trim_matches(|c: char| c.is_whitespace() || c.is_control());
    (!text.is_empty()).then(|| text.to_string())
}

fn firmware(device: &BlockDevice) -> Option<String> {
    device
        .attr("device/firmware_rev")
        .or_else(|| device.attr("device/rev"))
        .or_else(|| device.attr("device/fwrev"))
        .map(|short| match device.udev.get("ID_REVISION") {
            // SCSI keeps the last four characters of an ATA revision.
            Some(full) if full.ends_with(&short) => full.to_string(),
            _ => short,
        })
}

fn identifier(device: &BlockDevice) -> Option<String> {
    device.attr("device/wwid").or_else(|| device.attr("wwid"))
}

fn wwn(device: &BlockDevice) -> Option<String> {
    let is_unique = |name: &String| WORLD_WIDE.iter().any(|prefix| name.starts_with(prefix));
    device
        .attr("device/wwid")
        .filter(is_unique)
        .or_else(|| device.attr("wwid").filter(is_unique))
        .or_else(|| device.udev.get("ID_WWN").map(str::to_string).filter(is_unique))
}

/// Rotation rate of VPD page B1h, Block Device Characteristics (SBC-4): bytes 4 and 5.
fn rotation_page(device: &BlockDevice) -> Option<u32> {
    let page = fs::read(device.dir.join("device/vpd_pgb1")).ok()?;
    ata::rotation(u16::from_be_bytes([*page.get(4)?, *page.get(5)?]))
}

/// ZONED field of the same page: bits 4 and 5 of byte 8.
fn zoned_page(device: &BlockDevice) -> Option<Zoned> {
    let page = fs::read(device.dir.join("device/vpd_pgb1")).ok()?;
    ata::zoned_field(u16::from(page.get(8)? >> 4 & 0b11))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::roots::fake::Fake;

    const SCSI: &str = "sys/devices/pci0000:00/host0/0:0:0:0";

    /// A SCSI disk with these files beside its block directory.
    fn scsi(files: &[(&str, &[u8])]) -> ReportedIdentity {
        let fake = Fake::new();
        fake.scsi_disk("pci0000:00/host0/0:0:0:0/block/sda", (8, 0), 1 << 30);
        for (name, content) in files {
            let path =
                if name.starts_with("run/") { name.to_string() } else { format!("{SCSI}/{name}") };
            fake.file(&path, content);
        }
        ReportedIdentity::of(&BlockDevice::open(&fake.roots, "sda").unwrap())
    }

    #[test]
    fn the_vendor_counts_unless_it_is_the_bus() {
        let sas = scsi(&[("vendor", b"SEAGATE "), ("model", b"ST4000NM0023    ")]);
        assert_eq!(sas.model.as_deref(), Some("SEAGATE ST4000NM0023"));
        let ata = scsi(&[("vendor", b"ATA     "), ("model", b"ST4000NM0023    ")]);
        assert_eq!(ata.model.as_deref(), Some("ST4000NM0023"));
        let twice = scsi(&[("vendor", b"VMware"), ("model", b"VMware Virtual S")]);
        assert_eq!(twice.model.as_deref(), Some("VMware Virtual S"));
    }

    #[test]
    fn udev_completes_what_scsi_cuts_off() {
        let id = scsi(&[
            ("vendor", b"ATA"),
            ("model", b"Samsung SSD 870 "),
            ("rev", b"2B6Q"),
            (
                "run/udev/data/b8:0",
                b"E:ID_MODEL_ENC=Samsung\\x20SSD\\x20870\\x20EVO\\x201TB\\x20\nE:ID_REVISION=SVT02B6Q\nE:ID_SERIAL_SHORT=S5\n",
            ),
        ]);
        assert_eq!(id.model.as_deref(), Some("Samsung SSD 870 EVO 1TB"));
        assert_eq!(id.firmware.as_deref(), Some("SVT02B6Q"));
        assert_eq!(id.serial.as_deref(), Some("S5"));
    }

    #[test]
    fn serial_page_has_a_header_and_a_length() {
        fn page(length: u8, text: &[u8]) -> Vec<u8> {
            [&[0, 0x80, 0, length][..], text].concat()
        }
        for (content, expected) in [
            (page(8, b"  ABC123xx"), Some("ABC123")),
            (page(200, b"ABC"), Some("ABC")),
            (page(4, b"    "), None),
            (page(3, b"A\0\0"), Some("A")),
            (vec![0, 0x80], None),
            (vec![], None),
        ] {
            let id = scsi(&[("vpd_pg80", &content)]);
            assert_eq!(id.serial.as_deref(), expected, "{content:?}");
        }
    }

    /// Four units of one target had the serial number of the ATA drive that it made up for all of them.
    #[test]
    fn own_serial_precedes_the_ata_drives() {
        fn serial(files: &[(&str, &[u8])]) -> Option<String> {
            scsi(files).serial
        }
        let made_up = [vec![0; 60], crate::ata_image::bytes("MODEL", "SAME")].concat();
        let own = [&[0, 0x80, 0, 5][..], b"UNIT2"].concat();
        assert_eq!(serial(&[("vpd_pg89", &made_up)]).as_deref(), Some("SAME"));
        let both: [(&str, &[u8]); 2] = [("vpd_pg89", &made_up), ("vpd_pg80", &own)];
        assert_eq!(serial(&both).as_deref(), Some("UNIT2"));
    }

    #[test]
    fn only_unique_names_are_world_wide() {
        for (wwid, expected) in [
            ("naa.5002538f00000000", Some("naa.5002538f00000000")),
            ("eui.0025385b00000000", Some("eui.0025385b00000000")),
            ("t10.ATA     QEMU HARDDISK   QM00001", None),
            ("nvme.144d-5334-5353-00000001", None),
        ] {
            assert_eq!(scsi(&[("wwid", wwid.as_bytes())]).wwn.as_deref(), expected);
        }
        let udev = scsi(&[("run/udev/data/b8:0", b"E:ID_WWN=0x5002538f00000000\n")]);
        assert_eq!(udev.wwn.as_deref(), Some("0x5002538f00000000"));
    }

    #[test]
    fn rotation_page_is_read_if_plausible() {
        for (page, expected) in [
            (&[0, 0xB1, 0, 60, 0x1C, 0x20][..], Some(7200)),
            (&[0, 0xB1, 0, 60, 0, 1], Some(0)),
            (&[0, 0xB1, 0, 60, 0, 0], None),
            (&[0, 0xB1, 0, 60, 0xFF, 0xFF], None),
            (&[0, 0xB1], None),
        ] {
            assert_eq!(scsi(&[("vpd_pgb1", page)]).rpm, expected, "{page:?}");
        }
    }

    #[test]
    fn the_rotation_page_tells_of_zones_too() {
        for (byte, expected) in [
            (0x00, None),
            (0x10, Some(Zoned::HostAware)),
            (0x22, Some(Zoned::DriveManaged)),
            (0x30, None),
        ] {
            let page = [0, 0xB1, 0, 60, 0x1C, 0x20, 0, 0, byte];
            assert_eq!(scsi(&[("vpd_pgb1", &page)]).zoned, expected, "{byte:#x}");
        }
    }

    #[test]
    fn a_device_that_says_nothing_has_no_identity() {
        assert_eq!(
            scsi(&[]),
            ReportedIdentity { size_bytes: 1 << 30, ..ReportedIdentity::default() }
        );
        assert!(!ReportedIdentity::default().is_any_of(&["QEMU"]));
    }

    #[test]
    fn models_are_compared_without_case_and_without_harm() {
        fn of(model: &str) -> ReportedIdentity {
            ReportedIdentity { model: Some(model.into()), ..ReportedIdentity::default() }
        }
        assert!(of("qemu harddisk").is_any_of(&["QEMU"]));
        assert!(!of("QEM").is_any_of(&["QEMU"]));
        assert!(!of("QEMé").is_any_of(&["QEMU"]));
        assert!(!of("My QEMU").is_any_of(&["QEMU"]));
    }
}
