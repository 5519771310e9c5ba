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
use super::port::Way as PortWay;
use super::thermal::{Thermal, UPDATE_INTERVAL};
use crate::device::{Nanos, Op};
use crate::means::{Part, Parts};
use crate::passes::{Order, Passes, Toll, Walk, Way};

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
struct Course<'a, W>(Walk<'a, W>);

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
    /// Work of a unit, ns.
    unit_ns: f64,
    host: HostSide,
    kind: Kind,
}

/// What the host's requests bring beside flash.
#[derive(Debug, Clone, Copy)]
struct HostSide {
    chunk: u64,
    depth: u32,
    toll: Toll,
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

impl Way for Ssd {
    type Drive = Self;

    fn drive(&self) -> &Self {
        self
    }

    fn drive_mut(&mut self) -> &mut Self {
        self
    }
}

impl Passes for Ssd {
    fn pass<W: Way<Drive = Self>>(way: &mut W, now: Nanos, order: Order) -> Option<Nanos> {
        let Order { op, offset, len, chunk, .. } = order;
        let largest = way.largest_command();
        let ssd = way.drive_mut();
        order.end_on(ssd.params.capacity_bytes, ssd.params.sector_bytes)?;
        let unit = ssd.geometry.unit_bytes;
        let aligned = [offset, len, chunk].iter().all(|bytes| bytes.is_multiple_of(unit))
            && (chunk <= largest || largest.is_multiple_of(unit));
        let possible = aligned
            && ssd.completions.is_empty()
            && ssd.faults.gone_at.is_none()
            && (op == Op::Write || ssd.faults.region(offset, len).is_none());
        if !possible {
            return None;
        }
        ssd.settle(now);
        let mut course = Course(Walk::new(way, now, &order));
        match op {
            _ if len < STEPPED_BELOW_BYTES => {}
            Op::Read => course.read_in_parts(),
            _ => course.write_in_parts(),
        }
        Some(course.0.finish())
    }
}

impl<W: Way<Drive = Ssd>> Course<'_, W> {
    fn ssd(&self) -> &Ssd {
        self.0.way.drive()
    }

    fn ssd_mut(&mut self) -> &mut Ssd {
        self.0.way.drive_mut()
    }

    /// Steps parts of `part` bytes until their pace is known: the time for each unit of what `work` says of them
    /// and of the load that they bring, at full speed, and their load. Parts of another kind begin anew. `None` if
    /// it is not known before `stop`.
    fn sample(
        &mut self,
        part: u64,
        stop: u64,
        mut parts: Parts,
        work: impl Fn(&Ssd, &Load) -> Option<(Kind, f64)>,
    ) -> Option<(f64, Load)> {
        let (mut kind, mut counted_from) = (Kind::Ordinary, self.ssd().flash.load);
        while self.0.at < stop {
            let (began, flash) = (self.0.now, &self.ssd().flash);
            let (speed, load) = (flash.speed(), flash.load);
            let behind_writes = self.0.op == Op::Read && flash.writes_at(began);
            self.0.step(self.0.at + part);
            let ssd = self.ssd();
            let time = ((self.0.now - began) as f64 * speed) as Nanos;
            let done = work(ssd, &ssd.flash.load.since(&load))
                .filter(|_| !behind_writes && ssd.flash.speed() == speed);
            if done.is_none_or(|done| done.0 != kind) {
                parts.clear();
                counted_from = load;
            }
            let Some((this, work)) = done else { continue };
            kind = this;
            if let Some(pace) = parts.add(Part { time, work }) {
                return Some((pace, ssd.flash.load.since(&counted_from)));
            }
        }
        None
    }

    fn part_bytes(&self, least: u64) -> u64 {
        let Walk { chunk, depth, .. } = self.0;
        let queue = chunk.saturating_mul(u64::from(depth));
        let least = PART_BYTES.max(least).max(chunk * PART_CHUNKS).max(queue);
        least.next_multiple_of(chunk)
    }

    fn read_in_parts(&mut self) {
        let window = WINDOW_BYTES.next_multiple_of(self.0.chunk);
        let part = self.part_bytes(0);
        let end = self.0.end.saturating_sub(2 * part);
        while self.0.at < end {
            let began = self.0.at;
            let look = self.ssd().look(began, (began + window).min(end));
            let mut alike = (began + window).min(end);
            while alike < end
                && look != Look::Mixed
                && self.ssd().look(alike, (alike + window).min(end)) == look
            {
                alike = (alike + window).min(end);
            }
            if look == Look::Mixed {
                self.0.step(alike);
                continue;
            }
            // read-ahead and queue must fill
            self.0.step(began + part);
            let work = |_: &Ssd, _: &Load| Some((Kind::Ordinary, part as f64));
            let Some((pace, _)) = self.sample(part, alike, Parts::of_work(), work) else {
                continue;
            };
            let most = (self.0.at - began).saturating_mul(COMPUTED_MOST);
            let stop = alike.min(self.0.at.saturating_add(most));
            if self.0.at + part <= stop {
                self.0.drain();
                self.compute_reads(part, pace, stop);
            }
        }
    }

    /// Computes reads up to `stop`, or until the drive goes at another speed.
    fn compute_reads(&mut self, part: u64, pace: f64, stop: u64) {
        let Walk { chunk, mut at, mut now, .. } = self.0;
        let ssd = self.ssd_mut();
        let speed = ssd.flash.speed();
        while at + part <= stop && ssd.flash.speed() == speed && !ssd.is_about_to_change() {
            now = ssd.go_on(now, part as f64 * pace, Op::Read, part);
            ssd.know_map(at, part, chunk);
            at += part;
        }
        (self.0.at, self.0.now) = (at, now);
    }

