//! The sequence of PCMark 8's consistency test: random writes that last longer from time to time (degrade), then as
//! long each time (steady), then pauses (recover), and a pass of traces after each.

use super::super::apps::passes::{PassSum, TracePasses};
use super::preparation::Prepared;
use super::random_writes::{LONGEST, RandomWrites};
use super::resumable::Resumable;
use crate::error::BenchError;
use crate::io::offsets::derive_seed;
use crate::io::payload::Payload;
use crate::io::queue::QueueSpec;
use crate::judging::test_record::{TestRecord, series_of};
use crate::loops::control::Control;
use crate::plan::expected_speed::ExpectedSpeed;
use crate::session::Session;
use drivescope_model::document::TestResult;
use drivescope_model::findings::{Finding, FindingId};
use drivescope_model::number::rounded;
use drivescope_model::units::Secs;
use drivescope_stats::trend::steady_state;

const DEPTH: u32 = 4;
/// How often each stage is repeated.
const DEGRADE: u32 = 8;
const STEADY: u32 = 5;
const RECOVER: u32 = 5;
/// A bounded stretch of a simulated drive writes this much for each request that a round may have.
const BYTES_PER_REQUEST: u64 = 4096;
/// Phases of a step at most: random writes, and its traces.
const PHASES_OF_A_STEP: u64 = 64;
/// A pass that keeps less than this share of the bandwidth of the first is named.
const KEPT_MIN: f64 = 0.5;

#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct ConsistencyStep {
    /// `degrade`, `steady` or `recover`.
    pub stage: &'static str,
    pub writes: Secs,
    pub idle: Secs,
}

/// All steps. PCMark 8 writes for 10 minutes, and 5 more each time; then 45; then pauses for 5.
pub(super) fn steps(time: Secs) -> Vec<ConsistencyStep> {
    let writes = |repeat: u32| Secs(time.0 * (1.0 + f64::from(repeat) / 2.0));
    let (none, idle) = (Secs(0.0), Secs(time.0 / 2.0));
    let degrade = (0..DEGRADE).map(|i| ("degrade", writes(i), none));
    let steady = (0..STEADY).map(|_| ("steady", writes(DEGRADE - 1), none));
    let recover = (0..RECOVER).map(|_| ("recover", none, idle));
    let all = degrade.chain(steady).chain(recover);
    all.map(|(stage, writes, idle)| ConsistencyStep { stage, writes, idle }).collect()
}

#[derive(Debug, Clone, Default)]
struct PassLog {
    busy_mb_s: Vec<f64>,
    lat_mean_us: Vec<f64>,
    lat_p99_us: Vec<f64>,
    /// Written before it, by random writes and passes.
    written_bytes: Vec<f64>,
}

#[derive(Debug)]
pub(super) struct Consistency {
    steps: Vec<ConsistencyStep>,
    traces: TracePasses,
    log: PassLog,
    passes: Vec<PassSum>,
    prepared: Prepared,
}

impl Consistency {
    /// From the beginning, or from where an interrupted run had come on. Errors: there are no traces that fit.
    pub fn new(session: &Session<'_>, prepared: Prepared) -> Result<Self, BenchError> {
        let steps = steps(session.plan.suite.steady.time);
        let room = session.span_bytes(session.device());
        let traces = TracePasses::choose(&session.plan.suite, room);
        let traces = traces.map_err(BenchError::Unsuitable)?;
        let log = session.earlier().and_then(PassLog::of).unwrap_or_default();
        Ok(Self { steps, traces, log, passes: Vec::new(), prepared })
    }

    /// How long each trace waited for the drive, pass by pass.
    fn report_traces(&self, record: &mut TestRecord) {
        let Some(first) = self.passes.first() else { return };
        for (index, (cell, _)) in first.traces.iter().enumerate() {
            let seconds = |pass: &PassSum| pass.traces[index].1 as f64 / 1e9;
            record.metric(&format!("{cell}.busy_s"), self.passes.iter().map(seconds).collect());
        }
    }

    /// Whether the passes between equal stretches of writes are as fast as each other, and as the first.
    fn notice(&self, record: &mut TestRecord, rates: &[f64], kept: f64) {
        let Some(state) = steady_state(rates) else { return };
        record.metric("steady.range_ratio", vec![state.range_share]);
        record.metric("steady.drift_ratio", vec![state.drift_share.abs()]);
        if !state.reached {
            let evidence = format!(
                "the five passes of the steady stage range over {} % of their mean (20 allowed), their line changes by {} % (10)",
                rounded(state.range_share * 100.0),
                rounded(state.drift_share.abs() * 100.0)
            );
            record.notice(Finding::new(FindingId::NotSteady, evidence).about("steady.steady"));
        } else if kept < KEPT_MIN {
            let evidence = format!(
                "traces: {} MB/s after the first writes, {} when steady ({} %)",
                rounded(self.log.busy_mb_s[0]),
                rounded(state.mean),
                rounded(kept * 100.0)
            );
            record.notice(Finding::new(FindingId::SlowWhenSteady, evidence).about("steady.steady"));
        }
    }
}

impl Resumable for Consistency {
    fn phases_before(&self) -> u64 {
        self.log.busy_mb_s.len() as u64 * PHASES_OF_A_STEP
    }

    fn measure(
        &mut self,
        session: &mut Session<'_>,
        record: &mut TestRecord,
    ) -> Result<(), BenchError> {
        for index in self.log.busy_mb_s.len()..self.steps.len() {
            let (step, number) = (self.steps[index], index as u32 + 1);
            session.pause(step.idle)?;
            let mut random = 0;
            if step.writes.0 > 0.0 {
                random = write_randomly(session, record, step, number)?;
            }
            let sum = self.traces.replay(session, number, record)?;
            self.log.add(&sum, random + sum.written_bytes);
            self.passes.push(sum);
            // Their figures are in the log, and their histograms take much memory.
            record.archive_all_but(0..0);
            session.checkpoint(|| self.so_far(session, record));
        }
        Ok(())
    }

