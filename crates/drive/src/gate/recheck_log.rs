//! What repeated checks of a claimed device saw, and how often they were made.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Rechecks {
    /// All checks while the device could be written.
    pub made: u64,
    /// Complete checks for users, made because the machine had changed since the check before.
    pub whole: u64,
    pub last: Duration,
    /// Whether the last check found a user.
    pub refused: bool,
}

#[derive(Debug)]
pub(super) struct RecheckLog {
    begun: Instant,
    inner: Mutex<Inner>,
}

#[derive(Debug, Default)]
struct Inner {
    /// Hash of the machine's state at the last check; `None` makes the next check a complete one.
    signs: Option<u64>,
    rechecks: Rechecks,
}

impl Default for RecheckLog {
    fn default() -> Self {
        Self { begun: Instant::now(), inner: Mutex::default() }
    }
}

impl RecheckLog {
    /// Whether the new signs are the ones of the last check.
    pub fn replace(&self, now: u64) -> bool {
        self.lock().signs.replace(now) == Some(now)
    }

    /// Makes the next check a complete one.
    pub fn forget(&self) {
        self.lock().signs = None;
    }

    pub fn count(&self, is_whole: bool, refused: bool) {
        let rechecks = &mut self.lock().rechecks;
        rechecks.made += 1;
        rechecks.whole += u64::from(is_whole);
        (rechecks.last, rechecks.refused) = (self.begun.elapsed(), refused);
    }

    pub fn rechecks(&self) -> Rechecks {
        self.lock().rechecks.clone()
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
