//! What the device did while a database worked, beside what the database did, and which of them was held.

use crate::judging::cpu_contention::DEVICE_IDLE_PCT;
use crate::judging::round::Round;
use drivescope_model::document::Limiter;

/// Processors this busy with the database set the pace.
const CPU_BUSY_SHARE: f64 = 0.85;

pub(super) type DeviceFigure = (&'static str, f64);

/// The kernel's figures of the uppermost device over a round, always the same ones; none without counters.
pub(super) fn of_device(round: &Round) -> Vec<DeviceFigure> {
    let Some(top) = round.top else { return Vec::new() };
    let requests = (top.reads + top.writes) as f64;
    let bytes = (top.read_bytes + top.written_bytes) as f64;
    let waited_s = (top.read_wait_ms + top.write_wait_ms) as f64 / 1e3;
    vec![
        ("device_read_bytes", top.read_bytes as f64),
        ("device_written_bytes", top.written_bytes as f64),
        ("device_iops", requests / round.window_s),
        ("request_bytes", bytes / requests.max(1.0)),
        ("depth_mean", waited_s / round.window_s),
        ("device_busy_pct", round.busy_pct().unwrap_or(0.0)),
    ]
}

/// Flushes that the drive received.
pub(super) fn flushes(round: &Round) -> Option<u64> {
    round.disk.or(round.top).map(|drive| drive.flushes)
}

/// What held a round back: the drive if it was busy, else the processors if the database kept as many of them busy as
/// it has `threads` for, else the database with its locks and waits. `cpu_ns` is all that was spent on it.
pub(super) fn limiter(round: &Round, cpu_ns: u64, threads: u32, cores: u32) -> Limiter {
    let flush_wait_ms = round.disk.or(round.top).map_or(0, |drive| drive.flush_wait_ms);
    let busy_pct = round.busy_pct().map(|busy| {
        // A flush counts as no work in the kernel's busy time.
        busy + flush_wait_ms as f64 / round.window_s / 10.0
    });
    let spent = cpu_ns as f64 / 1e9 / round.window_s.max(1e-9);
    if busy_pct.is_some_and(|busy| busy >= DEVICE_IDLE_PCT) {
        Limiter::Drive
    } else if spent >= CPU_BUSY_SHARE * f64::from(threads.min(cores).max(1)) {
        Limiter::Cpu
    } else {
        Limiter::Database
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::round;
    use drivescope_machine::counters::DeviceCounters;
    use drivescope_model::cell::Mix;

    fn seen(busy_ms: u64, flush_wait_ms: u64) -> Round {
        let mut round = round("rnd8k_q1t1.read", 1_000, 8_192, Mix::READ);
        let counters = DeviceCounters {
            reads: 900,
            writes: 100,
            read_bytes: 8_192_000,
            read_wait_ms: 400,
            busy_ms,
            flush_wait_ms,
            flushes: 7,
            ..DeviceCounters::default()
        };
        (round.top, round.disk) = (Some(counters), Some(counters));
        round
    }

    #[test]
    fn device_is_described_in_the_terms_of_iostat() {
        let figures = of_device(&seen(300, 0));
        let of = |name: &str| figures.iter().find(|(key, _)| *key == name).unwrap().1;
        assert_eq!((of("device_iops"), of("request_bytes")), (1_000.0, 8_192.0));
        assert!(
            (of("depth_mean") - 0.4).abs() < 1e-9 && (of("device_busy_pct") - 30.0).abs() < 1e-9
        );
        assert_eq!(flushes(&seen(0, 0)), Some(7));
    }

    #[test]
    fn busy_device_is_the_limiter() {
        let core = 1_000_000_000;
        assert_eq!(limiter(&seen(900, 0), core, 1, 2), Limiter::Drive);
        assert_eq!(limiter(&seen(100, 600), core, 1, 2), Limiter::Drive, "flushes are work too");
        assert_eq!(limiter(&seen(100, 0), core, 1, 2), Limiter::Cpu);
        assert_eq!(limiter(&seen(100, 0), core, 4, 2), Limiter::Database, "half of two cores");
        assert_eq!(limiter(&seen(100, 0), 2 * core, 4, 2), Limiter::Cpu);
    }
}
