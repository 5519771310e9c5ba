//! Options of the `align` test.

use crate::cell::Mix;
use crate::units::{Bytes, Secs};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How `align` looks for the physical sector.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum AlignMethod {
    /// Our own: synced writes at every offset, interleaved in random order, until the answer is clear.
    Fast,
    /// phybs of FreeBSD: passes of strided writes of several sizes at several offsets, not synced.
    Phybs,
}

/// Options of the `align` test.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct AlignOptions {
    /// How the physical sector is found.
    pub method: AlignMethod,
    /// Longest time that the writes of `fast` take; it stops earlier once the answer is clear.
    pub time: Secs,
    /// Smallest block of `phybs`.
    pub min: Bytes,
    /// Largest block of `phybs`; blocks double from the smallest on.
    pub max: Bytes,
    /// Bytes of one pass of `phybs`; four times as much of the target is touched.
    pub total: Bytes,
    /// Whether `phybs` reads or writes; `mix50` reads each block and then writes it, as its option -rw does. Reads hide
    /// the sector where the drive reads ahead, and so do blocks that were just read.
    pub mix: Mix,
}

impl Default for AlignOptions {
    fn default() -> Self {
        Self {
            method: AlignMethod::Fast,
            time: Secs(12.0),
            min: Bytes::kib(1),
            max: Bytes::kib(8),
            total: Bytes::mib(128),
            mix: Mix::WRITE,
        }
    }
}
