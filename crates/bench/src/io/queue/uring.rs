//! io_uring: one ring per worker, registered file and buffers, one issuer, completions run by the
//! issuer itself where the kernel offers that (Linux 6.1).

use super::buffers::Buffers;
use super::{IoCompletion, IoOp, IoQueue, IoRequest, QueueSpec};
use crate::io::clock;
use drivescope_drive::IoFile;
use io_uring::types::{Fixed, FsyncFlags, SubmitArgs, Timespec};
use io_uring::{EnterFlags, IoUring, opcode, squeue};
use rustix::fd::{AsFd, AsRawFd};
use std::io;
use std::mem::ManuallyDrop;
use std::time::Duration;

/// `io_uring_enter` also runs completed work (IORING_ENTER_GETEVENTS).
const ENTER_GETEVENTS: u32 = 1;

/// `io_uring_enter` takes a [`GetEvents`] (IORING_ENTER_EXT_ARG).
const ENTER_EXT_ARG: u32 = 8;

/// How long the first completion may wait for others, where requests block: far below the latency of any such
/// device, about a sleep and a wake-up.
const GATHER_US: u32 = 5;

/// Share of those in flight that are waited for together, up to a maximum.
const GATHER_SHARE: u32 = 8;
const GATHER_MAX: u32 = 4;

/// Sleeps end this early and spinning takes over: timer slack is 50 µs, plus the wake-up.
const SPIN_NS: u64 = 80_000;

/// How often, and after which pause, a ring that ends waits again for its requests when a wait fails.
const TRIES: u32 = 10;
/// For a claimed device, whose originals may be put back next: no write may follow them.
const TRIES_OF_CLAIMED: u32 = 300;
const BETWEEN_TRIES: Duration = Duration::from_millis(100);

/// The file must outlive it, which the borrow in [`UringQueue::new`] ensures.
pub struct UringQueue<'f> {
    ring: IoUring,
    /// Kept mapped if the kernel may still write into them at the end.
    buffers: ManuallyDrop<Buffers>,
    /// Buffers are registered; `RLIMIT_MEMLOCK` may forbid it.
    fixed: bool,
    write_flags: i32,
    /// Completions come from threads of the kernel, which should not wake us for each.
    gathers: bool,
    in_flight: u32,
    /// By slot; sent again if a signal interrupted it.
    sent: Vec<IoRequest>,
    file: &'f IoFile,
}

/// `struct io_uring_getevents_arg` of the kernel's header.
#[repr(C)]
struct GetEvents {
    sigmask: u64,
    sigmask_bytes: u32,
    /// Until then as many completions as asked for, afterwards one (Linux 6.12).
    min_wait_us: u32,
    timeout: *const Timespec,
}

/// Why io_uring cannot be used here; `None` if it can.
pub fn refusal() -> Option<String> {
    match build(4).and_then(|ring| wait_at_most(&ring, 0)) {
        Ok(()) => None,
        Err(error) => Some(match error.raw_os_error() {
            Some(libc::EINVAL) => {
                "io_uring cannot wait with a timeout on this kernel (Linux 5.11 can)".to_string()
            }
            Some(libc::ENOSYS) => "this kernel has no io_uring".to_string(),
            Some(libc::EPERM | libc::EACCES) => {
                "io_uring is disabled (container profile or kernel.io_uring_disabled)".to_string()
            }
            _ => format!("io_uring does not start: {error}"),
        }),
    }
}

fn build(entries: u32) -> io::Result<IoUring> {
    let best = IoUring::builder()
        .setup_single_issuer()
        .setup_defer_taskrun()
        .setup_submit_all()
        .build(entries);
    match best {
        Err(error) if error.raw_os_error() == Some(libc::EINVAL) => IoUring::new(entries),
        other => other,
    }
}

