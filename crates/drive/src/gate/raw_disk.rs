//! The handle that writes to a device.

use super::GateRequest;
use super::exclusive_claim::{AliasClaim, ExclusiveClaim};
use super::kernel_calls::KernelCalls;
use super::recheck_log::RecheckLog;
use drivescope_machine::roots::Roots;
use drivescope_model::WriteLevel;
use drivescope_model::gate::{DeviceIdentity, GateRecord};
use rustix::fd::OwnedFd;
use rustix::io::Errno;
use std::fmt;
use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

/// A claimed device. It cannot be copied, is only made by [`super::claim`], and keeps the kernel's
/// exclusive claim and the advisory lock until it is dropped. It knows nothing of checks: those that are made again
/// while it is held stand above it, in `recheck.rs`.
pub struct RawDisk {
    kernel: Box<dyn KernelCalls>,
    roots: Roots,
    claim: ExclusiveClaim,
    /// Other devices with the same bytes, which are claimed with it.
    aliases: Mutex<Vec<AliasClaim>>,
    pub(super) request: GateRequest,
    range: Range<u64>,
    device: DeviceIdentity,
    record: GateRecord,
    open: Opened,
    /// Result of the check right before the first write: what has changed, if anything.
    pub(super) before_first_write: OnceLock<Option<String>>,
    /// Shared by the checks during a test.
    pub(super) recheck_log: RecheckLog,
}

/// The bytes that engines may write: none at first.
#[derive(Debug, Default)]
struct Opened {
    from: AtomicU64,
    to: AtomicU64,
}

impl Opened {
    fn set(&self, range: Range<u64>) {
        self.from.store(range.start, Ordering::Release);
        self.to.store(range.end, Ordering::Release);
    }

    fn contains(&self, length: u64, offset: u64) -> bool {
        let end = offset.checked_add(length);
        offset >= self.from.load(Ordering::Acquire)
            && end.is_some_and(|end| end <= self.to.load(Ordering::Acquire))
    }
}

#[derive(Debug, thiserror::Error)]
pub enum WriteError {
    #[error(
        "{asked} was refused: the device was claimed for {granted} only; this is a bug, report it"
    )]
    Level { asked: &'static str, granted: &'static str },
    /// Bytes outside the claimed range, or partial sectors.
    #[error(
        "a write of {length} bytes at {offset} was refused: only whole sectors of {sector} bytes from {start} to {end} were claimed; this is a bug, report it"
    )]
    Range { offset: u64, length: usize, sector: u32, start: u64, end: u64 },
    #[error(
        "a write of {length} bytes at {offset} was refused: their originals are not saved; this is a bug, report it"
    )]
    Unsaved { offset: u64, length: usize },
    #[error("nothing was written: {why}; see drivescope list and run again")]
    Changed { why: String },
    #[error(
        "the medium in {path} may have been changed (or the drive was reset), so writing stopped; insert the right one and run again"
    )]
    OtherMedium { path: String },
    #[error("this test stopped writing: {why}; fix that, then run again")]
    InUse {
        /// The user, with the command that shows it.
        why: String,
    },
    #[error("cannot {what} {path} at byte {offset}: {source}; see dmesg and smartctl")]
    Io {
        /// `read`, `write to`, `flush`, `discard`.
        what: &'static str,
        path: String,
        offset: u64,
        source: io::Error,
    },
}

impl RawDisk {
    pub(super) fn new(
        kernel: Box<dyn KernelCalls>,
        roots: Roots,
        mut claim: ExclusiveClaim,
        request: GateRequest,
        range: Range<u64>,
        device: DeviceIdentity,
        record: GateRecord,
    ) -> Self {
        let aliases = Mutex::new(std::mem::take(&mut claim.aliases));
        Self {
            kernel,
            roots,
            claim,
            aliases,
            request,
            range,
            device,
            record,
            open: Opened::default(),
            before_first_write: OnceLock::new(),
            recheck_log: RecheckLog::default(),
        }
    }

    pub fn level(&self) -> WriteLevel {
        self.request.level
    }

    pub fn range(&self) -> Range<u64> {
        self.range.clone()
    }

    pub fn device(&self) -> &DeviceIdentity {
        &self.device
    }

    /// Everything the gate saw, for the run document.
    pub fn record(&self) -> &GateRecord {
        &self.record
    }

    pub(crate) fn roots(&self) -> &Roots {
        &self.roots
    }

    pub(super) fn kernel(&self) -> &dyn KernelCalls {
        &*self.kernel
    }

    pub(super) fn file(&self) -> &File {
        &self.claim.device
    }

