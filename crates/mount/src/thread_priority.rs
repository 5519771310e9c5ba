//! Threads that run before others.

/// Lets the calling thread run as soon as it has something to do, where that is allowed: a busy machine
/// must not make the drive late. Threads it starts inherit this.
#[expect(clippy::disallowed_methods, reason = "sched_setscheduler, which touches no file")]
pub(super) fn raise_priority() {
    // The lowest real-time priority comes before all ordinary threads. Without preemption among these
    // (usual on servers) a woken thread otherwise waits for the tick, up to 4 ms.
    // The system call itself: musl's function of this name answers ENOSYS. Its parameter is one integer.
    let priority: libc::c_int = 1;
    // SAFETY: 0 is the calling thread, and the parameter is only read.
    let result = unsafe {
        libc::syscall(libc::SYS_sched_setscheduler, 0, libc::SCHED_FIFO, &raw const priority)
    };
    if result != 0 {
        // Without permission the drive works, and lateness is reported.
        let _ = rustix::process::setpriority_process(None, -20);
    }
}
