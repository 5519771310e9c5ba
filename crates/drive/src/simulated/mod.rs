//! Simulated drives as targets: one virtual clock that several loops share.
//!
//! Time passes only when every loop that uses the drive waits: then it jumps to the next completion or
//! deadline. A single loop never blocks, so an hour of a drive's life takes as long as computing it.

mod counted;
pub mod faults;
pub mod file;
mod hosts;
pub mod model_file;
mod page_cache;
mod partitions;
mod real_time;
pub mod spec;
mod spec_error;
mod spindle;

use drivescope_machine::counters::DeviceCounters;
use drivescope_model::target::IoMode;
use drivescope_sim::device::{
    Heat, Nanos, RequestKind, SimCompletion, SimDevice, SimOutcome, SimRequest,
};
use drivescope_sim::fake_capacity::{DriveContents, FakeCapacity};
use drivescope_sim::sequential_pass;
use rustix::io::Errno;
use std::sync::{Condvar, Mutex, MutexGuard, OnceLock};

/// What a loop asks of a simulated drive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SimOp {
    /// Reads.
    Read,
    /// Writes; answered as soon as the drive likes, from its cache if it has one.
    Write,
    /// Writes; answered when the medium has the data (force unit access).
    WriteThrough,
    /// Empties the write cache.
    Sync,
}

/// A loop's ticket at the drive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Worker(u32);

/// An answer: the slot of the request, and bytes moved or a negative errno.
pub type Answer = (u16, i32);

/// A drive of any kind.
type AnyDrive = Box<dyn SimDevice + Send>;

/// What answers the requests: a bare drive, or a file on one behind a host's page cache.
trait Served: SimDevice + Send {
    /// Sends a request past the page cache; a bare drive has none.
    fn submit_direct(&mut self, now: Nanos, request: SimRequest) {
        self.submit(now, request);
    }

    /// Whether it is a drive with nothing above it.
    fn is_bare(&self) -> bool {
        false
    }

    /// Drops clean pages from the page cache.
    fn evict(&mut self) {}

    /// What reached the drive below a page cache; `None` without one: all that is asked does.
    fn counters(&self) -> Option<DeviceCounters> {
        None
    }

    /// Share (0–1) of the whole that is in the page cache; `None` without one.
    fn resident_share(&self) -> Option<f64> {
        None
    }
}

impl Served for AnyDrive {
    fn is_bare(&self) -> bool {
        true
    }
}

/// A simulated drive, or a file on one, with its clock.
pub struct SimulatedDrive {
    state: Mutex<State>,
    moved: Condvar,
    capacity_bytes: u64,
    sector_bytes: u32,
    /// Requests may fail.
    has_faults: bool,
    /// What was written, once somebody wants to read it back.
    contents: OnceLock<Mutex<DriveContents>>,
}

struct State {
    device: Box<dyn Served>,
    now: Nanos,
    loops: Vec<Option<Loop>>,
    done: Vec<SimCompletion>,
}

/// One loop: what it waits for, and what has arrived for it.
#[derive(Default)]
struct Loop {
    waits_until: Option<Nanos>,
    arrived: Vec<Answer>,
    in_flight: u32,
    /// Lengths by slot, to answer with.
    lens: Vec<u32>,
}

impl SimulatedDrive {
    /// A drive at time 0.
    pub fn new(device: AnyDrive) -> Self {
        Self::serving(Box::new(device), 0)
    }

    fn serving(device: Box<dyn Served>, now: Nanos) -> Self {
        let (capacity_bytes, sector_bytes) = (device.capacity_bytes(), device.sector_bytes());
        let state = State { device, now, loops: Vec::new(), done: Vec::new() };
        Self {
            state: Mutex::new(state),
            moved: Condvar::new(),
            capacity_bytes,
            sector_bytes,
            has_faults: false,
            contents: OnceLock::new(),
        }
    }

    /// The same drive, in which faults are planted.
    #[must_use]
    fn with_faults(self) -> Self {
        Self { has_faults: true, ..self }
    }

