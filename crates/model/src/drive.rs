//! A drive as the machine describes it.

use crate::health::Health;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What kind of device a node is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum DriveKind {
    /// Rotating disk.
    HardDisk,
    /// Flash behind SATA, SAS or USB.
    Ssd,
    /// Flash behind NVMe.
    Nvme,
    /// SD card, eMMC.
    Card,
    /// Optical drive.
    Optical,
    /// A disk of a virtual machine: the host decides what is behind it.
    Virtual,
    /// A file shown as a block device.
    Loop,
    /// Memory shown as a block device (zram, brd, tmpfs).
    Memory,
    /// Made of other devices: device mapper, md, bcache.
    Composite,
    /// A simulated drive.
    Simulated,
    /// Anything else.
    Unknown,
}

impl DriveKind {
    pub const ALL: [Self; 11] = [
        Self::HardDisk,
        Self::Ssd,
        Self::Nvme,
        Self::Card,
        Self::Optical,
        Self::Virtual,
        Self::Loop,
        Self::Memory,
        Self::Composite,
        Self::Simulated,
        Self::Unknown,
    ];

    /// As in documents.
    pub const fn name(self) -> &'static str {
        match self {
            Self::HardDisk => "hard-disk",
            Self::Ssd => "ssd",
            Self::Nvme => "nvme",
            Self::Card => "card",
            Self::Optical => "optical",
            Self::Virtual => "virtual",
            Self::Loop => "loop",
            Self::Memory => "memory",
            Self::Composite => "composite",
            Self::Simulated => "simulated",
            Self::Unknown => "unknown",
        }
    }
}

/// Zones that can only be written anew from their beginning, and who sees to that.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Zoned {
    /// The drive alone: writes go anywhere, first into a cache. Shingled disks.
    DriveManaged,
    /// The drive, and better the host.
    HostAware,
    /// The host alone: the drive refuses writes out of order. Shingled disks, and flash with zones.
    HostManaged,
}

impl Zoned {
    pub fn name(self) -> &'static str {
        match self {
            Self::DriveManaged => "drive-managed",
            Self::HostAware => "host-aware",
            Self::HostManaged => "host-managed",
        }
    }
}

/// The link between host and drive.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Link {
    /// As people write it: `SATA 6.0 Gb/s`, `PCIe 3.0 x4`, `USB 5 Gb/s`.
    pub name: String,
    /// The most data the link can carry after line coding; no rate can exceed it (finding F003).
    pub payload_mb_s: f64,
    /// The best link that both ends support, if better than `name` (finding F024).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub possible: Option<String>,
}

impl Link {
    /// Whether it carries data both ways at once, each at its full rate: SATA is half duplex, as is USB below 5
    /// Gb/s; PCIe, SAS and USB from 5 Gb/s on have lanes for each direction.
    pub fn is_duplex(&self) -> bool {
        let half = ["SATA", "USB 480", "USB 12", "USB 1.5"];
        !half.iter().any(|name| self.name.starts_with(name))
    }
}

/// A partition.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Partition {
    /// Kernel name: `sda1`.
    pub name: String,
    /// First byte of the partition on the drive.
    pub start_bytes: u64,
    /// Length of the partition.
    pub size_bytes: u64,
    /// Start modulo the physical sector; 0 means aligned (finding F026).
    pub misaligned_bytes: u64,
    /// File system or other content.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content: Option<String>,
    /// Where it is mounted.
    pub mounts: Vec<String>,
}

impl Partition {
    /// An extended one begins wherever the table of those within it has room: the kernel shows a page of it at
    /// most, too little for anything that is read or written.
    pub fn is_extended(&self) -> bool {
        (1..=4096).contains(&self.size_bytes)
    }
}

