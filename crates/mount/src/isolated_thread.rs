//! A thread that holds nothing of what it waits for.

use rustix::fd::{AsRawFd, BorrowedFd};
use rustix::thread::{UnshareFlags, unshare_unsafe};
use std::io;
use std::thread::{Builder, JoinHandle};

/// Descriptors 0 to 2 are shared by all threads.
const FIRST: u32 = 3;

/// Does `work` on a thread that has no open files but `keep` and what it opens itself.
///
/// A request to the block device that this program serves cannot be broken off. If the program were killed while one of
/// its threads waits for such a request, that thread would keep the program's files open, and with them the FUSE
/// connection that the request waits for, and would wait for ever. Without the connection in this thread, it closes;
/// then the request fails and the thread ends.
///
/// `work` must use no descriptor from outside but `keep`. Errors: no thread can be started.
pub(super) fn run_isolated<T: Send>(
    keep: &[BorrowedFd<'_>],
    work: impl FnOnce() -> T + Send,
) -> io::Result<T> {
    std::thread::scope(|scope| {
        let thread = Builder::new().name("sim-isolated".into());
        let alone = || {
            leave_all_but(keep);
            work()
        };
        let done = thread.spawn_scoped(scope, alone)?.join();
        Ok(done.unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
    })
}

/// Begins `work` on such a thread beside the caller; it must use no descriptor from outside.
/// Errors: no thread can be started.
pub(super) fn spawn_isolated(
    name: &str,
    work: impl FnOnce() + Send + 'static,
) -> io::Result<JoinHandle<()>> {
    Builder::new().name(name.into()).spawn(|| {
        leave_all_but(&[]);
        work();
    })
}

/// Gives the calling thread a table of open files of its own, with few in it. Where the kernel refuses, it
/// shares that of the program as before.
fn leave_all_but(keep: &[BorrowedFd<'_>]) {
    leave_signals();
    // SAFETY: descriptors that this thread opens from now on are dropped by it, and those that it is given are
    // in both tables until it ends.
    if unsafe { unshare_unsafe(UnshareFlags::FILES) }.is_err() {
        return;
    }
    let mut kept: Vec<u32> = keep.iter().map(|fd| fd.as_raw_fd() as u32).collect();
    kept.sort_unstable();
    let mut from = FIRST;
    for fd in kept {
        if fd > from {
            close_range(from, fd - 1);
        }
        from = from.max(fd + 1);
    }
    close_range(from, u32::MAX);
}

/// Leaves signals to the program's other threads: a handler writes to a descriptor that this one no longer has, and
/// the signal would be lost. The kernel chooses such a thread where the first one has not yet gone on after a stop.
fn leave_signals() {
    // SAFETY: the set is initialized before it is used, and only the calling thread's mask changes.
    unsafe {
        let mut all = std::mem::zeroed();
        libc::sigfillset(&raw mut all);
        libc::pthread_sigmask(libc::SIG_BLOCK, &raw const all, std::ptr::null_mut());
    }
}

#[expect(clippy::disallowed_methods, reason = "close_range closes descriptors of this thread")]
fn close_range(first: u32, last: u32) {
    // SAFETY: the table is this thread's alone, so no other thread's descriptors are closed; the thread itself uses
    // none of these (see `run_isolated`). Linux before 5.9 does not know the call, and they stay open.
    let _ = unsafe { libc::syscall(libc::SYS_close_range, first, last, 0) };
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::fd::AsFd;
    use std::io::{Read, Write};

    #[test]
    fn isolated_thread_has_only_its_own_files() {
        fn is_blocked(status: String) -> bool {
            let mask = status.lines().find_map(|line| line.strip_prefix("SigBlk:")).unwrap();
            let mask = u64::from_str_radix(mask.trim(), 16).unwrap();
            mask & (1 << (libc::SIGINT - 1)) != 0
        }
        let (mut reader, writer) = io::pipe().unwrap();
        let other = std::fs::File::open("/dev/null").unwrap();
        let number = other.as_raw_fd();
        let is_open = |fd: i32| std::fs::exists(format!("/proc/thread-self/fd/{fd}")).unwrap();
        let seen = run_isolated(&[reader.as_fd(), writer.as_fd()], || {
            (&writer).write_all(b"it works").unwrap();
            (is_open(reader.as_raw_fd()), is_open(number))
        });
        assert_eq!(seen.unwrap(), (true, false));
        let status = || std::fs::read_to_string("/proc/thread-self/status").unwrap();
        assert!(is_blocked(run_isolated(&[], status).unwrap()), "a signal would be lost");
        assert!(!is_blocked(status()));
        assert!(is_open(number));
        let mut text = [0; 8];
        reader.read_exact(&mut text).unwrap();
        assert_eq!(&text, b"it works");
    }
}
