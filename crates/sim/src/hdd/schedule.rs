//! The drive's next action, and its time: the only place where work for the mechanism begins.

use crate::device::{Nanos, SimOutcome};
use crate::hdd::disk::HardDisk;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum DiskEvent {
    /// A write's data is all in the write cache.
    Arrival,
    /// The writes under way are on the medium and give back their room.
    WritesDone,
    FlushDone,
    /// An answered command gives back its tag.
    TagFree,
    Admit,
    /// The mechanism takes a command from the queue.
    Command,
    Destage,
    Clean,
}

impl DiskEvent {
    /// Whether this only ends something. What ends at a moment is seen at that moment; what begins then
    /// can still be influenced by requests of the same moment.
    fn ends_something(self) -> bool {
        !matches!(self, DiskEvent::Command | DiskEvent::Destage | DiskEvent::Clean)
    }

    /// The first moment at which an event of `at` has taken place: what begins at a moment has begun once that
    /// is over.
    pub(super) fn done_by(self, at: Nanos) -> Nanos {
        if self.ends_something() { at } else { at + 1 }
    }
}

impl HardDisk {
    /// Whether no request waits for the mechanism or for another request.
    #[inline]
    pub(super) fn nothing_pending(&self) -> bool {
        self.queue.is_empty()
            && self.all_writes_answered()
            && self.flush.is_none()
            && self.waiting.is_empty()
    }

    /// Whether there is nothing at all to do, in the background either.
    #[inline]
    pub(super) fn is_idle(&self) -> bool {
        self.nothing_pending()
            && self.write_cache.is_clean()
            && !self.write_cache.is_writing()
            && self.shingles.as_ref().is_none_or(|s| s.is_clean())
    }

    /// Does everything that begins before `to` and ends by then.
    pub(super) fn run_until(&mut self, to: Nanos) {
        if self.is_idle() {
            return;
        }
        while let Some((at, event)) = self.next_event() {
            if at > to || (at == to && !event.ends_something()) {
                return;
            }
            self.perform(at, event);
        }
    }

    /// The next event, unless a request comes first. It follows from the state after the last one, and so cannot
    /// come before that: destaged data have arrived.
    pub(super) fn next_event(&self) -> Option<(Nanos, DiskEvent)> {
        let mut next: Option<(Nanos, DiskEvent)> = None;
        let mut offer = |at: Nanos, event: DiskEvent| {
            let at = at.max(self.clock);
            if next.is_none_or(|(earliest, _)| at < earliest) {
                next = Some((at, event));
            }
        };
        if let Some(&(arrived, _)) = self.waiting.front().filter(|_| self.flush.is_none()) {
            if self.tags() < self.sizes.depth {
                offer(arrived.max(self.admit_from), DiskEvent::Admit);
            } else if let Some(answer) = self.completions.get(self.retired) {
                offer(answer.at, DiskEvent::TagFree);
            }
        }
        if let Some(write) = self.arriving.front().filter(|_| self.blocked_write.is_none()) {
            offer(write.at, DiskEvent::Arrival);
        }
        let free = self.mechanism_free;
        if self.write_cache.is_writing() {
            offer(free, DiskEvent::WritesDone);
            return next;
        }
        let command = self.command_due();
        let destage = self.destage_due();
        match (command, destage) {
            // under pressure the two take turns, unless the cache is emptied in bursts
            (Some(c), Some(d)) if d <= c || (self.is_destaging_next() && d <= free.max(c)) => {
                let is_command = !self.is_destaging_next() && c <= d;
                offer(d, if is_command { DiskEvent::Command } else { DiskEvent::Destage });
            }
            (Some(c), _) => offer(c, DiskEvent::Command),
            (None, Some(d)) => offer(d, DiskEvent::Destage),
            (None, None) => {
                if let Some(flush) = self.flush.filter(|_| self.all_writes_answered()) {
                    offer(free.max(flush.ready), DiskEvent::FlushDone);
                } else if self.shingles.as_ref().is_some_and(|s| !s.is_clean()) {
                    offer(free.max(self.last_activity + self.times.clean_idle), DiskEvent::Clean);
                }
            }
        }
        next
    }

    /// Whether destaging comes before a command: so does what continues the last write to the medium, lest the arm
    /// leave a run, but no more of it than the cache holds.
    #[inline]
    fn is_destaging_next(&self) -> bool {
        let is_in_burst = self.write_cache.has_bursts() && self.write_cache.is_pressed();
        let may_write_on = self.destaged_bytes < self.write_cache.limit_bytes();
        is_in_burst || !self.destaged_last || (may_write_on && self.writes_on())
    }

    /// When the mechanism can begin with the oldest command: once the electronics are done with it, or sooner
    /// if the head reaches its sectors from those before and reads on anyway, as it would without the command.
    #[inline]
    fn command_due(&self) -> Option<Nanos> {
        let (oldest, free) = (self.queue.oldest()?, self.mechanism_free);
        let comes_by = oldest.first == self.mechanism.next_sector() && oldest.arrived <= free;
        if comes_by && !oldest.writes() && self.reads_ahead() {
            return Some(free);
        }
        Some(free.max(oldest.ready))
    }

    /// When destaging is due: now if a flush has nothing else to wait for or the cache is pressed, else
    /// after some idle time.
    fn destage_due(&self) -> Option<Nanos> {
        if self.write_cache.is_clean() {
            return None;
        }
        let from = match &self.flush {
            Some(flush) if self.queue.is_empty() => flush.ready,
            _ if self.blocked_write.is_some() || self.write_cache.is_pressed() => 0,
            _ if self.writes_on() => 0,
            _ => self.last_activity + self.times.destage_idle,
        };
        Some(self.mechanism_free.max(from))
    }

    pub(super) fn perform(&mut self, at: Nanos, event: DiskEvent) {
        if self.faults.gone(at) {
            self.lose_everything(at);
            return;
        }
        self.clock = at;
        match event {
            DiskEvent::Arrival => self.take_into_cache(at),
            DiskEvent::WritesDone => {
                self.write_cache.finish();
                self.answer_blocked_write(at);
            }
            DiskEvent::FlushDone => {
                if let Some(flush) = self.flush.take() {
                    self.complete(flush.id, at, SimOutcome::Done);
                    self.admit_from = at;
                }
            }
            DiskEvent::TagFree => {
                self.retired += 1;
                self.admit_from = at;
            }
            DiskEvent::Admit => {
                if let Some((_, request)) = self.waiting.pop_front() {
                    self.last_activity = self.last_activity.max(at);
                    self.accept(at, request);
                }
            }
            DiskEvent::Command => {
                self.destaged_last = false;
                self.destaged_bytes = 0;
                self.serve_command(at);
            }
            DiskEvent::Destage => {
                self.destaged_last = true;
                self.destage(at);
                self.destaged_bytes += self.write_cache.bytes_under_way();
            }
            DiskEvent::Clean => self.clean_band(at),
        }
    }

    /// Answers all outstanding requests with "gone" and forgets the rest.
    fn lose_everything(&mut self, at: Nanos) {
        let mut ids: Vec<u64> = self.queue.drain().iter().map(|c| c.request.id).collect();
        ids.extend(self.blocked_write.take());
        ids.extend(self.arriving.drain(..).map(|write| write.id));
        ids.extend(self.flush.take().map(|flush| flush.id));
        ids.extend(self.waiting.drain(..).map(|(_, request)| request.id));
        for id in ids {
            self.complete(id, at, SimOutcome::Gone);
        }
        self.write_cache.finish();
        self.write_cache.remove(0, u64::MAX);
        self.shingles = None;
        self.read_ahead = None;
    }
}
