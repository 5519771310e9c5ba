//! Finds the completion of each request.

use super::record::{RecordKind, SourceRecord};
use crate::event::{TraceEvent, TraceOp};
use std::collections::{HashMap, VecDeque};

/// Requests that wait for their completion, and later ones; beyond this, the completion was lost.
const WAITING_MAX: usize = 1 << 16;

/// Requests in the order in which they were sent, until their completion has come.
#[derive(Debug, Default)]
pub struct Matcher {
    /// The first has this number.
    first: u64,
    waiting: VecDeque<Waiting>,
    /// By kind and place: the positions of requests without a completion yet.
    open: HashMap<(TraceOp, u64), VecDeque<u64>>,
    is_over: bool,
    failed: u64,
}

#[derive(Debug)]
struct Waiting {
    event: TraceEvent,
    /// Where the part begins that has not completed.
    rest: u64,
    is_done: bool,
    /// It was sent again: the later one counts.
    is_dropped: bool,
}

impl Matcher {
    pub fn take(&mut self, SourceRecord { event, kind }: SourceRecord) {
        match kind {
            RecordKind::Whole => self.add(event, true),
            RecordKind::Start { flushes_before } => {
                if flushes_before && event.op != TraceOp::Flush {
                    let flush = TraceEvent {
                        op: TraceOp::Flush,
                        offset: 0,
                        len: 0,
                        fua: false,
                        latency_ns: None,
                        ..event
                    };
                    self.add(flush, true);
                }
                self.add(event, false);
            }
            RecordKind::Requeue => self.requeue(event),
            RecordKind::Completion { failed } => {
                self.failed += u64::from(failed);
                self.complete(event);
            }
        }
    }

    fn add(&mut self, event: TraceEvent, is_done: bool) {
        let number = self.first + self.waiting.len() as u64;
        let rest = event.offset;
        self.waiting.push_back(Waiting { event, rest, is_done, is_dropped: false });
        if !is_done {
            self.open.entry((event.op, event.offset)).or_default().push_back(number);
        }
    }

    /// Large requests may complete in parts, from their beginning on.
    fn complete(&mut self, end: TraceEvent) {
        let Some(index) = self.take_open(&end) else { return };
        let waiting = &mut self.waiting[index as usize];
        waiting.rest = waiting.rest.saturating_add(end.len.into());
        if end.len > 0 && waiting.rest < waiting.event.end() {
            let key = (end.op, waiting.rest);
            self.open.entry(key).or_default().push_back(self.first + index);
            return;
        }
        waiting.event.latency_ns = Some(end.at_ns.saturating_sub(waiting.event.at_ns));
        waiting.is_done = true;
    }

    /// Takes out the waiting request that a record of this kind and place is about.
    fn take_open(&mut self, record: &TraceEvent) -> Option<u64> {
        let key = (record.op, record.offset);
        let numbers = self.open.get_mut(&key)?;
        // Abandoned requests are gone.
        let number =
            std::iter::from_fn(|| numbers.pop_front()).find(|number| *number >= self.first);
        if numbers.is_empty() {
            self.open.remove(&key);
        }
        number.map(|number| number - self.first)
    }

    /// A request given back to the queue is sent again, whole or the rest of it.
    fn requeue(&mut self, back: TraceEvent) {
        let Some(index) = self.take_open(&back).map(|index| index as usize) else { return };
        let waiting = &mut self.waiting[index];
        waiting.is_done = true;
        let done = waiting.rest - waiting.event.offset;
        waiting.event.len = done as u32;
        waiting.is_dropped = done == 0;
    }

    /// The next request in order, if it is complete.
    pub fn next(&mut self) -> Option<TraceEvent> {
        while self.waiting.front().is_some_and(|first| first.is_dropped) {
            self.waiting.pop_front();
            self.first += 1;
        }
        let first = self.waiting.front()?;
        if !first.is_done && !self.is_over && self.waiting.len() <= WAITING_MAX {
            return None;
        }
        let Waiting { event, rest, is_done, .. } = self.waiting.pop_front()?;
        let key = (event.op, rest);
        if !is_done && let Some(numbers) = self.open.get_mut(&key) {
            if numbers.front() == Some(&self.first) {
                numbers.pop_front();
            }
            if numbers.is_empty() {
                self.open.remove(&key);
            }
        }
        self.first += 1;
        Some(event)
    }

    pub fn end(&mut self) {
        self.is_over = true;
    }

    pub fn failed(&self) -> u64 {
        self.failed
    }
}
