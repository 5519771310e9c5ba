//! What a user may choose: suites and the options of each test, one file a test. Every option is defined once:
//! suite files, `--set`, the plan and the run document all read and write these types.

mod align;
mod apps;
mod copy;
mod fill;
mod fill_files;
mod geometry;
mod latency;
mod part;
mod read_files;
mod self_test;
mod sql;
mod steady;
mod surface;
mod tiny_writes;
mod transfer;
mod verify;

pub use align::{AlignMethod, AlignOptions};
pub use apps::{AppsOptions, ReplayTiming, TraceFit};
pub use copy::{CopyMethod, CopyOptions, CopySet};
pub use fill::{FillMode, FillOptions};
pub use fill_files::FillFilesOptions;
pub use geometry::GeometryOptions;
pub use latency::{Arrivals, LatencyOptions, Rate};
pub use part::{NamedStart, PartStart};
pub use read_files::{FileOrder, ReadFilesOptions};
pub use self_test::{SelfTestLength, SelfTestOptions};
pub use sql::{DatabaseKind, Durability, SqlOptions, SqlPart};
pub use steady::{SteadyOptions, SteadySequence, TrackedFigure};
pub use surface::{SurfaceOptions, SurfacePreset, SurfaceWrite};
pub use tiny_writes::TinyWritesOptions;
pub use transfer::{CellBounds, Preset, TransferOptions};
pub use verify::{VerifyMode, VerifyOptions, VerifyPhase};

use crate::units::{Bytes, Secs};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;

/// A test: one question asked of a target.
///
/// Readers get results in this order, whatever ran first.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
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
    /// Traces of applications, replayed.
    Apps,
    /// Copies of large files and of many small ones.
    Copy,
    /// A file system that fills with files.
    FillFiles,
    /// Files of such a file system, read back.
    ReadFiles,
    /// What is left of the rate when it is steady.
    Steady,
    /// Databases whose files lie on the drive.
    Sql,
    /// Rotation, zones, seeks, caches, honesty of flushes, shingling.
    Geometry,
    /// The drive's own test of itself (SMART).
    SelfTest,
}

impl TestKind {
    /// In the order in which suites run them.
    pub const ALL: [Self; 15] = [
        Self::Transfer,
        Self::Latency,
        Self::Surface,
        Self::TinyWrites,
        Self::Align,
        Self::Fill,
        Self::Verify,
        Self::Apps,
        Self::Copy,
        Self::FillFiles,
        Self::ReadFiles,
        Self::Steady,
        Self::Sql,
        Self::Geometry,
        Self::SelfTest,
    ];

    /// On the command line and in metric keys.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Transfer => "transfer",
            Self::Latency => "latency",
            Self::Surface => "surface",
            Self::TinyWrites => "tiny-writes",
            Self::Align => "align",
            Self::Fill => "fill",
            Self::Verify => "verify",
            Self::Apps => "apps",
            Self::Copy => "copy",
            Self::FillFiles => "fill-files",
            Self::ReadFiles => "read-files",
            Self::Steady => "steady",
            Self::Sql => "sql",
            Self::Geometry => "geometry",
            Self::SelfTest => "self-test",
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
/// Suite files (TOML) have the same fields, of which only `tests` is needed, and where sizes and times may also be texts: `"1GiB"`, `"500ms"`.
/// `--set TEST.OPTION=VALUE` sets one of them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Suite {
    /// Name of the suite.
    pub name: String,
    /// One-line description.
    pub summary: String,
    /// Which tests, in which order.
    pub tests: Vec<TestKind>,
    /// Repetitions of each phase; a headline figure needs three.
    pub rounds: u32,
    /// Pause before each phase, so that caches and heat settle.
    pub pause: Secs,
    /// Requested size of the test file in a directory; `plan.own_bytes` is the size it got.
    pub size: Bytes,
    /// How much of a file or device is used; 0 means all of it.
    pub span: Bytes,
    /// Where that part begins: a number of bytes, or `end`; `null`: at the start. Positions in results
    /// count from there.
    pub offset: Option<PartStart>,
    /// Requests that the timed rounds of a simulated drive compute together, about. Where they would be more, rounds
    /// end after their share (6,000 to 10,000 at least, fewer large ones). 0: all rounds take their time.
    pub simulated_requests: u64,
    /// Options of `transfer`.
    pub transfer: TransferOptions,
    /// Options of `latency`.
    pub latency: LatencyOptions,
    /// Options of `surface`.
    pub surface: SurfaceOptions,
    /// Options of `tiny-writes`.
    #[serde(rename = "tiny-writes")]
    pub tiny_writes: TinyWritesOptions,
    /// Options of `align`.
    pub align: AlignOptions,
    /// Options of `fill`.
    pub fill: FillOptions,
    /// Options of `verify`.
    pub verify: VerifyOptions,
    /// Options of `apps`.
    pub apps: AppsOptions,
    /// Options of `copy`.
    pub copy: CopyOptions,
    /// Options of `fill-files`.
    #[serde(rename = "fill-files")]
    pub fill_files: FillFilesOptions,
    /// Options of `read-files`.
    #[serde(rename = "read-files")]
    pub read_files: ReadFilesOptions,
    /// Options of `steady`.
    pub steady: SteadyOptions,
    /// Options of `sql`.
    pub sql: SqlOptions,
    /// Options of `geometry`.
    pub geometry: GeometryOptions,
    /// Options of `self-test`.
    #[serde(rename = "self-test")]
    pub self_test: SelfTestOptions,
}

impl Default for Suite {
    fn default() -> Self {
        Self {
            name: String::new(),
            summary: String::new(),
            tests: Vec::new(),
            rounds: 3,
            pause: Secs::default(),
            // Four times the largest usual drive cache.
            size: Bytes::gib(1),
            span: Bytes::default(),
            offset: None,
            // Computed in some six seconds, on one core.
            simulated_requests: 6_000_000,
            transfer: TransferOptions::default(),
            latency: LatencyOptions::default(),
            surface: SurfaceOptions::default(),
            tiny_writes: TinyWritesOptions::default(),
            align: AlignOptions::default(),
            fill: FillOptions::default(),
            verify: VerifyOptions::default(),
            apps: AppsOptions::default(),
            copy: CopyOptions::default(),
            fill_files: FillFilesOptions::default(),
            read_files: ReadFilesOptions::default(),
            steady: SteadyOptions::default(),
            sql: SqlOptions::default(),
            geometry: GeometryOptions::default(),
            self_test: SelfTestOptions::default(),
        }
    }
}
