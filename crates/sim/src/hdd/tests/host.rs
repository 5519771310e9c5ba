//! A host that keeps a queue at its depth, and access patterns for it.

use crate::device::{Nanos, RequestKind, SimDevice};
use crate::hdd::{HardDisk, HddParams};
use crate::testing::{Served, request, serve};
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

/// Operation, offset and length.
pub type HostCommand = (RequestKind, u64, u64);

pub struct Host {
    pub disk: HardDisk,
    pub now: Nanos,
}

impl Host {
    pub fn new(params: &HddParams) -> Self {
        Self::with_seed(params, 1)
    }

    pub fn with_seed(params: &HddParams, seed: u64) -> Self {
        Self { disk: HardDisk::new(params, seed).unwrap(), now: 0 }
    }

    /// Sends the requests with `depth` outstanding; returns each one's time in order of completion.
    pub fn run(
        &mut self,
        depth: usize,
        requests: impl IntoIterator<Item = HostCommand>,
    ) -> Vec<Nanos> {
        let requests = (0..).zip(requests);
        let requests = requests.map(|(id, (op, offset, len))| request(id, op, offset, len));
        let served = serve(&mut self.disk, self.now, depth, requests);
        self.now = served.last().map_or(self.now, |last| last.answered);
        served.iter().map(Served::took).collect()
    }

    pub fn one(&mut self, op: RequestKind, offset: u64, len: u64) -> Nanos {
        self.run(1, [(op, offset, len)])[0]
    }

    /// `count` requests at random places of the whole drive, aligned to their length.
    pub fn anywhere(&self, op: RequestKind, len: u64, count: usize) -> Vec<HostCommand> {
        random(op, 0, self.disk.capacity_bytes(), len, count)
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
pub fn random(op: RequestKind, from: u64, to: u64, len: u64, count: usize) -> Vec<HostCommand> {
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(from ^ count as u64);
    (0..count).map(|_| (op, from + rng.random_range(0..(to - from) / len) * len, len)).collect()
}

pub fn mean_ms(times: &[Nanos]) -> f64 {
    times.iter().sum::<Nanos>() as f64 / 1e6 / times.len() as f64
}