    fn write_in_parts(&mut self) {
        let ssd = self.ssd();
        let buffer = u64::from(ssd.params.buffer.size_kib) * 1024;
        // what a superblock brings by being opened must be in the mean
        let superblock = u64::from(ssd.geometry.superblock) * ssd.geometry.unit_bytes;
        let part = self.part_bytes((2 * buffer).max(superblock / PARTS_OF_A_BLOCK));
        let stop = self.0.end.saturating_sub(2 * part);
        while self.0.at < stop {
            // the buffer must fill
            self.0.step(self.0.at + part);
            let began = self.0.at;
            let Some(pace) = self.pace_of_writes(part, stop) else {
                continue;
            };
            let most = (self.0.at - began).saturating_mul(COMPUTED_MOST);
            let stop = stop.min(self.0.at.saturating_add(most));
            if self.0.at + part < stop {
                self.0.drain();
                self.compute_writes(pace, stop);
            }
        }
    }

    fn pace_of_writes(&mut self, part: u64, stop: u64) -> Option<Pace> {
        let Walk { chunk, depth, .. } = self.0;
        let host = HostSide { chunk, depth, toll: self.0.way.toll(chunk) };
        let work = |ssd: &Ssd, load: &Load| Some((load.kind()?, ssd.work_ns(&host, load)));
        let (factor, load) = self.sample(part, stop, Parts::of_least_times(), work)?;
        let kind = load.kind()?;
        let units = load.host_units[0] + load.host_units[1];
        let unit_ns = self.ssd().work_ns(&host, &load) / units.max(1) as f64;
        Some(Pace { factor, part, unit_ns, host, kind })
    }

    /// Computes writes up to `stop`, or until they become other work than those that were stepped.
    fn compute_writes(&mut self, pace: Pace, stop: u64) {
        let Walk { chunk, at: mut place, mut now, .. } = self.0;
        let ssd = self.ssd_mut();
        let backlog = ssd.buffer.used().saturating_sub(ssd.ftl.waiting_units());
        let known_ns = pace.unit_ns * (pace.part / ssd.geometry.unit_bytes) as f64;
        while place + pace.part <= stop && !ssd.is_about_to_change() {
            let load = ssd.place_at_once(place, pace.part);
            let (work_ns, speed) = (ssd.work_ns(&pace.host, &load), ssd.flash.speed());
            // of a part in which the kind changes, only the one that was stepped has its pace
            let known_part_ns = ssd.work_ns(&pace.host, &load.of(pace.kind)).min(work_ns);
            let time_ns = known_part_ns * pace.factor + (work_ns - known_part_ns);
            now = ssd.go_on(now, time_ns, Op::Write, pace.part);
            ssd.know_map(place, pace.part, chunk);
            place += pace.part;
            let other_work = (work_ns / known_ns - 1.0).abs() > SAME_WORK;
            if other_work || load.kind() != Some(pace.kind) || ssd.flash.speed() != speed {
                break;
            }
        }
        let drained = now + (f64::from(backlog) * pace.unit_ns / ssd.flash.speed()) as Nanos;
        ssd.flash.occupy(now, now, drained);
        ssd.buffer.set(now, backlog, drained, ssd.ftl.waiting_units());
        (self.0.at, self.0.now) = (place, now);
    }
}

impl Ssd {
    /// Whether throttling may soon begin or end, which must be stepped: what is under way keeps its speed.
    fn is_about_to_change(&self) -> bool {
        let own = self.thermal.as_ref().filter(|_| self.faults.throttle_forced.is_none());
        own.is_some_and(Thermal::is_about_to_change)
    }

    /// Looks up the pages of the map that `bytes` of a stream from `at` on use, in requests of `chunk`, each as
    /// often as to be known as used.
    fn know_map(&mut self, at: u64, bytes: u64, chunk: u64) {
        let page = MapCache::page_bytes(self.geometry.unit_bytes);
        for number in at / page..(at + bytes).div_ceil(page) {
            let lpn = (number * page / self.geometry.unit_bytes) as Lpn;
            for _ in 0..(page / chunk).clamp(1, 2) {
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
    fn go_on(&mut self, from: Nanos, full_speed_ns: f64, op: Op, bytes: u64) -> Nanos {
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

    /// The least time that a load takes in the long run, at full speed.
    fn work_ns(&self, host: &HostSide, load: &Load) -> f64 {
        let units = (load.host_units[0] + load.host_units[1]) as f64;
        let unit_ns =
            self.host_chunk_ns(host) * self.geometry.unit_bytes as f64 / host.chunk as f64;
        self.flash.even_load_ns(load).max(unit_ns * units)
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

    /// Least time of a chunk where the host, its way here and the port set the pace.
    fn host_chunk_ns(&self, host: &HostSide) -> f64 {
        let (controller, toll) = (&self.params.controller, &host.toll);
        let pieces = toll.pieces as f64;
        let commands = self.port.duration(0, PortWay::FromHost, true) as f64 * (pieces - 1.0);
        let port = self.port.duration(host.chunk, PortWay::FromHost, true) as f64 + commands;
        let interval = ns(controller.command_interval_us) as f64 * pieces;
        let firmware = ns(controller.write_command_us) as f64 * pieces;
        let at_drive = (firmware + port) / f64::from(controller.queue_depth);
        // the link's times stay as they are when the drive throttles
        let speed = self.flash.speed();
        let alone = firmware + port + toll.added_ns as f64 * pieces * speed;
        let at_once = (f64::from(host.depth) * pieces).min(toll.depth as f64);
        let link = toll.alone_ns as f64 * pieces * speed;
        port.max(interval).max(at_drive).max(alone / at_once).max(link)
    }
}
