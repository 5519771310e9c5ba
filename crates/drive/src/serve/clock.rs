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

/// Puts the calling thread before ordinary ones where that is allowed, as the kernel's own threads for
/// block devices are: a busy machine must not make the drive late. Threads it starts inherit this.
pub(super) fn go_first() {
    const NICE: i32 = -20;
    if std::env::var_os("AB_PLAIN").is_some() { return; }
    // Without the permission the drive works, and lateness tells.
    let _ = rustix::process::setpriority_process(None, NICE);
}
