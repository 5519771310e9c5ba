//! The drive: its parts, and how requests enter and completions leave.

use crate::device::{
    Nanos, RequestKind, SimCompletion, SimDevice, SimOutcome, SimRequest, whole_ns,
};
use crate::hdd::faults::HddFaults;
use crate::hdd::layout::Layout;
use crate::hdd::mechanism::Mechanism;
use crate::hdd::params::HddParams;
use crate::hdd::queue::{CommandQueue, QueuedCommand};
use crate::hdd::read_cache::{DiskReadAhead, ReadCache};
use crate::hdd::rotation::Rotation;
use crate::hdd::seek::SeekCurve;
use crate::hdd::smr::Shingles;
use crate::hdd::write_cache::WriteCache;
use crate::hdd::zones::{sectors_needed, zone_formats};
use crate::param_problem::ParamProblem;
use crate::reservations::Reservations;
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use std::collections::VecDeque;

/// A simulated hard disk.
///
/// It is a pure state machine: everything follows from the parameters, the seed, and the requests with
/// their times. Electronics answer what the caches can; one mechanism serves the rest, one piece of work
/// after the other.
#[derive(Debug, Clone)]
pub struct HardDisk {
    pub(super) times: DiskTimings,
    pub(super) sizes: Sizes,
    pub(super) mechanism: Mechanism,
    pub(super) read_cache: ReadCache,
    pub(super) read_ahead: Option<DiskReadAhead>,
    pub(super) write_cache: WriteCache,
    pub(super) queue: CommandQueue,
    pub(super) shingles: Option<Shingles>,
    pub(super) faults: HddFaults,
    pub(super) random: Xoshiro256PlusPlus,
    /// Writes whose data is on its way to the write cache, in order of arrival.
    pub(super) arriving: VecDeque<ArrivingWrite>,
    /// The write that has arrived, but is not answered before destaging makes room.
    pub(super) blocked_write: Option<u64>,
    pub(super) flush: Option<PendingFlush>,
    /// Requests that found no free tag, or came after a flush that is still running.
    pub(super) waiting: VecDeque<(Nanos, SimRequest)>,
    /// Earliest time at which the first of `waiting` can enter.
    pub(super) admit_from: Nanos,
    /// Answers in order of time; the first `retired` no longer hold a tag.
    pub(super) completions: VecDeque<SimCompletion>,
    pub(super) retired: usize,
    pub(super) mechanism_free: Nanos,
    /// When the electronics and the interface are free.
    pub(super) electronics_free: Nanos,
    /// When the interface has carried what the medium has served.
    pub(super) crossing_free: Nanos,
    /// When the interface carries data, of whichever command.
    pub(super) interface: Reservations,
    /// Earliest start of a media write that does not continue the last one.
    pub(super) write_from: Nanos,
    pub(super) last_activity: Nanos,
    /// When the last event took place: the next cannot come before.
    pub(super) clock: Nanos,
    /// Whether the mechanism's last work was destaging; reads and destaging alternate under pressure.
    pub(super) destaged_last: bool,
    /// Bytes destaged since the last command.
    pub(super) destaged_bytes: u64,
    /// Whether the last command that moved data was a write.
    pub(super) wrote_last: bool,
}

