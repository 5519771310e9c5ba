//! The page cache as a device: buffered and direct reads and writes, write-back, sync.
//!
//! This file has the types, the interface, and the course of time. What a task does is in `reading`,
//! `writing` and `flushing`.

use std::collections::VecDeque;

use super::pages::PageTable;
use super::params::{Costs, HostParams, PAGE_BYTES};
use super::readahead::OpenFiles;
use super::writeback::{Thresholds, WriteRate};
use crate::device::{Nanos, RequestKind, SimCompletion, SimDevice, SimOutcome, SimRequest};
use crate::event_queue::{EventQueue, earlier};
use crate::param_problem::ParamProblem;
use crate::slab::Slab;

/// A device seen through the host's page cache. Offsets and lengths are any bytes: a write of part of a
/// page that is not cached reads the page first.
///
/// `next_completion` is a lower bound: the time of the next event inside. `advance` to it always makes
/// progress, but may not yet end a request.
#[derive(Debug, Clone)]
pub struct PageCache<D> {
    pub(super) inner: D,
    pub(super) costs: Costs,
    pub(super) settings: CacheSettings,
    pub(super) pages: PageTable,
    pub(super) files: OpenFiles,
    pub(super) agenda: EventQueue<CacheEvent>,
    pub(super) tasks: Slab<SystemCall>,
    pub(super) ios: Slab<DeviceIo>,
    pub(super) write_queue: VecDeque<u32>,
    pub(super) writes_at_device: u32,
    pub(super) flusher: Flusher,
    pub(super) rate: WriteRate,
    /// A write-back has failed since the last sync, which will say so.
    pub(super) write_error: Option<SimOutcome>,
    answers: Vec<SimCompletion>,
    pub(super) ready: Vec<SimCompletion>,
}

#[derive(Debug, Clone, Copy)]
pub(super) struct CacheSettings {
    pub read_ahead_pages: u64,
    pub request_max_pages: u64,
    pub write_requests: u32,
    pub thresholds: Thresholds,
    pub expire_ns: Nanos,
    pub wake_ns: Nanos,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum CacheEvent {
    Step(u32),
    Finish(u32),
    /// Write-back looks for old dirty pages.
    Wake,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CallKind {
    Read,
    Write,
    /// Writes the dirty pages in the range, then flushes the device.
    Sync,
    /// Passes by the cache.
    Direct(RequestKind),
}

#[derive(Debug, Clone)]
pub(super) struct SystemCall {
    pub id: u64,
    pub kind: CallKind,
    pub offset: u64,
    pub end: u64,
    pub page: u64,
    /// The thread is busy with its work so far until then.
    pub busy_until: Nanos,
    /// I/Os that must end before it continues.
    pub waits: u32,
    pub stage: CallStage,
    /// Pages made dirty since the last check of the limits.
    pub new_dirty: u64,
    /// Read page by page, because reading ahead has failed.
    pub careful: bool,
    /// A write that must be on the medium before it is done.
    pub through: bool,
    pub outcome: SimOutcome,
}

/// The progress of a sync or direct task.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CallStage {
    Begin,
    /// Pages of the range were changed while they were being written.
    Again,
    DataWritten,
    Last,
}

#[derive(Debug, Clone)]
pub(super) struct DeviceIo {
    pub kind: IoKind,
    pub first: u64,
    pub pages: u64,
    pub waiters: Vec<u32>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum IoKind {
    Fill,
    WriteBack,
    /// I/O of no page of the cache: a flush, or direct I/O.
    Other,
}

/// The thread that writes dirty pages in the background.
#[derive(Debug, Clone, Default)]
pub(super) struct Flusher {
    /// Where the search for the next background run begins.
    pub cursor: u64,
    /// Pages due by age, in order of address.
    pub expired: VecDeque<u64>,
    /// Whether a wake-up is on the agenda.
    pub wakes: bool,
}

impl<D: SimDevice> PageCache<D> {
    /// Puts a page cache before a device.
    ///
    /// # Errors
    /// A parameter that cannot be.
    pub fn new(params: &HostParams, inner: D) -> Result<Self, ParamProblem> {
        params.validate()?;
        let settings = CacheSettings {
            read_ahead_pages: params.read_ahead_kib * 1024 / PAGE_BYTES,
            request_max_pages: params.request_max_kib * 1024 / PAGE_BYTES,
            write_requests: params.write_requests,
            thresholds: Thresholds::new(params),
            expire_ns: to_ns(params.dirty_expire_s),
            wake_ns: to_ns(params.dirty_writeback_s),
        };
        Ok(Self {
            inner,
            costs: Costs::new(params),
            settings,
            pages: PageTable::new(params.cache_bytes / PAGE_BYTES),
            files: OpenFiles::default(),
            agenda: EventQueue::new(),
            tasks: Slab::new(),
            ios: Slab::new(),
            write_queue: VecDeque::new(),
            writes_at_device: 0,
            flusher: Flusher::default(),
            rate: WriteRate::new(params),
            write_error: None,
            answers: Vec::new(),
            ready: Vec::new(),
        })
    }

