//! An open file with the engine that moves its data: runs tasks on queues, one per thread.

use crate::error::{BenchError, flush_failed};
use crate::io::clock;
use crate::io::cpu_placement;
use crate::io::cpu_usage::{self, CpuCost, CpuScope, CpuUsage};
use crate::io::engine;
use crate::io::queue::{IoTask, QueueSpec, SimulatedQueue, ThreadQueue, UringQueue};
use crate::io::recorder::Recorder;
use crate::loops::one_thread::{Alone, OneThread, SteppedLoop};
use drivescope_drive::IoFile;
use drivescope_drive::gate::RawDisk;
use drivescope_drive::simulated::SimulatedDrive;
use drivescope_model::plan::{Engine, WriteLevel};
use drivescope_model::target::IoMode;
use std::io;
use std::ops::Range;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock};
use std::thread::Thread;
use std::time::Duration;

const WATCH_EVERY: Duration = Duration::from_millis(50);

/// A watcher that wakes this much too late was held up; shorter delays are usual on a busy machine.
const LATE_NS: u64 = 20_000_000;

#[derive(Debug)]
pub struct IoDevice {
    backend: Backend,
}

#[derive(Debug)]
enum Backend {
    File {
        file: IoFile,
        engine: Engine,
        broken: OnceLock<String>,
    },
    /// A simulated drive, or a file on one, in virtual time.
    Simulated {
        drive: Arc<SimulatedDrive>,
        mode: IoMode,
    },
}

#[derive(Debug)]
pub struct WorkerOutcome<T> {
    pub output: T,
    pub cpu_cost: CpuCost,
    /// `None` on simulated drives.
    pub engine: Option<Engine>,
}

impl IoDevice {
    pub fn new(file: IoFile, engine: Engine) -> Self {
        // A ring has one file.
        let engine = if file.is_joined() { Engine::Threads } else { engine };
        Self { backend: Backend::File { file, engine, broken: OnceLock::new() } }
    }

    pub fn simulated(drive: Arc<SimulatedDrive>, mode: IoMode) -> Self {
        Self { backend: Backend::Simulated { drive, mode } }
    }

    /// [`Engine::Auto`] leaves the choice to each phase.
    pub fn engine(&self) -> Engine {
        match &self.backend {
            Backend::File { engine: Engine::Auto, broken, .. } if broken.get().is_some() => {
                Engine::Threads
            }
            Backend::File { engine, .. } => *engine,
            Backend::Simulated { .. } => Engine::Sim,
        }
    }

    /// Why io_uring, chosen automatically, is no longer used.
    pub(crate) fn broken_uring(&self) -> Option<&str> {
        match &self.backend {
            Backend::File { broken, .. } => broken.get().map(String::as_str),
            Backend::Simulated { .. } => None,
        }
    }

    /// From now on threads send the requests, if the engine was open.
    fn give_up(&self, engine: Engine, error: &io::Error) {
        if let Backend::File { engine: Engine::Auto, broken, .. } = &self.backend
            && engine == Engine::Uring
        {
            // The first reason stays.
            let _ = broken.set(error.to_string());
        }
    }

    /// To be asked before a test that writes at this level: a claimed block device must still be the claimed one,
    /// and then takes writes of this level only.
    pub fn ready_to_write(&self, level: WriteLevel) -> Result<(), BenchError> {
        let Some(disk) = self.claim() else { return Ok(()) };
        disk.begin(level)?;
        Ok(disk.ready()?)
    }

    fn file(&self) -> Option<&IoFile> {
        match &self.backend {
            Backend::File { file, .. } => Some(file),
            Backend::Simulated { .. } => None,
        }
    }

    pub fn claim(&self) -> Option<&RawDisk> {
        self.file()?.claim()
    }

    pub fn size_bytes(&self) -> u64 {
        match &self.backend {
            Backend::File { file, .. } => file.size_bytes(),
            Backend::Simulated { drive, .. } => drive.capacity_bytes(),
        }
    }

