//! The agent of a host: announces its drives, takes jobs for them, and brings their results into the store.
//!
//! It polls, and the server never calls it. While the server is away its jobs run on, and their runs are kept on the
//! machine. What the database asks for is checked here once more: the ceiling of levels, the plan, and which drive is
//! meant.

mod clock;
mod decision;
mod machine;
mod pace;
mod recovery;

pub use clock::{ClockLook, ServerClock, local_unix_us};
pub use machine::{
    AgentMachine, JobLook, JobOutcome, JobRecord, JobTask, RecordedEnd, RunningJob, StartFault,
};

use crate::submission;
use crate::tables::{FleetTables, HeldJob, JobEnd};
use drivescope_model::fleet::{FleetDrive, JobState, RunBarrier, TakenJob};
use drivescope_store::{StoreError, StoreFault, StoreLocation};
use pace::Pace;
use std::time::{Duration, Instant};

/// Drives are announced at least this often; and whenever they have changed.
const ANNOUNCE_EVERY: Duration = Duration::from_secs(600);
/// Looks at the server's clock before a start at one instant.
const CLOCK_LOOKS: usize = 7;

/// What an agent tells its user.
pub type Tell<'t> = dyn FnMut(&str) + 't;

/// Why an agent cannot go on.
#[derive(Debug, thiserror::Error)]
pub enum AgentError {
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error("{0}")]
    Away(String),
    #[error("{0}")]
    Identity(String),
    #[error("the agent of this host's last start was seen just now")]
    Held,
    #[error("{0}")]
    Record(String),
}

/// A job in progress.
struct Running<J> {
    job: J,
    record: JobRecord,
    drive: FleetDrive,
    held: HeldJob,
    is_cancelled: bool,
}

/// The agent of a machine.
pub struct Agent<M: AgentMachine> {
    location: StoreLocation,
    machine: M,
    incarnation: String,
    tables: Option<FleetTables>,
    clock: ServerClock,
    running: Vec<Running<M::Job>>,
    /// Ends that the server does not know yet.
    ended: Vec<JobEnd>,
    drives: Vec<FleetDrive>,
    has_connected: bool,
    is_ending: bool,
    away: Option<String>,
    last_taken: Option<usize>,
    announced: Option<Instant>,
    /// Whether the database may name jobs here that this incarnation does not know.
    must_recover: bool,
    pace: Pace,
    /// Ended jobs, and of those that failed or were refused, since the start.
    pub done: (u64, u64),
}

impl<M: AgentMachine> Agent<M> {
    /// `incarnation` is random; `seed` spreads the polls of many agents.
    pub fn new(location: StoreLocation, machine: M, incarnation: String, seed: u64) -> Self {
        let pace = Pace::new(Duration::from_secs_f64(machine.facts().poll_s), seed);
        Self {
            location,
            machine,
            incarnation,
            tables: None,
            clock: ServerClock::default(),
            running: Vec::new(),
            ended: Vec::new(),
            drives: Vec::new(),
            has_connected: false,
            is_ending: false,
            away: None,
            last_taken: None,
            announced: None,
            must_recover: true,
            pace,
            done: (0, 0),
        }
    }

    pub fn machine(&self) -> &M {
        &self.machine
    }

    /// Whether nothing runs, and the server knows of every end.
    pub fn is_idle(&self) -> bool {
        self.running.is_empty() && self.ended.is_empty()
    }

    /// Looks at the running jobs and, when it is time, at the server. Returns how long to wait until the next call.
    ///
    /// Errors: another machine has this host's id; a record cannot be written; the server refuses this agent. A server
    /// that is away is no error.
    pub fn step(&mut self, tell: &mut Tell<'_>) -> Result<Duration, AgentError> {
        self.look_at_jobs(tell)?;
        if self.pace.is_due() {
            let polled = self.poll(tell);
            match polled {
                Ok(taken) => self.pace.polled(taken, !self.running.is_empty()),
                Err(error) if self.is_passing(&error) => {
                    let away = error.to_string();
                    if self.away.as_ref() != Some(&away) {
                        tell(&format!("{away}; trying again, jobs run on meanwhile"));
                    }
                    self.tables = None;
                    self.must_recover = true;
                    self.away = Some(away);
                    self.pace.failed();
                }
                Err(error) => return Err(error),
            }
        }
        Ok(self.pace.wait(!self.running.is_empty()))
    }

    /// Whether trying again later may help: until the first poll that succeeds, only if the server is away or busy;
    /// later, the results of jobs must not be lost, whatever is wrong with the server.
    fn is_passing(&self, error: &AgentError) -> bool {
        match error {
            AgentError::Held => true,
            AgentError::Store(error) => {
                let is_away = matches!(error.fault, StoreFault::Unreachable | StoreFault::Locked);
                self.has_connected || is_away
            }
            _ => false,
        }
    }

    /// Why the server could not be used at the last poll.
    pub fn away(&self) -> Option<AgentError> {
        self.away.as_ref().map(|error| AgentError::Away(error.clone()))
    }

