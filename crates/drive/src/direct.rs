//! Direct I/O, proved by a real transfer: some file systems accept `O_DIRECT` at open and refuse the
//! transfer, others need 4096-byte units on a 512-byte drive.

use rustix::fd::BorrowedFd;
use rustix::io::{Errno, ReadWriteFlags};
use rustix::mm::{MapFlags, ProtFlags};
use std::io::IoSliceMut;

/// Units to try, smallest first.
const UNITS: [u32; 2] = [512, 4096];

/// The smallest unit in which `fd`, opened with `O_DIRECT`, really transfers; `None` if none does.
///
/// An empty file proves nothing, so a fresh one must be given its first block before this is asked.
pub fn proven_alignment(fd: BorrowedFd<'_>, size_bytes: u64) -> Option<u32> {
    let page = AlignedPage::new()?;
    UNITS.into_iter().find(|&unit| {
        size_bytes >= u64::from(unit) && {
            let offset = (size_bytes / u64::from(unit) - 1) * u64::from(unit);
            page.read(fd, unit as usize, offset)
        }
    })
}

/// Whether requests to `fd`, opened with `O_DIRECT`, may block the one who sends them (`RWF_NOWAIT` is
/// refused): io_uring then hands each to a thread of the kernel. Network and FUSE file systems do, and
/// some block devices, such as zram.
pub fn may_block(fd: BorrowedFd<'_>, align_bytes: u32) -> bool {
    AlignedPage::new().is_some_and(|page| page.is_refused_nowait(fd, align_bytes as usize))
}

/// One page of memory, aligned as strictly as any driver asks.
struct AlignedPage(*mut std::ffi::c_void);

impl AlignedPage {
    const LEN: usize = 4096;

    fn new() -> Option<Self> {
        // SAFETY: a new private mapping at an address of the kernel's choice aliases nothing.
        let pointer = unsafe {
            rustix::mm::mmap_anonymous(
                std::ptr::null_mut(),
                Self::LEN,
                ProtFlags::READ | ProtFlags::WRITE,
                MapFlags::PRIVATE,
            )
        };
        pointer.ok().map(Self)
    }

    /// Whether exactly `len` bytes at `offset` arrive. Odd multiples of 512 are tried for that unit,
    /// because an offset that is also a multiple of 4096 would prove less.
    fn read(&self, fd: BorrowedFd<'_>, len: usize, offset: u64) -> bool {
        // SAFETY: the mapping is LEN bytes long, writable, and borrowed by this call alone.
        let buffer = unsafe { std::slice::from_raw_parts_mut(self.0.cast::<u8>(), Self::LEN) };
        let odd =
            offset - if len == 512 && offset.is_multiple_of(4096) && offset > 0 { 512 } else { 0 };
        rustix::io::pread(fd, &mut buffer[..len], odd) == Ok(len)
    }

    /// Whether a read that must not block is refused as such; that it would block now is no refusal.
    fn is_refused_nowait(&self, fd: BorrowedFd<'_>, len: usize) -> bool {
        // SAFETY: as in `read`.
        let buffer = unsafe { std::slice::from_raw_parts_mut(self.0.cast::<u8>(), Self::LEN) };
        let mut into = [IoSliceMut::new(&mut buffer[..len])];
        let read = rustix::io::preadv2(fd, &mut into, 0, ReadWriteFlags::NOWAIT);
        read == Err(Errno::OPNOTSUPP)
    }
}

impl Drop for AlignedPage {
    fn drop(&mut self) {
        // SAFETY: the mapping was made by `new` with this length and nothing borrows it any more.
        // A failure could only mean a corrupt address space; there is nothing to do about it here.
        let _ = unsafe { rustix::mm::munmap(self.0, Self::LEN) };
    }
}
