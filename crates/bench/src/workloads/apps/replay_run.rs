//! Replays the chosen traces, round by round, and once on the drive of a prediction.

use super::chosen::{PreparedTrace, about};
use super::figures::TraceFigures;
use crate::error::BenchError;
use crate::io::device::IoDevice;
use crate::io::payload::Payload;
use crate::io::queue::QueueSpec;
use crate::judging::test_record::TestRecord;
use crate::loops::control::Control;
use crate::loops::phase::PhaseResult;
use crate::session::Session;
use crate::workloads::shared::replay::feed::with_feed;
use crate::workloads::shared::replay::footprint::Placement;
use crate::workloads::shared::replay::steps::{LEN_MAX, StepCounts, StepMaker, StepRules};
use crate::workloads::shared::replay::task::{LATE_NS, Lag, ReplayOutcome, ReplayTask};
use drivescope_drive::Target;
use drivescope_machine::Roots;
use drivescope_model::findings::{Finding, FindingId};
use drivescope_model::number::{latency_us, whole};
use drivescope_model::options::{AppsOptions, ReplayTiming};
use drivescope_model::plan::WriteLevel;
use drivescope_model::target::IoMode;
use std::sync::Arc;

/// Memory of all buffers at most: of long requests fewer are in flight.
const BUFFERS_MAX_BYTES: u64 = 256 << 20;
/// On schedule: the 99th percentile of lateness is within 10 ms, and the end at most 1 % late.
const KEPT_PERCENTILE: f64 = 0.99;
const KEPT_NS: u64 = 10_000_000;
const END_SHARE_MAX: f64 = 0.01;

pub(super) struct ReplayRun<'t> {
    traces: &'t [PreparedTrace],
    reads_only: bool,
}

impl<'t> ReplayRun<'t> {
    pub(super) fn new(traces: &'t [PreparedTrace], session: &Session<'_>) -> Self {
        let writable = session.may_write(WriteLevel::Destroy);
        Self { traces, reads_only: !writable }
    }

    pub(super) fn measure(
        &self,
        session: &mut Session<'_>,
        record: &mut TestRecord,
        figures: &mut Vec<TraceFigures>,
    ) -> Result<(), BenchError> {
        for round in 1..=session.plan.suite.rounds {
            for (index, trace) in self.traces.iter().enumerate() {
                session.pause(session.plan.suite.pause)?;
                let pass = session.next_pass();
                let outcome = self.one(session, trace, (round, pass), record)?;
                if figures.len() == index {
                    figures.push(TraceFigures::of(trace));
                }
                figures[index].add(&outcome);
                session.free_replaced_blocks()?;
            }
        }
        Ok(())
    }

    pub(super) fn one(
        &self,
        session: &Session<'_>,
        trace: &PreparedTrace,
        (round, pass): (u32, u64),
        record: &mut TestRecord,
    ) -> Result<ReplayOutcome, BenchError> {
        let (options, device) = (&session.plan.suite.apps, session.device());
        if !self.reads_only {
            session.check_room_to_overwrite(trace.profile.totals.written_bytes)?;
        }
        if !device.is_direct() {
            device.evict()?;
        }
        session.phase_started(&trace.cell, round, session.plan.suite.rounds);
        let control = Control::default();
        let rules = self.rules(trace, options, trace.placement.clone(), device);
        let spec = queue_spec(trace, options, !device.is_direct());
        let (measured, counts) = with_feed(&trace.source, StepMaker::new(rules), |feed| {
            let payload = Payload::new(session.plan.seed, pass);
            let expected_ns = trace.profile.length_ns;
            let task =
                ReplayTask { feed, depth: spec.depth, payload, expected_ns, control: &control };
            session.run_task(device, spec, &control, task)
        });
        let (worker, counters) = measured?;
        let counts =
            counts.map_err(|error| BenchError::Unsuitable(about(&trace.source, &error)))?;
        let outcome = worker.output;
        let recorder = outcome.recorder.clone();
        let is_whole = recorder.errors == 0;
        let result = PhaseResult { recorder, cpu_cost: worker.cpu_cost, engine: worker.engine };
        let mut kept = counters.end(session, result, &trace.cell, round);
        let [read, written] = outcome.moved.map(|bytes| bytes as f64);
        kept.asked = is_whole.then_some((read, written));
        kept.own_metrics = true;
        notice_late(record, trace, options, &outcome);
        if round == 1 {
            remark(record, trace, counts);
        }
        session.add_round(kept, record)?;
        Ok(outcome)
    }