    /// From now on requests of each id, small numbers from 0, read through an open file of their own: Linux reads ahead
    /// for each by itself. Else all read through one.
    pub fn open_by_id(&mut self) {
        self.files.is_by_id = true;
    }

    pub fn inner(&self) -> &D {
        &self.inner
    }

    pub fn inner_mut(&mut self) -> &mut D {
        &mut self.inner
    }

    /// Share (0 to 1) of the pages of a range that are cached and loaded.
    pub fn cached_share(&self, offset: u64, len: u64) -> f64 {
        let pages = offset / PAGE_BYTES..(offset + len).div_ceil(PAGE_BYTES);
        let all = (pages.end - pages.start).max(1) as f64;
        let is_loaded = |number: &u64| self.pages.find(*number).is_some_and(|page| page.loaded);
        pages.filter(is_loaded).count() as f64 / all
    }

    /// Pages held, and of these dirty or being written.
    pub fn pages_held(&self) -> (u64, u64) {
        (self.pages.len(), self.dirty_pages())
    }

    /// Whether the page that holds a byte is cached and loaded (what `mincore` and `cachestat` report).
    pub fn is_cached(&self, offset: u64) -> bool {
        self.pages.find(offset / PAGE_BYTES).is_some_and(|page| page.loaded)
    }

    /// Drops the clean cached pages that lie wholly in a range (`POSIX_FADV_DONTNEED`); dirty pages and
    /// pages under I/O stay.
    pub fn evict(&mut self, offset: u64, len: u64) {
        let end = offset.saturating_add(len) / PAGE_BYTES;
        self.pages.evict(offset.div_ceil(PAGE_BYTES), end);
    }

    /// Drops the pages that lie wholly in a range, dirty or not: a trimmed range, or a removed file.
    pub fn discard(&mut self, offset: u64, len: u64) {
        let end = offset.saturating_add(len) / PAGE_BYTES;
        self.pages.discard(offset.div_ceil(PAGE_BYTES), end);
    }

    /// A direct read or write (`O_DIRECT`): dirty pages of the range are written first, a write drops the
    /// cached ones, and the request goes to the device as it is.
    pub fn submit_direct(&mut self, now: Nanos, request: SimRequest) {
        if request.op == RequestKind::Flush {
            return self.submit(now, request);
        }
        self.begin(now, request, CallKind::Direct(request.op), self.costs.direct);
    }

    /// `fsync` of a range: writes its dirty pages, waits for them, then flushes the device. Fails if any
    /// write-back has failed since the last one.
    pub(super) fn submit_sync(&mut self, now: Nanos, id: u64, offset: u64, len: u64) {
        let request = SimRequest { id, op: RequestKind::Flush, offset, len, fua: false };
        self.begin(now, request, CallKind::Sync, self.costs.syscall);
    }

    pub(super) fn dirty_pages(&self) -> u64 {
        self.pages.dirty_pages() + self.pages.writeback_pages()
    }

    fn begin(&mut self, now: Nanos, request: SimRequest, kind: CallKind, cost: Nanos) {
        self.run(now);
        let end = request.offset.checked_add(request.len);
        let valid = end.is_some_and(|end| end <= self.inner.capacity_bytes());
        let task = self.tasks.insert(SystemCall {
            id: request.id,
            kind,
            offset: request.offset,
            end: end.unwrap_or(request.offset),
            page: request.offset / PAGE_BYTES,
            busy_until: now + cost,
            waits: 0,
            stage: CallStage::Begin,
            new_dirty: 0,
            careful: false,
            through: request.fua,
            outcome: if valid { SimOutcome::Done } else { SimOutcome::Invalid },
        });
        if valid && (kind == CallKind::Sync || request.len > 0) {
            self.step(now, task);
        } else {
            self.finish_later(task);
        }
    }

    fn step(&mut self, at: Nanos, number: u32) {
        let task = self.tasks.get_mut(number);
        task.busy_until = task.busy_until.max(at);
        match task.kind {
            CallKind::Read => self.step_read(at, number),
            CallKind::Write => self.step_write(at, number),
            CallKind::Sync => self.step_sync(at, number),
            CallKind::Direct(op) => self.step_direct(at, number, op),
        }
    }

    /// Whether the thread has done all it did before; if not, the task continues when it has. I/O is only
    /// sent by a thread that has reached that point.
    pub(super) fn caught_up(&mut self, at: Nanos, number: u32) -> bool {
        let busy_until = self.tasks.get(number).busy_until;
        if busy_until > at {
            self.agenda.at(busy_until, CacheEvent::Step(number));
        }
        busy_until <= at
    }

