//! What comes before the rounds: the purge, and sequential passes over everything (the PTS calls them workload
//! independent preconditioning).

use crate::error::BenchError;
use crate::io::payload::Payload;
use crate::judging::test_record::{TestRecord, value_of};
use crate::loops::scan::ScanRegion;
use crate::session::Session;
use crate::workloads::shared::deallocated;
use crate::workloads::shared::whole_drive::resume_check::{self, StampsNeeded};
use crate::workloads::shared::whole_drive::timed_writes::{
    SoFar, WriteSettings, WrittenSum, flush, write,
};
use drivescope_model::document::TestResult;
use drivescope_model::event::Event;
use drivescope_model::resume::{ResumePhase, ResumePoint};
use drivescope_model::target::TargetKind;
use drivescope_model::units::Bytes;

/// Longest piece of a pass, each timed; shorter ones where a target is small.
const PIECE: u64 = 256 << 20;
const PIECES_MIN: u64 = 16;
/// Pieces of a simulated drive, which are computed in milliseconds.
const SIMULATED_PIECES: u64 = 64;
/// Requests in which a simulated drive is given the same bytes in the same order, which take it as long.
const SIMULATED_CHUNK: u64 = 1 << 20;
/// Discarded with one command, so that a stop does not wait for a whole drive.
const DISCARD: u64 = 16 << 30;
/// The end of a device need not be a multiple of its direct I/O unit; whole pages are.
pub(super) const PAGE: u64 = 4096;

/// Bytes that passes have written, also those of an interrupted run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Prepared {
    pub bytes: u64,
}

impl Prepared {
    pub fn by(earlier: Option<&TestResult>) -> Self {
        let bytes = earlier.and_then(|result| value_of(result, "precondition.written_bytes"));
        Self { bytes: bytes.unwrap_or(0.0) as u64 }
    }
}

/// Where `--resume` continues: only devices, whose contents outlast the program.
pub(super) fn resume_point(session: &Session<'_>, written_bytes: u64) -> Option<ResumePoint> {
    let is_device = session.target.info().kind == TargetKind::Block;
    is_device.then(|| session.resume_point(ResumePhase::Steady, written_bytes))
}

/// Discards everything, and says what came of it; not what an interrupted run has written.
pub(super) fn purge(
    session: &mut Session<'_>,
    record: &mut TestRecord,
    prepared: Prepared,
) -> Result<(), BenchError> {
    let span = session.span(session.device());
    if session.earlier().is_some() {
        let data = Payload::new(session.plan.seed, 0);
        let written = prepared.bytes.min(span.end) / PAGE * PAGE;
        let need = if written > 0 { StampsNeeded::All } else { StampsNeeded::Any(span.end) };
        resume_check::check(session, data, written, need)?;
        record.remark("resumed: neither purged nor prepared again".to_string());
        return Ok(());
    }
    record.remark(if session.plan.suite.steady.purge {
        discard(session, span.start..span.end)?
    } else {
        "not purged: steady.purge=false".to_string()
    });
    Ok(())
}

fn discard(session: &Session<'_>, span: std::ops::Range<u64>) -> Result<String, BenchError> {
    let kind = session.target.info().kind;
    if kind == TargetKind::Directory {
        return Ok("not purged: in a directory the drive's state stays as it was".to_string());
    }
    session.emit(Event::Preparing { what: "discarding everything (TRIM)".into() });
    let end = span.end / PAGE * PAGE;
    for from in (span.start..end).step_by(DISCARD as usize) {
        session.check_stop()?;
        if !session.device().discard(from..end.min(from + DISCARD))? {
            return Ok("not purged: the drive takes no TRIM".to_string());
        }
    }
    let what = format!("purged: TRIM of {}", Bytes(end - span.start));
    if kind == TargetKind::Simulated {
        return Ok(what);
    }
    let all = deallocated::PLACES;
    Ok(match deallocated::blank_places(session)? {
        Some(blank) if blank == all => format!("{what}, all of {all} sampled blocks are empty"),
        Some(blank) => format!("{what}, but only {blank} of {all} sampled blocks are empty"),
        None => what,
    })
}

/// Writes everything in order, as often as asked, from where an interrupted run had come on.
pub(super) fn precondition(
    session: &mut Session<'_>,
    record: &mut TestRecord,
    prepared: &mut Prepared,
) -> Result<(), BenchError> {
    let options = &session.plan.suite.steady;
    let span = session.span(session.device());
    let size = (span.end - span.start) / PAGE * PAGE;
    let simulated = session.simulated().map(|_| SIMULATED_CHUNK);
    let chunk = simulated.unwrap_or(options.pass_chunk.0);
    let depth = options.pass_depth;
    let (mut sum, mut flush_s, mut end) = (WrittenSum::default(), 0.0, Ok(()));
    let passes = u64::from(options.passes);
    let before = *prepared;
    while end.is_ok() && prepared.bytes < passes * size {
        let within = prepared.bytes % size;
        // The interrupted pass continues with its number.
        session.storage.pass = prepared.bytes / size;
        let data = Payload::new(session.plan.seed, session.next_pass());
        session.check_room_to_overwrite(size - within)?;
        let places = ScanRegion::pieces(
            span.start + within,
            span.start + size,
            piece_bytes(session, size, chunk),
        );
        let (manner, base) = (WriteSettings { data, chunk, depth }, record.clone());
        let so_far: SoFar<'_> = &|timed| {
            let mut record = base.clone();
            let bytes = before.bytes + timed.iter().map(|place| place.len).sum::<u64>();
            report_bytes(&mut record, Prepared { bytes });
            if let Some(point) = resume_point(session, bytes) {
                record.resume_at(point);
            }
            record
        };
        end = write(session, record, "precondition", places, manner, &mut sum, Some(so_far))
            .flatten();
        prepared.bytes = before.bytes + sum.timed.iter().map(|place| place.len).sum::<u64>();
        if prepared.bytes.is_multiple_of(size) {
            flush_s += flush(session)?;
            session.free_replaced_blocks()?;
        }
    }
    if prepared.bytes > 0 {
        report_bytes(record, *prepared);
    }
    let seconds = sum.timed.iter().filter_map(|place| place.ns).sum::<u64>() as f64 / 1e9 + flush_s;
    if prepared.bytes > before.bytes && seconds > 0.0 {
        let rate = (prepared.bytes - before.bytes) as f64 / seconds / 1e6;
        record.metric("precondition.time_s", vec![seconds]);
        record.metric("precondition.mb_s", vec![rate]);
    }
    end
}

fn report_bytes(record: &mut TestRecord, prepared: Prepared) {
    record.metric("precondition.written_bytes", vec![prepared.bytes as f64]);
}

fn piece_bytes(session: &Session<'_>, size: u64, chunk: u64) -> u64 {
    let piece = match session.simulated() {
        Some(_) => size / SIMULATED_PIECES,
        None => PIECE.min(size / PIECES_MIN),
    };
    piece.next_multiple_of(chunk).max(chunk)
}
