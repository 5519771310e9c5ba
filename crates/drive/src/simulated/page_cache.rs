//! A fault between drive and program: a host that sends everything through its page cache and keeps what it has
//! read, whatever the program asks for.

use super::counted::Counted;
use super::{AnyDrive, Served, SimulatedDrive};
use drivescope_machine::counters::DeviceCounters;
use drivescope_sim::ParamProblem;
use drivescope_sim::device::SimDevice;
use drivescope_sim::host::{HostParams, PAGE_BYTES, PageCache};

impl SimulatedDrive {
    /// A drive at time 0 below a page cache that no request bypasses and no eviction empties.
    ///
    /// Errors: an impossible parameter of the host.
    pub(super) fn behind_page_cache(
        drive: AnyDrive,
        host: &HostParams,
    ) -> Result<Self, ParamProblem> {
        let cache = PageCache::new(host, Counted::new(drive))?;
        Ok(Self::serving(Box::new(cache), 0))
    }
}

impl Served for PageCache<Counted> {
    fn counters(&self) -> Option<DeviceCounters> {
        Some(self.inner().counters())
    }

    fn resident_share(&self) -> Option<f64> {
        let (held, _) = self.pages_held();
        Some(held as f64 / (self.capacity_bytes() / PAGE_BYTES).max(1) as f64)
    }
}
