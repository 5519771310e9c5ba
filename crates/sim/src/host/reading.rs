//! Buffered reads: pages that are there are copied, missing ones are read with read-ahead.

use super::page_cache::{CacheEvent, DeviceIo, IoKind, PageCache};
use super::params::PAGE_BYTES;
use super::readahead::ReadAheadWindow;
use crate::device::{Nanos, RequestKind, SimDevice, SimOutcome};

impl<D: SimDevice> PageCache<D> {
    pub(super) fn step_read(&mut self, at: Nanos, number: u32) {
        loop {
            let task = self.tasks.get(number);
            let (page, begin) = (task.page, task.page * PAGE_BYTES);
            if begin >= task.end {
                self.read_done(number);
                return;
            }
            let bytes = task.end.min(begin + PAGE_BYTES) - task.offset.max(begin);
            match self.pages.find(page) {
                Some(found) if found.loaded => {
                    if found.marker {
                        if !self.caught_up(at, number) {
                            return;
                        }
                        self.pages.set_marker(page, false);
                        self.read_ahead_from_marker(at, number);
                    }
                    self.pages.touch(page);
                    let cost = self.costs.copy(bytes);
                    let task = self.tasks.get_mut(number);
                    task.busy_until += cost;
                    task.page += 1;
                }
                Some(found) => return self.wait_for(number, found.io),
                None => {
                    if self.tasks.get(number).outcome != SimOutcome::Done {
                        self.finish_later(number);
                        return;
                    }
                    if !self.caught_up(at, number) {
                        return;
                    }
                    self.read_missing(at, number);
                }
            }
        }
    }

    pub(super) fn wait_for(&mut self, number: u32, io: u32) {
        self.tasks.get_mut(number).waits += 1;
        self.ios.get_mut(io).waiters.push(number);
    }

    fn read_done(&mut self, number: u32) {
        let task = self.tasks.get(number);
        let (id, last) = (task.id, (task.end - 1) / PAGE_BYTES);
        self.files.of(id).note_read(last);
        self.agenda.at(task.busy_until, CacheEvent::Finish(number));
    }

    fn read_missing(&mut self, at: Nanos, number: u32) {
        let task = self.tasks.get(number);
        let (id, page, careful) = (task.id, task.page, task.careful);
        let wanted = task.end.div_ceil(PAGE_BYTES) - page;
        if careful {
            self.fill(at, &ReadAheadWindow::alone(page, 1), page + 1);
            return;
        }
        let end = self.end_page();
        let max = self.settings.read_ahead_pages;
        let Self { pages, files, .. } = self;
        let cached_before = |max: u64| {
            let back = (0..page).rev().take(max as usize);
            back.take_while(|&before| pages.holds(before)).count() as u64
        };
        let window = files.of(id).on_miss(page, wanted, max, cached_before);
        self.fill(at, &window, end);
        if !self.pages.holds(page) {
            // A stream that was read elsewhere meanwhile: the window lies beyond the requested page.
            self.fill(at, &ReadAheadWindow::alone(page, 1), page + 1);
        }
    }

    fn read_ahead_from_marker(&mut self, at: Nanos, number: u32) {
        let task = self.tasks.get(number);
        let (id, page) = (task.id, task.page);
        let wanted = task.end.div_ceil(PAGE_BYTES) - page;
        let end = self.end_page();
        let max = self.settings.read_ahead_pages;
        let Self { pages, files, .. } = self;
        let next_missing = |max: u64| (page + 1..=page + max).find(|&next| !pages.holds(next));
        if let Some(window) = files.of(id).on_marker(page, wanted, max, next_missing) {
            self.fill(at, &window, end);
        }
    }

    fn end_page(&self) -> u64 {
        self.inner.capacity_bytes().div_ceil(PAGE_BYTES)
    }

    /// Sends reads for the missing pages of a window, as few and as large as can be.
    pub(super) fn fill(&mut self, at: Nanos, window: &ReadAheadWindow, end: u64) {
        let last = (window.start + window.size).min(end);
        let mut page = window.start;
        while page < last {
            if self.pages.holds(page) {
                page += 1;
                continue;
            }
            let most = last.min(page + self.settings.request_max_pages);
            let run = (page..most).take_while(|&next| !self.pages.holds(next)).count() as u64;
            let io = DeviceIo { kind: IoKind::Fill, first: page, pages: run, waiters: Vec::new() };
            let io = self.ios.insert(io);
            (page..page + run).for_each(|next| self.pages.add_reading(next, io));
            self.send(at, io, RequestKind::Read);
            page += run;
        }
        if let Some(marker) = window.marker().filter(|&marker| marker < end) {
            self.pages.set_marker(marker, true);
        }
    }

    pub(super) fn filled(&mut self, io: &DeviceIo, outcome: SimOutcome) {
        for page in io.first..io.first + io.pages {
            if outcome == SimOutcome::Done {
                self.pages.loaded(page);
            } else {
                self.pages.drop_failed(page);
            }
        }
    }
}
