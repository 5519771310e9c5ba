//! The clock of the server, as seen from here.

use std::time::{SystemTime, UNIX_EPOCH};

/// The newest looks at the server's clock that are kept.
const KEPT: usize = 20;

/// One look.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClockLook {
    /// Clock of the server less clock of this host, microseconds.
    pub offset_us: i64,
    /// Half the round trip: how far that may be off.
    pub error_us: i64,
}

/// The newest looks; the one with the shortest round trip counts.
#[derive(Debug, Clone, Default)]
pub struct ServerClock {
    looks: Vec<ClockLook>,
}

/// Microseconds since 1970 by the clock of this host.
pub fn local_unix_us() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_micros()).unwrap_or(i64::MAX)
}

impl ServerClock {
    /// The server said `server_us` between these two times of this host.
    pub fn note(&mut self, sent_us: i64, server_us: i64, received_us: i64) {
        let half = (received_us - sent_us).max(0) / 2;
        // A clock that was set meanwhile makes all earlier looks wrong.
        if let Some(best) = self.best() {
            let apart = (server_us - sent_us - half - best.offset_us).abs();
            if apart > half + best.error_us + 50_000 {
                self.looks.clear();
            }
        }
        self.looks.push(ClockLook { offset_us: server_us - sent_us - half, error_us: half });
        if self.looks.len() > KEPT {
            self.looks.remove(0);
        }
    }

    pub fn best(&self) -> Option<ClockLook> {
        self.looks.iter().min_by_key(|look| look.error_us).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shortest_round_trip_counts_and_a_clock_that_was_set_is_noticed() {
        let mut clock = ServerClock::default();
        clock.note(1_000_000, 3_040_000, 1_100_000);
        clock.note(2_000_000, 4_005_000, 2_010_000);
        clock.note(3_000_000, 5_100_000, 3_120_000);
        assert_eq!(clock.best(), Some(ClockLook { offset_us: 2_000_000, error_us: 5_000 }));
        clock.note(10_000_000, 10_020_000, 10_030_000);
        assert_eq!(clock.best(), Some(ClockLook { offset_us: 5_000, error_us: 15_000 }));
    }
}
