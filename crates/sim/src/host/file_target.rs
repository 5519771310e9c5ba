//! Files on a simulated drive, used by one caller whose system calls follow one another.

use super::file_system::ExtentFileSystem;
use super::files::{DirId, FileError, FileId, ROOT};
use super::fs_params::FsParams;
use super::page_cache::PageCache;
use super::params::{HostParams, PAGE_BYTES};
use crate::device::{Nanos, RequestKind, SimCompletion, SimDevice, SimOutcome, SimRequest};
use crate::param_problem::ParamProblem;

/// How a read or write goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// Through the page cache.
    Buffered,
    /// Past it (`O_DIRECT`).
    Direct,
    /// Through the page cache, and on the medium before the call returns (`O_SYNC`).
    Sync,
}

/// Files over a page cache over a file system over a device, with a clock.
#[derive(Debug, Clone)]
pub struct FileTarget<D> {
    pub(super) cache: PageCache<ExtentFileSystem<D>>,
    syscall_ns: Nanos,
    now: Nanos,
    next_id: u64,
    done: Vec<SimCompletion>,
}

impl<D: SimDevice> FileTarget<D> {
    /// Makes an empty file system on a device and mounts it.
    ///
    /// # Errors
    /// A parameter that cannot be.
    pub fn new(host: &HostParams, fs: &FsParams, device: D) -> Result<Self, ParamProblem> {
        Ok(Self {
            cache: PageCache::new(host, ExtentFileSystem::new(fs, device)?)?,
            syscall_ns: (host.syscall_us * 1000.0).round() as Nanos,
            now: 0,
            next_id: 0,
            done: Vec::new(),
        })
    }

    /// The caller's time.
    #[must_use]
    pub fn now(&self) -> Nanos {
        self.now
    }

    /// The device under it all.
    pub fn device(&self) -> &D {
        self.cache.inner().inner()
    }

    /// The page cache.
    pub fn cache(&self) -> &PageCache<ExtentFileSystem<D>> {
        &self.cache
    }

    /// Lets the caller do nothing, or something else, for a time.
    pub fn idle(&mut self, time: Nanos) {
        self.now += time;
        self.cache.advance(self.now, &mut self.done);
    }

    /// A system call that costs nothing but itself (reading `/dev/zero`, say).
    pub fn other_call(&mut self) {
        self.idle(self.syscall_ns);
    }

    /// Makes a directory in the root.
    ///
    /// # Errors
    /// [`FileError::NoInode`].
    pub fn make_directory(&mut self, name: &str) -> Result<DirId, FileError> {
        self.other_call();
        self.cache.inner_mut().make_directory(ROOT, name)
    }

    /// Makes an empty file.
    ///
    /// # Errors
    /// [`FileError::NoInode`].
    pub fn create(&mut self, directory: DirId) -> Result<FileId, FileError> {
        self.other_call();
        self.cache.inner_mut().create(directory)
    }

    /// Writes a range of a file; the time it took.
    ///
    /// # Errors
    /// [`FileError::NoSpace`] and the others.
    pub fn write(
        &mut self,
        file: FileId,
        at: u64,
        len: u64,
        mode: Mode,
    ) -> Result<Nanos, FileError> {
        self.cache.inner_mut().will_write(file, at, len)?;
        self.call(file, RequestKind::Write, at, len, mode)
    }

    /// Reads a range of a file; the time it took. What lies beyond the end is not read.
    ///
    /// # Errors
    /// [`FileError::Deleted`], [`FileError::Device`].
    pub fn read(
        &mut self,
        file: FileId,
        at: u64,
        len: u64,
        mode: Mode,
    ) -> Result<Nanos, FileError> {
        let size = self.cache.inner().files().size_bytes(file)?;
        let len = size.saturating_sub(at).min(len);
        self.call(file, RequestKind::Read, at, len, mode)
    }

