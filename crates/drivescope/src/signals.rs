//! SIGINT, SIGTERM and SIGHUP end a run in order: the phase drains, files go, the run is kept.

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGXFSZ};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

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

/// Signals while a drive is being restored: they are counted and never end the program.
pub struct Calm {
    ever: Arc<AtomicBool>,
    again: Arc<AtomicBool>,
}

impl Calm {
    /// From now on.
    pub fn new() -> Self {
        let calm = Self { ever: Arc::default(), again: Arc::default() };
        for signal in [SIGINT, SIGTERM, SIGHUP] {
            for flag in [&calm.ever, &calm.again] {
                signal_hook::flag::register(signal, Arc::clone(flag))
                    .expect("these signals can be handled");
            }
        }
        calm
    }

    /// Whether any signal came.
    pub fn was_signalled(&self) -> bool {
        self.ever.load(Ordering::Relaxed)
    }

    /// Whether one came since this was asked last.
    pub fn was_signalled_again(&self) -> bool {
        self.again.swap(false, Ordering::Relaxed)
    }
}
