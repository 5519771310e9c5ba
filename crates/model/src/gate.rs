//! What the gate in front of every raw write found out: the evidence that a run document keeps.

use crate::plan::WriteLevel;
use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Outcome {
    Ok,
    Refused,
    /// Could not be found out here. Another check decides; the evidence says which.
    Unknown,
}

impl Outcome {
    pub const fn name(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Refused => "refused",
            Self::Unknown => "unknown",
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Check {
    /// In one or two words: `mounts`, `signatures`.
    pub name: String,
    pub outcome: Outcome,
    /// All of it when it is a refusal.
    pub evidence: String,
    /// Shows the same to an administrator.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
}

/// Who a block device is: what its open descriptor and the kernel's directory for that device number
/// report. Two devices with equal identities are one.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct DeviceIdentity {
    /// Links resolved.
    pub path: String,
    /// The kernel's: `sda`, `nvme0n1p2`.
    pub name: String,
    /// Major and minor: `8:0`.
    pub number: String,
    /// The disk.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub partition_of: Option<String>,
    pub size_bytes: u64,
    pub logical_sector_bytes: u32,
    /// As the drive reports it.
    pub physical_sector_bytes: u32,
    /// Of the drive; the name of a device-mapper device.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub serial: Option<String>,
    /// The drive's own number, where its bridge reports another one to the kernel: a dock has the same for whatever
    /// lies in it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub own_serial: Option<String>,
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
        let is_ambiguous = self.has_double || self.partition_of.is_some();
        if is_ambiguous { format!("{phrase}:{}", self.name) } else { phrase }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct GateRecord {
    pub level: WriteLevel,
    /// Absent when it could not be opened.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub device: Option<DeviceIdentity>,
    pub checks: Vec<Check>,
}

impl GateRecord {
    pub fn refusals(&self) -> impl Iterator<Item = &Check> {
        self.checks.iter().filter(|check| check.outcome == Outcome::Refused)
    }

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
        fn check(outcome: Outcome) -> Check {
            Check {
                name: "mounts".into(),
                outcome,
                evidence: "none".into(),
                command: Some("findmnt".into()),
            }
        }
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
