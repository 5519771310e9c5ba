//! Who a drive is, and how sure it is that two are the same: originals go back to the drive they came from and to no
//! other, and a claim is for the drive that was shown.

mod port;
mod reported;
mod sameness;

pub use reported::ReportedIdentity;
pub use sameness::{Difference, MatchedBy, Sameness};

use crate::backing_file::BackingFile;
use crate::block_device::{BlockDevice, disk_of_partition};
use crate::mounts::{mount_at, mounts};
use crate::roots::{Roots, read_u64};
use crate::served::served_model;
use drivescope_model::drive::Drive;
use drivescope_model::gate::DeviceIdentity;
use drivescope_model::units::Bytes;
use port::{MADE_UP, MAPPING, attachment_of, is_same_place, place_of};
use serde::{Deserialize, Serialize};
use std::fmt;

/// A drive, and which part of it: all of it, or a partition.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct DriveIdentity {
    pub model: Option<String>,
    pub serial: Option<String>,
    /// Serial number that the drive itself reports to a claim, if the kernel has another or none. Only compared if both
    /// report it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub own_serial: Option<String>,
    pub wwn: Option<String>,
    /// Where it is attached. Only looked at when the drive has neither serial number nor world-wide name:
    /// the file of a loop device, the UUID of a device-mapper device, else the path in sysfs.
    pub place: String,
    /// The file of a loop device, which is what counts then: another one may have taken its name. Journals of
    /// earlier versions do not have it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<BackingFile>,
    /// Which attachment this is of a device that has nothing but a number of the kernel's (zram, nbd), which may
    /// be another device's by now.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attachment: Option<String>,
    /// Capacity of the whole drive.
    pub disk_bytes: u64,
    /// First byte of the part that is written: 0 for the whole drive.
    pub start_bytes: u64,
    pub size_bytes: u64,
}

impl DriveIdentity {
    /// Of the block device with this kernel name, which may be a partition; `None` when there is none.
    pub fn of(roots: &Roots, name: &str) -> Option<Self> {
        let device = BlockDevice::open(roots, name)?;
        let part = |attr: &str| read_u64(device.dir.join(attr)).unwrap_or(0).saturating_mul(512);
        let disk = disk_of_partition(&device.dir);
        let start_bytes = if disk.is_some() { part("start") } else { 0 };
        let disk = disk.unwrap_or_else(|| device.name.clone());
        let drive = kernel_identity(roots, &disk)?;
        Some(Self {
            place: place_of(roots, &disk)?,
            file: BackingFile::of(roots, &disk),
            attachment: attachment_of(roots, &disk),
            model: drive.model,
            serial: drive.serial,
            own_serial: None,
            wwn: drive.wwn,
            disk_bytes: drive.size_bytes,
            start_bytes,
            size_bytes: part("size"),
        })
    }

    /// What makes `other` another drive, or another part of it; `None` if no difference is known.
    pub fn difference(&self, other: &Self) -> Option<String> {
        self.drive_difference(other).or_else(|| {
            let part = |id: &Self| format!("{} from byte {}", id.size_bytes, id.start_bytes);
            let (own, others) = (part(self), part(other));
            (own != others).then(|| format!("the part is {others}, not {own} bytes"))
        })
    }

    /// As [`Self::difference`], whichever part of the drive it is.
    pub fn drive_difference(&self, other: &Self) -> Option<String> {
        self.compare(other).difference().map(|difference| difference.to_string())
    }

    /// Whether both are loop devices over bytes of one file, and have some of them in common.
    pub fn shares_file_with(&self, other: &Self) -> bool {
        self.file.as_ref().zip(other.file.as_ref()).is_some_and(|(own, others)| {
            let (ours, theirs) = (own.bytes(self.disk_bytes), others.bytes(other.disk_bytes));
            own.may_be_same_file(others) && ours.start < theirs.end && theirs.start < ours.end
        })
    }

    /// Whether nothing distinguishes it from a later device with its number.
    pub fn has_only_a_number(&self) -> bool {
        let is_mapping = self.attachment.as_ref().is_some_and(|it| it.starts_with(MAPPING));
        !self.is_named() && self.place.starts_with(MADE_UP) && !is_mapping
    }

    pub fn is_in_place_of(&self, other: &Self) -> bool {
        is_same_place(&self.place, &other.place)
    }

