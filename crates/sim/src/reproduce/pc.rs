//! The computer on which an instrument runs: a drive, a clock, and the loops of measuring programs.

use crate::device::{Completion, Device, Nanos, Op, Outcome, Request};
use crate::library::{Drive, Model, Start};
use crate::link::Link;

/// A drive and the time on its clock.
#[derive(Debug)]
pub(super) struct Pc {
    drive: Link<Drive>,
    now: Nanos,
    next_id: u64,
    done: Vec<Completion>,
}

/// What a loop of requests came to.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct Load {
    /// Requests done.
    pub count: u64,
    /// Bytes they moved.
    pub bytes: u64,
    /// How long it took, s.
    pub elapsed_s: f64,
    /// Mean time of one request, s.
    pub latency_s: f64,
}

impl Load {
    /// Bytes per second.
    pub fn rate(&self) -> f64 {
        self.bytes as f64 / self.elapsed_s
    }

    /// Requests per second.
    pub fn iops(&self) -> f64 {
        self.count as f64 / self.elapsed_s
    }
}

/// A drive that has just been powered on; `fill` is the share of it that has been written before (flash).
pub(super) fn built(model: &Model, fill: f64) -> Result<Link<Drive>, String> {
    let start = Start { seed: 1, fill, ..Start::default() };
    model.build(&start).map_err(|why| why.join("; "))
}

/// One request: what, where, how long.
pub(super) type Io = (Op, u64, u64);

impl Pc {
    /// Powers a drive on, see [`built`].
    pub fn new(model: &Model, fill: f64) -> Result<Self, String> {
        Ok(Self { drive: built(model, fill)?, now: 0, next_id: 0, done: Vec::new() })
    }

    /// Bytes that can be addressed.
    pub fn capacity(&self) -> u64 {
        self.drive.capacity_bytes()
    }

    /// Lets time pass without requests.
    pub fn rest(&mut self, time: Nanos) {
        self.now += time;
        self.drive.advance(self.now, &mut self.done);
        self.done.clear();
    }

    /// Sends the requests, `depth` of them outstanding at any time.
    pub fn run(
        &mut self,
        depth: usize,
        requests: impl IntoIterator<Item = Io>,
    ) -> Result<Load, String> {
        self.run_for(Nanos::MAX, depth, requests)
    }

    /// The same, until the requests or the time are used up. Requests that come back later do not count.
    pub fn run_for(
        &mut self,
        time: Nanos,
        depth: usize,
        requests: impl IntoIterator<Item = Io>,
    ) -> Result<Load, String> {
        let (began, stop) = (self.now, self.now.saturating_add(time));
        let mut requests = requests.into_iter();
        let mut sent: Vec<(u64, Nanos, u64)> = Vec::with_capacity(depth);
        let mut load = Load::default();
        let mut waited = 0;
        let mut last = began;
        loop {
            while sent.len() < depth && self.now < stop {
                let Some(io) = requests.next() else { break };
                sent.push((self.next_id, self.now, io.2));
                self.send(io);
            }
            if sent.is_empty() {
                break;
            }
            let due = self.drive.next_completion().ok_or("a request was never answered")?;
            self.now = self.now.max(due);
            self.drive.advance(self.now, &mut self.done);
            for answer in self.done.drain(..) {
                let at = sent.iter().position(|(id, ..)| *id == answer.id);
                let (_, since, len) = sent.swap_remove(at.ok_or("an answer to no request")?);
                if answer.outcome != Outcome::Done {
                    return Err(format!("a request failed: {:?}", answer.outcome));
                }
                if answer.at <= stop {
                    load.count += 1;
                    load.bytes += len;
                    waited += answer.at - since;
                    last = answer.at;
                }
            }
        }
        load.elapsed_s = seconds(if time == Nanos::MAX { last - began } else { time });
        load.latency_s = seconds(waited) / load.count.max(1) as f64;
        Ok(load)
    }

    /// One request by itself; how long it took, s.
    pub fn one(&mut self, op: Op, offset: u64, len: u64) -> Result<f64, String> {
        Ok(self.run(1, [(op, offset, len)])?.elapsed_s)
    }

    /// A sequential pass in requests of `chunk` bytes, of which `len` is a multiple; how long it took, s.
    pub fn stream(
        &mut self,
        op: Op,
        offset: u64,
        len: u64,
        chunk: u64,
        depth: u32,
    ) -> Result<f64, String> {
        Ok(self.run(depth as usize, sequential(op, offset, len, chunk))?.elapsed_s)
    }

    fn send(&mut self, (op, offset, len): Io) {
        let request = Request { id: self.next_id, op, offset, len, fua: false };
        self.next_id += 1;
        self.drive.submit(self.now, request);
    }
}

/// A range from its beginning to its end.
pub(super) fn sequential(op: Op, offset: u64, len: u64, chunk: u64) -> impl Iterator<Item = Io> {
    (0..len / chunk).map(move |i| (op, offset + i * chunk, chunk))
}

fn seconds(time: Nanos) -> f64 {
    time as f64 / 1e9
}
