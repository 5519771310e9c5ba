//! Real time as the model's virtual time.

use drivescope_sim::device::Nanos;
use std::time::Instant;

/// Nanoseconds since the simulated drive was powered on: the monotonic clock, one to one.
#[derive(Debug, Clone, Copy)]
pub(super) struct Clock(Instant);

impl Clock {
    /// Powers on now.
    pub(super) fn start() -> Self {
        Self(Instant::now())
    }

    /// The time.
    pub(super) fn now(self) -> Nanos {
        // 584 years.
        self.0.elapsed().as_nanos() as Nanos
    }
}

/// Lets the calling thread run as soon as it has something to do, where that is allowed: a busy machine
/// must not make the drive late. Threads it starts inherit this.
pub(super) fn go_first() {
    // The lowest real-time priority comes before all ordinary threads. Without preemption among these
    // (usual on servers) a woken thread otherwise waits for the tick, up to 4 ms.
    let parameters = libc::sched_param { sched_priority: 1 };
    // SAFETY: 0 is the calling thread, and the parameters are only read.
    let result = unsafe { libc::sched_setscheduler(0, libc::SCHED_FIFO, &raw const parameters) };
    if result != 0 {
        // Without any permission the drive works, and lateness tells.
        let _ = rustix::process::setpriority_process(None, -20);
    }
}
