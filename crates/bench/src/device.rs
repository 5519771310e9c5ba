//! An open file with the engine that moves its data: runs tasks on queues, one per thread.

use crate::error::BenchError;
use crate::queue::{QueueSpec, Task, ThreadQueue, UringQueue};
use crate::usage::{Usage, Who};
use drivescope_drive::IoFile;
use drivescope_model::plan::Engine;
use drivescope_model::target::IoMode;
use std::io;
use std::sync::{Condvar, Mutex, MutexGuard};
use std::time::Duration;

/// How often the watcher of a running phase looks.
const WATCH_EVERY: Duration = Duration::from_millis(50);

/// A file or block device behind an engine.
#[derive(Debug)]
pub struct Device {
    file: IoFile,
    engine: Engine,
}

/// What a worker leaves behind.
#[derive(Debug)]
pub struct WorkerOutcome<T> {
    /// The task's own.
    pub output: T,
    /// The worker's processor time, its helper threads included.
    pub usage: Usage,
    /// Processor time of the worker's busiest thread.
    pub busiest_cpu_ns: u64,
    /// Wall time of the task.
    pub wall_ns: u64,
}

impl Device {
    /// Puts `file` behind `engine`.
    pub fn new(file: IoFile, engine: Engine) -> Self {
        Self { file, engine }
    }

    /// The file.
    pub fn file(&self) -> &IoFile {
        &self.file
    }

    /// Size of the file.
    pub fn size_bytes(&self) -> u64 {
        self.file.size_bytes()
    }

    /// Whether every request reaches the drive: direct I/O.
    pub fn is_direct(&self) -> bool {
        self.file.mode() == IoMode::Direct
    }

    /// Runs each task on a queue and thread of its own, all starting together, calling `watch` now and
    /// then until the last has ended.
    pub fn run<T: Task>(
        &self,
        spec: QueueSpec,
        tasks: Vec<T>,
        mut watch: impl FnMut(),
    ) -> Result<Vec<WorkerOutcome<T::Output>>, BenchError> {
        let start = StartLine::default();
        std::thread::scope(|scope| {
            let workers: Vec<_> = tasks
                .into_iter()
                .map(|task| {
                    let start = &start;
                    std::thread::Builder::new()
                        .name("load".to_string())
                        .spawn_scoped(scope, move || self.work(spec, task, start))
                })
                .collect();
            let spawned = workers.iter().flatten().count();
            start.open(spawned, spawned == workers.len());
            while workers.iter().flatten().any(|worker| !worker.is_finished()) {
                std::thread::park_timeout(WATCH_EVERY);
                watch();
            }
            let mut outcomes = Vec::with_capacity(workers.len());
            for worker in workers {
                let joined = worker.map(|handle| handle.join().expect("a worker does not panic"));
                outcomes
                    .push(joined.and_then(|outcome| outcome).map_err(|e| self.engine_error(e))?);
            }
            Ok(outcomes)
        })
    }

    fn work<T: Task>(
        &self,
        spec: QueueSpec,
        task: T,
        start: &StartLine,
    ) -> io::Result<WorkerOutcome<T::Output>> {
        match self.engine {
            Engine::Threads => std::thread::scope(|scope| {
                let queue = ThreadQueue::new(scope, &self.file, spec);
                // Helper threads do the work of deep queues, so the whole program is counted.
                let who = if spec.depth > 1 { Who::Process } else { Who::Thread };
                start.run(queue, task, who)
            }),
            Engine::Uring | Engine::Sim => {
                start.run(UringQueue::new(&self.file, spec), task, Who::Thread)
            }
        }
    }

    fn engine_error(&self, source: io::Error) -> BenchError {
        let other = if self.engine == Engine::Uring { Engine::Threads } else { Engine::Uring };
        BenchError::Engine { engine: self.engine.name(), other: other.name(), source }
    }
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
    broken: bool,
    go: bool,
}

impl StartLine {
    fn lock(&self) -> MutexGuard<'_, StartState> {
        self.state.lock().expect("nobody panics at the start line")
    }

    /// Lets the `expected` workers go once all stand here; nobody runs if one has no queue.
    fn open(&self, expected: usize, all_spawned: bool) {
        let waited = self.changed.wait_while(self.lock(), |state| state.ready < expected);
        let mut state = waited.expect("nobody panics at the start line");
        state.broken |= !all_spawned;
        state.go = true;
        self.changed.notify_all();
    }

    /// Stands at the line; returns whether to run.
    fn wait(&self, has_queue: bool) -> bool {
        let mut state = self.lock();
        state.ready += 1;
        state.broken |= !has_queue;
        self.changed.notify_all();
        let waited = self.changed.wait_while(state, |state| !state.go);
        !waited.expect("nobody panics at the start line").broken
    }

    fn run<T: Task, Q: crate::queue::Queue>(
        &self,
        queue: io::Result<Q>,
        task: T,
        who: Who,
    ) -> io::Result<WorkerOutcome<T::Output>> {
        let go = self.wait(queue.is_ok());
        let mut queue = queue?;
        if !go {
            return Err(io::Error::other("another worker could not start"));
        }
        let (all, own, wall) = (Usage::of(who), Usage::of(Who::Thread), queue.now());
        let output = task.run(&mut queue);
        Ok(WorkerOutcome {
            output,
            usage: Usage::of(who).since(all),
            busiest_cpu_ns: Usage::of(Who::Thread).since(own).cpu_ns(),
            wall_ns: queue.now() - wall,
        })
    }
}
