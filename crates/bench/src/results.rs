//! From rounds to metrics, series and distributions.

use crate::fall::{self, Cause};
use crate::phase::{Load, Measured, Pace};
use crate::validity;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use drivescope_drive::counters::DeviceCounters;
use drivescope_model::document::{
    Distribution, Limiter, Metric, PhaseRecord, Series, TestResult, TestStatus,
};
use drivescope_model::findings::{Finding, FindingId};
use drivescope_model::metrics::quantity_of;
use drivescope_model::options::TestKind;
use drivescope_stats::drop::Drop;
use drivescope_stats::{interval, summary};
use hdrhistogram::Histogram;
use hdrhistogram::serialization::{Serializer, V2DeflateSerializer};

/// Confidence of every interval.
const CONFIDENCE: f64 = 0.95;
/// Rounds of a rate may differ by this share of their median before that is said.
const SPREAD_MAX: f64 = 0.25;
/// Rounds that a headline figure needs.
const ROUNDS_MIN: u32 = 3;

/// One round of one cell with everything known about it.
#[derive(Debug, Clone)]
pub struct Round {
    /// Cell with direction, as in metric keys.
    pub cell: String,
    /// From 1.
    pub round: u32,
    /// Seconds after the start of the run.
    pub start_s: f64,
    /// Seconds between the two readings of the device's counters.
    pub window_s: f64,
    /// What the loops measured.
    pub measured: Measured,
    /// What was asked, for rounds of a [`Load`].
    pub load: Option<Load>,
    /// Bytes that were asked of the drive, ramps and lead-ins included: read and written. `None` where
    /// the page cache is in the path, so that nobody knows.
    pub asked: Option<(f64, f64)>,
    /// The uppermost block device's counters over the round.
    pub top: Option<DeviceCounters>,
    /// The drive's counters over the round.
    pub disk: Option<DeviceCounters>,
    /// Those of the drive that holds a loop device's file.
    pub below_loop: Option<DeviceCounters>,
    /// Drive's temperature after it.
    pub temperature_c: Option<f64>,
    /// What held it back.
    pub limiter: Limiter,
    /// The page cache is in the path because that is what the cell shows.
    pub cached_on_purpose: bool,
    /// The test computes its metrics itself: the round is only a phase of the record.
    pub own_metrics: bool,
    /// Further quantities of the round.
    pub extra: Vec<(&'static str, f64)>,
}

impl Round {
    /// All numbers of the round by quantity.
    fn quantities(&self) -> Vec<(&'static str, f64)> {
        let measured = &self.measured;
        let latencies = &measured.recorder.latencies;
        let us = |q: f64| latencies.value_at_quantile(q) as f64 / 1e3;
        let requests = measured.requests();
        let mut all = vec![
            ("mb_s", measured.mb_s()),
            ("iops", measured.iops()),
            ("lat_mean_us", latencies.mean() / 1e3),
            ("lat_p50_us", us(0.5)),
            ("lat_p90_us", us(0.9)),
            ("lat_p99_us", us(0.99)),
            ("lat_p99_9_us", us(0.999)),
            ("lat_p99_99_us", us(0.9999)),
            ("lat_max_us", latencies.max() as f64 / 1e3),
            ("cpu_user_ns_per_io", measured.usage.user_ns as f64 / requests),
            ("cpu_sys_ns_per_io", measured.usage.sys_ns as f64 / requests),
        ];
        if let Some(Load { pace: Pace::Open { rate, .. }, .. }) = &self.load {
            all.push(("offered_iops", *rate));
        }
        all.extend_from_slice(&self.extra);
        all
    }

    fn record(&self) -> PhaseRecord {
        let measured = &self.measured;
        let wall_ns = measured.wall_ns.max(1) as f64;
        let percent = |ns: u64| ns as f64 / wall_ns * 100.0;
        PhaseRecord {
            cell: self.cell.clone(),
            round: self.round,
            start_s: self.start_s,
            elapsed_s: measured.elapsed_s(),
            ops: measured.recorder.ops,
            bytes: measured.recorder.bytes,
            errors: measured.recorder.errors,
            depth_mean: measured.depth_mean(),
            cpu_busiest_pct: percent(measured.busiest_cpu_ns),
            cpu_user_pct: percent(measured.usage.user_ns),
            cpu_sys_pct: percent(measured.usage.sys_ns),
            context_switches: measured.usage.switches,
            device_read_bytes: self.top.map(|t| t.read_bytes),
            device_written_bytes: self.top.map(|t| t.written_bytes),
            device_busy_pct: self.busy_pct(),
            temperature_c: self.temperature_c,
            limiter: self.limiter,
        }
    }

    /// Share of the round the kernel saw the device busy.
    pub fn busy_pct(&self) -> Option<f64> {
        self.top.map(|top| (top.busy_ms as f64 / self.window_s / 10.0).min(100.0))
    }