#[derive(Debug, Clone, Copy)]
pub(super) struct DiskTimings {
    /// Overheads of commands after a read, and after a write.
    pub overheads: [Overheads; 2],
    /// Picoseconds for which the interface is busy with a byte.
    pub byte_ps: u64,
    pub gap: Nanos,
    pub gap_jitter: Nanos,
    pub rmw_gap: Nanos,
    pub destage_idle: Nanos,
    pub age_limit: Nanos,
    pub clean_idle: Nanos,
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Overheads {
    read_hit: Nanos,
    read_miss: Nanos,
    write: Nanos,
    write_miss: Nanos,
}

/// Sizes that the parameters fix. Sectors are physical.
#[derive(Debug, Clone, Copy)]
pub(super) struct Sizes {
    pub capacity: u64,
    pub logical: u32,
    pub physical: u64,
    /// Bytes between the start of the medium and the host's first byte: SMR log and alignment shift.
    pub base: u64,
    pub read_ahead_sectors: u64,
    /// Share of a request that must be in the buffer before it crosses the interface.
    pub water_mark: f64,
    pub stop_at_track_end: bool,
    pub over_requested: bool,
    pub on_arrival: bool,
    pub hits_on_written: bool,
    pub ends_at_write: bool,
    pub after_misses_only: bool,
    pub destage_window: usize,
    pub rmw_batch: u64,
    pub append_sectors: u64,
    pub append_extents: usize,
    pub depth: usize,
    pub write_caching: bool,
}

#[derive(Debug, Clone, Copy)]
pub(super) struct ArrivingWrite {
    pub id: u64,
    /// Bytes from the start of the medium.
    pub from: u64,
    pub to: u64,
    /// When all its data will be there.
    pub at: Nanos,
}

#[derive(Debug, Clone, Copy)]
pub(super) struct PendingFlush {
    pub id: u64,
    pub ready: Nanos,
}

pub(super) fn ms(value: f64) -> Nanos {
    whole_ns(value * 1e6)
}

const KIB: u64 = 1024;

impl HardDisk {
    /// A drive at rest at time 0, with empty caches. The seed drives the jitter of the destage gap,
    /// and [`begin_anywhere`](Self::begin_anywhere).
    ///
    /// # Errors
    /// Every parameter that cannot be.
    pub fn new(params: &HddParams, seed: u64) -> Result<Self, Vec<ParamProblem>> {
        let problems = params.validate();
        if !problems.is_empty() {
            return Err(problems);
        }
        let physical = u64::from(params.physical_sector_bytes);
        let sizes = Sizes::of(params);
        let (read, write) = (&params.read_cache, &params.write_cache);
        Ok(Self {
            times: DiskTimings::of(params),
            sizes,
            mechanism: mechanism(params),
            read_cache: ReadCache::new(
                read.segments,
                u64::from(read.segment_kib) * KIB / physical,
                read.adaptive,
            ),
            read_ahead: None,
            write_cache: WriteCache::new(
                u64::from(write.dirty_limit_kib) * KIB,
                write.dirty_extents,
                write.high_water_pct / 100.0,
            )
            .pressed_down_to(write.low_water_pct.unwrap_or(write.high_water_pct) / 100.0),
            queue: CommandQueue::new(params.queue.window, ms(params.queue.starvation_ms)),
            shingles: params.smr.map(|smr| {
                let band = u64::from(smr.band_mib) * KIB * KIB / physical;
                Shingles::new(sizes.base / physical, band, smr.map_extents)
            }),
            faults: HddFaults::default(),
            random: Xoshiro256PlusPlus::seed_from_u64(seed),
            arriving: VecDeque::new(),
            blocked_write: None,
            flush: None,
            waiting: VecDeque::new(),
            admit_from: 0,
            completions: VecDeque::with_capacity(64),
            retired: 0,
            mechanism_free: 0,
            electronics_free: 0,
            crossing_free: 0,
            interface: Reservations::default(),
            write_from: 0,
            last_activity: 0,
            clock: 0,
            destaged_last: false,
            destaged_bytes: 0,
            wrote_last: false,
        })
    }

    /// Draws the angle at time 0 and the track the head is over from the seed: a real drive is switched on at any
    /// moment, and its head was somewhere.
    pub fn begin_anywhere(&mut self) {
        let angle = self.random.random_range(0..self.mechanism.rotation().period());
        let sectors = self.mechanism.layout().sectors();
        let behind = self.random.random_range(1..sectors.max(2));
        self.mechanism.start_at(angle);
        self.mechanism.place_behind(behind);
    }

    /// Plants faults, or with the default value removes them.
    pub fn set_faults(&mut self, faults: HddFaults) {
        self.faults = faults;
    }

    #[inline]
    pub(super) fn medium_byte(&self, offset: u64) -> u64 {
        offset + self.sizes.base
    }

    /// The overhead of a read or write, which needs the medium before it is answered or does not; what comes next
    /// comes after it.
    #[inline]
    pub(super) fn overhead(&mut self, writes: bool, medium: bool) -> Nanos {
        let all = self.times.overheads[usize::from(self.wrote_last)];
        self.wrote_last = writes;
        match (writes, medium) {
            (false, false) => all.read_hit,
            (false, true) => all.read_miss,
            (true, false) => all.write,
            (true, true) => all.write_miss,
        }
    }

    /// The overhead of a command without data: a write's.
    fn overhead_without_data(&self) -> Nanos {
        self.times.overheads[usize::from(self.wrote_last)].write
    }

    /// Occupies the electronics for `overhead` from `at` on, then the interface for `len` bytes, as soon as that
    /// is free. Returns when the overhead and when the transfer ends.
    #[inline]
    pub(super) fn electronics(&mut self, at: Nanos, overhead: Nanos, len: u64) -> (Nanos, Nanos) {
        let ready = at.max(self.electronics_free) + overhead;
        self.electronics_free = if len > 0 { self.carry(at, ready, len) } else { ready };
        (ready, self.electronics_free)
    }

    /// Lets the interface carry `len` bytes from `from` on, or when it is free next; returns the end. No later
    /// call asks for a time before `now`.
    #[inline]
    fn carry(&mut self, now: Nanos, from: Nanos, len: u64) -> Nanos {
        let time = self.crossing_time(len);
        self.interface.reserve(now, from, time) + time
    }

