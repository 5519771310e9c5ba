//! Faults that can be planted in a simulated SSD.

use crate::device::Nanos;
use crate::stalls::Stalls;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RetryRegion {
    pub offset: u64,
    pub len: u64,
    /// Time spent on retries before the answer, for each request that touches the range.
    pub retry_ns: Nanos,
    /// Whether the retries fail (EIO) or in the end bring the data.
    pub unreadable: bool,
}

#[derive(Debug, Clone, Default, PartialEq)]
pub struct SsdFaults {
    /// Flushes are answered at once, with nothing saved.
    pub flush_lies: bool,
    /// The drive runs at this share of its speed, whatever its temperature.
    pub throttle_forced: Option<f64>,
    pub failing: Vec<RetryRegion>,
    pub gone_at: Option<Nanos>,
    pub stalls: Option<Stalls>,
}

impl SsdFaults {
    /// The worst region that a read of `offset..offset + len` touches.
    pub(super) fn region(&self, offset: u64, len: u64) -> Option<RetryRegion> {
        self.failing
            .iter()
            .filter(|region| offset < region.offset + region.len && region.offset < offset + len)
            .max_by_key(|region| (region.unreadable, region.retry_ns))
            .copied()
    }
}
