//! Speeds expected of a drive before anything is measured: typical ones for estimates of time, and upper bounds for
//! the volume of writes that a plan promises.

use drivescope_drive::Target;
use drivescope_model::drive::{Drive, DriveKind};
use drivescope_model::target::TargetKind;
use drivescope_model::units::Bytes;

/// The most that a SATA link carries; flash on a faster one has faster chips.
const SATA_MB_S: f64 = 600.0;
/// A round holds this many requests per place of the queue, however short it is: its beginning and end would be all
/// of it otherwise.
pub(crate) const DEPTHS_MIN: u64 = 4;
/// A test file is written at this share of the rate.
const LAYOUT_SHARE_OF_RATE: f64 = 0.8;
/// Upper bounds of memory in place of a drive.
const MEMORY_MAX: ExpectedSpeed =
    ExpectedSpeed { mb_s: 10_000.0, iops: 500_000.0, queue_gain: 4.0 };

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ExpectedSpeed {
    /// Large transfers.
    pub mb_s: f64,
    /// Random requests, one at a time.
    pub iops: f64,
    /// Gain of a deep queue, times.
    pub queue_gain: f64,
}

impl ExpectedSpeed {
    /// Memory in place of a drive.
    const MEMORY: Self = Self { mb_s: 3_000.0, iops: 100_000.0, queue_gain: 4.0 };

    /// Typical figures of what is below a target.
    pub fn of(target: &Target) -> Self {
        match target.memory_backed() {
            Some(_) => Self::MEMORY,
            None => Self::typical(target.drive()),
        }
    }

    /// Time to write the test file; charged to the first test that needs it.
    pub fn layout_s(self, size: Bytes) -> f64 {
        size.0 as f64 / (self.mb_s * 1e6 * LAYOUT_SHARE_OF_RATE)
    }

    pub fn typical(drive: Option<&Drive>) -> Self {
        let of = |mb_s, iops, queue_gain| Self { mb_s, iops, queue_gain };
        match drive.map(|drive| drive.kind) {
            Some(DriveKind::Nvme) => of(2_500.0, 12_000.0, 20.0),
            // Between what an A1 card must do (SD specification 5.1: 10 MB/s, 500 to 1,500 requests/s) and its bus.
            Some(DriveKind::Card) if drive.is_some_and(|drive| drive.transport == "sd") => {
                of(40.0, 1_000.0, 1.5)
            }
            Some(DriveKind::Ssd | DriveKind::Card) => of(450.0, 8_000.0, 8.0),
            Some(DriveKind::Simulated) => match drive.filter(|drive| !drive.rotational_hint) {
                Some(drive)
                    if drive.link.as_ref().is_some_and(|it| it.payload_mb_s > SATA_MB_S) =>
                {
                    of(2_500.0, 12_000.0, 20.0)
                }
                Some(_) => of(450.0, 8_000.0, 8.0),
                None => of(150.0, 100.0, 2.5),
            },
            Some(DriveKind::Virtual) => of(600.0, 4_000.0, 8.0),
            Some(DriveKind::Memory | DriveKind::Loop) => Self::MEMORY,
            Some(DriveKind::Composite) if drive.is_some_and(|drive| !drive.rotational_hint) => {
                of(450.0, 8_000.0, 8.0)
            }
            _ => of(150.0, 100.0, 2.5),
        }
    }

    /// Bytes per second.
    pub fn rate(self, random: bool, block_bytes: u64, depth: u32) -> f64 {
        let sequential = self.mb_s * 1e6;
        if !random {
            return sequential;
        }
        let gain = f64::from(depth).min(self.queue_gain);
        (self.iops * gain * block_bytes as f64).min(sequential)
    }

    /// Speeds that no drive below `target` is expected to pass; `None` where writing costs nothing, on a simulated
    /// drive.
    pub fn upper_bound(target: &Target) -> Option<Self> {
        let bound = Self::upper_bound_of(target.info().kind, target.drive())?;
        Some(if target.memory_backed().is_some() { MEMORY_MAX } else { bound })
    }

    /// The same, of a drive that is not in this machine.
    pub(crate) fn upper_bound_of(kind: TargetKind, drive: Option<&Drive>) -> Option<Self> {
        (kind != TargetKind::Simulated).then(|| Self::upper_bound_below(drive))
    }

    fn upper_bound_below(drive: Option<&Drive>) -> Self {
        let of = |mb_s, iops, queue_gain| Self { mb_s, iops, queue_gain };
        let link = drive.and_then(|drive| drive.link.as_ref()).map(|link| link.payload_mb_s);
        match drive.map(|drive| drive.kind) {
            // Four lanes of PCIe 4.0, unless the link is known.
            Some(DriveKind::Nvme) => of(link.unwrap_or(8_000.0), 100_000.0, 10.0),
            Some(DriveKind::Memory) => MEMORY_MAX,
            // What is below is unknown.
            Some(DriveKind::Virtual | DriveKind::Loop | DriveKind::Composite) | None => {
                of(5_000.0, 50_000.0, 10.0)
            }
            // Disks too: their cache takes a second's writes at the rate of the link.
            Some(_) => of(link.unwrap_or(SATA_MB_S), 30_000.0, 5.0),
        }
    }

    /// Rate, MB/s, at which `bytes` of `drive` can be expected to be written in order. Fitted on the drives of
    /// docs/models.md, all but the shingled ones within a factor of 1.5. The mean over a disk grows with the third
    /// root of its capacity; flash past its cache, with the number of its chips. What is small beside the drive
    /// goes into the cache, at the rate of the link.
    pub fn sequential_write_mb_s(self, drive: Option<&Drive>, bytes: u64) -> f64 {
        let known = [DriveKind::HardDisk, DriveKind::Ssd, DriveKind::Nvme, DriveKind::Simulated];
        let Some(drive) = drive.filter(|drive| known.contains(&drive.kind)) else {
            return self.mb_s;
        };
        let capacity_gb = drive.capacity_bytes as f64 / 1e9;
        if drive.rotational_hint {
            return 55.0 * (capacity_gb / 400.0).cbrt();
        }
        let link = drive.link.as_ref().map_or(self.mb_s, |link| link.payload_mb_s * 0.9);
        let per_gb = if link > SATA_MB_S { 2.0 } else { 1.5 };
        let is_little = bytes < drive.capacity_bytes / 50;
        if is_little { link.min(self.mb_s.max(450.0)) } else { link.min(per_gb * capacity_gb) }
    }
}
