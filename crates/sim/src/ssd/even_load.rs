//! Adds up copies and erases that are spread evenly over the dies, for stretches that are computed as
//! a whole: idle folding and long streams.

use super::flash::Flash;
use super::ftl::Sink;
use super::geometry::{Geometry, Ppn};
use crate::device::Nanos;

/// Work that writes bring.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Load {
    /// Page reads and erases, summed over dies, at full speed.
    pub die_ns: f64,
    /// Units copied.
    pub moved: u64,
    /// Units of the host, in ordinary blocks and in those of the SLC cache.
    pub host_units: [u64; 2],
}

impl Load {
    /// What has come on top of an earlier state.
    pub(super) fn since(&self, earlier: &Self) -> Self {
        let host_units = [0, 1].map(|slc| self.host_units[slc] - earlier.host_units[slc]);
        Self { die_ns: self.die_ns - earlier.die_ns, moved: self.moved - earlier.moved, host_units }
    }
}

/// The sum.
#[derive(Debug, Clone)]
pub(super) struct EvenLoad<'a> {
    flash: &'a Flash,
    geometry: &'a Geometry,
    pub(super) load: Load,
    last_stripe: Option<u32>,
}

impl<'a> EvenLoad<'a> {
    pub(super) fn new(flash: &'a Flash, geometry: &'a Geometry) -> Self {
        Self { flash, geometry, load: Load::default(), last_stripe: None }
    }

    /// How long the dies need for it, at the present speed.
    pub(super) fn duration(&self) -> Nanos {
        self.flash.paced(self.full_speed_ns().max(1.0) as Nanos)
    }

    /// The same at full speed.
    pub(super) fn full_speed_ns(&self) -> f64 {
        self.flash.even_load_ns(&self.load)
    }
}

impl Sink for EvenLoad<'_> {
    fn moved(&mut self, from: Ppn, from_slc: bool, _to: Ppn, units: u32) {
        self.load.moved += u64::from(units);
        let mut done = 0;
        while done < units {
            let place = self.geometry.place(from + done, from_slc);
            let stripe = (from + done) / self.geometry.stripe;
            if self.last_stripe != Some(stripe) {
                self.last_stripe = Some(stripe);
                self.load.die_ns += self.flash.mean_read_ns(place.level, from_slc);
            }
            done += place.left.min(units - done);
        }
    }

    fn opened(&mut self, _block: u32) {
        self.load.die_ns += self.flash.times.erase as f64 * f64::from(self.geometry.dies);
    }
}
