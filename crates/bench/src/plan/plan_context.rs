//! What a workload plans from, before anything runs, and what its plans have in common.

use crate::loops::engine_trial;
use crate::plan::expected_speed::ExpectedSpeed;
use drivescope_model::cell::{Cell, Order};
use drivescope_model::drive::{Drive, Zoned};
use drivescope_model::options::{Suite, TestKind};
use drivescope_model::plan::{Cost, PlannedTest, WriteLevel};
use drivescope_model::target::{TargetInfo, TargetKind};
use drivescope_model::units::Bytes;

/// Why no workload writes to zones of the host.
pub(crate) const HOST_MANAGED: &str = "its zones are host-managed and reject out-of-order writes: run read-only \
                                       tests, or name a directory on a zoned file system (f2fs, btrfs)";

#[derive(Debug, Clone, Copy)]
pub struct PlanContext<'a> {
    /// Every option settled.
    pub suite: &'a Suite,
    pub target: &'a TargetInfo,
    /// For estimates of time.
    pub typical: ExpectedSpeed,
    /// `typical` comes from a trial, on a drive so slow that the requests at the end of a round count.
    pub is_slow: bool,
    /// Upper bounds, for the volume of writes; `None` where writing costs nothing.
    pub fastest: Option<ExpectedSpeed>,
    /// Bytes that tests work on: the test file, or the used part of a file or device.
    pub span_bytes: u64,
    /// For files besides the test file: of a directory, above the floor of free space; of a simulated drive, on a
    /// file system on it; else 0.
    pub room_bytes: u64,
    /// How a block device may be written.
    pub allowed: WriteLevel,
    pub drive: Option<&'a Drive>,
    /// Zones that writes to this block device have to keep to.
    pub zoned: Option<Zoned>,
    /// Requests that a timed round of a simulated drive may have.
    pub round_requests_max: Option<u64>,
}

/// Requests that one core computes in a second, drive, loop and recorder together: between those of a disk and of
/// an SSD with many dies. Measured on one machine and raised by half, because another one made twice as many: a
/// plan is off by the processor's speed.
const COMPUTED_PER_S: f64 = 1.5e6;
/// For a simulated disk that chooses among waiting requests, in its queue or its write cache.
const CHOSEN_PER_S: f64 = 5.0e5;
/// MiB of a stream that are computed in a second: flash keeps the place of every page.
const DISK_MIB_PER_S: f64 = 3.0e6;
const FLASH_MIB_PER_S: f64 = 4.4e5;

/// How much faster than typical ones a drive may be expected to be.
pub(crate) const FASTER_THAN_TYPICAL: f64 = 2.0;

