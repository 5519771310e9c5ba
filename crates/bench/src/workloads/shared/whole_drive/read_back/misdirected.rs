//! Sectors that hold what was written to another address: do both addresses lead to one place, or did the drive
//! put single writes where they do not belong?
//!
//! Where addresses repeat, what was written last is what both read, so that the other one finds its own data. A
//! write that went astray is missing where it belongs. One that carried another's data, as a bridge does that
//! sends an old buffer again, leaves these in both places: but where capacity is missing, the end of the drive
//! has no place of its own, and is one of the two. Only a cache larger than any that the search covers can answer for
//! that; a good part of the drive holds what belongs elsewhere then.

use super::ReadBack;
use crate::io::payload::{SECTOR, SectorContents};
use crate::io::queue::{IoCompletion, IoOp, IoQueue, IoRequest};
use std::collections::BTreeMap;
use std::io;

/// Distances that are remembered: a fake has few, and each costs one read.
const DISTANCES_MAX: usize = 64;

/// How near to the end of what is read sectors must lie to be its end: a few bad ones may be there.
const END_BYTES: u64 = 1 << 20;

/// Misdirected data in at least this part of what is read are not an accident.
const GOOD_PART: u64 = 256;

/// One sector of each distance between where data were found and where they belong: that it belongs to.
type Distances = BTreeMap<i64, u64>;

/// Sectors that hold what belongs elsewhere; those at the end, or whose data belong there, once more.
#[derive(Debug, Default)]
pub(crate) struct MisdirectedWrites {
    all: Distances,
    of_end: Distances,
}

impl MisdirectedWrites {
    /// What belongs to byte `origin` was found at byte `at`; `end` is the end of what is read.
    pub(crate) fn note(&mut self, at: u64, origin: u64, end: u64) {
        let is_of_end = at.max(origin) + END_BYTES >= end;
        for distances in [Some(&mut self.all), Some(&mut self.of_end).filter(|_| is_of_end)] {
            if let Some(distances) = distances.filter(|known| known.len() < DISTANCES_MAX) {
                distances.entry(origin as i64 - at as i64).or_insert(origin);
            }
        }
    }

    /// Whether what was found elsewhere is found where it belongs, too: of the end of the drive or, where they are
    /// `overwritten` bytes and a good part of it, of any. Nothing may be in flight.
    pub(crate) fn any_at_home<Q: IoQueue>(
        &self,
        read_back: &ReadBack<'_>,
        queue: &mut Q,
        overwritten: u64,
    ) -> io::Result<bool> {
        let is_much = overwritten > (read_back.span.end - read_back.span.start) / GOOD_PART;
        let any = Some(&self.all).filter(|_| is_much).into_iter().flat_map(Distances::values);
        let unit = u64::from(read_back.unit);
        let mut done: Vec<IoCompletion> = Vec::with_capacity(queue.slots() as usize);
        for &origin in any.chain(self.of_end.values()) {
            let offset = origin / unit * unit;
            let request = IoRequest { op: IoOp::Read, offset, len: read_back.unit, slot: 0 };
            if queue.exchange(request, &mut done)?.is_err() {
                continue;
            }
            let (sectors, _) = queue.buffer(0)[..unit as usize].as_chunks::<SECTOR>();
            let sector = &sectors[(origin - offset) as usize / SECTOR];
            if let SectorContents::Own { pass } = read_back.data.held(sector, origin)
                && pass == read_back.data.pass()
            {
                return Ok(true);
            }
        }
        Ok(false)
    }
}
