//! The one interface of real and simulated drives. Measuring loops are generic over [`IoQueue`], so that each
//! engine compiles to a loop of its own without calls through pointers.

mod buffers;
mod null;
mod simulated;
mod threads;
pub(crate) mod uring;

#[cfg(test)]
mod contract;

pub use drivescope_drive::io_op::IoOp;
pub use null::NullQueue;
pub use simulated::SimulatedQueue;
pub use threads::ThreadQueue;
pub use uring::UringQueue;

use std::io;

/// A slot names its buffer and is free again when its completion has been taken.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct IoRequest {
    pub op: IoOp,
    pub offset: u64,
    /// At most the slot's length.
    pub len: u32,
    /// Below [`IoQueue::slots`].
    pub slot: u16,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct IoCompletion {
    pub slot: u16,
    /// Bytes moved, or a negative errno.
    pub result: i32,
}

impl IoCompletion {
    /// `None` if this is the whole answer to `request`.
    #[inline]
    pub fn failure(self, request: IoRequest) -> Option<IoFailure> {
        (self.result != request.len as i32).then(|| IoFailure {
            errno: (-self.result).max(0),
            offset: request.offset,
            len: request.len,
            write: request.op != IoOp::Read,
        })
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct IoFailure {
    /// 0 for a transfer shorter than asked.
    pub errno: i32,
    pub offset: u64,
    /// 0 for a flush.
    pub len: u32,
    /// A write or a flush.
    pub write: bool,
}

/// A drive to send requests to. At most one request per slot is in flight.
pub trait IoQueue {
    /// Number of buffers; fits a `u16`.
    fn slots(&self) -> u32;

    /// The buffer of a slot that is not in flight. Empty on simulated drives that keep
    /// no data.
    fn buffer(&mut self, slot: u16) -> &mut [u8];

    /// Queues a request. It reaches the drive at the next [`IoQueue::kick`] or wait, at the latest.
    fn submit(&mut self, request: IoRequest);

    /// Hands queued requests to the drive without waiting.
    fn kick(&mut self) -> io::Result<()>;

    /// Waits for at least one completion and appends all there are. `done` has room for all slots.
    /// Must not be called with nothing in flight.
    fn wait(&mut self, done: &mut Vec<IoCompletion>) -> io::Result<()> {
        self.wait_until(u64::MAX, done)
    }

    /// As [`IoQueue::wait`]; returns with nothing appended once the time has come.
    fn wait_until(&mut self, at_ns: u64, done: &mut Vec<IoCompletion>) -> io::Result<()>;

    fn now(&self) -> u64;

    /// Sends one request with nothing else in flight, and waits for it; the inner error is its failure.
    fn exchange(
        &mut self,
        request: IoRequest,
        done: &mut Vec<IoCompletion>,
    ) -> io::Result<Result<(), IoFailure>> {
        self.submit(request);
        done.clear();
        self.wait(done)?;
        Ok(done.iter().find_map(|completion| completion.failure(request)).map_or(Ok(()), Err))
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct QueueSpec {
    /// Requests in flight at most.
    pub depth: u32,
    /// Requests prepared while all those fly.
    pub ahead: u32,
    /// Longest request.
    pub block_bytes: u32,
    /// Each write completes on the medium (`RWF_DSYNC`).
    pub dsync: bool,
}

impl QueueSpec {
    pub fn slots(self) -> u32 {
        self.depth + self.ahead
    }
}

/// Work on whichever queue the engine makes; the generic method keeps the loop static.
pub trait IoTask: Send {
    type Output: Send;

    /// Errors: the queue itself failed, not a single request.
    fn run<Q: IoQueue>(self, queue: &mut Q) -> io::Result<Self::Output>;
}
