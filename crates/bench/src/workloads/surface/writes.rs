//! The writing pass: the same bytes back, or fresh data, each stretch timed with the flush after it, as
//! GNOME Disks does: the one time that no write cache can shorten. It includes what comes before the first
//! byte is on the medium: up to a turn of a disk, longer where a drive gathers tens of MiB first. The 10 MiB of
//! GNOME Disks come out a tenth to a half below the rate of the medium. Our own stretches are longer, and written
//! in two parts with a flush each, which show that onset; where they do, the rates are without it.

use super::{
    PAGE, SAMPLE_DEPTH, go_on_unless, is_one_pass, on_target, part_start, places, within_part,
};
use crate::error::BenchError;
use crate::io::device::WorkerOutcome;
use crate::io::payload::Payload;
use crate::io::queue::QueueSpec;
use crate::judging::test_record::TestRecord;
use crate::loops::control::Control;
use crate::loops::phase::PhaseResult;
use crate::loops::rewrite::Rewrite;
use crate::loops::scan::{ScanRegion, TimedRegion};
use crate::plan::plan_context::PlanContext;
use crate::session::Session;
use drivescope_model::findings::{Finding, FindingId};
use drivescope_model::options::{SurfaceOptions, SurfacePreset, SurfaceWrite};
use drivescope_model::plan::{Cost, WriteLevel};
use drivescope_model::target::TargetKind;
use drivescope_model::units::Bytes;
use std::ops::Range;

/// Together the written samples take at most this part of the target.
const WRITE_PART: u64 = 100;

/// How the target is written, if it is. Errors: writing was asked for and is not allowed.
pub(super) fn level(context: &PlanContext<'_>) -> Result<Option<WriteLevel>, &'static str> {
    let level = match context.suite.surface.write {
        SurfaceWrite::No => return Ok(None),
        SurfaceWrite::Allowed if is_one_pass(&context.suite.surface) => return Ok(None),
        SurfaceWrite::SameBytes => WriteLevel::SameBytes,
        SurfaceWrite::Fresh => WriteLevel::Destroy,
        SurfaceWrite::Allowed => match (context.target.kind, context.allowed) {
            (TargetKind::File | TargetKind::Directory, _) => return Ok(None),
            (_, WriteLevel::Destroy) => WriteLevel::Destroy,
            (_, WriteLevel::SameBytes | WriteLevel::Restore) => WriteLevel::SameBytes,
            _ => return Ok(None),
        },
    };
    context.write_refusal(level).map_or(Ok(Some(level)), Err)
}

pub(super) fn cost(context: &PlanContext<'_>, level: WriteLevel) -> Cost {
    let size = context.span_bytes;
    let places = placed(&context.suite.surface, size);
    let bytes = match places.preset {
        SurfacePreset::Zcav => size,
        _ => places.sample.0 * u64::from(places.samples),
    };
    let bytes = bytes * u64::from(context.suite.rounds);
    let read_bytes = if level == WriteLevel::SameBytes { bytes } else { 0 };
    let seconds = (read_bytes + bytes) as f64 / (context.typical.mb_s * 1e6);
    let requests = (read_bytes + bytes) as f64 / context.suite.surface.chunk.0 as f64;
    Cost { seconds, read_bytes, written_bytes: bytes, computed_s: context.computed_s(requests) }
}

/// Options that place the writes: ours are fewer and longer than reads, others write what they read.
pub(super) fn placed(options: &SurfaceOptions, size: u64) -> SurfaceOptions {
    if options.preset != SurfacePreset::Sampled {
        return options.clone();
    }
    let samples = options.write_samples;
    let share = (size / WRITE_PART / u64::from(samples)).max(options.sample.0);
    let sample = options.write_sample.0.min(share) / PAGE * PAGE;
    SurfaceOptions {
        samples,
        sample: Bytes(sample.max(PAGE)),
        lead_in: Bytes(0),
        ..options.clone()
    }
}

/// Where a round writes, in our own method too after a page that is read there to bring the head to it.
fn targets(session: &Session<'_>, size: u64, round: u32) -> Vec<ScanRegion> {
    let options = placed(&session.plan.suite.surface, size);
    let mut places = places(&options, size, session.plan.seed, round);
    if options.preset == SurfacePreset::Sampled {
        for place in &mut places {
            (place.lead_in_from, place.lead_in_len) = (place.offset, PAGE);
        }
    }
    places
}

pub(super) struct WritePass {
    /// One entry per place, without onsets where they are known.
    pub timed: Vec<TimedRegion>,
    /// What a part of a stretch costs beside its bytes, ms, where it can be known.
    pub onset_ms: Option<f64>,
    pub end: Result<(), BenchError>,
}

/// One round of writes, kept as a phase. Failures come back as the inner error, after that.
pub(super) fn pass(
    session: &mut Session<'_>,
    record: &mut TestRecord,
    size: u64,
    round: u32,
) -> Result<WritePass, BenchError> {
    let pass = session.next_pass();
    session.phase_started("surface write", round, session.plan.suite.rounds);
    let options = &session.plan.suite.surface;
    let is_gnome = options.preset == SurfacePreset::GnomeDisks;
    let chunk = if is_gnome { options.sample.0 } else { options.chunk.0 } as u32;
    let depth = if options.preset == SurfacePreset::Sampled { SAMPLE_DEPTH } else { 1 };
    let is_fresh = session.writes() == WriteLevel::Destroy;
    let fresh = is_fresh.then(|| Payload::new(session.plan.seed, pass));
    let control = Control::default();
    let start = part_start(session);
    let places = on_target(targets(session, size, round), start);
    let planned = places.len();
    let in_parts = options.preset == SurfacePreset::Sampled;
    let task = Rewrite { places, chunk, depth, in_parts, fresh, control: &control };
    let spec = QueueSpec { depth, ahead: 1, block_bytes: chunk, dsync: false };
    let (worker, counters) = session.run_task(session.device(), spec, &control, task)?;
    let WorkerOutcome { output: outcome, cpu_cost, engine } = worker;
    record.notice_failures(&outcome.failures);
    if let Some(Range { start, end }) = outcome.lost {
        let evidence = format!(
            "writing the same bytes back failed twice: some bytes from {start} to {end} may have changed"
        );
        record.notice(Finding::new(FindingId::DataMismatch, evidence).about("surface"));
    }
    if outcome.blank > 0 {
        let evidence = format!("{} of {} stretches", outcome.blank, outcome.timed.len());
        record.notice(Finding::new(FindingId::BlankRewritten, evidence).about("surface.write"));
    }
    let measured = PhaseResult { recorder: outcome.recorder, cpu_cost, engine };
    let mut kept = counters.end(session, measured, "write", round);
    let complete = outcome.failures.is_empty();
    kept.asked = complete.then_some((outcome.read_bytes as f64, outcome.written_bytes as f64));
    kept.own_metrics = true;
    let has_refused = outcome.failures.iter().any(|failure| failure.write);
    let gave_up = has_refused || outcome.timed.len() < planned;
    kept.is_cut_short &= gave_up;
    let end = go_on_unless(gave_up, session, session.add_round(kept, record));
    let without_onset = |t: TimedRegion| TimedRegion { ns: t.steady_ns.or(t.ns), ..t };
    let timed = outcome.timed.into_iter().map(without_onset).collect();
    Ok(WritePass {
        timed: within_part(timed, start),
        onset_ms: outcome.fixed_overhead_ns.map(|ns| ns / 1e6),
        end,
    })
}