/// Errors: among others EINVAL before Linux 5.11, which has no such wait.
fn wait_at_most(ring: &IoUring, timeout_ns: u64) -> io::Result<()> {
    let timeout = Timespec::from(Duration::from_nanos(timeout_ns));
    let arguments = SubmitArgs::new().timespec(&timeout);
    match ring.submitter().submit_with_args(1, &arguments) {
        Err(error) if error.raw_os_error() == Some(libc::ETIME) || interrupted(&error) => Ok(()),
        other => other.map(drop),
    }
}

/// Lets deferred completions appear, as they do only when the issuer enters the kernel, and does not wait: even a
/// wait of no time lasts as long as the timer's slack.
fn collect(ring: &IoUring) -> io::Result<()> {
    // SAFETY: without a signal mask or another argument the call has no pointers.
    let entered = unsafe {
        ring.submitter().enter::<libc::sigset_t>(0, 0, EnterFlags::GETEVENTS.bits(), None)
    };
    match entered {
        Err(error) if interrupted(&error) => Ok(()),
        other => other.map(drop),
    }
}

impl<'f> UringQueue<'f> {
    /// Must be made on the thread that uses it.
    pub fn new(file: &'f IoFile, spec: QueueSpec) -> io::Result<Self> {
        let ring = build(spec.slots().next_power_of_two())?;
        ring.submitter().register_files(&[file.as_fd().as_raw_fd()])?;
        let buffers = ManuallyDrop::new(Buffers::new(spec.slots(), spec.block_bytes as usize)?);
        // SAFETY: the buffers live in the same struct as the ring and are dropped after it drained.
        let fixed = unsafe { ring.submitter().register_buffers(&buffers.iovecs()) }.is_ok();
        let write_flags = if spec.dsync { libc::RWF_DSYNC } else { 0 };
        let gathers = file.may_block();
        let sent = vec![IoRequest::default(); spec.slots() as usize];
        Ok(Self { ring, buffers, fixed, write_flags, gathers, in_flight: 0, sent, file })
    }

    fn entry(&self, request: IoRequest) -> squeue::Entry {
        let pointer = self.buffers.pointer(request.slot);
        assert!(request.len as usize <= self.buffers.len(), "request longer than its buffer");
        let IoRequest { op, offset, len, slot } = request;
        let may = !op.writes() || self.file.allows_write(u64::from(len), offset);
        assert!(may, "a write outside what the target was opened for");
        let file = Fixed(0);
        let entry = match (op, self.fixed) {
            (IoOp::Read, true) => {
                opcode::ReadFixed::new(file, pointer, len, slot).offset(offset).build()
            }
            (IoOp::Write | IoOp::WriteThrough, true) => {
                let write = opcode::WriteFixed::new(file, pointer, len, slot);
                write.offset(offset).rw_flags(self.flags_of(op)).build()
            }
            (IoOp::Read, false) => opcode::Read::new(file, pointer, len).offset(offset).build(),
            (IoOp::Write | IoOp::WriteThrough, false) => {
                let write = opcode::Write::new(file, pointer, len);
                write.offset(offset).rw_flags(self.flags_of(op)).build()
            }
            (IoOp::Sync, _) => opcode::Fsync::new(file).flags(FsyncFlags::DATASYNC).build(),
        };
        entry.user_data(u64::from(slot))
    }

    fn flags_of(&self, op: IoOp) -> i32 {
        if op == IoOp::WriteThrough { libc::RWF_DSYNC } else { self.write_flags }
    }

    /// Requests that the kernel has.
    fn sent(&mut self) -> u32 {
        self.in_flight - self.ring.submission().len() as u32
    }

    fn reap(&mut self, done: &mut Vec<IoCompletion>) {
        let first = done.len();
        for entry in self.ring.completion() {
            done.push(IoCompletion { slot: entry.user_data() as u16, result: entry.result() });
            self.in_flight -= 1;
        }
        if done[first..].iter().any(is_broken_off) {
            self.send_again(done, first);
        }
    }