    pub fn align_bytes(&self) -> u32 {
        match &self.backend {
            Backend::File { file, .. } => file.align_bytes(),
            Backend::Simulated { mode: IoMode::Buffered, .. } => 1,
            Backend::Simulated { drive, .. } => drive.sector_bytes(),
        }
    }

    pub fn mode(&self) -> IoMode {
        match &self.backend {
            Backend::File { file, .. } => file.mode(),
            Backend::Simulated { mode, .. } => *mode,
        }
    }

    pub fn is_direct(&self) -> bool {
        self.mode() == IoMode::Direct
    }

    /// Whether io_uring passes each request to a thread of the kernel.
    pub(crate) fn may_block(&self) -> bool {
        self.file().is_some_and(IoFile::may_block)
    }

    /// A simulated drive then keeps what is written, in memory.
    pub fn keep_contents(&self) {
        if let Backend::Simulated { drive, .. } = &self.backend {
            drive.keep_contents();
        }
    }

    /// Writes a long stretch in order without recording each request: the nanoseconds it took. `None` on everything
    /// but a sound simulated drive of which nothing is read back.
    pub fn stream_write(&self, offset: u64, len: u64, chunk: u64, depth: u32) -> Option<u64> {
        match &self.backend {
            Backend::File { .. } => None,
            Backend::Simulated { drive, .. } => drive.stream_write(offset, len, chunk, depth),
        }
    }

    /// TRIM. `false` where it is not possible: files, no claim to erase, drives without the command.
    pub fn discard(&self, bytes: Range<u64>) -> Result<bool, BenchError> {
        match &self.backend {
            Backend::File { file, .. } => {
                file.claim().map_or(Ok(false), |disk| Ok(disk.discard(bytes)?))
            }
            Backend::Simulated { drive, .. } => {
                Ok(drive.discard(bytes.start, bytes.end - bytes.start))
            }
        }
    }

    pub fn sync(&self) -> Result<(), BenchError> {
        match &self.backend {
            Backend::File { file, .. } => Ok(file.sync()?),
            Backend::Simulated { drive, .. } => drive.flush().map_err(flush_failed),
        }
    }

    pub fn evict(&self) -> Result<(), BenchError> {
        match &self.backend {
            Backend::File { file, .. } => Ok(file.evict()?),
            Backend::Simulated { drive, .. } => {
                // A bare drive has no pages, and an eviction does not concern its own write cache.
                if drive.resident_share().is_some() {
                    drive.flush().map_err(flush_failed)?;
                    drive.evict();
                }
                Ok(())
            }
        }
    }

    /// Share of the file that is in the page cache; `None` if the kernel does not report it.
    pub fn resident_share(&self) -> Option<f64> {
        match &self.backend {
            Backend::File { file, .. } => file.resident_share(),
            Backend::Simulated { drive, .. } => drive.resident_share(),
        }
    }

    /// Runs loops side by side: each on a queue and thread of its own; on a simulated drive all on one. `engine`:
    /// for devices that leave it open.
    pub fn run_loops<L: SteppedLoop>(
        &self,
        engine: Option<Engine>,
        spec: QueueSpec,
        loops: Vec<L>,
        watch: &mut dyn FnMut(),
    ) -> Result<Vec<WorkerOutcome<Recorder>>, BenchError> {
        let count = loops.len() as u32;
        if count == 1 || matches!(self.backend, Backend::File { .. }) {
            return self.run_with(engine, spec, loops.into_iter().map(Alone).collect(), watch);
        }
        let all = QueueSpec { depth: spec.depth * count, ahead: spec.ahead * count, ..spec };
        let WorkerOutcome { output, cpu_cost, engine } = self.run(all, OneThread(loops), watch)?;
        let each = |output| WorkerOutcome { output, cpu_cost, engine };
        Ok(output.into_iter().map(each).collect())
    }