    /// When the data of a read that the medium serves from `start` to `end`, as begun at `now`, have crossed
    /// the interface too: its last sector after `end`, unless the interface is slower than the head or has other data
    /// to carry.
    #[inline]
    pub(super) fn crossed(
        &mut self,
        now: Nanos,
        start: Nanos,
        end: Nanos,
        command: &QueuedCommand,
    ) -> Nanos {
        let len = command.request.len;
        let read = len.min(command.count * self.sizes.physical);
        let free = command.ready.max(self.crossing_free).max(now);
        let can_cross = self.can_cross(start, end, read, len - read);
        let carried = self.carry(self.clock, free.max(can_cross), len);
        self.crossing_free = carried;
        if carried > can_cross + self.crossing_time(len) {
            self.electronics_free = self.electronics_free.max(carried);
        }
        carried
    }

    /// Earliest start of the crossing of a request that finds `held` bytes in the buffer, where the head reads the
    /// other `read` from `start` to `end`: no sector crosses before it has been read, and none before as many bytes
    /// are there as the water mark asks for.
    #[inline]
    pub(super) fn can_cross(&self, start: Nanos, end: Nanos, read: u64, held: u64) -> Nanos {
        let sector = self.sizes.physical.min(read);
        let read_at = |bytes: u64| start + (end - start) * bytes / read.max(1);
        let first = read_at(sector).saturating_sub(self.crossing_time(held));
        let last = end.saturating_sub(self.crossing_time(held + read - sector));
        let marked = ((held + read) as f64 * self.sizes.water_mark) as u64;
        if marked > held { first.max(last).max(read_at(marked - held)) } else { first.max(last) }
    }

    #[inline]
    pub(super) fn crossing_time(&self, len: u64) -> Nanos {
        len * self.times.byte_ps / 1000
    }

    /// Answers a request; a drive that has disappeared by then fails it.
    #[inline]
    pub(super) fn complete(&mut self, id: u64, at: Nanos, outcome: SimOutcome) {
        let at = self.faults.stalls.map_or(at, |stalls| stalls.answered(at));
        let mut answer = SimCompletion { id, at, outcome };
        if let Some(gone_at) = self.faults.gone_at.filter(|&gone_at| at >= gone_at) {
            answer.at = gone_at.max(self.last_activity);
            answer.outcome = SimOutcome::Gone;
        }
        let mut index = self.completions.len();
        while index > 0 && self.completions[index - 1].at > answer.at {
            index -= 1;
        }
        self.completions.insert(index, answer);
    }

    #[inline]
    pub(super) fn tags(&self) -> usize {
        let answered = self.completions.len() - self.retired;
        let unanswered = self.arriving.len() + usize::from(self.blocked_write.is_some());
        self.queue.len() + unanswered + usize::from(self.flush.is_some()) + answered
    }

    pub(super) fn accept(&mut self, at: Nanos, request: SimRequest) {
        match request.op {
            RequestKind::Read => self.accept_read(at, request),
            RequestKind::Write => self.accept_write(at, request),
            RequestKind::Flush => self.accept_flush(at, request.id),
            RequestKind::Trim => self.accept_trim(at, &request),
        }
    }

    fn accept_flush(&mut self, at: Nanos, id: u64) {
        let (ready, _) = self.electronics(at, self.overhead_without_data(), 0);
        if self.faults.flush_lies {
            self.complete(id, ready, SimOutcome::Done);
        } else {
            self.flush = Some(PendingFlush { id, ready });
        }
    }

    fn accept_trim(&mut self, at: Nanos, request: &SimRequest) {
        let (ready, _) = self.electronics(at, self.overhead_without_data(), 0);
        let from = self.medium_byte(request.offset);
        let to = from + request.len;
        // what the cache is promised must stay, the answers to its writes depend on it
        if self.all_writes_answered() {
            self.write_cache.remove(from, to);
        }
        if let Some(shingles) = &mut self.shingles {
            let (first, behind) = (from.div_ceil(self.sizes.physical), to / self.sizes.physical);
            if first < behind {
                shingles.trim(first, behind);
            }
        }
        self.complete(request.id, ready, SimOutcome::Done);
    }
}

impl SimDevice for HardDisk {
    fn capacity_bytes(&self) -> u64 {
        self.sizes.capacity
    }

    fn sector_bytes(&self) -> u32 {
        self.sizes.logical
    }

