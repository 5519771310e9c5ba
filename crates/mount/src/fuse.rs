//! The FUSE file system of a served drive: one directory with one file of the drive's size.
//!
//! The file behaves like a block device opened with `O_DIRECT`: the kernel caches nothing of it, its
//! size is fixed. Unlike there, requests need not be whole sectors (the kernel itself cuts a large
//! request at odd places when the program's memory is not aligned): the drive then reads or writes
//! the whole sectors around them.

use super::backing_store::BackingStore;
use super::model_thread::{ModelMessage, SubmittedRequest};
use super::path_overhead::PathProbe;
use super::pending_request::{Data, PendingRequest, SendReply};
use super::real_time_clock::Clock;
use super::recorder::ServeRecorder;
use super::workers::Jobs;
use drivescope_sim::device::{Nanos, RequestKind, SimRequest};
use fuser::{
    BsdFileFlags, Errno, FileAttr, FileHandle, FileType, Filesystem, FopenFlags, Generation,
    INodeNo, InitFlags, KernelConfig, LockOwner, OpenFlags, ReplyAttr, ReplyData, ReplyDirectory,
    ReplyEmpty, ReplyEntry, ReplyOpen, ReplyStatfs, ReplyWrite, Request, TimeOrNow, WriteFlags,
};
use rustix::io::Errno as SysErrno;
use std::ffi::OsStr;
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::Sender;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime};

pub(super) const FILE_NAME: &str = "disk.img";
/// Inode of the file; the directory has [`INodeNo::ROOT`].
const FILE: INodeNo = INodeNo(2);
/// Nothing changes behind the kernel's back, so it may remember names and attributes.
const REMEMBER: Duration = Duration::from_secs(3_600);
/// Asynchronous requests under way at a time; more than the 128 that are promised, because the kernel
/// splits large ones. Its own default is 12.
const MAX_BACKGROUND: u16 = 512;
/// Largest request; the kernel's limit is 256 pages unless an administrator raises it.
const MAX_WRITE: u32 = 1 << 20;
/// Block size in `stat` and `statfs`.
const BLOCK: u32 = 4096;

#[derive(Debug)]
pub(super) struct DriveFile {
    pub(super) capacity: u64,
    pub(super) sector: u64,
    pub(super) trim: bool,
    pub(super) gone_at: Option<Nanos>,
    pub(super) backing: Arc<BackingStore>,
    pub(super) clock: Clock,
    pub(super) recorder: Arc<ServeRecorder>,
    /// What is answered at once, to measure the way here.
    pub(super) probe: Arc<PathProbe>,
    pub(super) jobs: Jobs,
    pub(super) model: Sender<ModelMessage>,
    pub(super) next_id: AtomicU64,
    pub(super) owner: Mutex<Owner>,
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Owner {
    pub(super) uid: u32,
    pub(super) gid: u32,
    pub(super) mode: u16,
}

impl DriveFile {
    /// Hands a request to the model. If the model thread is gone the answer is dropped, which is EIO. Returns
    /// whether the drive was still there when the request came.
    fn submit(
        &self,
        op: RequestKind,
        offset: u64,
        len: u64,
        pending: &Arc<PendingRequest>,
    ) -> bool {
        let arrival = self.clock.now();
        let id = self.next_id.fetch_add(1, Ordering::Relaxed);
        let request = SimRequest { id, op, offset, len, fua: false };
        let _ = self.model.send(ModelMessage::Submit(SubmittedRequest {
            arrival,
            request,
            pending: Arc::clone(pending),
        }));
        self.gone_at.is_none_or(|gone_at| arrival < gone_at)
    }

    /// The same for the whole sectors around `bytes`.
    fn submit_around(
        &self,
        op: RequestKind,
        bytes: Range<u64>,
        pending: &Arc<PendingRequest>,
    ) -> bool {
        let first = bytes.start - bytes.start % self.sector;
        self.submit(op, first, bytes.end.next_multiple_of(self.sector) - first, pending)
    }

    /// Changes the contents, unless the drive has gone: then the model's answer is all there is.
    fn change_data(
        &self,
        there: bool,
        pending: Arc<PendingRequest>,
        work: impl FnOnce(&BackingStore) -> Result<(), SysErrno> + Send + 'static,
    ) {
        self.move_data(pending, move |backing| {
            if there {
                work(backing)?;
            }
            Ok(Vec::new())
        });
    }

    /// Moves the data of a request on another thread.
    fn move_data(
        &self,
        pending: Arc<PendingRequest>,
        work: impl FnOnce(&BackingStore) -> Data + Send + 'static,
    ) {
        let (backing, recorder) = (Arc::clone(&self.backing), Arc::clone(&self.recorder));
        let clock = self.clock;
        self.jobs.run(move || {
            let data = work(&backing).map_err(|errno| explain(errno, &backing, &recorder));
            if let Some(reply) = pending.data_done(data) {
                reply.send(clock, &recorder);
            }
        });
    }

