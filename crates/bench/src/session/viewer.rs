//! What a viewer of a run asks of it: to skip a test, to pause. Checked between phases.

use super::Session;
use crate::io::clock;
use drivescope_model::event::Event;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

const LOOK_EVERY: Duration = Duration::from_millis(50);

/// Clones share the requests.
#[derive(Debug, Clone, Default)]
pub struct ViewerRequests {
    skip: Arc<AtomicBool>,
    pause: Arc<AtomicBool>,
}

impl ViewerRequests {
    /// Asks to end the test in progress as a signal would, and to continue with the next one.
    pub fn skip_test(&self) {
        self.skip.store(true, Ordering::Relaxed);
    }

    /// Asks to pause before the next phase, or to continue; returns whether it is to pause.
    pub fn toggle_pause(&self) -> bool {
        !self.pause.fetch_xor(true, Ordering::Relaxed)
    }

    pub(crate) fn skips(&self) -> bool {
        self.skip.load(Ordering::Relaxed)
    }

    pub(super) fn begin(&self) {
        self.skip.store(false, Ordering::Relaxed);
    }

    fn pauses(&self) -> bool {
        self.pause.load(Ordering::Relaxed)
    }
}

impl Session<'_> {
    #[must_use]
    pub fn with_viewer(mut self, viewer: ViewerRequests) -> Self {
        self.viewer = viewer;
        self
    }

    /// Waits as long as the viewer wants the run to pause, unless it is to end.
    pub(super) fn wait_while_paused(&self) {
        if !self.viewer.pauses() || self.stopped() {
            return;
        }
        self.emit(Event::Preparing { what: "paused; p continues".to_string() });
        let begun_ns = clock::now_ns();
        while self.viewer.pauses() && !self.stopped() {
            std::thread::sleep(LOOK_EVERY);
        }
        // A simulated drive's time stood still.
        if self.simulated().is_none() {
            let paused_ns = clock::now_ns() - begun_ns;
            self.test.paused_ns.set(self.test.paused_ns.get() + paused_ns);
        }
    }
}
