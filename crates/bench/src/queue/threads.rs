//! Threads with `pread` and `pwrite`, for kernels and containers without io_uring.
//!
//! At depth 1 the request runs in the caller; deeper queues keep one thread per request in flight.

use super::buffers::Buffers;
use super::{IoCompletion, IoOp, IoQueue, IoRequest, QueueSpec};
use crate::clock;
use drivescope_drive::IoFile;
use rustix::io::{Errno, ReadWriteFlags};
use std::collections::VecDeque;
use std::io::{self, IoSlice};
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::thread::{Scope, ScopedJoinHandle};
use std::time::Duration;

/// Sleeps end this early and spinning takes over, as in the io_uring engine.
const SPIN_NS: u64 = 80_000;

/// A request with the address of its buffer.
#[derive(Clone, Copy)]
struct QueuedRequest {
    request: IoRequest,
    write_flags: ReadWriteFlags,
    buffer: *mut u8,
}

// SAFETY: the buffer belongs to the request's slot, which nobody else touches while it is in flight.
unsafe impl Send for QueuedRequest {}

#[derive(Default)]
struct HelperState {
    todo: VecDeque<QueuedRequest>,
    done: Vec<IoCompletion>,
    closed: bool,
}

struct HelperShared {
    state: Mutex<HelperState>,
    work: Condvar,
    finished: Condvar,
}

impl HelperShared {
    fn lock(&self) -> MutexGuard<'_, HelperState> {
        self.state.lock().expect("a worker only panics on a broken invariant")
    }
}

/// A queue served by threads of `scope`.
pub struct ThreadQueue<'scope> {
    file: &'scope IoFile,
    buffers: Buffers,
    shared: Arc<HelperShared>,
    workers: Vec<ScopedJoinHandle<'scope, ()>>,
    /// Depth 1: requests wait here and run when waited for.
    inline: VecDeque<QueuedRequest>,
    write_flags: ReadWriteFlags,
    in_flight: u32,
}

impl<'scope> ThreadQueue<'scope> {
    /// A queue for `file` with as many threads as its depth (none at depth 1).
    pub fn new<'env>(
        scope: &'scope Scope<'scope, 'env>,
        file: &'scope IoFile,
        spec: QueueSpec,
    ) -> io::Result<Self> {
        let slots = spec.slots() as usize;
        let state = HelperState {
            todo: VecDeque::with_capacity(slots),
            done: Vec::with_capacity(slots),
            closed: false,
        };
        let shared = Arc::new(HelperShared {
            state: Mutex::new(state),
            work: Condvar::new(),
            finished: Condvar::new(),
        });
        let mut queue = Self {
            file,
            buffers: Buffers::new(spec.slots(), spec.block_bytes as usize)?,
            shared,
            workers: Vec::new(),
            inline: VecDeque::with_capacity(slots),
            write_flags: if spec.dsync { ReadWriteFlags::DSYNC } else { ReadWriteFlags::empty() },
            in_flight: 0,
        };
        if spec.depth > 1 {
            for _ in 0..spec.depth {
                let shared = Arc::clone(&queue.shared);
                let worker = std::thread::Builder::new()
                    .name("io".to_string())
                    .spawn_scoped(scope, move || serve(&shared, file))?;
                queue.workers.push(worker);
            }
        }
        Ok(queue)
    }
}

/// One worker: takes requests until the queue is closed.
fn serve(shared: &HelperShared, file: &IoFile) {
    let mut state = shared.lock();
    loop {
        if let Some(job) = state.todo.pop_front() {
            drop(state);
            let completion = perform(file, job);
            state = shared.lock();
            state.done.push(completion);
            shared.finished.notify_one();
        } else if state.closed {
            return;
        } else {
            state = shared.work.wait(state).expect("a worker only panics on a broken invariant");
        }
    }
}

/// `pwrite`, or `pwritev2` where flags ask for more.
fn write(
    file: &IoFile,
    buffer: &[u8],
    offset: u64,
    flags: ReadWriteFlags,
) -> rustix::io::Result<usize> {
    if flags.is_empty() {
        rustix::io::pwrite(file, buffer, offset)
    } else {
        rustix::io::pwritev2(file, &[IoSlice::new(buffer)], offset, flags)
    }
}

/// Does one request; short transfers are reported as they are.
fn perform(
    file: &IoFile,
    QueuedRequest { request, write_flags, buffer }: QueuedRequest,
) -> IoCompletion {
    // SAFETY: `submit` checked the length against the buffer, and the slot is in flight, so nobody
    // else reads or writes it until its completion is taken.
    let buffer = unsafe { std::slice::from_raw_parts_mut(buffer, request.len as usize) };
    let result = loop {
        let result = match request.op {
            IoOp::Read => rustix::io::pread(file, &mut *buffer, request.offset),
            IoOp::Write => write(file, buffer, request.offset, write_flags),
            IoOp::WriteThrough => write(file, buffer, request.offset, ReadWriteFlags::DSYNC),
            IoOp::Sync => rustix::fs::fdatasync(file).map(|()| 0),
        };
        if result != Err(Errno::INTR) {
            break result;
        }
    };
    let result = result.map_or_else(|errno| -errno.raw_os_error(), |bytes| bytes as i32);
    IoCompletion { slot: request.slot, result }
}

impl IoQueue for ThreadQueue<'_> {
    fn slots(&self) -> u32 {
        self.buffers.slots()
    }

    fn buffer(&mut self, slot: u16) -> &mut [u8] {
        self.buffers.slice(slot)
    }

    fn submit(&mut self, request: IoRequest) {
        assert!(request.len as usize <= self.buffers.len(), "request longer than its buffer");
        let may =
            !request.op.writes() || self.file.allows_write(u64::from(request.len), request.offset);
        assert!(may, "a write outside what the target was opened for");
        let buffer = self.buffers.pointer(request.slot);
        let job = QueuedRequest { request, write_flags: self.write_flags, buffer };
        self.in_flight += 1;
        if self.workers.is_empty() {
            self.inline.push_back(job);
        } else {
            self.shared.lock().todo.push_back(job);
            self.shared.work.notify_one();
        }
    }

    fn kick(&mut self) -> io::Result<()> {
        Ok(())
    }

    fn wait(&mut self, done: &mut Vec<IoCompletion>) -> io::Result<()> {
        self.wait_until(u64::MAX, done)
    }

    fn wait_until(&mut self, at_ns: u64, done: &mut Vec<IoCompletion>) -> io::Result<()> {
        if let Some(job) = self.inline.pop_front() {
            done.push(perform(self.file, job));
            self.in_flight -= 1;
            return Ok(());
        }
        let mut state = self.shared.lock();
        loop {
            if !state.done.is_empty() {
                self.in_flight -= state.done.len() as u32;
                done.append(&mut state.done);
                return Ok(());
            }
            let left = at_ns.saturating_sub(clock::now_ns());
            if left == 0 {
                return Ok(());
            }
            let sleep = left.saturating_sub(SPIN_NS);
            let wait = self.shared.finished.wait_timeout(state, Duration::from_nanos(sleep));
            state = wait.expect("a worker only panics on a broken invariant").0;
        }
    }

    fn now(&self) -> u64 {
        clock::now_ns()
    }
}

impl Drop for ThreadQueue<'_> {
    fn drop(&mut self) {
        // Buffers must outlive the requests in flight: finish them, then let the workers go.
        self.shared.lock().closed = true;
        self.shared.work.notify_all();
        for worker in self.workers.drain(..) {
            // A panic of a worker has been printed already and nothing more can be saved here.
            let _ = worker.join();
        }
    }
}