    /// Runs a task on a queue and thread of its own, calling `watch` now and then until it has ended.
    pub fn run<T: IoTask>(
        &self,
        spec: QueueSpec,
        task: T,
        watch: &mut dyn FnMut(),
    ) -> Result<WorkerOutcome<T::Output>, BenchError> {
        let mut outcomes = self.run_with(None, spec, vec![task], watch)?;
        Ok(outcomes.pop().expect("one task, one outcome"))
    }

    fn run_with<T: IoTask>(
        &self,
        engine: Option<Engine>,
        spec: QueueSpec,
        tasks: Vec<T>,
        watch: &mut dyn FnMut(),
    ) -> Result<Vec<WorkerOutcome<T::Output>>, BenchError> {
        let engine = match self.engine() {
            Engine::Auto => engine.unwrap_or_else(|| engine::of_depth(spec.depth)),
            asked => asked,
        };
        let start = StartLine::default();
        let may_block = self.may_block() && engine == Engine::Uring;
        let wakes_a_thread = self.file().is_some_and(IoFile::wakes_a_thread);
        let one_at_a_time = tasks.len() == 1 && spec.depth == 1;
        std::thread::scope(|scope| {
            let workers: Vec<_> = tasks
                .into_iter()
                .map(|task| {
                    let start = &start;
                    let finish = start.begin();
                    std::thread::Builder::new().name("load".to_string()).spawn_scoped(
                        scope,
                        move || {
                            let _finish = finish;
                            if one_at_a_time && wakes_a_thread {
                                cpu_placement::stay_here();
                            } else if may_block {
                                cpu_placement::let_workers_finish();
                            }
                            self.work(engine, spec, task, start)
                        },
                    )
                })
                .collect();
            let spawned = workers.iter().flatten().count();
            start.open(spawned, spawned == workers.len());
            let mut still_ns = 0;
            while start.running() > 0 {
                still_ns += rest();
                watch();
            }
            let mut outcomes = Vec::with_capacity(workers.len());
            let mut broken = Vec::new();
            for worker in workers {
                let joined = worker.map(|handle| handle.join().expect("a worker does not panic"));
                match joined.and_then(|outcome| outcome) {
                    Ok(outcome) => outcomes.push(outcome),
                    Err(error) => broken.push(error),
                }
            }
            if let Some(error) = first_cause(broken) {
                self.give_up(engine, &error);
                return Err(BenchError::of_engine(engine, error));
            }
            // A stopped program does not stop virtual time.
            for outcome in outcomes.iter_mut().filter(|_| engine != Engine::Sim) {
                outcome.engine = Some(engine);
                outcome.cpu_cost.still_ns = still_ns;
            }
            Ok(outcomes)
        })
    }

    fn work<T: IoTask>(
        &self,
        engine: Engine,
        spec: QueueSpec,
        task: T,
        start: &StartLine,
    ) -> io::Result<WorkerOutcome<T::Output>> {
        match &self.backend {
            Backend::File { file, .. } if engine == Engine::Threads => {
                std::thread::scope(|scope| {
                    let queue = ThreadQueue::new(scope, file, spec);
                    // Helper threads do the work of deep queues, so the whole program is counted.
                    let who = if spec.depth > 1 { CpuScope::Process } else { CpuScope::Thread };
                    start.run(queue, task, Some(who))
                })
            }
            Backend::File { file, .. } => {
                start.run(UringQueue::new(file, spec), task, Some(CpuScope::Thread))
            }
            Backend::Simulated { drive, mode } => {
                start.run(SimulatedQueue::new(drive, *mode, spec), task, None)
            }
        }
    }
}

/// A worker's own error rather than that another could not start.
fn first_cause(mut broken: Vec<io::Error>) -> Option<io::Error> {
    let said = broken.iter().position(|error| error.raw_os_error().is_some());
    (!broken.is_empty()).then(|| broken.swap_remove(said.unwrap_or(0)))
}

