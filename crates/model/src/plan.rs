//! A plan: a suite applied to one target. It can be printed before anything runs.

use crate::options::{Suite, TestKind};
use crate::units::Bytes;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What a test may write, from nothing to everything.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum WriteLevel {
    /// Opened read-only.
    Read,
    /// A directory of its own, removed afterwards.
    OwnFiles,
    /// Reads a region and writes the identical bytes back.
    SameBytes,
    /// Patterns, with the originals in a durable journal on another device.
    Restore,
    /// Contents lost.
    Destroy,
}

impl WriteLevel {
    /// The name users see.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::OwnFiles => "own-files",
            Self::SameBytes => "same-bytes",
            Self::Restore => "restore",
            Self::Destroy => "destroy",
        }
    }
}

/// What a test is expected to cost.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Cost {
    /// Seconds, with the drive assumed for its kind.
    pub seconds: f64,
    /// Bytes read from the target, at most by order of magnitude.
    pub read_bytes: u64,
    /// Bytes written to the target, at most.
    pub written_bytes: u64,
}

impl std::ops::Add for Cost {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self {
            seconds: self.seconds + other.seconds,
            // Times and rounds may be absurd; that is refused elsewhere, in words.
            read_bytes: self.read_bytes.saturating_add(other.read_bytes),
            written_bytes: self.written_bytes.saturating_add(other.written_bytes),
        }
    }
}

/// What a test at [`WriteLevel::Restore`] overwrites and puts back.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Restores {
    /// Where the area that is written begins.
    pub from_bytes: u64,
    /// How long it is.
    pub area_bytes: u64,
    /// Folder of the journal that holds its originals meanwhile.
    pub journal: String,
    /// Space that the journal takes there.
    pub journal_bytes: u64,
}

/// One test of a plan.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PlannedTest {
    /// Which test.
    pub test: TestKind,
    /// What it may write.
    pub writes: WriteLevel,
    /// What it overwrites and puts back, where it does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub restores: Option<Restores>,
    /// What it is expected to cost; zero when skipped.
    pub cost: Cost,
    /// Why the cost is an upper bound, if it is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at_most: Option<String>,
    /// Why it will not run, if so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub skip: Option<String>,
    /// Parts of it that will not run, each with its reason.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub omitted: Vec<String>,
}

/// Which I/O engine moves the data.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Engine {
    /// io_uring with registered files and buffers.
    Uring,
    /// Threads with `pread` and `pwrite`.
    Threads,
    /// A simulated drive in virtual time.
    Sim,
}

impl Engine {
    /// The name users see.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Uring => "uring",
            Self::Threads => "threads",
            Self::Sim => "sim",
        }
    }
}

/// A suite applied to one target.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Plan {
    /// The suite with every option as it will be used.
    pub suite: Suite,
    /// Seed of all random choices: offsets, orders, data.
    pub seed: u64,
    /// Engine, after the probe.
    pub engine: Engine,
    /// The tests in order.
    pub tests: Vec<PlannedTest>,
    /// Where the target's own files will live, if any are made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub own_folder: Option<String>,
    /// Largest space the own files take.
    pub own_bytes: Bytes,
}

impl Plan {
    /// Sum over the tests that run.
    pub fn cost(&self) -> Cost {
        self.tests.iter().fold(Cost::default(), |sum, test| sum + test.cost)
    }

    /// Tests that will run.
    pub fn active(&self) -> impl Iterator<Item = &PlannedTest> {
        self.tests.iter().filter(|test| test.skip.is_none())
    }
}
