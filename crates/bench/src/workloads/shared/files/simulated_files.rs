//! Files on simulated drives, in virtual time: the source on one, its copy on the same or another.

use super::file_set::FileSet;
use super::file_store::{CopyOutcome, CopySide, FileStep, FileStore, Watch};
use crate::error::BenchError;
use crate::io::queue::IoOp;
use drivescope_drive::simulated::SimulatedDrive;
use drivescope_drive::simulated::file_host::FileSystemFull;
use drivescope_model::units::Bytes;
use std::sync::Arc;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct SimulatedFile {
    folder: u32,
    pub address: u64,
    pub size_bytes: u64,
}

pub(crate) struct SimulatedFiles {
    source: Arc<SimulatedDrive>,
    target: Arc<SimulatedDrive>,
    block_bytes: u64,
    parents: Vec<u32>,
    originals: Vec<SimulatedFile>,
    copies: Vec<SimulatedFile>,
}

pub(crate) fn full(_: FileSystemFull) -> BenchError {
    BenchError::Unsuitable(FileSystemFull.to_string())
}

pub(crate) fn failed(address: u64, len: u64, write: bool, errno: i32) -> BenchError {
    let failure =
        crate::io::queue::IoFailure { errno: -errno, offset: address, len: len as u32, write };
    BenchError::Request { failure, count: 1 }
}

/// Says that a file was moved, whole because a simulated drive does that in one step; whether to continue.
pub(crate) fn moved_at_once(size_bytes: u64, watch: &mut Watch<'_>) -> bool {
    watch(FileStep::Moved(size_bytes)) && watch(FileStep::Done(size_bytes))
}

impl SimulatedFiles {
    pub fn new(source: Arc<SimulatedDrive>, target: Arc<SimulatedDrive>, block: Bytes) -> Self {
        Self {
            source,
            target,
            block_bytes: block.0,
            parents: Vec::new(),
            originals: Vec::new(),
            copies: Vec::new(),
        }
    }

    fn drive(&self, side: CopySide) -> &SimulatedDrive {
        match side {
            CopySide::Source => &self.source,
            CopySide::Copy => &self.target,
        }
    }

    fn files(&self, side: CopySide) -> &[SimulatedFile] {
        match side {
            CopySide::Source => &self.originals,
            CopySide::Copy => &self.copies,
        }
    }

    /// Sets the clocks of both drives to the later one.
    fn keep_time(&self) {
        let now = self.source.now().max(self.target.now());
        self.source.idle_until(now);
        self.target.idle_until(now);
    }

    fn call(&self, side: CopySide, op: IoOp, at: u64, len: u64) -> Result<(), BenchError> {
        let done = self.drive(side).call(op, at, len as u32);
        self.keep_time();
        done.map(|_| ()).map_err(|errno| failed(at, len, op != IoOp::Read, errno))
    }

    /// Makes the directories; their numbers on the drive.
    fn folders(&self, side: CopySide) -> Result<Vec<usize>, BenchError> {
        let drive = self.drive(side);
        let mut numbers: Vec<usize> = Vec::new();
        for (index, &parent) in self.parents.iter().enumerate() {
            let parent = if index == 0 { 0 } else { numbers[parent as usize] };
            numbers.push(drive.create_folder(parent).map_err(full)?);
        }
        Ok(numbers)
    }

    /// Goes through a file block by block; whether to continue.
    fn by_blocks(
        &self,
        size: u64,
        watch: &mut Watch<'_>,
        each: impl Fn(u64, u64) -> Result<(), BenchError>,
    ) -> Result<bool, BenchError> {
        let mut at = 0;
        while at < size {
            let len = self.block_bytes.min(size - at);
            each(at, len)?;
            at += len;
            if !watch(FileStep::Moved(len)) {
                return Ok(false);
            }
        }
        Ok(watch(FileStep::Done(size)))
    }
}

impl FileStore for SimulatedFiles {
    fn create(&mut self, set: &FileSet, watch: &mut Watch<'_>) -> Result<(), BenchError> {
        self.parents.clone_from(&set.parents);
        let folders = self.folders(CopySide::Source)?;
        let mut made = Vec::with_capacity(set.files.len());
        for file in &set.files {
            let folder = folders[file.folder as usize];
            let address = self.source.create_file(folder, file.size_bytes).map_err(full)?;
            made.push(SimulatedFile { folder: file.folder, address, size_bytes: file.size_bytes });
            let write = |at, len| self.call(CopySide::Source, IoOp::Write, address + at, len);
            if !self.by_blocks(file.size_bytes, watch, write)? {
                break;
            }
        }
        self.originals = made;
        Ok(())
    }

    fn copy(&mut self, watch: &mut Watch<'_>) -> Result<CopyOutcome, BenchError> {
        let folders = self.folders(CopySide::Copy)?;
        let mut made = Vec::with_capacity(self.originals.len());
        for &original in &self.originals {
            let SimulatedFile { folder, address: from, size_bytes } = original;
            let into =
                self.target.create_file(folders[folder as usize], size_bytes).map_err(full)?;
            made.push(SimulatedFile { address: into, ..original });
            let copy = |at, len| {
                self.call(CopySide::Source, IoOp::Read, from + at, len)?;
                self.call(CopySide::Copy, IoOp::Write, into + at, len)
            };
            if !self.by_blocks(size_bytes, watch, copy)? {
                break;
            }
        }
        self.copies = made;
        Ok(CopyOutcome::default())
    }

    fn read(&mut self, side: CopySide, watch: &mut Watch<'_>) -> Result<(), BenchError> {
        for file in self.files(side) {
            let read = |at, len| self.call(side, IoOp::Read, file.address + at, len);
            if !self.by_blocks(file.size_bytes, watch, read)? {
                break;
            }
        }
        Ok(())
    }

    fn delete(&mut self, side: CopySide) -> Result<(), BenchError> {
        let gone = match side {
            CopySide::Source => std::mem::take(&mut self.originals),
            CopySide::Copy => std::mem::take(&mut self.copies),
        };
        gone.iter().for_each(|file| self.drive(side).remove_file(file.address));
        Ok(())
    }

    fn sync(&mut self, side: CopySide) -> Result<(), BenchError> {
        self.call(side, IoOp::Sync, 0, 0)
    }

    fn evict(&mut self, side: CopySide) -> Result<Option<f64>, BenchError> {
        let drive = self.drive(side);
        drive.evict();
        let share = |file: &SimulatedFile| drive.file_cached_share(file.address, file.size_bytes);
        let files = self.files(side);
        let held: f64 = files.iter().map(|file| share(file) * file.size_bytes as f64).sum();
        let all: u64 = files.iter().map(|file| file.size_bytes).sum();
        Ok(Some(held / all.max(1) as f64))
    }
}
