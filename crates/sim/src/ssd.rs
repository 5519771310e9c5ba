//! Solid-state drives.
//!
//! Every part keeps its own reservations of time (dies, channels, port, firmware), so the completion of
//! a request is known when it is submitted, and later requests can only delay what the host does not
//! wait for. The parts: [`params`] describes a drive; the port and the firmware take commands; the map
//! cache decides whether an address costs a flash read; the write buffer takes data in and the flash
//! translation layer places them; dies and channels take the time; the thermal part slows all down.

mod blocks;
mod buffer;
mod check;
mod die;
mod faults;
mod flash;
mod folding_load;
mod ftl;
mod geometry;
mod map;
mod map_cache;
pub mod params;
mod port;
mod queue_tags;
mod read;
mod read_ahead;
mod slc_cache;
mod thermal;
mod turns;
mod write;

#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use self::buffer::Buffer;
pub use self::faults::{RetryRegion, SsdFaults};
use self::flash::{Flash, ns};
use self::folding_load::FoldingLoad;
use self::ftl::Ftl;
use self::geometry::Geometry;
use self::map_cache::MapCache;
pub use self::params::SsdParams;
use self::port::Port;
use self::queue_tags::QueueTags;
use self::read_ahead::FlashReadAhead;
use self::thermal::Thermal;
use self::turns::PortTurns;
use crate::device::{Heat, Nanos, RequestKind, SimCompletion, SimDevice, SimOutcome, SimRequest};
use crate::param_problem::ParamProblem;

/// Time, order of submission, request, outcome. Without an outcome: done, by whichever read of `turns` is ready first.
type DueCompletion = (Nanos, u64, u64, Option<SimOutcome>);

#[derive(Debug, Clone)]
pub struct Ssd {
    params: SsdParams,
    geometry: Geometry,
    ftl: Ftl,
    flash: Flash,
    buffer: Buffer,
    map_cache: MapCache,
    read_ahead: FlashReadAhead,
    port: Port,
    thermal: Option<Thermal>,
    faults: SsdFaults,
    tags: QueueTags,
    /// The latest time that any call has passed in.
    now: Nanos,
    /// When the firmware can start the next command.
    firmware_free: Nanos,
    last_completion: Nanos,
    /// End of what has been folded in idle time.
    folded_until: Nanos,
    /// Completions not yet handed out.
    completions: BinaryHeap<Reverse<DueCompletion>>,
    submitted: u64,
    turns: PortTurns,
}

/// Counters and state of a drive.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SsdStatus {
    /// Bytes the host has written, in whole mapping units.
    pub host_written_bytes: u64,
    /// Bytes copied by garbage collection and folding.
    pub moved_bytes: u64,
    /// Bytes of the address space that hold data.
    pub live_bytes: u64,
    /// Temperature of the controller; `None` without a thermal part.
    pub temperature_c: Option<f64>,
}

impl SsdStatus {
    /// Flash writes for each host write; 1 before anything has been written.
    #[cfg(test)]
    fn write_amplification(&self) -> f64 {
        if self.host_written_bytes == 0 {
            return 1.0;
        }
        1.0 + self.moved_bytes as f64 / self.host_written_bytes as f64
    }
}

impl Ssd {
    /// An empty drive.
    ///
    /// # Errors
    ///
    /// Every parameter that cannot be, by its path.
    pub fn new(params: SsdParams, seed: u64) -> Result<Self, Vec<ParamProblem>> {
        let problems = params.validate();
        if !problems.is_empty() {
            return Err(problems);
        }
        let geometry = Geometry::new(&params).map_err(|problem| vec![problem])?;
        let unit_kib = f64::from(params.mapping_unit_bytes) / 1024.0;
        let window = f64::from(params.controller.read_ahead_kib) / unit_kib;
        Ok(Self {
            ftl: Ftl::new(geometry, params.slc.as_ref()),
            flash: Flash::new(geometry, &params.flash, seed),
            buffer: Buffer::new(geometry, u64::from(params.buffer.size_kib) * 1024),
            map_cache: MapCache::new(
                params.map.cache_mib * f64::from(1 << 20),
                geometry.logical_units,
            ),
            read_ahead: FlashReadAhead::new(window as u32, geometry.unit_bytes),
            port: Port::new(params.port.as_ref()),
            thermal: params.thermal.clone().map(Thermal::new),
            faults: SsdFaults::default(),
            tags: QueueTags::new(params.controller.queue_depth),
            now: 0,
            firmware_free: 0,
            last_completion: 0,
            folded_until: 0,
            completions: BinaryHeap::new(),
            submitted: 0,
            turns: PortTurns::default(),
            geometry,
            params,
        })
    }

    /// Fills the first `fill_share` (0 to 1) of an empty drive as one sequential pass that is over and
    /// folded. Takes no virtual time; a share outside the range is brought into it.
    pub fn precondition(&mut self, fill_share: f64) {
        let share = fill_share.clamp(0.0, 1.0);
        let units = (f64::from(self.geometry.logical_units) * share).round() as u32;
        self.ftl.trim(0, self.geometry.logical_units);
        self.ftl.fill(units);
    }

    /// Plants faults; they apply to requests submitted from now on.
    pub fn set_faults(&mut self, faults: SsdFaults) {
        self.faults = faults;
    }

    pub fn status(&self) -> SsdStatus {
        let (counts, unit) = (self.ftl.counts(), self.geometry.unit_bytes);
        SsdStatus {
            host_written_bytes: counts.host_units * unit,
            moved_bytes: counts.moved_units * unit,
            live_bytes: self.ftl.live_units() * unit,
            temperature_c: self.thermal.as_ref().map(Thermal::temperature_c),
        }
    }