    /// Whether it has a name that should be unique.
    fn is_named(&self) -> bool {
        self.serial.is_some() || self.wwn.is_some()
    }
}

/// The identity of a disk, from the kernel and udev. The disk is not opened: one that fails, or whose server has
/// gone, would hold up whoever only looks for another.
fn kernel_identity(roots: &Roots, disk: &str) -> Option<ReportedIdentity> {
    let device = BlockDevice::open(roots, disk)?;
    let served = || {
        let file = device.backing_file()?;
        served_model(mount_at(&mounts(roots), &file)?).map(str::to_string)
    };
    let identity = ReportedIdentity::of(&device);
    let model = identity.model.or_else(served);
    Some(ReportedIdentity { model, ..identity })
}

/// Model, serial number and world-wide name of the device with this kernel name; those of its disk
/// for a partition.
pub fn names_of(roots: &Roots, name: &str) -> [Option<String>; 3] {
    let Some(device) = BlockDevice::open(roots, name) else { return [None, None, None] };
    let disk = disk_of_partition(&device.dir);
    let device = disk.and_then(|disk| BlockDevice::open(roots, &disk)).unwrap_or(device);
    let ReportedIdentity { model, serial, wwn, .. } = ReportedIdentity::of(&device);
    [model.or_else(|| device.attr("dm/name")), serial, wwn]
}

impl From<&DeviceIdentity> for DriveIdentity {
    fn from(device: &DeviceIdentity) -> Self {
        Self {
            model: device.model.clone(),
            serial: device.serial.clone(),
            own_serial: device.own_serial.clone(),
            wwn: device.wwn.clone(),
            disk_bytes: device.size_bytes,
            size_bytes: device.size_bytes,
            ..Self::default()
        }
    }
}

impl From<&Drive> for DriveIdentity {
    fn from(drive: &Drive) -> Self {
        Self {
            model: drive.model.clone(),
            serial: drive.serial.clone(),
            wwn: drive.wwn.clone(),
            disk_bytes: drive.capacity_bytes,
            size_bytes: drive.capacity_bytes,
            ..Self::default()
        }
    }
}

