//! Where a measuring thread runs.

use rustix::thread::{CpuSet, sched_getcpu, sched_setaffinity};

/// Keeps the calling thread, and the threads that the kernel starts for its requests, on the processor
/// where it is. For one request at a time on a device to which requests may block: there io_uring hands
/// each to a thread of the kernel, and waking another processor for it would be most of the latency (on
/// zram in a virtual machine 45 of 50 µs). Where the drive answers by interrupt the scheduler knows
/// better which processor that comes to. A refusal is no harm.
pub fn stay_here() {
    let cpu = sched_getcpu();
    if cpu < CpuSet::MAX_CPU {
        let mut here = CpuSet::new();
        here.set(cpu);
        let _ = sched_setaffinity(None, &here);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::thread::sched_getaffinity;

    #[test]
    fn the_thread_stays_on_one_processor_and_others_do_not() {
        let before = sched_getaffinity(None).unwrap();
        let inside = std::thread::spawn(|| {
            stay_here();
            sched_getaffinity(None).unwrap()
        });
        assert_eq!(inside.join().unwrap().count(), 1);
        assert_eq!(sched_getaffinity(None).unwrap(), before);
    }
}