    pub(super) fn finish_later(&mut self, number: u32) {
        let at = self.tasks.get(number).busy_until;
        self.agenda.at(at, CacheEvent::Finish(number));
    }

    pub(super) fn fail(&mut self, number: u32, outcome: SimOutcome) {
        self.tasks.get_mut(number).outcome = outcome;
        self.finish_later(number);
    }

    pub(super) fn send(&mut self, at: Nanos, io: u32, op: RequestKind) {
        let DeviceIo { first, pages, .. } = *self.ios.get(io);
        let offset = first * PAGE_BYTES;
        let len = (pages * PAGE_BYTES).min(self.inner.capacity_bytes() - offset);
        self.inner.submit(at, SimRequest { id: u64::from(io), op, offset, len, fua: false });
    }

    fn answered(&mut self, answer: SimCompletion) {
        let number = u32::try_from(answer.id).expect("ids sent below are I/O numbers");
        let io = self.ios.remove(number);
        match io.kind {
            IoKind::Fill => self.filled(&io, answer.outcome),
            IoKind::WriteBack => self.written_back(answer.at, &io, answer.outcome),
            IoKind::Other => {}
        }
        for &waiter in &io.waiters {
            let task = self.tasks.get_mut(waiter);
            task.waits -= 1;
            if io.kind == IoKind::Fill {
                task.busy_until = answer.at + self.costs.page_in;
            }
            if answer.outcome != SimOutcome::Done {
                self.task_failed(waiter, io.kind, io.pages, answer.outcome);
            }
            if self.tasks.get(waiter).waits == 0 {
                self.step(answer.at, waiter);
            }
        }
    }

    fn task_failed(&mut self, waiter: u32, kind: IoKind, pages: u64, outcome: SimOutcome) {
        let task = self.tasks.get_mut(waiter);
        if kind == IoKind::Fill && pages > 1 && outcome == SimOutcome::MediaError {
            task.careful = true;
        } else {
            task.outcome = outcome;
        }
    }

    fn handle(&mut self, at: Nanos, event: CacheEvent) {
        match event {
            CacheEvent::Step(task) => self.step(at, task),
            CacheEvent::Finish(number) => {
                let SystemCall { id, outcome, .. } = self.tasks.remove(number);
                self.ready.push(SimCompletion { id, at, outcome });
            }
            CacheEvent::Wake => self.wake(at),
        }
    }

    /// Everything that happens up to `to`, in order of time; the device's answers before own events.
    fn run(&mut self, to: Nanos) {
        loop {
            let below = self.inner.next_completion();
            let own = self.agenda.next();
            let Some(at) = earlier(below, own).filter(|&at| at <= to) else { break };
            if below == Some(at) {
                self.let_device_run(at);
            } else if let Some((at, event)) = self.agenda.take() {
                self.handle(at, event);
            }
        }
        self.let_device_run(to);
    }

    fn let_device_run(&mut self, to: Nanos) {
        let mut answers = std::mem::take(&mut self.answers);
        self.inner.advance(to, &mut answers);
        for answer in answers.drain(..) {
            self.answered(answer);
        }
        self.answers = answers;
    }
}

fn to_ns(s: f64) -> Nanos {
    (s * 1e9) as Nanos
}

impl<D: SimDevice> SimDevice for PageCache<D> {
    fn capacity_bytes(&self) -> u64 {
        self.inner.capacity_bytes()
    }

    /// Sector of direct requests; buffered ones may begin and end at any byte.
    fn sector_bytes(&self) -> u32 {
        self.inner.sector_bytes()
    }

    fn submit(&mut self, now: Nanos, request: SimRequest) {
        let (kind, cost) = match request.op {
            RequestKind::Read => (CallKind::Read, self.costs.read),
            RequestKind::Write => (CallKind::Write, self.costs.write),
            RequestKind::Flush => {
                return self.submit_sync(now, request.id, 0, self.inner.capacity_bytes());
            }
            RequestKind::Trim => {
                self.discard(request.offset, request.len);
                (CallKind::Direct(RequestKind::Trim), self.costs.syscall)
            }
        };
        self.begin(now, request, kind, cost);
    }

    fn next_completion(&mut self) -> Option<Nanos> {
        if let Some(first) = self.ready.first() {
            return Some(first.at);
        }
        if self.tasks.len() == 0 {
            return None;
        }
        earlier(self.inner.next_completion(), self.agenda.next())
    }

    fn advance(&mut self, to: Nanos, done: &mut Vec<SimCompletion>) {
        self.run(to);
        done.append(&mut self.ready);
    }
}
