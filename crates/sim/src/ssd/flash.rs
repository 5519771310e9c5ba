//! Dies and channels with their times: page reads, programs, erases and copies.

use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

use super::die::Die;
use super::ftl::Sink;
use super::geometry::{Geometry, Ppn};
use super::params::FlashParams;
use crate::device::{Nanos, whole_ns};
use crate::reservations::Reservations;

pub(super) fn ns(us: f64) -> Nanos {
    whole_ns(us * 1000.0)
}

#[derive(Debug, Clone)]
pub(super) struct FlashTimes {
    pub(super) read: Vec<Nanos>,
    pub(super) program: Nanos,
    pub(super) erase: Nanos,
    pub(super) slc_read: Nanos,
    pub(super) slc_program: Nanos,
    /// One mapping unit over a channel.
    pub(super) unit_transfer: f64,
    suspend: Option<Nanos>,
    retry: Nanos,
    retry_share: f64,
}

impl FlashTimes {
    fn new(params: &FlashParams, unit_bytes: u64) -> Self {
        Self {
            read: params.read_us.iter().map(|&us| ns(us)).collect(),
            program: ns(params.program_us),
            erase: ns(params.erase_us),
            slc_read: ns(params.slc_read_us),
            slc_program: ns(params.slc_program_us),
            unit_transfer: unit_bytes as f64 * 1000.0 / params.channel_mb_s,
            suspend: params.suspend_us.map(ns),
            retry: ns(params.retry_us),
            retry_share: params.retry_share,
        }
    }
}

/// A program operation that has been given to a die.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Ticket {
    pub(super) die: u32,
    pub(super) number: u64,
}

#[derive(Debug, Clone)]
pub(super) struct Flash {
    geometry: Geometry,
    pub(super) times: FlashTimes,
    dies: Vec<Die>,
    channels: Vec<Reservations>,
    /// Every duration is multiplied by it; above 1 while the drive throttles.
    slowdown: f64,
    rng: Xoshiro256PlusPlus,
    /// The last stripe a copy has read, so that its other units need no second page read.
    copied_stripe: Option<u32>,
}

impl Flash {
    pub(super) fn new(geometry: Geometry, params: &FlashParams, seed: u64) -> Self {
        Self {
            times: FlashTimes::new(params, geometry.unit_bytes),
            dies: vec![Die::default(); geometry.dies as usize],
            channels: vec![Reservations::default(); geometry.channels as usize],
            slowdown: 1.0,
            rng: Xoshiro256PlusPlus::seed_from_u64(seed),
            copied_stripe: None,
            geometry,
        }
    }

    pub(super) fn set_slowdown(&mut self, slowdown: f64) {
        self.slowdown = slowdown;
    }

    /// `len` at the present speed.
    pub(super) fn paced(&self, len: Nanos) -> Nanos {
        if self.slowdown == 1.0 { len } else { (len as f64 * self.slowdown) as Nanos }
    }

    pub(super) fn transfer(&self, units: u32) -> Nanos {
        whole_ns(self.times.unit_transfer * f64::from(units) * self.slowdown)
    }

    fn read_time(&mut self, level: u32, slc: bool) -> Nanos {
        let page = if slc { self.times.slc_read } else { self.times.read[level as usize] };
        let again = self.times.retry_share > 0.0 && self.rng.random_bool(self.times.retry_share);
        self.paced(page + if again { self.times.retry } else { 0 })
    }

    /// Reads `units` units of the stripe that holds `ppn`; returns when the controller has them. A die
    /// continues reading while its register is emptied (cache read).
    pub(super) fn read(&mut self, now: Nanos, at: Nanos, ppn: Ppn, slc: bool, units: u32) -> Nanos {
        let place = self.geometry.place(ppn, slc);
        let len = self.read_time(place.level, slc);
        let suspend = self.times.suspend;
        let end = self.dies[place.die as usize].read(now, at, len, suspend);
        self.over_channel(now, end, place.die, units)
    }

    /// Reads one map page, which lies on a die that follows from its number.
    pub(super) fn read_map(&mut self, now: Nanos, at: Nanos, page: u32) -> Nanos {
        let die = page % self.geometry.dies;
        let len = self.paced(self.times.slc_read);
        let suspend = self.times.suspend;
        let end = self.dies[die as usize].read(now, at, len, suspend);
        self.over_channel(now, end, die, 1)
    }

