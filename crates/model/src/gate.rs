//! What the gate in front of every raw write found out: the evidence that a run document keeps.

use crate::plan::WriteLevel;
use serde::{Deserialize, Serialize};

/// How a check ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Outcome {
    /// Nothing speaks against writing.
    Ok,
    /// The device must not be written at this level.
    Refused,
    /// Could not be found out here. Another check decides; the evidence says which.
    Unknown,
}

impl Outcome {
    /// The word of reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Refused => "refused",
            Self::Unknown => "unknown",
        }
    }
}

/// One step of the gate.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Check {
    /// What was checked, in one or two words: `mounts`, `signatures`.
    pub name: String,
    /// How it ended.
    pub outcome: Outcome,
    /// What was seen, all of it when it is a refusal.
    pub evidence: String,
    /// A command that shows the same to an administrator.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
}

/// Who a block device is: what its open descriptor and the kernel's directory for that device number
/// report. Two devices with equal identities are one.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct DeviceIdentity {
    /// Node, links resolved.
    pub path: String,
    /// Kernel name: `sda`, `nvme0n1p2`.
    pub name: String,
    /// Major and minor number: `8:0`.
    pub number: String,
    /// The disk it is a partition of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub partition_of: Option<String>,
    /// Size, from the descriptor.
    pub size_bytes: u64,
    /// Sector that requests must be multiples of.
    pub logical_sector_bytes: u32,
    /// Sector that the drive says it writes at once.
    pub physical_sector_bytes: u32,
    /// Model of the drive; the name of a device-mapper device.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Serial number of the drive.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub serial: Option<String>,
    /// Serial number that the drive itself tells, where the bridge before it tells the kernel another one: a dock
    /// has the same for whatever lies in it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub own_serial: Option<String>,
    /// World-wide name of the drive.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wwn: Option<String>,
    /// The kernel's number of this attachment of a medium, which it never uses again (since 5.15).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub disk_sequence: Option<u64>,
    /// Another attached device reports the same serial number, or the same model and size where there is
    /// none: namespaces and logical units of one drive, two sticks of one make.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub has_double: bool,
}

impl DeviceIdentity {
    /// What a person types to say that exactly this device may lose its contents: the serial number, that of the
    /// drive itself where its bridge has another.
    ///
    /// A device without one has `MODEL:SIZE`, the size in bytes; without a model the kernel name
    /// takes its place (`loop0:67108864`). Where that does not tell one device from another (a partition,
    /// a device with a double) the kernel name follows: `WD-WCAV5E123456:sda2`.
    pub fn phrase(&self) -> String {
        let phrase = match (self.own_serial.as_ref().or(self.serial.as_ref()), &self.model) {
            (Some(serial), _) => serial.clone(),
            (None, Some(model)) => format!("{model}:{}", self.size_bytes),
            (None, None) => return format!("{}:{}", self.name, self.size_bytes),
        };
        match self.has_double || self.partition_of.is_some() {
            true => format!("{phrase}:{}", self.name),
            false => phrase,
        }
    }
}

/// Everything the gate found out about one device at one level.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct GateRecord {
    /// The requested level.
    pub level: WriteLevel,
    /// The device; absent when it could not be opened.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub device: Option<DeviceIdentity>,
    /// The steps, in their order.
    pub checks: Vec<Check>,
}

impl GateRecord {
    /// Checks that refuse.
    pub fn refusals(&self) -> impl Iterator<Item = &Check> {
        self.checks.iter().filter(|check| check.outcome == Outcome::Refused)
    }

    /// Whether nothing refuses.
    pub fn is_allowed(&self) -> bool {
        self.refusals().next().is_none()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn device() -> DeviceIdentity {
        DeviceIdentity {
            path: "/dev/loop0".into(),
            name: "loop0".into(),
            number: "7:0".into(),
            size_bytes: 4096,
            logical_sector_bytes: 512,
            physical_sector_bytes: 512,
            ..DeviceIdentity::default()
        }
    }

    #[test]
    fn phrase_is_serial_or_best_name_with_size() {
        let nameless = device();
        assert_eq!(nameless.phrase(), "loop0:4096");
        let model = DeviceIdentity { model: Some("Flash Disk".into()), ..nameless };
        assert_eq!(model.phrase(), "Flash Disk:4096");
        let whole = DeviceIdentity { serial: Some("S1".into()), ..model };
        assert_eq!(whole.phrase(), "S1");
        let double = DeviceIdentity { has_double: true, ..whole.clone() };
        assert_eq!(double.phrase(), "S1:loop0");
        let part = DeviceIdentity { partition_of: Some("loop0".into()), ..whole.clone() };
        assert_eq!(part.phrase(), "S1:loop0");
        let docked = DeviceIdentity { own_serial: Some("WD-1".into()), ..whole };
        assert_eq!(docked.phrase(), "WD-1");
    }

    #[test]
    fn record_survives_json_and_only_refusals_refuse() {
        let check = |outcome| Check {
            name: "mounts".into(),
            outcome,
            evidence: "none".into(),
            command: Some("findmnt".into()),
        };
        let mut record = GateRecord {
            level: WriteLevel::SameBytes,
            device: Some(device()),
            checks: vec![check(Outcome::Ok), check(Outcome::Unknown)],
        };
        let json = serde_json::to_string(&record).unwrap();
        assert_eq!(serde_json::from_str::<GateRecord>(&json).unwrap(), record);
        assert!(json.contains("\"same-bytes\"") && json.contains("\"unknown\""), "{json}");
        assert!(record.is_allowed());
        record.checks.push(check(Outcome::Refused));
        assert!(!record.is_allowed());
        assert_eq!(record.refusals().count(), 1);
    }
}
