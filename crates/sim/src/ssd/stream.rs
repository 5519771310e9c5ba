//! Long sequential streams, computed in large steps.
//!
//! Some of a stream is stepped in parts until their mean pace is known; then a multiple of it follows at that
//! pace, and so on. What a pace holds for: of reads, bytes of a range that lies in order or is empty; of writes,
//! the work of dies and channels. The translation layer is given what is computed in large pieces, so that the
//! state of the flash is what single steps would leave. Head and tail are stepped, so that the drive is left in an
//! ordinary state. Where the pace does not become known (throttling sets in and ends, the cache is used up,
//! garbage collection begins) and where what is read has holes or lies in fragments, all of it is stepped.

use super::Ssd;
use super::even_load::{EvenLoad, Load};
use super::flash::ns;
use super::geometry::{Lpn, Ppn};
use super::map_cache::MapCache;
use super::port::Way;
use super::thermal::{Thermal, UPDATE_INTERVAL};
use crate::device::{Completion, Device, Nanos, Op, Request, Stream};
use crate::means::{Part, Parts};

/// Shorter streams are stepped.
const STEPPED_BELOW_BYTES: u64 = 192 << 20;
/// Least that is stepped before it is looked at, and in how many requests.
const PART_BYTES: u64 = 8 << 20;
const PART_CHUNKS: u64 = 8;
/// How many times what was stepped may be computed.
const COMPUTED_MOST: u64 = 24;
/// Granularity at which a read is divided.
const WINDOW_BYTES: u64 = 128 << 20;
/// Least mean length of runs that a stream would have written, in units.
const RUN_UNITS: u32 = 256;
/// Steps of a write for each superblock: garbage collection keeps pace with them.
const STEPS_PER_BLOCK: u32 = 64;
/// Parts of a superblock: the least number of parts from which a mean is taken are two superblocks.
const PARTS_OF_A_BLOCK: u64 = 4;
/// Work that differs by more than this share from what was stepped has another pace.
const SAME_WORK: f64 = 0.1;

/// One stream under way.
#[derive(Debug)]
struct Walk {
    op: Op,
    chunk: u64,
    depth: u32,
    /// Offset of the next request, and end.
    at: u64,
    end: u64,
    now: Nanos,
    /// Requests that are not answered.
    inside: u32,
    done: Vec<Completion>,
}

/// What a stretch of the address space looks like to a reader.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Look {
    /// Nothing is there.
    Empty,
    /// All of it lies as a stream would have written it, in the SLC cache or not.
    InOrder { slc: bool },
    /// Holes, fragments, or both kinds of blocks.
    Mixed,
}

/// The pace of writes that were stepped.
#[derive(Debug, Clone, Copy)]
struct Pace {
    /// Time for each ns of work.
    factor: f64,
    /// Bytes of a part.
    part: u64,
    /// Work of a unit, ns, and that of host and port alone.
    unit_ns: f64,
    host_unit_ns: f64,
    kind: Kind,
}

/// Where writes go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Ordinary,
    Slc,
}

impl Load {
    /// Where the host's part of it goes; `None` of a load with both.
    fn kind(&self) -> Option<Kind> {
        match self.host_units {
            [_, 0] => Some(Kind::Ordinary),
            [0, _] => Some(Kind::Slc),
            _ => None,
        }
    }

    /// The same without what the host has elsewhere.
    fn of(&self, kind: Kind) -> Self {
        let mut load = *self;
        load.host_units[usize::from(kind == Kind::Ordinary)] = 0;
        load
    }
}

impl Stream for Ssd {
    fn stream(
        &mut self,
        now: Nanos,
        op: Op,
        offset: u64,
        len: u64,
        chunk: u64,
        depth: u32,
    ) -> Option<Nanos> {
        let end = offset.checked_add(len)?;
        let unit = self.geometry.unit_bytes;
        let aligned = offset.is_multiple_of(unit) && chunk.is_multiple_of(unit) && chunk > 0;
        let possible = aligned
            && depth > 0
            && len > 0
            && len.is_multiple_of(unit)
            && end <= self.params.capacity_bytes
            && self.completions.is_empty()
            && self.faults.gone_at.is_none()
            && matches!(op, Op::Read | Op::Write)
            && (op == Op::Write || self.faults.region(offset, len).is_none());
        if !possible {
            return None;
        }
        self.settle(now);
        let done = Vec::new();
        let mut walk = Walk { op, chunk, depth, at: offset, end, now: self.now, inside: 0, done };
        match op {
            _ if len < STEPPED_BELOW_BYTES => {}
            Op::Read => self.read_in_parts(&mut walk),
            _ => self.write_in_parts(&mut walk),
        }
        self.step(&mut walk, end);
        self.drain(&mut walk);
        Some(walk.now)
    }
}

