//! The kernel's counters before and after a phase.

use super::Session;
use crate::io::cpu_usage::{CpuScope, CpuUsage};
use crate::judging::round::{Cache, CoresTaken, Round};
use crate::loops::phase::PhaseResult;
use drivescope_machine::Roots;
use drivescope_machine::counters::{self, DeviceCounters};
use drivescope_machine::processors::CoreTimes;
use drivescope_model::document::Limiter;
use drivescope_model::findings::FindingId;
use std::time::Duration;

pub struct PhaseCounters {
    start_s: f64,
    top: Option<DeviceCounters>,
    disk: Option<DeviceCounters>,
    below_loop: Option<DeviceCounters>,
    cores: Option<(CoreTimes, CpuUsage)>,
    start_ns: u64,
}

fn top_counters(session: &Session<'_>) -> Option<DeviceCounters> {
    match session.simulated() {
        Some(drive) => drive.counters(),
        None => session.target.top_counters(),
    }
}

/// All processors' work so far, and this program's part; `None` on a simulated drive.
fn cores(session: &Session<'_>) -> Option<(CoreTimes, CpuUsage)> {
    let real = session.target.simulated().is_none();
    let all = CoreTimes::read(&Roots::host()).filter(|_| real)?;
    Some((all, CpuUsage::of(CpuScope::Process)))
}

/// How often drivescope checks whether the devices are busy, at most, and the time between checks.
const LOOKS_MAX: u32 = 100;
const LOOK_EVERY: Duration = Duration::from_millis(1);

/// Waits until nothing is in flight. What the page cache read ahead of the round before (8 MiB at a time on some
/// machines) would else be counted as another program's in this one. Others may keep a device busy for ever: then
/// not for long.
fn wait_until_idle(mut in_flight: impl FnMut() -> u64, mut pause: impl FnMut()) {
    for _ in 0..LOOKS_MAX {
        if in_flight() == 0 {
            return;
        }
        pause();
    }
}

fn let_devices_finish(session: &Session<'_>) {
    if session.target.simulated().is_some() {
        return;
    }
    let target = session.target;
    let in_flight = || {
        let all = [target.top_counters(), target.disk_counters(), target.below_loop_counters()];
        all.into_iter().flatten().map(|counters| counters.in_flight).sum()
    };
    wait_until_idle(in_flight, || std::thread::sleep(LOOK_EVERY));
}

impl PhaseCounters {
    pub fn begin(session: &Session<'_>) -> Self {
        session.wait_for_common_start();
        let_devices_finish(session);
        Self {
            start_s: session.elapsed_s(),
            top: top_counters(session),
            disk: session.target.disk_counters(),
            below_loop: session.target.below_loop_counters(),
            cores: cores(session),
            start_ns: session.now_ns(),
        }
    }

    pub fn end(
        self,
        session: &Session<'_>,
        measured: PhaseResult,
        cell: &str,
        round: u32,
    ) -> Round {
        let since = |before: Option<DeviceCounters>, after: Option<DeviceCounters>| {
            before.zip(after).map(|(before, after)| counters::delta(&before, &after))
        };
        Round {
            is_cut_short: measured.recorder.errors > 0,
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
            cores: self.cores.zip(cores(session)).map(|(before, now)| {
                let taken = CoresTaken::of(now.0.since(before.0), now.1.since(before.1));
                let is_fuse = session.findings().iter().any(|it| it.id == FindingId::FuseFs);
                if is_fuse { taken.by_the_file_system() } else { taken }
            }),
            temperature_c: match session.simulated() {
                Some(drive) => drive.heat().map(|heat| heat.celsius),
                None => session.target.temperature_c(),
            },
            limiter: Limiter::Drive,
            cache: Cache::Past,
            own_metrics: false,
            own_limiter: None,
            counts: "iops",
            extra: Vec::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;

    #[test]
    fn round_begins_when_idle_or_after_the_limit() {
        for (requests, pauses) in [(0, 0), (3, 3), (u64::MAX, u64::from(LOOKS_MAX))] {
            let [left, paused] = [Cell::new(requests), Cell::new(0)];
            let pause = || {
                left.set(left.get() - 1);
                paused.set(paused.get() + 1);
            };
            wait_until_idle(|| left.get(), pause);
            assert_eq!(paused.get(), pauses, "{requests} in flight");
        }
    }
}