    fn submit(&mut self, now: Nanos, request: SimRequest) {
        self.run_until(now);
        self.last_activity = now;
        if self.faults.gone(now) {
            self.complete(request.id, now, SimOutcome::Gone);
        } else if !request.is_valid(self.sizes.capacity, self.sizes.logical) {
            self.complete(request.id, now, SimOutcome::Invalid);
        } else if self.flush.is_some()
            || !self.waiting.is_empty()
            || self.tags() >= self.sizes.depth
        {
            self.waiting.push_back((now, request));
        } else {
            self.accept(now, request);
        }
    }

    /// The question begins nothing before its time: an earlier request may change it.
    fn next_completion(&mut self) -> Option<Nanos> {
        let known = self.completions.front().map(|c| c.at);
        if self.nothing_pending() {
            return known;
        }
        let step = self.next_event().map(|(at, event)| event.done_by(at));
        known.into_iter().chain(step).min()
    }

    fn advance(&mut self, to: Nanos, done: &mut Vec<SimCompletion>) {
        if !self.is_idle() {
            self.run_until(to);
        }
        while self.completions.front().is_some_and(|c| c.at <= to) {
            done.extend(self.completions.pop_front());
            self.retired = self.retired.saturating_sub(1);
        }
    }
}

impl DiskTimings {
    fn of(params: &HddParams) -> Self {
        let write = &params.write_cache;
        Self {
            overheads: overheads(params),
            byte_ps: (1e6 / params.interface_mb_s).round() as u64,
            gap: ms(write.gap_ms),
            gap_jitter: ms(write.gap_jitter_ms),
            rmw_gap: params.read_modify_write.map_or(0, |rmw| ms(rmw.gap_ms)),
            destage_idle: ms(write.idle_ms),
            age_limit: ms(write.age_limit_ms),
            clean_idle: params.smr.map_or(0, |smr| ms(smr.clean_idle_ms)),
        }
    }
}

fn overheads(params: &HddParams) -> [Overheads; 2] {
    let after_read = Overheads {
        read_hit: ms(params.read_hit_overhead_ms),
        read_miss: ms(params.read_miss_overhead_ms),
        write: ms(params.write_overhead_ms),
        write_miss: ms(params.write_miss_overhead_ms.unwrap_or(params.write_overhead_ms)),
    };
    let after_write = params.after_write.map_or(after_read, |given| Overheads {
        read_hit: given.read_hit_overhead_ms.map_or(after_read.read_hit, ms),
        read_miss: given.read_miss_overhead_ms.map_or(after_read.read_miss, ms),
        write: given.write_overhead_ms.map_or(after_read.write, ms),
        write_miss: given.write_miss_overhead_ms.map_or(after_read.write_miss, ms),
    });
    [after_read, after_write]
}

impl Sizes {
    fn of(params: &HddParams) -> Self {
        let physical = u64::from(params.physical_sector_bytes);
        let logical = u64::from(params.logical_sector_bytes);
        let log = params.smr.map_or(0, |smr| (smr.cache_gib * (1u64 << 30) as f64) as u64);
        let shift = u64::from(params.alignment_shift_sectors) * logical;
        Self {
            capacity: params.capacity_bytes,
            logical: params.logical_sector_bytes,
            physical,
            base: log / physical * physical + shift,
            read_ahead_sectors: u64::from(params.read_cache.read_ahead_kib) * KIB / physical,
            water_mark: params.read_cache.water_mark,
            stop_at_track_end: params.read_cache.stop_at_track_end,
            over_requested: params.read_cache.read_ahead_over_requested,
            on_arrival: params.read_cache.read_on_arrival,
            hits_on_written: params.read_cache.read_hits_on_write_data,
            ends_at_write: params.read_cache.read_ahead_ends_at_write,
            after_misses_only: params.read_cache.read_ahead_after_misses_only,
            destage_window: params.write_cache.window as usize,
            rmw_batch: params.read_modify_write.map_or(1, |rmw| u64::from(rmw.batch_sectors)),
            append_sectors: params.smr.map_or(0, |smr| u64::from(smr.append_kib) * KIB / physical),
            append_extents: params.smr.map_or(0, |smr| smr.append_extents as usize),
            depth: params.queue.depth as usize,
            write_caching: params.write_cache.enabled,
        }
    }
}

pub(super) fn mechanism(params: &HddParams) -> Mechanism {
    let rotation = Rotation::from_rpm(params.rpm);
    let layout = Layout::new(
        &zone_formats(params),
        params.heads,
        params.layout,
        rotation,
        ms(params.head_switch_ms),
        sectors_needed(params),
    );
    let seek = SeekCurve::new(&params.seek, layout.stroke());
    let write_seek = params.write_seek.as_ref().map(|curve| SeekCurve::new(curve, layout.stroke()));
    let (head_switch, write_settle) = (ms(params.head_switch_ms), ms(params.write_settle_ms));
    Mechanism::new(layout, rotation, seek, head_switch, write_settle).with_write_seek(write_seek)
}
