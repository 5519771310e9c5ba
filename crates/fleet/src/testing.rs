//! Drives and hosts for tests.

use drivescope_model::drive::DriveKind;
use drivescope_model::fleet::{AgentFacts, FleetDrive, FleetHost, HostDrive};
use drivescope_model::plan::WriteLevel;

/// A disk of 4 TB on host `rack7-3`, a quarter full, without a directory.
pub(crate) fn host_drive() -> HostDrive {
    HostDrive {
        host_id: "id-3".into(),
        host: "rack7-3".into(),
        drive: FleetDrive {
            key: "WDC WD40EFRX-68N32N0|WD-WCC7K0000001".into(),
            target: "/dev/sda".into(),
            model: Some("WDC WD40EFRX-68N32N0".into()),
            serial: Some("WD-WCC7K0000001".into()),
            firmware: Some("82.00A82".into()),
            link: Some("SATA 6.0 Gb/s".into()),
            temperature_c: Some(38.0),
            fill: Some(0.25),
            ..FleetDrive::named("sda", DriveKind::HardDisk, 4_000_787_030_016)
        },
        is_there: true,
        seen_s_ago: 12.0,
    }
}

/// A virtual disk on host `vm1` of which little is known.
pub(crate) fn other_drive() -> HostDrive {
    let mut drive = host_drive();
    (drive.host_id, drive.host) = ("id-vm1".into(), "vm1".into());
    let facts = &mut drive.drive;
    (facts.name, facts.target) = ("vda".into(), "/dev/vda".into());
    facts.key = "id-vm1|vda".into();
    facts.kind = DriveKind::Virtual;
    (facts.model, facts.serial, facts.firmware, facts.link) = (None, Some(" ".into()), None, None);
    (facts.temperature_c, facts.fill, facts.capacity_bytes) = (None, None, 100_000_000_000);
    drive
}

pub(crate) fn host_of(drive: &HostDrive) -> FleetHost {
    FleetHost {
        agent: AgentFacts {
            id: drive.host_id.clone(),
            name: drive.host.clone(),
            machine: format!("machine of {}", drive.host),
            boot: "boot".into(),
            version: "0.1.0".into(),
            ceiling: WriteLevel::OwnFiles,
            parallel: 2,
            poll_s: 30.0,
        },
        seen_s_ago: 5.0,
        drives: 1,
        missing: Vec::new(),
        waiting: 0,
        running: 0,
        same_machine_as: None,
    }
}
