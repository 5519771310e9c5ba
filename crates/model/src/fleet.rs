//! Machines, drives and jobs of a fleet: what agents announce, what is asked of them, and how it stands.

use crate::drive::{Drive, DriveKind};
use crate::plan::{Cost, WriteLevel};
use serde::{Deserialize, Serialize};

/// Version of [`JobPlan`]. An agent refuses plans of a later one.
pub const PLAN_FORMAT: u32 = 1;

/// A drive as the agent of its host announces it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FleetDrive {
    /// Identifies it among all drives of the fleet: model and serial number; of a drive that reports none, or is
    /// virtual or simulated, host and name.
    pub key: String,
    /// Kernel name, or `sim:…`.
    pub name: String,
    /// What `drivescope run` takes: a device node, or `sim:…`.
    pub target: String,
    /// Directories that its agent offers for tests that write files of their own.
    pub directories: Vec<String>,
    pub kind: DriveKind,
    pub model: Option<String>,
    pub serial: Option<String>,
    pub firmware: Option<String>,
    pub capacity_bytes: u64,
    pub link: Option<String>,
    /// A better link that both ends support.
    pub link_possible: Option<String>,
    pub temperature_c: Option<f64>,
    /// Used part of its file systems, 0 to 1; `None` if none is mounted.
    pub fill: Option<f64>,
    /// Partitions that begin within a physical sector.
    pub misaligned: Vec<String>,
}

impl FleetDrive {
    /// A drive that reports nothing else, which `drivescope run` takes by its name.
    pub fn named(name: &str, kind: DriveKind, capacity_bytes: u64) -> Self {
        Self {
            key: name.to_string(),
            name: name.to_string(),
            target: name.to_string(),
            directories: Vec::new(),
            kind,
            model: None,
            serial: None,
            firmware: None,
            capacity_bytes,
            link: None,
            link_possible: None,
            temperature_c: None,
            fill: None,
            misaligned: Vec::new(),
        }
    }

    /// `host` identifies a drive without a serial number.
    pub fn of(drive: &Drive, host: &str, fill: Option<f64>) -> Self {
        let reported = |text: &Option<String>| {
            let text = text.as_deref().map(str::trim).filter(|text| !text.is_empty());
            text.map(str::to_string)
        };
        let key = match (reported(&drive.model), reported(&drive.serial)) {
            // Hypervisors give the drives of many machines one serial number.
            (Some(model), Some(serial)) if drive.kind != DriveKind::Virtual => {
                format!("{model}|{serial}")
            }
            _ => format!("{host}|{}", drive.name),
        };
        // A database takes no NUL, which some bridges report.
        let key = key.replace('\0', "");
        let misaligned = drive.partitions.iter().filter(|it| it.misaligned_bytes > 0);
        Self {
            key,
            target: drive.path.clone(),
            model: drive.model.clone(),
            serial: drive.serial.clone(),
            firmware: drive.firmware.clone(),
            link: drive.link.as_ref().map(|link| link.name.clone()),
            link_possible: drive.link.as_ref().and_then(|link| link.possible.clone()),
            temperature_c: drive.temperature_c,
            fill,
            misaligned: misaligned.map(|it| it.name.clone()).collect(),
            ..Self::named(&drive.name, drive.kind, drive.capacity_bytes)
        }
    }
}

/// What an agent says of its machine and itself.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AgentFacts {
    /// Random, kept in the agent's folder: the host stays the same when it is renamed.
    pub id: String,
    pub name: String,
    /// Of the installation: the same on cloned machines.
    pub machine: String,
    /// Of this start of the machine.
    pub boot: String,
    /// Version of drivescope.
    pub version: String,
    /// The highest level of writing that the agent accepts.
    pub ceiling: WriteLevel,
    /// Jobs at the same time, at most.
    pub parallel: u32,
    /// Seconds between two polls.
    pub poll_s: f64,
}

/// A host as the database has it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FleetHost {
    pub agent: AgentFacts,
    /// Since its last poll, by the clock of the server.
    pub seen_s_ago: f64,
    pub drives: u32,
    /// Names of drives that it announced once and that are missing now, with the seconds since.
    pub missing: Vec<(String, f64)>,
    pub waiting: u32,
    pub running: u32,
    /// Name and id of a host that has the same machine id.
    pub same_machine_as: Option<String>,
}

impl FleetHost {
    /// An agent polls at least this often; after three missed polls it counts as lost.
    pub fn is_lost(&self) -> bool {
        self.seen_s_ago > 3.0 * self.agent.poll_s + 15.0
    }
}

/// A drive of the fleet with its host.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct HostDrive {
    pub host_id: String,
    pub host: String,
    pub drive: FleetDrive,
    /// Whether its host has it now.
    pub is_there: bool,
    /// Since its host announced it last.
    pub seen_s_ago: f64,
}

/// A drive that a submission chooses, and what its job is expected to take there.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ChosenDrive {
    #[serde(flatten)]
    pub drive: HostDrive,
    /// What is measured: a directory, a device node, or `sim:…`.
    pub place: String,
    pub cost: Cost,
}

/// A drive that a selector matches and a submission leaves out.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct LeftOutDrive {
    pub host: String,
    pub name: String,
    pub reason: String,
}

