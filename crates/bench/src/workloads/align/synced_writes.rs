//! The default way: synced writes at every offset, in random order, until the answer is clear.
//!
//! Each write waits for the medium (force unit access, or a flush after it), so that the drive's cache
//! cannot put pieces together. 4 KiB blocks at the multiples of 512 show sectors up to 4 KiB; 16 KiB
//! blocks at the multiples of 4 KiB then show larger units.

use super::offset_groups::{OffsetGroups, OffsetTimes};
use super::offset_ladder::{Ladder, LadderAccess};
use super::physical_sector::{BlockSizeResult, Boundaries, judge, judge_finally};
use super::write_area::{AccessPattern, WriteArea};
use crate::error::BenchError;
use crate::io::offsets::derive_seed;
use crate::io::queue::IoOp;
use crate::judging::test_record::TestRecord;
use crate::session::Session;

/// The sector of nearly all drives.
const SMALL: u64 = 4 << 10;
/// Largest unit looked for: a page of flash.
const LARGE: u64 = 16 << 10;
/// Writes at each offset between two looks at the times.
const BATCH: usize = 8;
/// Looks before the times are believed.
const LOOKS_MIN: usize = 2;
/// This many looks are one lot: of a disk without difference they show extra times of a third. Only where
/// the times still say nothing are there more lots.
const LOOKS_OF_LOT: usize = 7;
const LOTS_MAX: usize = 3;
/// Without difference, finer results are useless.
const FINE_SHARE: f64 = 0.1;
/// With a difference, the penalty needs the time of the fast offsets within this standard error.
const ERROR_SHARE: f64 = 0.05;
/// Share of the time that the first ladder may use.
const FIRST_SHARE: f64 = 0.75;

/// Most writes that one lot of each ladder makes, and their bytes: for the plan.
pub fn most() -> (u64, u64) {
    let at_each = (LOOKS_OF_LOT * BATCH) as u64;
    let (small, large) = (8 * at_each, 4 * at_each);
    (small + large, small * SMALL + large * LARGE)
}

pub fn run(
    session: &mut Session<'_>,
    record: &mut TestRecord,
    site: &mut WriteArea,
) -> Result<Vec<BlockSizeResult>, BenchError> {
    record.needs_no_rounds();
    let budget_ns = session.plan.suite.align.time.nanos();
    let began = session.now_ns();
    let mut all = Vec::new();
    // Where no sector is found, larger units are taken to begin at pages of the drive: of a partition that is
    // astray, at none of its own.
    let mut base = site.first_multiple(SMALL);
    if site.step < SMALL {
        let ladder = Ladder { block: SMALL, step: site.step, base: 0 };
        let until = began + (budget_ns as f64 * FIRST_SHARE) as u64;
        let seen = climb(session, record, site, ladder, until)?;
        if let Boundaries::Found { shift, .. } = seen.boundaries {
            base = shift;
        }
        all.push(seen);
    }
    if site.step < LARGE {
        // Sectors of the target's own unit cannot be met off their beginnings.
        let base = if site.step < SMALL { base } else { 0 };
        let ladder = Ladder { block: LARGE, step: site.step.max(SMALL), base };
        all.push(climb(session, record, site, ladder, began + budget_ns)?);
    }
    Ok(all)
}

/// Writes at the offsets of a ladder until the answer is clear, the lots are used up, or the time is.
fn climb(
    session: &mut Session<'_>,
    record: &mut TestRecord,
    site: &mut WriteArea,
    ladder: Ladder,
    until_ns: u64,
) -> Result<BlockSizeResult, BenchError> {
    let cell = format!("blocks{}", ladder.name());
    let seed = derive_seed(session.plan.seed, &cell, 0, 0);
    let places = ladder.places(&site.span, LOTS_MAX * LOOKS_OF_LOT * BATCH, seed);
    let times: Vec<OffsetTimes> =
        ladder.offsets().into_iter().map(|offset| OffsetTimes { offset, ns: Vec::new() }).collect();
    let in_lot = LOOKS_OF_LOT * BATCH * times.len();
    let mut climb =
        Climb { ladder, cell, until_ns, times, looks: 0, before: OffsetGroups::default() };
    for lot in places.chunks(in_lot) {
        if climb.write_lot(session, record, site, lot)? {
            break;
        }
    }
    Ok(judge_finally(&climb.times, ladder.block, ladder.step, seed))
}

struct Climb {
    ladder: Ladder,
    cell: String,
    until_ns: u64,
    times: Vec<OffsetTimes>,
    looks: usize,
    /// The groups at the look before.
    before: OffsetGroups,
}

impl Climb {
    /// Writes a lot batch by batch, what is there if that must be kept; returns whether all is done.
    fn write_lot(
        &mut self,
        session: &mut Session<'_>,
        record: &mut TestRecord,
        site: &mut WriteArea,
        lot: &[LadderAccess],
    ) -> Result<bool, BenchError> {
        let block = self.ladder.block;
        let starts: Vec<u64> = lot.iter().map(|place| place.at).collect();
        let originals = site.originals(session, &starts, block)?;
        let in_batch = BATCH * self.times.len();
        let mut written = 0;
        let mut done = false;
        while written < lot.len() && !done {
            let batch = &lot[written..(written + in_batch).min(lot.len())];
            let data = originals.as_deref().map(|all| of_batch(all, lot.len(), written, batch));
            done = self.write_batch(session, record, site, batch, data)?;
            written += batch.len();
        }
        site.compare(session, &starts[..written], block, originals.as_deref())?;
        Ok(done)
    }

    /// Writes a batch and looks at the times; returns whether that is enough.
    fn write_batch(
        &mut self,
        session: &mut Session<'_>,
        record: &mut TestRecord,
        site: &WriteArea,
        batch: &[LadderAccess],
        data: Option<&[u8]>,
    ) -> Result<bool, BenchError> {
        self.looks += 1;
        let round = self.looks as u32;
        session.phase_started(&self.cell, round, LOOKS_OF_LOT as u32);
        let began = session.now_ns();
        let block = self.ladder.block;
        let way = AccessPattern {
            synced: true,
            ..AccessPattern::of(&self.cell, round, block, IoOp::Write)
        };
        let starts = batch.iter().map(|place| place.at).collect();
        let (ns, _) = site.access(session, record, way, starts, data)?;
        for (LadderAccess { rung, .. }, ns) in batch.iter().zip(ns) {
            self.times[*rung].ns.push(ns);
        }
        let now = session.now_ns();
        let seen = judge(&self.times, block, self.ladder.step);
        let clear = self.looks >= LOOKS_MIN && self.is_clear(&seen);
        self.before = seen.split;
        Ok(clear || now + (now - began) > self.until_ns)
    }

    /// Whether more writes would change nothing: the same groups twice in a row with the fast one's time
    /// well known, or none with fine times; after a whole lot, any answer.
    fn is_clear(&self, seen: &BlockSizeResult) -> bool {
        let whole_lot = self.looks >= LOOKS_OF_LOT;
        match seen.boundaries {
            Boundaries::Found { .. } => {
                seen.split == self.before && (whole_lot || seen.error_share <= ERROR_SHARE)
            }
            Boundaries::Alike { resolution } => whole_lot || resolution <= FINE_SHARE,
            Boundaries::Hidden(_) => false,
        }
    }
}

fn of_batch<'b>(
    blocks: &'b [u8],
    count: usize,
    written: usize,
    batch: &[LadderAccess],
) -> &'b [u8] {
    let block = blocks.len() / count;
    &blocks[written * block..(written + batch.len()) * block]
}