    /// Resends what a signal interrupted, as a call is repeated: no drive answers EINTR.
    #[cold]
    fn send_again(&mut self, done: &mut Vec<IoCompletion>, first: usize) {
        let mut at = first;
        while at < done.len() {
            if is_broken_off(&done[at]) {
                let broken = done.swap_remove(at);
                self.submit(self.sent[usize::from(broken.slot)]);
            } else {
                at += 1;
            }
        }
    }

    /// An interruption is not an error.
    fn wait_for_one(&mut self) -> io::Result<()> {
        let gather = (self.in_flight / GATHER_SHARE).min(GATHER_MAX);
        let waited = if self.gathers && gather > 1 {
            self.gather(gather)
        } else {
            self.ring.submit_and_wait(1)
        };
        match waited {
            Err(error) if interrupted(&error) => Ok(()),
            other => other.map(drop),
        }
    }

    /// Waits for `wanted` completions, or from the first one [`GATHER_US`] for the others. A kernel thread that
    /// wakes us for each completion does little else: on zram in a virtual machine 330 000 reads a second at depth
    /// 32 became 400 000.
    fn gather(&mut self, wanted: u32) -> io::Result<usize> {
        let unsent = self.ring.submission().len() as u32;
        // Without a time-out the wait would end after the shorter time, with nothing.
        let timeout = Timespec::new().sec(1);
        let (sigmask, sigmask_bytes) = (0, 0);
        let asked = GetEvents { sigmask, sigmask_bytes, min_wait_us: GATHER_US, timeout: &timeout };
        // SAFETY: what is passed lives through the call; every pushed entry's buffer and file outlive it
        // (see `submit`).
        let entered = unsafe {
            let flags = ENTER_GETEVENTS | ENTER_EXT_ARG;
            self.ring.submitter().enter(unsent, wanted, flags, Some(&asked))
        };
        match entered {
            Err(error) if error.raw_os_error() == Some(libc::ETIME) => Ok(0),
            // An older kernel: what was to be submitted still is.
            Err(error) if error.raw_os_error() == Some(libc::EINVAL) => {
                self.gathers = false;
                Ok(0)
            }
            other => other,
        }
    }
}

fn is_broken_off(completion: &IoCompletion) -> bool {
    completion.result == -libc::EINTR
}

fn interrupted(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::Interrupted
}

impl IoQueue for UringQueue<'_> {
    fn slots(&self) -> u32 {
        self.buffers.slots()
    }

    fn buffer(&mut self, slot: u16) -> &mut [u8] {
        self.buffers.slice(slot)
    }

    fn submit(&mut self, request: IoRequest) {
        let entry = self.entry(request);
        self.sent[usize::from(request.slot)] = request;
        // SAFETY: buffer and file outlive the request: both are borrowed or owned by this queue, which
        // drains before it is dropped.
        let pushed = unsafe { self.ring.submission().push(&entry) };
        assert!(pushed.is_ok(), "the ring has an entry for every slot");
        self.in_flight += 1;
    }

    fn kick(&mut self) -> io::Result<()> {
        let unsent = self.ring.submission().len() as u32;
        // SAFETY: no signal mask is passed; every pushed entry's buffer and file outlive it (see `submit`).
        let entered = unsafe {
            let submitter = self.ring.submitter();
            submitter.enter::<libc::sigset_t>(unsent, 0, ENTER_GETEVENTS, None)
        };
        match entered {
            Err(error) if interrupted(&error) => Ok(()),
            other => other.map(drop),
        }
    }

    fn wait(&mut self, done: &mut Vec<IoCompletion>) -> io::Result<()> {
        debug_assert!(self.in_flight > 0, "nothing to wait for");
        if self.ring.submission().is_empty() {
            self.reap(done);
        }
        while done.is_empty() {
            self.wait_for_one()?;
            self.reap(done);
        }
        Ok(())
    }

    fn wait_until(&mut self, at_ns: u64, done: &mut Vec<IoCompletion>) -> io::Result<()> {
        self.kick()?;
        loop {
            let now = clock::now_ns();
            let left = at_ns.saturating_sub(now);
            if left > SPIN_NS {
                wait_at_most(&self.ring, left - SPIN_NS)?;
            } else {
                collect(&self.ring)?;
            }
            self.reap(done);
            if !done.is_empty() || clock::now_ns() >= at_ns {
                return Ok(());
            }
        }
    }

    fn now(&self) -> u64 {
        clock::now_ns()
    }
}