    /// Rate over time, whole intervals only.
    pub fn rates_mb_s(&self) -> Vec<f64> {
        let recorder = &self.measured.recorder;
        let whole = (recorder.elapsed_ns() / recorder.interval_ns) as usize;
        let seconds = recorder.interval_ns as f64 / 1e9;
        let intervals = recorder.intervals.iter().take(whole);
        intervals.map(|interval| interval.bytes as f64 / seconds / 1e6).collect()
    }

    fn series(&self, test: TestKind) -> Series {
        let y = self.rates_mb_s();
        let seconds = self.measured.recorder.interval_ns as f64 / 1e9;
        Series {
            key: format!("{test}.{}.mb_s#{}", self.cell, self.round),
            x_unit: "s".to_string(),
            y_unit: "MB/s".to_string(),
            x: (0..y.len()).map(|i| (i as f64 + 0.5) * seconds).collect(),
            y,
        }
    }
}

/// What a test collects while it runs.
#[derive(Debug)]
pub struct TestRecord {
    test: TestKind,
    rounds: Vec<Round>,
    metrics: Vec<Metric>,
    series: Vec<Series>,
    distributions: Vec<Distribution>,
    findings: Vec<Finding>,
    remarks: Vec<String>,
    /// The figures rest on many requests each, not on repeated rounds.
    without_rounds: bool,
    /// The drive is known to be a disk.
    rotates: bool,
}

impl TestRecord {
    /// Nothing yet.
    pub fn new(test: TestKind) -> Self {
        Self {
            test,
            rounds: Vec::new(),
            metrics: Vec::new(),
            series: Vec::new(),
            distributions: Vec::new(),
            findings: Vec::new(),
            remarks: Vec::new(),
            without_rounds: false,
            rotates: false,
        }
    }

    /// Says that the drive is known to be a disk, whose rate heat does not change.
    pub fn rotates(&mut self, rotates: bool) {
        self.rotates = rotates;
    }

    /// Says that the figures do not rest on repeated rounds, so that few of them are no flaw.
    pub fn needs_no_rounds(&mut self) {
        self.without_rounds = true;
    }

    /// Notes a part of the test that could not run here.
    pub fn remark(&mut self, remark: String) {
        self.remarks.push(remark);
    }

    /// Parts that could not run here.
    pub fn remarks(&self) -> &[String] {
        &self.remarks
    }

    /// Which test.
    pub fn test(&self) -> TestKind {
        self.test
    }

    /// Rounds so far.
    pub fn rounds(&self) -> &[Round] {
        &self.rounds
    }

    /// Adds a round; its cell becomes metrics at the end.
    pub fn add(&mut self, round: Round) {
        self.rounds.push(round);
    }

    /// Adds a metric that a test computed itself; `key` without the test's name.
    pub fn metric(&mut self, key: &str, rounds: Vec<f64>) {
        self.metrics.push(metric(format!("{}.{key}", self.test), rounds));
    }

    /// Adds a metric whose 95 % interval a test computed itself from many requests: rounds add nothing
    /// to it. `key` without the test's name.
    pub fn estimate(&mut self, key: &str, value: f64, low: f64, high: f64) {
        let key = format!("{}.{key}", self.test);
        self.metrics.push(Metric { low, high, ..metric(key, vec![value]) });
    }

    /// Adds a curve; `key` without the test's name.
    pub fn curve(&mut self, key: &str, units: (&str, &str), x: Vec<f64>, y: Vec<f64>) {
        let key = format!("{}.{key}", self.test);
        let (x_unit, y_unit) = (units.0.to_string(), units.1.to_string());
        self.series.push(Series { key, x_unit, y_unit, x, y });
    }

    /// Adds a distribution; `key` without the test's name.
    pub fn distribution(&mut self, key: &str, latencies: &Histogram<u64>) {
        self.distributions.push(distribution(format!("{}.{key}", self.test), latencies));
    }

    /// Adds a finding, or its metrics to the same finding made before; whether it is new.
    pub fn notice(&mut self, finding: Finding) -> bool {
        match self.findings.iter_mut().find(|known| known.id == finding.id) {
            Some(known) => {
                for prefix in finding.metrics {
                    if !known.metrics.contains(&prefix) {
                        known.metrics.push(prefix);
                    }
                }
                false
            }
            None => {
                self.findings.push(finding);
                true
            }
        }
    }

    /// The result; status and time are the caller's.
    pub fn finish(mut self, rounds_planned: u32) -> TestResult {
        for cell in self.cells() {
            self.finish_cell(&cell);
        }
        let few = rounds_planned < ROUNDS_MIN && !self.without_rounds;
        if few && !self.metrics.is_empty() {
            let evidence = format!("{rounds_planned} of the {ROUNDS_MIN} rounds a figure needs");
            self.notice(Finding::new(FindingId::FewRounds, evidence).about(self.test.name()));
        }
        let mut result = TestResult::empty(self.test, TestStatus::Done, None);
        result.phases = self.rounds.iter().map(Round::record).collect();
        result.metrics = self.metrics;
        result.series = self.series;
        result.distributions = self.distributions;
        result.findings = self.findings;
        result
    }

