//! What the rounds of each trace come to, and the scores of sets of traces.

use super::chosen::{PreparedTrace, SETS};
use super::keeps_think_time;
use crate::judging::test_record::TestRecord;
use crate::workloads::shared::replay::task::ReplayOutcome;
use drivescope_model::metrics::PERCENTILES;
use drivescope_model::options::{AppsOptions, ReplayTiming};
use drivescope_trace::built_in::TraceSource;

/// Percentile of delays that is reported.
const LAG_SHARE: f64 = 0.99;

#[derive(Debug, Clone)]
pub(super) struct TraceFigures {
    cell: String,
    set: Option<&'static str>,
    think_s: f64,
    /// Of the drive it was recorded on, if that is known.
    recorded_s: Option<f64>,
    pub(super) predicted_s: Option<f64>,
    /// Quantity by quantity, a value for each round.
    rounds: Vec<(&'static str, Vec<f64>)>,
}

impl TraceFigures {
    pub(super) fn of(trace: &PreparedTrace) -> Self {
        let profile = &trace.profile;
        let is_recorded = !matches!(trace.source, TraceSource::Synthetic(_));
        let recorded_s = profile.length_ns as f64 / 1e9;
        Self {
            cell: trace.cell.clone(),
            set: trace.source.set_name(),
            think_s: profile.think_ns as f64 / 1e9,
            recorded_s: Some(recorded_s).filter(|_| is_recorded && profile.totals.has_latencies),
            predicted_s: None,
            rounds: Vec::new(),
        }
    }

    pub(super) fn add(&mut self, outcome: &ReplayOutcome) {
        let recorder = &outcome.recorder;
        let busy_s = outcome.busy_ns as f64 / 1e9;
        let mut values = vec![
            ("run_s", recorder.elapsed_ns() as f64 / 1e9),
            ("busy_s", busy_s),
            ("busy_mb_s", recorder.bytes as f64 / 1e6 / busy_s.max(1e-9)),
            ("lat_mean_us", recorder.latencies.mean() / 1e3),
        ];
        for percentile in PERCENTILES.iter().take(3) {
            let us = recorder.latencies.value_at_quantile(percentile.share) as f64 / 1e3;
            values.push((percentile.key, us));
        }
        let delays = &outcome.lag.delays;
        values.extend([
            ("lat_max_us", recorder.latencies.max() as f64 / 1e3),
            ("lag_p99_us", delays.value_at_quantile(LAG_SHARE) as f64 / 1e3),
            ("lag_max_us", delays.max() as f64 / 1e3),
        ]);
        if self.rounds.is_empty() {
            self.rounds = values.into_iter().map(|(key, value)| (key, vec![value])).collect();
        } else {
            let rounds = self.rounds.iter_mut().zip(values);
            rounds.for_each(|((_, rounds), (_, value))| rounds.push(value));
        }
    }

    fn values(&self, quantity: &str) -> &[f64] {
        let found = self.rounds.iter().find(|(key, _)| *key == quantity);
        found.map_or(&[], |(_, rounds)| rounds)
    }
}

/// Metrics of all traces, and the score of each set whose traces all ran with their think time.
pub(super) fn report(record: &mut TestRecord, figures: &[TraceFigures], options: &AppsOptions) {
    for trace in figures {
        let key = |quantity: &str| format!("{}.{quantity}", trace.cell);
        for (quantity, rounds) in &trace.rounds {
            record.metric(&key(quantity), rounds.clone());
        }
        if options.timing != ReplayTiming::Asap {
            record.metric(&key("think_s"), vec![trace.think_s]);
        }
        if let Some(seconds) = trace.recorded_s.filter(|_| keeps_think_time(options)) {
            record.metric(&key("recorded_s"), vec![seconds]);
        }
        if let Some(seconds) = trace.predicted_s {
            record.metric(&key("predicted_s"), vec![seconds]);
        }
    }
    for set in SETS {
        let of_set: Vec<&TraceFigures> =
            figures.iter().filter(|trace| trace.set == Some(set)).collect();
        let whole = TraceSource::built_in().filter(|it| it.set_name() == Some(set)).count();
        if of_set.len() == whole && whole > 0 && keeps_think_time(options) {
            record.metric(&format!("{set}.score"), scores(&of_set));
        }
    }
}

/// The score of each round: 100 × the geometric mean of think time over run time.
fn scores(traces: &[&TraceFigures]) -> Vec<f64> {
    let rounds = traces.iter().map(|trace| trace.values("run_s").len()).min().unwrap_or(0);
    let score = |round: usize| {
        let sum: f64 =
            traces.iter().map(|trace| (trace.think_s / trace.values("run_s")[round]).ln()).sum();
        100.0 * (sum / traces.len() as f64).exp()
    };
    (0..rounds).map(score).collect()
}