    /// The same drive with less memory than it announces; it keeps what is written.
    #[must_use]
    fn with_fake(self, fake: FakeCapacity) -> Self {
        let contents = OnceLock::from(Mutex::new(DriveContents::new(Some(fake))));
        Self { contents, ..self }
    }

    /// From now on, keeps what is written, in this program's memory. Before, only times exist.
    pub fn keep_contents(&self) {
        self.contents.get_or_init(|| Mutex::new(DriveContents::new(None)));
    }

    /// Whether what is written can be read back.
    pub fn keeps_contents(&self) -> bool {
        self.contents.get().is_some()
    }

    /// Stores the data of a write; nothing on a drive that keeps none.
    pub fn store(&self, offset: u64, data: &[u8]) {
        if let Some(contents) = self.contents.get() {
            contents.lock().expect("no loop panics while it moves data").write(offset, data);
        }
    }

    /// Fetches the data of a read; leaves `data` alone on a drive that keeps none.
    pub fn fetch(&self, offset: u64, data: &mut [u8]) {
        if let Some(contents) = self.contents.get() {
            contents.lock().expect("no loop panics while it moves data").read(offset, data);
        }
    }

    /// Writes `len` bytes from `offset` on in requests of `chunk` bytes at the given depth, without a loop that
    /// records each; returns how long that took. `None` where a loop must do it: the drive keeps contents, has
    /// faults or a host above it, or somebody else uses it.
    pub fn stream_write(&self, offset: u64, len: u64, chunk: u64, depth: u32) -> Option<Nanos> {
        let mut state = self.lock();
        let in_use = state.loops.iter().flatten().next().is_some();
        if in_use || self.keeps_contents() || self.has_faults || !state.device.is_bare() {
            return None;
        }
        let now = state.now;
        let end = sequential_pass(
            &mut *state.device,
            now,
            (RequestKind::Write, offset, len),
            chunk,
            depth,
        );
        state.advance(end);
        Some(end - now)
    }

    /// Bytes that can be addressed.
    pub fn capacity_bytes(&self) -> u64 {
        self.capacity_bytes
    }

    /// Smallest unit of offsets and lengths.
    pub fn sector_bytes(&self) -> u32 {
        self.sector_bytes
    }

    /// How warm the drive is; `None` without a sensor, and below a simulated file system.
    pub fn heat(&self) -> Option<Heat> {
        self.lock().device.heat()
    }

    /// Bytes of its addresses that hold data; `None` of a drive that reads its medium all the same, and below a
    /// simulated file system.
    pub fn live_bytes(&self) -> Option<u64> {
        self.lock().device.live_bytes()
    }

    /// Virtual time.
    pub fn now(&self) -> Nanos {
        self.lock().now
    }

    /// Lets time pass with nothing asked, so that the drive can do its own work.
    pub fn idle_until(&self, to: Nanos) {
        let mut state = self.lock();
        if to > state.now && state.loops.iter().flatten().next().is_none() {
            state.advance(to);
        }
    }

    /// Empties the write cache, with nobody else using the drive.
    pub fn flush(&self) {
        let worker = self.register(1);
        self.submit(worker, IoMode::Direct, SimOp::Sync, 0, 0, 0);
        self.unregister(worker);
    }

    /// Drops clean pages from the host's page cache, if there is one.
    pub fn evict(&self) {
        self.lock().device.evict();
    }

    /// Share (0–1) of a file that is in the host's page cache; `None` on a bare drive.
    pub fn resident_share(&self) -> Option<f64> {
        self.lock().device.resident_share()
    }

    /// What reached the drive below the host's page cache, as the kernel counts it; `None` on a bare drive,
    /// which everything reaches.
    pub fn counters(&self) -> Option<DeviceCounters> {
        self.lock().device.counters()
    }

    /// A new loop begins; time stands still until it waits.
    pub fn register(&self, slots: u16) -> Worker {
        let mut state = self.lock();
        let entry = Loop { lens: vec![0; usize::from(slots)], ..Loop::default() };
        state.loops.push(Some(entry));
        Worker(state.loops.len() as u32 - 1)
    }

