//! The run document: what `--json` prints, what the store keeps. docs/format.md describes it.

use crate::drive::Drive;
use crate::findings::{Finding, FindingId, Severity};
use crate::host::{Calibration, Host};
use crate::metrics::quantity_of;
use crate::options::TestKind;
use crate::plan::Plan;
use crate::resume::ResumePoint;
use crate::target::TargetInfo;
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
    /// Version.
    pub version: String,
    /// Build profile, `release` or `debug`.
    pub build: String,
}

/// How a run or a test ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum TestStatus {
    /// Everything ran.
    Done,
    /// Did not apply; `reason` says why.
    Skipped,
    /// Ended by an error; `reason` says which.
    Failed,
    /// Ended by a signal.
    Interrupted,
}

/// A number with its interval.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Metric {
    /// `test.cell.quantity_unit`.
    pub key: String,
    /// Median of the rounds.
    pub value: f64,
    /// Unit, as docs/format.md lists it.
    pub unit: String,
    /// Lower end of the 95 % interval; equals `value` with one round.
    pub low: f64,
    /// Upper end.
    pub high: f64,
    /// Every round, in order.
    pub rounds: Vec<f64>,
    /// Whether the number can be the drive's.
    pub valid: bool,
    /// Findings that made it invalid.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub invalid_because: Vec<FindingId>,
}

impl Metric {
    /// What shows that no measurement gave this, if so. Of a quantity that this version does not know only the
    /// interval is looked at: it may be a difference.
    pub fn impossible(&self) -> Option<String> {
        let Self { key, value, unit, low, high, rounds, .. } = self;
        let possible = quantity_of(key).map(|quantity| quantity.possible());
        let is_odd = |figure: &&f64| possible.as_ref().is_some_and(|range| !range.contains(figure));
        if let Some(odd) = std::iter::once(value).chain(rounds).find(is_odd) {
            return Some(format!("{odd} {unit}, which no measurement gives"));
        }
        // An end may be beyond what is possible: it says how little few rounds tell.
        let within = low <= value && value <= high;
        (!within).then(|| format!("{value} {unit}, outside its own interval from {low} to {high}"))
    }
}

/// A curve: rate over time, rate over position, access time over distance.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Series {
    /// `test.cell.quantity_unit` and, for rounds, `#1`.
    pub key: String,
    /// Unit of `x`: `s`, `bytes`, `share`.
    pub x_unit: String,
    /// Unit of `y`.
    pub y_unit: String,
    /// Abscissae.
    pub x: Vec<f64>,
    /// Ordinates.
    pub y: Vec<f64>,
}

/// A full latency distribution in nanoseconds, rounds merged.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Distribution {
    /// `test.cell`.
    pub key: String,
    /// `hdr-v2-deflate-base64`: readable by every HdrHistogram library.
    pub encoding: String,
    /// The histogram.
    pub data: String,
    /// Number of values.
    pub count: u64,
}

/// What held a phase back.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Limiter {
    /// The drive itself.
    Drive,
    /// The link to it.
    Link,
    /// One processor was busy all the time.
    Cpu,
    /// Making fresh data to write.
    Generator,
    /// The file system, or another layer of the machine above the drive.
    FileSystem,
    /// The machine between program and device, where there is no file system: system calls, the kernel's
    /// block layer, interrupts and wake-ups.
    Host,
    /// A limit of the control group (cgroup) that the program is in: finding F042.
    ControlGroup,
    /// Other programs, which held the processors while the load was ready to run.
    OtherPrograms,
    /// The drive slowed down within the phase.
    Throttling,
    /// The asked rate of an open loop.
    Schedule,
    /// Memory: the data never reached a drive.
    Memory,
}

impl Limiter {
    /// The words of reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Drive => "drive",
            Self::Link => "link",
            Self::Cpu => "one CPU",
            Self::Generator => "data generator",
            Self::FileSystem => "file system",
            Self::Host => "host",
            Self::ControlGroup => "control group",
            Self::OtherPrograms => "other programs",
            Self::Throttling => "throttling",
            Self::Schedule => "asked rate",
            Self::Memory => "memory",
        }
    }
}

/// One round of one phase, as it happened.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PhaseRecord {
    /// `cell` and direction, as in metric keys.
    pub cell: String,
    /// From 1.
    pub round: u32,
    /// Seconds after the start of the run.
    pub start_s: f64,
    /// Measured seconds.
    pub elapsed_s: f64,
    /// Bytes of the target over which the requests were spread, where they were.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub span_bytes: Option<u64>,
    /// Requests completed.
    pub ops: u64,
    /// Bytes moved.
    pub bytes: u64,
    /// Requests that failed.
    pub errors: u64,
    /// Mean number of requests in flight.
    pub depth_mean: f64,
    /// Processor time of the busiest thread, percent of one core.
    pub cpu_busiest_pct: f64,
    /// Processor time of the whole program, user mode, percent of one core.
    pub cpu_user_pct: f64,
    /// The same in the kernel.
    pub cpu_sys_pct: f64,
    /// Longest time that a measuring thread stood ready to run without a core, percent of the round.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu_wait_pct: Option<f64>,
    /// Processor time of other programs and of interrupts, percent of all cores.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu_others_pct: Option<f64>,
    /// What the hypervisor took of the processors, percent of all cores.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu_steal_pct: Option<f64>,
    /// Voluntary and involuntary context switches.
    pub context_switches: u64,
    /// What the kernel counted as read from the device meanwhile.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub device_read_bytes: Option<u64>,
    /// What the kernel counted as written to it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub device_written_bytes: Option<u64>,
    /// Share of the time the kernel saw the device busy.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub device_busy_pct: Option<f64>,
    /// Drive's temperature at the end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub temperature_c: Option<f64>,
    /// What held it back.
    pub limiter: Limiter,
}

