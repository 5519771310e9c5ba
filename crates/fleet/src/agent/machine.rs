//! What an agent needs of its machine: drives, jobs that run, and a record of each job that survives the agent.

use drivescope_model::fleet::{AgentFacts, FleetDrive, JobPlan, JobState, RunBarrier, TakenJob};
use drivescope_store::StoreError;
use serde::{Deserialize, Serialize};

/// The machine of an agent.
pub trait AgentMachine {
    type Job: RunningJob;

    fn facts(&self) -> &AgentFacts;

    /// The drives that are offered now.
    fn drives(&mut self) -> Vec<FleetDrive>;

    /// The record of a job, if this machine ever took it.
    fn record(&self, id: i64) -> Option<JobRecord>;

    /// Keeps a record; when this returns, it is on the disk. Errors: why not.
    fn keep(&mut self, record: &JobRecord) -> Result<(), String>;

    /// Starts a job. Its drive stays locked on this machine until it has ended, even if the agent ends before.
    fn start(&mut self, task: &JobTask) -> Result<Self::Job, StartFault>;

    /// A job that an earlier incarnation has started: what still runs, or how it ended. `None`: nothing of it is left.
    fn adopt(&mut self, record: &JobRecord, drive: &FleetDrive) -> Option<Self::Job>;

    /// Errors: the server cannot take runs of this agent, however well it takes the rest.
    fn check_store(&self) -> Result<(), StoreError>;

    /// Sends the runs that wait for the server. Returns a line for each that it refuses, once. Errors: it is away.
    fn send_runs(&mut self) -> Result<Vec<String>, StoreError>;
}

/// A job that was started.
pub trait RunningJob {
    /// Its run is kept, and waits for the server, before an end is answered.
    fn look(&mut self) -> JobLook;

    /// Asks it to end in order; it keeps its partial result.
    fn stop(&mut self);
}

/// A job that is to be started.
#[derive(Debug, Clone, PartialEq)]
pub struct JobTask {
    pub job: TakenJob,
    /// Name of this host.
    pub host: String,
    pub plan: JobPlan,
    pub drive: FleetDrive,
    /// What `drivescope run` is to measure.
    pub path: String,
    pub barrier: Option<RunBarrier>,
}

/// Why a job is not started.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StartFault {
    /// Another program holds the drive: later, perhaps.
    Busy(String),
    /// It cannot be done here.
    Refused(String),
}

/// What a running job does.
#[derive(Debug, Clone, PartialEq)]
pub enum JobLook {
    Running { phase: Option<String>, done: Option<f64> },
    Ended(JobOutcome),
}

/// How a job ended.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct JobOutcome {
    /// `None`: it left no run.
    pub run_id: Option<String>,
    /// `None`: a signal ended it, or the agent that started it is gone.
    pub exit_code: Option<i32>,
    /// Why it left no complete run.
    pub message: Option<String>,
    pub skew_ms: Option<f64>,
    /// Whether all tests of the plan ended.
    pub is_complete: bool,
    /// Whether it was asked to end.
    pub was_stopped: bool,
}

/// A job as the machine remembers it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct JobRecord {
    pub id: i64,
    pub submission: String,
    pub drive: String,
    pub attempt: u32,
    /// Whether it writes to the device itself.
    pub writes_device: bool,
    /// How often it was begun.
    pub begun: u32,
    /// How often it ended without a result, and not because it was asked to.
    pub crashes: u32,
    /// How it ended; `None` as long as it runs.
    pub end: Option<RecordedEnd>,
}

/// The end of a job as the machine remembers it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RecordedEnd {
    pub state: JobState,
    pub run_id: Option<String>,
    pub exit_code: Option<i32>,
    pub message: Option<String>,
    pub skew_ms: Option<f64>,
}

impl JobRecord {
    pub fn of(job: &TakenJob, writes_device: bool) -> Self {
        Self {
            id: job.id,
            submission: job.submission.clone(),
            drive: job.drive.clone(),
            attempt: job.attempt,
            writes_device,
            begun: 1,
            crashes: 0,
            end: None,
        }
    }

    /// A database that was made anew counts its jobs from 1 again.
    pub fn is_of(&self, job: &TakenJob) -> bool {
        self.submission == job.submission && self.drive == job.drive
    }
}
