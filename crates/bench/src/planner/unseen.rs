//! Plans for drives of other machines, of which only a description is known.

use super::{FILE_UNIT, SIMULATED_ROOM, tests_of};
use crate::plan::expected_speed::ExpectedSpeed;
use crate::plan::plan_context::PlanContext;
use drivescope_model::drive::{Drive, DriveKind, DriveSettings};
use drivescope_model::fleet::FleetDrive;
use drivescope_model::health::Health;
use drivescope_model::options::Suite;
use drivescope_model::plan::{PlannedTest, WriteLevel};
use drivescope_model::target::{TargetInfo, TargetKind};
use drivescope_model::units::Bytes;

/// Part of the free space of a file system that a run leaves, about.
const FLOOR_SHARE: f64 = 0.1;

/// What of a drive would be measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UnseenPlace<'p> {
    /// A directory on it.
    Directory(&'p str),
    /// Its device node, written at this level; [`WriteLevel::Read`] is not at all.
    Device(WriteLevel),
    Simulated,
}

/// Plans as [`super::plan`] does, as far as the description goes: costs are those of a typical drive of its kind.
pub fn plan_unseen(suite: &Suite, drive: &FleetDrive, place: UnseenPlace<'_>) -> Vec<PlannedTest> {
    let (kind, path, allowed) = match place {
        UnseenPlace::Directory(path) => (TargetKind::Directory, path, WriteLevel::Read),
        UnseenPlace::Device(level) => (TargetKind::Block, drive.target.as_str(), level),
        UnseenPlace::Simulated => (TargetKind::Simulated, drive.target.as_str(), WriteLevel::Read),
    };
    let info = TargetInfo {
        path: path.to_string(),
        kind,
        size_bytes: drive.capacity_bytes,
        file_system: None,
        stack: Vec::new(),
        system_disk: false,
        io_mode: None,
        io_align_bytes: 0,
    };
    let capacity = drive.capacity_bytes as f64;
    let free = capacity * (1.0 - drive.fill.unwrap_or(0.0).clamp(0.0, 1.0)) * (1.0 - FLOOR_SHARE);
    let (own_bytes, room_bytes) = match kind {
        TargetKind::Directory => {
            let wanted = suite.size.0.next_multiple_of(FILE_UNIT);
            let own = wanted.min(free as u64 / FILE_UNIT * FILE_UNIT);
            (Bytes(own), free as u64 - own)
        }
        TargetKind::Simulated => (Bytes(0), (capacity * SIMULATED_ROOM) as u64),
        TargetKind::File | TargetKind::Block => (Bytes(0), 0),
    };
    let part = suite.part(drive.capacity_bytes);
    let described = described(drive);
    let context = PlanContext {
        suite,
        target: &info,
        typical: ExpectedSpeed::typical(Some(&described)),
        is_slow: false,
        fastest: ExpectedSpeed::upper_bound_of(kind, Some(&described)),
        span_bytes: if kind == TargetKind::Directory { own_bytes.0 } else { part.end - part.start },
        room_bytes,
        allowed,
        drive: Some(&described),
        zoned: None,
        round_requests_max: None,
    };
    tests_of(&context, own_bytes)
}

fn described(drive: &FleetDrive) -> Drive {
    Drive {
        name: drive.name.clone(),
        path: drive.target.clone(),
        kind: drive.kind,
        model: drive.model.clone(),
        serial: drive.serial.clone(),
        firmware: drive.firmware.clone(),
        wwn: None,
        capacity_bytes: drive.capacity_bytes,
        transport: String::new(),
        link: None,
        rotational_hint: !matches!(drive.kind, DriveKind::Ssd | DriveKind::Nvme | DriveKind::Card),
        rpm: None,
        zoned: None,
        logical_sector_bytes: 512,
        physical_sector_bytes: 4096,
        write_cache: None,
        scheduler: None,
        discards: None,
        settings: DriveSettings::default(),
        removable: false,
        read_only: false,
        temperature_c: drive.temperature_c,
        health: Health::default(),
        partitions: Vec::new(),
        content: None,
        mounts: Vec::new(),
        backing: Vec::new(),
    }
}
