//! The page cache: dropping a file's pages, and asking the kernel what is still there.

use rustix::fd::{AsRawFd, BorrowedFd};
use rustix::fs::Advice;
use rustix::io::Errno;
use rustix::mm::{MapFlags, ProtFlags};

/// Drops the clean pages of `fd`. Dirty pages stay: flush first.
pub fn evict(fd: BorrowedFd<'_>) -> Result<(), Errno> {
    rustix::fs::fadvise(fd, 0, None, Advice::DontNeed)
}

/// Share (0–1) of the first `size_bytes` of `fd` that is in the page cache: by `cachestat`
/// (Linux 6.5), else by `mincore` over a mapping; `None` where neither works.
pub fn resident_share(fd: BorrowedFd<'_>, size_bytes: u64) -> Option<f64> {
    if size_bytes == 0 {
        return Some(0.0);
    }
    let pages = size_bytes.div_ceil(page_bytes());
    cachestat(fd, size_bytes)
        .or_else(|| mincore(fd, size_bytes))
        .map(|resident| resident as f64 / pages as f64)
}

fn page_bytes() -> u64 {
    rustix::param::page_size() as u64
}

/// `struct cachestat_range` and `struct cachestat` of `linux/mman.h`.
#[repr(C)]
struct CachestatRange {
    off: u64,
    len: u64,
}

#[repr(C)]
#[derive(Default)]
struct Cachestat {
    nr_cache: u64,
    nr_dirty: u64,
    nr_writeback: u64,
    nr_evicted: u64,
    nr_recently_evicted: u64,
}

/// Number of the system call on every architecture (unified table).
const SYS_CACHESTAT: libc::c_long = 451;

#[expect(clippy::disallowed_methods, reason = "cachestat only asks")]
fn cachestat(fd: BorrowedFd<'_>, size_bytes: u64) -> Option<u64> {
    let range = CachestatRange { off: 0, len: size_bytes };
    let mut stat = Cachestat::default();
    // SAFETY: both structures have the kernel's layout and outlive the call; flags must be 0.
    let result = unsafe { libc::syscall(SYS_CACHESTAT, fd.as_raw_fd(), &range, &mut stat, 0) };
    (result == 0).then_some(stat.nr_cache)
}

const WINDOW_BYTES: u64 = 1 << 30;

fn mincore(fd: BorrowedFd<'_>, size_bytes: u64) -> Option<u64> {
    let page = page_bytes();
    let mut resident = 0;
    let mut offset = 0;
    while offset < size_bytes {
        let len = (size_bytes - offset).min(WINDOW_BYTES) as usize;
        // SAFETY: a read-only shared mapping of our own descriptor; it is never dereferenced.
        let map = unsafe {
            rustix::mm::mmap(
                std::ptr::null_mut(),
                len,
                ProtFlags::READ,
                MapFlags::SHARED,
                fd,
                offset,
            )
        };
        let map = map.ok()?;
        let mut vector = vec![0u8; (len as u64).div_ceil(page) as usize];
        // SAFETY: the vector has one byte per page of the mapping made above.
        let result = unsafe { libc::mincore(map, len, vector.as_mut_ptr()) };
        // SAFETY: unmaps exactly what was mapped above; nothing refers to it.
        let _ = unsafe { rustix::mm::munmap(map, len) };
        if result != 0 {
            return None;
        }
        resident += vector.iter().filter(|&&b| b & 1 == 1).count() as u64;
        offset += len as u64;
    }
    Some(resident)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::fd::AsFd;
    use std::io::Write;

    fn written_file() -> std::fs::File {
        let mut file = tempfile::tempfile_in(env!("CARGO_MANIFEST_DIR")).unwrap();
        file.write_all(&vec![1u8; 4 << 20]).unwrap();
        file.sync_all().unwrap();
        file
    }

    #[test]
    fn both_queries_agree_and_see_an_eviction() {
        let file = written_file();
        let size = 4 << 20;
        let before = resident_share(file.as_fd(), size).unwrap();
        assert!(before > 0.99, "just written, so cached: {before}");
        let by_mincore = mincore(file.as_fd(), size).unwrap();
        assert_eq!(cachestat(file.as_fd(), size).unwrap_or(by_mincore), by_mincore);
        evict(file.as_fd()).unwrap();
        let after = resident_share(file.as_fd(), size).unwrap();
        assert!(after < before, "{after}");
    }
}
