//! Copies and erases that are spread evenly over the dies, added up: what the drive folds in idle time.

use super::flash::Flash;
use super::ftl::Sink;
use super::geometry::{Geometry, Ppn};
use crate::device::Nanos;

#[derive(Debug, Clone)]
pub(super) struct FoldingLoad<'a> {
    flash: &'a Flash,
    geometry: &'a Geometry,
    /// Page reads and erases, summed over dies, at full speed.
    die_ns: f64,
    moved: u64,
    last_stripe: Option<u32>,
}

impl<'a> FoldingLoad<'a> {
    pub(super) fn new(flash: &'a Flash, geometry: &'a Geometry) -> Self {
        Self { flash, geometry, die_ns: 0.0, moved: 0, last_stripe: None }
    }

    /// How long dies and channels need for it, at the present speed. Transfers continue beside the work of the dies.
    pub(super) fn duration(&self) -> Nanos {
        let (geometry, times, moved) = (self.geometry, &self.flash.times, self.moved as f64);
        let program_ns = times.program as f64 / f64::from(geometry.program_units(false));
        let dies_ns = (self.die_ns + moved * program_ns) / f64::from(geometry.dies);
        let channels_ns = 2.0 * moved * times.unit_transfer / f64::from(geometry.channels);
        self.flash.paced(dies_ns.max(channels_ns).max(1.0) as Nanos)
    }
}

impl Sink for FoldingLoad<'_> {
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