    fn attributes(&self, inode: INodeNo) -> Option<FileAttr> {
        let owner = *self.owner.lock().unwrap_or_else(PoisonError::into_inner);
        let (kind, size, perm, nlink) = match inode {
            INodeNo::ROOT => (FileType::Directory, 0, 0o755, 2),
            FILE => (FileType::RegularFile, self.capacity, owner.mode, 1),
            _ => return None,
        };
        let never = SystemTime::UNIX_EPOCH;
        Some(FileAttr {
            ino: inode,
            size,
            blocks: size / 512,
            atime: never,
            mtime: never,
            ctime: never,
            crtime: never,
            kind,
            perm,
            nlink,
            uid: owner.uid,
            gid: owner.gid,
            rdev: 0,
            blksize: BLOCK,
            flags: 0,
        })
    }

    fn is_whole(&self, offset: u64, len: u64) -> bool {
        offset.is_multiple_of(self.sector)
            && len.is_multiple_of(self.sector)
            && offset.checked_add(len).is_some_and(|end| end <= self.capacity)
    }
}

/// Notes why the backing file failed; returns the error for the program.
fn explain(errno: SysErrno, backing: &BackingStore, recorder: &ServeRecorder) -> SysErrno {
    match errno {
        SysErrno::NOSPC | SysErrno::DQUOT => {
            recorder.backing_full(backing.path());
            SysErrno::NOSPC
        }
        SysErrno::OPNOTSUPP => SysErrno::OPNOTSUPP,
        _ => {
            let path = backing.path().display();
            let what = "requests got EIO; look at the drive below it (dmesg)";
            recorder.trouble(format!("the backing file {path} failed: {errno}; {what}"));
            SysErrno::IO
        }
    }
}

fn errno(error: SysErrno) -> Errno {
    Errno::from_i32(error.raw_os_error())
}

fn empty_answer(reply: ReplyEmpty) -> SendReply {
    Box::new(move |result: Result<&[u8], SysErrno>| match result {
        Ok(_) => reply.ok(),
        Err(error) => reply.error(errno(error)),
    })
}

impl Filesystem for DriveFile {
    fn init(&mut self, _request: &Request, config: &mut KernelConfig) -> std::io::Result<()> {
        fn refused(what: &str) -> std::io::Error {
            std::io::Error::other(format!("{what} is refused"))
        }
        // Without it each direct I/O of a loop device waits for the one before.
        config
            .add_capabilities(InitFlags::FUSE_ASYNC_DIO)
            .map_err(|_| refused("asynchronous direct I/O, which needs Linux 3.13,"))?;
        config.set_max_background(MAX_BACKGROUND).map_err(|_| refused("max_background"))?;
        config.set_congestion_threshold(MAX_BACKGROUND).map_err(|_| refused("the threshold"))?;
        config.set_max_write(MAX_WRITE).map_err(|_| refused("max_write"))?;
        Ok(())
    }

    fn lookup(&self, _request: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEntry) {
        match self.attributes(FILE) {
            Some(attributes) if parent == INodeNo::ROOT && name == FILE_NAME => {
                reply.entry(&REMEMBER, &attributes, Generation(0));
            }
            _ => reply.error(Errno::ENOENT),
        }
    }

    fn getattr(&self, _: &Request, inode: INodeNo, _: Option<FileHandle>, reply: ReplyAttr) {
        match self.attributes(inode) {
            Some(attributes) => reply.attr(&REMEMBER, &attributes),
            None => reply.error(Errno::ENOENT),
        }
    }

    /// Owner and mode of the file can be changed; its size cannot. Truncating it to nothing, as `cp`
    /// and `dd` do first, is accepted without effect, as on a block device.
    fn setattr(
        &self,
        _request: &Request,
        inode: INodeNo,
        mode: Option<u32>,
        uid: Option<u32>,
        gid: Option<u32>,
        size: Option<u64>,
        _atime: Option<TimeOrNow>,
        _mtime: Option<TimeOrNow>,
        _ctime: Option<SystemTime>,
        _handle: Option<FileHandle>,
        _crtime: Option<SystemTime>,
        _chgtime: Option<SystemTime>,
        _bkuptime: Option<SystemTime>,
        _flags: Option<BsdFileFlags>,
        reply: ReplyAttr,
    ) {
        if size.is_some_and(|size| size != 0 && size != self.capacity) {
            return reply.error(Errno::EINVAL);
        }
        if mode.is_some() || uid.is_some() || gid.is_some() {
            if inode != FILE {
                return reply.error(Errno::EPERM);
            }
            let mut owner = self.owner.lock().unwrap_or_else(PoisonError::into_inner);
            owner.uid = uid.unwrap_or(owner.uid);
            owner.gid = gid.unwrap_or(owner.gid);
            owner.mode = mode.map_or(owner.mode, |mode| (mode & 0o777) as u16);
        }
        self.getattr(_request, inode, None, reply);
    }

    fn open(&self, _request: &Request, inode: INodeNo, _flags: OpenFlags, reply: ReplyOpen) {
        if inode != FILE {
            return reply.error(Errno::EISDIR);
        }
        let flags = FopenFlags::FOPEN_DIRECT_IO
            | FopenFlags::FOPEN_PARALLEL_DIRECT_WRITES
            | FopenFlags::FOPEN_NOFLUSH;
        reply.opened(FileHandle(0), flags);
    }

