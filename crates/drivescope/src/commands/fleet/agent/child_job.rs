//! A job in a program of its own: what ends it does not end the agent, nor does the end of the agent end it.

use super::drive_lock::{DriveLock, NoLock};
use super::state_folder::{AgentFolder, json};
use crate::run_steps::job_ticket::JobProgress;
use drivescope_fleet::agent::{JobLook, JobOutcome, JobRecord, JobTask, RunningJob};
use drivescope_model::document::{Run, TestStatus};
use drivescope_model::fleet::{FleetDrive, RunJob};
use drivescope_model::plan::WriteLevel;
use drivescope_store::{Filter, Store, StoreLocation};
use rustix::process::{Pid, Signal, kill_process};
use std::io::{BufRead, BufReader, Read};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

/// Runs among which that of an earlier agent's job is looked for.
const NEWEST_RUNS: u32 = 200;
/// Of what a program says on standard error, the end is kept.
const SAID_MAX: usize = 2_000;

pub struct ChildJob {
    /// `None`: an earlier agent has started it.
    child: Option<Started>,
    id: i64,
    submission: String,
    drive: FleetDrive,
    state: Arc<AgentFolder>,
    server: StoreLocation,
    was_stopped: bool,
}

struct Started {
    child: Child,
    line: Arc<Mutex<Option<JobProgress>>>,
    /// Its last words on standard error.
    said: Option<JoinHandle<String>>,
}

impl ChildJob {
    /// Errors: why it cannot be started.
    pub fn start(
        task: &JobTask,
        lock: DriveLock,
        state: Arc<AgentFolder>,
        server: &StoreLocation,
    ) -> Result<Self, String> {
        let job = &task.job;
        let suite = state.write_for_job(job.id, "toml", &task.plan.suite_text)?;
        let ticket = RunJob {
            id: job.id,
            attempt: job.attempt,
            submission: job.submission.clone(),
            host: task.host.clone(),
            barrier: task.barrier.clone(),
        };
        let ticket = state.write_for_job(job.id, "ticket", &json(&ticket))?;
        let program = std::env::current_exe().map_err(|error| error.to_string())?;
        // The program may have been replaced by a newer one since this one was started.
        let program = program.to_string_lossy().trim_end_matches(" (deleted)").to_string();
        let mut command = Command::new(program);
        command.arg("run").arg(&task.path).arg("--suite").arg(suite).arg("--quiet");
        command.arg("--store").arg(state.store()).arg("--job").arg(ticket);
        let serial = task.drive.serial.as_deref().unwrap_or_default();
        match task.plan.level {
            WriteLevel::Read | WriteLevel::OwnFiles => &mut command,
            WriteLevel::SameBytes => command.arg("--write=same-bytes"),
            WriteLevel::Restore => command.arg(format!("--write=restore:{serial}")),
            WriteLevel::Destroy => command.arg(format!("--destroy={serial}")),
        };
        // Ctrl-C at the agent's terminal goes to the agent, which ends its jobs in order.
        command.env_remove("DRIVESCOPE_STORE").process_group(0);
        command.stdin(Stdio::from(lock.0)).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().map_err(|error| format!("cannot start it: {error}"))?;
        let line = Arc::new(Mutex::new(None));
        if let Some(stdout) = child.stdout.take() {
            let line = Arc::clone(&line);
            std::thread::spawn(move || {
                for text in BufReader::new(stdout).lines().map_while(Result::ok) {
                    if let Ok(newest) = serde_json::from_str(&text) {
                        *line.lock().unwrap_or_else(PoisonError::into_inner) = Some(newest);
                    }
                }
            });
        }
        let said = child.stderr.take().map(|stderr| std::thread::spawn(|| last_words(stderr)));
        Ok(Self {
            child: Some(Started { child, line, said }),
            id: job.id,
            submission: job.submission.clone(),
            drive: task.drive.clone(),
            state,
            server: server.clone(),
            was_stopped: false,
        })
    }

    /// `None`: it neither runs nor has left a run.
    pub fn adopt(
        record: &JobRecord,
        drive: &FleetDrive,
        state: Arc<AgentFolder>,
        server: &StoreLocation,
    ) -> Option<Self> {
        let job = Self {
            child: None,
            id: record.id,
            submission: record.submission.clone(),
            drive: drive.clone(),
            state,
            server: server.clone(),
            was_stopped: false,
        };
        (job.is_running() || job.left_run().is_some()).then_some(job)
    }