impl Ssd {
    /// Sends the requests up to `stop`, the queue kept at its depth; those sent last are then still under way.
    fn step(&mut self, walk: &mut Walk, stop: u64) {
        let stop = stop.min(walk.end);
        loop {
            while walk.at < stop && walk.inside < walk.depth {
                let len = walk.chunk.min(walk.end - walk.at);
                let request = Request { id: 0, op: walk.op, offset: walk.at, len, fua: false };
                self.submit(walk.now, request);
                walk.at += len;
                walk.inside += 1;
            }
            if walk.at >= stop {
                return;
            }
            self.wait(walk);
        }
    }

    fn wait(&mut self, walk: &mut Walk) {
        walk.now = self.next_completion().unwrap_or(walk.now);
        self.advance(walk.now, &mut walk.done);
        walk.inside -= walk.done.len().min(walk.inside as usize) as u32;
        walk.done.clear();
    }

    /// Waits for the answers to all that was sent.
    fn drain(&mut self, walk: &mut Walk) {
        while walk.inside > 0 && !self.completions.is_empty() {
            self.wait(walk);
        }
    }

    /// Steps parts of `part` bytes until their pace is known: the time for each unit of what `work` says of them
    /// and of the load that they bring, at full speed, and their load. Parts of another kind begin anew. `None` if
    /// it is not known before `stop`.
    fn sample(
        &mut self,
        walk: &mut Walk,
        part: u64,
        stop: u64,
        mut parts: Parts,
        work: impl Fn(&Self, &Load) -> Option<(Kind, f64)>,
    ) -> Option<(f64, Load)> {
        let (mut kind, mut counted_from) = (Kind::Ordinary, self.flash.load);
        while walk.at < stop {
            let (began, speed, load) = (walk.now, self.flash.speed(), self.flash.load);
            let behind_writes = walk.op == Op::Read && self.flash.writes_at(began);
            self.step(walk, walk.at + part);
            let time = ((walk.now - began) as f64 * speed) as Nanos;
            let done = work(self, &self.flash.load.since(&load))
                .filter(|_| !behind_writes && self.flash.speed() == speed);
            if done.is_none_or(|done| done.0 != kind) {
                parts.clear();
                counted_from = load;
            }
            let Some((this, work)) = done else { continue };
            kind = this;
            if let Some(pace) = parts.add(Part { time, work }) {
                return Some((pace, self.flash.load.since(&counted_from)));
            }
        }
        None
    }

    fn part_bytes(walk: &Walk, least: u64) -> u64 {
        let queue = walk.chunk.saturating_mul(u64::from(walk.depth));
        let least = PART_BYTES.max(least).max(walk.chunk * PART_CHUNKS).max(queue);
        least.next_multiple_of(walk.chunk)
    }

    fn read_in_parts(&mut self, walk: &mut Walk) {
        let window = WINDOW_BYTES.next_multiple_of(walk.chunk);
        let part = Self::part_bytes(walk, 0);
        let end = walk.end.saturating_sub(2 * part);
        while walk.at < end {
            let began = walk.at;
            let look = self.look(began, (began + window).min(end));
            let mut alike = (began + window).min(end);
            while alike < end
                && look != Look::Mixed
                && self.look(alike, (alike + window).min(end)) == look
            {
                alike = (alike + window).min(end);
            }
            if look == Look::Mixed {
                self.step(walk, alike);
                continue;
            }
            // read-ahead and queue must fill
            self.step(walk, began + part);
            let work = |_: &Self, _: &Load| Some((Kind::Ordinary, part as f64));
            let Some((pace, _)) = self.sample(walk, part, alike, Parts::of_work(), work) else {
                continue;
            };
            let most = (walk.at - began).saturating_mul(COMPUTED_MOST);
            let stop = alike.min(walk.at.saturating_add(most));
            if walk.at + part <= stop {
                self.drain(walk);
                self.compute_reads(walk, part, pace, stop);
            }
        }
    }

