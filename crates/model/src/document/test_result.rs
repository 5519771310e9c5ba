//! What a test leaves: its numbers, curves, distributions, rounds and findings.

use crate::findings::{Finding, FindingId, Severity};
use crate::health::SelfTest;
use crate::metrics::quantity_of;
use crate::options::{DatabaseKind, TestKind};
use crate::plan::Engine;
use crate::resume::ResumePoint;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How a run or a test ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum TestStatus {
    /// Everything ran.
    Done,
    /// Not applicable; `reason` says why.
    Skipped,
    /// Ended by an error; `reason` says which.
    Failed,
    /// Ended by a signal.
    Interrupted,
}

/// A number with its 95 % interval.
///
/// From six rounds on, the interval lies between two of the rounds (order statistics, no assumption); with fewer,
/// Student's t gives a wide one: on logarithms where all rounds are above 0, as rates and times are.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Metric {
    /// `test.cell.quantity`.
    pub key: String,
    /// Median of the rounds; for an extreme (largest, slowest …), the most extreme of all rounds.
    pub value: f64,
    /// Unit of every number in this object.
    pub unit: String,
    /// Lower end of the 95 % interval of the median, at least 0, and above it where all rounds are; for an extreme, the
    /// smallest round.
    pub low: f64,
    /// Upper end; for an extreme, the largest round. With one round, both ends equal `value` and say nothing about the
    /// spread.
    pub high: f64,
    /// Every round, in order; one figure if it is pooled.
    pub rounds: Vec<f64>,
    /// A percentile of the requests of all rounds together, because single rounds have too few. It has no interval:
    /// `low` and `high` repeat the value.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub pooled: bool,
    /// Whether the number can be the drive's.
    pub valid: bool,
    /// Ids of the findings that made it invalid.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub invalid_because: Vec<FindingId>,
}

impl Metric {
    /// What shows that no measurement gave this, if so. Of a quantity that this version does not know only the
    /// interval is checked: it may be a difference.
    pub fn impossible(&self) -> Option<String> {
        let Self { key, value, unit, low, high, rounds, .. } = self;
        let possible = quantity_of(key).map(|quantity| quantity.possible());
        let is_odd = |figure: &&f64| possible.as_ref().is_some_and(|range| !range.contains(figure));
        if let Some(odd) = std::iter::once(value).chain(rounds).find(is_odd) {
            return Some(format!("{odd} {unit}, which no measurement gives"));
        }
        // An end may be beyond what is possible: it says how little few rounds show.
        let within = low <= value && value <= high;
        (!within).then(|| format!("{value} {unit}, outside its own interval from {low} to {high}"))
    }
}

/// A curve: rate over time, rate over position, access time over distance.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Series {
    /// `test.cell.quantity`, followed by `#1` for a single round.
    pub key: String,
    /// Unit of `x`: `s`, `bytes`, `share` (0 to 1 of the target), or `round`.
    pub x_unit: String,
    /// Unit of `y`.
    pub y_unit: String,
    /// Abscissae.
    pub x: Vec<f64>,
    /// Ordinates, one for each abscissa.
    pub y: Vec<f64>,
}

/// A full latency distribution in nanoseconds, rounds merged.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Distribution {
    /// `test.cell`.
    pub key: String,
    /// `hdr-v2-deflate-base64`, which every HdrHistogram library reads.
    pub encoding: String,
    /// The histogram.
    pub data: String,
    /// Number of requests in the histogram, all rounds together.
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
    /// The requested rate of an open loop.
    Schedule,
    /// Memory: the data never reached a drive.
    Memory,
    /// The database: its locks, its waits, and the way to it and back.
    Database,
}

impl Limiter {
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
            Self::Database => "database",
        }
    }
}

