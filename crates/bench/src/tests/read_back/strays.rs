//! Sectors that hold what was written to another address: do both addresses lead to one place, or did the drive
//! put single writes where they do not belong?
//!
//! Where addresses repeat, what was written last is what both read, so that the other one finds its own data. A
//! write that went astray is missing where it belongs.

use super::ReadBack;
use crate::payload::{Held, SECTOR};
use crate::queue::{Completion, Op, Queue, Request};
use std::collections::BTreeMap;
use std::io;

/// Distances that are remembered: a fake has few, and each costs one read.
const DISTANCES_MAX: usize = 64;

/// One sector of each distance between where data were found and where they belong: that it belongs to.
#[derive(Debug, Default)]
pub(super) struct Strays(BTreeMap<i64, u64>);

impl Strays {
    /// What belongs to byte `origin` was found at byte `at`.
    pub(super) fn note(&mut self, at: u64, origin: u64) {
        if self.0.len() < DISTANCES_MAX {
            self.0.entry(origin as i64 - at as i64).or_insert(origin);
        }
    }

    /// Whether any of them is found where it belongs, too. Nothing may be in flight.
    pub(super) fn any_at_home<Q: Queue>(
        &self,
        read_back: &ReadBack<'_>,
        queue: &mut Q,
    ) -> io::Result<bool> {
        let unit = u64::from(read_back.unit);
        let mut done: Vec<Completion> = Vec::with_capacity(usize::from(queue.slots()));
        for &origin in self.0.values() {
            let offset = origin / unit * unit;
            queue.submit(Request { op: Op::Read, offset, len: read_back.unit, slot: 0 });
            done.clear();
            queue.wait(&mut done)?;
            if done.first().is_none_or(|done| done.result != read_back.unit as i32) {
                continue;
            }
            let (sectors, _) = queue.buffer(0)[..unit as usize].as_chunks::<SECTOR>();
            let sector = &sectors[(origin - offset) as usize / SECTOR];
            if let Held::Own { pass } = read_back.data.held(sector, origin)
                && pass == read_back.data.pass()
            {
                return Ok(true);
            }
        }
        Ok(false)
    }
}
