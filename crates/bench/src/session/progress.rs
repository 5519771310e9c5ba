//! Forwards the progress of a phase to the listeners, and the stop flag to the phase.

use super::Session;
use crate::loops::control::Control;
use drivescope_model::event::Event;

/// A test that takes this many times its planned time is no longer almost done.
const LATE: f64 = 1.1;

pub struct Progress<'s> {
    session: &'s Session<'s>,
    control: &'s Control,
    last: (u64, u64, u64),
}

impl<'s> Progress<'s> {
    pub fn new(session: &'s Session<'s>, control: &'s Control) -> Self {
        Self { session, control, last: (session.now_ns(), 0, 0) }
    }

    /// To be called every now and then.
    pub fn report(&mut self) {
        if self.session.stopped() || !self.session.claim_holds() {
            self.control.stop();
        }
        let now = self.session.now_ns();
        let seconds = (now - self.last.0) as f64 / 1e9;
        if seconds < 0.2 {
            return;
        }
        let (ops, bytes) = self.control.progress();
        let test = &self.session.test;
        let elapsed = self.session.test_elapsed_s();
        let planned = || {
            // The plan could only guess how long a round takes; those that are over show it.
            let expected_s = test
                .rounds_over
                .get()
                .map_or(test.expected_s, |rounds| test.expected_s.max(rounds.whole_s()));
            let done = (elapsed / expected_s.max(elapsed * 1.01)).clamp(0.0, 1.0);
            let is_over = elapsed > expected_s * LATE;
            (done, (!is_over).then_some(expected_s - elapsed))
        };
        let by_work = test.remaining.look(now, bytes);
        let (done, left_s) = by_work.unwrap_or_else(planned);
        self.session.emit(Event::Progress {
            done,
            left_s,
            mb_s: (bytes - self.last.2) as f64 / seconds / 1e6,
            iops: (ops - self.last.1) as f64 / seconds,
        });
        self.last = (now, ops, bytes);
    }
}
