//! What a user may choose: suites and the options of each test. Every option is defined once, here:
//! suite files, `--set`, the plan and the run document all read and write these types.

mod align;

pub use align::{AlignMethod, AlignOptions};

use crate::cell::{Cell, Mix, Order, Shape};
use crate::plan::WriteLevel;
use crate::units::{Bytes, Secs};
use crate::whole_drive::{FillOptions, VerifyOptions};
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
    /// Whether the capacity is real and data read back.
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

    /// What the test may write, where it writes at all.
    pub const fn writes(self) -> WriteLevel {
        match self {
            Self::Transfer | Self::Latency | Self::TinyWrites => WriteLevel::OwnFiles,
            Self::Surface | Self::Align => WriteLevel::SameBytes,
            Self::Fill | Self::Verify => WriteLevel::Destroy,
        }
    }

    /// The question the test answers, for `drivescope tests`.
    pub const fn question(self) -> &'static str {
        match self {
            Self::Transfer => "how fast are large and small transfers, at which depth",
            Self::Latency => "how long does one small request take, by span and by load",
            Self::Surface => "how do speed and access time vary over the drive",
            Self::TinyWrites => "what does a program see that writes a few bytes at a time",
            Self::Align => {
                "how large is a physical sector, is it aligned, what does it cost if not"
            }
            Self::Fill => "how does the rate change as the drive is filled",
            Self::Verify => "is the capacity real, does data read back",
        }
    }
}

impl fmt::Display for TestKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A named list of tests with their options; one TOML file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Suite {
    /// Name on the command line.
    pub name: String,
    /// One line for `drivescope suites`.
    pub summary: String,
    /// Which tests, in which order.
    pub tests: Vec<TestKind>,
    /// Repetitions of each phase; a headline figure needs three or more.
    #[serde(default = "default_rounds")]
    pub rounds: u32,
    /// Pause before each phase, so that caches and heat settle.
    #[serde(default)]
    pub pause: Secs,
    /// Size of the test file in a directory; made smaller where it does not fit, unless asked for.
    #[serde(default = "default_size")]
    pub size: Bytes,
    /// On a file or device: how much of it is used, from its start; 0 is all of it.
    #[serde(default)]
    pub span: Bytes,
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

/// Named lists of shapes, as CrystalDiskMark 9 runs them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Preset {
    /// SEQ1M Q8T1, SEQ1M Q1T1, RND4K Q32T1, RND4K Q1T1.
    Default,
    /// SEQ1M Q8T1, SEQ128K Q32T1, RND4K Q32T16, RND4K Q1T1.
    Nvme,
    /// SEQ1M Q8T1, RND4K Q32T1.
    Peak,
    /// SEQ1M Q8T1, RND4K Q32T16.
    PeakNvme,
    /// SEQ1M Q1T1, RND4K Q1T1.
    RealWorld,
}

impl Preset {
    /// The shapes of the preset, in CrystalDiskMark's order.
    pub fn shapes(self) -> Vec<Shape> {
        let seq1m_q8 = Shape { order: Order::Seq, block: Bytes::mib(1), depth: 8, threads: 1 };
        let seq1m_q1 = Shape { depth: 1, ..seq1m_q8 };
        let seq128k_q32 = Shape { block: Bytes::kib(128), depth: 32, ..seq1m_q8 };
        let rnd4k_q1 = Shape { order: Order::Rnd, block: Bytes::kib(4), depth: 1, threads: 1 };
        let rnd4k_q32 = Shape { depth: 32, ..rnd4k_q1 };
        let rnd4k_q32t16 = Shape { threads: 16, ..rnd4k_q32 };
        match self {
            Self::Default => vec![seq1m_q8, seq1m_q1, rnd4k_q32, rnd4k_q1],
            Self::Nvme => vec![seq1m_q8, seq128k_q32, rnd4k_q32t16, rnd4k_q1],
            Self::Peak => vec![seq1m_q8, rnd4k_q32],
            Self::PeakNvme => vec![seq1m_q8, rnd4k_q32t16],
            Self::RealWorld => vec![seq1m_q1, rnd4k_q1],
        }
    }
}

/// Options of the `transfer` test.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct TransferOptions {
    /// Shapes by name of a preset; `shapes` adds to it.
    pub preset: Option<Preset>,
    /// Shapes such as `rnd4k_q32t1`.
    pub shapes: Vec<Shape>,
    /// Which directions each shape runs in: `read`, `write`, `mix70`.
    pub mixes: Vec<Mix>,
    /// Exactly these cells, such as `rnd4k_q1t1.read`, instead of every shape in every direction.
    pub cells: Vec<Cell>,
    /// Measured seconds of one round of one cell.
    pub time: Secs,
    /// Seconds of load before the measured time, not counted.
    pub ramp: Secs,
    /// On a block device whose contents are put back: how much of it the writing cells use, in the middle.
    pub area: Bytes,
}

impl Default for TransferOptions {
    fn default() -> Self {
        Self {
            preset: None,
            shapes: Vec::new(),
            mixes: vec![Mix::READ, Mix::WRITE],
            cells: Vec::new(),
            time: Secs(5.0),
            ramp: Secs(0.25),
            area: Bytes::mib(256),
        }
    }
}

/// How requests of an open loop arrive.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Arrivals {
    /// At equal distances.
    Fixed,
    /// With exponentially distributed distances, as independent users cause them.
    Poisson,
}

/// Rate of an open loop.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged, expecting = "a rate is a number of requests per second, or { percent = 50 }")]
pub enum Rate {
    /// Requests per second.
    Iops(f64),
    /// Share of what the drive did at depth 1 over the whole span just before.
    Share {
        /// Percent of the measured rate.
        percent: f64,
    },
}

