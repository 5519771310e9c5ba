//! On which processors both programs, and the kernel's threads that serve a loop device, may run.

use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
use std::path::Path;

/// Processors for the kernel's unbound workers, as a mask in hexadecimal.
const WORKERS: &str = "/sys/devices/virtual/workqueue/cpumask";
/// The first processor, in that form.
const FIRST: &str = "1";

/// How a comparison uses the machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Processors {
    /// All processors, placed by the kernel's scheduler.
    All,
    /// Everything on the first one.
    One,
}

/// Gives the processors back when dropped.
pub struct PinnedProcessors {
    own: CpuSet,
    workers: String,
}

impl Processors {
    /// For the table.
    pub fn name(self) -> &'static str {
        match self {
            Processors::All => "all",
            Processors::One => "one",
        }
    }

    /// Keeps this thread, all programs that it starts and the kernel's workers there from now on. One
    /// processor needs root.
    pub fn keep(self) -> Result<Option<PinnedProcessors>, String> {
        if self == Processors::All {
            return Ok(None);
        }
        let say = |what| move |e: std::io::Error| format!("cannot {what}: {e}");
        let workers = std::fs::read_to_string(Path::new(WORKERS)).map_err(say("read workers"))?;
        let own = sched_getaffinity(None).map_err(|e| say("read my processors")(e.into()))?;
        std::fs::write(WORKERS, FIRST).map_err(say("keep the kernel's workers together"))?;
        let kept = PinnedProcessors { own, workers: workers.trim().to_string() };
        let mut first = CpuSet::new();
        first.set(0);
        sched_setaffinity(None, &first).map_err(|e| say("stay on one processor")(e.into()))?;
        Ok(Some(kept))
    }
}

impl Drop for PinnedProcessors {
    fn drop(&mut self) {
        let workers = std::fs::write(WORKERS, &self.workers).is_ok();
        if !workers || sched_setaffinity(None, &self.own).is_err() {
            eprintln!("cannot give the processors back; write {} to {WORKERS}", self.workers);
        }
    }
}
