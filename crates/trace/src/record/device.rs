//! The device that is recorded: a whole disk, or a partition, whose requests the kernel reports by places on the disk.

use super::layout::{RawEvent, RawKind};
use crate::error::TraceError;
use crate::event::TraceOp;
use crate::import::blkparse::BlockKind;
use crate::import::intake::Intake;
use crate::import::record::SourceRecord;
use drivescope_machine::Roots;
use drivescope_machine::block_device::{Below, below, disk_of_partition};
use drivescope_machine::roots::{read_text, read_u64, split_dev};
use std::path::Path;

/// The unit of places in the block layer.
const SECTOR: u64 = 512;
/// Bits of a device's minor number within the kernel.
const MINOR_BITS: u32 = 20;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecordedDevice {
    pub name: String,
    /// Number of the whole disk, as the kernel counts them.
    pub kernel_number: u32,
    /// Its start on the disk.
    pub start_bytes: u64,
    pub size_bytes: u64,
    /// Whether its disk has zones: older kernels report zone commands like zeroes.
    pub is_zoned: bool,
}

impl RecordedDevice {
    /// The block device at `path`, such as /dev/sda1. Errors: it is none, or one whose requests go to others.
    pub fn find(roots: &Roots, path: &Path) -> Result<Self, TraceError> {
        let name = roots.block_of_node(path);
        let name =
            name.ok_or_else(|| refused("is not a block device; drivescope list shows them"))?;
        Self::named(roots, &name)
    }

    /// The block device that holds the files of this folder.
    pub fn below(roots: &Roots, folder: &Path) -> Result<Self, TraceError> {
        let found = std::fs::metadata(folder).map_err(TraceError::Read)?;
        let number = split_dev(std::os::unix::fs::MetadataExt::dev(&found));
        let name = roots.block_name(number).ok_or_else(|| {
            refused(
                "is on no single block device (btrfs, overlay or network); name one with --device",
            )
        })?;
        Self::named(roots, &name)
    }

    fn named(roots: &Roots, name: &str) -> Result<Self, TraceError> {
        let gone = || refused("is not in /sys; is it still there?");
        let dir = roots.block_dir(name).ok_or_else(gone)?;
        let partition_of = disk_of_partition(&dir);
        if let (None, Below::Devices(parts)) = (&partition_of, below(&dir)) {
            let parts = parts.join(", /dev/");
            let why =
                format!("is made of other devices, which have the requests: record /dev/{parts}");
            return Err(TraceError::Unsuitable(why));
        }
        let disk = partition_of.as_deref().unwrap_or(name);
        let (major, minor) = roots.block_number(disk).ok_or_else(gone)?;
        let start = partition_of.as_ref().map_or(Some(0), |_| read_u64(dir.join("start")));
        let sectors = start.zip(read_u64(dir.join("size")));
        let (start, size) = sectors.ok_or_else(gone)?;
        Ok(Self {
            name: name.to_string(),
            kernel_number: major << MINOR_BITS | minor,
            start_bytes: start * SECTOR,
            size_bytes: size * SECTOR,
            is_zoned: roots.block_dir(disk).is_some_and(|dir| is_zoned(&dir)),
        })
    }

    /// The record of an event; `None` where it is none of a request to this device.
    pub(super) fn record(&self, event: &RawEvent, intake: &mut Intake<'_>) -> Option<SourceRecord> {
        let kind = self.kind(event)?;
        let len = u32::try_from(u64::from(event.sectors) * SECTOR).ok()?;
        let (kind, offset) = match len {
            // A flush has no place, and belongs to every partition.
            0 => (kind.without_data()?, 0),
            _ => {
                let place = event.sector.checked_mul(SECTOR)?;
                let offset = place.checked_sub(self.start_bytes)?;
                let is_within = offset.checked_add(len.into())? <= self.size_bytes;
                (kind, is_within.then_some(offset)?)
            }
        };
        Some(match event.kind {
            RawKind::Issue => {
                let process = event.name();
                let process = if process.is_empty() { 0 } else { intake.process(process) };
                kind.start(event.at_ns, offset, len, process)
            }
            RawKind::Requeue => kind.requeue(event.at_ns, offset, len),
            RawKind::Complete => kind.completion(event.at_ns, offset, len, event.failed),
        })
    }

    /// Up to Linux 6.18 at least, zeroes without data have the letter of what has none (`NS`), as commands of zones had
    /// before; commands that are passed through have no length.
    fn kind(&self, event: &RawEvent) -> Option<BlockKind> {
        let letters = event.letters();
        let is_zeroes = letters.starts_with('N') && event.sectors > 0 && !self.is_zoned;
        if is_zeroes {
            let op = TraceOp::WriteZeroes;
            return Some(BlockKind { op, flushes_before: false, fua: false });
        }
        BlockKind::parse(letters)
    }
}

fn is_zoned(disk: &Path) -> bool {
    read_text(disk.join("queue/zoned")).is_some_and(|zoned| zoned != "none")
}

fn refused(why: &str) -> TraceError {
    TraceError::Unsuitable(why.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use drivescope_machine::roots::fake::Fake;

    #[test]
    fn partitions_have_disk_number_and_start() {
        let fake = Fake::new();
        fake.disk("pci0000:00/ata3/host2/block/sda", (8, 0), 1 << 30);
        fake.partition("sda", 1, (8, 1), 2048, 1 << 19);
        let found = RecordedDevice::named(&fake.roots, "sda1").unwrap();
        assert_eq!(found.kernel_number, 8 << 20);
        assert_eq!((found.start_bytes, found.size_bytes), (1 << 20, 1 << 28));
        let disk = RecordedDevice::named(&fake.roots, "sda").unwrap();
        assert_eq!((disk.start_bytes, disk.size_bytes), (0, 1 << 30));
        assert!(RecordedDevice::named(&fake.roots, "sdz").is_err());
    }

    #[test]
    fn zeroes_and_zones_keep_their_kinds() {
        let op =
            |is_zoned, event: &RawEvent| recorded_device(is_zoned).kind(event).map(|kind| kind.op);
        for (letters, plain, zoned) in [
            ("WS", Some(TraceOp::Write), Some(TraceOp::Write)),
            ("NS", Some(TraceOp::WriteZeroes), None),
            ("WZS", Some(TraceOp::WriteZeroes), Some(TraceOp::WriteZeroes)),
            ("ZA", Some(TraceOp::Write), Some(TraceOp::Write)),
            ("ZR", None, None),
            ("DS", Some(TraceOp::Discard), Some(TraceOp::Discard)),
        ] {
            let event = RawEvent::with_letters(letters);
            assert_eq!((op(false, &event), op(true, &event)), (plain, zoned), "{letters}");
        }
        let mut passed_through = RawEvent::with_letters("N");
        passed_through.sectors = 0;
        assert_eq!(op(false, &passed_through), None);
    }

    fn recorded_device(is_zoned: bool) -> RecordedDevice {
        RecordedDevice {
            name: "sda".to_string(),
            kernel_number: 8 << 20,
            start_bytes: 0,
            size_bytes: 1 << 30,
            is_zoned,
        }
    }
}
