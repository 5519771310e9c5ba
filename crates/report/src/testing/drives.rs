//! Drives and folders of the documents for tests.

use drivescope_model::drive::{Drive, DriveKind, DriveSettings, Link, Partition};
use drivescope_model::health::{AttributeFailure, Health, SelfTest, SmartAttribute};
use drivescope_model::target::{FileSystem, IoMode, TargetInfo, TargetKind};

pub fn directory(path: &str, fs: &str, stack: &[&str]) -> TargetInfo {
    TargetInfo {
        path: path.into(),
        kind: TargetKind::Directory,
        size_bytes: 4_000_000_000_000,
        file_system: Some(FileSystem {
            kind: fs.into(),
            source: stack.first().map_or(fs.to_string(), |name| format!("/dev/{name}")),
            mount_point: path.into(),
            options: "rw,relatime".into(),
            size_bytes: 4_000_000_000_000,
            available_bytes: 2_100_000_000_000,
            read_only: false,
        }),
        stack: stack.iter().map(ToString::to_string).collect(),
        system_disk: false,
        io_mode: Some(IoMode::Direct),
        io_align_bytes: 4096,
    }
}

pub fn hard_disk_drive() -> Drive {
    Drive {
        model: Some("WD40EFRX-68N32N0".into()),
        serial: Some("WD-WCC7K0XXXXXX".into()),
        firmware: Some("82.00A82".into()),
        transport: "sata".into(),
        link: Some(Link { name: "SATA 6.0 Gb/s".into(), payload_mb_s: 600.0, possible: None }),
        rpm: Some(5400),
        physical_sector_bytes: 4096,
        write_cache: Some("write back".into()),
        scheduler: Some("mq-deadline".into()),
        temperature_c: Some(31.0),
        health: Health {
            passed: Some(true),
            power_on_hours: Some(21_034),
            bad_sectors: Some(0),
            ..Health::default()
        },
        partitions: vec![
            partition("sda1", 1 << 20, 3_900_000_000_000, 0, Some("ext4"), &["/mnt/data"]),
            partition("sda2", 3_900_001_049_088, 99_999_744_000, 512, Some("ntfs"), &[]),
        ],
        ..drive("sda", DriveKind::HardDisk, 4_000_787_030_016)
    }
}

fn partition(
    name: &str,
    start_bytes: u64,
    size_bytes: u64,
    misaligned_bytes: u64,
    content: Option<&str>,
    mounts: &[&str],
) -> Partition {
    Partition {
        name: name.into(),
        start_bytes,
        size_bytes,
        misaligned_bytes,
        content: content.map(Into::into),
        mounts: mounts.iter().map(ToString::to_string).collect(),
    }
}

pub fn drive(name: &str, kind: DriveKind, capacity_bytes: u64) -> Drive {
    Drive {
        name: name.into(),
        path: format!("/dev/{name}"),
        kind,
        model: None,
        serial: None,
        firmware: None,
        wwn: None,
        capacity_bytes,
        transport: String::new(),
        link: None,
        rotational_hint: kind == DriveKind::HardDisk,
        rpm: None,
        zoned: None,
        logical_sector_bytes: 512,
        physical_sector_bytes: 512,
        write_cache: None,
        scheduler: None,
        discards: None,
        settings: DriveSettings::default(),
        removable: false,
        read_only: false,
        temperature_c: None,
        health: Health::default(),
        partitions: Vec::new(),
        content: None,
        mounts: Vec::new(),
        backing: Vec::new(),
    }
}

pub fn nvme_drive() -> Drive {
    Drive {
        model: Some("Samsung SSD 990 PRO 2TB".into()),
        transport: "nvme".into(),
        link: Some(Link {
            name: "PCIe 3.0 x4".into(),
            payload_mb_s: 3_938.0,
            possible: Some("PCIe 4.0 x4".into()),
        }),
        health: Health { wear_pct: Some(3), ..Health::default() },
        ..drive("nvme0n1", DriveKind::Nvme, 2_000_398_934_016)
    }
}

/// A disk that expects to fail.
pub fn worn_disk_health() -> Health {
    Health {
        passed: Some(false),
        power_on_hours: Some(41_207),
        bad_sectors: Some(1_304),
        starts: Some(311),
        written_bytes: Some(32_006_340_608_000),
        reallocated_sectors: Some(1_288),
        pending_sectors: Some(16),
        uncorrected_errors: Some(0),
        crc_errors: Some(12),
        now_c: Some(38.0),
        highest_c: Some(56.0),
        limit_c: Some(60.0),
        attributes: vec![SmartAttribute {
            id: 5,
            name: "Reallocated_Sector_Ct".into(),
            raw: "1288 (10 0)".into(),
            value: Some(5),
            worst: Some(5),
            threshold: Some(10),
            failed: Some(AttributeFailure::Now),
        }],
        self_tests: vec![SelfTest {
            kind: "Extended offline".into(),
            result: "Completed: read failure".into(),
            passed: Some(false),
            power_on_hours: Some(41_190),
            first_bad_sector: Some(1_953_525_160),
        }],
        ..Health::default()
    }
}
