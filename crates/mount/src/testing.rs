//! A device of known behaviour: each request takes the same time, a fixed number of them in parallel.

use drivescope_sim::device::{
    Nanos, RequestKind, SimCompletion, SimDevice, SimOutcome, SimRequest,
};
use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// What a [`Fixed`] device saw, readable while it is served.
#[derive(Debug, Default)]
pub(crate) struct Seen {
    pub(crate) in_flight: AtomicUsize,
    pub(crate) most_in_flight: AtomicUsize,
    pub(crate) flushes: AtomicUsize,
    pub(crate) trims: AtomicUsize,
    pub(crate) largest: AtomicUsize,
}

/// The device. Flushes and trims take no time.
#[derive(Debug, Clone)]
pub(crate) struct Fixed {
    capacity: u64,
    sector: u32,
    latency: Nanos,
    /// When each of the places for requests is free again.
    free_at: Vec<Nanos>,
    due: VecDeque<SimCompletion>,
    /// Requests that begin within this range end so.
    failing: Option<(std::ops::Range<u64>, SimOutcome)>,
    seen: Arc<Seen>,
}

impl Fixed {
    pub(crate) fn new(capacity: u64, sector: u32, latency: Nanos, parallel: usize) -> Self {
        let (due, seen) = (VecDeque::new(), Arc::default());
        Self { capacity, sector, latency, free_at: vec![0; parallel], due, failing: None, seen }
    }

    pub(crate) fn failing(mut self, range: std::ops::Range<u64>, outcome: SimOutcome) -> Self {
        self.failing = Some((range, outcome));
        self
    }

    pub(crate) fn seen(&self) -> Arc<Seen> {
        Arc::clone(&self.seen)
    }

    fn outcome(&self, request: &SimRequest) -> SimOutcome {
        let sector = u64::from(self.sector);
        let aligned = request.offset.is_multiple_of(sector) && request.len.is_multiple_of(sector);
        match (&self.failing, request.op) {
            (_, RequestKind::Flush) => SimOutcome::Done,
            _ if !aligned || request.offset + request.len > self.capacity => SimOutcome::Invalid,
            (Some((range, outcome)), _) if range.contains(&request.offset) => *outcome,
            _ => SimOutcome::Done,
        }
    }
}

impl SimDevice for Fixed {
    fn capacity_bytes(&self) -> u64 {
        self.capacity
    }

    fn sector_bytes(&self) -> u32 {
        self.sector
    }

    fn submit(&mut self, now: Nanos, request: SimRequest) {
        let seen = &self.seen;
        let in_flight = seen.in_flight.fetch_add(1, Ordering::Relaxed) + 1;
        seen.most_in_flight.fetch_max(in_flight, Ordering::Relaxed);
        seen.flushes.fetch_add(usize::from(request.op == RequestKind::Flush), Ordering::Relaxed);
        seen.trims.fetch_add(usize::from(request.op == RequestKind::Trim), Ordering::Relaxed);
        let at = if matches!(request.op, RequestKind::Read | RequestKind::Write) {
            seen.largest.fetch_max(request.len as usize, Ordering::Relaxed);
            let place = self.free_at.iter_mut().min().expect("at least one request at a time");
            *place = now.max(*place) + self.latency;
            *place
        } else {
            now
        };
        let completion = SimCompletion { id: request.id, at, outcome: self.outcome(&request) };
        let index = self.due.partition_point(|other| other.at <= at);
        self.due.insert(index, completion);
    }

    fn next_completion(&mut self) -> Option<Nanos> {
        self.due.front().map(|completion| completion.at)
    }

    fn advance(&mut self, to: Nanos, done: &mut Vec<SimCompletion>) {
        let count = self.due.partition_point(|completion| completion.at <= to);
        self.seen.in_flight.fetch_sub(count, Ordering::Relaxed);
        done.extend(self.due.drain(..count));
    }
}
