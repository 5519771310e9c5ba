//! When dirty pages are written, and how writers are held back: the arithmetic, without the pages.
//!
//! After mm/page-writeback.c of Linux (Wu Fengguang's "IO-less dirty throttling", 2011). Below the middle
//! of the background threshold and the limit writers run free. Above it each pauses so that together they
//! make pages dirty as fast as the device writes them, times a position ratio that falls from 2 to 0 on
//! the way to the limit. Linux also divides the rate among writers and devices; here each writer gets all
//! of it, and the limit alone holds several.

use super::params::{HostParams, PAGE_BYTES};
use crate::device::Nanos;

/// Longest single pause (Linux: `MAX_PAUSE`, 200 ms).
const PAUSE_MAX_NS: Nanos = 200_000_000;
/// Pause of a writer that finds the limit reached; it looks again afterwards.
const PAUSE_AT_LIMIT_NS: Nanos = 10_000_000;
/// Interval over which the write rate is measured (Linux: `BANDWIDTH_INTERVAL`, 200 ms).
const RATE_INTERVAL_NS: Nanos = 200_000_000;
/// Share of a new measurement in the estimate.
const RATE_GAIN: f64 = 0.25;

/// Amounts of dirty pages at which something changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Thresholds {
    /// Write-back begins above this.
    pub background_pages: u64,
    /// Writers are held back above this.
    pub free_run_pages: u64,
    /// Writers cannot go beyond this.
    pub limit_pages: u64,
}

impl Thresholds {
    pub fn new(params: &HostParams) -> Self {
        let memory_pages = (params.cache_bytes / PAGE_BYTES) as f64;
        let share = |percent: f64| (memory_pages * percent / 100.0) as u64;
        let background_pages = share(params.dirty_background_ratio_pct);
        let limit_pages = share(params.dirty_ratio_pct).max(background_pages + 2);
        Self {
            background_pages,
            free_run_pages: background_pages.midpoint(limit_pages),
            limit_pages,
        }
    }

    /// How much faster (above 1) or slower than the device writers may go, from the pages that are dirty
    /// or being written: 1 + ((setpoint − dirty) / (limit − setpoint))³, setpoint midway between free run
    /// and limit; 0 at the limit.
    fn position_ratio(&self, dirty_pages: u64) -> f64 {
        let setpoint = self.free_run_pages.midpoint(self.limit_pages) as f64;
        let span = (self.limit_pages as f64 - setpoint).max(1.0);
        let x = (setpoint - dirty_pages as f64) / span;
        (1.0 + x.powi(3)).clamp(0.0, 2.0)
    }

    /// How long a writer that has made `new_pages` dirty must wait.
    pub fn pause(&self, dirty_pages: u64, new_pages: u64, write_ns_per_page: f64) -> Nanos {
        if dirty_pages <= self.free_run_pages || new_pages == 0 {
            return 0;
        }
        if dirty_pages >= self.limit_pages {
            return PAUSE_AT_LIMIT_NS;
        }
        let ratio = self.position_ratio(dirty_pages).max(1e-3);
        ((new_pages as f64 * write_ns_per_page / ratio) as Nanos).min(PAUSE_MAX_NS)
    }
}

/// A running estimate of how fast the device takes written pages.
#[derive(Debug, Clone)]
pub struct WriteRate {
    ns_per_page: f64,
    since: Nanos,
    pages: u64,
}

impl WriteRate {
    pub fn new(params: &HostParams) -> Self {
        let ns_per_page = PAGE_BYTES as f64 * 1000.0 / params.initial_write_mb_s;
        Self { ns_per_page, since: 0, pages: 0 }
    }

    pub fn begins(&mut self, now: Nanos) {
        (self.since, self.pages) = (now, 0);
    }

    pub fn written(&mut self, now: Nanos, pages: u64) {
        self.pages += pages;
        let elapsed = now.saturating_sub(self.since);
        if elapsed >= RATE_INTERVAL_NS {
            let seen = elapsed as f64 / self.pages as f64;
            self.ns_per_page += (seen - self.ns_per_page) * RATE_GAIN;
            self.begins(now);
        }
    }
    pub fn ns_per_page(&self) -> f64 {
        self.ns_per_page
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn thresholds() -> Thresholds {
        Thresholds { background_pages: 1000, free_run_pages: 1500, limit_pages: 2000 }
    }

    #[test]
    fn thresholds_are_shares_of_the_memory() {
        let params = HostParams { cache_bytes: 10_000 * PAGE_BYTES, ..HostParams::default() };
        assert_eq!(Thresholds::new(&params), thresholds());
    }

    #[test]
    fn the_position_ratio_falls_to_nothing_at_the_limit() {
        fn at(dirty: u64) -> f64 {
            thresholds().position_ratio(dirty)
        }
        assert!((at(1500) - 2.0).abs() < 1e-9 && (at(1750) - 1.0).abs() < 1e-9);
        assert!(at(2000).abs() < 1e-9 && at(5000).abs() < 1e-9);
        assert!((1500..2000).all(|dirty| at(dirty) >= at(dirty + 1)));
    }

    #[test]
    fn writers_run_free_then_device_rate_then_stop() {
        fn pause(dirty: u64) -> u64 {
            thresholds().pause(dirty, 10, 40_000.0)
        }
        assert_eq!(pause(1500), 0);
        assert_eq!(pause(1750), 400_000);
        assert!(pause(1900) > 400_000 && pause(1900) < PAUSE_MAX_NS);
        assert_eq!(pause(1999), 34_150_000.min(pause(1999)), "long, but finite");
        assert_eq!(pause(2000), PAUSE_AT_LIMIT_NS);
        assert_eq!(thresholds().pause(1900, 0, 40_000.0), 0);
    }

    #[test]
    fn the_rate_follows_what_is_measured() {
        let mut rate = WriteRate::new(&HostParams::default());
        assert!((rate.ns_per_page() - 39_062.5).abs() < 1e-6);
        rate.begins(0);
        for step in 1..200 {
            rate.written(step * 10_000_000, 1000);
        }
        assert!((rate.ns_per_page() / 10_000.0 - 1.0).abs() < 0.25, "{}", rate.ns_per_page());
    }
}
