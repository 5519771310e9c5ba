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
    /// Expected duration on a typical drive of its kind.
    pub seconds: f64,
    /// Bytes expected to be read, as an order of magnitude.
    pub read_bytes: u64,
    /// Most bytes written to files or the device. Rounds of `transfer` and `tiny-writes` end with their share of it.
    /// What a file system adds by itself, such as its journal, is not counted.
    pub written_bytes: u64,
    /// How long one core computes on it, of a simulated drive; 0 on others.
    #[serde(default, skip_serializing_if = "is_nothing")]
    pub computed_s: f64,
}

fn takes_none(bytes: &Bytes) -> bool {
    bytes.0 == 0
}

fn is_nothing(seconds: &f64) -> bool {
    *seconds == 0.0
}

impl std::ops::Add for Cost {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self {
            seconds: self.seconds + other.seconds,
            // Times and rounds may be absurd; that is refused elsewhere, in words.
            read_bytes: self.read_bytes.saturating_add(other.read_bytes),
            written_bytes: self.written_bytes.saturating_add(other.written_bytes),
            computed_s: self.computed_s + other.computed_s,
        }
    }
}

/// What a test at the level `restore` overwrites and puts back.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Restores {
    /// Where the overwritten area begins; the figures of writing cells apply to it.
    pub from_bytes: u64,
    /// Length of that area.
    pub area_bytes: u64,
    /// Folder of the journal that held the original contents.
    pub journal: String,
    /// Space the journal took there.
    pub journal_bytes: u64,
}

/// One test of a plan.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PlannedTest {
    /// Which test.
    pub test: TestKind,
    /// What it may write.
    pub writes: WriteLevel,
    /// What it overwrites and puts back, at the level `restore`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub restores: Option<Restores>,
    /// What it was expected to cost; zero when skipped.
    pub cost: Cost,
    /// Space that files of its own take at a time, besides the test file; those of `copy` and `fill-files`.
    #[serde(default, skip_serializing_if = "takes_none")]
    pub files_bytes: Bytes,
    /// Why the cost is an upper bound, if it is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at_most: Option<String>,
    /// Requests after which its timed rounds end, if they would take too long to compute: on a simulated drive.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub round_requests: Option<u64>,
    /// Why it does not run here.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub skip: Option<String>,
    /// Parts of it that do not run here, each with its reason.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub omitted: Vec<String>,
}

/// Which I/O engine moves the data.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Engine {
    /// The faster of the two for each phase, which says in `phases` which one that was.
    Auto,
    /// io_uring with registered files and buffers.
    Uring,
    /// Threads with `pread` and `pwrite`.
    Threads,
    /// A simulated drive in virtual time.
    Sim,
}

impl Engine {
    pub const fn name(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::Uring => "uring",
            Self::Threads => "threads",
            Self::Sim => "sim",
        }
    }
}

/// A suite applied to one target.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Plan {
    /// The suite with every option as it was used, overrides included.
    pub suite: Suite,
    /// Seed of all random choices: offsets, orders, data. The same plan repeats the same requests.
    pub seed: u64,
    /// What moved the data, as asked for or found by a probe (`tiny-writes` always uses threads).
    pub engine: Engine,
    /// The tests in order.
    pub tests: Vec<PlannedTest>,
    /// Where the program's own files were made; `…` stands for a process id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub own_folder: Option<String>,
    /// Size of the test file, the most space that it took; 0 if none was made.
    pub own_bytes: Bytes,
}

impl Plan {
    /// Of the tests that run.
    pub fn cost(&self) -> Cost {
        self.tests.iter().fold(Cost::default(), |sum, test| sum + test.cost)
    }

    /// Most space that scratch files take at a time.
    pub fn space_bytes(&self) -> Bytes {
        let most = self.active().map(|test| test.files_bytes.0).max();
        Bytes(self.own_bytes.0.saturating_add(most.unwrap_or(0)))
    }

    pub fn active(&self) -> impl Iterator<Item = &PlannedTest> {
        self.tests.iter().filter(|test| test.skip.is_none())
    }
}
