//! The job of a fleet for which a run is made: how it starts, and what its agent hears of it.

use crate::exit::{Failure, no_thread};
use crate::live_run::LiveRun;
use crate::run_progress::RunProgress;
use drivescope_model::document::Run;
use drivescope_model::event::Event;
use drivescope_model::fleet::RunJob;
use drivescope_model::host::Host;
use serde::{Deserialize, Serialize};
use std::io::Write;
use std::path::Path;
use std::sync::mpsc::Receiver;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// The agent asks no more often.
const TELL_EVERY: Duration = Duration::from_secs(1);

/// A line on standard output, for the agent.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct JobProgress {
    pub run_id: String,
    pub phase: String,
    /// Share of the run that is done, 0 to 1.
    pub done: f64,
}

/// Reads what `--job` names. Errors: an agent of another version wrote it.
pub fn read(path: &Path) -> Result<RunJob, Failure> {
    let text = std::fs::read_to_string(path).map_err(|error| error.to_string());
    let job = text.and_then(|text| serde_json::from_str(&text).map_err(|it| it.to_string()));
    job.map_err(|why| Failure::usage(format!("--job {}: {why}", path.display())))
}

/// This machine, by the name that its agent has given it.
pub fn host_of(machine: &Host, job: Option<&RunJob>) -> Host {
    let name = job.map_or_else(|| machine.name.clone(), |job| job.host.clone());
    Host { name, ..machine.clone() }
}

/// When the first measurement begins by the clock of this host.
pub fn starts_unix_us(job: Option<&RunJob>) -> Option<i64> {
    job?.barrier.as_ref().map(|it| it.go_at_unix_us - it.clock_offset_us)
}

/// Adds when the first measurement began.
pub fn note_start(run: &mut Run, began_unix_us: Option<i64>) {
    let barrier = run.job.as_mut().and_then(|job| job.barrier.as_mut());
    if let Some((barrier, began)) = barrier.zip(began_unix_us) {
        let late_us = began + barrier.clock_offset_us - barrier.go_at_unix_us;
        barrier.skew_ms = Some(late_us as f64 / 1e3);
    }
}

/// Writes a line now and then. An agent that is gone is not a failure of the run.
pub fn listen(events: Receiver<Event>, run: &Run) -> Result<JoinHandle<()>, Failure> {
    let run_id = run.id.clone();
    let mut progress = RunProgress::new(LiveRun::new(run.clone(), false));
    tell(&run_id, &progress);
    let listener = std::thread::Builder::new().name("job".to_string()).spawn(move || {
        let mut told = Instant::now();
        for event in events {
            progress.hear(event);
            if told.elapsed() >= TELL_EVERY {
                told = Instant::now();
                tell(&run_id, &progress);
            }
        }
    });
    listener.map_err(|error| Failure::usage(no_thread(&error)))
}

fn tell(run_id: &str, progress: &RunProgress) {
    let line =
        JobProgress { run_id: run_id.to_string(), phase: progress.words(), done: progress.share() };
    let text = serde_json::to_string(&line).expect("plain values are JSON");
    let _ = writeln!(std::io::stdout(), "{text}");
}
