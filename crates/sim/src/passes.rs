//! Sequential passes on their way to a drive that computes them, alone or behind a link.
//!
//! A drive steps a part of a pass, through whatever stands before it, until the pace of the whole is known; then
//! it moves on by a distance and a time at once, and what stands before it moves with it.

use crate::device::{Completion, Device, Nanos, Op, Request, Stream};

/// A pass that is asked for.
#[derive(Debug, Clone, Copy)]
pub struct Order {
    /// Reads or writes.
    pub op: Op,
    /// First byte.
    pub offset: u64,
    /// Number of bytes.
    pub len: u64,
    /// Bytes of a request.
    pub chunk: u64,
    /// Requests kept outstanding.
    pub depth: u32,
}

impl Order {
    /// The first byte behind it, if there is anything to do on a drive of `capacity` bytes, in whole sectors.
    pub fn end_on(&self, capacity: u64, sector: u32) -> Option<u64> {
        let end = self.offset.checked_add(self.len).filter(|&end| end <= capacity)?;
        let whole = |bytes: u64| bytes.is_multiple_of(u64::from(sector));
        let something = self.len > 0 && self.chunk > 0 && self.depth > 0;
        let data = matches!(self.op, Op::Read | Op::Write);
        let sectors = whole(self.offset) && whole(self.len) && whole(self.chunk);
        (something && data && sectors).then_some(end)
    }
}

/// What each request pays on its way, beside the drive's own time.
#[derive(Debug, Clone, Copy)]
pub struct Toll {
    /// Commands into which a request is divided.
    pub pieces: u64,
    /// Commands that can be with the drive at once.
    pub depth: u64,
    /// Time of each command during which no other begins, ns.
    pub alone_ns: Nanos,
    /// All that is added to a command, ns.
    pub added_ns: Nanos,
}

/// A drive, or a drive behind something through which requests reach it.
pub trait Way: Device {
    /// The drive at the far end.
    type Drive;

    /// The drive.
    fn drive(&self) -> &Self::Drive;

    /// The same, to move it on.
    fn drive_mut(&mut self) -> &mut Self::Drive;

    /// Moves what is under way before the drive by `bytes` and `time`.
    fn move_on(&mut self, _bytes: u64, _time: Nanos) {}

    /// What requests of `chunk` bytes pay.
    fn toll(&self, _chunk: u64) -> Toll {
        Toll { pieces: 1, depth: u64::MAX, alone_ns: 0, added_ns: 0 }
    }

    /// The largest command that reaches the drive.
    fn largest_command(&self) -> u64 {
        u64::MAX
    }
}

/// A drive that computes passes.
pub trait Passes: Device + Sized {
    /// When a pass that begins at `now`, with nothing outstanding, ends; [`Stream`] says more. `None` where it
    /// must be stepped.
    fn pass<W: Way<Drive = Self>>(way: &mut W, now: Nanos, order: Order) -> Option<Nanos>;
}

impl<D: Passes + Way<Drive = D>> Stream for D {
    fn stream(
        &mut self,
        now: Nanos,
        op: Op,
        offset: u64,
        len: u64,
        chunk: u64,
        depth: u32,
    ) -> Option<Nanos> {
        D::pass(self, now, Order { op, offset, len, chunk, depth })
    }
}

/// The way to one kind of drive, where it is known to be of that kind.
pub(crate) struct Kind<'a, W: Way, D> {
    pub way: &'a mut W,
    pub of: fn(&W::Drive) -> &D,
    pub of_mut: fn(&mut W::Drive) -> &mut D,
}

impl<W: Way, D> Device for Kind<'_, W, D> {
    fn capacity_bytes(&self) -> u64 {
        self.way.capacity_bytes()
    }

    fn sector_bytes(&self) -> u32 {
        self.way.sector_bytes()
    }

    fn submit(&mut self, now: Nanos, request: Request) {
        self.way.submit(now, request);
    }

    fn next_completion(&mut self) -> Option<Nanos> {
        self.way.next_completion()
    }

    fn advance(&mut self, to: Nanos, done: &mut Vec<Completion>) {
        self.way.advance(to, done);
    }
}

impl<W: Way, D> Way for Kind<'_, W, D> {
    type Drive = D;

    fn drive(&self) -> &D {
        (self.of)(self.way.drive())
    }

    fn drive_mut(&mut self) -> &mut D {
        (self.of_mut)(self.way.drive_mut())
    }

    fn move_on(&mut self, bytes: u64, time: Nanos) {
        self.way.move_on(bytes, time);
    }

    fn toll(&self, chunk: u64) -> Toll {
        self.way.toll(chunk)
    }

    fn largest_command(&self) -> u64 {
        self.way.largest_command()
    }
}

/// A pass under way.
pub(crate) struct Walk<'a, W> {
    pub way: &'a mut W,
    pub op: Op,
    pub chunk: u64,
    pub depth: u32,
    /// Offset of the next request, and end.
    pub at: u64,
    pub end: u64,
    pub now: Nanos,
    /// Requests that are not answered.
    pub inside: u32,
    done: Vec<Completion>,
}

impl<'a, W: Device> Walk<'a, W> {
    /// At the beginning.
    pub(crate) fn new(way: &'a mut W, now: Nanos, order: &Order) -> Self {
        let Order { op, offset, len, chunk, depth } = *order;
        let (at, end) = (offset, offset + len);
        Self { way, op, chunk, depth, at, end, now, inside: 0, done: Vec::new() }
    }

    /// Sends the requests up to `stop`, the queue kept at its depth; those sent last are then still under way.
    pub(crate) fn step(&mut self, stop: u64) {
        let stop = stop.min(self.end);
        loop {
            while self.at < stop && self.inside < self.depth {
                let (id, len) = (self.at, self.chunk.min(self.end - self.at));
                let request = Request { id, op: self.op, offset: self.at, len, fua: false };
                self.way.submit(self.now, request);
                self.at += len;
                self.inside += 1;
            }
            if self.at >= stop {
                return;
            }
            self.wait();
        }
    }

    /// Waits until something has happened, mostly an answer.
    fn wait(&mut self) {
        let Some(due) = self.way.next_completion() else {
            self.inside = 0;
            return;
        };
        self.now = due;
        self.way.advance(due, &mut self.done);
        self.inside -= self.done.len().min(self.inside as usize) as u32;
        self.done.clear();
    }

    /// Waits for the answers to all that was sent.
    pub(crate) fn drain(&mut self) {
        while self.inside > 0 {
            self.wait();
        }
    }

    /// Steps all that is left.
    pub(crate) fn finish(mut self) -> Nanos {
        self.step(self.end);
        self.drain();
        self.now
    }
}
