//! The start state of a simulated drive, and its planted faults.

use crate::device::Nanos;
use crate::stalls::Stalls;
use crate::{hdd, ssd};

/// The faults planted in a simulated drive, the same for every kind.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Planted {
    /// Flushes are answered at once.
    pub flush_lies: bool,
    /// Partial physical sectors cost nothing extra (hard disks).
    pub no_read_modify_write: bool,
    /// Queued commands in order of arrival (hard disks).
    pub first_come: bool,
    /// A twentieth of the drive, at its middle, needs retries.
    pub slow_region: bool,
    /// A thousandth of the drive, at its middle, cannot be read.
    pub failing_region: bool,
    pub gone_at: Option<Nanos>,
    /// The drive falls silent every now and then.
    pub stalls: Option<Stalls>,
    /// The drive is throttled to a third (flash).
    pub throttled: bool,
}

/// State a simulated drive begins in.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Start {
    pub seed: u64,
    /// Whether a hard disk begins at an angle and over a track drawn from the seed. Without, it begins at angle 0
    /// over the outermost track.
    pub anywhere: bool,
    /// Share of the drive that has been written before, 0–1. The times of flash depend on it; on a hard disk it
    /// only says where new data lie, which the caller chooses.
    pub fill: f64,
    pub planted: Planted,
}

pub(super) fn hdd_faults(planted: &Planted, capacity: u64) -> hdd::HddFaults {
    let middle = capacity / 2 / 4096 * 4096;
    hdd::HddFaults {
        flush_lies: planted.flush_lies,
        no_read_modify_write: planted.no_read_modify_write,
        fcfs: planted.first_come,
        slow_region: planted.slow_region.then_some(hdd::SlowRegion {
            offset: middle,
            len: capacity / 20,
            extra_revolutions: 2,
        }),
        failing_region: planted.failing_region.then_some(hdd::FailingRegion {
            offset: middle,
            len: capacity / 1000,
            retry_ms: 2_000.0,
        }),
        gone_at: planted.gone_at,
        stalls: planted.stalls,
    }
}

pub(super) fn ssd_faults(planted: &Planted, capacity: u64) -> ssd::SsdFaults {
    let middle = capacity / 2 / 4096 * 4096;
    let region = |len: u64, retry_ns: Nanos, unreadable: bool| ssd::RetryRegion {
        offset: middle,
        len,
        retry_ns,
        unreadable,
    };
    let mut failing = Vec::new();
    if planted.slow_region {
        failing.push(region(capacity / 20, 1_000_000, false));
    }
    if planted.failing_region {
        failing.push(region(capacity / 1000, 50_000_000, true));
    }
    ssd::SsdFaults {
        flush_lies: planted.flush_lies,
        throttle_forced: planted.throttled.then_some(1.0 / 3.0),
        failing,
        gone_at: planted.gone_at,
        stalls: planted.stalls,
    }
}
