//! What a session has claimed and opened, and the room on it.

use super::Session;
use super::claim_recheck::ClaimRecheck;
use crate::error::BenchError;
use crate::io::device::IoDevice;
use drivescope_drive::OwnFolder;
use drivescope_drive::gate::RawDisk;
use drivescope_drive::simulated::SimulatedDrive;
use drivescope_model::plan::WriteLevel;
use drivescope_model::target::{FileSystem, TargetKind};
use drivescope_model::units::Bytes;
use std::ops::Range;
use std::sync::Arc;

pub(crate) struct Storage {
    /// The claim of a block device that may be written, until it is opened.
    pub(crate) claim: Option<RawDisk>,
    pub(crate) claimed: WriteLevel,
    pub(crate) device: Option<IoDevice>,
    /// Declared after the device, whose file must be closed before its folder goes.
    pub(crate) folder: Option<OwnFolder>,
    /// The simulated drive in use, whose clock is the session's: the target, or a file on one like it.
    pub(crate) simulated: Option<Arc<SimulatedDrive>>,
    /// Files that fill-files left on a simulated drive for read-files.
    pub(crate) simulated_files: Option<FilledDrive>,
    /// Number of the last writing phase.
    pub(crate) pass: u64,
    pub(super) recheck: ClaimRecheck,
}

pub(crate) struct FilledDrive {
    pub(crate) drive: Arc<SimulatedDrive>,
    /// First address and bytes of each, in the order of writing.
    pub(crate) files: Vec<(u64, u64)>,
}

impl Storage {
    pub(super) fn new(simulated: Option<Arc<SimulatedDrive>>) -> Self {
        Self {
            claim: None,
            claimed: WriteLevel::Read,
            device: None,
            folder: None,
            simulated,
            simulated_files: None,
            pass: 0,
            recheck: ClaimRecheck::default(),
        }
    }
}

impl Session<'_> {
    /// The part of `device` that tests work on.
    pub fn span(&self, device: &IoDevice) -> Range<u64> {
        let len = self.span_bytes(device);
        let start = match self.plan.suite.offset {
            None => self.target.part_start_bytes(len),
            Some(_) => self.part_start_bytes(device),
        };
        start..start + len
    }

    /// Where the suite says that the part begins; 0 where it does not.
    pub fn part_start_bytes(&self, device: &IoDevice) -> u64 {
        match self.target.info().kind {
            TargetKind::Directory => 0,
            _ => self.plan.suite.part(device.size_bytes()).start,
        }
    }

    /// How much of `device` tests work on; tests of the whole surface begin at its start.
    pub fn span_bytes(&self, device: &IoDevice) -> u64 {
        let size = device.size_bytes();
        match self.target.info().kind {
            TargetKind::Directory => size.min(self.plan.own_bytes.0),
            _ => {
                let part = self.plan.suite.part(size);
                part.end - part.start
            }
        }
    }

    /// Length of that part of what is open; 0 before.
    pub fn whole_bytes(&self) -> u64 {
        let span = self.storage.device.as_ref().map(|device| self.span(device));
        span.map_or(0, |span| span.end - span.start)
    }

    pub fn check_room(&self, wanted: Bytes) -> Result<(), BenchError> {
        self.storage.folder.as_ref().map_or(Ok(()), |folder| Ok(folder.check_room(wanted)?))
    }

    /// Whether other programs have taken half of the floor of free space meanwhile.
    pub fn is_short_of_room(&self) -> bool {
        self.storage.folder.as_ref().is_some_and(OwnFolder::is_short_of_room)
    }

    /// Whether `bytes` may be written over own files, which takes space where the file system copies on write, as
    /// much as the file at most; and whether the floor was kept until now.
    pub fn check_room_to_overwrite(&self, bytes: u64) -> Result<(), BenchError> {
        let taken = if self.copies_on_write() { bytes.min(self.plan.own_bytes.0) } else { 0 };
        self.check_room(Bytes(taken))
    }

    /// After own files were overwritten: makes a file system that copies on write free the old blocks.
    pub fn free_replaced_blocks(&self) -> Result<(), BenchError> {
        let folder = self.storage.folder.as_ref().filter(|_| self.copies_on_write());
        folder.map_or(Ok(()), |folder| Ok(folder.sync_file_system()?))
    }

    fn copies_on_write(&self) -> bool {
        self.target.data_system().is_some_and(FileSystem::copies_on_write)
    }

    /// Back to the target itself, if a test worked on a simulated file: time has passed for it too.
    pub(crate) fn leave_simulated_file(&mut self) {
        if let Some(drive) = self.target.simulated() {
            drive.idle_until(self.now_ns());
            self.storage.simulated = Some(Arc::clone(drive));
        }
    }
}