    fn call(
        &mut self,
        file: FileId,
        op: RequestKind,
        at: u64,
        len: u64,
        mode: Mode,
    ) -> Result<Nanos, FileError> {
        let id = self.take_id();
        let offset = ExtentFileSystem::<D>::address(file) + at;
        let request = SimRequest { id, op, offset, len, fua: mode == Mode::Sync };
        match mode {
            Mode::Direct => self.cache.submit_direct(self.now, request),
            Mode::Buffered | Mode::Sync => self.cache.submit(self.now, request),
        }
        self.wait(id)
    }

    /// Writes what is dirty of a file and commits; the time it took.
    ///
    /// # Errors
    /// [`FileError::Deleted`], [`FileError::Device`].
    pub fn sync(&mut self, file: FileId) -> Result<Nanos, FileError> {
        let size = self.cache.inner().files().size_bytes(file)?;
        let id = self.take_id();
        self.cache.submit_sync(self.now, id, ExtentFileSystem::<D>::address(file), size);
        self.wait(id)
    }

    /// The same without a commit that would only record times (`fdatasync`).
    ///
    /// # Errors
    /// [`FileError::Deleted`], [`FileError::Device`].
    pub fn sync_data(&mut self, file: FileId) -> Result<Nanos, FileError> {
        self.cache.inner_mut().next_flush_for_data_only();
        self.sync(file)
    }

    /// Writes all that is dirty and commits; the time it took.
    ///
    /// # Errors
    /// [`FileError::Device`].
    pub fn sync_all(&mut self) -> Result<Nanos, FileError> {
        let id = self.take_id();
        let request = SimRequest { id, op: RequestKind::Flush, offset: 0, len: 0, fua: false };
        self.cache.submit(self.now, request);
        self.wait(id)
    }

    /// Closes a file: what it holds ahead is given back.
    ///
    /// # Errors
    /// [`FileError::Deleted`].
    pub fn close(&mut self, file: FileId) -> Result<(), FileError> {
        self.other_call();
        self.cache.inner_mut().close(file)
    }

    /// Deletes a file; what of it was dirty is never written.
    ///
    /// # Errors
    /// [`FileError::Deleted`].
    pub fn delete(&mut self, file: FileId) -> Result<(), FileError> {
        self.other_call();
        let size = self.cache.inner().files().size_bytes(file)?;
        let whole_pages = size.next_multiple_of(PAGE_BYTES);
        self.cache.discard(ExtentFileSystem::<D>::address(file), whole_pages);
        self.cache.inner_mut().delete(file)
    }

    /// Drops a file's clean pages (`POSIX_FADV_DONTNEED`).
    ///
    /// # Errors
    /// [`FileError::Deleted`].
    pub fn evict(&mut self, file: FileId) -> Result<(), FileError> {
        self.other_call();
        let size = self.cache.inner().files().size_bytes(file)?;
        let whole_pages = size.next_multiple_of(PAGE_BYTES);
        self.cache.evict(ExtentFileSystem::<D>::address(file), whole_pages);
        Ok(())
    }

    /// Where a file is on the drive: byte offsets and lengths, in the file's order.
    ///
    /// # Errors
    /// [`FileError::Deleted`].
    pub fn extents(&self, file: FileId) -> Result<Vec<(u64, u64)>, FileError> {
        self.cache.inner().files().extents(file)
    }

    fn take_id(&mut self) -> u64 {
        self.next_id += 1;
        self.next_id
    }

    fn wait(&mut self, id: u64) -> Result<Nanos, FileError> {
        let began = self.now;
        let answer = loop {
            if let Some(answer) = self.done.drain(..).find(|answer| answer.id == id) {
                break answer;
            }
            let at = self.cache.next_completion().expect("the call is outstanding");
            self.cache.advance(at, &mut self.done);
        };
        self.now = answer.at;
        match answer.outcome {
            SimOutcome::Done => Ok(answer.at - began),
            failed => Err(FileError::Device(failed)),
        }
    }
}
