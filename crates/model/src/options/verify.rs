//! Options of the `verify` test.

use crate::units::Bytes;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

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
    /// Only read back what an earlier run wrote with the same seed.
    Read,
}

/// Options of the `verify` test.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct VerifyOptions {
    /// Few blocks or all.
    pub mode: VerifyMode,
    /// Largest cache of a fake drive that is seen through; `quick` writes twice as much, `full` as much again.
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
