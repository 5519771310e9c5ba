//! The loop device in the path of a target, and what is below it.

use super::Target;
use crate::io_file::IoFile;
use drivescope_machine::counters::{self, DeviceCounters};
use drivescope_machine::mounts::Mount;
use drivescope_machine::roots::read_text;
use drivescope_model::target::TargetKind;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;

/// A file that has less space than its loop device shows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SparseFile {
    pub path: PathBuf,
    /// Space that it would still need.
    pub missing_bytes: u64,
    pub free_bytes: u64,
}

impl Target {
    /// The loop device in the path, if there is one.
    pub fn loop_device(&self) -> Option<&str> {
        self.stack.names.iter().map(String::as_str).find(|name| name.starts_with("loop"))
    }

    /// Where the kernel describes that loop device; of a partition on one, the whole.
    fn loop_attributes(&self) -> Option<PathBuf> {
        let loops = self.stack.names.iter().filter(|name| name.starts_with("loop"));
        let mut places = loops.filter_map(|name| Some(self.roots.block_dir(name)?.join("loop")));
        places.find(|place| place.is_dir())
    }

    pub(super) fn loop_file(&self) -> Option<PathBuf> {
        read_text(self.loop_attributes()?.join("backing_file")).map(PathBuf::from)
    }

    /// Whether the page cache lies below a loop device in the path: its file bypasses it if the device was set up
    /// with direct I/O.
    pub fn loop_caches(&self) -> bool {
        let direct = |place: PathBuf| read_text(place.join("dio")).as_deref() == Some("1");
        self.loop_device().is_some() && !self.loop_attributes().is_some_and(direct)
    }

    /// Share (0–1) of a loop device's file that lies in memory, when the device reads it through the page cache; `None`
    /// without a loop device, with direct I/O below it, or if unknown.
    pub fn loop_cached_share(&self) -> Option<f64> {
        if !self.loop_caches() {
            return None;
        }
        IoFile::open_read_buffered(&self.loop_file()?).ok()?.resident_share()
    }

    /// The kernel's counters of the drive below a loop device: they show what its file's page cache answered.
    pub fn below_loop_counters(&self) -> Option<DeviceCounters> {
        self.loop_device()?;
        match self.stack.whole_disks.as_slice() {
            [disk] if !disk.starts_with("loop") => counters::read(&self.roots, disk),
            _ => None,
        }
    }

    /// Whether the traffic of the drives below is not counted: several drives below cached loop devices.
    /// [`Target::top_counters`] count the file system's requests even then.
    pub fn drives_are_uncounted(&self) -> bool {
        self.stack.whole_disks.len() > 1 && self.loop_caches()
    }

    /// What writing all of this device may still take of the file system with its loop device's file. `None` for
    /// other targets, for fully allocated files, and if unknown.
    pub fn sparse_file(&self) -> Option<SparseFile> {
        self.loop_device().filter(|_| self.info.kind == TargetKind::Block)?;
        let path = self.loop_file()?;
        let found = std::fs::metadata(&path).ok().filter(std::fs::Metadata::is_file)?;
        let missing_bytes = found.len().saturating_sub(found.blocks().saturating_mul(512));
        let vfs = rustix::fs::statvfs(&path).ok().filter(|vfs| vfs.f_blocks > 0)?;
        let unit = if vfs.f_frsize > 0 { vfs.f_frsize } else { vfs.f_bsize };
        let free_bytes = vfs.f_bavail.saturating_mul(unit);
        (missing_bytes > 0).then_some(SparseFile { path, missing_bytes, free_bytes })
    }

    /// The file system with the loop device's file, where a network or a program answers for it.
    pub fn loop_system(&self) -> Option<&Mount> {
        self.stack.loop_system.as_ref()
    }
}