    pub fn has_jobs(&self) -> bool {
        !self.running.is_empty()
    }

    /// Whether the last poll answered that no job waits for this host.
    pub fn has_seen_nothing_to_do(&self) -> bool {
        self.away.is_none() && self.last_taken == Some(0)
    }

    /// Asks all jobs to end, for an agent that ends; it takes no more.
    pub fn stop_jobs(&mut self) {
        self.is_ending = true;
        for running in &mut self.running {
            running.job.stop();
        }
    }

    /// Lets the next agent of this host begin at once. A server that is away finds out by itself.
    pub fn sign_off(&mut self) {
        let host = self.machine.facts().id.clone();
        if let Some(tables) = &mut self.tables {
            let _ = tables.sign_off(&host, &self.incarnation);
        }
    }

    /// Polls at once.
    pub fn hurry(&mut self) {
        self.pace.hurry();
    }

    fn poll(&mut self, tell: &mut Tell<'_>) -> Result<bool, AgentError> {
        self.connect()?;
        self.send_ends(tell)?;
        if self.must_recover {
            self.recover(tell)?;
            self.must_recover = false;
        }
        self.announce_drives()?;
        let facts = self.machine.facts();
        let slots = (facts.parallel as usize).saturating_sub(self.running.len());
        let slots = if self.is_ending { 0 } else { slots };
        let (host, lease_s) = (facts.id.clone(), 3.0 * facts.poll_s + 60.0);
        let held: Vec<HeldJob> = self.running.iter().map(|it| it.held.clone()).collect();
        let busy: Vec<String> = self.running.iter().map(|it| it.drive.key.clone()).collect();
        let sent_us = local_unix_us();
        let tables = self.tables.as_mut().expect("it is connected");
        let identity = (host.as_str(), self.incarnation.as_str());
        let answer = tables.beat(identity, &held, &busy, (slots as u32, lease_s))?;
        if !answer.is_known {
            // Restored from a backup, forgotten, or taken over: announcing decides.
            self.announced = None;
            self.tables = None;
            self.pace.hurry();
            return Ok(false);
        }
        if self.away.take().is_some() || !self.has_connected {
            let facts = self.machine.facts();
            tell(&format!("host {} announced to {}", facts.name, self.location.shown()));
        }
        self.has_connected = true;
        self.clock.note(sent_us, answer.server_unix_us, local_unix_us());
        for running in &mut self.running {
            let renewed = answer.renewed.iter().find(|it| it.id == running.record.id);
            if renewed.is_some_and(|it| it.cancelled) && !running.is_cancelled {
                running.is_cancelled = true;
                running.job.stop();
            }
        }
        // The answer to an earlier beat was lost after the server had given out jobs.
        self.must_recover = answer.strays > 0;
        let has_taken = !answer.taken.is_empty();
        self.last_taken = Some(answer.taken.len());
        for job in answer.taken {
            self.begin(job, tell)?;
        }
        Ok(has_taken)
    }

    fn connect(&mut self) -> Result<(), AgentError> {
        if self.tables.is_some() {
            return Ok(());
        }
        let mut tables = FleetTables::open(&self.location, true)?;
        if !self.has_connected {
            self.machine.check_store()?;
        }
        let facts = self.machine.facts();
        let stale_s = 3.0 * facts.poll_s + 15.0;
        if !tables.announce_host(facts, &self.incarnation, stale_s)? {
            let holder = tables.holder(&facts.id)?;
            // A machine that has just started again: its former agent is not seen any more, soon.
            self.pace.check_holder(&facts.id, holder)?;
            return Err(AgentError::Held);
        }
        self.pace.forget_holder();
        self.tables = Some(tables);
        self.announced = None;
        Ok(())
    }

    fn announce_drives(&mut self) -> Result<(), AgentError> {
        if self.announced.is_some_and(|at| at.elapsed() < ANNOUNCE_EVERY) {
            return Ok(());
        }
        self.drives = self.machine.drives();
        let host = self.machine.facts().id.clone();
        self.tables.as_mut().expect("it is connected").announce_drives(&host, &self.drives)?;
        self.announced = Some(Instant::now());
        Ok(())
    }

    /// Runs first, then the ends that name them.
    fn send_ends(&mut self, tell: &mut Tell<'_>) -> Result<(), AgentError> {
        // Also without an end: an earlier incarnation may have left runs.
        self.machine.send_runs()?.iter().for_each(|refused| tell(refused));
        let host = self.machine.facts().id.clone();
        while let Some(end) = self.ended.first() {
            let tables = self.tables.as_mut().expect("it is connected");
            if !tables.end_job(&host, end)? {
                tell(&format!("job {}: attempt {} counts no longer", end.id, end.attempt));
            }
            self.ended.remove(0);
        }
        Ok(())
    }

