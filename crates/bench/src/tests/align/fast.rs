//! The default way: synced writes at every offset, in random order, until the answer is clear.
//!
//! Each write waits for the medium (force unit access, or a flush after it), so that the drive's cache
//! cannot put pieces together. 4 KiB blocks at the multiples of 512 show sectors up to 4 KiB; 16 KiB
//! blocks at the multiples of 4 KiB then show larger units.

use super::places::{Ladder, Place};
use super::site::{Site, Way};
use super::split::{Split, Times};
use super::verdict::{Boundaries, Seen, judge, judge_finally};
use crate::error::BenchError;
use crate::offsets::derive_seed;
use crate::queue::Op;
use crate::results::TestRecord;
use crate::session::Session;
use drivescope_model::event::Event;

/// The sector of nearly all drives.
const SMALL: u64 = 4 << 10;
/// Largest unit looked for: a page of flash.
const LARGE: u64 = 16 << 10;
/// Writes at each offset between two looks at the times.
pub const BATCH: usize = 8;
/// Looks before the times are believed, and at most.
const LOOKS_MIN: usize = 2;
/// Without difference, so many writes at each offset of a disk show extra times of a third.
const LOOKS_MAX: usize = 7;
/// Without difference, finer than this is of no use.
const FINE_SHARE: f64 = 0.1;
/// With a difference, the penalty needs the time of the fast offsets within this standard error.
const ERROR_SHARE: f64 = 0.05;
/// Share of the time that the first ladder may use.
const FIRST_SHARE: f64 = 0.75;

/// Most writes that a run may make, and their bytes: for the plan.
pub fn most() -> (u64, u64) {
    let at_each = (LOOKS_MAX * BATCH) as u64;
    let (small, large) = (8 * at_each, 4 * at_each);
    (small + large, small * SMALL + large * LARGE)
}

/// Runs both ladders, where the target's unit allows them.
pub fn run(
    session: &mut Session<'_>,
    record: &mut TestRecord,
    site: &mut Site,
) -> Result<Vec<Seen>, BenchError> {
    record.needs_no_rounds();
    let budget_ns = session.plan.suite.align.time.nanos();
    let began = session.now_ns();
    let mut all = Vec::new();
    let mut base = 0;
    if site.step < SMALL {
        let ladder = Ladder { block: SMALL, step: site.step, base };
        let until = began + (budget_ns as f64 * FIRST_SHARE) as u64;
        let seen = climb(session, record, site, ladder, until)?;
        if let Boundaries::Found { shift, .. } = seen.boundaries {
            base = shift;
        }
        all.push(seen);
    }
    if site.step < LARGE {
        let ladder = Ladder { block: LARGE, step: site.step.max(SMALL), base };
        all.push(climb(session, record, site, ladder, began + budget_ns)?);
    }
    Ok(all)
}

/// Writes at the offsets of a ladder, batch by batch, until the answer is clear, the writes are used up, or
/// another batch would end after `until_ns`.
fn climb(
    session: &mut Session<'_>,
    record: &mut TestRecord,
    site: &mut Site,
    ladder: Ladder,
    until_ns: u64,
) -> Result<Seen, BenchError> {
    let cell = format!("blocks{}", ladder.name());
    let seed = derive_seed(session.plan.seed, &cell, 0, 0);
    let places = ladder.places(&site.span, LOOKS_MAX * BATCH, seed);
    let starts: Vec<u64> = places.iter().map(|place| place.at).collect();
    let originals = site.originals(session, &starts, ladder.block)?;
    let mut times: Vec<Times> =
        ladder.offsets().into_iter().map(|offset| Times { offset, ns: Vec::new() }).collect();
    let in_batch = BATCH * times.len();
    let mut before = Split::default();
    let mut written = 0;
    for (look, batch) in places.chunks(in_batch).enumerate() {
        let round = look as u32 + 1;
        session.emit(Event::PhaseStarted { label: cell.clone(), round, rounds: LOOKS_MAX as u32 });
        let began = session.now_ns();
        let way = Way { cell: &cell, round, block: ladder.block, op: Op::Write, synced: true };
        let data =
            originals.as_deref().map(|blocks| of_batch(blocks, places.len(), written, batch));
        let starts = batch.iter().map(|place| place.at).collect();
        let (ns, _) = site.access(session, record, way, starts, data)?;
        for (Place { rung, .. }, ns) in batch.iter().zip(ns) {
            times[*rung].ns.push(ns);
        }
        written += batch.len();
        let now = session.now_ns();
        let seen = judge(&times, ladder.block, ladder.step);
        if round as usize >= LOOKS_MIN && is_clear(&seen, &before) || now + (now - began) > until_ns
        {
            break;
        }
        before = seen.split;
    }
    site.compare(session, &starts[..written], ladder.block, originals.as_deref())?;
    Ok(judge_finally(&times, ladder.block, ladder.step, seed))
}

/// The blocks of a batch that begins after `written` of `count` places.
fn of_batch<'b>(blocks: &'b [u8], count: usize, written: usize, batch: &[Place]) -> &'b [u8] {
    let block = blocks.len() / count;
    &blocks[written * block..(written + batch.len()) * block]
}

/// Whether more writes would change nothing: the same groups twice in a row, or none with fine times.
fn is_clear(seen: &Seen, before: &Split) -> bool {
    match seen.boundaries {
        Boundaries::Found { .. } => seen.split == *before && seen.error_share <= ERROR_SHARE,
        Boundaries::Alike { resolution } => resolution <= FINE_SHARE,
        Boundaries::Hidden(_) => false,
    }
}
