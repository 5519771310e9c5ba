//! A drive whose truth is known, for tests of the layers above it.

use std::collections::{BTreeSet, HashMap};

use crate::device::{Nanos, RequestKind, SimCompletion, SimDevice, SimOutcome, SimRequest};

/// Answers each request after a fixed access time and a transfer, on one or several servers.
#[derive(Debug, Clone)]
pub(crate) struct TestDrive {
    pub capacity_bytes: u64,
    pub sector_bytes: u32,
    /// Time before the transfer; not paid where a request continues the one before it.
    pub access_ns: Nanos,
    pub rate_mb_s: fn(u64) -> f64,
    pub flush_ns: Nanos,
    pub fails: Option<(u64, SimOutcome)>,
    /// Everything received: when, and what.
    pub log: Vec<(Nanos, SimRequest)>,
    pub bytes_read: u64,
    pub bytes_written: u64,
    pub depth_seen: usize,
    servers_free_at: Vec<Nanos>,
    next_offset: u64,
    now: Nanos,
    due: BTreeSet<(Nanos, u64, u64)>,
    outcomes: Vec<SimOutcome>,
}

impl TestDrive {
    /// 1 TiB, 100 MB/s everywhere, one request at a time, 5 ms access.
    pub(crate) fn disk() -> Self {
        Self::new(1, 5_000_000, |_| 100.0)
    }

    pub(crate) fn new(servers: usize, access_ns: Nanos, rate_mb_s: fn(u64) -> f64) -> Self {
        Self {
            capacity_bytes: 1 << 40,
            sector_bytes: 512,
            access_ns,
            rate_mb_s,
            flush_ns: 1_000_000,
            fails: None,
            log: Vec::new(),
            bytes_read: 0,
            bytes_written: 0,
            depth_seen: 0,
            servers_free_at: vec![0; servers],
            next_offset: u64::MAX,
            now: 0,
            due: BTreeSet::new(),
            outcomes: Vec::new(),
        }
    }

    fn service_ns(&mut self, request: &SimRequest) -> Nanos {
        if request.op == RequestKind::Flush {
            return self.flush_ns;
        }
        let rate = (self.rate_mb_s)(request.offset);
        let transfer = (request.len as f64 * 1000.0 / rate) as Nanos;
        let access = if request.offset == self.next_offset { 0 } else { self.access_ns };
        self.next_offset = request.offset + request.len;
        match request.op {
            RequestKind::Read => self.bytes_read += request.len,
            RequestKind::Write => self.bytes_written += request.len,
            RequestKind::Flush | RequestKind::Trim => {}
        }
        access + transfer
    }

    pub(crate) fn requests(&self, op: RequestKind) -> Vec<(u64, u64)> {
        let of_kind = self.log.iter().filter(|(_, request)| request.op == op);
        of_kind.map(|(_, request)| (request.offset, request.len)).collect()
    }
}

impl SimDevice for TestDrive {
    fn capacity_bytes(&self) -> u64 {
        self.capacity_bytes
    }

    fn sector_bytes(&self) -> u32 {
        self.sector_bytes
    }

    fn submit(&mut self, now: Nanos, request: SimRequest) {
        assert!(now >= self.now, "time ran backwards: {now} after {}", self.now);
        self.now = now;
        let sector = u64::from(self.sector_bytes);
        assert!(request.op == RequestKind::Flush || request.len > 0, "empty request");
        assert_eq!((request.offset % sector, request.len % sector), (0, 0), "part of a sector");
        assert!(request.offset + request.len <= self.capacity_bytes, "beyond the end: {request:?}");
        self.log.push((now, request));
        let took = self.service_ns(&request);
        let server = self.servers_free_at.iter_mut().min().expect("at least one server");
        *server = (*server).max(now) + took;
        let hit = self
            .fails
            .filter(|(at, _)| (request.offset..request.offset + request.len).contains(at));
        self.due.insert((*server, self.outcomes.len() as u64, request.id));
        self.outcomes.push(hit.map_or(SimOutcome::Done, |(_, outcome)| outcome));
        self.depth_seen = self.depth_seen.max(self.due.len());
    }

    fn next_completion(&mut self) -> Option<Nanos> {
        self.due.first().map(|&(at, ..)| at)
    }

    fn advance(&mut self, to: Nanos, done: &mut Vec<SimCompletion>) {
        assert!(to >= self.now, "time ran backwards: {to} after {}", self.now);
        self.now = to;
        while let Some(&(at, order, id)) = self.due.first().filter(|&&(at, ..)| at <= to) {
            self.due.pop_first();
            let outcome = self.outcomes[order as usize];
            done.push(SimCompletion { id, at, outcome });
        }
    }
}

/// Runs until nothing is outstanding.
pub(crate) fn run_all<D: SimDevice>(device: &mut D) -> Vec<SimCompletion> {
    let mut done = Vec::new();
    while let Some(at) = device.next_completion() {
        device.advance(at, &mut done);
    }
    done
}

/// Sends one request with nothing else under way, and waits for its answer.
pub(crate) fn ask<D: SimDevice>(device: &mut D, now: Nanos, request: SimRequest) -> SimCompletion {
    device.submit(now, request);
    let mut done = Vec::new();
    while done.is_empty() {
        let next = device.next_completion().expect("one is under way");
        device.advance(next, &mut done);
    }
    assert_eq!(done.len(), 1);
    done[0]
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct Served {
    pub id: u64,
    pub len: u64,
    pub sent: Nanos,
    pub answered: Nanos,
}

impl Served {
    pub(crate) fn took(&self) -> Nanos {
        self.answered - self.sent
    }
}

/// A closed loop from `now` on with `depth` under way: refills on each answer, all of which must be good ones. The
/// requests in the order of their answers.
pub(crate) fn serve<D: SimDevice>(
    device: &mut D,
    mut now: Nanos,
    depth: usize,
    requests: impl IntoIterator<Item = SimRequest>,
) -> Vec<Served> {
    let mut requests = requests.into_iter();
    let (mut under_way, mut served, mut done) = (HashMap::new(), Vec::new(), Vec::new());
    loop {
        for request in requests.by_ref().take(depth - under_way.len()) {
            under_way.insert(request.id, (now, request.len));
            device.submit(now, request);
        }
        let Some(due) = device.next_completion() else { return served };
        assert!(due >= now, "an answer in the past");
        now = due;
        device.advance(due, &mut done);
        assert!(!done.is_empty() || device.next_completion() > Some(due), "no progress at {due}");
        for SimCompletion { id, at, outcome } in done.drain(..) {
            assert_eq!((outcome, at), (SimOutcome::Done, due));
            let (sent, len) = under_way.remove(&id).expect("it is under way");
            served.push(Served { id, len, sent, answered: at });
        }
    }
}

pub(crate) fn request(id: u64, op: RequestKind, offset: u64, len: u64) -> SimRequest {
    SimRequest { id, op, offset, len, fua: false }
}