    fn over_channel(&mut self, now: Nanos, from: Nanos, die: u32, units: u32) -> Nanos {
        let len = self.transfer(units);
        let channel = (die % self.geometry.channels) as usize;
        self.channels[channel].reserve(now, from, len) + len
    }

    /// Transfers a whole program operation to the die, which may be programming the one before (cache
    /// program), and writes it after the die's other work.
    pub(super) fn program(&mut self, now: Nanos, at: Nanos, die: u32, slc: bool) -> Ticket {
        let from = self.dies[die as usize].register_free_from(at);
        let there = self.over_channel(now, from, die, self.geometry.program_units(slc));
        let time = if slc { self.times.slc_program } else { self.times.program };
        let len = self.paced(time);
        let number = self.dies[die as usize].program(now, there, len);
        Ticket { die, number }
    }

    /// When a program operation ends, as things stand; `None` once it has ended.
    pub(super) fn end_of(&self, ticket: Ticket) -> Option<Nanos> {
        self.dies[ticket.die as usize].end_of(ticket.number)
    }

    /// Mean time of a page read at full speed, repetitions included.
    pub(super) fn mean_read_ns(&self, level: u32, slc: bool) -> f64 {
        let page = if slc { self.times.slc_read } else { self.times.read[level as usize] };
        page as f64 + self.times.retry as f64 * self.times.retry_share
    }

    /// Saving one stripe in pages of one bit per cell.
    pub(super) fn slc_page_write(&self) -> Nanos {
        self.transfer(self.geometry.stripe) + self.paced(self.times.slc_program)
    }

    /// When all dies will have nothing left to do; at least `at`.
    pub(super) fn idle_from(&self, at: Nanos) -> Nanos {
        self.dies.iter().map(|die| die.free_from(at)).max().unwrap_or(at)
    }

    /// Occupies all dies from `from` to `to` with work that has been accounted for as a whole.
    pub(super) fn occupy(&mut self, now: Nanos, from: Nanos, to: Nanos) {
        for die in &mut self.dies {
            let start = die.free_from(from);
            if start < to {
                die.append(now, start, to - start);
            }
        }
    }

    /// The work of a copy and of erasing, one operation after the other.
    pub(super) fn sink(&mut self, now: Nanos, at: Nanos) -> FlashSink<'_> {
        FlashSink { flash: self, now, at }
    }

    /// Appends the page reads of a copy to the chains of their dies. The collector reads ahead, so
    /// that its programs never wait for its reads.
    fn copy_reads(&mut self, now: Nanos, at: Nanos, from: Ppn, slc: bool, units: u32) {
        let mut done = 0;
        while done < units {
            let place = self.geometry.place(from + done, slc);
            let n = place.left.min(units - done);
            let stripe = (from + done) / self.geometry.stripe;
            if self.copied_stripe != Some(stripe) {
                self.copied_stripe = Some(stripe);
                let len = self.read_time(place.level, slc);
                let die = &mut self.dies[place.die as usize];
                let start = die.free_from(at);
                die.append(now, start, len);
            }
            let data = self.dies[place.die as usize].free_from(at);
            self.over_channel(now, data, place.die, n);
            done += n;
        }
    }
}

/// Turns what the translation layer does into work for the dies.
pub(super) struct FlashSink<'a> {
    flash: &'a mut Flash,
    now: Nanos,
    at: Nanos,
}

impl Sink for FlashSink<'_> {
    fn moved(&mut self, from: Ppn, from_slc: bool, to: Ppn, units: u32) {
        self.flash.copy_reads(self.now, self.at, from, from_slc, units);
        let geometry = self.flash.geometry;
        for_programs(&geometry, to, units, false, |die, _| {
            self.flash.program(self.now, self.at, die, false);
        });
    }

    fn opened(&mut self, _block: u32) {
        let len = self.flash.paced(self.flash.times.erase);
        for die in &mut self.flash.dies {
            let start = die.free_from(self.at);
            die.append(self.now, start, len);
        }
    }
}

/// Calls `each` with die and number of every program operation that `units` units from `ppn` complete.
fn for_programs(
    geometry: &Geometry,
    ppn: Ppn,
    units: u32,
    slc: bool,
    mut each: impl FnMut(u32, u32),
) {
    let mut done = 0;
    while done < units {
        let place = geometry.place(ppn + done, slc);
        let n = place.left.min(units - done);
        if n == place.left && geometry.completes_program(place, slc) {
            each(place.die, place.program);
        }
        done += n;
    }
}