    /// Whether throttling may soon begin or end, which must be stepped: what is under way keeps its speed.
    fn is_about_to_change(&self) -> bool {
        let own = self.thermal.as_ref().filter(|_| self.faults.throttle_forced.is_none());
        own.is_some_and(Thermal::is_about_to_change)
    }

    /// Computes reads up to `stop`, or until the drive goes at another speed.
    fn compute_reads(&mut self, walk: &mut Walk, part: u64, pace: f64, stop: u64) {
        let speed = self.flash.speed();
        while walk.at + part <= stop && self.flash.speed() == speed && !self.is_about_to_change() {
            walk.now = self.pass(walk.now, part as f64 * pace, Op::Read, part);
            self.know_map(walk, part);
            walk.at += part;
        }
    }

    /// Looks up the pages of the map that the next `bytes` of a stream use, each as often as to be known as used.
    fn know_map(&mut self, walk: &Walk, bytes: u64) {
        let page = MapCache::page_bytes(self.geometry.unit_bytes);
        for number in walk.at / page..(walk.at + bytes).div_ceil(page) {
            let lpn = (number * page / self.geometry.unit_bytes) as Lpn;
            for _ in 0..(page / walk.chunk).clamp(1, 2) {
                self.map_cache.touch(lpn);
            }
        }
    }

    /// Looks at all of `start..end`.
    fn look(&self, start: u64, end: u64) -> Look {
        let unit = self.geometry.unit_bytes;
        let (first, behind) = ((start / unit) as Lpn, end.div_ceil(unit) as Lpn);
        let kind_of = |ppn: Option<Ppn>| match ppn {
            None => Look::Empty,
            Some(ppn) => Look::InOrder { slc: self.ftl.is_slc(ppn) },
        };
        let look = kind_of(self.ftl.find(first, 1).0);
        // where blocks and pieces of the map end, runs end
        let most = 2 + (behind - first) / RUN_UNITS;
        let (mut lpn, mut runs) = (first, 0);
        while lpn < behind {
            let (ppn, run) = self.ftl.find(lpn, behind - lpn);
            runs += 1;
            if kind_of(ppn) != look || runs > most {
                return Look::Mixed;
            }
            lpn += run;
        }
        look
    }

    /// Lets `full_speed_ns` of work on `bytes` pass, which takes longer while the drive throttles.
    fn pass(&mut self, from: Nanos, full_speed_ns: f64, op: Op, bytes: u64) -> Nanos {
        let warms = self.thermal.is_some() && self.faults.throttle_forced.is_none();
        let mut at = from as f64;
        let mut left = full_speed_ns;
        while left > 0.0 {
            let most = if warms { UPDATE_INTERVAL as f64 * self.flash.speed() } else { left };
            let step = left.min(most);
            at += step / self.flash.speed();
            left -= step;
            if let Some(thermal) = &mut self.thermal {
                let moved = (bytes as f64 * step / full_speed_ns) as u64;
                if op == Op::Read {
                    thermal.add_read(moved);
                } else {
                    thermal.add_write(moved);
                }
            }
            self.settle_speed(at as Nanos);
        }
        self.last_completion = self.last_completion.max(at as Nanos);
        self.now = self.now.max(at as Nanos);
        at as Nanos
    }

    fn write_in_parts(&mut self, walk: &mut Walk) {
        let buffer = u64::from(self.params.buffer.size_kib) * 1024;
        // what a superblock brings by being opened must be in the mean
        let superblock = u64::from(self.geometry.superblock) * self.geometry.unit_bytes;
        let part = Self::part_bytes(walk, (2 * buffer).max(superblock / PARTS_OF_A_BLOCK));
        let stop = walk.end.saturating_sub(2 * part);
        while walk.at < stop {
            // the buffer must fill
            self.step(walk, walk.at + part);
            let began = walk.at;
            let Some(pace) = self.pace_of_writes(walk, part, stop) else {
                continue;
            };
            let most = (walk.at - began).saturating_mul(COMPUTED_MOST);
            let stop = stop.min(walk.at.saturating_add(most));
            if walk.at + part < stop {
                self.drain(walk);
                self.compute_writes(walk, pace, stop);
            }
        }
    }

