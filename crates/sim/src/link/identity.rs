//! What a drive reports to the host, which is not always true.

use serde::{Deserialize, Serialize};

/// Range of rotation speeds that a drive can report: ATA word 217 has 0401h to FFFEh for them.
const RPM_MIN: u32 = 0x401;
const RPM_MAX: u32 = 0xfffe;

/// What a drive reports about itself, or what a bridge leaves of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ModelIdentity {
    /// Model name, as ATA IDENTIFY, NVMe Identify or SCSI INQUIRY give it.
    pub model: String,
    /// Serial number; empty where it is hidden.
    #[serde(default)]
    pub serial: String,
    /// Firmware revision; empty where it is hidden.
    #[serde(default)]
    pub firmware: String,
    /// Smallest unit of offsets and lengths that it reports; not below the one it has.
    #[serde(default = "sector_512")]
    pub reported_logical_sector_bytes: u32,
    /// Reported unit of the medium; early 4096-byte drives and many bridges report 512.
    #[serde(default = "sector_4096")]
    pub reported_physical_sector_bytes: u32,
    /// Rotation speed as reported (ATA word 217, SCSI VPD page B1h); absent where it is not reported.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rotation_rpm: Option<u32>,
}

const fn sector_512() -> u32 {
    512
}

const fn sector_4096() -> u32 {
    4096
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
    /// Physical sector the bridge reports, whatever the drive reports.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub physical_sector_bytes: Option<u32>,
    /// The bridge does not pass the rotation speed on. Linux takes a drive that does not say for a
    /// rotating one.
    pub hides_rotation: bool,
    /// The bridge does not say whether there is a write cache.
    pub hides_write_cache: bool,
    /// Bytes at the start of the drive that the bridge keeps for itself, a multiple of the drive's sector: the host's
    /// first byte follows them. If they are not a multiple of the physical sector, its boundaries are shifted.
    pub hidden_head_bytes: u64,
    /// Bytes at the end of the drive that the bridge keeps for itself.
    pub hidden_tail_bytes: u64,
}

impl ModelIdentity {
    /// The identity that the host sees through a bridge.
    pub fn through(&self, bridge: &Bridge) -> ModelIdentity {
        let pick = |own: &String, shown: &Option<String>| shown.as_ref().unwrap_or(own).clone();
        let logical = bridge.logical_sector_bytes.unwrap_or(self.reported_logical_sector_bytes);
        let physical = bridge.physical_sector_bytes.unwrap_or(self.reported_physical_sector_bytes);
        ModelIdentity {
            model: pick(&self.model, &bridge.model),
            serial: pick(&self.serial, &bridge.serial),
            firmware: pick(&self.firmware, &bridge.firmware),
            reported_logical_sector_bytes: logical,
            reported_physical_sector_bytes: physical.max(logical),
            rotation_rpm: self.rotation_rpm.filter(|_| !bridge.hides_rotation),
        }
    }

    /// The first field that no drive can report, and why. `own_logical` is the unit in which the drive
    /// can really be addressed; the reported physical sector may lie.
    pub fn problem(&self, own_logical: u32) -> Option<(&'static str, String)> {
        let logical = ("reported_logical_sector_bytes", self.reported_logical_sector_bytes);
        let physical = ("reported_physical_sector_bytes", self.reported_physical_sector_bytes);
        for (field, bytes) in [logical, physical] {
            if ![512, 4096].contains(&bytes) {
                return Some((field, format!("is {bytes}; give 512 or 4096")));
            }
        }
        if logical.1 > physical.1 {
            let message =
                format!("is {}, above the reported physical sector of {}", logical.1, physical.1);
            return Some((logical.0, message));
        }
        if let Some(rpm) = self.rotation_rpm.filter(|rpm| !(RPM_MIN..=RPM_MAX).contains(rpm)) {
            let message = format!(
                "is {rpm}; a drive can report {RPM_MIN} to {RPM_MAX}, leave the line out where it reports none"
            );
            return Some(("rotation_rpm", message));
        }
        (logical.1 < own_logical).then(|| {
            let message = format!(
                "is {}, below the {own_logical} in which the drive can be addressed; give {own_logical}",
                logical.1
            );
            (logical.0, message)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drive() -> ModelIdentity {
        ModelIdentity {
            model: "WDC WD20SPZX-22UA7T0".into(),
            serial: "WD-WX11A0000001".into(),
            firmware: "01.01A01".into(),
            reported_logical_sector_bytes: 512,
            reported_physical_sector_bytes: 4096,
            rotation_rpm: Some(5400),
        }
    }

    #[test]
    fn drive_without_bridge_is_shown_unchanged() {
        assert_eq!(drive().through(&Bridge::default()), drive());
    }

    #[test]
    fn a_bridge_lies() {
        let bridge = Bridge {
            model: Some("easystore 2624".into()),
            serial: Some(String::new()),
            physical_sector_bytes: Some(512),
            hides_rotation: true,
            ..Bridge::default()
        };
        let seen = drive().through(&bridge);
        assert_eq!(seen.model, "easystore 2624");
        assert_eq!(seen.serial, "");
        assert_eq!(seen.firmware, "01.01A01");
        let sectors = (seen.reported_logical_sector_bytes, seen.reported_physical_sector_bytes);
        assert_eq!((sectors, seen.rotation_rpm), ((512, 512), None));
    }

    #[test]
    fn the_physical_sector_is_never_shown_below_the_logical() {
        let bridge = Bridge {
            logical_sector_bytes: Some(4096),
            physical_sector_bytes: Some(512),
            ..Bridge::default()
        };
        assert_eq!(drive().through(&bridge).reported_physical_sector_bytes, 4096);
    }

    #[test]
    fn reported_sector_may_be_false_but_addressable() {
        fn with(logical: u32, physical: u32) -> ModelIdentity {
            ModelIdentity {
                reported_logical_sector_bytes: logical,
                reported_physical_sector_bytes: physical,
                ..drive()
            }
        }
        for (logical, physical) in [(512, 512), (512, 4096), (4096, 4096)] {
            assert_eq!(with(logical, physical).problem(512), None);
        }
        for (logical, physical, own, field) in [
            (513, 4096, 512, "reported_logical_sector_bytes"),
            (512, 1024, 512, "reported_physical_sector_bytes"),
            (4096, 512, 512, "reported_logical_sector_bytes"),
            (512, 4096, 4096, "reported_logical_sector_bytes"),
        ] {
            assert_eq!(with(logical, physical).problem(own).map(|(name, _)| name), Some(field));
        }
    }
}
