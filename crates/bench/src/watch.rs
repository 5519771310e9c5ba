//! Watching a drive: one small read after the other, somewhere on it, until the user stops it.

mod tally;

use crate::error::BenchError;
use crate::io::offsets::{Offsets, derive_seed};
use crate::io::queue::{IoFailure, IoOp, IoQueue, IoRequest, IoTask, QueueSpec};
use crate::io::recorder::latency_histogram;
use crate::loops::control::Control;
use crate::session::Session;
use crate::workloads::shared::deallocated;
use crate::workloads::shared::open_target;
use drivescope_model::cell::{Mix, Order};
use drivescope_model::watch::{WatchLine, WatchSummary};
use hdrhistogram::Histogram;
use std::io;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use tally::WatchTally;

/// The reads of this time are reported together.
const SECOND_NS: u64 = 1_000_000_000;
/// Shorter times are not stalls, whatever the median: healthy disks seek longer than half of this, and users do not
/// notice such a pause.
const STALL_MIN_NS: u64 = 50_000_000;
/// After a failed read: a drive in trouble is not to be driven on.
const ERROR_REST_NS: u64 = SECOND_NS;
const LOOK_EVERY_NS: u64 = 100_000_000;
/// Lines kept for a slow listener: a minute. After that reads wait for it, between two of them.
const AHEAD_MAX: usize = 64;

#[derive(Debug, Clone, Copy)]
pub struct WatchOptions {
    pub block_bytes: u32,
    /// From one read to the next at least; 0 is back to back.
    pub interval_ns: u64,
    /// Reads at most.
    pub count: u64,
    pub time_ns: u64,
}

#[derive(Debug)]
enum Sighting {
    Window(WatchWindow),
    /// A read of more than [`STALL_MIN_NS`].
    Slow(TimedRead),
    Failed(TimedRead, IoFailure),
}

/// The reads of a second.
#[derive(Debug)]
struct WatchWindow {
    start_ns: u64,
    /// When the next one begins.
    end_ns: u64,
    /// The end of its last read.
    last_ns: u64,
    latencies: Histogram<u64>,
    slowest: Option<TimedRead>,
    errors: u64,
}

#[derive(Debug, Clone, Copy, PartialEq)]
struct TimedRead {
    sent_ns: u64,
    took_ns: u64,
    offset: u64,
}

impl WatchWindow {
    fn new(start_ns: u64) -> Self {
        let latencies = latency_histogram();
        let (end_ns, last_ns) = (start_ns, start_ns);
        Self { start_ns, end_ns, last_ns, latencies, slowest: None, errors: 0 }
    }

    fn add(&mut self, read: TimedRead) {
        self.latencies.saturating_record(read.took_ns);
        if self.slowest.is_none_or(|slowest| slowest.took_ns < read.took_ns) {
            self.slowest = Some(read);
        }
    }
}

/// Reports between two reads, never during one.
struct WatchLoop<'c> {
    options: WatchOptions,
    offsets: Offsets,
    sightings: SyncSender<Sighting>,
    control: &'c Control,
}

struct Unheard;

