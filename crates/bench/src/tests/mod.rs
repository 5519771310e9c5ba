//! The tests, one file each: its cost, what it may write, its phases, its metrics.

mod align;
mod continuing;
mod fill;
mod latency;
mod queueing;
mod read_back;
mod restoring;
mod surface;
mod tiny_writes;
mod transfer;
mod verify;
pub(crate) mod volume;
mod writing;

use crate::error::BenchError;
use crate::results::TestRecord;
use crate::session::Session;
use drivescope_model::drive::{Drive, DriveKind, Zoned};
use drivescope_model::options::{Suite, TestKind};
use drivescope_model::plan::{PlannedTest, WriteLevel};
use drivescope_model::target::{TargetInfo, TargetKind};

/// Fewest places of a sampled fill: fewer give no curve.
pub(crate) const FILL_PLACES_MIN: u32 = fill::PLACES_MIN;

/// What a plan is made from.
#[derive(Debug, Clone, Copy)]
pub struct Context<'a> {
    /// The suite, every option settled.
    pub suite: &'a Suite,
    /// On what.
    pub target: &'a TargetInfo,
    /// Speeds assumed for estimates.
    pub assumed: Assumed,
    /// Speeds that bound what is written; see [`volume`].
    pub most: Option<Assumed>,
    /// Bytes that tests work on: the test file, or the used part of a file or device.
    pub span_bytes: u64,
    /// How a block device may be written.
    pub allowed: WriteLevel,
    /// The drive at the bottom, if there is one.
    pub drive: Option<&'a Drive>,
    /// Zones that writes to this block device have to keep to.
    pub zoned: Option<Zoned>,
}

/// Speeds assumed before anything is measured, for estimates of time and volume only.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Assumed {
    /// Large transfers.
    pub mb_s: f64,
    /// Random requests, one at a time.
    pub iops: f64,
    /// How much more a deep queue gives.
    pub queue_gain: f64,
}

impl Assumed {
    /// Memory in place of a drive.
    pub const MEMORY: Self = Self { mb_s: 3_000.0, iops: 100_000.0, queue_gain: 4.0 };

    /// Typical figures of a kind of drive.
    pub fn of(drive: Option<&Drive>) -> Self {
        let of = |mb_s, iops, queue_gain| Self { mb_s, iops, queue_gain };
        match drive.map(|drive| drive.kind) {
            Some(DriveKind::Nvme) => of(2_500.0, 12_000.0, 20.0),
            Some(DriveKind::Ssd | DriveKind::Card) => of(450.0, 8_000.0, 8.0),
            Some(DriveKind::Virtual) => of(600.0, 4_000.0, 8.0),
            Some(DriveKind::Memory | DriveKind::Loop) => Self::MEMORY,
            Some(DriveKind::Composite) if drive.is_some_and(|drive| !drive.rotational_hint) => {
                of(450.0, 8_000.0, 8.0)
            }
            _ => of(150.0, 100.0, 2.5),
        }
    }

    /// Bytes that requests of `block` bytes at `depth` move per second.
    pub fn rate(self, random: bool, block_bytes: u64, depth: u32) -> f64 {
        let sequential = self.mb_s * 1e6;
        if !random {
            return sequential;
        }
        let gain = f64::from(depth).min(self.queue_gain);
        (self.iops * gain * block_bytes as f64).min(sequential)
    }
}

/// The most that a SATA link carries; flash behind a faster one has faster chips.
const SATA_MB_S: f64 = 600.0;

