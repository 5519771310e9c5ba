//! Write-back in the background, sync, and direct requests.

use super::page_cache::{CacheEvent, CallKind, CallStage, DeviceIo, IoKind, PageCache};
use super::params::PAGE_BYTES;
use crate::device::{Nanos, RequestKind, SimDevice, SimOutcome, SimRequest};

impl<D: SimDevice> PageCache<D> {
    pub(super) fn schedule_wake(&mut self, at: Nanos) {
        if !self.flusher.wakes {
            self.flusher.wakes = true;
            self.agenda.at(at + self.settings.wake_ns, CacheEvent::Wake);
        }
    }

    /// Looks for pages that have been dirty too long.
    pub(super) fn wake(&mut self, at: Nanos) {
        self.flusher.wakes = false;
        if let Some(cutoff) = at.checked_sub(self.settings.expire_ns) {
            let mut expired = self.pages.take_expired(cutoff);
            expired.extend(self.flusher.expired.drain(..));
            expired.sort_unstable();
            self.flusher.expired = expired.into();
        }
        self.write_back(at);
        if self.pages.dirty_pages() > 0 {
            self.schedule_wake(at);
        }
    }

    /// Keeps the device supplied with writes while there is reason to write.
    pub(super) fn write_back(&mut self, at: Nanos) {
        while self.writes_at_device < self.settings.write_requests {
            let Some(first) = self.next_to_write() else { break };
            if self.pages.writeback_pages() == 0 {
                self.rate.begins(at);
            }
            let pages = self.pages.begin_writeback(first, self.settings.request_max_pages);
            self.flusher.cursor = first + pages;
            self.queue_write(at, first, pages, None);
        }
    }

    /// Where the next run of dirty pages begins that is due by age or by amount.
    fn next_to_write(&mut self) -> Option<u64> {
        while let Some(page) = self.flusher.expired.pop_front() {
            if self.pages.is_dirty(page) && self.pages.next_dirty(page, page + 1).is_some() {
                return Some(page);
            }
        }
        if self.pages.dirty_pages() <= self.settings.thresholds.background_pages {
            return None;
        }
        let cursor = self.flusher.cursor;
        self.pages.next_dirty(cursor, u64::MAX).or_else(|| self.pages.next_dirty(0, cursor))
    }

    /// Sends a write of pages already marked as being written, or queues it while the device has enough.
    fn queue_write(&mut self, at: Nanos, first: u64, pages: u64, waiter: Option<u32>) {
        let waiters = waiter.into_iter().collect();
        let io = self.ios.insert(DeviceIo { kind: IoKind::WriteBack, first, pages, waiters });
        if self.writes_at_device < self.settings.write_requests {
            self.writes_at_device += 1;
            self.send(at, io, RequestKind::Write);
        } else {
            self.write_queue.push_back(io);
        }
    }

    pub(super) fn written_back(&mut self, at: Nanos, io: &DeviceIo, outcome: SimOutcome) {
        self.pages.end_writeback(io.first, io.pages);
        self.rate.written(at, io.pages);
        if outcome != SimOutcome::Done {
            self.write_error = Some(outcome);
        }
        self.writes_at_device -= 1;
        if let Some(next) = self.write_queue.pop_front() {
            self.writes_at_device += 1;
            self.send(at, next, RequestKind::Write);
        }
        self.write_back(at);
    }

    /// Writes the dirty pages in a task's range and makes the task wait for these and for pages being
    /// written there already. Whether there is anything to wait for.
    ///
    /// A page that was changed again while it is being written cannot be written now: the task runs
    /// again. By then the write in progress holds the change, or the page is free to be written.
    fn write_range(&mut self, at: Nanos, number: u32) -> bool {
        let task = self.tasks.get_mut(number);
        let (first, end) = (task.offset / PAGE_BYTES, task.end.div_ceil(PAGE_BYTES));
        let comes_again = task.stage == CallStage::Begin && self.pages.is_rewritten(first, end);
        task.stage = if comes_again { CallStage::Again } else { CallStage::DataWritten };
        let mut waits = 0;
        for io in self.ios.values_mut() {
            if io.kind == IoKind::WriteBack && io.first < end && io.first + io.pages > first {
                io.waiters.push(number);
                waits += 1;
            }
        }
        let mut from = first;
        while let Some(page) = self.pages.next_dirty(from, end) {
            let most = self.settings.request_max_pages.min(end - page);
            let pages = self.pages.begin_writeback(page, most);
            self.queue_write(at, page, pages, Some(number));
            waits += 1;
            from = page + pages;
        }
        self.tasks.get_mut(number).waits += waits;
        waits > 0
    }

    /// Sends the request of a task that passes by the cache; the task's last stage comes after it.
    fn send_last(
        &mut self,
        at: Nanos,
        number: u32,
        op: RequestKind,
        (offset, len): (u64, u64),
        fua: bool,
    ) {
        let task = self.tasks.get_mut(number);
        task.stage = CallStage::Last;
        task.waits += 1;
        let io = DeviceIo { kind: IoKind::Other, first: 0, pages: 0, waiters: vec![number] };
        let id = u64::from(self.ios.insert(io));
        self.inner.submit(at, SimRequest { id, op, offset, len, fua });
    }

    /// Data first, and only when the device has it the flush.
    pub(super) fn step_sync(&mut self, at: Nanos, number: u32) {
        if !self.caught_up(at, number) {
            return;
        }
        loop {
            let task = self.tasks.get_mut(number);
            match task.stage {
                CallStage::Begin | CallStage::Again => {
                    if self.write_range(at, number) {
                        return;
                    }
                }
                CallStage::DataWritten => {
                    return self.send_last(at, number, RequestKind::Flush, (0, 0), false);
                }
                CallStage::Last => {
                    let failed = self.write_error.take();
                    let task = self.tasks.get_mut(number);
                    if task.outcome == SimOutcome::Done {
                        task.outcome = failed.unwrap_or(SimOutcome::Done);
                    }
                    return self.finish_later(number);
                }
            }
        }
    }

    /// Dirty pages of the range first, then the request itself; a write drops the pages it made stale.
    pub(super) fn step_direct(&mut self, at: Nanos, number: u32, op: RequestKind) {
        if !self.caught_up(at, number) {
            return;
        }
        loop {
            let task = self.tasks.get_mut(number);
            let (offset, len) = (task.offset, task.end - task.offset);
            let sector = u64::from(self.inner.sector_bytes());
            if !offset.is_multiple_of(sector) || !len.is_multiple_of(sector) {
                return self.fail(number, SimOutcome::Invalid);
            }
            let (first, end) = (offset / PAGE_BYTES, task.end.div_ceil(PAGE_BYTES));
            match task.stage {
                CallStage::Begin | CallStage::Again => {
                    if self.write_range(at, number) {
                        return;
                    }
                }
                CallStage::DataWritten => {
                    let fua = task.through && op == RequestKind::Write;
                    if op != RequestKind::Read {
                        self.pages.evict(first, end);
                    }
                    return self.send_last(at, number, op, (offset, len), fua);
                }
                CallStage::Last => {
                    debug_assert!(matches!(task.kind, CallKind::Direct(_)));
                    if op != RequestKind::Read {
                        self.pages.evict(first, end);
                    }
                    return self.finish_later(number);
                }
            }
        }
    }
}
