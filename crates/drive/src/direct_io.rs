//! Direct I/O, proved by a real transfer: some file systems accept `O_DIRECT` at open and refuse the
//! transfer, others need 4096-byte units on a 512-byte drive. A transfer alone does not prove it: some
//! serve units that are too small for it through the page cache, without a word.

use crate::aligned_buffer::AlignedBuffer;
use rustix::fd::BorrowedFd;
use rustix::fs::{AtFlags, StatxFlags};
use rustix::io::{Errno, ReadWriteFlags, retry_on_intr};
use std::io::IoSliceMut;

const UNITS: [u32; 2] = [512, 4096];
const PAGE_BYTES: usize = 4096;
/// A place near the beginning, of which an odd multiple of 512 can be made.
const NEAR_START: u64 = 4096;
/// `BTRFS_SUPER_MAGIC` of linux/magic.h.
const BTRFS: u64 = 0x9123_683E;
/// `OVERLAYFS_SUPER_MAGIC` of the same. An overlay shows the block of its lower file system, but not its type.
const OVERLAY: u64 = 0x794C_7630;

/// The smallest unit in which `fd`, opened with `O_DIRECT`, really transfers past the page cache; `None` if none does.
/// Proved at the end, and near the beginning where the drive fails at the end: a bad place does not refuse direct I/O.
///
/// An empty file proves nothing, so a fresh one must be given its first block before this is asked.
pub fn proven_alignment(fd: BorrowedFd<'_>, size_bytes: u64) -> Option<u32> {
    let mut page = AlignedBuffer::new(PAGE_BYTES);
    let least = least_unit(reported_unit(fd), block_needed(fd))?;
    UNITS.into_iter().filter(|&unit| unit >= least).find(|&unit| {
        size_bytes >= u64::from(unit) && {
            let offset = (size_bytes / u64::from(unit) - 1) * u64::from(unit);
            let unit = unit as usize;
            match read(&mut page, fd, unit, offset) {
                Ok(len) => len == unit,
                Err(errno) if is_of_the_drive(errno) => {
                    read(&mut page, fd, unit, NEAR_START.min(offset)) == Ok(unit)
                }
                Err(_) => false,
            }
        }
    })
}

/// Whether the drive failed, rather than the request being refused.
fn is_of_the_drive(errno: Errno) -> bool {
    matches!(errno, Errno::IO | Errno::NODATA | Errno::REMOTEIO | Errno::TIMEDOUT | Errno::NOLINK)
}

/// The smallest unit that can bypass the page cache, by what the kernel reports; `None` where it reports none.
/// `reported` counts from Linux 6.1 on, and not on every file system.
fn least_unit(reported: Option<u32>, block_needed: Option<u32>) -> Option<u32> {
    match reported {
        Some(0) => None,
        Some(unit) => Some(unit),
        // btrfs reports nothing, takes any multiple of 512, and reads parts of its blocks through the cache.
        None => Some(block_needed.unwrap_or(0)),
    }
}

/// The kernel's unit of direct I/O for this file; 0 where it does none.
fn reported_unit(fd: BorrowedFd<'_>) -> Option<u32> {
    let reported = rustix::fs::statx(fd, "", AtFlags::EMPTY_PATH, StatxFlags::DIOALIGN).ok()?;
    let is_reported = reported.stx_mask & StatxFlags::DIOALIGN.bits() != 0;
    is_reported.then_some(reported.stx_dio_offset_align)
}

/// The block of a file system that holds this file and is, or may be, btrfs.
fn block_needed(fd: BorrowedFd<'_>) -> Option<u32> {
    let system = rustix::fs::fstatfs(fd).ok()?;
    let may_be = [BTRFS, OVERLAY].contains(&(system.f_type as u64 & 0xFFFF_FFFF));
    may_be.then_some(system.f_bsize as u32)
}

/// Whether requests to `fd`, opened with `O_DIRECT`, may block the sender (`RWF_NOWAIT` is refused): io_uring then
/// passes each to a kernel thread. Network and FUSE file systems do, and some block devices, such as zram.
pub fn may_block(fd: BorrowedFd<'_>, align_bytes: u32) -> bool {
    let mut page = AlignedBuffer::new(PAGE_BYTES);
    let mut into = [IoSliceMut::new(&mut page[..align_bytes as usize])];
    // That it would block now is no refusal.
    let read = rustix::io::preadv2(fd, &mut into, 0, ReadWriteFlags::NOWAIT);
    read == Err(Errno::OPNOTSUPP)
}

/// Bytes of the `len` at `offset` that arrive. Odd multiples of 512 are tried for that unit, because an offset that
/// is also a multiple of 4096 would prove less.
fn read(
    page: &mut AlignedBuffer,
    fd: BorrowedFd<'_>,
    len: usize,
    offset: u64,
) -> Result<usize, Errno> {
    let odd =
        offset - if len == 512 && offset.is_multiple_of(4096) && offset > 0 { 512 } else { 0 };
    retry_on_intr(|| rustix::io::pread(fd, &mut page[..len], odd))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unit_is_never_below_the_direct_io_unit() {
        assert_eq!(least_unit(Some(512), None), Some(512));
        assert_eq!(least_unit(Some(4096), None), Some(4096));
        assert_eq!(least_unit(Some(0), None), None, "the kernel says that it would be cached");
        assert_eq!(least_unit(None, Some(4096)), Some(4096), "btrfs tells nothing");
        assert_eq!(least_unit(Some(512), Some(4096)), Some(512), "the reported unit counts");
        assert_eq!(least_unit(None, None), Some(0), "whatever transfers");
    }
}