impl Drop for UringQueue<'_> {
    fn drop(&mut self) {
        // Buffers must not be unmapped while the kernel may still write into them.
        // Nor may a pattern reach the drive after the original contents that are put back next.
        let mut done = Vec::with_capacity(self.buffers.slots() as usize);
        let mut tries_left = if self.file.claim().is_some() { TRIES_OF_CLAIMED } else { TRIES };
        // Requests that were never sent, as where the kernel refuses every call, need no waiting.
        while self.sent() > 0 && tries_left > 0 {
            done.clear();
            if self.wait(&mut done).is_err() {
                // The ring itself failed, as for want of memory, which may come back.
                tries_left -= 1;
                std::thread::sleep(BETWEEN_TRIES);
            }
        }
        if self.sent() == 0 {
            // SAFETY: the kernel has no request that uses them, and nothing here does after this.
            unsafe { ManuallyDrop::drop(&mut self.buffers) };
        }
        // A closed ring lets go of its file some time later; the claim of a device must end with us.
        let _ = self.ring.submitter().unregister_files();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::skip::note_skipped;
    use crate::testing::ScratchFile;

    const BLOCK: u32 = 4096;

    #[test]
    fn every_completion_is_gathered_once() {
        if let Some(reason) = refusal() {
            return note_skipped(&format!("io_uring: {reason}"));
        }
        let (_scratch, file) = ScratchFile::new(40 * u64::from(BLOCK));
        let spec = QueueSpec { depth: 39, ahead: 1, block_bytes: BLOCK, dsync: false };
        let mut queue = UringQueue::new(&file, spec).unwrap();
        queue.gathers = true;
        for slot in 0..39 {
            let offset = u64::from(slot) * u64::from(BLOCK);
            queue.submit(IoRequest { op: IoOp::Write, offset, len: BLOCK, slot });
        }
        let mut slots = Vec::new();
        while slots.len() < 39 {
            let mut done = Vec::with_capacity(40);
            queue.wait(&mut done).unwrap();
            assert!(!done.is_empty(), "wait returns with something");
            assert!(done.iter().all(|completion| completion.result == BLOCK as i32), "{done:?}");
            slots.extend(done.iter().map(|completion| completion.slot));
        }
        slots.sort_unstable();
        assert_eq!(slots, (0..39).collect::<Vec<_>>());
    }

    /// The kernel answers EINTR where a file system interrupts a request for a signal (FUSE, NFS).
    #[test]
    fn request_interrupted_by_a_signal_is_resent() {
        if let Some(reason) = refusal() {
            return note_skipped(&format!("io_uring: {reason}"));
        }
        let (_scratch, file) = ScratchFile::new(2 * u64::from(BLOCK));
        let spec = QueueSpec { depth: 2, ahead: 1, block_bytes: BLOCK, dsync: false };
        let mut queue = UringQueue::new(&file, spec).unwrap();
        queue.sent[1] =
            IoRequest { op: IoOp::Write, offset: u64::from(BLOCK), len: BLOCK, slot: 1 };
        let whole = IoCompletion { slot: 0, result: BLOCK as i32 };
        let mut done = vec![IoCompletion { slot: 1, result: -libc::EINTR }, whole];
        queue.send_again(&mut done, 0);
        assert!(done.len() == 1 && done[0].slot == 0, "{done:?}");
        done.clear();
        queue.wait(&mut done).unwrap();
        assert!(done.len() == 1 && done[0].slot == 1 && done[0].result == BLOCK as i32, "{done:?}");
    }
}