/// Waits a moment, or until a worker ends; returns by how much that was too long.
fn rest() -> u64 {
    let begun_ns = clock::now_ns();
    std::thread::park_timeout(WATCH_EVERY);
    let late_ns = (clock::now_ns() - begun_ns).saturating_sub(WATCH_EVERY.as_nanos() as u64);
    if late_ns < LATE_NS { 0 } else { late_ns }
}

/// Where all workers of a phase meet before the first request.
#[derive(Default)]
struct StartLine {
    state: Mutex<StartState>,
    changed: Condvar,
}

#[derive(Default)]
struct StartState {
    ready: usize,
    running: usize,
    broken: bool,
    go: bool,
}

impl StartLine {
    fn lock(&self) -> MutexGuard<'_, StartState> {
        self.state.lock().expect("no thread panics at the start line")
    }

    /// Before this thread starts a worker, which wakes it when it ends.
    fn begin(&self) -> Finish<'_> {
        self.lock().running += 1;
        Finish { start: self, watcher: std::thread::current() }
    }

    /// Lets the `expected` workers go once all stand here; none runs if one has no queue.
    fn open(&self, expected: usize, all_spawned: bool) {
        let waited = self.changed.wait_while(self.lock(), |state| state.ready < expected);
        let mut state = waited.expect("no thread panics at the start line");
        state.broken |= !all_spawned;
        state.go = true;
        self.changed.notify_all();
    }

    /// Returns whether to run.
    fn wait(&self, has_queue: bool) -> bool {
        let mut state = self.lock();
        state.ready += 1;
        state.broken |= !has_queue;
        self.changed.notify_all();
        let waited = self.changed.wait_while(state, |state| !state.go);
        !waited.expect("no thread panics at the start line").broken
    }

    fn running(&self) -> usize {
        self.lock().running
    }

    /// `who`: whose processor time counts; `None` on a simulated drive.
    fn run<T: IoTask, Q: crate::io::queue::IoQueue>(
        &self,
        queue: io::Result<Q>,
        task: T,
        who: Option<CpuScope>,
    ) -> io::Result<WorkerOutcome<T::Output>> {
        let go = self.wait(queue.is_ok());
        let mut queue = queue?;
        if !go {
            return Err(io::Error::other("another worker could not start"));
        }
        let used = |who: Option<CpuScope>| who.map_or_else(CpuUsage::default, CpuUsage::of);
        let own = who.map(|_| CpuScope::Thread);
        let waited = || own.and_then(|_| cpu_usage::waited_ns());
        let waited_before = waited();
        let (all_before, own_before, start_ns) = (used(who), used(own), queue.now());
        let output = task.run(&mut queue)?;
        let cpu_cost = CpuCost {
            usage: used(who).since(all_before),
            whole_program: who == Some(CpuScope::Process),
            busiest_cpu_ns: used(own).since(own_before).cpu_ns,
            wait_ns: waited().zip(waited_before).map(|(now, before)| now - before),
            still_ns: 0,
            wall_ns: queue.now() - start_ns,
        };
        Ok(WorkerOutcome { output, cpu_cost, engine: None })
    }
}

/// Reports the end of a worker, even by a panic.
struct Finish<'s> {
    start: &'s StartLine,
    watcher: Thread,
}

impl Drop for Finish<'_> {
    fn drop(&mut self) {
        self.start.lock().running -= 1;
        self.watcher.unpark();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernel_error_of_one_worker_is_reported() {
        fn waiting() -> io::Error {
            io::Error::other("another worker could not start")
        }
        let refused = io::Error::from_raw_os_error(libc::EMFILE);
        let cause = first_cause(vec![waiting(), refused, waiting()]).unwrap();
        assert_eq!(cause.raw_os_error(), Some(libc::EMFILE));
        assert!(first_cause(vec![waiting()]).is_some() && first_cause(Vec::new()).is_none());
    }
}
