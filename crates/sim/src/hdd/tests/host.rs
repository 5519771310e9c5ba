//! A host that keeps a queue at its depth, and access patterns for it.

use crate::device::{Nanos, RequestKind, SimCompletion, SimDevice, SimOutcome, SimRequest};
use crate::hdd::{HardDisk, HddParams};
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

pub struct Host {
    pub disk: HardDisk,
    pub now: Nanos,
    next_id: u64,
}

impl Host {
    pub fn new(params: &HddParams) -> Self {
        Self::with_seed(params, 1)
    }

    pub fn with_seed(params: &HddParams, seed: u64) -> Self {
        Self { disk: HardDisk::new(params, seed).unwrap(), now: 0, next_id: 0 }
    }

    /// Sends the requests with `depth` outstanding; returns each one's time in order of completion.
    /// Panics on anything but success.
    pub fn run(
        &mut self,
        depth: usize,
        requests: impl IntoIterator<Item = (RequestKind, u64, u64)>,
    ) -> Vec<Nanos> {
        let mut requests = requests.into_iter();
        let mut started = std::collections::HashMap::new();
        let mut times = Vec::new();
        let mut done: Vec<SimCompletion> = Vec::new();
        let mut more = true;
        loop {
            while more && started.len() < depth {
                let Some((op, offset, len)) = requests.next() else {
                    more = false;
                    break;
                };
                self.next_id += 1;
                let id = self.next_id;
                started.insert(id, self.now);
                self.disk.submit(self.now, SimRequest { id, op, offset, len, fua: false });
            }
            let Some(due) = self.disk.next_completion() else {
                assert!(started.is_empty() && !more);
                return times;
            };
            assert!(due >= self.now, "an answer in the past");
            self.now = due;
            self.disk.advance(due, &mut done);
            let next = self.disk.next_completion();
            assert!(!done.is_empty() || next > Some(due), "no progress at {due}");
            for answer in done.drain(..) {
                assert_eq!(answer.outcome, SimOutcome::Done);
                assert_eq!(answer.at, due);
                times.push(due - started.remove(&answer.id).unwrap());
            }
        }
    }

    pub fn one(&mut self, op: RequestKind, offset: u64, len: u64) -> Nanos {
        self.run(1, [(op, offset, len)])[0]
    }

    pub fn rest(&mut self, time: Nanos) {
        self.now += time;
        self.disk.advance(self.now, &mut Vec::new());
    }

    /// Rate in MB/s of a sequential pass over `len` bytes from `offset`, one request of `chunk` at a time.
    pub fn sequential_mb_s(&mut self, op: RequestKind, offset: u64, len: u64, chunk: u64) -> f64 {
        let began = self.now;
        self.run(1, (0..len / chunk).map(|i| (op, offset + i * chunk, chunk)));
        len as f64 / ((self.now - began) as f64 / 1e9) / 1e6
    }
}

/// `count` requests at random places in `from..to`, aligned to their length.
pub fn random(
    op: RequestKind,
    from: u64,
    to: u64,
    len: u64,
    count: usize,
) -> Vec<(RequestKind, u64, u64)> {
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(from ^ count as u64);
    (0..count).map(|_| (op, from + rng.random_range(0..(to - from) / len) * len, len)).collect()
}

pub fn mean_ms(times: &[Nanos]) -> f64 {
    times.iter().sum::<Nanos>() as f64 / 1e6 / times.len() as f64
}
