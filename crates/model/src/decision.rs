//! Whether a drive is good enough to keep: what a run of the suite `check` decides.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What to do with a drive.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum Advice {
    /// Nothing speaks against it.
    Keep,
    /// Something is not known, or may be the fault of a cable, dock or seller.
    NotSure,
    /// The drive itself is at fault.
    SendBack,
}

/// One thing that speaks against keeping a drive.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DecisionReason {
    /// What it alone would decide: `send-back` or `not-sure`.
    pub decides: Advice,
    /// The reason, in a line.
    pub because: String,
    /// What was seen.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub seen: String,
    /// What to do about it.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub settle: String,
    /// The command that settles it.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub command: String,
}

/// How one part of a check ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum PartOutcome {
    /// Nothing wrong was found.
    Good,
    /// A reason of the decision lies here.
    Bad,
    /// It was not tested, or not to its end.
    NotTested,
}

/// One part of a check: what was tested, and with what result.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CheckedPart {
    /// `health`, `self-test`, `identity`, `surface`, `capacity`, `flushes`, `temperature`.
    pub part: String,
    /// How it ended.
    pub outcome: PartOutcome,
    /// The result, in a line.
    pub result: String,
}

/// Whether a drive is good enough to keep.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Decision {
    /// The worst of the reasons; `keep` without any.
    pub advice: Advice,
    /// Every reason, those of the advice first.
    pub reasons: Vec<DecisionReason>,
    /// Every part of the check.
    pub parts: Vec<CheckedPart>,
}
