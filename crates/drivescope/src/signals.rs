//! SIGINT, SIGTERM and SIGHUP end a run in order: the phase drains, files go, the run is kept.

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGXFSZ};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// A flag that is raised by the first of these signals. The second SIGINT or SIGTERM ends the program at
/// once; what it leaves behind is removed by the next run.
pub fn stop_flag() -> Arc<AtomicBool> {
    let flag = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM] {
        // Order matters: the shutdown acts only if the flag was raised before.
        signal_hook::flag::register_conditional_shutdown(signal, 130, Arc::clone(&flag))
            .expect("these signals can be handled");
        signal_hook::flag::register(signal, Arc::clone(&flag))
            .expect("these signals can be handled");
    }
    // Else a limit on file sizes would kill the run; so the write fails, and says why.
    let limit = Arc::new(AtomicBool::new(false));
    signal_hook::flag::register(SIGXFSZ, limit).expect("this signal can be handled");
    signal_hook::flag::register(SIGHUP, Arc::clone(&flag)).expect("this signal can be handled");
    flag
}
