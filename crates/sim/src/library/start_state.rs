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
    /// The last thousandth of the drive cannot be read.
    pub unreadable_end: bool,
    pub gone_at: Option<Nanos>,
    /// The drive falls silent every now and then.
    pub stalls: Option<Stalls>,
    /// The drive is throttled to a third (flash).
    pub throttled: bool,
}

impl Planted {
    /// The first byte of a drive of this capacity that cannot be read.
    pub fn first_unreadable(&self, capacity_bytes: u64) -> Option<u64> {
        self.failing(capacity_bytes).map(|(offset, _)| offset)
    }

    /// Offset and length of the first region that cannot be read.
    fn failing(&self, capacity_bytes: u64) -> Option<(u64, u64)> {
        let len = capacity_bytes / 1000;
        if self.failing_region {
            return Some((middle_of(capacity_bytes), len));
        }
        self.unreadable_end.then(|| {
            let offset = (capacity_bytes - len) / 4096 * 4096;
            (offset, capacity_bytes - offset)
        })
    }
}

/// Where planted regions begin.
fn middle_of(capacity_bytes: u64) -> u64 {
    capacity_bytes / 2 / 4096 * 4096
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
    let middle = middle_of(capacity);
    hdd::HddFaults {
        flush_lies: planted.flush_lies,
        no_read_modify_write: planted.no_read_modify_write,
        fcfs: planted.first_come,
        slow_region: planted.slow_region.then_some(hdd::SlowRegion {
            offset: middle,
            len: capacity / 20,
            extra_revolutions: 2,
        }),
        failing_region: planted.failing(capacity).map(|(offset, len)| hdd::FailingRegion {
            offset,
            len,
            retry_ms: 2_000.0,
        }),
        gone_at: planted.gone_at,
        stalls: planted.stalls,
    }
}

pub(super) fn ssd_faults(planted: &Planted, capacity: u64) -> ssd::SsdFaults {
    let middle = middle_of(capacity);
    let region = |(offset, len): (u64, u64), retry_ns: Nanos, unreadable: bool| ssd::RetryRegion {
        offset,
        len,
        retry_ns,
        unreadable,
    };
    let mut failing = Vec::new();
    if planted.slow_region {
        failing.push(region((middle, capacity / 20), 1_000_000, false));
    }
    if let Some(place) = planted.failing(capacity) {
        failing.push(region(place, 50_000_000, true));
    }
    ssd::SsdFaults {
        flush_lies: planted.flush_lies,
        throttle_forced: planted.throttled.then_some(1.0 / 3.0),
        failing,
        gone_at: planted.gone_at,
        stalls: planted.stalls,
    }
}