    pub fn params(&self) -> &SsdParams {
        &self.params
    }

    /// Advances all background work to `now`.
    fn settle(&mut self, now: Nanos) {
        self.now = self.now.max(now);
        self.settle_speed(self.now);
        self.buffer.settle(self.now, &self.flash);
        self.fold_while_idle();
    }

    fn settle_speed(&mut self, now: Nanos) {
        let own = self.thermal.as_mut().map_or(1.0, |thermal| thermal.speed_at(now));
        let speed = self.faults.throttle_forced.unwrap_or(own);
        self.flash.set_slowdown(1.0 / speed);
    }

    fn fold_while_idle(&mut self) {
        let Some(slc) = &self.params.slc else { return };
        let wait = ns(slc.idle_before_fold_ms * 1000.0);
        if self.now <= self.last_completion + wait || !self.ftl.has_idle_work() {
            return;
        }
        let begin = if self.folded_until > self.last_completion {
            self.folded_until
        } else {
            self.flash.idle_from(self.last_completion) + wait
        };
        let mut at = begin;
        let row = self.geometry.row_units(false);
        while at < self.now {
            let mut work = FoldingLoad::new(&self.flash, &self.geometry);
            if self.ftl.fold(row, &mut work) == 0 {
                break;
            }
            at += work.duration();
        }
        if at > begin {
            self.folded_until = at;
            self.flash.occupy(self.now, begin, at);
        }
    }

    /// When the request submitted last gets a tag, and when the firmware has decoded it.
    fn start(&mut self, command_us: f64) -> Nanos {
        let begin = self.tags.acquire(self.now).max(self.firmware_free);
        let interval = ns(self.params.controller.command_interval_us);
        self.firmware_free = begin + self.flash.paced(interval);
        begin + self.flash.paced(ns(command_us))
    }

    fn complete(&mut self, id: u64, at: Nanos, outcome: SimOutcome) {
        let at = self.faults.stalls.map_or(at, |stalls| stalls.answered(at));
        let (at, outcome) = match self.faults.gone_at {
            Some(gone) if at > gone => (gone.max(self.now), SimOutcome::Gone),
            _ => (at, outcome),
        };
        self.answer(id, at, Some(outcome));
    }

    /// Gives a read the turn at the port that ends at `at`; its data can begin to cross at `ready`.
    fn complete_in_turn(&mut self, request: &SimRequest, ready: Nanos, at: Nanos) {
        let is_punctual = self.faults.gone_at.is_none() && self.faults.stalls.is_none();
        if is_punctual && self.turns.wait(request.len, ready, request.id) {
            self.answer(request.id, at, None);
        } else {
            self.complete(request.id, at, SimOutcome::Done);
        }
    }

    fn answer(&mut self, id: u64, at: Nanos, outcome: Option<SimOutcome>) {
        self.submitted += 1;
        self.last_completion = self.last_completion.max(at);
        self.completions.push(Reverse((at, self.submitted, id, outcome)));
    }
}

impl SimDevice for Ssd {
    /// A drive that is held throttled is as hot as that needs at least.
    fn heat(&self) -> Option<Heat> {
        let thermal = self.thermal.as_ref()?;
        let warning_c = thermal.limit_c();
        let own = thermal.temperature_c();
        let held = self.faults.throttle_forced.is_some();
        Some(Heat { celsius: if held { own.max(warning_c) } else { own }, warning_c })
    }

    fn live_bytes(&self) -> Option<u64> {
        Some(self.status().live_bytes)
    }

    fn capacity_bytes(&self) -> u64 {
        self.params.capacity_bytes
    }

    fn sector_bytes(&self) -> u32 {
        self.params.sector_bytes
    }

    fn submit(&mut self, now: Nanos, request: SimRequest) {
        self.settle(now);
        if self.faults.gone_at.is_some_and(|gone| gone <= self.now) {
            self.complete(request.id, self.now, SimOutcome::Gone);
            return;
        }
        if !request.is_valid(self.params.capacity_bytes, self.params.sector_bytes) {
            self.complete(request.id, self.now, SimOutcome::Invalid);
            return;
        }
        let (at, outcome, ready) = match request.op {
            RequestKind::Read => self.read(&request),
            RequestKind::Write => (self.write(&request), SimOutcome::Done, None),
            RequestKind::Flush => (self.flush(), SimOutcome::Done, None),
            RequestKind::Trim => (self.trim(&request), SimOutcome::Done, None),
        };
        self.tags.release(at);
        match ready {
            Some(ready) => self.complete_in_turn(&request, ready, at),
            None => self.complete(request.id, at, outcome),
        }
    }

    fn next_completion(&mut self) -> Option<Nanos> {
        self.completions.peek().map(|Reverse(next)| next.0)
    }

    fn advance(&mut self, to: Nanos, done: &mut Vec<SimCompletion>) {
        while let Some(&Reverse((at, _, id, outcome))) = self.completions.peek() {
            if at > to {
                break;
            }
            self.completions.pop();
            let id = if outcome.is_none() { self.turns.next().unwrap_or(id) } else { id };
            done.push(SimCompletion { id, at, outcome: outcome.unwrap_or(SimOutcome::Done) });
        }
        if self.completions.is_empty() {
            self.settle(to);
        }
        self.now = self.now.max(to);
    }
}
