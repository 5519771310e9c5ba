//! The questions to a disk that is known to be shingled, and what it says of itself.

use super::answers::{self, could_not_tell};
use super::bands::{self, LoggedReads, STRETCH};
use super::write_cache::WriteProbe;
use super::{LongFilling, Questions, ask, shingle_log};
use crate::error::BenchError;
use crate::session::Session;

/// Of an area, this much must be there beside the stretch.
const STRETCH_ROOM: u64 = 4;

/// Whether the drive takes discards, as far as the kernel says: a disk has no use for them unless it is shingled.
pub fn takes_trim(session: &Session<'_>) -> Option<bool> {
    session.target.drive().and_then(|drive| drive.discards)
}

/// Reads a group of blocks as a question of its own.
struct Reads {
    block: u32,
}

impl LoggedReads for Reads {
    fn group_ns(
        &mut self,
        writes: &mut WriteProbe<'_, '_>,
        at: u64,
    ) -> Result<Option<f64>, BenchError> {
        let WriteProbe { session, record, area, .. } = writes;
        let at = at - area.span.start;
        let block = self.block;
        ask(session, record, "bands", |probe| bands::group_ns(probe, at, block))
    }
}

pub fn ask_bands(questions: &mut Questions<'_, '_>, turn_ns: f64) -> Result<(), BenchError> {
    const WHAT: &str = "size of a band";
    let block = questions.block;
    let Some(mut writes) = questions.writes_in_time(WHAT) else { return Ok(()) };
    if writes.area.span.end - writes.area.span.start < STRETCH_ROOM * STRETCH {
        could_not_tell(questions.record, WHAT, "there is too little room");
        return Ok(());
    }
    let found = bands::measure(&mut writes, turn_ns, &mut Reads { block })?;
    questions.tell(WHAT, found, answers::band);
    Ok(())
}

/// Finds the size of the persistent cache. The drive's memory holds `cached_bytes` besides.
pub fn ask_log(questions: &mut Questions<'_, '_>, cached_bytes: f64) -> Result<(), BenchError> {
    const WHAT: &str = "size of the persistent cache";
    let until_s = questions.session.plan.suite.geometry.time.0;
    let filling = LongFilling {
        what: WHAT,
        unasked: "filling it takes many GB of random writes; --set geometry.cache_writes=40GB allows them",
        too_slow: "what is there must be kept, which takes longer than the cleaning; use a directory on it",
    };
    let Some((mut writes, most)) = questions.fills(filling) else { return Ok(()) };
    // What other questions wrote at random may still be there.
    let earlier = writes
        .record
        .rounds()
        .iter()
        .filter_map(|round| round.asked)
        .map(|(_, written)| written)
        .sum::<f64>();
    let has_time = |writes: &WriteProbe<'_, '_>| writes.session.test_elapsed_s() < until_s;
    let found = shingle_log::measure(&mut writes, most, &has_time)?;
    questions.tell(WHAT, found, |record, log| answers::log(record, log, earlier, cached_bytes));
    Ok(())
}