/// Rate, MB/s, at which so many bytes of a drive can be expected to be written one after the other.
///
/// Fitted on the drives of docs/models.md, all but the shingled ones within a factor of 1.5. The mean over a disk
/// grows with the third root of its capacity; flash behind its cache, with the number of its chips. What is
/// small beside the drive goes into the cache, at the rate of the link.
fn written_mb_s(context: &Context<'_>, bytes: u64) -> f64 {
    let usual = context.assumed.mb_s;
    let known = [DriveKind::HardDisk, DriveKind::Ssd, DriveKind::Nvme, DriveKind::Simulated];
    let Some(drive) = context.drive.filter(|drive| known.contains(&drive.kind)) else {
        return usual;
    };
    let capacity_gb = drive.capacity_bytes as f64 / 1e9;
    if drive.rotational_hint {
        return 55.0 * (capacity_gb / 400.0).cbrt();
    }
    let link = drive.link.as_ref().map_or(usual, |link| link.payload_mb_s * 0.9);
    let per_gb = if link > SATA_MB_S { 2.0 } else { 1.5 };
    let is_little = bytes < drive.capacity_bytes / 50;
    if is_little { link.min(usual.max(450.0)) } else { link.min(per_gb * capacity_gb) }
}

/// What a test would do on a target, before anything runs.
pub fn plan(test: TestKind, context: &Context<'_>) -> PlannedTest {
    match test {
        TestKind::Transfer => transfer::plan(context),
        TestKind::Latency => latency::plan(context),
        TestKind::Surface => surface::plan(context),
        TestKind::TinyWrites => tiny_writes::plan(context),
        TestKind::Align => align::plan(context),
        TestKind::Fill => fill::plan(context),
        TestKind::Verify => verify::plan(context),
    }
}

/// Runs a test.
pub fn run(
    test: TestKind,
    session: &mut Session<'_>,
    record: &mut TestRecord,
) -> Result<(), BenchError> {
    match test {
        TestKind::Transfer => transfer::run(session, record),
        TestKind::Latency => latency::run(session, record),
        TestKind::Surface => surface::run(session, record),
        TestKind::TinyWrites => tiny_writes::run(session, record),
        TestKind::Align => align::run(session, record),
        TestKind::Fill => fill::run(session, record),
        TestKind::Verify => verify::run(session, record),
    }
}

/// A planned test that runs.
fn planned(test: TestKind, context: &Context<'_>) -> PlannedTest {
    let writes = match context.target.kind {
        TargetKind::Directory => WriteLevel::OwnFiles,
        _ => WriteLevel::Read,
    };
    let cost = drivescope_model::plan::Cost::default();
    PlannedTest {
        test,
        writes,
        restores: None,
        cost,
        at_most: None,
        skip: None,
        omitted: Vec::new(),
    }
}

/// A planned test that does not run, and why.
fn skipped(test: TestKind, context: &Context<'_>, reason: impl Into<String>) -> PlannedTest {
    PlannedTest { skip: Some(reason.into()), ..planned(test, context) }
}

/// Why no test writes to zones of the host.
const HOST_MANAGED: &str = "its zones are host-managed and refuse writes out of order: run tests that only read, \
                            or name a directory on a file system for zones (f2fs, btrfs)";

/// Why a test that overwrites the whole target cannot run on this one.
fn no_overwriting(context: &Context<'_>) -> Option<&'static str> {
    match context.target.kind {
        TargetKind::Directory => Some("writes a whole drive; a directory holds part of one"),
        _ => no_writes(context, WriteLevel::Destroy),
    }
}

/// Why writes are left out on this target, where a block device would be written at `level`; `None` if
/// they are not.
fn no_writes(context: &Context<'_>, level: WriteLevel) -> Option<&'static str> {
    match context.target.kind {
        TargetKind::Directory | TargetKind::Simulated => None,
        TargetKind::File => Some("an existing file is never written"),
        TargetKind::Block if context.zoned == Some(Zoned::HostManaged) => Some(HOST_MANAGED),
        TargetKind::Block if context.allowed >= level => None,
        TargetKind::Block if level == WriteLevel::SameBytes => {
            Some("needs a raw write: --write same-bytes")
        }
        TargetKind::Block if level == WriteLevel::Restore => {
            Some("needs a raw write: --write restore, or --destroy SERIAL")
        }
        TargetKind::Block => Some("needs a raw write: --destroy SERIAL"),
    }
}

#[cfg(test)]
#[path = "zones_tests.rs"]
mod zones_tests;
