//! Options of the `self-test` test.

use crate::units::Secs;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Which test the drive makes of itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum SelfTestLength {
    /// Electronics, mechanics and a small part of the surface: two minutes.
    Short,
    /// The whole surface: hours on a disk.
    Long,
}

/// Options of the `self-test` test.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct SelfTestOptions {
    /// Which of the drive's own tests is started.
    pub length: SelfTestLength,
    /// How long its end is waited for; 0: twice the time that the drive announces, ten minutes at least.
    pub wait: Secs,
}

impl Default for SelfTestOptions {
    fn default() -> Self {
        Self { length: SelfTestLength::Short, wait: Secs(0.0) }
    }
}
