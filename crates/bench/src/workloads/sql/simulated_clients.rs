//! Clients of a database that does not exist, on a simulated drive: what they ask for, and how long they compute
//! between two requests.

use super::client_loop::Bound;
use crate::error::BenchError;
use crate::io::queue::IoOp;
use crate::io::recorder::Recorder;
use crate::workloads::shared::files::simulated_files::failed;
use drivescope_drive::simulated::SimulatedDrive;
use drivescope_model::target::IoMode;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ClientRequest {
    /// How long it computes before.
    pub think_ns: u64,
    pub op: IoOp,
    pub offset: u64,
    pub len: u32,
    /// The bytes of its statement, if this request ends it.
    pub ends: Option<u64>,
}

impl ClientRequest {
    /// A write within a statement, unless nothing is left to write.
    pub fn write(think_ns: u64, offset: u64, len: u32) -> Option<Self> {
        (len > 0).then_some(Self { think_ns, op: IoOp::Write, offset, len, ends: None })
    }
}

/// Makes the requests of a client, one after the other; `None` at their end.
pub(super) type Requests<'r> = Box<dyn FnMut() -> Option<ClientRequest> + 'r>;

struct ClientState<'r> {
    requests: Requests<'r>,
    next: Option<ClientRequest>,
    /// When that is sent; `None` while it is under way.
    due: Option<u64>,
    begun: u64,
}

impl<'r> ClientState<'r> {
    fn start(mut requests: Requests<'r>, begun: u64) -> Self {
        let next = requests();
        let due = next.map(|request| begun + request.think_ns);
        Self { requests, next, due, begun }
    }
}

/// Runs clients at the same time, each with one request under way, until all are done or, between two statements, the
/// time is over. `watch` hears of bytes moved, and says whether to continue.
pub(super) fn run(
    drive: &SimulatedDrive,
    mode: IoMode,
    clients: Vec<Requests<'_>>,
    time_ns: u64,
    watch: &mut dyn FnMut(u64) -> bool,
) -> Result<Recorder, BenchError> {
    let begun = drive.now();
    let end = begun.saturating_add(time_ns);
    let mut recorder = Recorder::of_any_length();
    recorder.start(begun);
    drive.begin(clients.len() as u32);
    let start = |requests| ClientState::start(requests, begun);
    let mut clients: Vec<ClientState<'_>> = clients.into_iter().map(start).collect();
    let (mut answers, mut now, mut goes_on) = (Vec::new(), begun, true);
    let mut failure = None;
    loop {
        for (slot, client) in (0..).zip(&mut clients) {
            let Some(request) = client.next.filter(|_| client.due.is_some_and(|due| due <= now))
            else {
                continue;
            };
            client.due = None;
            drive.submit(mode, request.op, request.offset, request.len, slot);
        }
        if clients.iter().all(|client| client.next.is_none()) {
            break;
        }
        let due = clients.iter().filter_map(|client| client.due).min().unwrap_or(u64::MAX);
        now = drive.wait_until(due, &mut answers);
        for (slot, result) in answers.drain(..) {
            let client = &mut clients[slot as usize];
            let Some(done) = client.next.take() else { continue };
            if result < 0 {
                let write = done.op != IoOp::Read;
                failure.get_or_insert(failed(done.offset, done.len.into(), write, result));
                goes_on = false;
            }
            goes_on &= watch(done.len.into());
            if let Some(bytes) = done.ends {
                recorder.complete(now, now - client.begun, bytes);
                recorder.requests += 1;
                client.begun = now;
            }
            if goes_on && (now < end || done.ends.is_none()) {
                client.next = (client.requests)();
                client.due = client.next.map(|request| now + request.think_ns);
            }
        }
    }
    drive.end();
    recorder.gap_max_ns = 0;
    failure.map_or(Ok(recorder), Err)
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct LogPattern {
    /// What a client computes between its commits, with the way to the server and back.
    pub think_ns: u64,
    /// Bytes of the one write before each flush.
    pub write_bytes: u32,
    /// Whether commits that wait while a flush is under way share the next one.
    pub is_shared: bool,
}

/// Clients that commit until they have done enough together, into a log at `log`, which is written in turn.
pub(super) fn commit(
    drive: &SimulatedDrive,
    mode: IoMode,
    pattern: LogPattern,
    clients: u32,
    log: std::ops::Range<u64>,
    bound: Bound,
) -> Result<Recorder, BenchError> {
    let begun = drive.now();
    let end = begun + bound.time.nanos();
    let mut recorder = Recorder::new(bound.time.nanos());
    recorder.start(begun);
    // When each client wants to commit next, and when it began to.
    let mut due: Vec<u64> = (0..clients).map(|_| begun + pattern.think_ns).collect();
    let mut at = log.start;
    loop {
        let now = drive.now();
        let mut waiting: Vec<usize> = (0..due.len()).filter(|&client| due[client] <= now).collect();
        if now >= end || recorder.requests >= bound.statements {
            return Ok(recorder);
        }
        if waiting.is_empty() {
            drive.idle_until(due.iter().copied().min().unwrap_or(end).max(now + 1));
            continue;
        }
        if !pattern.is_shared {
            // Who has waited longest.
            waiting.sort_by_key(|&client| due[client]);
            waiting.truncate(1);
        }
        write(drive, mode, IoOp::Write, at, pattern.write_bytes)?;
        at += u64::from(pattern.write_bytes);
        if at + u64::from(pattern.write_bytes) > log.end {
            at = log.start;
        }
        write(drive, mode, IoOp::Sync, 0, 0)?;
        let now = drive.now();
        for client in waiting {
            recorder.complete(now, now - (due[client] - pattern.think_ns), 0);
            recorder.requests += 1;
            due[client] = now + pattern.think_ns;
        }
    }
}

/// One request that is waited for.
fn write(
    drive: &SimulatedDrive,
    mode: IoMode,
    op: IoOp,
    at: u64,
    len: u32,
) -> Result<(), BenchError> {
    drive.begin(1);
    let mut answers = Vec::new();
    drive.submit(mode, op, at, len, 0);
    while answers.is_empty() {
        drive.wait_until(u64::MAX, &mut answers);
    }
    drive.end();
    match answers[0].1 {
        errno if errno < 0 => Err(failed(at, len.into(), true, errno)),
        _ => Ok(()),
    }
}
