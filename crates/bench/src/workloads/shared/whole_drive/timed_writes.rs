//! Writing stretches in order or at places, kept as one phase of the record.

use crate::error::{BenchError, is_full};
use crate::io::cpu_usage::CpuCost;
use crate::io::payload::Payload;
use crate::io::queue::{IoFailure, QueueSpec};
use crate::io::recorder::Recorder;
use crate::judging::test_record::TestRecord;
use crate::loops::control::Control;
use crate::loops::phase::PhaseResult;
use crate::loops::scan::{Scan, ScanOutcome, ScanRegion, TimedRegion};
use crate::session::{PhaseCounters, Session};
use drivescope_model::event::Event;

#[derive(Debug, Default)]
pub(crate) struct WrittenSum {
    /// One entry per stretch that was visited, in order.
    pub timed: Vec<TimedRegion>,
    /// Bytes of all requests that were completed, also in a stretch that was not.
    pub bytes: u64,
}

/// What a test has to say of the stretches written by now.
pub(crate) type SoFar<'f> = &'f dyn Fn(&[TimedRegion]) -> TestRecord;

#[derive(Debug, Clone, Copy)]
pub(crate) struct WriteSettings {
    pub data: Payload,
    pub chunk: u64,
    pub depth: u32,
}

/// Bytes of stretches that were written without an error.
pub(crate) fn written_bytes(timed: &[TimedRegion]) -> u64 {
    timed.iter().filter(|t| t.ns.is_some()).map(|t| t.len).sum()
}

/// Waits until the drive has everything that was written, and says how long that took, s: what its cache, or a
/// host's below it, still holds of a stream is not written yet.
pub(crate) fn flush(session: &Session<'_>) -> Result<f64, BenchError> {
    session.emit(Event::Preparing { what: "flushing caches".into() });
    let start_ns = session.now_ns();
    session.device().sync()?;
    Ok((session.now_ns() - start_ns) as f64 / 1e9)
}

/// Writes `places` and keeps that as the phase `cell`. Long stretches of simulated drives are written
/// without a loop where nothing can fail; `sum` may then end before the last place, and the caller continues.
/// The inner error is a failed write or a request to stop: everything written was kept before. While it lasts,
/// `so_far` says now and then what becomes of the stretches of all phases by then, for [`Session::checkpoint`]. In a
/// directory it ends early, without an error, where other programs take the room.
pub(crate) fn write(
    session: &Session<'_>,
    record: &mut TestRecord,
    cell: &'static str,
    places: Vec<ScanRegion>,
    manner: WriteSettings,
    sum: &mut WrittenSum,
    so_far: Option<SoFar<'_>>,
) -> Result<Result<(), BenchError>, BenchError> {
    session.phase_started(&format!("{} {cell}", record.test()), 1, 1);
    let (counters, outcome) = match streamed(session, &places, manner)? {
        Some(streamed) => streamed,
        None => stepped(session, places, manner, &sum.timed, so_far)?,
    };
    let WriteOutcome { timed, measured, asked, moved, failures } = outcome;
    // A full file system is not a fault of the drive.
    let target = session.target.info().kind;
    record.notice_failures(failures.iter().filter(|failure| !is_full(failure, target)));
    let mut kept = counters.end(session, measured, cell, 1);
    kept.asked = failures.is_empty().then_some((0.0, asked as f64));
    kept.own_metrics = true;
    sum.timed.extend(timed);
    sum.bytes += moved;
    Ok(session.add_round(kept, record))
}

struct WriteOutcome {
    timed: Vec<TimedRegion>,
    measured: PhaseResult,
    asked: u64,
    moved: u64,
    failures: Vec<IoFailure>,
}

fn stepped(
    session: &Session<'_>,
    places: Vec<ScanRegion>,
    WriteSettings { data, chunk, depth }: WriteSettings,
    before: &[TimedRegion],
    so_far: Option<SoFar<'_>>,
) -> Result<(PhaseCounters, WriteOutcome), BenchError> {
    let chunk = chunk as u32;
    let control = Control::of_places(places.len());
    let visited = places.clone();
    let mut keep = || {
        if session.is_short_of_room() {
            control.stop();
        }
        if let Some(so_far) = so_far {
            session.checkpoint(|| so_far(&[before, &timed_so_far(&visited, &control)].concat()));
        }
    };
    let task = Scan { places, chunk, depth, data: Some(data), control: &control };
    // One request is made while the others fly.
    let spec = QueueSpec { depth, ahead: 1, block_bytes: chunk, dsync: false };
    let (worker, counters) =
        session.run_task_with(session.device(), spec, &control, task, &mut keep)?;
    let ScanOutcome { timed, recorder, asked_bytes: asked, moved_bytes: moved, failures, .. } =
        worker.output;
    let measured = PhaseResult { recorder, cpu_cost: worker.cpu_cost, engine: worker.engine };
    Ok((counters, WriteOutcome { timed, measured, asked, moved, failures }))
}

fn timed_so_far(places: &[ScanRegion], control: &Control) -> Vec<TimedRegion> {
    let timed = |(place, ns): (&ScanRegion, u64)| {
        let ScanRegion { offset, len, .. } = *place;
        TimedRegion::new(offset, len, Some(ns))
    };
    places.iter().zip(control.times_ns()).map(timed).collect()
}

/// Without a loop, as many stretches as a simulated drive takes so; `None` if not even the first.
fn streamed(
    session: &Session<'_>,
    places: &[ScanRegion],
    WriteSettings { chunk, depth, .. }: WriteSettings,
) -> Result<Option<(PhaseCounters, WriteOutcome)>, BenchError> {
    session.check_stop()?;
    let device = session.device();
    let counters = PhaseCounters::begin(session);
    let start_ns = session.now_ns();
    let mut timed = Vec::with_capacity(places.len());
    let mut recorder = Recorder::new(0);
    recorder.start(start_ns);
    for place in places {
        let ScanRegion { offset, len, lead_in_len, .. } = *place;
        if lead_in_len > 0 || session.stopped() {
            break;
        }
        let Some(ns) = device.stream_write(offset, len, chunk, depth) else { break };
        let requests = len.div_ceil(chunk);
        // Little's law: with a queue kept full, each request waits for as many others as are in it.
        let latency_ns = ns * u64::from(depth) / requests;
        recorder.latencies.saturating_record_n(latency_ns, requests);
        recorder.ops += requests;
        recorder.requests += requests;
        recorder.bytes += len;
        recorder.last_ns = session.now_ns();
        timed.push(TimedRegion::new(offset, len, Some(ns)));
    }
    if timed.is_empty() {
        return Ok(None);
    }
    let wall_ns = session.now_ns() - start_ns;
    let cpu_cost = CpuCost { wall_ns, ..CpuCost::default() };
    let measured = PhaseResult { recorder, cpu_cost, engine: None };
    let asked = measured.recorder.bytes;
    Ok(Some((
        counters,
        WriteOutcome { timed, measured, asked, moved: asked, failures: Vec::new() },
    )))
}

#[cfg(test)]
mod tests;