    /// A loop ends; its requests are waited for first.
    pub fn unregister(&self, worker: Worker) {
        let mut answers = Vec::new();
        while self.lock().get(worker).in_flight > 0 {
            self.wait_until(worker, Nanos::MAX, &mut answers);
        }
        let mut state = self.lock();
        state.loops[worker.0 as usize] = None;
        if state.loops.iter().all(Option::is_none) {
            state.loops.clear();
        }
        // The others may all be waiting for this one.
        self.moved.notify_all();
    }

    /// Sends a request now, through the page cache or past it; a bare drive has none.
    pub fn submit(
        &self,
        worker: Worker,
        mode: IoMode,
        op: SimOp,
        offset: u64,
        len: u32,
        slot: u16,
    ) {
        let mut state = self.lock();
        let entry = state.get(worker);
        entry.lens[usize::from(slot)] = len;
        entry.in_flight += 1;
        let id = u64::from(worker.0) << 16 | u64::from(slot);
        let fua = op == SimOp::WriteThrough;
        let op = match op {
            SimOp::Read => RequestKind::Read,
            SimOp::Write | SimOp::WriteThrough => RequestKind::Write,
            SimOp::Sync => RequestKind::Flush,
        };
        let now = state.now;
        let len = u64::from(len);
        let request = SimRequest { id, op, offset, len, fua };
        match mode {
            IoMode::Direct => state.device.submit_direct(now, request),
            IoMode::Buffered => state.device.submit(now, request),
        }
    }

    /// Waits until an answer has arrived or the time has come; appends what has arrived.
    pub fn wait_until(&self, worker: Worker, at: Nanos, answers: &mut Vec<Answer>) {
        let mut state = self.lock();
        loop {
            let now = state.now;
            let entry = state.get(worker);
            if !entry.arrived.is_empty() || now >= at {
                entry.waits_until = None;
                entry.in_flight -= entry.arrived.len() as u32;
                answers.append(&mut entry.arrived);
                return;
            }
            entry.waits_until = Some(at);
            if state.loops.iter().flatten().all(|other| other.waits_until.is_some()) {
                state.step();
                self.moved.notify_all();
            } else {
                state = self.moved.wait(state).expect("no loop panics while it holds the drive");
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().expect("no loop panics while it holds the drive")
    }
}

impl State {
    fn get(&mut self, worker: Worker) -> &mut Loop {
        self.loops[worker.0 as usize].as_mut().expect("a loop waits only while it is registered")
    }

    /// To the next thing that somebody waits for.
    fn step(&mut self) {
        let deadline = self.loops.iter().flatten().filter_map(|entry| entry.waits_until).min();
        let completion = self.device.next_completion();
        let next = match (completion, deadline) {
            (Some(completion), Some(deadline)) => completion.min(deadline),
            (Some(time), None) | (None, Some(time)) => time,
            (None, None) => return,
        };
        assert!(next < Nanos::MAX, "a loop waits for ever: the drive owes it nothing");
        self.advance(next.max(self.now));
    }

    fn advance(&mut self, to: Nanos) {
        self.device.advance(to, &mut self.done);
        self.now = to;
        // Whoever waited for this time is awake from here on, even before its thread runs.
        for entry in self.loops.iter_mut().flatten().filter(|e| e.waits_until <= Some(to)) {
            entry.waits_until = None;
        }
        for SimCompletion { id, outcome, .. } in self.done.drain(..) {
            let slot = (id & 0xffff) as u16;
            let Some(Some(entry)) = self.loops.get_mut((id >> 16) as usize) else { continue };
            let result = match outcome {
                SimOutcome::Done => entry.lens[usize::from(slot)] as i32,
                SimOutcome::MediaError => -Errno::IO.raw_os_error(),
                SimOutcome::Gone => -Errno::NODEV.raw_os_error(),
                SimOutcome::Invalid => -Errno::INVAL.raw_os_error(),
            };
            entry.arrived.push((slot, result));
            entry.waits_until = None;
        }
    }
}

impl std::fmt::Debug for SimulatedDrive {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SimulatedDrive").field("capacity_bytes", &self.capacity_bytes).finish()
    }
}

#[cfg(test)]
mod tests;
