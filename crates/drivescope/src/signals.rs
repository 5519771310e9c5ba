//! SIGINT, SIGTERM and SIGHUP end a run in order: the phase drains, contents are put back, files go, the
//! run is kept.

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGXFSZ};
use signal_hook::iterator::Signals;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// What signals do to a run. The first asks it to stop. The second SIGINT or SIGTERM ends the program at
/// once (what it leaves behind is removed by the next run), but not while the contents of a drive lie in
/// a journal only: then they are put back first.
pub struct RunSignals {
    /// Raised by the first signal.
    pub stop: Arc<AtomicBool>,
    /// To be raised as long as no signal may end the program.
    pub held: Arc<AtomicBool>,
    again: Arc<AtomicBool>,
}

impl RunSignals {
    /// From now on.
    pub fn new() -> Self {
        let signals = Self { stop: Arc::default(), held: Arc::default(), again: Arc::default() };
        let (stop, held) = (Arc::clone(&signals.stop), Arc::clone(&signals.held));
        let again = Arc::clone(&signals.again);
        let mut coming =
            Signals::new([SIGINT, SIGTERM, SIGHUP]).expect("these signals can be handled");
        std::thread::spawn(move || {
            for signal in coming.forever() {
                let is_first = !stop.swap(true, Ordering::AcqRel);
                again.store(true, Ordering::Release);
                if !is_first && signal != SIGHUP && !held.load(Ordering::Acquire) {
                    signal_hook::low_level::exit(130);
                }
            }
        });
        // Else a limit on file sizes would kill the run; so the write fails, and says why.
        signal_hook::flag::register(SIGXFSZ, Arc::default()).expect("this signal can be handled");
        signals
    }

    /// Whether one came since this was asked last.
    pub fn was_signalled_again(&self) -> bool {
        self.again.swap(false, Ordering::AcqRel)
    }
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