/// One round of one cell, as it happened.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PhaseRecord {
    /// Cell, as in metric keys but without the test.
    pub cell: String,
    /// From 1.
    pub round: u32,
    /// When it began, counted from the start of the run.
    pub start_s: f64,
    /// Measured time, without the share spent on requests still in flight at the end.
    pub elapsed_s: f64,
    /// Bytes of the target over which the requests were spread, where they were.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub span_bytes: Option<u64>,
    /// Requests completed within the measured time.
    pub ops: u64,
    /// Bytes moved by these requests.
    pub bytes: u64,
    /// Requests that failed.
    pub errors: u64,
    /// Mean number of requests in flight (Little's law).
    pub depth_mean: f64,
    /// Processor time of the busiest thread, in percent of one core, ramp included; 0 on simulated drives.
    pub cpu_busiest_pct: f64,
    /// User-mode processor time of all load threads, in percent of one core, so it may exceed 100; split from kernel
    /// time as `cpu_user_ns_per_io` is; 0 on simulated drives.
    pub cpu_user_pct: f64,
    /// The same for kernel mode.
    pub cpu_sys_pct: f64,
    /// Longest time a measuring thread was ready to run but had no core (`schedstat`), in percent of the round.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu_wait_pct: Option<f64>,
    /// Processor time of other programs and of interrupts (`/proc/stat`), in percent of all cores.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu_others_pct: Option<f64>,
    /// Processor time taken by the hypervisor (`steal` in `/proc/stat`), in percent of all cores.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu_steal_pct: Option<f64>,
    /// Voluntary and involuntary context switches.
    pub context_switches: u64,
    /// Bytes read meanwhile from the topmost block device by any program, as the kernel counted them; the sum over all
    /// devices where the file system itself spans several.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub device_read_bytes: Option<u64>,
    /// The same for writes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub device_written_bytes: Option<u64>,
    /// Share of the time the kernel saw that device busy; for several devices the sum of their shares, at most 100.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub device_busy_pct: Option<f64>,
    /// Temperature of the drive at the end of the round.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub temperature_c: Option<f64>,
    /// What held the round back.
    pub limiter: Limiter,
    /// What sent the requests.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub engine: Option<Engine>,
    /// Histogram of the latencies of this round, encoded as those of `distributions`; absent without any, and of rounds
    /// of `steady` outside its window.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub latencies: Option<String>,
}

/// What one test found.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TestResult {
    /// Which test.
    pub test: TestKind,
    /// How it ended. A failed test keeps what it had measured.
    pub status: TestStatus,
    /// Why it was skipped or failed, or which parts did not run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Where `--resume` can continue it, if it was stopped.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resume: Option<ResumePoint>,
    /// How long it took, preparation included.
    pub elapsed_s: f64,
    /// The numbers.
    pub metrics: Vec<Metric>,
    /// The curves.
    pub series: Vec<Series>,
    /// The latency distributions.
    pub distributions: Vec<Distribution>,
    /// Every round, as it happened.
    pub phases: Vec<PhaseRecord>,
    /// What was noticed in this test.
    pub findings: Vec<Finding>,
    /// Databases that `sql` measured.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub databases: Vec<DatabaseRecord>,
    /// How the drive's own test ended, of `self-test`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub self_test: Option<SelfTest>,
}

/// A database that `sql` measured, and how it was set.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DatabaseRecord {
    /// The database product.
    pub database: DatabaseKind,
    /// Its version, as it says itself.
    pub version: String,
    /// Bytes of the table, as it lies on the drive.
    pub table_bytes: u64,
    /// Its rows.
    pub rows: u64,
    /// Its own buffers.
    pub buffer_bytes: u64,
    /// Nothing was asked of a database: its requests, to a simulated drive, follow a pattern that was recorded of one
    /// (SQL Server's is from its documentation).
    #[serde(default)]
    pub is_prediction: bool,
    /// Settings that matter.
    pub settings: Vec<DatabaseSetting>,
}

/// A setting of a database.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DatabaseSetting {
    /// Its name there.
    pub name: String,
    /// As the database prints it.
    pub value: String,
}

impl TestResult {
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
            databases: Vec::new(),
            self_test: None,
        }
    }

    /// Joins it to the finding with the same id, if there is one.
    pub fn add_finding(&mut self, finding: Finding) {
        match self.findings.iter_mut().find(|known| known.id == finding.id) {
            Some(known) => known.join(finding),
            None => self.findings.push(finding),
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
