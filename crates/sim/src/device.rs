//! What every simulated layer is: something that accepts requests, and answers them as time goes on.

/// Virtual time in nanoseconds since the device was powered on.
pub type Nanos = u64;

/// What a request does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Op {
    /// Reads.
    Read,
    /// Writes; done when the device says so, which with a write cache is before the medium has it.
    Write,
    /// Empties the write cache; offset and length are ignored.
    Flush,
    /// Declares a range unused.
    Trim,
}

/// One request. Offsets and lengths are bytes and multiples of the logical sector.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Request {
    /// Chosen by the sender; comes back with the completion.
    pub id: u64,
    /// What to do.
    pub op: Op,
    /// First byte.
    pub offset: u64,
    /// Number of bytes.
    pub len: u64,
    /// Write through the cache (force unit access).
    pub fua: bool,
}

/// How a request ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// All of it was done.
    Done,
    /// The medium could not be read or written (EIO).
    MediaError,
    /// The device is gone (ENODEV).
    Gone,
    /// Beyond the end, or not a multiple of the sector (EINVAL).
    Invalid,
}

/// One answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Completion {
    /// The request's id.
    pub id: u64,
    /// When it was done.
    pub at: Nanos,
    /// How.
    pub outcome: Outcome,
}

/// A simulated device or layer. Time never runs backwards: each `now` and `to` is at least as large as
/// all before it.
pub trait Device {
    /// Bytes that can be addressed.
    fn capacity_bytes(&self) -> u64;

    /// Smallest unit of offsets and lengths.
    fn sector_bytes(&self) -> u32;

    /// Accepts a request at time `now`. Any number may be outstanding; the device queues what exceeds
    /// its own depth. Work in the background (destaging, cleaning, garbage collection) up to `now` is
    /// done first.
    fn submit(&mut self, now: Nanos, request: Request);

    /// The next time at which something happens to what is outstanding, if nothing else is submitted: a
    /// lower bound of the next completion. A bare drive gives the completion itself; a layer gives its own
    /// next step, after which the request may still be under way. Whoever waits for a completion therefore
    /// advances to this time and asks again until one has come; each round makes progress, so that the
    /// time given after an `advance` lies behind it. `None` with nothing outstanding.
    fn next_completion(&mut self) -> Option<Nanos>;

    /// Lets time pass until `to` and appends every completion due by then, in order of time.
    fn advance(&mut self, to: Nanos, done: &mut Vec<Completion>);
}

impl<D: Device + ?Sized> Device for Box<D> {
    fn capacity_bytes(&self) -> u64 {
        (**self).capacity_bytes()
    }

    fn sector_bytes(&self) -> u32 {
        (**self).sector_bytes()
    }

    fn submit(&mut self, now: Nanos, request: Request) {
        (**self).submit(now, request);
    }

    fn next_completion(&mut self) -> Option<Nanos> {
        (**self).next_completion()
    }

    fn advance(&mut self, to: Nanos, done: &mut Vec<Completion>) {
        (**self).advance(to, done);
    }
}

/// A long sequential stream, computed as one: an eight-hour fill must not take eight hours.
pub trait Stream: Device {
    /// With nothing outstanding: the time at which reading or writing `len` bytes from `offset` in
    /// requests of `chunk` bytes, one after the other at the given queue depth, would end if it began
    /// at `now`. The state afterwards is as if all of it had been done step by step, and the time
    /// agrees with that within 0.5 %. `None` where the device must be stepped (errors ahead, cleaning
    /// under way): the caller then submits the requests one by one.
    fn stream(
        &mut self,
        now: Nanos,
        op: Op,
        offset: u64,
        len: u64,
        chunk: u64,
        depth: u32,
    ) -> Option<Nanos>;
}
