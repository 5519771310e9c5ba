//! Faults that can be planted in a drive: bad spots, disappearance, and firmware that misbehaves.

use crate::device::Nanos;
use crate::stalls::Stalls;

#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct HddFaults {
    pub flush_lies: bool,
    /// Writes of part of a physical sector cost no more than whole ones.
    pub no_read_modify_write: bool,
    pub fcfs: bool,
    /// A stretch that is read and written only after retries.
    pub slow_region: Option<SlowRegion>,
    /// A stretch that cannot be read or written.
    pub failing_region: Option<FailingRegion>,
    pub gone_at: Option<Nanos>,
    pub stalls: Option<Stalls>,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SlowRegion {
    pub offset: u64,
    pub len: u64,
    /// Further revolutions each access that touches the region takes.
    pub extra_revolutions: u32,
}

/// Bytes that fail. A command that touches them fails after the retries; a cached write is answered as
/// done, and its destaging spends the retries and loses the data.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FailingRegion {
    pub offset: u64,
    pub len: u64,
    /// Time the drive spends on retries before it gives up, ms.
    pub retry_ms: f64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Effect {
    pub delay: Nanos,
    pub fails: bool,
}

fn overlaps(offset: u64, len: u64, from: u64, to: u64) -> bool {
    offset < to && from < offset + len
}

impl HddFaults {
    /// What happens to an access to the bytes `from..to` on a medium that turns once in `period`.
    pub fn effect(&self, from: u64, to: u64, period: Nanos) -> Effect {
        let slow = self
            .slow_region
            .filter(|r| overlaps(r.offset, r.len, from, to))
            .map_or(0, |r| Nanos::from(r.extra_revolutions) * period);
        let failing = self.failing_region.filter(|r| overlaps(r.offset, r.len, from, to));
        let retry = failing.map_or(0, |r| (r.retry_ms * 1e6) as Nanos);
        Effect { delay: slow + retry, fails: failing.is_some() }
    }

    pub fn any_in(&self, from: u64, to: u64) -> bool {
        self.slow_region.is_some_and(|r| overlaps(r.offset, r.len, from, to))
            || self.failing_region.is_some_and(|r| overlaps(r.offset, r.len, from, to))
    }

    pub fn gone(&self, at: Nanos) -> bool {
        self.gone_at.is_some_and(|gone| at >= gone)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_accesses_that_touch_a_region_suffer() {
        let faults = HddFaults {
            slow_region: Some(SlowRegion { offset: 1000, len: 100, extra_revolutions: 3 }),
            failing_region: Some(FailingRegion { offset: 1090, len: 10, retry_ms: 2.0 }),
            ..HddFaults::default()
        };
        let cases = [
            (0, 1000, 0, false),
            (0, 1001, 30, false),
            (1095, 1096, 2_000_030, true),
            (1099, 2000, 2_000_030, true),
            (1100, 2000, 0, false),
        ];
        for (from, to, delay, fails) in cases {
            assert_eq!(faults.effect(from, to, 10), Effect { delay, fails }, "{from}..{to}");
            assert_eq!(faults.any_in(from, to), delay > 0);
        }
    }

    #[test]
    fn a_drive_is_gone_from_its_moment_on() {
        let faults = HddFaults { gone_at: Some(5), ..HddFaults::default() };
        assert!(!faults.gone(4) && faults.gone(5));
        assert!(!HddFaults::default().gone(u64::MAX));
    }
}