    /// The least time that a load takes in the long run.
    fn work_ns(&self, host_unit_ns: f64, load: &Load) -> f64 {
        let units = load.host_units[0] + load.host_units[1];
        self.flash.even_load_ns(load).max(host_unit_ns * units as f64)
    }

    fn pace_of_writes(&mut self, walk: &mut Walk, part: u64, stop: u64) -> Option<Pace> {
        let unit = self.geometry.unit_bytes;
        let host_unit_ns = self.host_chunk_ns(walk) * unit as f64 / walk.chunk as f64;
        let work = |ssd: &Self, load: &Load| Some((load.kind()?, ssd.work_ns(host_unit_ns, load)));
        let (factor, load) = self.sample(walk, part, stop, Parts::of_least_times(), work)?;
        let kind = load.kind()?;
        let units = load.host_units[0] + load.host_units[1];
        let unit_ns = self.work_ns(host_unit_ns, &load) / units.max(1) as f64;
        Some(Pace { factor, part, unit_ns, host_unit_ns, kind })
    }

    /// Computes writes up to `stop`, or until they become other work than those that were stepped.
    fn compute_writes(&mut self, walk: &mut Walk, pace: Pace, stop: u64) {
        let unit = self.geometry.unit_bytes;
        let backlog = self.buffer.used().saturating_sub(self.ftl.waiting_units());
        let mut at = walk.now;
        let units = pace.part / unit;
        let known_ns = pace.unit_ns * units as f64;
        while walk.at + pace.part <= stop && !self.is_about_to_change() {
            let load = self.place_at_once(walk.at, pace.part);
            let (work_ns, speed) = (self.work_ns(pace.host_unit_ns, &load), self.flash.speed());
            // of a part in which the kind changes, only the one that was stepped has its pace
            let known_part_ns = self.work_ns(pace.host_unit_ns, &load.of(pace.kind)).min(work_ns);
            let time_ns = known_part_ns * pace.factor + (work_ns - known_part_ns);
            at = self.pass(at, time_ns, Op::Write, pace.part);
            self.know_map(walk, pace.part);
            walk.at += pace.part;
            let other_work = (work_ns / known_ns - 1.0).abs() > SAME_WORK;
            if other_work || load.kind() != Some(pace.kind) || self.flash.speed() != speed {
                break;
            }
        }
        let drained = at + (f64::from(backlog) * pace.unit_ns / self.flash.speed()) as Nanos;
        self.flash.occupy(at, at, drained);
        self.buffer.set(at, backlog, drained, self.ftl.waiting_units());
        walk.now = at;
    }

    /// Gives the translation layer `bytes` from `offset` on; the load that they bring.
    fn place_at_once(&mut self, offset: u64, bytes: u64) -> Load {
        let unit = self.geometry.unit_bytes;
        let (mut lpn, end) = ((offset / unit) as Lpn, ((offset + bytes) / unit) as Lpn);
        let mut sum = EvenLoad::new(&self.flash, &self.geometry);
        while lpn < end {
            let want = (end - lpn).min(self.geometry.superblock.div_ceil(STEPS_PER_BLOCK));
            let placed = self.ftl.place(lpn, want, &mut sum);
            sum.load.host_units[usize::from(placed.slc)] += u64::from(placed.units);
            lpn += placed.units;
        }
        sum.load
    }

    /// Time of a chunk where the host and the port set the pace.
    fn host_chunk_ns(&self, walk: &Walk) -> f64 {
        let controller = &self.params.controller;
        let port = self.port.duration(walk.chunk, Way::FromHost, true) as f64;
        let interval = ns(controller.command_interval_us) as f64;
        let firmware = ns(controller.write_command_us) as f64;
        let alone = firmware + port;
        let at_drive = (firmware + port) / f64::from(controller.queue_depth);
        port.max(interval).max(at_drive).max(alone / f64::from(walk.depth))
    }
}