/// How fast a drive read in its newest stored run.
#[derive(Debug, Clone, PartialEq)]
pub struct DriveRate {
    pub run_id: String,
    /// Name of the host that measured it.
    pub host: Option<String>,
    /// Kernel name there.
    pub name: Option<String>,
    pub model: Option<String>,
    pub serial: Option<String>,
    pub firmware: Option<String>,
    /// Sequential reads of 1 MiB.
    pub read_mb_s: f64,
}

/// What is to be measured, as the submitter sends it: agents need no suite of that name.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct JobPlan {
    /// [`PLAN_FORMAT`].
    pub format: u32,
    /// Name of the suite.
    pub suite: String,
    /// Text of its TOML file.
    pub suite_text: String,
    /// Highest level of writing that it may use.
    pub level: WriteLevel,
    /// Seconds that a job is expected to take on a typical drive.
    pub expected_s: f64,
}

/// What many agents are asked for at once.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Submission {
    /// Chosen by the submitter: the same key is submitted once.
    pub key: String,
    pub plan: JobPlan,
    /// As it was typed.
    pub selector: String,
    pub submitted_by: String,
    /// Microseconds since 1970 by the clock of the server.
    pub submitted_unix_us: i64,
    /// All its jobs start their first measurement then, by the clock of the server.
    pub go_at_unix_us: Option<i64>,
    pub cancelled: bool,
}

/// A job of a drive that is submitted.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct NewJob {
    pub host_id: String,
    /// [`FleetDrive::key`].
    pub drive: String,
    pub name: String,
    /// Serial number that the submitter confirmed, for levels that write to the device.
    pub serial: Option<String>,
}

/// How a job stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum JobState {
    Waiting,
    Running,
    /// Measured; its run is, or will be, in the store.
    Done,
    /// Tried, without a result.
    Failed,
    /// The agent may not, or cannot, do it.
    Refused,
    Cancelled,
    /// It writes to a device, and its agent was lost: a person decides.
    Unknown,
}

impl JobState {
    pub const ALL: [Self; 7] = [
        Self::Waiting,
        Self::Running,
        Self::Done,
        Self::Failed,
        Self::Refused,
        Self::Cancelled,
        Self::Unknown,
    ];

    pub const fn name(self) -> &'static str {
        match self {
            Self::Waiting => "waiting",
            Self::Running => "running",
            Self::Done => "done",
            Self::Failed => "failed",
            Self::Refused => "refused",
            Self::Cancelled => "cancelled",
            Self::Unknown => "unknown",
        }
    }

    /// Errors: another program's word.
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|state| state.name() == name)
    }

    pub const fn is_problem(self) -> bool {
        matches!(self, Self::Failed | Self::Refused | Self::Unknown)
    }

    pub const fn has_ended(self) -> bool {
        !matches!(self, Self::Waiting | Self::Running)
    }
}

/// A job as the database has it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FleetJob {
    pub id: i64,
    pub submission: String,
    pub host_id: String,
    pub host: String,
    /// [`FleetDrive::key`].
    pub drive: String,
    /// Name of the drive on its host.
    pub name: String,
    pub state: JobState,
    pub attempt: u32,
    /// While it runs: seconds since its agent should have renewed it; the agent may be lost.
    pub overdue_s: Option<f64>,
    /// What it does now, and the part that is done, 0 to 1.
    pub phase: Option<String>,
    pub done: Option<f64>,
    pub run_id: Option<String>,
    pub exit_code: Option<i32>,
    /// Why it failed or was refused.
    pub message: Option<String>,
    /// Of a start at one instant: how much later the first measurement began.
    pub skew_ms: Option<f64>,
}

impl FleetJob {
    /// For people: a running job whose agent is lost is unknown.
    pub fn state_seen(&self) -> JobState {
        let is_lost = self.state == JobState::Running && self.overdue_s.is_some();
        if is_lost { JobState::Unknown } else { self.state }
    }
}

/// A job that an agent has taken.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TakenJob {
    pub id: i64,
    /// Which time it was taken; a result counts from the last attempt only.
    pub attempt: u32,
    pub submission: String,
    /// [`FleetDrive::key`].
    pub drive: String,
    pub serial: Option<String>,
    /// JSON of a [`JobPlan`], perhaps of a later version.
    pub plan: String,
    pub go_at_unix_us: Option<i64>,
}

/// The job for which a run was made; part of its document.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct RunJob {
    /// Number in the fleet's database.
    pub id: i64,
    /// Which time it was taken.
    pub attempt: u32,
    /// Key of the submission.
    pub submission: String,
    /// Name under which the agent has announced its host; `host.name` of the run, too.
    pub host: String,
    /// Where all jobs of the submission started at one instant.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub barrier: Option<RunBarrier>,
}

/// A start at one instant on several hosts.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct RunBarrier {
    /// The instant by the clock of the server, microseconds since 1970.
    pub go_at_unix_us: i64,
    /// Clock of the server less clock of this host.
    pub clock_offset_us: i64,
    /// How far that may be off: half the shortest round trip.
    pub clock_error_us: i64,
    /// How much later than the instant the first measurement began.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub skew_ms: Option<f64>,
}
