//! Health of a drive, as its SMART reports it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The one warning of NVMe that says nothing of the drive's end.
pub const HEAT_WARNING: &str = "its temperature is beyond a threshold";

/// Health as reported by SMART.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Health {
    /// SMART's overall verdict.
    pub passed: Option<bool>,
    /// Hours powered on.
    pub power_on_hours: Option<u64>,
    /// Wear of the flash in percent of the rated endurance; may exceed 100.
    pub wear_pct: Option<u64>,
    /// Reallocated sectors, pending sectors, and media errors.
    pub bad_sectors: Option<u64>,
    /// Why nothing more is known.
    pub note: Option<String>,
    /// How often it was switched on; of SAS disks how often they were started.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub starts: Option<u64>,
    /// Bytes that the host has read in the drive's life.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub read_bytes: Option<u64>,
    /// Bytes that the host has written in the drive's life.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub written_bytes: Option<u64>,
    /// Sectors replaced by spare ones (attribute 5, grown defects of SAS).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reallocated_sectors: Option<u64>,
    /// Sectors that could not be read and wait to be written or replaced (attribute 197).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pending_sectors: Option<u64>,
    /// Sectors that the drive's own scan could not read (attribute 198).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub offline_uncorrectable: Option<u64>,
    /// Errors that the drive could not correct: attribute 187, media errors of NVMe, uncorrected errors of SAS.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub uncorrected_errors: Option<u64>,
    /// Transfers that were damaged between host and drive (CRC, attribute 199).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub crc_errors: Option<u64>,
    /// Temperature when this was read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub now_c: Option<f64>,
    /// The highest temperature of its life.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub highest_c: Option<f64>,
    /// The highest temperature that the maker allows, or at which the drive stops.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit_c: Option<f64>,
    /// The health log of NVMe.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nvme: Option<NvmeHealth>,
    /// Hours in the reliability log of Seagate's disks (FARM), which a reset of SMART does not clear.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub farm: Option<FarmHours>,
    /// SMART attributes of SATA drives.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub attributes: Vec<SmartAttribute>,
    /// Self-tests, the newest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub self_tests: Vec<SelfTest>,
}

impl Health {
    /// Whether the drive reported anything.
    pub fn is_known(&self) -> bool {
        *self != Self { note: self.note.clone(), ..Self::default() }
    }
}

/// A SMART attribute of a SATA drive.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SmartAttribute {
    /// Its number.
    pub id: u64,
    /// Its name in smartctl's list of drives.
    pub name: String,
    /// As smartctl prints it; what it counts is up to the maker.
    pub raw: String,
    /// The maker's figure for its state, mostly 100 or 200 when new; smaller is worse.
    pub value: Option<u64>,
    /// The smallest value ever.
    pub worst: Option<u64>,
    /// A value at or below it means failure; 0 never does.
    pub threshold: Option<u64>,
    /// Whether its value is, or was, at or below the threshold.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failed: Option<AttributeFailure>,
}

/// When an attribute was at or below its threshold.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum AttributeFailure {
    /// It is now.
    Now,
    /// It was.
    Past,
}

/// The health log of an NVMe drive, without what stands in the object above it.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct NvmeHealth {
    /// The drive's own warnings, in words; empty if it has none.
    pub warnings: Vec<String>,
    /// Spare blocks that are left.
    pub spare_pct: Option<u64>,
    /// Below this share of spare blocks the drive warns.
    pub spare_threshold_pct: Option<u64>,
    /// Times that power was cut without notice.
    pub unsafe_shutdowns: Option<u64>,
    /// Entries of its error log in its life; refused commands count, too.
    pub error_log_entries: Option<u64>,
    /// Minutes above the temperature at which it warns.
    pub warm_minutes: Option<u64>,
    /// Minutes above its critical temperature.
    pub critical_minutes: Option<u64>,
}

/// Hours in the FARM log of a SATA disk of Seagate's.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FarmHours {
    /// Hours powered on.
    pub power_on: Option<u64>,
    /// Hours with the platters turning.
    pub spinning: Option<u64>,
    /// Hours with the heads over the platters.
    pub head_flight: Option<u64>,
}

/// A test that the drive made of itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SelfTest {
    /// As smartctl prints it: `Short offline`, `Extended`.
    pub kind: String,
    /// As smartctl prints it: `Completed without error`.
    pub result: String,
    /// Whether it found nothing; absent if it did not end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub passed: Option<bool>,
    /// Hours powered on when it ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub power_on_hours: Option<u64>,
    /// The first sector that could not be read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_bad_sector: Option<u64>,
}
