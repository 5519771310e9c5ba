//! Printed facts of a drive that the model does not use.

use crate::hdd::HddParams;
use crate::numbers::{outside, plain};
use serde::{Deserialize, Serialize};

/// Largest buffer, 1 TiB.
const BUFFER_MAX_MIB: f64 = 1_048_576.0;

/// The table `[data_sheet]`; every field may be absent.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct DataSheet {
    /// Nominal width of the drive, inches.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub form_factor_inch: Option<f64>,
    /// All of the buffer, MiB (makers print MB); reading, writing and the firmware share it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub buffer_mib: Option<u32>,
}

impl DataSheet {
    pub(super) fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// The first field that cannot be, and why.
    pub(super) fn problem(&self, hdd: Option<&HddParams>) -> Option<(&'static str, String)> {
        if let Some(inch) = self.form_factor_inch.filter(|inch| !(1.0..=8.0).contains(inch)) {
            let message = format!("is {}; drives are 1 to 8 inches wide", plain(inch));
            return Some(("form_factor_inch", message));
        }
        let buffer = self.buffer_mib?;
        if let Some(message) = outside(buffer.into(), 1.0, BUFFER_MAX_MIB, "MiB") {
            return Some(("buffer_mib", message));
        }
        let hdd = hdd?;
        let read = u64::from(hdd.read_cache.segments) * u64::from(hdd.read_cache.segment_kib);
        let used = read + u64::from(hdd.write_cache.dirty_limit_kib);
        (used > u64::from(buffer) * 1024).then(|| {
            let used = used.div_ceil(1024);
            ("buffer_mib", format!("is {buffer}, less than the {used} MiB of its two caches"))
        })
    }
}