    /// Cells in the order of their first round.
    fn cells(&self) -> Vec<String> {
        let mut cells: Vec<String> = Vec::new();
        for round in self.rounds.iter().filter(|round| !round.own_metrics) {
            if !cells.contains(&round.cell) {
                cells.push(round.cell.clone());
            }
        }
        cells
    }

    fn finish_cell(&mut self, cell: &str) {
        let of_cell = |round: &&Round| round.cell == cell && round.measured.recorder.ops > 0;
        let rounds: Vec<&Round> = self.rounds.iter().filter(of_cell).collect();
        let Some(first) = rounds.first() else { return };
        let open = first.load.as_ref().is_some_and(|load| load.pace != Pace::Closed);
        let mut latencies = first.measured.recorder.latencies.clone();
        for round in &rounds[1..] {
            let other = &round.measured.recorder.latencies;
            latencies.add(other).expect("all histograms have the same bounds");
        }
        let drops: Vec<_> = rounds.iter().map(|round| validity::drop_of(round)).collect();
        let tables: Vec<_> = rounds.iter().map(|round| round.quantities()).collect();
        let series: Vec<Series> = rounds.iter().map(|round| round.series(self.test)).collect();
        for (index, (quantity, _)) in tables[0].iter().enumerate() {
            let values = tables.iter().map(|table| table[index].1).collect();
            self.metrics.push(metric(format!("{}.{cell}.{quantity}", self.test), values));
        }
        self.series.extend(series.into_iter().filter(|series| series.y.len() > 1));
        self.distributions.push(distribution(format!("{}.{cell}", self.test), &latencies));
        self.notice_drops(cell, &drops);
        // An open loop has the rate of its schedule, whose chance is no doing of the drive.
        if !open {
            self.notice_spread(cell, &tables.iter().map(|table| table[0].1).collect::<Vec<_>>());
        }
    }

    /// A drop in most rounds is the drive's doing; in one of several it is chance, which the spread of
    /// the rounds shows.
    fn notice_drops(&mut self, cell: &str, drops: &[Option<Drop>]) {
        let seen: Vec<&Drop> = drops.iter().flatten().collect();
        let Some(first) = seen.first().filter(|_| seen.len() * 2 > drops.len()) else { return };
        let evidence = format!(
            "{cell}: from {:.0} to {:.0} MB/s within a round (-{:.0} %), in {} of {} rounds",
            first.before,
            first.after,
            first.share * 100.0,
            seen.len(),
            drops.len()
        );
        let about = format!("{}.{cell}", self.test);
        let Cause { id, sign } = fall::cause(&self.rounds, cell, self.rotates);
        self.notice(Finding::new(id, format!("{evidence}, {sign}")).about(about));
        if id != FindingId::Throttled {
            return;
        }
        for round in self.rounds.iter_mut().filter(|round| round.cell == cell) {
            if validity::drop_of(round).is_some() {
                round.limiter = Limiter::Throttling;
            }
        }
    }

    fn notice_spread(&mut self, cell: &str, rates: &[f64]) {
        let (Some(low), Some(high)) = (summary::min(rates), summary::max(rates)) else { return };
        let median = summary::median(rates).unwrap_or(0.0);
        if median > 0.0 && (high - low) / median > SPREAD_MAX {
            let evidence = format!("{cell}: rounds between {low:.1} and {high:.1} MB/s");
            let about = format!("{}.{cell}", self.test);
            self.notice(Finding::new(FindingId::Unstable, evidence).about(about));
        }
    }
}

fn metric(key: String, rounds: Vec<f64>) -> Metric {
    let quantity = quantity_of(&key);
    debug_assert!(quantity.is_some(), "{key} has no documented quantity");
    let value = summary::median(&rounds).unwrap_or(0.0);
    let interval = interval::median_interval(&rounds, CONFIDENCE);
    // A rate or time below nothing is no statement; few, scattered rounds would make one.
    let (low, high) = interval.map_or((value, value), |i| (i.low.max(0.0), i.high));
    let unit = quantity.map_or("", |q| q.unit).to_string();
    Metric { key, value, unit, low, high, rounds, valid: true, invalid_because: Vec::new() }
}

fn distribution(key: String, latencies: &Histogram<u64>) -> Distribution {
    let mut bytes = Vec::new();
    V2DeflateSerializer::new()
        .serialize(latencies, &mut bytes)
        .expect("writing to a vector does not fail");
    Distribution {
        key,
        encoding: "hdr-v2-deflate-base64".to_string(),
        data: STANDARD.encode(bytes),
        count: latencies.len(),
    }
}
