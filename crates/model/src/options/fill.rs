//! Options of the `fill` test.

use crate::units::Bytes;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How much `fill` writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum FillMode {
    /// A small share of the target, spread over it; on flash, also one continuous burst.
    Sampled,
    /// Every byte, in order.
    Full,
}

/// Options of the `fill` test.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct FillOptions {
    /// How much is written.
    pub mode: FillMode,
    /// Most places of `sampled`; on drives without rotation never more than 32, and fewer where their share would be
    /// too small for one request.
    pub places: u32,
    /// Most that the places of `sampled` write, in percent of the target, lead-ins included.
    pub share_pct: f64,
    /// Longest burst of `sampled`, which looks for the end of a fast cache; 0 means none. `null` means a quarter of the
    /// target on drives without rotation, and none on others.
    pub burst: Option<Bytes>,
    /// Bytes per request.
    pub chunk: Bytes,
    /// Requests in flight.
    pub depth: u32,
    /// Where `full` begins: the position at which an interrupted fill stopped.
    pub from: Bytes,
}

impl Default for FillOptions {
    fn default() -> Self {
        Self {
            mode: FillMode::Sampled,
            places: 128,
            share_pct: 0.5,
            burst: None,
            chunk: Bytes::mib(1),
            depth: 4,
            from: Bytes(0),
        }
    }
}