    /// Closing does nothing: what a drive must keep is asked for with fsync.
    fn flush(&self, _: &Request, _: INodeNo, _: FileHandle, _: LockOwner, reply: ReplyEmpty) {
        reply.ok();
    }

    fn read(
        &self,
        _request: &Request,
        _inode: INodeNo,
        _handle: FileHandle,
        offset: u64,
        size: u32,
        _flags: OpenFlags,
        _lock_owner: Option<LockOwner>,
        reply: ReplyData,
    ) {
        let end = offset.saturating_add(u64::from(size)).min(self.capacity);
        if offset >= end {
            return reply.data(&[]);
        }
        if self.probe.is_asked(offset, end - offset) {
            return match self.backing.read(offset, (end - offset) as usize) {
                Ok(bytes) => reply.data(&bytes),
                Err(error) => reply.error(errno(error)),
            };
        }
        let pending = Arc::new(PendingRequest::new(
            RequestKind::Read,
            Box::new(move |result| match result {
                Ok(bytes) => reply.data(bytes),
                Err(error) => reply.error(errno(error)),
            }),
        ));
        self.submit_around(RequestKind::Read, offset..end, &pending);
        let len = (end - offset) as usize;
        self.move_data(pending, move |backing| backing.read(offset, len));
    }

    fn write(
        &self,
        _request: &Request,
        _inode: INodeNo,
        _handle: FileHandle,
        offset: u64,
        data: &[u8],
        _write_flags: WriteFlags,
        _flags: OpenFlags,
        _lock_owner: Option<LockOwner>,
        reply: ReplyWrite,
    ) {
        if offset >= self.capacity {
            return reply.error(Errno::ENOSPC);
        }
        let fitting = (self.capacity - offset).min(data.len() as u64);
        let data = &data[..fitting as usize];
        if data.is_empty() {
            return reply.written(0);
        }
        let written = data.len() as u32;
        let pending = Arc::new(PendingRequest::new(
            RequestKind::Write,
            Box::new(move |result| match result {
                Ok(_) => reply.written(written),
                Err(error) => reply.error(errno(error)),
            }),
        ));
        let there = self.submit_around(RequestKind::Write, offset..offset + fitting, &pending);
        let data = data.to_vec();
        self.change_data(there, pending, move |backing| backing.write(offset, &data));
    }

    fn fsync(&self, _: &Request, _: INodeNo, _: FileHandle, _datasync: bool, reply: ReplyEmpty) {
        let pending =
            Arc::new(PendingRequest::without_data(RequestKind::Flush, empty_answer(reply)));
        self.submit(RequestKind::Flush, 0, 0, &pending);
    }

    /// Punching a hole is TRIM; reserving space within the drive is granted, because it has it.
    fn fallocate(
        &self,
        _request: &Request,
        _inode: INodeNo,
        _handle: FileHandle,
        offset: u64,
        length: u64,
        mode: i32,
        reply: ReplyEmpty,
    ) {
        const PUNCH: i32 = libc::FALLOC_FL_PUNCH_HOLE | libc::FALLOC_FL_KEEP_SIZE;
        match mode {
            PUNCH if !self.trim => reply.error(Errno::EOPNOTSUPP),
            PUNCH if !self.is_whole(offset, length) => reply.error(Errno::EINVAL),
            PUNCH => {
                let pending = Arc::new(PendingRequest::new(RequestKind::Trim, empty_answer(reply)));
                let there = self.submit(RequestKind::Trim, offset, length, &pending);
                self.change_data(there, pending, move |backing| backing.punch(offset, length));
            }
            0 | libc::FALLOC_FL_KEEP_SIZE if offset.saturating_add(length) <= self.capacity => {
                reply.ok();
            }
            0 | libc::FALLOC_FL_KEEP_SIZE => reply.error(Errno::ENOSPC),
            _ => reply.error(Errno::EOPNOTSUPP),
        }
    }

    fn readdir(
        &self,
        _request: &Request,
        inode: INodeNo,
        _handle: FileHandle,
        offset: u64,
        mut reply: ReplyDirectory,
    ) {
        if inode != INodeNo::ROOT {
            return reply.error(Errno::ENOTDIR);
        }
        let entries = [
            (INodeNo::ROOT, FileType::Directory, "."),
            (INodeNo::ROOT, FileType::Directory, ".."),
            (FILE, FileType::RegularFile, FILE_NAME),
        ];
        for (place, (inode, kind, name)) in (1u64..).zip(entries) {
            if place > offset && reply.add(inode, place, kind, name) {
                break;
            }
        }
        reply.ok();
    }

    fn statfs(&self, _request: &Request, _inode: INodeNo, reply: ReplyStatfs) {
        let blocks = self.capacity / u64::from(BLOCK);
        reply.statfs(blocks, 0, 0, 1, 0, BLOCK, 255, BLOCK);
    }
}
