//! What repeated checks of a claimed device saw, and how often they were made.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// How often a claimed device was checked while it could be written.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Rechecks {
    /// All of them.
    pub made: u64,
    /// Complete checks for users, made because the machine had changed since the check before.
    pub whole: u64,
    /// When the last one was, since the claim.
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
    /// Signs of the machine at the last one; none when the next is to be a whole one.
    signs: Option<u64>,
    rechecks: Rechecks,
}

impl Default for RecheckLog {
    fn default() -> Self {
        Self { begun: Instant::now(), inner: Mutex::default() }
    }
}

impl RecheckLog {
    /// Keeps these signs; whether they are what was seen before.
    pub fn replace(&self, now: u64) -> bool {
        self.lock().signs.replace(now) == Some(now)
    }

    /// The next check is a whole one.
    pub fn forget(&self) {
        self.lock().signs = None;
    }

    /// Counts a check.
    pub fn count(&self, is_whole: bool, refused: bool) {
        let rechecks = &mut self.lock().rechecks;
        rechecks.made += 1;
        rechecks.whole += u64::from(is_whole);
        (rechecks.last, rechecks.refused) = (self.begun.elapsed(), refused);
    }

    /// Those made so far.
    pub fn rechecks(&self) -> Rechecks {
        self.lock().rechecks.clone()
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