/// How the kernel uses a drive, and what it may do to save power: all that is known of it.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct DriveSettings {
    /// Requests that the kernel's queue holds (`queue/nr_requests`).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub queue_requests: Option<u64>,
    /// Requests that the kernel gives the drive at once (`device/queue_depth`).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub drive_requests: Option<u64>,
    /// What the kernel reads ahead of programs without direct I/O (`queue/read_ahead_kb`).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub read_ahead_kib: Option<u64>,
    /// Latency of reads above which writes from the page cache are slowed down; 0: never (`queue/wbt_lat_usec`).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub writeback_latency_us: Option<u64>,
    /// NUMA node that it is attached to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub numa_node: Option<u32>,
    /// Level of advanced power management, 1 (saves most) to 254; 0: switched off.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub apm_level: Option<u32>,
    /// Power policy of its SATA link (`link_power_management_policy`).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub link_power_policy: Option<String>,
    /// `auto` where the kernel may suspend it while it is idle, else `on` (`power/control`).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub suspend: Option<String>,
    /// Longest wake-up that an NVMe drive's own power states may cost; 0: they are off.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub nvme_wake_up_max_us: Option<u64>,
    /// Of a loop device: whether it reads and writes its file with direct I/O.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub loop_direct_io: Option<bool>,
}

impl DriveSettings {
    fn is_unknown(&self) -> bool {
        *self == Self::default()
    }
}

/// A drive as the machine describes it; `drivescope list --json` prints this object for every drive.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Drive {
    /// Kernel name: `sda`, `nvme0n1`.
    pub name: String,
    /// Device node, `/dev/sda`.
    pub path: String,
    /// What it is.
    pub kind: DriveKind,
    /// Model as reported.
    pub model: Option<String>,
    /// Serial number as reported.
    pub serial: Option<String>,
    /// Firmware revision.
    pub firmware: Option<String>,
    /// World-wide name.
    pub wwn: Option<String>,
    /// Capacity.
    pub capacity_bytes: u64,
    /// `sata`, `sas`, `nvme`, `usb`, `virtio`, `mmc`, `loop`, `memory`, or another of the kernel's names.
    pub transport: String,
    /// The link between host and drive.
    pub link: Option<Link>,
    /// Whether the kernel believes that it rotates; virtual and loop devices often claim so.
    pub rotational_hint: bool,
    /// Revolutions per minute, if the drive reports them.
    pub rpm: Option<u32>,
    /// Its zones, if the kernel or the drive reports them; many shingled disks hide theirs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub zoned: Option<Zoned>,
    /// Smallest addressable unit.
    pub logical_sector_bytes: u32,
    /// Physical sector, as reported.
    pub physical_sector_bytes: u32,
    /// `write back` or `write through`.
    pub write_cache: Option<String>,
    /// Active I/O scheduler of the queue.
    pub scheduler: Option<String>,
    /// Whether it takes discards (TRIM), as far as the kernel says. Of disks only shingled ones do.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub discards: Option<bool>,
    /// Further settings that bear on its figures.
    #[serde(default, skip_serializing_if = "DriveSettings::is_unknown")]
    pub settings: DriveSettings,
    /// Whether the kernel calls it removable.
    pub removable: bool,
    /// Whether it refuses writes.
    pub read_only: bool,
    /// Temperature before the run.
    pub temperature_c: Option<f64>,
    /// Health, as reported by SMART.
    pub health: Health,
    /// Partitions, in the order of their start.
    pub partitions: Vec<Partition>,
    /// File system or other content of the whole device, if it has no partitions.
    pub content: Option<String>,
    /// Where the whole device is mounted.
    pub mounts: Vec<String>,
    /// The file behind a loop device, the devices below a composite one.
    pub backing: Vec<String>,
}

impl Drive {
    /// Whether it reports a speed of rotation, or is of a kind that the kernel knows to rotate.
    pub fn rotates(&self) -> bool {
        match (self.rpm, self.kind) {
            (Some(rpm), _) => rpm > 1,
            (None, DriveKind::HardDisk) => true,
            (None, DriveKind::Composite | DriveKind::Simulated) => self.rotational_hint,
            (None, _) => false,
        }
    }

    /// Whether it takes SATA's commands over SATA, as far as is known: some SSDs take them over PCIe (AHCI).
    pub fn has_sata_link(&self) -> bool {
        self.transport == "sata"
            && self.link.as_ref().is_none_or(|link| link.name.starts_with("SATA"))
    }