    /// The same traces on the simulated drive of the prediction, in virtual time.
    pub(super) fn predict(
        &self,
        session: &Session<'_>,
        record: &mut TestRecord,
        figures: &mut [TraceFigures],
    ) -> Result<(), BenchError> {
        let options = &session.plan.suite.apps;
        let Some(model) = &options.predict else { return Ok(()) };
        let target = Target::simulate(model, &Roots::host())?;
        let Some(drive) = target.simulated() else { return Ok(()) };
        let device = IoDevice::simulated(Arc::clone(drive), IoMode::Direct);
        for (trace, figures) in self.traces.iter().zip(figures) {
            session.check_stop()?;
            let (source, end) = (&trace.source, trace.profile.totals.end_bytes);
            let placement = match Placement::choose(source, end, device.size_bytes(), options.fit) {
                Ok(placement) => placement,
                Err(error) => {
                    record.remark(format!("not predicted: {}", about(source, &error)));
                    continue;
                }
            };
            let rules = self.rules(trace, options, placement, &device);
            let (spec, control) = (queue_spec(trace, options, false), Control::default());
            let (outcome, _) = with_feed(source, StepMaker::new(rules), |feed| {
                let payload = Payload::new(session.plan.seed, 0);
                let (depth, expected_ns) = (spec.depth, trace.profile.length_ns);
                let task = ReplayTask { feed, depth, payload, expected_ns, control: &control };
                device.run(spec, task, &mut || session.pass_stop_on(&control))
            });
            let recorder = outcome?.output.recorder;
            session.check_stop()?;
            figures.predicted_s = Some(recorder.elapsed_ns() as f64 / 1e9);
        }
        Ok(())
    }

    fn rules(
        &self,
        trace: &PreparedTrace,
        options: &AppsOptions,
        placement: Placement,
        device: &IoDevice,
    ) -> StepRules {
        StepRules {
            timing: trace.timing(options),
            think_max_ns: options.think_max.map_or(u64::MAX, |think| think.nanos()),
            placement,
            reads_only: self.reads_only,
            align_bytes: device.align_bytes(),
        }
    }
}

/// Buffers for the longest request; of long ones fewer.
fn queue_spec(trace: &PreparedTrace, options: &AppsOptions, dsync: bool) -> QueueSpec {
    /// The largest unit to which requests grow.
    const UNIT: u32 = 4096;
    let longest = trace.profile.totals.longest_bytes.min(LEN_MAX).next_multiple_of(UNIT).max(UNIT);
    // What is not aligned may reach into a unit at both ends.
    let block_bytes = (longest + UNIT).min(LEN_MAX);
    let fitting = (BUFFERS_MAX_BYTES / u64::from(block_bytes)) as u32;
    QueueSpec { depth: options.depth.min(fitting).max(1), ahead: 1, block_bytes, dsync }
}

fn notice_late(
    record: &mut TestRecord,
    trace: &PreparedTrace,
    options: &AppsOptions,
    outcome: &ReplayOutcome,
) {
    let Lag { delays, late: [depth, reading, machine], last_ns } = &outcome.lag;
    let p99_ns = delays.value_at_quantile(KEPT_PERCENTILE);
    let length_ns = (trace.profile.length_ns - trace.profile.cut_ns) as f64;
    // A share of a short trace is less than any machine keeps to.
    let last_max_ns = (length_ns * END_SHARE_MAX).max(KEPT_NS as f64);
    let is_kept = p99_ns <= KEPT_NS && *last_ns as f64 <= last_max_ns;
    if trace.timing(options) != ReplayTiming::Deadlines || is_kept {
        return;
    }
    let causes = [(depth, "all places in flight"), (machine, "the machine"), (reading, "reading")];
    let causes = causes.into_iter().filter(|(count, _)| **count > 0);
    let causes: Vec<String> =
        causes.map(|(count, cause)| format!("{} by {cause}", whole(*count))).collect();
    let evidence = format!(
        "{}: requests were sent up to {} late (p99 {}), the last one {}; over {} late: {}",
        trace.cell,
        latency_us(delays.max() as f64 / 1e3),
        latency_us(p99_ns as f64 / 1e3),
        latency_us(*last_ns as f64 / 1e3),
        latency_us(LATE_NS as f64 / 1e3),
        causes.join(", "),
    );
    let finding = Finding::new(FindingId::TraceLate, evidence);
    record.notice(finding.about(format!("apps.{}", trace.cell)).weighing(p99_ns as f64));
}

fn remark(record: &mut TestRecord, trace: &PreparedTrace, counts: StepCounts) {
    let StepCounts { not_written, discards, altered, .. } = counts;
    let cell = &trace.cell;
    if let Placement::Packed(footprint) = &trace.placement {
        let used = drivescope_model::units::Bytes(footprint.bytes()).binary();
        record.remark(format!("{cell}: the gaps between the parts that it uses ({used})"));
    }
    for (count, what) in [
        (not_written, "writes and flushes"),
        (discards, "discards and zeroes without data"),
        (altered, "requests as they stand (sent as whole sectors, or in pieces)"),
    ] {
        if count > 0 {
            record.remark(format!("{cell}: {} {what}", whole(count)));
        }
    }
}
