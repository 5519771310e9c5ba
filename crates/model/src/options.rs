//! What a user may choose: suites and the options of each test, one file a test. Every option is defined once:
//! suite files, `--set`, the plan and the run document all read and write these types.

mod align;
mod fill;
mod latency;
mod part;
mod surface;
mod tiny_writes;
mod transfer;
mod verify;

pub use align::{AlignMethod, AlignOptions};
pub use fill::{FillMode, FillOptions};
pub use latency::{Arrivals, LatencyOptions, Rate};
pub use part::{NamedStart, PartStart};
pub use surface::{SurfaceOptions, SurfacePreset, SurfaceWrite};
pub use tiny_writes::TinyWritesOptions;
pub use transfer::{Preset, TransferOptions};
pub use verify::{VerifyMode, VerifyOptions, VerifyPhase};

use crate::units::{Bytes, Secs};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;

/// A test: one question asked of a target.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum TestKind {
    /// Large transfers and small random ones, by depth.
    Transfer,
    /// One small request at a time, by span and by load.
    Latency,
    /// Rate and access time by position.
    Surface,
    /// Writes of a few bytes, cached and uncached.
    TinyWrites,
    /// Physical sector, alignment, and what misalignment costs.
    Align,
    /// Sequential writes over the whole drive.
    Fill,
    /// Whether the capacity is real and data can be read back.
    Verify,
}

impl TestKind {
    /// Every test, in the order in which suites run them.
    pub const ALL: [Self; 7] = [
        Self::Transfer,
        Self::Latency,
        Self::Surface,
        Self::TinyWrites,
        Self::Align,
        Self::Fill,
        Self::Verify,
    ];

    /// The name on the command line and in metric keys.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Transfer => "transfer",
            Self::Latency => "latency",
            Self::Surface => "surface",
            Self::TinyWrites => "tiny-writes",
            Self::Align => "align",
            Self::Fill => "fill",
            Self::Verify => "verify",
        }
    }
}

impl fmt::Display for TestKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A named list of tests with their options.
///
/// Suite files (TOML) have the same fields, where sizes and times may also be texts: `"1GiB"`, `"500ms"`.
/// `--set TEST.OPTION=VALUE` sets one of them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Suite {
    /// Name of the suite.
    pub name: String,
    /// One-line description.
    pub summary: String,
    /// Which tests, in which order.
    pub tests: Vec<TestKind>,
    /// Repetitions of each phase; a headline figure needs three.
    #[serde(default = "default_rounds")]
    pub rounds: u32,
    /// Pause before each phase, so that caches and heat settle.
    #[serde(default)]
    pub pause: Secs,
    /// Requested size of the test file in a directory; `plan.own_bytes` is the size it got.
    #[serde(default = "default_size")]
    pub size: Bytes,
    /// How much of a file or device is used; 0 means all of it.
    #[serde(default)]
    pub span: Bytes,
    /// Where that part begins: a number of bytes, or `end`; `null`: at the start. Positions in results
    /// count from there.
    #[serde(default)]
    pub offset: Option<PartStart>,
    /// Options of `transfer`.
    #[serde(default)]
    pub transfer: TransferOptions,
    /// Options of `latency`.
    #[serde(default)]
    pub latency: LatencyOptions,
    /// Options of `surface`.
    #[serde(default)]
    pub surface: SurfaceOptions,
    /// Options of `tiny-writes`.
    #[serde(default, rename = "tiny-writes")]
    pub tiny_writes: TinyWritesOptions,
    /// Options of `align`.
    #[serde(default)]
    pub align: AlignOptions,
    /// Options of `fill`.
    #[serde(default)]
    pub fill: FillOptions,
    /// Options of `verify`.
    #[serde(default)]
    pub verify: VerifyOptions,
}

const fn default_rounds() -> u32 {
    3
}

/// Four times the largest usual drive cache.
const fn default_size() -> Bytes {
    Bytes::gib(1)
}
