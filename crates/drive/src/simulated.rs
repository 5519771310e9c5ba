//! Simulated drives as targets, in virtual time.
//!
//! Time passes only while the load waits: then it jumps to the next completion or deadline, so an hour of a
//! drive's life takes as long as computing it. One load uses a drive at a time, whatever it is made of.

mod counted;
pub mod faults;
pub mod file;
pub mod file_host;
mod hosts;
pub mod model_file;
mod page_cache;
mod partitions;
mod real_time;
pub mod smart_files;
pub mod spec;
mod spec_error;
mod spindle;

use crate::io_op::IoOp;
use drivescope_machine::counters::DeviceCounters;
use drivescope_model::target::IoMode;
use drivescope_sim::device::{
    Heat, Nanos, RequestKind, SimCompletion, SimDevice, SimOutcome, SimRequest,
};
use drivescope_sim::fake_capacity::{DriveContents, FakeCapacity};
use drivescope_sim::sequential_pass;
use file_host::FileHost;
use rustix::io::Errno;
use std::sync::{Mutex, MutexGuard, OnceLock};

/// An answer: the slot of the request, and bytes moved or a negative errno.
pub type Answer = (u32, i32);

type AnyDrive = Box<dyn SimDevice + Send>;

/// The device under test: a bare drive, or a file on one below a host's page cache.
trait Served: SimDevice + Send {
    /// Sends a request past the page cache; a bare drive has none.
    fn submit_direct(&mut self, now: Nanos, request: SimRequest) {
        self.submit(now, request);
    }

    /// Whether it is a drive without a host above it.
    fn is_bare(&self) -> bool {
        false
    }

    /// Gives each slot an open file of its own.
    fn open_by_slot(&mut self) {}

    fn evict(&mut self) {}

    /// What reached the drive below a page cache; `None` without one.
    fn counters(&self) -> Option<DeviceCounters> {
        None
    }

    /// Share (0–1) of the whole that is in the page cache; `None` without one.
    fn resident_share(&self) -> Option<f64> {
        None
    }

    /// If it has a file system with many files.
    fn files(&mut self) -> Option<&mut dyn FileHost> {
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
    capacity_bytes: u64,
    sector_bytes: u32,
    has_faults: bool,
    /// Written contents, kept once a caller reads them back.
    contents: OnceLock<Mutex<DriveContents>>,
}

struct State {
    device: Box<dyn Served>,
    now: Nanos,
    is_in_use: bool,
    in_flight: u32,
    /// Lengths by slot, for the answers.
    lens: Vec<u32>,
    done: Vec<SimCompletion>,
}

impl SimulatedDrive {
    pub fn new(device: AnyDrive) -> Self {
        Self::serving(Box::new(device), 0)
    }

    fn serving(device: Box<dyn Served>, now: Nanos) -> Self {
        let (capacity_bytes, sector_bytes) = (device.capacity_bytes(), device.sector_bytes());
        let (lens, done) = (Vec::new(), Vec::new());
        let state = State { device, now, is_in_use: false, in_flight: 0, lens, done };
        let (state, contents) = (Mutex::new(state), OnceLock::new());
        Self { state, capacity_bytes, sector_bytes, has_faults: false, contents }
    }

    /// Marks that faults are planted.
    #[must_use]
    fn with_faults(self) -> Self {
        Self { has_faults: true, ..self }
    }

    /// Gives it less memory than it announces; it keeps what is written.
    #[must_use]
    fn with_fake(self, fake: FakeCapacity) -> Self {
        let contents = OnceLock::from(Mutex::new(DriveContents::new(Some(fake))));
        Self { contents, ..self }
    }

    /// Keeps what is written from now on, in this program's memory. Before, only times exist.
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
    /// records each; returns the time taken. `None` where a loop must do it: the drive keeps contents, has faults or
    /// a host above it, or is in use.
    pub fn stream_write(&self, offset: u64, len: u64, chunk: u64, depth: u32) -> Option<Nanos> {
        let mut state = self.lock();
        if state.is_in_use || self.keeps_contents() || self.has_faults || !state.device.is_bare() {
            return None;
        }
        let (now, writes) = (state.now, (RequestKind::Write, offset, len));
        let end = sequential_pass(&mut *state.device, now, writes, chunk, depth);
        state.advance(end, &mut Vec::new());
        Some(end - now)
    }

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

    /// Bytes of its addresses that hold data; `None` for a drive that reads unwritten addresses from its medium, and
    /// below a simulated file system.
    pub fn live_bytes(&self) -> Option<u64> {
        self.lock().device.live_bytes()
    }

    pub fn now(&self) -> Nanos {
        self.lock().now
    }

    /// Lets time pass without requests, so that the drive can do its own work.
    pub fn idle_until(&self, to: Nanos) {
        let mut state = self.lock();
        if to > state.now && !state.is_in_use {
            state.advance(to, &mut Vec::new());
        }
    }

    /// Empties the write cache while the drive is otherwise idle.
    /// Errors: the negative errno of the drive.
    pub fn flush(&self) -> Result<(), i32> {
        self.call_in(IoMode::Direct, IoOp::Sync, 0, 0).map(|_| ())
    }

