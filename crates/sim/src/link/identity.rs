//! What the host is told about a drive, which is not always so.

use serde::{Deserialize, Serialize};

use super::params::{LinkKind, LinkParams};

/// How the host reaches a drive.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Transport {
    /// Serial ATA.
    Sata,
    /// NVMe over PCIe.
    Nvme,
    /// A USB bridge.
    Usb,
}

/// A drive as the host sees it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Identity {
    /// Model name, as ATA IDENTIFY, NVMe Identify or SCSI INQUIRY give it.
    pub model: String,
    /// Serial number; empty where it is hidden.
    pub serial: String,
    /// Firmware revision; empty where it is hidden.
    pub firmware: String,
    /// Smallest unit of offsets and lengths.
    pub logical_sector_bytes: u32,
    /// What is said to be the unit of the medium; early 4096-byte drives and many bridges say 512.
    pub reported_physical_sector_bytes: u32,
    /// Whether the drive is said to rotate.
    pub rotational: bool,
    /// Rotation speed as reported (ATA word 217, SCSI VPD page B1h); absent where it is not reported.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rpm: Option<u32>,
    /// How the host reaches it.
    pub transport: Transport,
    /// The link as people write it: `SATA 6.0 Gb/s`, `PCIe 3.0 x4`, `USB 5 Gb/s`.
    pub link_name: String,
    /// The most payload the link can carry, MB/s.
    pub payload_mb_s: f64,
    /// Whether a volatile write cache is reported as on; absent where the host cannot ask.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub write_cache: Option<bool>,
}

/// What a USB bridge changes in what the host sees. Nothing by default.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Bridge {
    /// Shown in place of the drive's model name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Shown in place of the drive's serial number; empty hides it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub serial: Option<String>,
    /// Shown in place of the drive's firmware revision; empty hides it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub firmware: Option<String>,
    /// Unit in which the host must address, a multiple of the drive's (some bridges show 4096-byte sectors
    /// of a 512-byte drive, so that old systems can address more than 2 TiB).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub logical_sector_bytes: Option<u32>,
    /// Physical sector the bridge reports, whatever the drive says.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub physical_sector_bytes: Option<u32>,
    /// The bridge does not pass the rotation speed on. Linux takes a drive that does not say for a
    /// rotating one.
    pub hides_rotation: bool,
    /// The bridge does not say whether there is a write cache.
    pub hides_write_cache: bool,
    /// Bytes at the end of the drive that the bridge keeps for itself.
    pub hidden_tail_bytes: u64,
}

impl Identity {
    /// What the host sees of this drive through a link.
    #[must_use]
    pub fn through(&self, link: &LinkParams) -> Identity {
        let bridge = &link.bridge;
        let pick = |own: &String, shown: &Option<String>| shown.as_ref().unwrap_or(own).clone();
        let logical = bridge.logical_sector_bytes.unwrap_or(self.logical_sector_bytes);
        let physical = bridge.physical_sector_bytes.unwrap_or(self.reported_physical_sector_bytes);
        Identity {
            model: pick(&self.model, &bridge.model),
            serial: pick(&self.serial, &bridge.serial),
            firmware: pick(&self.firmware, &bridge.firmware),
            logical_sector_bytes: logical,
            reported_physical_sector_bytes: physical.max(logical),
            rotational: self.rotational || bridge.hides_rotation,
            rpm: self.rpm.filter(|_| !bridge.hides_rotation),
            transport: match link.kind {
                LinkKind::Sata => Transport::Sata,
                LinkKind::Nvme => Transport::Nvme,
                LinkKind::UsbBulkOnly | LinkKind::UsbUas => Transport::Usb,
            },
            link_name: link.name.clone(),
            payload_mb_s: link.payload_mb_s(),
            write_cache: self.write_cache.filter(|_| !bridge.hides_write_cache),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drive() -> Identity {
        Identity {
            model: "WDC WD20SPZX-22UA7T0".into(),
            serial: "WD-WX11A0000001".into(),
            firmware: "01.01A01".into(),
            logical_sector_bytes: 512,
            reported_physical_sector_bytes: 4096,
            rotational: true,
            rpm: Some(5400),
            transport: Transport::Sata,
            link_name: "SATA 6.0 Gb/s".into(),
            payload_mb_s: 550.0,
            write_cache: Some(true),
        }
    }

    #[test]
    fn sata_shows_the_drive_as_it_is() {
        let seen = drive().through(&LinkParams::sata_6g());
        assert_eq!(
            seen,
            Identity { payload_mb_s: LinkParams::sata_6g().payload_mb_s(), ..drive() }
        );
    }

    #[test]
    fn a_bridge_lies() {
        let mut usb = LinkParams::usb3_bulk_only();
        usb.bridge = Bridge {
            model: Some("easystore 2624".into()),
            serial: Some(String::new()),
            physical_sector_bytes: Some(512),
            hides_rotation: true,
            hides_write_cache: true,
            ..Bridge::default()
        };
        let seen = drive().through(&usb);
        assert_eq!(seen.model, "easystore 2624");
        assert_eq!(seen.serial, "");
        assert_eq!(seen.firmware, "01.01A01");
        assert_eq!((seen.logical_sector_bytes, seen.reported_physical_sector_bytes), (512, 512));
        assert_eq!((seen.rotational, seen.rpm, seen.write_cache), (true, None, None));
        assert_eq!(seen.transport, Transport::Usb);
    }

    #[test]
    fn the_physical_sector_is_never_shown_below_the_logical() {
        let mut usb = LinkParams::usb3_uas();
        usb.bridge.logical_sector_bytes = Some(4096);
        usb.bridge.physical_sector_bytes = Some(512);
        assert_eq!(drive().through(&usb).reported_physical_sector_bytes, 4096);
    }

    #[test]
    fn an_ssd_behind_a_silent_bridge_looks_rotating() {
        let ssd = Identity { rotational: false, rpm: None, ..drive() };
        let mut usb = LinkParams::usb3_uas();
        assert!(!ssd.through(&usb).rotational);
        usb.bridge.hides_rotation = true;
        assert!(ssd.through(&usb).rotational);
    }
}
