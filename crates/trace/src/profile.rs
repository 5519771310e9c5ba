//! The facts of a trace that planning a replay needs, and how its times become waits.

use crate::error::TraceError;
use crate::event::{EventSink, TraceEvent};
use crate::file::TraceTotals;

/// Follows the requests of a trace: those in flight when each was sent.
#[derive(Debug, Clone, Default)]
pub struct ThinkClock {
    /// When all requests so far had completed.
    until_ns: u64,
    last_ns: u64,
}

/// When a request was sent, by what went before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SendTime {
    /// Time after everything before it had completed; without completions, after the one before was sent.
    AfterIdle(u64),
    /// Time after the one before it was sent, with something in flight.
    AfterSend(u64),
}

impl ThinkClock {
    pub fn take(&mut self, event: &TraceEvent) -> SendTime {
        let time = match event.at_ns.checked_sub(self.until_ns) {
            Some(gap_ns) => SendTime::AfterIdle(gap_ns),
            None => SendTime::AfterSend(event.at_ns - self.last_ns),
        };
        self.last_ns = event.at_ns;
        let end_ns = event.at_ns.saturating_add(event.latency_ns.unwrap_or(0));
        self.until_ns = self.until_ns.max(end_ns);
        time
    }
}

/// The facts of a trace that planning a replay needs.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TraceProfile {
    pub totals: TraceTotals,
    /// From its beginning to its last completion, or where none is known to its last request.
    pub length_ns: u64,
    /// Time with nothing in flight, each stretch at most the requested length; where no completions are known, time
    /// between requests.
    pub think_ns: u64,
    /// Time left out of longer stretches.
    pub cut_ns: u64,
}

impl TraceProfile {
    /// Reads a trace once. Stretches without requests longer than `think_max_ns` count as that.
    pub fn of(
        read: impl FnOnce(&mut dyn EventSink) -> Result<TraceTotals, TraceError>,
        think_max_ns: u64,
    ) -> Result<Self, TraceError> {
        let (mut profile, mut clock) = (Self::default(), ThinkClock::default());
        let mut take = |event: &TraceEvent| {
            profile.totals.add(event);
            if let SendTime::AfterIdle(gap_ns) = clock.take(event) {
                let kept_ns = gap_ns.min(think_max_ns);
                profile.think_ns += kept_ns;
                profile.cut_ns += gap_ns - kept_ns;
            }
            Ok(())
        };
        let source_totals = read(&mut take)?;
        profile.totals.lost = source_totals.lost;
        if profile.totals.events == 0 {
            return Err(TraceError::Empty);
        }
        profile.length_ns = clock.until_ns;
        Ok(profile)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::read_ms;

    const MS: u64 = 1_000_000;

    /// Two that overlap, one after a pause of a second, one right after that.
    #[test]
    fn think_time_lies_between_bursts_and_is_cuttable() {
        fn idle(ms: u64) -> SendTime {
            SendTime::AfterIdle(ms * MS)
        }
        let events = [read_ms(0, 10), read_ms(4, 10), read_ms(1_014, 5), read_ms(1_019, 1)];
        let mut clock = ThinkClock::default();
        let times: Vec<SendTime> = events.iter().map(|event| clock.take(event)).collect();
        assert_eq!(times, [idle(0), SendTime::AfterSend(4 * MS), idle(1_000), idle(0)]);
        let profile = |think_max_ns| {
            let all = |sink: &mut dyn EventSink| {
                events.iter().try_for_each(|it| sink.event(it)).map(|()| TraceTotals::default())
            };
            TraceProfile::of(all, think_max_ns).unwrap()
        };
        let kept = profile(u64::MAX);
        assert_eq!((kept.length_ns, kept.think_ns, kept.cut_ns), (1_020 * MS, 1_000 * MS, 0));
        let cut = profile(25 * MS);
        assert_eq!((cut.think_ns, cut.cut_ns, cut.totals.reads), (25 * MS, 975 * MS, 4));
        assert!(TraceProfile::of(|_| Ok(TraceTotals::default()), 0).is_err(), "nothing in it");
    }
}