impl PlanContext<'_> {
    /// Time to compute `requests` to a simulated drive; 0 on others.
    pub(crate) fn computed_s(&self, requests: f64) -> f64 {
        if self.target.kind == TargetKind::Simulated { requests / COMPUTED_PER_S } else { 0.0 }
    }

    /// For requests that a disk may serve in another order: random ones, and small writes.
    pub(crate) fn computed_random_s(&self, requests: f64) -> f64 {
        let slower = if self.is_disk() { COMPUTED_PER_S / CHOSEN_PER_S } else { 1.0 };
        self.computed_s(requests * slower)
    }

    /// Time to compute a stream of `bytes` to or from a simulated drive; 0 on others.
    pub(crate) fn computed_stream_s(&self, bytes: f64) -> f64 {
        let per_s = if self.is_disk() { DISK_MIB_PER_S } else { FLASH_MIB_PER_S };
        let is_simulated = self.target.kind == TargetKind::Simulated;
        if is_simulated { bytes / Bytes::mib(1).0 as f64 / per_s } else { 0.0 }
    }

    /// A disk, or unknown, at the bottom.
    pub(crate) fn is_disk(&self) -> bool {
        self.drive.is_none_or(|drive| drive.rotational_hint)
    }

    /// Longest time of an engine trial.
    pub(crate) fn trial_s(&self, cell: &Cell) -> f64 {
        let is_simulated = self.target.kind == TargetKind::Simulated;
        if is_simulated { 0.0 } else { engine_trial::seconds_max(cell.shape, cell.mix) }
    }

    /// Time of the requests in flight at the end of a round: too little to count on most drives.
    pub(crate) fn drain_s(&self, cell: &Cell) -> f64 {
        let shape = cell.shape;
        let in_flight = shape.depth * shape.threads;
        let block = shape.mean_block().0;
        let rate = self.typical.rate(shape.order == Order::Rnd, block, in_flight);
        let bytes = u64::from(in_flight) * block;
        if self.is_slow { bytes as f64 / rate } else { 0.0 }
    }

    /// Time to write out what the page cache took; plans for other drives leave it out.
    pub(crate) fn write_back_s(&self, bytes: f64) -> f64 {
        if self.is_slow { bytes / (self.typical.mb_s * 1e6) } else { 0.0 }
    }

    /// Plans a round of `requests`, which may be shorter than its time: its share of them.
    pub(crate) fn timed_round(&self, test: &mut PlannedTest, requests: f64) -> f64 {
        let Some(most) = self.round_requests_max else { return 1.0 };
        if requests * FASTER_THAN_TYPICAL <= most as f64 {
            return 1.0;
        }
        test.round_requests = self.round_requests_max;
        (most as f64 / requests).min(1.0)
    }

    pub(crate) fn planned(&self, test: TestKind) -> PlannedTest {
        let writes = match self.target.kind {
            TargetKind::Directory => WriteLevel::OwnFiles,
            _ => WriteLevel::Read,
        };
        PlannedTest {
            test,
            writes,
            restores: None,
            cost: Cost::default(),
            files_bytes: Bytes(0),
            at_most: None,
            round_requests: None,
            skip: None,
            omitted: Vec::new(),
        }
    }

    pub(crate) fn skipped(&self, test: TestKind, reason: impl Into<String>) -> PlannedTest {
        PlannedTest { skip: Some(reason.into()), ..self.planned(test) }
    }

    /// Why a test that overwrites the whole target cannot run on this one.
    pub(crate) fn overwrite_refusal(&self) -> Option<&'static str> {
        match self.target.kind {
            TargetKind::Directory => Some("writes a whole drive; a directory is only part of one"),
            _ => self.write_refusal(WriteLevel::Destroy),
        }
    }

    /// Why this target is not written, where a block device would be written at `level`.
    pub(crate) fn write_refusal(&self, level: WriteLevel) -> Option<&'static str> {
        match self.target.kind {
            TargetKind::Directory | TargetKind::Simulated => None,
            TargetKind::File => Some("existing files are never written"),
            TargetKind::Block if self.zoned == Some(Zoned::HostManaged) => Some(HOST_MANAGED),
            TargetKind::Block if self.allowed >= level => None,
            TargetKind::Block if level == WriteLevel::SameBytes => {
                Some("needs a raw write: --write same-bytes")
            }
            TargetKind::Block if level == WriteLevel::Restore => {
                Some("needs a raw write: --write restore, or --destroy SERIAL")
            }
            TargetKind::Block => Some("needs a raw write: --destroy SERIAL"),
        }
    }

    /// Why a test of files cannot run on this target, if so.
    pub(crate) fn files_refusal(&self) -> Option<&'static str> {
        match self.target.kind {
            TargetKind::Directory | TargetKind::Simulated => None,
            TargetKind::File | TargetKind::Block => {
                Some("needs a directory, in which it makes files of its own")
            }
        }
    }

    /// Rate at which `bytes` can be expected to be written in order.
    pub(crate) fn sequential_write_mb_s(&self, bytes: u64) -> f64 {
        self.typical.sequential_write_mb_s(self.drive, bytes)
    }
}
