//! From the requests of a trace to the steps of a replay: what is sent, where, and after what.

use super::footprint::Placement;
use crate::io::queue::IoOp;
use drivescope_model::options::ReplayTiming;
use drivescope_trace::profile::{SendTime, ThinkClock};
use drivescope_trace::{TraceEvent, TraceOp};

/// Longest request that is sent whole: block devices take less, and every buffer has this length at most.
pub const LEN_MAX: u32 = 8 << 20;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Due {
    /// ns after the start.
    At(u64),
    /// ns after everything before it has completed.
    AfterIdle(u64),
    /// ns after the one before it was sent.
    AfterSend(u64),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReplayStep {
    pub op: IoOp,
    pub offset: u64,
    pub len: u32,
    pub due: Due,
}

#[derive(Debug, Clone)]
pub struct StepRules {
    /// When requests are sent; not [`ReplayTiming::Auto`].
    pub timing: ReplayTiming,
    /// Longer times with nothing in flight are cut to this.
    pub think_max_ns: u64,
    pub placement: Placement,
    pub reads_only: bool,
    /// Places and lengths are multiples of this.
    pub align_bytes: u32,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct StepCounts {
    pub steps: u64,
    pub not_written: u64,
    /// Discards, which are never sent.
    pub discards: u64,
    /// Requests that became longer or shorter, or several.
    pub altered: u64,
}

#[derive(Debug)]
pub struct StepMaker {
    rules: StepRules,
    clock: ThinkClock,
    cut_ns: u64,
    /// What the next request waits for instead of one before it that was left out.
    carried: Option<Due>,
    counts: StepCounts,
}

impl StepMaker {
    pub fn new(rules: StepRules) -> Self {
        let clock = ThinkClock::default();
        Self { rules, clock, cut_ns: 0, carried: None, counts: StepCounts::default() }
    }

    pub fn counts(&self) -> StepCounts {
        self.counts
    }

    pub fn take(&mut self, event: &TraceEvent, steps: &mut Vec<ReplayStep>) {
        let due = self.due(event);
        let Some(op) = self.op(event) else {
            self.carried = Some(due);
            return;
        };
        self.carried = None;
        if op == IoOp::Sync {
            self.counts.steps += 1;
            steps.push(ReplayStep { op, offset: 0, len: 0, due });
            return;
        }
        let align = u64::from(self.rules.align_bytes.max(1));
        let from = event.offset / align * align;
        let to = event.end().next_multiple_of(align);
        let (mut at, mut due) = (from, due);
        while at < to {
            let len = (to - at).min(LEN_MAX.into());
            let offset = self.rules.placement.place(at);
            steps.push(ReplayStep { op, offset, len: len as u32, due });
            self.counts.steps += 1;
            at += len;
            due = match due {
                Due::At(ns) => Due::At(ns),
                _ => Due::AfterSend(0),
            };
        }
        let is_same = (from, to) == (event.offset, event.end()) && event.len <= LEN_MAX;
        self.counts.altered += u64::from(!is_same);
    }

    /// What is sent for a request, if anything.
    fn op(&mut self, event: &TraceEvent) -> Option<IoOp> {
        let is_discard = matches!(event.op, TraceOp::Discard | TraceOp::WriteZeroes);
        if is_discard || (event.moves_data() && event.len == 0) {
            self.counts.discards += 1;
            return None;
        }
        let op = match event.op {
            TraceOp::Read => IoOp::Read,
            TraceOp::Write if event.fua => IoOp::WriteThrough,
            TraceOp::Write => IoOp::Write,
            _ => IoOp::Sync,
        };
        if self.rules.reads_only && op != IoOp::Read {
            self.counts.not_written += 1;
            return None;
        }
        Some(op)
    }

    fn due(&mut self, event: &TraceEvent) -> Due {
        let sent = match self.clock.take(event) {
            SendTime::AfterIdle(gap_ns) => {
                let kept_ns = gap_ns.min(self.rules.think_max_ns);
                self.cut_ns += gap_ns - kept_ns;
                Due::AfterIdle(kept_ns)
            }
            SendTime::AfterSend(gap_ns) => Due::AfterSend(gap_ns),
        };
        match self.rules.timing {
            ReplayTiming::Asap => Due::AfterSend(0),
            ReplayTiming::Deadlines => Due::At(event.at_ns - self.cut_ns),
            _ => match (self.carried, sent) {
                (Some(Due::AfterIdle(carried)), Due::AfterIdle(ns) | Due::AfterSend(ns)) => {
                    Due::AfterIdle(carried + ns)
                }
                (Some(Due::AfterSend(carried)), Due::AfterSend(ns)) => Due::AfterSend(carried + ns),
                _ => sent,
            },
        }
    }
}