    /// One request on a drive without other users: its latency, or a negative errno.
    fn call_in(&self, mode: IoMode, op: IoOp, offset: u64, len: u32) -> Result<Nanos, i32> {
        self.begin(1);
        let (before, mut answers) = (self.now(), Vec::new());
        self.submit(mode, op, offset, len, 0);
        let now = self.wait_until(Nanos::MAX, &mut answers);
        self.end();
        match answers.first() {
            Some(&(_, result)) if result >= 0 => Ok(now - before),
            Some(&(_, errno)) => Err(errno),
            None => Err(-Errno::IO.raw_os_error()),
        }
    }

    /// Declares bytes unused (TRIM) while the drive is otherwise idle; `false` for a drive that still reads its medium,
    /// and below a simulated file system.
    pub fn discard(&self, offset: u64, len: u64) -> bool {
        let mut state = self.lock();
        assert!(!state.is_in_use, "one load at a time");
        if state.device.live_bytes().is_none() {
            return false;
        }
        let (now, op) = (state.now, RequestKind::Trim);
        (state.lens, state.in_flight) = (vec![0], 1);
        state.device.submit(now, SimRequest { id: 0, op, offset, len, fua: false });
        while state.in_flight > 0 {
            state.step(Nanos::MAX, &mut Vec::new());
        }
        true
    }

    /// From now on each slot reads through its own open file, as processes do, so that the host reads ahead for each;
    /// nothing on a bare drive.
    pub fn open_by_slot(&self) {
        self.lock().device.open_by_slot();
    }

    /// Drops clean pages from the host's page cache, if there is one.
    pub fn evict(&self) {
        self.lock().device.evict();
    }

    /// Share (0–1) of a file that is in the host's page cache; `None` on a bare drive.
    pub fn resident_share(&self) -> Option<f64> {
        self.lock().device.resident_share()
    }

    /// What reached the drive below the host's page cache, as the kernel counts it; `None` on a bare drive.
    pub fn counters(&self) -> Option<DeviceCounters> {
        self.lock().device.counters()
    }

    /// Begins a load of `slots` requests at a time; time stands still until it waits.
    pub fn begin(&self, slots: u32) {
        let mut state = self.lock();
        assert!(!state.is_in_use, "one load at a time");
        (state.is_in_use, state.lens) = (true, vec![0; slots as usize]);
    }

    /// Ends the load after its pending requests.
    pub fn end(&self) {
        let (mut state, mut answers) = (self.lock(), Vec::new());
        while state.in_flight > 0 {
            state.step(Nanos::MAX, &mut answers);
        }
        state.is_in_use = false;
    }

    /// Sends a request now, through the page cache or past it; a bare drive has none.
    pub fn submit(&self, mode: IoMode, op: IoOp, offset: u64, len: u32, slot: u32) {
        let mut state = self.lock();
        state.lens[slot as usize] = len;
        state.in_flight += 1;
        let fua = op == IoOp::WriteThrough;
        let op = match op {
            IoOp::Read => RequestKind::Read,
            IoOp::Write | IoOp::WriteThrough => RequestKind::Write,
            IoOp::Sync => RequestKind::Flush,
        };
        let now = state.now;
        let request = SimRequest { id: u64::from(slot), op, offset, len: u64::from(len), fua };
        match mode {
            IoMode::Direct => state.device.submit_direct(now, request),
            IoMode::Buffered => state.device.submit(now, request),
        }
    }

    /// Waits until an answer arrives or the time has come, appends the answers, and returns the time.
    pub fn wait_until(&self, at: Nanos, answers: &mut Vec<Answer>) -> Nanos {
        let mut state = self.lock();
        let before = answers.len();
        while answers.len() == before && state.now < at {
            state.step(at, answers);
        }
        state.now
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().expect("no load panics while it holds the drive")
    }
}

impl State {
    /// To the next completion, or to `at` if that is sooner.
    fn step(&mut self, at: Nanos, answers: &mut Vec<Answer>) {
        let next = self.device.next_completion().map_or(at, |completion| completion.min(at));
        assert!(next < Nanos::MAX, "the load waits for ever: the drive owes it nothing");
        self.advance(next.max(self.now), answers);
    }

    fn advance(&mut self, to: Nanos, answers: &mut Vec<Answer>) {
        self.device.advance(to, &mut self.done);
        self.now = to;
        self.in_flight -= self.done.len() as u32;
        answers.extend(self.done.drain(..).map(|SimCompletion { id, outcome, .. }| {
            let moved = self.lens[id as usize] as i32;
            (id as u32, errno_of(outcome).unwrap_or(moved))
        }));
    }
}

fn errno_of(outcome: SimOutcome) -> Option<i32> {
    let errno = match outcome {
        SimOutcome::Done => return None,
        SimOutcome::MediaError => Errno::IO,
        SimOutcome::Gone => Errno::NODEV,
        SimOutcome::Invalid => Errno::INVAL,
    };
    Some(-errno.raw_os_error())
}

impl std::fmt::Debug for SimulatedDrive {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SimulatedDrive").field("capacity_bytes", &self.capacity_bytes).finish()
    }
}

#[cfg(test)]
mod tests;
