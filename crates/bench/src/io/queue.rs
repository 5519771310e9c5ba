//! The one interface of real and simulated drives: submit requests, wait for completions, ask the
//! time, advance to a time.
//!
//! The measuring loops are generic over [`IoQueue`], so that each engine compiles to a loop of its own
//! without calls through pointers.

mod buffers;
mod null;
mod simulated;
mod threads;
pub(crate) mod uring;

#[cfg(test)]
mod contract;

pub use null::NullQueue;
pub use simulated::SimulatedQueue;
pub use threads::ThreadQueue;
pub use uring::UringQueue;

use std::io;

/// What a request does.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum IoOp {
    /// Reads into the slot's buffer.
    #[default]
    Read,
    /// Writes the slot's buffer.
    Write,
    /// Writes it, and is done when it has reached the medium (`RWF_DSYNC`, force unit access).
    WriteThrough,
    /// Waits until everything written is on the drive (`fdatasync`); its offset is ignored and its length is 0.
    Sync,
}

impl IoOp {
    /// Whether it changes what is stored.
    #[inline]
    pub fn writes(self) -> bool {
        matches!(self, Self::Write | Self::WriteThrough)
    }
}

/// One request. A slot names its buffer and is free again when its completion has been taken.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct IoRequest {
    /// What to do.
    pub op: IoOp,
    /// Byte offset on the target.
    pub offset: u64,
    /// Bytes; at most the slot's length.
    pub len: u32,
    /// Which buffer, below [`IoQueue::slots`].
    pub slot: u16,
}

/// One answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct IoCompletion {
    /// The request's slot.
    pub slot: u16,
    /// Bytes moved, or a negative errno.
    pub result: i32,
}

impl IoCompletion {
    /// Why this is not the whole answer to `request`, if so.
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

/// A request that failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct IoFailure {
    /// errno, or 0 for a transfer that was shorter than asked.
    pub errno: i32,
    /// Offset on the target.
    pub offset: u64,
    /// Its length in bytes; 0 for a flush.
    pub len: u32,
    /// Whether it was a write or a flush.
    pub write: bool,
}

/// A drive to send requests to. At most one request per slot is in flight.
pub trait IoQueue {
    /// Number of buffers, at most as many as a `u16` can number.
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

    /// Like [`IoQueue::wait`], but also returns, with nothing appended, once the time has come.
    fn wait_until(&mut self, at_ns: u64, done: &mut Vec<IoCompletion>) -> io::Result<()>;

    /// The time in nanoseconds, real or virtual.
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

/// How many buffers a queue needs and how long they are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct QueueSpec {
    /// Requests in flight at most.
    pub depth: u32,
    /// Requests prepared while all those fly.
    pub ahead: u32,
    /// Longest request.
    pub block_bytes: u32,
    /// Each write completes when it has reached the drive (`RWF_DSYNC`).
    pub dsync: bool,
}

impl QueueSpec {
    /// Buffers: one for each request in flight or prepared.
    pub fn slots(self) -> u32 {
        self.depth + self.ahead
    }
}

/// Work that runs on whichever queue the engine makes; the generic method keeps the loop static.
pub trait IoTask: Send {
    /// What it leaves behind.
    type Output: Send;

    /// Runs to the end on `queue`. Errors: the queue itself failed, not a single request.
    fn run<Q: IoQueue>(self, queue: &mut Q) -> io::Result<Self::Output>;
}
