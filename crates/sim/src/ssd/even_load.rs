//! Adds up copies and erases that are spread evenly over the dies, for stretches that are computed as
//! a whole: idle folding and long streams.

use super::flash::Flash;
use super::ftl::Sink;
use super::geometry::{Geometry, Ppn};
use crate::device::Nanos;

/// The sum.
#[derive(Debug, Clone)]
pub(super) struct EvenLoad<'a> {
    flash: &'a Flash,
    geometry: &'a Geometry,
    /// Page reads and erases, summed over dies, at full speed.
    die_ns: f64,
    moved: u64,
    last_stripe: Option<u32>,
}

impl<'a> EvenLoad<'a> {
    pub(super) fn new(flash: &'a Flash, geometry: &'a Geometry) -> Self {
        Self { flash, geometry, die_ns: 0.0, moved: 0, last_stripe: None }
    }

    /// How long the dies need for it, at the present speed.
    pub(super) fn duration(&self) -> Nanos {
        self.flash.paced(self.with_host_units(0, false).max(1.0) as Nanos)
    }

    /// How long the dies need, at full speed, for it and for programming `units` units of the host.
    pub(super) fn with_host_units(&self, units: u32, slc: bool) -> f64 {
        self.flash.even_load_ns(self.die_ns, self.moved, units, slc)
    }
}

impl Sink for EvenLoad<'_> {
    fn moved(&mut self, from: Ppn, from_slc: bool, _to: Ppn, units: u32) {
        self.moved += u64::from(units);
        let mut done = 0;
        while done < units {
            let place = self.geometry.place(from + done, from_slc);
            let stripe = (from + done) / self.geometry.stripe;
            if self.last_stripe != Some(stripe) {
                self.last_stripe = Some(stripe);
                self.die_ns += self.flash.mean_read_ns(place.level, from_slc);
            }
            done += place.left.min(units - done);
        }
    }

    fn opened(&mut self, _block: u32) {
        self.die_ns += self.flash.times.erase as f64 * f64::from(self.geometry.dies);
    }
}