    /// Whether its program still has the drive.
    fn is_running(&self) -> bool {
        matches!(DriveLock::take(&self.drive, &self.state), Err(NoLock::Held))
    }

    /// What it has left in the local store: the run of its last attempt here.
    fn left_run(&self) -> Option<Run> {
        let store = Store::open(&StoreLocation::of_file(self.state.store())).ok()?;
        if let Some(line) = self.child.as_ref().and_then(Started::newest_line) {
            return store.get(&line.run_id).ok();
        }
        let newest = Filter { limit: Some(NEWEST_RUNS), ..Filter::default() };
        let listed = store.list(&newest).ok()?;
        listed.iter().find_map(|summary| {
            let run = store.get(&summary.id).ok()?;
            let job = run.job.as_ref()?;
            (job.id == self.id && job.submission == self.submission).then_some(run)
        })
    }

    /// Keeps the run for the server, and says how it ended.
    fn outcome(&mut self, status: Option<ExitStatus>) -> JobOutcome {
        let said = self.child.as_mut().and_then(|started| started.said.take());
        let said = said.and_then(|said| said.join().ok()).filter(|said| !said.is_empty());
        let run = self.left_run();
        let mut outcome = JobOutcome {
            exit_code: status.and_then(|status| status.code()),
            message: said,
            was_stopped: self.was_stopped,
            ..JobOutcome::default()
        };
        let Some(run) = run else { return outcome };
        outcome.is_complete = !matches!(run.status, TestStatus::Interrupted);
        outcome.skew_ms =
            run.job.as_ref().and_then(|job| job.barrier.as_ref()).and_then(|it| it.skew_ms);
        // Of an attempt that is made again, one run is to be in the store: that of the last.
        if outcome.is_complete || outcome.exit_code == Some(4) {
            match self.wait_for_server(&run) {
                Ok(()) => outcome.run_id = Some(run.id),
                Err(why) => outcome.message = Some(why),
            }
        }
        outcome
    }

    fn wait_for_server(&self, run: &Run) -> Result<(), String> {
        let store = Store::open(&StoreLocation::of_file(self.state.store()));
        let store = store.map_err(|error| error.to_string())?;
        store.in_place_of(self.server.clone()).save(run).map_err(|error| error.to_string())
    }
}

impl Started {
    fn newest_line(&self) -> Option<JobProgress> {
        self.line.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl RunningJob for ChildJob {
    fn look(&mut self) -> JobLook {
        let ended = match &mut self.child {
            Some(started) => started.child.try_wait().ok().flatten().map(Some),
            None => (!self.is_running()).then_some(None),
        };
        match ended {
            Some(status) => JobLook::Ended(self.outcome(status)),
            None => {
                let line = self.child.as_ref().and_then(Started::newest_line);
                let done = line.as_ref().map(|line| line.done);
                JobLook::Running { phase: line.map(|line| line.phase), done }
            }
        }
    }

    fn stop(&mut self) {
        self.was_stopped = true;
        // A job of an earlier agent is left to end by itself.
        let Some(started) = &self.child else { return };
        let pid = i32::try_from(started.child.id()).ok().and_then(Pid::from_raw);
        if let Some(pid) = pid {
            // It may just have ended.
            let _ = kill_process(pid, Signal::TERM);
        }
    }
}

/// The end of a text, in one line.
fn last_words(mut stderr: impl Read) -> String {
    let mut kept = Vec::new();
    let mut part = [0; 4096];
    while let Ok(length) = stderr.read(&mut part) {
        if length == 0 {
            break;
        }
        kept.extend_from_slice(&part[..length]);
        let surplus = kept.len().saturating_sub(SAID_MAX);
        kept.drain(..surplus);
    }
    let text = String::from_utf8_lossy(&kept);
    let lines = text.lines().map(|line| line.trim().trim_start_matches("drivescope: "));
    let lines: Vec<&str> = lines.filter(|line| !line.is_empty()).collect();
    lines.join("; ")
}
