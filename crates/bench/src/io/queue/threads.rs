//! Threads with `pread` and `pwrite`, for kernels and containers without io_uring.
//!
//! At depth 1 the request runs in the caller; deeper queues keep one thread per request in flight.

use super::buffers::Buffers;
use super::{IoCompletion, IoOp, IoQueue, IoRequest, QueueSpec};
use crate::io::clock;
use drivescope_drive::IoFile;
use rustix::io::{Errno, ReadWriteFlags};
use std::collections::VecDeque;
use std::io::{self, IoSlice};
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::thread::{Scope, ScopedJoinHandle};
use std::time::Duration;

/// Sleeps end this early and spinning takes over, as in the io_uring engine.
const SPIN_NS: u64 = 80_000;

#[derive(Clone, Copy)]
struct QueuedRequest {
    request: IoRequest,
    write_flags: ReadWriteFlags,
    buffer: *mut u8,
}

// SAFETY: the buffer belongs to the request's slot, which no other code touches while it is in flight.
unsafe impl Send for QueuedRequest {}

#[derive(Default)]
struct HelperState {
    todo: VecDeque<QueuedRequest>,
    done: Vec<IoCompletion>,
    closed: bool,
}

#[derive(Default)]
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

pub struct ThreadQueue<'scope> {
    file: &'scope IoFile,
    buffers: Buffers,
    shared: Arc<HelperShared>,
    workers: Vec<ScopedJoinHandle<'scope, ()>>,
    /// Depth 1: the request waits here, and the waiting thread runs it.
    inline: Option<QueuedRequest>,
    write_flags: ReadWriteFlags,
}

impl<'scope> ThreadQueue<'scope> {
    /// As many threads as its depth; none at depth 1.
    pub fn new<'env>(
        scope: &'scope Scope<'scope, 'env>,
        file: &'scope IoFile,
        spec: QueueSpec,
    ) -> io::Result<Self> {
        let slots = spec.slots() as usize;
        let (todo, done) = (VecDeque::with_capacity(slots), Vec::with_capacity(slots));
        let state = Mutex::new(HelperState { todo, done, closed: false });
        let shared = Arc::new(HelperShared { state, ..HelperShared::default() });
        let mut queue = Self {
            file,
            buffers: Buffers::new(spec.slots(), spec.block_bytes as usize)?,
            shared,
            workers: Vec::new(),
            inline: None,
            write_flags: if spec.dsync { ReadWriteFlags::DSYNC } else { ReadWriteFlags::empty() },
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

    fn wait_for_workers(&self, at_ns: u64, done: &mut Vec<IoCompletion>) {
        let mut state = self.shared.lock();
        while state.done.is_empty() {
            let left = at_ns.saturating_sub(clock::now_ns());
            if left == 0 {
                return;
            }
            if left > SPIN_NS {
                let sleep = Duration::from_nanos(left - SPIN_NS);
                let wait = self.shared.finished.wait_timeout(state, sleep);
                state = wait.expect("a worker only panics on a broken invariant").0;
            } else {
                // Even a wait of no time lasts as long as the timer's slack.
                drop(state);
                std::hint::spin_loop();
                state = self.shared.lock();
            }
        }
        done.append(&mut state.done);
    }
}

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

/// Short transfers are reported as they are.
#[inline]
fn perform(file: &IoFile, job: QueuedRequest) -> IoCompletion {
    let QueuedRequest { request, buffer, .. } = job;
    // SAFETY: `submit` checked the length against the buffer, and the slot is in flight, so no other code
    // reads or writes it until its completion is taken.
    let buffer = unsafe { std::slice::from_raw_parts_mut(buffer, request.len as usize) };
    let result = loop {
        let result = match request.op {
            IoOp::Read => {
                let (fd, offset) = file.place(request.offset);
                rustix::io::pread(fd, &mut *buffer, offset)
            }
            _ => write_or_sync(file, job, buffer),
        };
        if result != Err(Errno::INTR) {
            break result;
        }
    };
    let result = result.map_or_else(|errno| -errno.raw_os_error(), |bytes| bytes as i32);
    IoCompletion { slot: request.slot, result }
}

/// Apart from reads: one that finds its data in memory takes little more than the call itself.
#[inline(never)]
fn write_or_sync(file: &IoFile, job: QueuedRequest, buffer: &[u8]) -> rustix::io::Result<usize> {
    let QueuedRequest { request, write_flags, .. } = job;
    match request.op {
        IoOp::Sync => file.flush().map(|()| 0),
        IoOp::WriteThrough => write(file, buffer, request.offset, ReadWriteFlags::DSYNC),
        _ => write(file, buffer, request.offset, write_flags),
    }
}

fn write(
    file: &IoFile,
    buffer: &[u8],
    offset: u64,
    flags: ReadWriteFlags,
) -> rustix::io::Result<usize> {
    let (fd, offset) = file.place(offset);
    if flags.is_empty() {
        rustix::io::pwrite(fd, buffer, offset)
    } else {
        rustix::io::pwritev2(fd, &[IoSlice::new(buffer)], offset, flags)
    }
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
        if self.workers.is_empty() {
            let before = self.inline.replace(job);
            assert!(before.is_none(), "more requests in flight than the depth");
        } else {
            self.shared.lock().todo.push_back(job);
            self.shared.work.notify_one();
        }
    }

    fn kick(&mut self) -> io::Result<()> {
        Ok(())
    }

    #[inline]
    fn wait_until(&mut self, at_ns: u64, done: &mut Vec<IoCompletion>) -> io::Result<()> {
        match self.inline.take() {
            Some(job) => done.push(perform(self.file, job)),
            None => self.wait_for_workers(at_ns, done),
        }
        Ok(())
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