    pub(super) fn aliases(&self) -> MutexGuard<'_, Vec<AliasClaim>> {
        self.aliases.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Lets engines write there and nowhere else. Only the journal calls it, and the start of a test.
    pub(crate) fn open(&self, area: Range<u64>) {
        self.open.set(area);
    }

    /// Whether engines may write `length` bytes at `offset` now: they ask before every write.
    /// [`RawDisk::ready`] must have been asked before the first.
    pub fn allows(&self, length: u64, offset: u64) -> bool {
        self.open.contains(length, offset)
    }

    /// A second descriptor of the same open device, for the engine behind [`crate::IoFile`].
    pub(crate) fn descriptor(&self) -> io::Result<OwnedFd> {
        Ok(self.claim.device.try_clone()?.into())
    }

    /// Fills `bytes` from the device. As for every transfer past the page cache, offset, length and
    /// memory must be aligned to sectors; memory aligned to a page always is.
    pub fn read_at(&self, bytes: &mut [u8], offset: u64) -> Result<(), WriteError> {
        let result = self.claim.device.read_exact_at(bytes, offset);
        result.map_err(|source| self.failed("read", offset, source))
    }

    /// Writes originals back. The device was found to be the claimed one before they were saved, and the
    /// descriptor is the same: only the medium in it may be another one by now.
    pub(crate) fn put_back(&self, bytes: &[u8], offset: u64) -> Result<(), WriteError> {
        self.permit_level(WriteLevel::Restore)?;
        self.permit(bytes.len(), offset)?;
        self.put(bytes, offset)
    }

    /// Writes what was permitted, unless another medium lies in the drive.
    pub(super) fn put(&self, bytes: &[u8], offset: u64) -> Result<(), WriteError> {
        self.same_medium()?;
        let result = self.claim.device.write_all_at(bytes, offset);
        result.map_err(|source| self.failed("write to", offset, source))
    }

    /// Tells the device that it need not keep these bytes (`BLKDISCARD`); what is read there afterwards may be
    /// anything. `false` where it takes no such command. Refused as [`RawDisk::write_at`] at `destroy` is.
    pub fn discard(&self, bytes: Range<u64>) -> Result<bool, WriteError> {
        self.permit_level(WriteLevel::Destroy)?;
        let (length, offset) = (bytes.end.saturating_sub(bytes.start), bytes.start);
        self.permit(length as usize, offset)?;
        if !self.allows(length, offset) {
            return Err(WriteError::Unsaved { offset, length: length as usize });
        }
        self.same_medium()?;
        match self.kernel.discard(&self.claim.device, bytes) {
            Ok(()) => Ok(true),
            Err(Errno::OPNOTSUPP) => Ok(false),
            Err(errno) => Err(self.failed("discard", offset, errno.into())),
        }
    }

    /// Waits until everything written is on the device (`fdatasync`).
    pub fn sync(&self) -> Result<(), WriteError> {
        self.claim.device.sync_data().map_err(|source| self.failed("flush", 0, source))
    }

    pub(super) fn permit_level(&self, level: WriteLevel) -> Result<(), WriteError> {
        let granted = self.request.level;
        if level < WriteLevel::SameBytes || level > granted {
            Err(WriteError::Level { asked: level.name(), granted: granted.name() })
        } else {
            Ok(())
        }
    }

    /// Refuses partial sectors and bytes outside the claimed range.
    pub(super) fn permit(&self, length: usize, offset: u64) -> Result<(), WriteError> {
        let sector = self.device.logical_sector_bytes.max(1);
        let Range { start, end } = self.range;
        let last = u64::try_from(length).ok().and_then(|length| offset.checked_add(length));
        let is_within = offset >= start && last.is_some_and(|last| last <= end);
        let is_whole = (offset | length as u64).is_multiple_of(u64::from(sector));
        if length > 0 && is_within && is_whole {
            Ok(())
        } else {
            Err(WriteError::Range { offset, length, sector, start, end })
        }
    }

    /// An error if another medium lies in the drive than the claimed one. A reader of cards stays the same device,
    /// and an open descriptor then leads to the next card: the kernel only counts the change.
    pub fn same_medium(&self) -> Result<(), WriteError> {
        let now = self.kernel.facts(&self.claim.device);
        // The next request reports a failure.
        if now.is_err() || now.is_ok_and(|now| now.disk_sequence == self.device.disk_sequence) {
            return Ok(());
        }
        Err(WriteError::OtherMedium { path: self.device.path.clone() })
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
            .field("claim", &self.claim)
            .finish_non_exhaustive()
    }
}