/// What one test found.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TestResult {
    /// Which test.
    pub test: TestKind,
    /// How it ended.
    pub status: TestStatus,
    /// Why it was skipped or failed, in words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Where `--resume` can continue it, if it was stopped.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resume: Option<ResumePoint>,
    /// Seconds it took.
    pub elapsed_s: f64,
    /// The numbers.
    pub metrics: Vec<Metric>,
    /// The curves.
    pub series: Vec<Series>,
    /// The distributions.
    pub distributions: Vec<Distribution>,
    /// The rounds.
    pub phases: Vec<PhaseRecord>,
    /// What was noticed in this test.
    pub findings: Vec<Finding>,
}

impl TestResult {
    /// A result with nothing in it yet.
    pub fn empty(test: TestKind, status: TestStatus, reason: Option<String>) -> Self {
        Self {
            test,
            status,
            reason,
            resume: None,
            elapsed_s: 0.0,
            metrics: Vec::new(),
            series: Vec::new(),
            distributions: Vec::new(),
            phases: Vec::new(),
            findings: Vec::new(),
        }
    }

    /// Marks the metrics that `findings` (of the whole run) or the test's own make invalid.
    pub fn mark_invalid(&mut self, findings: &[Finding]) {
        let invalid = |finding: &&Finding| finding.severity == Severity::Invalid;
        for finding in findings.iter().chain(&self.findings).filter(invalid) {
            for metric in self.metrics.iter_mut().filter(|m| finding.concerns(&m.key)) {
                metric.valid = false;
                if !metric.invalid_because.contains(&finding.id) {
                    metric.invalid_because.push(finding.id);
                }
            }
        }
    }
}

/// One rule of a verdict: what a use needs, and what the drive gave.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Rule {
    /// The metric.
    pub metric: String,
    /// What it means in words: `random reads at depth 1`.
    pub what: String,
    /// What the drive gave.
    pub value: f64,
    /// The least (or, for latencies, the most) for three, two and one points.
    pub thresholds: [f64; 3],
    /// Whether smaller is better.
    pub smaller_is_better: bool,
    /// Unit of value and thresholds.
    pub unit: String,
    /// 0–3.
    pub points: u8,
}

/// What a drive suits.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Verdict {
    /// The use: `system drive`, `database`, …
    pub suits: String,
    /// 0–3, the least of its rules; absent when too little is known.
    pub points: Option<u8>,
    /// One sentence: the deciding rule and what would change it.
    pub because: String,
    /// All rules with evidence.
    pub rules: Vec<Rule>,
}

/// One check made before a target was used.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct GateCheck {
    /// What was checked.
    pub check: String,
    /// Whether it passed.
    pub passed: bool,
    /// What was seen.
    pub evidence: String,
}

/// Everything a run leaves behind.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Run {
    /// [`FORMAT`].
    pub format: u32,
    /// Twelve hexadecimal digits; any unique beginning names the run.
    pub id: String,
    /// The program.
    pub tool: Tool,
    /// When it began, RFC 3339 with the time zone.
    pub started_at: String,
    /// Seconds it took.
    pub elapsed_s: f64,
    /// How it ended.
    pub status: TestStatus,
    /// The user's label.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    /// What the drive cost.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub price: Option<Price>,
    /// Whether the drive is a simulated one.
    pub simulated: bool,
    /// What was measured.
    pub target: TargetInfo,
    /// The drive below it, when one is known.
    pub drive: Option<Drive>,
    /// The machine.
    pub host: Host,
    /// The tool's own cost.
    pub calibration: Calibration,
    /// Checks made before the target was used, and the looks at a claimed device meanwhile.
    pub gate: Vec<GateCheck>,
    /// What was to be run.
    pub plan: Plan,
    /// What was run.
    pub tests: Vec<TestResult>,
    /// Every finding of the run, those of its tests included.
    pub findings: Vec<Finding>,
    /// What the drive suits.
    pub verdict: Vec<Verdict>,
}

impl Run {
    /// The metric with this key, from any test.
    pub fn metric(&self, key: &str) -> Option<&Metric> {
        self.tests.iter().flat_map(|t| &t.metrics).find(|m| m.key == key)
    }
}
