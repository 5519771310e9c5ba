//! Options of the tests that write a whole drive: `fill` and `verify`.

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
    /// Places of `sampled`, evenly spread; fewer where their share would be too small for one request.
    pub places: u32,
    /// Most that the places of `sampled` write, in percent of the target, lead-ins included.
    pub share_pct: f64,
    /// Longest burst of `sampled`, which looks for the end of a fast cache; 0 is none. `None` is a
    /// quarter of the target on drives without rotation, and none on others.
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

/// How `verify` looks for missing capacity.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum VerifyMode {
    /// Few blocks, chosen as f3probe does: minutes.
    Quick,
    /// Every sector is written, then every sector is read back.
    Full,
}

/// Where `full` of `verify` begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum VerifyPhase {
    /// Write, then read everything.
    Write,
    /// Only read what an earlier run wrote with the same seed.
    Read,
}

/// Options of the `verify` test.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct VerifyOptions {
    /// Few blocks or all.
    pub mode: VerifyMode,
    /// Largest cache of a fake drive that is seen through. `quick` writes twice as much, `full` so much again.
    pub cache: Bytes,
    /// First phase of `full`.
    pub phase: VerifyPhase,
    /// Where that phase begins: the position at which an interrupted one stopped.
    pub from: Bytes,
}

impl Default for VerifyOptions {
    fn default() -> Self {
        Self {
            mode: VerifyMode::Quick,
            cache: Bytes::mib(256),
            phase: VerifyPhase::Write,
            from: Bytes(0),
        }
    }
}