/// Options of the `latency` test.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct LatencyOptions {
    /// Bytes per request.
    pub block: Bytes,
    /// Spans in percent of the target, each from its start.
    pub spans_pct: Vec<f64>,
    /// How requests of the open loops arrive.
    pub arrivals: Arrivals,
    /// Rates of the open loops; empty: none are run.
    pub rates: Vec<Rate>,
    /// Measured seconds of one round of one span or rate.
    pub time: Secs,
    /// Seconds of load before the measured time, not counted.
    pub ramp: Secs,
}

impl Default for LatencyOptions {
    fn default() -> Self {
        Self {
            block: Bytes::kib(4),
            spans_pct: vec![100.0, 12.5, 1.0],
            arrivals: Arrivals::Poisson,
            rates: vec![Rate::Share { percent: 50.0 }],
            time: Secs(5.0),
            ramp: Secs(0.1),
        }
    }
}

/// How `surface` samples the target.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum SurfacePreset {
    /// Our own: shuffled positions after an untimed lead-in, rounds in opposite orders.
    Sampled,
    /// GNOME Disks: positions in order, one page read untimed before each sample, accesses from
    /// GLib's generator with seed 42.
    GnomeDisks,
    /// bonnie++ zcav 1.03e: every block of the target in order, read in chunks.
    Zcav,
}

/// Whether `surface` also writes, and what.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum SurfaceWrite {
    /// What `--write` or `--destroy` allow: the same bytes, or fresh data. Without them nothing.
    Allowed,
    /// Nothing.
    No,
    /// Each stretch is read and the same bytes are written back, as GNOME Disks does.
    SameBytes,
    /// Fresh data; the contents are lost.
    Fresh,
}

/// Options of the `surface` test.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct SurfaceOptions {
    /// How positions are chosen.
    pub preset: SurfacePreset,
    /// Number of positions (ignored by `zcav`, which visits all).
    pub samples: u32,
    /// Bytes read at each position; the block of `zcav`.
    pub sample: Bytes,
    /// Bytes per request within a sample; the chunk of `zcav`.
    pub chunk: Bytes,
    /// Untimed bytes read just before a sample (`sampled` only).
    pub lead_in: Bytes,
    /// Random accesses for the access-time scatter.
    pub accesses: u32,
    /// Bytes per access.
    pub access_block: Bytes,
    /// Whether the same places are also written.
    pub write: SurfaceWrite,
    /// Number of positions that are written (`sampled` only; the others write where they read).
    pub write_samples: u32,
    /// Bytes written at each of them: many, because their time includes the turn of a disk before them and
    /// the flush behind. Together at most a hundredth of the target, if that is more than `sample` each.
    pub write_sample: Bytes,
}

impl Default for SurfaceOptions {
    fn default() -> Self {
        Self {
            preset: SurfacePreset::Sampled,
            samples: 64,
            sample: Bytes::mib(8),
            chunk: Bytes::mib(1),
            lead_in: Bytes::mib(2),
            accesses: 300,
            access_block: Bytes::kib(4),
            write: SurfaceWrite::Allowed,
            write_samples: 32,
            write_sample: Bytes::mib(256),
        }
    }
}

/// Options of the `tiny-writes` test.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct TinyWritesOptions {
    /// How much of the test file is written into; seed 001 used 512 MB.
    pub size: Bytes,
    /// Bytes of one small random write.
    pub write: Bytes,
    /// Bytes of one write or read of the `dd`-like streams.
    pub stream_block: Bytes,
    /// Most small writes of one round, so that flushing them stays bounded.
    pub writes: u32,
    /// Measured seconds of one round of one pattern.
    pub time: Secs,
}

impl Default for TinyWritesOptions {
    fn default() -> Self {
        Self {
            size: Bytes(512_000_000),
            write: Bytes(16),
            stream_block: Bytes(512),
            writes: 100_000,
            time: Secs(5.0),
        }
    }
}

impl TransferOptions {
    /// All shapes, the preset's first, none twice.
    pub fn all_shapes(&self) -> Vec<Shape> {
        let mut shapes = self.preset.map(Preset::shapes).unwrap_or_default();
        for shape in &self.shapes {
            if !shapes.contains(shape) {
                shapes.push(*shape);
            }
        }
        shapes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn presets_are_crystaldiskmarks() {
        let names = |p: Preset| p.shapes().iter().map(Shape::to_string).collect::<Vec<_>>();
        assert_eq!(
            names(Preset::Default),
            ["seq1m_q8t1", "seq1m_q1t1", "rnd4k_q32t1", "rnd4k_q1t1"]
        );
        assert_eq!(
            names(Preset::Nvme),
            ["seq1m_q8t1", "seq128k_q32t1", "rnd4k_q32t16", "rnd4k_q1t1"]
        );
        assert_eq!(names(Preset::Peak), ["seq1m_q8t1", "rnd4k_q32t1"]);
        assert_eq!(names(Preset::PeakNvme), ["seq1m_q8t1", "rnd4k_q32t16"]);
        assert_eq!(names(Preset::RealWorld), ["seq1m_q1t1", "rnd4k_q1t1"]);
    }

    #[test]
    fn a_shape_of_the_preset_is_not_run_twice() {
        let options = TransferOptions {
            preset: Some(Preset::RealWorld),
            shapes: vec!["rnd4k_q1t1".parse().unwrap(), "rnd4k_q4t1".parse().unwrap()],
            ..TransferOptions::default()
        };
        assert_eq!(options.all_shapes().len(), 3);
    }
}
