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

    pub(super) fn now(self) -> Nanos {
        // 584 years.
        self.0.elapsed().as_nanos() as Nanos
    }
}
