//! `surface.preset=full`: every byte is read once, in order. It only reads, so that a run that resumes it needs nothing
//! but the position and the figures of the part before, which are in its document.

mod bad_stretches;
mod whole_read;

use super::one_pass::{self, OnePass};
use super::rates::{self, StepPace};
use super::{RequestShape, go_on_unless, notice_part, on_target, part_start, within_part};
use crate::error::BenchError;
use crate::io::device::WorkerOutcome;
use crate::io::queue::QueueSpec;
use crate::judging::test_record::{TestRecord, series_of};
use crate::loops::control::Control;
use crate::loops::phase::PhaseResult;
use crate::loops::scan::{ScanRegion, TimedRegion};
use crate::session::Session;
use drivescope_model::options::TestKind;
use drivescope_model::resume::ResumePhase;
use std::sync::Mutex;
use whole_read::{BadStretch, WholeRead, WholeReadOutcome, timed_so_far};

/// Bytes per request and requests in flight: as fast as a drive streams.
const CHUNK: u64 = 1 << 20;
const DEPTH: u32 = 4;
/// Each piece is a point of the curve, a place that may be slow, and what a stop loses: 256 MiB of a disk of 4 TB.
const PIECES_MAX: u64 = 16_384;
const PIECE_MIN: u64 = 16 << 20;
/// A small target has shorter pieces.
const PIECES_MIN: u64 = 64;

/// What is known of the examined part; places count from its start.
struct ReadSoFar {
    /// By an earlier run, too.
    timed: Vec<TimedRegion>,
    bad: Vec<BadStretch>,
    /// Where it was begun, and where it is to be resumed.
    from: u64,
    at: u64,
}

/// A full read of a part of the target.
struct FullRead<'s> {
    session: &'s Session<'s>,
    start: u64,
    size: u64,
    unit: u64,
    piece: u64,
}

pub(super) fn run(session: &Session<'_>, record: &mut TestRecord) -> Result<(), BenchError> {
    session.pause(session.plan.suite.pause)?;
    record.needs_no_rounds();
    let unit = u64::from(session.device().align_bytes().max(512));
    let size = session.span_bytes(session.device()) / unit * unit;
    let (start, piece) = (part_start(session), piece_bytes(size));
    FullRead { session, start, size, unit, piece }.run(record)
}

fn piece_bytes(size: u64) -> u64 {
    let short = (size / PIECES_MIN).clamp(CHUNK, PIECE_MIN);
    size.div_ceil(PIECES_MAX).max(short).next_multiple_of(CHUNK)
}

