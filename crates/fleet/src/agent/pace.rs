//! When an agent polls: spread, sooner after work, later while the server is away.

use super::AgentError;
use crate::tables::Holder;
use std::time::{Duration, Instant};

/// After work more may be there.
const AFTER_WORK: Duration = Duration::from_millis(500);
/// Running jobs are looked at as often.
const LOOK_EVERY: Duration = Duration::from_millis(200);
/// A server that is away is tried at least as often.
const FAILED_MAX: Duration = Duration::from_secs(120);

pub(super) struct Pace {
    poll: Duration,
    due: Instant,
    failures: u32,
    random: u64,
    /// When another agent was first seen to have this host's id, and how long ago the server had heard of it.
    holder: Option<(Instant, f64)>,
}

impl Pace {
    pub(super) fn new(poll: Duration, seed: u64) -> Self {
        Self { poll, due: Instant::now(), failures: 0, random: seed | 1, holder: None }
    }

    /// Between 0.75 and 1.25 of a time, so that many agents do not come together.
    fn spread(&mut self, time: Duration) -> Duration {
        // xorshift64.
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        time.mul_f64(0.75 + 0.5 * (self.random >> 11) as f64 / (1u64 << 53) as f64)
    }

    pub(super) fn is_due(&self) -> bool {
        Instant::now() >= self.due
    }

    pub(super) fn hurry(&mut self) {
        if self.failures == 0 {
            self.due = Instant::now();
        }
    }

    pub(super) fn polled(&mut self, has_taken: bool, is_working: bool) {
        self.failures = 0;
        let sooner =
            if has_taken || is_working { self.poll.min(AFTER_WORK * 10) } else { self.poll };
        let next = if has_taken { self.poll.min(AFTER_WORK) } else { sooner };
        self.due = Instant::now() + self.spread(next);
    }

    pub(super) fn failed(&mut self) {
        self.failures = (self.failures + 1).min(20);
        let times = 2u32.saturating_pow(self.failures - 1);
        let next = self.poll.saturating_mul(times).min(FAILED_MAX.max(self.poll));
        self.due = Instant::now() + self.spread(next);
    }

    pub(super) fn wait(&self, is_working: bool) -> Duration {
        let left = self.due.saturating_duration_since(Instant::now());
        if is_working { left.min(LOOK_EVERY) } else { left }
    }

    /// Errors: the other agent with this host's id lives: it polled since it was first seen.
    pub(super) fn check_holder(
        &mut self,
        id: &str,
        holder: Option<Holder>,
    ) -> Result<(), AgentError> {
        let Some(holder) = holder else { return Ok(()) };
        let Some((seen, ago_s)) = self.holder else {
            self.holder = Some((Instant::now(), holder.seen_s_ago));
            return Ok(());
        };
        // If it is dead, this grows with the clock.
        if holder.seen_s_ago + 1.0 >= ago_s + seen.elapsed().as_secs_f64() {
            return Ok(());
        }
        let name = holder.name;
        Err(AgentError::Identity(format!(
            "another machine, now named {name}, runs as this host ({id}): one is a copy of the other; remove the \
             file id in the state folder of this agent, and start it again"
        )))
    }

    pub(super) fn forget_holder(&mut self) {
        self.holder = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_that_is_away_is_asked_ever_more_seldom() {
        let mut pace = Pace::new(Duration::from_secs(30), 7);
        let waits: Vec<f64> = (0..6)
            .map(|_| {
                pace.failed();
                pace.wait(false).as_secs_f64()
            })
            .collect();
        assert!(waits[0] > 20.0 && waits[0] < 40.0, "{waits:?}");
        assert!(waits.iter().all(|wait| *wait < 151.0) && waits[5] > 89.0, "{waits:?}");
    }

    #[test]
    fn a_former_agent_is_told_from_a_living_copy() {
        let holder = |seen_s_ago| Some(Holder { name: "h".into(), boot: "b".into(), seen_s_ago });
        let mut pace = Pace::new(Duration::from_secs(30), 7);
        pace.check_holder("id", holder(20.0)).unwrap();
        pace.check_holder("id", holder(21.0)).unwrap();
        let error = pace.check_holder("id", holder(2.0)).unwrap_err();
        assert!(error.to_string().contains("one is a copy of the other"), "{error}");
    }
}