    fn report(&self, record: &mut TestRecord) {
        self.log.report(record);
        self.report_traces(record);
        let Some(first) = self.log.busy_mb_s.first().copied().filter(|rate| *rate > 0.0) else {
            return;
        };
        for stage in ["degrade", "steady", "recover"] {
            let of_stage = |figures: &[f64]| -> Vec<f64> {
                let steps = self.steps.iter().zip(figures);
                steps.filter(|(step, _)| step.stage == stage).map(|(_, figure)| *figure).collect()
            };
            let rates = of_stage(&self.log.busy_mb_s);
            let Some(last) = rates.last().copied() else { continue };
            let kept = match stage {
                "steady" => rates.iter().sum::<f64>() / rates.len() as f64 / first,
                _ => last / first,
            };
            record.metric(&format!("{stage}.busy_mb_s"), rates.clone());
            record.metric(&format!("{stage}.lat_mean_us"), of_stage(&self.log.lat_mean_us));
            record.metric(&format!("{stage}.lat_p99_us"), of_stage(&self.log.lat_p99_us));
            record.metric(&format!("{stage}.kept_ratio"), vec![kept]);
            if stage == "steady" {
                self.notice(record, &rates, kept);
            }
        }
    }

    fn written_bytes(&self) -> u64 {
        self.prepared.bytes + self.log.written_bytes.last().map_or(0, |bytes| *bytes as u64)
    }
}

/// The random writes before a pass; returns what they wrote.
fn write_randomly(
    session: &mut Session<'_>,
    record: &mut TestRecord,
    step: ConsistencyStep,
    number: u32,
) -> Result<u64, BenchError> {
    let pass = session.next_pass();
    let session = &*session;
    let rounds = DEGRADE + STEADY + RECOVER;
    session.phase_started(&format!("{} {}", record.test(), step.stage), number, rounds);
    let device = session.device();
    let bytes_max = bytes_max(session, step.writes);
    session.check_room_to_overwrite(bytes_max)?;
    let control = Control::default();
    let task = RandomWrites {
        span: session.span(device),
        depth: DEPTH,
        payload: Payload::new(session.plan.seed, pass),
        time_ns: step.writes.nanos(),
        bytes_max,
        seed: derive_seed(session.plan.seed, "consistency", number, 0),
        control: &control,
    };
    let spec =
        QueueSpec { depth: DEPTH, ahead: 0, block_bytes: LONGEST, dsync: !device.is_direct() };
    let (worker, counters) = session.run_task(device, spec, &control, task)?;
    let (sent_bytes, errors) = (worker.output.sent_bytes, worker.output.errors);
    let mut kept = counters.end(session, worker.into(), step.stage, number);
    kept.asked = (errors == 0).then_some((0.0, sent_bytes as f64));
    kept.own_metrics = true;
    session.add_round(kept, record)?;
    session.free_replaced_blocks()?;
    Ok(sent_bytes)
}

/// Bytes of a stretch at most: what a real drive can take in its time; of a simulated one, what can be computed.
fn bytes_max(session: &Session<'_>, time: Secs) -> u64 {
    match ExpectedSpeed::upper_bound(session.target) {
        Some(fastest) => (fastest.mb_s * 1e6 * time.0) as u64,
        None => {
            session.round_requests().map_or(u64::MAX, |most| most.saturating_mul(BYTES_PER_REQUEST))
        }
    }
}

impl PassLog {
    fn add(&mut self, sum: &PassSum, written_bytes: u64) {
        let before = self.written_bytes.last().copied().unwrap_or(0.0);
        self.busy_mb_s.push(sum.busy_mb_s());
        self.lat_mean_us.push(sum.latencies.mean() / 1e3);
        self.lat_p99_us.push(sum.latencies.value_at_quantile(0.99) as f64 / 1e3);
        self.written_bytes.push(before + written_bytes as f64);
    }

    fn report(&self, record: &mut TestRecord) {
        if self.busy_mb_s.is_empty() {
            return;
        }
        let numbers: Vec<f64> = (1..=self.busy_mb_s.len()).map(|number| number as f64).collect();
        for (key, unit, y) in [
            ("pass.busy_mb_s", "MB/s", &self.busy_mb_s),
            ("pass.lat_mean_us", "us", &self.lat_mean_us),
            ("pass.lat_p99_us", "us", &self.lat_p99_us),
            ("pass.written_bytes", "bytes", &self.written_bytes),
        ] {
            record.curve(key, ("round", unit), numbers.clone(), y.clone());
        }
    }

    fn of(result: &TestResult) -> Option<Self> {
        let y = |quantity: &str| Some(series_of(result, &format!("pass.{quantity}"))?.y.clone());
        Some(Self {
            busy_mb_s: y("busy_mb_s")?,
            lat_mean_us: y("lat_mean_us")?,
            lat_p99_us: y("lat_p99_us")?,
            written_bytes: y("written_bytes")?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_match_pcmark_8() {
        let steps = steps(Secs(600.0));
        let minutes: Vec<f64> = steps.iter().map(|step| step.writes.0 / 60.0).collect();
        assert_eq!(minutes[..8], [10.0, 15.0, 20.0, 25.0, 30.0, 35.0, 40.0, 45.0]);
        assert_eq!(minutes[8..13], [45.0; 5]);
        assert_eq!(minutes[13..], [0.0; 5]);
        assert!(steps[13..].iter().all(|step| step.idle == Secs(300.0)));
        assert_eq!(steps.len(), 18);
    }
}
