//! A few threads for what may block: reading and writing the backing file, sending large replies.

use super::thread_priority::raise_priority;
use std::collections::VecDeque;
use std::fmt;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::JoinHandle;

type WorkerJob = Box<dyn FnOnce() + Send>;

#[derive(Clone)]
pub(super) struct Jobs(Arc<SharedQueue>);

struct SharedQueue {
    queue: Mutex<JobQueue>,
    changed: Condvar,
}

#[derive(Default)]
struct JobQueue {
    jobs: VecDeque<WorkerJob>,
    closed: bool,
}

impl Jobs {
    /// Queues a job; after [`Workers::finish`] it is dropped.
    pub(super) fn run(&self, job: impl FnOnce() + Send + 'static) {
        let mut queue = self.0.queue.lock().unwrap_or_else(PoisonError::into_inner);
        if !queue.closed {
            queue.jobs.push_back(Box::new(job));
            drop(queue);
            self.0.changed.notify_one();
        }
    }
}

impl fmt::Debug for Jobs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Jobs")
    }
}

/// The threads; [`Workers::finish`] or dropping ends them after the jobs that are queued.
#[derive(Debug)]
pub(super) struct Workers {
    jobs: Jobs,
    threads: Vec<JoinHandle<()>>,
}

impl Workers {
    pub(super) fn start(count: usize) -> std::io::Result<Self> {
        let shared = SharedQueue { queue: Mutex::default(), changed: Condvar::new() };
        let mut workers = Self { jobs: Jobs(Arc::new(shared)), threads: Vec::new() };
        for n in 0..count {
            let jobs = workers.jobs.clone();
            let name = format!("sim-data-{n}");
            workers
                .threads
                .push(std::thread::Builder::new().name(name).spawn(move || work(&jobs))?);
        }
        Ok(workers)
    }

    pub(super) fn jobs(&self) -> Jobs {
        self.jobs.clone()
    }

    pub(super) fn finish(self) {
        drop(self);
    }
}

impl Drop for Workers {
    fn drop(&mut self) {
        self.jobs.0.queue.lock().unwrap_or_else(PoisonError::into_inner).closed = true;
        self.jobs.0.changed.notify_all();
        for thread in self.threads.drain(..) {
            // A job that panicked has dropped its request, which answers it with EIO.
            let _ = thread.join();
        }
    }
}

fn work(jobs: &Jobs) {
    raise_priority();
    let mut queue = jobs.0.queue.lock().unwrap_or_else(PoisonError::into_inner);
    loop {
        if let Some(job) = queue.jobs.pop_front() {
            drop(queue);
            job();
            queue = jobs.0.queue.lock().unwrap_or_else(PoisonError::into_inner);
        } else if queue.closed {
            return;
        } else {
            queue = jobs.0.changed.wait(queue).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Barrier;
    use std::sync::atomic::{AtomicUsize, Ordering};

    #[test]
    fn jobs_run_in_parallel_and_all_finish() {
        let workers = Workers::start(3).unwrap();
        let jobs = workers.jobs();
        let (meeting, ran) = (Arc::new(Barrier::new(3)), Arc::new(AtomicUsize::new(0)));
        for _ in 0..30 {
            let (meeting, ran) = (Arc::clone(&meeting), Arc::clone(&ran));
            jobs.run(move || {
                meeting.wait(); // hangs unless three run at a time
                ran.fetch_add(1, Ordering::Relaxed);
            });
        }
        workers.finish();
        assert_eq!(ran.load(Ordering::Relaxed), 30);
        let late = Arc::clone(&ran);
        jobs.run(move || {
            late.fetch_add(1, Ordering::Relaxed);
        });
        assert_eq!(Arc::strong_count(&ran), 1, "a job after the end is dropped");
    }
}
