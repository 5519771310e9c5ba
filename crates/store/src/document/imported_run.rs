//! The document of a run that another program measured.

use drivescope_model::document::{FORMAT, Metric, Run, TestResult, TestStatus, Tool};
use drivescope_model::host::Host;
use drivescope_model::metrics::quantity_of;
use drivescope_model::options::{Suite, TestKind};
use drivescope_model::plan::{Engine, Plan};
use drivescope_model::target::{TargetInfo, TargetKind};
use drivescope_model::units::Bytes;
use jiff::Timestamp;
use std::collections::BTreeMap;

/// Figures of loads that are cells.
pub const TRANSFER: TestKind = TestKind::Transfer;
/// Figures of data read back.
pub const VERIFY: TestKind = TestKind::Verify;

/// Values by cell and quantity, one per round.
pub type Rounds = BTreeMap<(String, &'static str), Vec<f64>>;

pub struct ImportedRun<'s> {
    /// Whose metrics it has.
    pub test: TestKind,
    pub tool: &'s str,
    pub version: &'s str,
    /// Equal for equal texts.
    pub identity: &'s str,
    pub started: Timestamp,
    pub elapsed_s: f64,
    pub status: TestStatus,
    pub reason: Option<String>,
    /// Caution about its figures.
    pub note: Option<String>,
    pub host: &'s str,
    pub path: &'s str,
    pub engine: Engine,
}

impl<'s> ImportedRun<'s> {
    /// Of a text with the figures of cells, but neither date nor version.
    pub fn undated(tool: &'s str, text: &'s str) -> Self {
        Self {
            test: TRANSFER,
            tool,
            version: "unknown",
            identity: text,
            started: Timestamp::default(),
            elapsed_s: 0.0,
            status: TestStatus::Done,
            reason: None,
            note: Some("the text has no date".to_string()),
            host: "",
            path: "unknown",
            engine: Engine::Auto,
        }
    }

    pub fn with(self, rounds: Rounds) -> Run {
        let test = self.test;
        let mut result = TestResult::empty(test, self.status, self.reason);
        let metrics = rounds.into_iter();
        result.metrics =
            metrics.map(|((cell, quantity), it)| metric(test, &cell, quantity, it)).collect();
        result.elapsed_s = self.elapsed_s;
        let suite = Suite {
            name: self.tool.to_ascii_lowercase(),
            summary: format!("imported from {}", self.tool),
            tests: vec![test],
            ..Suite::default()
        };
        let plan = Plan {
            suite,
            seed: 0,
            engine: self.engine,
            tests: Vec::new(),
            own_folder: None,
            own_bytes: Bytes(0),
        };
        Run {
            format: FORMAT,
            id: id_of(self.identity),
            tool: Tool {
                name: self.tool.to_string(),
                version: self.version.to_string(),
                build: "imported".to_string(),
                commit: None,
                command_line: Vec::new(),
            },
            started_at: self.started.to_string(),
            elapsed_s: self.elapsed_s,
            status: self.status,
            label: None,
            note: self.note,
            price: None,
            health_after: None,
            earlier_capacity: None,
            temperature: None,
            decision: None,
            together: None,
            job: None,
            simulated: false,
            target: target(self.path),
            drive: None,
            host: Host { name: self.host.to_string(), ..Host::default() },
            calibration: None,
            gate: Vec::new(),
            plan,
            tests: vec![result],
            findings: Vec::new(),
            verdict: Vec::new(),
        }
    }
}

fn target(path: &str) -> TargetInfo {
    TargetInfo {
        kind: if path.starts_with("/dev/") { TargetKind::Block } else { TargetKind::File },
        path: path.to_string(),
        size_bytes: 0,
        file_system: None,
        stack: Vec::new(),
        system_disk: false,
        io_mode: None,
        io_align_bytes: 0,
    }
}

/// Median of the rounds, with their range as the interval.
fn metric(test: TestKind, cell: &str, quantity: &str, rounds: Vec<f64>) -> Metric {
    let key = format!("{test}.{cell}.{quantity}");
    let mut sorted = rounds.clone();
    sorted.sort_by(f64::total_cmp);
    let (last, middle) = (sorted.len() - 1, sorted.len() / 2);
    Metric {
        unit: quantity_of(&key).map_or(String::new(), |quantity| quantity.unit.to_string()),
        key,
        value: f64::midpoint(sorted[last - middle], sorted[middle]),
        low: sorted[0],
        high: sorted[last],
        valid: true,
        rounds,
        pooled: false,
        invalid_because: Vec::new(),
    }
}

/// FNV-1a, 48 bits: equal for equal texts, so that a second import is noticed.
fn id_of(text: &str) -> String {
    let hash = text.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    format!("{:012x}", hash >> 16)
}