    /// Starts a job that was taken, or ends it at once.
    fn begin(&mut self, job: TakenJob, tell: &mut Tell<'_>) -> Result<(), AgentError> {
        let known = self.machine.record(job.id).filter(|record| record.is_of(&job));
        // The database was restored from a backup: what was done stays done.
        if let Some(end) = known.as_ref().and_then(|record| record.end.clone())
            && matches!(end.state, JobState::Done | JobState::Failed)
        {
            self.end(&job, end);
            return Ok(());
        }
        let task = match self.task(&job) {
            Ok(task) => task,
            Err(why) => {
                tell(&format!("job {} refused: {why}", job.id));
                self.end(&job, decision::refused(why));
                return Ok(());
            }
        };
        let mut record = JobRecord::of(&job, decision::writes_device(&task.plan));
        if let Some(known) = known {
            (record.crashes, record.begun) = (known.crashes, known.begun + 1);
        }
        self.machine.keep(&record).map_err(AgentError::Record)?;
        match self.machine.start(&task) {
            Ok(started) => {
                tell(&format!("job {}: {} on {}", job.id, task.plan.suite, task.drive.name));
                self.run(started, record, task.drive);
            }
            Err(StartFault::Busy(why)) => {
                let mut end = decision::refused(why);
                end.state = JobState::Waiting;
                self.ended.push(decision::job_end((job.id, job.attempt), end));
            }
            Err(StartFault::Refused(why)) => {
                tell(&format!("job {} refused: {why}", job.id));
                record.end = Some(decision::refused(why.clone()));
                self.machine.keep(&record).map_err(AgentError::Record)?;
                self.end(&job, decision::refused(why));
            }
        }
        Ok(())
    }

    fn run(&mut self, job: M::Job, record: JobRecord, drive: FleetDrive) {
        let held = HeldJob { id: record.id, attempt: record.attempt, phase: None, done: None };
        self.running.push(Running { job, record, drive, held, is_cancelled: false });
    }

    /// What a taken job means on this machine. Errors: why it is refused.
    fn task(&mut self, job: &TakenJob) -> Result<JobTask, String> {
        let plan = submission::read(&job.plan)?;
        let drive = self.drive(&job.drive)?;
        let path = decision::check(&plan, job, &drive, self.machine.facts().ceiling)?;
        let barrier = job.go_at_unix_us.map(|at| self.barrier(at)).transpose()?;
        let host = self.machine.facts().name.clone();
        Ok(JobTask { job: job.clone(), host, plan, drive, path, barrier })
    }

    fn drive(&mut self, key: &str) -> Result<FleetDrive, String> {
        if !self.drives.iter().any(|drive| drive.key == key) {
            self.drives = self.machine.drives();
        }
        let found = self.drives.iter().find(|drive| drive.key == key).cloned();
        found.ok_or_else(|| "the drive is not in this host now".to_string())
    }

    /// Looks at the server's clock some times more. Errors: the instant is over.
    fn barrier(&mut self, go_at_unix_us: i64) -> Result<RunBarrier, String> {
        for _ in 0..CLOCK_LOOKS {
            let sent_us = local_unix_us();
            let Some(Ok(server_us)) = self.tables.as_ref().map(FleetTables::clock_unix_us) else {
                break;
            };
            self.clock.note(sent_us, server_us, local_unix_us());
        }
        let look = self.clock.best().ok_or("the clock of the server is not known")?;
        let late_us = local_unix_us() + look.offset_us - go_at_unix_us;
        if late_us > 0 {
            return Err(format!("taken {:.1} s after the common start", late_us as f64 / 1e6));
        }
        Ok(RunBarrier {
            go_at_unix_us,
            clock_offset_us: look.offset_us,
            clock_error_us: look.error_us,
            skew_ms: None,
        })
    }

    fn look_at_jobs(&mut self, tell: &mut Tell<'_>) -> Result<(), AgentError> {
        let mut at = 0;
        while let Some(running) = self.running.get_mut(at) {
            match running.job.look() {
                JobLook::Running { phase, done } => {
                    (running.held.phase, running.held.done) = (phase, done);
                    at += 1;
                }
                JobLook::Ended(outcome) => {
                    let running = self.running.remove(at);
                    self.conclude((running.record, running.is_cancelled), outcome, tell)?;
                    self.pace.hurry();
                }
            }
        }
        Ok(())
    }

    /// Records how an attempt ended, for the server.
    fn conclude(
        &mut self,
        (mut record, is_cancelled): (JobRecord, bool),
        outcome: JobOutcome,
        tell: &mut Tell<'_>,
    ) -> Result<(), AgentError> {
        let end = decision::end(&mut record, outcome, is_cancelled);
        tell(&decision::sentence(record.id, &end));
        if end.state.has_ended() {
            record.end = Some(end.clone());
            self.done.0 += 1;
            self.done.1 += u64::from(end.state != JobState::Done);
        }
        self.machine.keep(&record).map_err(AgentError::Record)?;
        self.ended.push(decision::job_end((record.id, record.attempt), end));
        Ok(())
    }

    fn end(&mut self, job: &TakenJob, end: RecordedEnd) {
        self.done.0 += 1;
        self.done.1 += u64::from(end.state != JobState::Done);
        self.ended.push(decision::job_end((job.id, job.attempt), end));
        self.pace.hurry();
    }
}
