//! Writing stretches in order or at places, kept as one phase of the record.

use crate::control::Control;
use crate::error::{BenchError, describe};
use crate::payload::Payload;
use crate::phase::Measured;
use crate::queue::QueueSpec;
use crate::recorder::Recorder;
use crate::results::TestRecord;
use crate::scan::{Place, Scan, ScanOutcome, Timed};
use crate::session::{Session, Watch};
use crate::usage::Usage;
use drivescope_model::event::Event;
use drivescope_model::findings::{Finding, FindingId};

/// What came of the stretches, in order, and how the phase ended: failed writes and a request to stop
/// are reported only after everything written was kept.
pub(super) struct Written {
    /// One entry per stretch that was visited.
    pub timed: Vec<Timed>,
    /// How it ended.
    pub end: Result<(), BenchError>,
}

impl Written {
    /// Whether the next phase may begin; the bytes of this one have been kept.
    pub fn into_timed(self, into: &mut Vec<Timed>) -> Result<(), BenchError> {
        into.extend(self.timed);
        self.end
    }
}

/// A place without a lead-in.
pub(super) fn stretch(offset: u64, len: u64) -> Place {
    Place { offset, len, lead_in_from: offset, lead_in_len: 0 }
}

/// Writes `places` and keeps that as the phase `cell`. Long stretches of simulated drives are computed
/// at once where the model can.
pub(super) fn write(
    session: &Session<'_>,
    record: &mut TestRecord,
    cell: &'static str,
    places: Vec<Place>,
    data: Payload,
) -> Result<Written, BenchError> {
    let rounds = 1;
    session.emit(Event::PhaseStarted { label: format!("fill {cell}"), round: 1, rounds });
    let asked: u64 = places.iter().map(|place| place.lead_in_len + place.len).sum();
    let (watch, outcome) = match streamed(session, &places)? {
        Some(streamed) => streamed,
        None => stepped(session, places, data)?,
    };
    let (timed, measured, failures) = outcome;
    for failure in &failures {
        let finding = Finding::new(FindingId::IoError, describe(failure, 1));
        record.notice(finding.about("fill"));
    }
    let all_done = failures.is_empty() && !session.stopped();
    let mut kept = watch.end(session, measured, cell, 1);
    kept.asked = all_done.then_some((0.0, asked as f64));
    kept.own_metrics = true;
    let end = session.keep(kept, record);
    Ok(Written { timed, end })
}

type Outcome = (Vec<Timed>, Measured, Vec<crate::recorder::IoFailure>);

/// Request by request.
fn stepped(
    session: &Session<'_>,
    places: Vec<Place>,
    data: Payload,
) -> Result<(Watch, Outcome), BenchError> {
    let options = &session.plan.suite.fill;
    let (chunk, depth) = (options.chunk.0 as u32, options.depth);
    let control = Control::default();
    let task = Scan { places, chunk, depth, data: Some(data), control: &control };
    // One request is made while the others fly.
    let spec = QueueSpec { depth, ahead: 1, block_bytes: chunk, dsync: false };
    let (worker, watch) = session.watched(session.open_device(), spec, &control, task)?;
    let ScanOutcome { timed, recorder, failures, queue_error, .. } = worker.output;
    if let Some(source) = queue_error {
        return Err(BenchError::Engine { engine: "I/O", other: "threads", source });
    }
    let measured = Measured {
        recorder,
        usage: worker.usage,
        busiest_cpu_ns: worker.busiest_cpu_ns,
        wall_ns: worker.wall_ns,
    };
    Ok((watch, (timed, measured, failures)))
}

/// Computed at once; `None` where that is not possible. A model that can do the first stretch and not a
/// later one leaves the rest to the caller's next call: the stretches done so far come back.
fn streamed(
    session: &Session<'_>,
    places: &[Place],
) -> Result<Option<(Watch, Outcome)>, BenchError> {
    session.check_stop()?;
    let options = &session.plan.suite.fill;
    let (chunk, depth) = (options.chunk.0, options.depth);
    let device = session.open_device();
    let watch = Watch::begin(session);
    let start_ns = session.now_ns();
    let mut timed = Vec::with_capacity(places.len());
    let mut recorder = Recorder::new(0);
    recorder.start(start_ns);
    for place in places {
        let Place { offset, len, lead_in_len, .. } = *place;
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
        timed.push(Timed { offset, ns: Some(ns), len });
    }
    if timed.is_empty() {
        return Ok(None);
    }
    let wall_ns = session.now_ns() - start_ns;
    let measured = Measured { recorder, usage: Usage::default(), busiest_cpu_ns: 0, wall_ns };
    Ok(Some((watch, (timed, measured, Vec::new()))))
}
