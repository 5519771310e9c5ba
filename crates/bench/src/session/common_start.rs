//! A start at one instant on several machines: the first measurement of a run waits for it.

use super::Session;
use std::cell::Cell;
use std::sync::atomic::Ordering;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// A signal is noticed in this time.
const SLICE: Duration = Duration::from_millis(50);

/// When the first measurement is to begin, and when it did; microseconds since 1970 by the clock of this host.
#[derive(Debug, Default)]
pub(super) struct CommonStart {
    at_unix_us: Option<i64>,
    began_unix_us: Cell<Option<i64>>,
}

fn now_unix_us() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_micros()).unwrap_or(i64::MAX)
}

impl Session<'_> {
    /// Its first measurement begins then, by the clock of this host; what has to be prepared is prepared before.
    pub fn with_common_start(mut self, at_unix_us: Option<i64>) -> Self {
        self.common_start = CommonStart { at_unix_us, began_unix_us: Cell::new(None) };
        self
    }

    /// When the first measurement of a common start began.
    pub fn began_unix_us(&self) -> Option<i64> {
        self.common_start.began_unix_us.get()
    }

    /// Just before a measurement. One that is prepared too late begins at once.
    pub(super) fn wait_for_common_start(&self) {
        let Some(at) = self.common_start.at_unix_us else { return };
        if self.began_unix_us().is_some() {
            return;
        }
        loop {
            let left_us = u64::try_from(at - now_unix_us()).unwrap_or(0);
            if left_us == 0 || self.stop.load(Ordering::Relaxed) {
                break;
            }
            std::thread::sleep(Duration::from_micros(left_us).min(SLICE));
        }
        self.common_start.began_unix_us.set(Some(now_unix_us()));
    }
}
