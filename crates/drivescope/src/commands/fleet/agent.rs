//! `fleet agent`: announces this machine and its drives, and does jobs for them.

mod announced_drives;
mod child_job;
mod drive_lock;
mod host_machine;
mod state_folder;
mod unsent_runs;

pub use host_machine::HostMachine;

use crate::arguments::AgentArguments;
use crate::exit::{Code, Failure};
use crate::output;
use crate::signals::RunSignals;
use crate::store_access::location;
use drivescope_bench::io::clock;
use drivescope_fleet::agent::{Agent, AgentError};
use drivescope_report::clean;
use state_folder::random_id;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

const ENDING: &str = "ending: jobs save what they have; again quits now, and they run on";
/// A signal is noticed in this time.
const SLICE: Duration = Duration::from_millis(100);
/// With `--once`, a server that is away for longer is an error.
const PATIENCE: Duration = Duration::from_secs(60);

pub fn agent(arguments: &AgentArguments, signals: &RunSignals) -> Result<Code, Failure> {
    let location = location(arguments.store.store.as_deref())?;
    if let Some(path) = location.path() {
        return Err(Failure::usage(format!(
            "{} is a file, and a fleet needs a store on a server: --store postgres://USER@HOST/DATABASE",
            path.display()
        )));
    }
    let machine = HostMachine::new(arguments, location.clone())?;
    signals.begin(ENDING);
    let mut agent = Agent::new(location, machine, random_id()?, clock::now_ns());
    let mut tell = |line: &str| output::remark(&clean(line));
    let ended = if arguments.once {
        once(&mut agent, signals, &mut tell)
    } else {
        until_signalled(&mut agent, signals, &mut tell)
    };
    agent.sign_off();
    ended.map_err(failure)
}

fn failure(error: AgentError) -> Failure {
    match error {
        AgentError::Store(error) => error.into(),
        AgentError::Record(why) => Failure { message: why, code: Code::Device },
        other => Failure::usage(other.to_string()),
    }
}

fn until_signalled(
    agent: &mut Agent<HostMachine>,
    signals: &RunSignals,
    tell: &mut dyn FnMut(&str),
) -> Result<Code, AgentError> {
    while !signals.was_signalled() {
        let wait = agent.step(tell)?;
        sleep(wait, signals);
    }
    end(agent, tell)
}

/// Ends the jobs, and reports them if the server is there.
fn end(agent: &mut Agent<HostMachine>, tell: &mut dyn FnMut(&str)) -> Result<Code, AgentError> {
    agent.stop_jobs();
    while agent.has_jobs() {
        std::thread::sleep(agent.step(tell)?.min(SLICE));
    }
    agent.hurry();
    agent.step(tell)?;
    Ok(Code::Interrupted)
}

fn once(
    agent: &mut Agent<HostMachine>,
    signals: &RunSignals,
    tell: &mut dyn FnMut(&str),
) -> Result<Code, AgentError> {
    let mut reached = Instant::now();
    loop {
        if signals.was_signalled() {
            return end(agent, tell);
        }
        let wait = agent.step(tell)?;
        match agent.away() {
            None => reached = Instant::now(),
            Some(error) if reached.elapsed() > PATIENCE => return Err(error),
            Some(_) => {}
        }
        if agent.is_idle() && agent.has_seen_nothing_to_do() {
            let has_failed = agent.done.1 > 0 || agent.machine().has_unsent_runs();
            return Ok(if has_failed { Code::Problem } else { Code::Ok });
        }
        sleep(wait, signals);
    }
}

fn sleep(wait: Duration, signals: &RunSignals) {
    let until = Instant::now() + wait;
    while !signals.stop.load(Ordering::Relaxed) {
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return;
        }
        std::thread::sleep(left.min(SLICE));
    }
}
