//! This machine, as its agent uses it.

use super::announced_drives::AnnouncedDrives;
use super::child_job::ChildJob;
use super::drive_lock::{DriveLock, NoLock};
use super::state_folder::AgentFolder;
use super::unsent_runs::UnsentRuns;
use crate::arguments::AgentArguments;
use crate::exit::Failure;
use drivescope_bench::io::offsets::derive_seed;
use drivescope_fleet::agent::{AgentMachine, JobRecord, JobTask, StartFault};
use drivescope_machine::{Roots, host};
use drivescope_model::fleet::{AgentFacts, FleetDrive};
use drivescope_store::{Store, StoreError, StoreLocation};
use std::sync::Arc;

pub struct HostMachine {
    facts: AgentFacts,
    drives: AnnouncedDrives,
    state: Arc<AgentFolder>,
    server: StoreLocation,
    unsent: UnsentRuns,
}

impl HostMachine {
    pub fn new(arguments: &AgentArguments, server: StoreLocation) -> Result<Self, Failure> {
        let drives =
            AnnouncedDrives { named: arguments.drive.clone(), directories: arguments.dir.clone() };
        drives.check()?;
        let state = AgentFolder::open(arguments.state.as_deref())?;
        let host = host::host(&Roots::host());
        let first_line = |path: &str| {
            let text = std::fs::read_to_string(path).unwrap_or_default();
            text.trim().to_string()
        };
        // The id itself is to be kept on its machine.
        let machine = derive_seed(0, &first_line("/etc/machine-id"), 0, 0);
        let facts = AgentFacts {
            id: state.host_id()?,
            name: arguments.name.clone().unwrap_or(host.name),
            machine: format!("{machine:016x}"),
            boot: first_line("/proc/sys/kernel/random/boot_id"),
            version: env!("CARGO_PKG_VERSION").to_string(),
            ceiling: arguments.ceiling,
            parallel: arguments.parallel.unwrap_or((host.cpus / 2).max(1)),
            poll_s: arguments.poll,
        };
        let unsent = UnsentRuns::default();
        Ok(Self { facts, drives, state: Arc::new(state), server, unsent })
    }

    /// Whether the server refuses runs of this machine.
    pub fn has_unsent_runs(&self) -> bool {
        !self.unsent.is_empty()
    }
}

impl AgentMachine for HostMachine {
    type Job = ChildJob;

    fn facts(&self) -> &AgentFacts {
        &self.facts
    }

    fn drives(&mut self) -> Vec<FleetDrive> {
        self.drives.look(&self.facts.id)
    }

    fn record(&self, id: i64) -> Option<JobRecord> {
        self.state.record(id)
    }

    fn keep(&mut self, record: &JobRecord) -> Result<(), String> {
        self.state.keep(record)
    }

    fn start(&mut self, task: &JobTask) -> Result<ChildJob, StartFault> {
        let lock = DriveLock::take(&task.drive, &self.state).map_err(|why| match why {
            NoLock::Held => {
                StartFault::Busy("another agent on this machine measures the drive".to_string())
            }
            NoLock::Unknown(why) => StartFault::Refused(why),
        })?;
        ChildJob::start(task, lock, Arc::clone(&self.state), &self.server)
            .map_err(StartFault::Refused)
    }

    fn adopt(&mut self, record: &JobRecord, drive: &FleetDrive) -> Option<ChildJob> {
        ChildJob::adopt(record, drive, Arc::clone(&self.state), &self.server)
    }

    fn check_store(&self) -> Result<(), StoreError> {
        Store::open(&self.server).map(drop)
    }

    fn send_runs(&mut self) -> Result<Vec<String>, StoreError> {
        let mut local = Store::open(&StoreLocation::of_file(self.state.store()))?;
        self.unsent.send(&mut local, &self.server)
    }
}
