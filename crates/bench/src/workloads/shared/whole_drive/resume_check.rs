//! Before a stopped run is continued: whether the target is the one that was written, up to the position
//! that is named. The stamps say so: each has its address and follows from the seed of the stopped run.

use crate::error::BenchError;
use crate::io::payload::Payload;
use crate::io::queue::QueueSpec;
use crate::loops::control::Control;
use crate::session::Session;
use crate::workloads::shared::whole_drive::read_back::{ReadBack, ReadBackOutcome};
use drivescope_model::event::Event;
use std::ops::Range;

/// What is read right before the position: what was written last is what a power cut loses.
const TAIL: u64 = 64 << 20;
/// Pieces that are read of what lies before, spread evenly, and their length.
const PIECES: u64 = 64;
const PIECE: u64 = 4096;
/// Bytes per request, and requests in flight.
const CHUNK: u32 = 1 << 20;
const DEPTH: u32 = 4;

/// How much of the examined part must be there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum StampsNeeded {
    /// Everything, in any pass: writing continues after it.
    All,
    /// The same in the pass of the data: what another one left there would be read back as lost.
    AllOfPass,
    /// Any stamp, on the part of this length: a read may have found bad sectors before the position, which
    /// its document shows. A stamp of another address is one too: fake drives mix them up.
    Any(u64),
}

/// Checks that bytes before `from`, a multiple of 4096, hold what `data`'s seed writes there.
/// With [`StampsNeeded::Any`] a stamp anywhere will do; without any, a read would call an honest drive fake.
///
/// Errors: they do not, or cannot be read; nothing has been written then.
pub(crate) fn check(
    session: &Session<'_>,
    data: Payload,
    from: u64,
    need: StampsNeeded,
) -> Result<(), BenchError> {
    let everything = match need {
        StampsNeeded::All | StampsNeeded::AllOfPass if from == 0 => return Ok(()),
        StampsNeeded::All | StampsNeeded::AllOfPass => 0,
        StampsNeeded::Any(size) => size,
    };
    session.emit(Event::Preparing { what: "checking what was written before".into() });
    let needs_all = !matches!(need, StampsNeeded::Any(_));
    let mut strange = None;
    for span in spans(from).chain(spans(everything)) {
        session.check_stop()?;
        let outcome = read(session, data, span, need != StampsNeeded::AllOfPass)?;
        match (need, outcome.failed, outcome.tally.first_bad()) {
            (StampsNeeded::Any(_), ..) if outcome.tally.has_stamps() => return Ok(()),
            (_, (count, Some(failure)), _) if needs_all => {
                return Err(BenchError::Request { failure, count });
            }
            (_, _, bad) => strange = strange.or(bad),
        }
        if needs_all && strange.is_some() {
            break;
        }
    }
    let Some(at) = strange else { return session.check_stop() };
    let seed = session.plan.seed;
    if !needs_all {
        return Err(no_stamps(seed));
    }
    Err(BenchError::Unsuitable(format!(
        "cannot resume at byte {from}: byte {at} does not hold the data of seed {seed}; check device, position and \
         seed of the stopped run, or start over"
    )))
}

/// The newest pass of `data`'s seed that wrote anything before `to`, as far as a few pieces show.
pub(crate) fn newest_pass(
    session: &Session<'_>,
    data: Payload,
    to: u64,
) -> Result<Option<u64>, BenchError> {
    let mut newest = None;
    for span in pieces(to).chain((to > 0).then_some(to.saturating_sub(PIECE)..to)) {
        session.check_stop()?;
        newest = newest.max(read(session, data, span, true)?.tally.newest_pass);
    }
    Ok(newest)
}

/// How something ended that was done in whole: a stop that came meanwhile has nothing left to resume.
pub(crate) fn unless_too_late(end: Result<(), BenchError>) -> Result<(), BenchError> {
    match end {
        Err(BenchError::Interrupted) => Ok(()),
        end => end,
    }
}

pub(crate) fn no_stamps(seed: u64) -> BenchError {
    BenchError::Unsuitable(format!(
        "no data of seed {seed} found: use the seed of the run that wrote (see `drivescope show RUN --json`), or \
         write first, without verify.phase=read"
    ))
}

/// The examined part: the last part before `from`, and pieces of all before; nothing before 0.
fn spans(from: u64) -> impl Iterator<Item = Range<u64>> {
    let tail = from.saturating_sub(TAIL);
    pieces(tail).chain((from > 0).then_some(tail..from))
}

fn pieces(to: u64) -> impl Iterator<Item = Range<u64>> {
    let step = (to / PIECES).next_multiple_of(PIECE).max(PIECE);
    (0..to).step_by(step as usize).map(move |at| at..to.min(at + PIECE))
}

/// Reads a few bytes back and sorts them.
pub(crate) fn read(
    session: &Session<'_>,
    data: Payload,
    span: Range<u64>,
    any_pass: bool,
) -> Result<ReadBackOutcome, BenchError> {
    let control = Control::default();
    let unit = session.device().align_bytes().max(512);
    let (chunk, depth) = (CHUNK, DEPTH);
    let task =
        ReadBack { span, chunk, unit, depth, data, any_pass, refused: &[], control: &control };
    let spec = QueueSpec { depth: DEPTH, ahead: 1, block_bytes: CHUNK, dsync: false };
    Ok(session.device().run(spec, task, &mut || session.pass_stop_on(&control))?.output)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_and_earlier_pieces_are_checked() {
        for from in [4096, TAIL - 4096, TAIL, TAIL + 4096, TAIL + (1 << 20), 3 << 40] {
            let spans: Vec<Range<u64>> = spans(from).collect();
            let last = spans.last().unwrap();
            assert_eq!((last.end, last.start), (from, from.saturating_sub(TAIL)));
            assert!(spans.iter().all(|span| !span.is_empty() && span.start % 4096 == 0));
            assert!(spans.windows(2).all(|pair| pair[0].end <= pair[1].start), "{from}");
            assert!(spans.len() <= PIECES as usize + 1 && spans[0].start == 0, "{from}");
        }
        assert_eq!(spans(3 << 40).count(), PIECES as usize + 1);
        assert_eq!(spans(0).count(), 0);
    }
}
