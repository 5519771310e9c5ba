//! Buffered writes: into the cache, reading first where only part of a page is given, and held back when
//! too much is dirty.

use super::page_cache::{CacheEvent, CallKind, CallStage, PageCache};
use super::params::PAGE_BYTES;
use super::readahead::ReadAheadWindow;
use crate::device::{Nanos, SimDevice, SimOutcome};

/// Pages a writer makes dirty before it looks at the limits again (Linux: 32 at first).
const PAGES_BETWEEN_LOOKS: u64 = 32;

impl<D: SimDevice> PageCache<D> {
    pub(super) fn step_write(&mut self, at: Nanos, number: u32) {
        loop {
            let task = self.tasks.get(number);
            let (page, begin) = (task.page, task.page * PAGE_BYTES);
            let all_done = begin >= task.end;
            let look = task.new_dirty >= PAGES_BETWEEN_LOOKS || (all_done && task.new_dirty > 0);
            if task.outcome != SimOutcome::Done {
                self.finish_later(number);
                return;
            }
            if look && self.held_back(at, number) {
                return;
            }
            if all_done {
                return self.write_done(at, number);
            }
            if self.page_must_wait(at, number) {
                return;
            }
            let task = self.tasks.get_mut(number);
            let bytes = task.end.min(begin + PAGE_BYTES) - task.offset.max(begin);
            task.busy_until += self.costs.copy(bytes);
            task.page += 1;
            let dirtied_at = task.busy_until;
            if self.pages.mark_dirty(page, dirtied_at) {
                self.tasks.get_mut(number).new_dirty += 1;
                self.schedule_wake(at);
            }
            self.pages.touch(page);
        }
    }

    /// Makes the page ready to take the data; whether that needs I/O first.
    fn page_must_wait(&mut self, at: Nanos, number: u32) -> bool {
        let task = self.tasks.get(number);
        let (page, begin) = (task.page, task.page * PAGE_BYTES);
        let whole = task.offset <= begin && task.end >= begin + PAGE_BYTES;
        match self.pages.find(page) {
            Some(found) if found.loaded => false,
            Some(found) => {
                self.wait_for(number, found.io);
                true
            }
            None if whole || !self.inner.holds_data(begin) => {
                self.pages.add_loaded(page);
                false
            }
            None => {
                if self.caught_up(at, number) {
                    self.fill(at, &ReadAheadWindow::alone(page, 1), page + 1);
                    if let Some(found) = self.pages.find(page) {
                        self.wait_for(number, found.io);
                    }
                }
                true
            }
        }
    }

    /// Starts write-back if there is enough to write; whether the writer must pause.
    fn held_back(&mut self, at: Nanos, number: u32) -> bool {
        let thresholds = self.settings.thresholds;
        if self.dirty_pages() <= thresholds.background_pages {
            self.tasks.get_mut(number).new_dirty = 0;
            return false;
        }
        if !self.caught_up(at, number) {
            return true;
        }
        self.write_back(at);
        let dirty = self.dirty_pages();
        let task = self.tasks.get_mut(number);
        let pause = thresholds.pause(dirty, task.new_dirty, self.rate.ns_per_page());
        if dirty < thresholds.limit_pages {
            task.new_dirty = 0;
        }
        if pause == 0 {
            return false;
        }
        task.busy_until = at + pause;
        self.agenda.at(at + pause, CacheEvent::Step(number));
        true
    }

    /// All is in the cache: done, or, for a write that must reach the medium, on to the sync.
    fn write_done(&mut self, at: Nanos, number: u32) {
        let task = self.tasks.get_mut(number);
        if !task.through {
            return self.finish_later(number);
        }
        task.kind = CallKind::Sync;
        task.stage = CallStage::Begin;
        self.step_sync(at, number);
    }
}
