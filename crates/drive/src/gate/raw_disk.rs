//! The handle that writes to a device.

use super::Request;
use super::answer;
use super::identity;
use super::inspect::Held;
use super::kernel::Kernel;
use crate::roots::Roots;
use drivescope_model::WriteLevel;
use drivescope_model::gate::{DeviceIdentity, GateRecord, Outcome};
use rustix::fd::OwnedFd;
use std::fmt;
use std::io;
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::sync::OnceLock;

/// A claimed device. It cannot be copied, is only made by [`super::claim`], and keeps the kernel's
/// exclusive claim and the advisory lock until it is dropped.
pub struct RawDisk {
    kernel: Box<dyn Kernel>,
    roots: Roots,
    held: Held,
    request: Request,
    range: Range<u64>,
    device: DeviceIdentity,
    record: GateRecord,
    /// What the look right before the first write found.
    last_look: OnceLock<Option<String>>,
}

/// Why a device was not read or written.
#[derive(Debug, thiserror::Error)]
pub enum WriteError {
    /// The handle was claimed for less.
    #[error(
        "{asked} was refused: the device was claimed for {granted} only; this is a bug, report it"
    )]
    Level {
        /// What the caller wanted to do.
        asked: &'static str,
        /// What the gate allowed.
        granted: &'static str,
    },
    /// Bytes outside the claimed range, or no whole sectors.
    #[error(
        "a write of {length} bytes at {offset} was refused: only whole sectors of {sector} bytes from {start} to {end} were claimed; this is a bug, report it"
    )]
    Range {
        /// Where.
        offset: u64,
        /// How many.
        length: usize,
        /// The logical sector.
        sector: u32,
        /// Beginning of the range.
        start: u64,
        /// Its end.
        end: u64,
    },
    /// The device is not the claimed one any more.
    #[error("nothing was written: {why}; run drivescope list and begin again")]
    Changed {
        /// In which way.
        why: String,
    },
    /// The device failed.
    #[error("cannot {what} {path} at byte {offset}: {source}; see dmesg and smartctl")]
    Io {
        /// `read`, `write to`, `flush`.
        what: &'static str,
        /// Which device.
        path: String,
        /// Where.
        offset: u64,
        /// What the kernel said.
        source: io::Error,
    },
}

impl RawDisk {
    pub(super) fn new(
        kernel: Box<dyn Kernel>,
        roots: Roots,
        held: Held,
        request: Request,
        range: Range<u64>,
        device: DeviceIdentity,
        record: GateRecord,
    ) -> Self {
        let last_look = OnceLock::new();
        Self { kernel, roots, held, request, range, device, record, last_look }
    }

    /// What it was claimed for.
    pub fn level(&self) -> WriteLevel {
        self.request.level
    }

    /// Bytes that may be written.
    pub fn range(&self) -> Range<u64> {
        self.range.clone()
    }

    /// Who it is.
    pub fn device(&self) -> &DeviceIdentity {
        &self.device
    }

    /// Everything the gate saw, for the run document.
    pub fn record(&self) -> &GateRecord {
        &self.record
    }

    /// Whether a write of `length` bytes at `offset` lies within what was claimed. For engines, which
    /// ask before every write; [`RawDisk::ready`] must have been asked before the first.
    pub fn allows(&self, length: u64, offset: u64) -> bool {
        let end = offset.checked_add(length);
        offset >= self.range.start && end.is_some_and(|end| end <= self.range.end)
    }

    /// The look right before the first write: an error if the device is not the claimed one any more.
    pub fn ready(&self) -> Result<(), WriteError> {
        match self.last_look.get_or_init(|| self.look_again()) {
            None => Ok(()),
            Some(why) => Err(WriteError::Changed { why: why.clone() }),
        }
    }

    /// A second descriptor of the same open device, for the engine behind [`crate::IoFile`].
    pub(crate) fn descriptor(&self) -> io::Result<OwnedFd> {
        Ok(self.held.device.try_clone()?.into())
    }

    /// Fills `bytes` from the device. As for every transfer past the page cache, offset, length and
    /// memory must be aligned to sectors; memory aligned to a page always is.
    pub fn read_at(&self, bytes: &mut [u8], offset: u64) -> Result<(), WriteError> {
        let result = self.held.device.read_exact_at(bytes, offset);
        result.map_err(|source| self.failed("read", offset, source))
    }

    /// Writes `bytes`, aligned as for [`RawDisk::read_at`]. `level` is what the caller does:
    /// [`WriteLevel::SameBytes`] when these are the bytes that are there.
    ///
    /// Refused without touching the device: a level above the claimed one, bytes outside the claimed
    /// range, and everything when the look before the first write finds another device.
    pub fn write_at(&self, level: WriteLevel, bytes: &[u8], offset: u64) -> Result<(), WriteError> {
        self.permit(level, bytes.len(), offset)?;
        let result = self.held.device.write_all_at(bytes, offset);
        result.map_err(|source| self.failed("write to", offset, source))
    }

    /// Waits until everything written is on the device (`fdatasync`).
    pub fn sync(&self) -> Result<(), WriteError> {
        self.held.device.sync_data().map_err(|source| self.failed("flush", 0, source))
    }

    /// Whether a write may happen.
    fn permit(&self, level: WriteLevel, length: usize, offset: u64) -> Result<(), WriteError> {
        let granted = self.request.level;
        if level < WriteLevel::SameBytes || level > granted {
            return Err(WriteError::Level { asked: level.name(), granted: granted.name() });
        }
        let sector = self.device.logical_sector_bytes.max(1);
        let end = u64::try_from(length).ok().and_then(|length| offset.checked_add(length));
        let is_within = end.is_some() && self.allows(length as u64, offset);
        let is_whole = (offset | length as u64).is_multiple_of(u64::from(sector));
        if length == 0 || !is_within || !is_whole {
            let Range { start, end } = self.range;
            return Err(WriteError::Range { offset, length, sector, start, end });
        }
        self.ready()
    }

    /// In which way the device is not the claimed one any more: the path, the descriptor and sysfs
    /// must all still tell the same.
    fn look_again(&self) -> Option<String> {
        let path = self.request.path.display();
        let place = match self.kernel.resolve(&self.request.path) {
            Ok(place) => place,
            Err(errno) => return Some(format!("{path} is gone: {}", io::Error::from(errno))),
        };
        let facts = match self.kernel.facts(&self.held.device) {
            Ok(facts) => facts,
            Err(errno) => return Some(format!("{path} fails: {}", io::Error::from(errno))),
        };
        if place.number != facts.number {
            return Some(format!("{path} leads to another device now"));
        }
        match identity::identify(&self.roots, &place, &facts) {
            None => Some(format!("the kernel does not know {path} any more")),
            Some(mut now) => {
                let answer = answer::ask(&*self.kernel, &self.roots, &self.held.device, &mut now);
                let checks = [identity::check(&self.roots, &now), answer];
                let refused = checks.into_iter().find(|check| check.outcome == Outcome::Refused);
                identity::difference(&self.device, &now).or(refused.map(|check| check.evidence))
            }
        }
    }

    fn failed(&self, what: &'static str, offset: u64, source: io::Error) -> WriteError {
        WriteError::Io { what, path: self.device.path.clone(), offset, source }
    }
}

impl fmt::Debug for RawDisk {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RawDisk")
            .field("device", &self.device)
            .field("level", &self.request.level)
            .field("range", &self.range)
            .field("held", &self.held)
            .finish_non_exhaustive()
    }
}
