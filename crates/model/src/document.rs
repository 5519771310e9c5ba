//! The run document: what `--json` prints, what the store keeps. docs/format.md describes it.

mod test_result;

pub use test_result::{
    DatabaseRecord, DatabaseSetting, Distribution, Limiter, Metric, PhaseRecord, Series,
    TestResult, TestStatus,
};

use crate::decision::Decision;
use crate::drive::Drive;
use crate::findings::Finding;
use crate::fleet::RunJob;
use crate::health::Health;
use crate::host::{Calibration, Host};
use crate::plan::Plan;
use crate::target::TargetInfo;
use crate::together::Together;
use crate::units::Price;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Version of the document. Readers refuse a larger one; fields may be added without a new version.
pub const FORMAT: u32 = 1;

/// The program that made a document.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Tool {
    /// `drivescope`.
    pub name: String,
    /// Version of the program.
    pub version: String,
    /// `release` or `debug`. A debug build uses more processor time per request.
    pub build: String,
    /// Commit of the sources that it was built from, where the build knew it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commit: Option<String>,
    /// How it was called: the program and its arguments. What is not UTF-8 has replacement characters.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub command_line: Vec<String>,
}

/// One rule of a verdict: what a use needs, and what the drive gave.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Rule {
    /// Key of the metric.
    pub metric: String,
    /// What the metric means, in words: `random reads at depth 1`.
    pub what: String,
    /// What the drive gave.
    pub value: f64,
    /// The least (or, for latencies, the most) for three, two and one points.
    pub thresholds: [f64; 3],
    /// Whether smaller values are better, so that the thresholds are upper limits.
    pub smaller_is_better: bool,
    /// Unit of value and thresholds.
    pub unit: String,
    /// Whether the value is so close to a threshold, by its interval or 5 %, that the next run may give other points.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub borderline: bool,
    /// Points, 0 to 3.
    pub points: u8,
}

/// What a drive suits, by the rules of `docs/verdicts.md`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Verdict {
    /// The use: `system drive`, `database`, `virtual machines`, `media library`, `backup`.
    pub suits: String,
    /// Points, 0 to 3: the lowest of its rules, and no more than findings about the drive allow; `null` when too little
    /// is known.
    pub points: Option<u8>,
    /// What was not tested and could lower the points: `end of drive`, `shingling`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub not_tested: Vec<String>,
    /// The points that the next run may give instead: the interval of a rule's metric lies across a threshold.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub borderline: Option<u8>,
    /// The deciding rule, in one sentence.
    pub because: String,
    /// Every rule for which there is a metric.
    pub rules: Vec<Rule>,
}

/// What an earlier run of `verify` found of the same drive's capacity.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct EarlierCapacity {
    /// The id of that run.
    pub run: String,
    /// When it began.
    pub started_at: String,
    /// Bytes that the drive announced.
    pub announced_bytes: u64,
    /// Bytes that it kept.
    pub real_bytes: u64,
    /// Only free space was tested, with files in a directory: `announced_bytes` is its size.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_of_free_space: bool,
}

/// One check made before a target was used.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct GateCheck {
    /// What was checked: `path`, `identity`, `access`. After raw writes also `looks`: the repeated checks for other
    /// users of the device while tests could write.
    pub check: String,
    /// Whether it passed; without that, a run does not begin. For `looks`: whether the last check found no other user.
    pub passed: bool,
    /// What was seen.
    pub evidence: String,
}

/// Everything a run leaves behind.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Run {
    /// Version of this format.
    pub format: u32,
    /// Twelve lower-case hexadecimal digits. On the command line, any unique beginning names the run.
    pub id: String,
    /// The program that made the document.
    pub tool: Tool,
    /// When the run began: RFC 3339 with the local offset, `2026-01-31T12:00:00+01:00`.
    pub started_at: String,
    /// From the start of the first test to the end of the last, preparation included.
    pub elapsed_s: f64,
    /// The worst status of its tests: `interrupted`, then `failed`, then `done`; `skipped` if none ran.
    pub status: TestStatus,
    /// The name given with `--label`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    /// What was noted of it afterwards, with `runs note`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// What the drive cost, from `--price`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub price: Option<Price>,
    /// Whether the drive is a simulated one.
    pub simulated: bool,
    /// What was measured.
    pub target: TargetInfo,
    /// The drive below the target; the device that several form (md, device mapper, bcache). `null` where none is
    /// known: a network, memory, a file system that itself spans several drives, an overlay whose layers are hidden.
    pub drive: Option<Drive>,
    /// Health of the drive after the last test; `drive.health` is the one before the first. Absent where either is
    /// unknown, and after an interruption.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub health_after: Option<Health>,
    /// What an earlier run in the store found of this drive's capacity, if this one does not test it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub earlier_capacity: Option<EarlierCapacity>,
    /// The drive's temperature over the time since the run began, from the kernel's sensor, or from SMART in a check
    /// where there is none. Of a run of hours every reading stands for more than ten seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub temperature: Option<Series>,
    /// Whether the drive is good enough to keep: of the suite `check`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decision: Option<Decision>,
    /// What was measured at the same time (`--together`), and what the drives share.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub together: Option<Together>,
    /// The job of a fleet for which it was made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub job: Option<RunJob>,
    /// The machine.
    pub host: Host,
    /// What the program itself costs on this machine. Not of a simulated drive, whose time is computed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub calibration: Option<Calibration>,
    /// The checks made before the target was used, and the repeated checks of a claimed device.
    pub gate: Vec<GateCheck>,
    /// What was to be run, with every option and the seed.
    pub plan: Plan,
    /// What was run, in the order of the plan; fewer than planned after an interruption.
    pub tests: Vec<TestResult>,
    /// Every finding, each id once: first those about the target, then those of the tests.
    pub findings: Vec<Finding>,
    /// What the drive suits; empty until the run has ended.
    pub verdict: Vec<Verdict>,
}

impl Run {
    pub fn metric(&self, key: &str) -> Option<&Metric> {
        self.tests.iter().flat_map(|t| &t.metrics).find(|m| m.key == key)
    }

    /// Rates first, although tests that only read run before those that write.
    pub fn tests_for_readers(&self) -> Vec<&TestResult> {
        let mut tests: Vec<&TestResult> = self.tests.iter().collect();
        tests.sort_by_key(|result| result.test);
        tests
    }

    /// Whether the machine knew the time: drivescope is newer than 2020, and a clock without battery begins in 1970.
    /// Results of other programs may be older.
    pub fn is_clock_set(&self) -> bool {
        self.tool.name != "drivescope" || self.started_at.as_str() >= "2020"
    }
}