impl fmt::Display for DriveIdentity {
    /// `WDC WD20EARS (serial WD-1234), 2.00 TB`, with the part if it is not the whole.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.model, &self.serial) {
            (Some(model), Some(serial)) => write!(f, "{model} (serial {serial})")?,
            (Some(model), None) => write!(f, "{model} at {}", self.place)?,
            (None, Some(serial)) => write!(f, "the drive with serial {serial}")?,
            (None, None) => write!(f, "the drive at {}", self.place)?,
        }
        write!(f, ", {}", Bytes(self.disk_bytes))?;
        if (self.start_bytes, self.size_bytes) != (0, self.disk_bytes) {
            write!(f, ", the partition of {} bytes at {}", self.size_bytes, self.start_bytes)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::roots::fake::Fake;

    const GIB: u64 = 1 << 30;

    fn disk(serial: Option<&str>) -> DriveIdentity {
        DriveIdentity {
            model: Some("M".into()),
            serial: serial.map(str::to_string),
            place: "port 1".into(),
            disk_bytes: GIB,
            size_bytes: GIB,
            ..DriveIdentity::default()
        }
    }

    fn file(inode: u64, offset_bytes: u64) -> BackingFile {
        BackingFile { device: 1, inode, born_unix_ns: None, boot_id: None, offset_bytes }
    }

    /// Any other disk may fail or hang: searching for one must not read all.
    #[test]
    fn device_is_not_opened_for_its_identity() {
        use rustix::fs::inotify::{self, CreateFlags, WatchFlags};
        let fake = Fake::two_disks();
        let watch = inotify::init(CreateFlags::NONBLOCK | CreateFlags::CLOEXEC).unwrap();
        for node in ["sdb", "sdb1", "sdb2"] {
            inotify::add_watch(&watch, fake.roots.node(node), WatchFlags::OPEN).unwrap();
        }
        assert_eq!(DriveIdentity::of(&fake.roots, "sdb").unwrap().disk_bytes, 8 * GIB);
        assert_eq!(DriveIdentity::of(&fake.roots, "sdb1").unwrap().start_bytes, 1 << 20);
        let mut events = [0; 256];
        let opened = rustix::io::read(&watch, &mut events);
        assert_eq!(opened, Err(rustix::io::Errno::AGAIN), "it was opened");
    }

    #[test]
    fn every_part_of_an_identity_counts() {
        let named = disk(Some("S"));
        type Change = fn(&mut DriveIdentity);
        let changes: [(Change, &str); 6] = [
            (|id| id.serial = Some("T".into()), "serial number is T, not S"),
            (|id| id.serial = None, "serial number is none, not S"),
            (|id| id.model = None, "model is none, not M"),
            (|id| id.disk_bytes = 5, "size is 5"),
            (|id| id.start_bytes = 512, "from byte 512"),
            (|id| id.size_bytes = 512, "512 from byte 0"),
        ];
        for (change, words) in changes {
            let mut other = named.clone();
            change(&mut other);
            let difference = named.difference(&other).unwrap();
            assert!(difference.contains(words), "{difference}");
        }
        assert_eq!(named.difference(&named), None);
    }

    #[test]
    fn place_counts_only_without_other_names() {
        fn moved(id: &DriveIdentity) -> DriveIdentity {
            DriveIdentity { place: "port 2".into(), ..id.clone() }
        }
        let named = disk(Some("S"));
        assert_eq!(named.difference(&moved(&named)), None);
        let unnamed = disk(None);
        assert!(unnamed.difference(&moved(&unnamed)).unwrap().contains("port 2"));
        let wwn = |name: &str| DriveIdentity { wwn: Some(name.into()), ..unnamed.clone() };
        assert_eq!(wwn("naa.1").difference(&moved(&wwn("naa.1"))), None);
        assert!(wwn("naa.1").difference(&wwn("naa.2")).unwrap().contains("naa.2"));
        assert_eq!(wwn("naa.1").difference(&unnamed), None, "same place, name hidden");
    }

    /// A dock has one serial number for whatever lies in it.
    #[test]
    fn docked_drive_is_recognized_by_its_own_serial() {
        for serial in [None, Some("DOCK")] {
            let own = |own: &str| DriveIdentity { own_serial: Some(own.into()), ..disk(serial) };
            assert_eq!(own("WD-1").difference(&own("WD-1")), None);
            let difference = own("WD-1").difference(&own("WD-2")).unwrap();
            assert_eq!(difference, "its own serial number is WD-2, not WD-1");
            // Not queried yet, or not when the journal was made.
            assert_eq!(own("WD-1").difference(&disk(serial)), None);
            assert_eq!(disk(serial).difference(&own("WD-1")), None);
        }
        let text = serde_json::to_string(&disk(None)).unwrap();
        assert!(!text.contains("own_serial"), "{text}");
    }

    #[test]
    fn in_doubt_a_drive_may_be_the_same() {
        let (named, unnamed) = (disk(Some("S")), disk(None));
        let moved = DriveIdentity { place: "port 2".into(), ..unnamed.clone() };
        for (one, other, expected) in [
            (&named, &named, true),
            (&named, &disk(Some("T")), false),
            (&named, &moved, true),
            (&unnamed, &moved, false),
            (&unnamed, &unnamed, true),
            (&named, &DriveIdentity { disk_bytes: 5, ..named.clone() }, false),
            (&named, &DriveIdentity { model: None, ..named.clone() }, true),
            (&named, &DriveIdentity { model: Some("N".into()), ..named.clone() }, false),
            (&named, &DriveIdentity { start_bytes: 512, size_bytes: 512, ..named.clone() }, true),
        ] {
            assert_eq!(one.compare(other).is_possible(), expected, "{one:?} {other:?}");
            assert_eq!(other.compare(one).is_possible(), expected);
        }
    }

    #[test]
    fn file_of_a_loop_device_outranks_its_name() {
        fn backed(inode: u64) -> Option<BackingFile> {
            Some(file(inode, 4096))
        }
        let image = DriveIdentity { place: "file /x".into(), file: backed(7), ..disk(None) };
        let renamed = DriveIdentity { place: "file /y".into(), ..image.clone() };
        let taken = DriveIdentity { file: backed(8), ..image.clone() };
        assert_eq!(image.difference(&renamed), None);
        assert!(image.compare(&renamed).is_possible() && !image.compare(&taken).is_possible());
        let difference = image.difference(&taken).unwrap();
        assert!(difference.contains("file /x is another file"), "{difference}");
        // Journals that were made before files were kept: the name decides.
        let older = DriveIdentity { file: None, ..image.clone() };
        assert_eq!(older.difference(&taken), None);
        assert!(older.difference(&renamed).unwrap().contains("file /y"));
        let text = serde_json::to_string(&older).unwrap();
        assert!(!text.contains("\"file\":"), "{text}");
        assert_eq!(serde_json::from_str::<DriveIdentity>(&text).unwrap(), older);
    }

    #[test]
    fn reused_number_is_another_device() {
        let fake = Fake::new();
        fake.file("proc/sys/kernel/random/boot_id", "first\n");
        fake.disk("virtual/block/zram0", (252, 0), GIB);
        fake.disk("virtual/block/dm-0", (253, 0), GIB);
        fake.attrs("zram0", &[("diskseq", "7")]);
        fake.attrs("dm-0", &[("dm/name", "one"), ("diskseq", "8")]);
        let of = |name| DriveIdentity::of(&fake.roots, name).unwrap();
        let (zram, mapping) = (of("zram0"), of("dm-0"));
        assert_eq!(zram.difference(&of("zram0")), None);
        fake.attrs("zram0", &[("diskseq", "9")]);
        let difference = zram.difference(&of("zram0")).unwrap();
        assert!(difference.contains("zram0 is another device"), "{difference}");
        assert!(zram.compare(&of("zram0")).is_possible(), "in doubt it is refused");
        // A mapping is known by its name, whatever its number, also after a boot.
        fake.file("proc/sys/kernel/random/boot_id", "second\n");
        fake.attrs("dm-0", &[("diskseq", "4")]);
        assert_eq!(mapping.difference(&of("dm-0")), None);
        fake.attrs("dm-0", &[("dm/name", "two")]);
        assert!(mapping.difference(&of("dm-0")).is_some());
        // Journals made before this was kept, and devices that have a name of their own.
        let older = DriveIdentity { attachment: None, ..zram };
        assert_eq!(older.difference(&of("zram0")), None);
        fake.attrs("dm-0", &[("dm/uuid", "LVM-x")]);
        assert_eq!(of("dm-0").attachment, None);
    }

    #[test]
    fn any_shown_byte_of_a_file_is_shared() {
        fn shows(inode: u64, offset_bytes: u64, disk_bytes: u64) -> DriveIdentity {
            DriveIdentity { file: Some(file(inode, offset_bytes)), disk_bytes, ..disk(None) }
        }
        let drive = shows(7, 4096, 8192);
        for (inode, from, bytes, expected) in [
            (7, 8192, 512, true),
            (7, 0, 4096, false),
            (7, 0, 4608, true),
            (7, 12288, 512, false),
            (8, 4096, 8192, false),
        ] {
            assert_eq!(drive.shares_file_with(&shows(inode, from, bytes)), expected, "{from}");
        }
        assert!(!drive.shares_file_with(&disk(None)));
    }

    #[test]
    fn identities_come_from_the_machine() {
        let fake = Fake::new();
        fake.scsi_disk("pci0000:00/ata3/host2/0:0:0:0/block/sda", (8, 0), GIB);
        fake.partition("sda", 1, (8, 1), 2048, 4096);
        fake.file("sys/devices/pci0000:00/ata3/host2/0:0:0:0/model", "WD20EARS\n");
        fake.loop_device(3, GIB, "/var/x.img");
        fake.attrs("loop3", &[("loop/offset", "0")]);
        fake.disk("virtual/block/ram0", (1, 0), GIB);
        let whole = DriveIdentity::of(&fake.roots, "sda").unwrap();
        assert_eq!(whole.model.as_deref(), Some("WD20EARS"));
        assert_eq!(whole.place, "devices/pci0000:00/ata3/host2/0:0:0:0");
        assert_eq!((whole.start_bytes, whole.size_bytes), (0, GIB));
        let part = DriveIdentity::of(&fake.roots, "sda1").unwrap();
        assert_eq!((part.start_bytes, part.size_bytes), (1 << 20, 2 << 20));
        assert_eq!(part.drive_difference(&whole), None);
        assert!(part.difference(&whole).is_some());
        assert_eq!(DriveIdentity::of(&fake.roots, "loop3").unwrap().place, "file /var/x.img");
        let ram = DriveIdentity::of(&fake.roots, "ram0").unwrap();
        assert_eq!(ram.place, "devices/virtual/block/ram0");
        assert_eq!(DriveIdentity::of(&fake.roots, "sdz"), None);
    }
}
