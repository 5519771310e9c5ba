//! Where a measuring thread runs.

use rustix::thread::{CpuSet, sched_getcpu, sched_setaffinity};

/// Keeps the calling thread, and the threads that io_uring starts for its requests, on the processor where
/// it is. For one request at a time on a device whose requests a thread of the kernel answers: waking another
/// processor for it would be most of the latency (in a virtual machine 45 of 50 µs on zram; on a loop device
/// over memory 47 µs became 17). Where the drive answers by interrupt the scheduler knows better which processor
/// that comes to (a loop device with direct I/O below: 15 100 reads a second against 12 000 here). A refusal is no
/// harm.
pub fn stay_here() {
    let cpu = sched_getcpu();
    if cpu < CpuSet::MAX_CPU {
        let mut here = CpuSet::new();
        here.set(cpu);
        let _ = sched_setaffinity(None, &here);
    }
}

/// Lets the calling thread, once woken, wait for what runs on its processor (`SCHED_BATCH`). For many requests in
/// flight on a device to which requests may block: where the threads of the kernel share a processor with this one,
/// each completion would interrupt them, and the switches would halve the rate (on zram with one processor 170 000
/// reads a second against 320 000). A refusal does no harm.
#[expect(clippy::disallowed_methods, reason = "sched_setscheduler, which touches no file")]
pub fn let_workers_finish() {
    // The system call itself: musl's function of this name answers ENOSYS. Its parameter is one integer.
    let priority: libc::c_int = 0;
    // SAFETY: thread 0 is the caller; the parameter lives through the call.
    let _ = unsafe {
        libc::syscall(libc::SYS_sched_setscheduler, 0, libc::SCHED_BATCH, &raw const priority)
    };
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::thread::sched_getaffinity;

    #[expect(clippy::disallowed_methods, reason = "sched_getscheduler, which touches no file")]
    fn policy() -> libc::c_long {
        // SAFETY: thread 0 is the caller.
        unsafe { libc::syscall(libc::SYS_sched_getscheduler, 0) }
    }

    #[test]
    fn only_the_thread_that_asks_lets_others_finish() {
        let before = policy();
        let inside = std::thread::spawn(|| {
            let_workers_finish();
            policy()
        });
        assert_eq!(inside.join().unwrap(), libc::c_long::from(libc::SCHED_BATCH));
        assert_eq!(policy(), before);
    }

    #[test]
    fn only_this_thread_stays_on_one_processor() {
        let before = sched_getaffinity(None).unwrap();
        let inside = std::thread::spawn(|| {
            stay_here();
            sched_getaffinity(None).unwrap()
        });
        assert_eq!(inside.join().unwrap().count(), 1);
        assert_eq!(sched_getaffinity(None).unwrap(), before);
    }
}