impl IoTask for WatchLoop<'_> {
    type Output = ();

    fn run<Q: IoQueue>(mut self, queue: &mut Q) -> io::Result<()> {
        let WatchOptions { block_bytes: len, interval_ns, count, time_ns } = self.options;
        let mut done = Vec::with_capacity(queue.slots() as usize);
        let mut window = WatchWindow::new(queue.now());
        let deadline_ns = window.start_ns.saturating_add(time_ns);
        // Seconds do not shift by the reads that outlast them.
        let mut due_ns = window.start_ns + SECOND_NS;
        for _ in 0..count {
            let sent_ns = queue.now();
            if sent_ns >= deadline_ns || self.control.stopped() {
                break;
            }
            let (_, offset) = self.offsets.draw();
            let request = IoRequest { op: IoOp::Read, offset, len, slot: 0 };
            let end = queue.exchange(request, &mut done)?;
            let now_ns = queue.now();
            let read = TimedRead { sent_ns, took_ns: now_ns - sent_ns, offset };
            let Ok(continues) = self.take(read, end, &mut window) else { break };
            (window.end_ns, window.last_ns) = (now_ns, now_ns);
            if !continues {
                break;
            }
            let rest_ns = if end.is_err() { ERROR_REST_NS } else { 0 };
            let next_ns = (now_ns + rest_ns).max(sent_ns.saturating_add(interval_ns));
            let next_ns = next_ns.min(deadline_ns.max(now_ns));
            if next_ns >= due_ns {
                due_ns += ((next_ns - due_ns) / SECOND_NS + 1) * SECOND_NS;
                window.end_ns = next_ns;
                let full = std::mem::replace(&mut window, WatchWindow::new(next_ns));
                if self.sightings.send(Sighting::Window(full)).is_err() {
                    break;
                }
            }
            while queue.now() < next_ns && !self.control.stopped() {
                let look_ns = queue.now() + LOOK_EVERY_NS;
                queue.wait_until(look_ns.min(next_ns), &mut done)?;
            }
        }
        if !window.latencies.is_empty() || window.errors > 0 {
            // The listener may be gone.
            let _ = self.sightings.send(Sighting::Window(window));
        }
        Ok(())
    }
}

impl WatchLoop<'_> {
    /// Notes a read. Returns whether the drive is still there.
    fn take(
        &self,
        read: TimedRead,
        end: Result<(), IoFailure>,
        window: &mut WatchWindow,
    ) -> Result<bool, Unheard> {
        let send = |sighting| self.sightings.send(sighting).map_err(|_| Unheard);
        match end {
            Ok(()) => {
                window.add(read);
                if read.took_ns > STALL_MIN_NS {
                    send(Sighting::Slow(read))?;
                }
                Ok(true)
            }
            Err(failure) => {
                window.errors += 1;
                send(Sighting::Failed(read, failure))?;
                Ok(!matches!(failure.errno, 0 | libc::ENODEV | libc::ENXIO | libc::EINVAL))
            }
        }
    }
}

/// Opens the target of `session`. Returns why reads of it say little of its medium, if much of it is empty.
/// Errors: the target refuses, or wants reads of another length.
pub fn open(session: &mut Session<'_>, block_bytes: u32) -> Result<Option<String>, BenchError> {
    let planned = &session.plan.tests[0];
    session.begin(planned, None);
    open_target::open(session)?;
    let align = session.device().align_bytes();
    if !block_bytes.is_multiple_of(align) {
        let next = block_bytes.next_multiple_of(align);
        let why = format!(
            "direct I/O here needs multiples of {align} bytes, but --block-size is {block_bytes}; use --block-size \
             {next}"
        );
        return Err(BenchError::Unsuitable(why));
    }
    deallocated::sample(session)
}

/// Reads until the session is stopped, or as long as the options say. `hear` gets each line but the last, which is
/// returned; `at` names a time of the target, if it has one that people know. Errors: the engine broke. A read
/// that fails is none.
pub fn watch(
    session: &Session<'_>,
    options: WatchOptions,
    at: impl Fn(u64) -> Option<String>,
    mut hear: impl FnMut(WatchLine),
) -> Result<WatchSummary, BenchError> {
    let device = session.device();
    let block_bytes = options.block_bytes;
    let seed = derive_seed(session.plan.seed, "watch", 0, 0);
    let span = session.span(device);
    let offsets = Offsets::new(Order::Rnd, span, block_bytes.into(), Mix::READ, 0.0, seed);
    let control = Control::default();
    let (sightings, received) = sync_channel(AHEAD_MAX);
    let task = WatchLoop { options, offsets, sightings, control: &control };
    let spec = QueueSpec { depth: 1, ahead: 0, block_bytes, dsync: false };
    let mut tally = WatchTally::new(session.now_ns(), at);
    let mut listen = |received: &Receiver<Sighting>| {
        received.try_iter().flat_map(|sighting| tally.take(sighting)).for_each(&mut hear);
    };
    device.run(spec, task, &mut || {
        session.pass_stop_on(&control);
        listen(&received);
    })?;
    listen(&received);
    tally.end().for_each(&mut hear);
    Ok(tally.summary())
}

#[cfg(test)]
mod tests;