    /// What makes `other` another drive, by what both report; `None` if it may be the same. A serial number alone does
    /// not make two the same: a dock has one for whatever lies in it. There, firmware counts too, unless both have a
    /// world-wide name; elsewhere it was updated.
    pub fn clash(&self, other: &Self) -> Option<&'static str> {
        let differ = |own: &Option<String>, others: &Option<String>| {
            reported(own).zip(reported(others)).filter(|(own, others)| own != others)
        };
        // Of a revision, some views show the last characters only.
        let is_other_firmware = differ(&self.firmware, &other.firmware)
            .is_some_and(|(own, others)| !own.ends_with(&others) && !others.ends_with(&own));
        let is_docked = self.transport == "usb" && other.transport == "usb";
        let is_named = reported(&self.wwn).is_some() && reported(&other.wwn).is_some();
        let sizes = [self.capacity_bytes, other.capacity_bytes];
        let clashes = [
            (differ(&self.serial, &other.serial).is_some(), "serial number"),
            (sizes[0] != sizes[1] && !sizes.contains(&0), "capacity"),
            (differ(&self.model, &other.model).is_some(), "model"),
            (differ(&self.wwn, &other.wwn).is_some(), "world-wide name"),
            (is_docked && !is_named && is_other_firmware, "firmware"),
        ];
        clashes.into_iter().find(|(is_clash, _)| *is_clash).map(|(_, what)| what)
    }
}

fn reported(text: &Option<String>) -> Option<String> {
    text.as_deref().map(str::trim).filter(|text| !text.is_empty()).map(str::to_string)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drive(change: impl Fn(&mut Drive)) -> Drive {
        let mut drive: Drive = serde_json::from_value(serde_json::json!({
            "name": "sdb", "path": "/dev/sdb", "kind": "hard-disk", "model": "M", "serial": "DOCK", "firmware": "0104",
            "wwn": null, "capacity_bytes": 2_000_000, "transport": "usb", "link": null, "rotational_hint": true,
            "rpm": null, "logical_sector_bytes": 512, "physical_sector_bytes": 4096, "write_cache": null,
            "scheduler": null, "removable": false, "read_only": false, "temperature_c": null,
            "health": {"passed": null, "power_on_hours": null, "wear_pct": null, "bad_sectors": null, "note": null},
            "partitions": [], "content": null, "mounts": [], "backing": []
        }))
        .unwrap();
        change(&mut drive);
        drive
    }

    #[test]
    fn kinds_are_named_as_in_documents() {
        for kind in DriveKind::ALL {
            assert_eq!(serde_json::to_value(kind).unwrap(), kind.name());
        }
    }

    #[test]
    fn drives_sharing_a_dock_serial_are_distinguished() {
        fn named(name: &str) -> Drive {
            drive(|it| it.wwn = Some(name.into()))
        }
        // A drive with a name of its own, or on a link of its own, has got other firmware.
        fn updated(mut it: Drive) -> Drive {
            it.firmware = Some("82.0".into());
            it
        }
        let one = drive(|_| {});
        assert_eq!(one.clash(&one), None);
        type Change = fn(&mut Drive);
        let changes: [(Change, Option<&str>); 9] = [
            (|it| it.serial = Some("T".into()), Some("serial number")),
            (|it| it.capacity_bytes += 512, Some("capacity")),
            (|it| it.capacity_bytes = 0, None),
            (|it| it.model = Some("N".into()), Some("model")),
            (|it| it.model = None, None),
            (|it| it.firmware = Some("82.0".into()), Some("firmware")),
            (|it| it.firmware = Some("01.010104".into()), None),
            (|it| (it.name, it.path) = ("sdz".into(), "/dev/sdz".into()), None),
            (|it| it.wwn = Some("naa.1".into()), None),
        ];
        for (change, expected) in changes {
            let other = drive(change);
            assert_eq!((one.clash(&other), other.clash(&one)), (expected, expected), "{other:?}");
        }
        assert_eq!(named("naa.1").clash(&named("naa.2")), Some("world-wide name"));
        assert_eq!(named("naa.1").clash(&updated(named("naa.1"))), None);
        let sata = drive(|it| it.transport = "sata".into());
        assert_eq!(sata.clash(&updated(sata.clone())), None);
    }
}
