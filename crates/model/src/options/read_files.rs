//! Options of the `read-files` test.

use crate::units::Bytes;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Which files are read, in which order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum FileOrder {
    /// Evenly spread from the first written to the last, in this order.
    Spread,
    /// The same files in random order.
    Shuffled,
}

/// Options of the `read-files` test.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ReadFilesOptions {
    /// How many files are read; 0: all.
    pub files: u32,
    /// Which, and in which order.
    pub order: FileOrder,
    /// Bytes of one call.
    pub block: Bytes,
    /// Read each file once more, from memory: what a second run would show without a reboot.
    pub again: bool,
}

impl Default for ReadFilesOptions {
    fn default() -> Self {
        Self { files: 1000, order: FileOrder::Spread, block: Bytes::mib(1), again: false }
    }
}