impl FullRead<'_> {
    fn run(&self, record: &mut TestRecord) -> Result<(), BenchError> {
        let Self { session, size, piece, .. } = *self;
        let options = &session.plan.suite.surface;
        let from = options.from.0.min(size) / piece * piece;
        notice_part(record, size, session.device().size_bytes() / self.unit * self.unit);
        let before = self.before(from);
        if before.from > 0 {
            record.remark(format!("nothing before byte {from} was read"));
        }
        let (so_far, failed, end) = self.read(record, &before, from)?;
        self.report(record, &so_far);
        if end.is_err() {
            record.resume_at(session.resume_point(ResumePhase::Surface, so_far.at));
            return end;
        }
        let places = ScanRegion::pieces(0, size, piece);
        let rounds = [so_far.timed];
        let pass = OnePass {
            profile: &rates::medians(&rounds, StepPace::of(&rounds)),
            places: &places,
            shape: RequestShape { chunk: CHUNK as u32, depth: DEPTH },
            size,
            bad: so_far.bad.iter().map(|bad| bad.bytes.clone()).collect(),
        };
        let end = one_pass::finish(session, record, pass);
        if matches!(end, Err(BenchError::Interrupted)) {
            let last = size.saturating_sub(1) / piece * piece;
            record.resume_at(session.resume_point(ResumePhase::Surface, last));
        }
        let bad = bad_stretches::outcome(&so_far.bad, self.start, failed);
        end.and(bad)
    }

    /// What the run that this one resumes has found before `from`.
    fn before(&self, from: u64) -> ReadSoFar {
        let earlier = self.session.earlier();
        let resumed = earlier.filter(|it| it.resume.is_some_and(|point| point.at_bytes == from));
        let Some(earlier) = resumed else {
            return ReadSoFar { timed: Vec::new(), bad: Vec::new(), from, at: from };
        };
        let curve = series_of(earlier, "read.mb_s").map(|curve| (&curve.x, &curve.y));
        let points = curve.into_iter().flat_map(|(x, y)| x.iter().zip(y));
        let timed = points.map(|(&x, &mb_s)| {
            let len = self.piece.min(self.size.saturating_sub(x as u64));
            TimedRegion::new(x as u64, len, Some((len as f64 * 1e3 / mb_s) as u64))
        });
        let mut bad = bad_stretches::of_result(earlier);
        bad.retain(|bad| bad.bytes.start < from);
        let began = bad_stretches::began_at(earlier);
        ReadSoFar {
            timed: timed.filter(|timed| timed.offset < from).collect(),
            bad,
            from: began,
            at: from,
        }
    }

    /// Reads from `from` on; how that ended, and the requests that failed.
    fn read(
        &self,
        record: &mut TestRecord,
        before: &ReadSoFar,
        from: u64,
    ) -> Result<(ReadSoFar, bad_stretches::FailedRequests, Result<(), BenchError>), BenchError>
    {
        let Self { session, start, size, unit, piece } = *self;
        let pieces = on_target(ScanRegion::pieces(from, size, piece), start);
        session.expect_transfers(Some(start + from..start + size));
        session.phase_started("surface read", 1, 1);
        let (control, found) = (Control::of_places(pieces.len()), Mutex::new(Vec::new()));
        let known_end = before.bad.last().map_or(from, |bad| bad.bytes.end.max(from));
        let task = WholeRead {
            pieces: &pieces,
            from: start + known_end,
            chunk: CHUNK as u32,
            depth: DEPTH,
            unit,
            control: &control,
            found: &found,
        };
        let bad = || found.lock().expect("no holder panics").clone();
        let so_far = |timed: Vec<TimedRegion>| self.joined(before, timed, bad());
        let mut checkpoint = || {
            session.checkpoint(|| {
                let mut record = TestRecord::new(TestKind::Surface);
                let mut so_far = so_far(timed_so_far(&pieces, &control));
                // A killed run that had only its end before it must leave something to resume.
                so_far.at = so_far.at.min(size.saturating_sub(1) / piece * piece);
                self.report(&mut record, &so_far);
                record.resume_at(session.resume_point(ResumePhase::Surface, so_far.at));
                record
            });
        };
        let spec = QueueSpec { depth: DEPTH, ahead: 1, block_bytes: CHUNK as u32, dsync: false };
        let (worker, counters) =
            session.run_task_with(session.device(), spec, &control, task, &mut checkpoint)?;
        let WorkerOutcome { output: outcome, cpu_cost, engine } = worker;
        let WholeReadOutcome { timed, recorder, failed, ended_by, gave_up } = outcome;
        let asked = recorder.bytes as f64;
        let measured = PhaseResult { recorder, cpu_cost, engine };
        let mut kept = counters.end(session, measured, "read", 1);
        kept.asked = (failed.0 == 0).then_some((asked, 0.0));
        kept.is_cut_short = gave_up || ended_by.is_some();
        kept.own_metrics = true;
        record.notice_failures(&failed.1);
        let end = go_on_unless(gave_up, session, session.add_round(kept, record));
        let end = match ended_by.or(failed.1.filter(|_| gave_up)) {
            Some(failure) => Err(BenchError::Request { failure, count: failed.0 }),
            None => end,
        };
        Ok((so_far(timed), failed, end))
    }

    /// With what this run has read and found so far, as places of the target.
    fn joined(
        &self,
        before: &ReadSoFar,
        timed: Vec<TimedRegion>,
        found: Vec<BadStretch>,
    ) -> ReadSoFar {
        let at = before.at + timed.iter().map(|timed| timed.len).sum::<u64>();
        let found = found.into_iter().map(|bad| bad.counted_from(self.start));
        ReadSoFar {
            timed: [before.timed.clone(), within_part(timed, self.start)].concat(),
            bad: before.bad.iter().cloned().chain(found).collect(),
            from: before.from,
            at,
        }
    }

    fn report(&self, record: &mut TestRecord, so_far: &ReadSoFar) {
        let ReadSoFar { timed, bad, from, at } = so_far;
        let rounds = [timed.clone()];
        let pace = StepPace::of(&rounds);
        rates::report(record, "read", &rounds, &rates::medians(&rounds, pace), pace, self.size);
        let unreadable: u64 = bad.iter().map(|bad| bad.unreadable).sum();
        let read = (at - from).saturating_sub(unreadable) as f64;
        let whole = self.session.device().size_bytes().max(1) as f64;
        record.metric("read.share_pct", vec![read * 100.0 / whole]);
        record.metric("read.start_bytes", vec![*from as f64]);
        bad_stretches::report(record, bad, self.start, self.size);
    }
}

#[cfg(test)]
mod tests;
