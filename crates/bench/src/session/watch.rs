//! What watches a phase from outside: its progress, and the kernel's counters before and after it.

use super::Session;
use crate::control::Control;
use crate::phase::Measured;
use crate::results::{Cache, CoresTaken, Round};
use crate::usage::{Usage, Who};
use drivescope_drive::Roots;
use drivescope_drive::counters::{self, DeviceCounters};
use drivescope_drive::processors::CoreTimes;
use drivescope_model::document::Limiter;
use drivescope_model::event::Event;

/// Forwards a phase's counters to the listeners and the stop flag to the phase.
pub struct Progress<'s> {
    session: &'s Session<'s>,
    control: &'s Control,
    last: (u64, u64, u64),
}

impl<'s> Progress<'s> {
    /// Begins now.
    pub fn new(session: &'s Session<'s>, control: &'s Control) -> Self {
        Self { session, control, last: (session.now_ns(), 0, 0) }
    }

    /// To be called every now and then.
    pub fn look(&mut self) {
        if self.session.stopped() || !self.session.may_go_on() {
            self.control.stop();
        }
        let now = self.session.now_ns();
        let seconds = (now - self.last.0) as f64 / 1e9;
        if seconds < 0.2 {
            return;
        }
        let (ops, bytes) = self.control.progress();
        let test = &self.session.test;
        let elapsed = (now - test.start_ns) as f64 / 1e9;
        self.session.emit(Event::Progress {
            done: (elapsed / test.expected_s.max(elapsed * 1.01)).clamp(0.0, 1.0),
            mb_s: (bytes - self.last.2) as f64 / seconds / 1e6,
            iops: (ops - self.last.1) as f64 / seconds,
        });
        self.last = (now, ops, bytes);
    }
}

/// What is read before and after a round: the kernel's counters of the devices below.
pub struct Watch {
    start_s: f64,
    top: Option<DeviceCounters>,
    disk: Option<DeviceCounters>,
    below_loop: Option<DeviceCounters>,
    cores: Option<(CoreTimes, Usage)>,
    start_ns: u64,
}

/// The counters of the uppermost device, or of the simulated drive below a simulated page cache.
fn top_counters(session: &Session<'_>) -> Option<DeviceCounters> {
    match session.simulated() {
        Some(drive) => drive.counters(),
        None => session.target.top_counters(),
    }
}

/// What all processors did so far, and this program's part; a simulated drive needs none of them.
fn cores(session: &Session<'_>) -> Option<(CoreTimes, Usage)> {
    let real = session.target.simulated().is_none();
    let all = CoreTimes::read(&Roots::host()).filter(|_| real)?;
    Some((all, Usage::of(Who::Process)))
}

impl Watch {
    /// Reads the counters.
    pub fn begin(session: &Session<'_>) -> Self {
        Self {
            start_s: session.elapsed_s(),
            top: top_counters(session),
            disk: session.target.disk_counters(),
            below_loop: session.target.below_loop_counters(),
            cores: cores(session),
            start_ns: session.now_ns(),
        }
    }

    /// Reads them again and makes a round of it all.
    pub fn end(self, session: &Session<'_>, measured: Measured, cell: &str, round: u32) -> Round {
        let since = |before: Option<DeviceCounters>, after: Option<DeviceCounters>| {
            before.zip(after).map(|(before, after)| counters::delta(&before, &after))
        };
        Round {
            cell: cell.to_string(),
            round,
            start_s: self.start_s,
            window_s: (session.now_ns() - self.start_ns) as f64 / 1e9,
            measured,
            load: None,
            asked: None,
            top: since(self.top, top_counters(session)),
            disk: since(self.disk, session.target.disk_counters()),
            below_loop: since(self.below_loop, session.target.below_loop_counters()),
            cores: self
                .cores
                .zip(cores(session))
                .map(|(before, now)| CoresTaken::of(now.0.since(before.0), now.1.since(before.1))),
            temperature_c: temperature_c(session),
            limiter: Limiter::Drive,
            cache: Cache::Past,
            own_metrics: false,
            extra: Vec::new(),
        }
    }
}

/// The temperature of the drive in use.
fn temperature_c(session: &Session<'_>) -> Option<f64> {
    match &session.simulated {
        Some(drive) => drive.heat().map(|heat| heat.celsius),
        None => session.target.temperature_c(),
    }
}
