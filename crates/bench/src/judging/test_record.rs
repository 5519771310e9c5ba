//! From rounds to metrics, series and distributions.

mod metric;
mod spread;

use crate::error::describe;
use crate::io::queue::IoFailure;
use crate::judging::cpu_split::CpuSplit;
use crate::judging::rate_drop::{self, DropCause, drop_of};
use crate::judging::round::{Round, distinct, encoded};
use crate::loops::phase::LoopMode;
use drivescope_model::document::{
    DatabaseRecord, Distribution, Limiter, Metric, PhaseRecord, Series, TestResult, TestStatus,
};
use drivescope_model::findings::{Finding, FindingId, Severity};
use drivescope_model::health::SelfTest;
use drivescope_model::number::rounded;
use drivescope_model::options::TestKind;
use drivescope_model::resume::ResumePoint;
use drivescope_stats::interval::Interval;
use drivescope_stats::lasting_drop::LastingDrop;
use drivescope_stats::round_trend::error_within;
use drivescope_stats::summary;
use hdrhistogram::Histogram;
use metric::{chance, metric, of_all_rounds};
use spread::RoundRates;
use std::ops::Range;

const CONFIDENCE: f64 = 0.95;
/// Requests below this size are counted, larger ones have a rate.
const SMALL_BLOCK_BYTES: u64 = 64 << 10;
const PLACES_MAX: usize = 100;
const LAST_ROUNDS: usize = 5;
pub const ROUNDS_MIN: u32 = 3;

#[derive(Debug, Clone)]
pub struct TestRecord {
    test: TestKind,
    rounds: Vec<Round>,
    /// Results so far; its phases are those of archived rounds, which count for no figure.
    result: TestResult,
    remarks: Vec<String>,
    /// The figures rest on many requests each, not on repeated rounds.
    without_rounds: bool,
    /// More rounds follow: what only all of them can show is not judged yet.
    is_partial: bool,
    /// Series over the rounds say more than those within.
    many_rounds: bool,
    /// The drive is known to be a disk.
    rotates: bool,
    /// Cells of its own figures that the page cache answers on purpose.
    of_memory: Vec<String>,
}

impl TestRecord {
    pub fn new(test: TestKind) -> Self {
        Self {
            test,
            rounds: Vec::new(),
            result: TestResult::empty(test, TestStatus::Done, None),
            remarks: Vec::new(),
            without_rounds: false,
            is_partial: false,
            many_rounds: false,
            rotates: false,
            of_memory: Vec::new(),
        }
    }

    /// For a disk, whose rate heat does not change.
    pub fn rotates(&mut self, rotates: bool) {
        self.rotates = rotates;
    }

    /// The figures do not rest on repeated rounds: few of them are not a flaw.
    pub fn needs_no_rounds(&mut self) {
        self.without_rounds = true;
    }

    /// Many rounds: no curves within them are kept, and events show only the last few.
    pub fn set_many_rounds(&mut self) {
        self.many_rounds = true;
    }

    /// Rounds with other numbers stay phases of the result and count for no figure. Their histograms, which take
    /// much memory, are dropped.
    pub fn archive_all_but(&mut self, numbers: Range<u32>) {
        let (kept, rest): (Vec<Round>, Vec<Round>) = std::mem::take(&mut self.rounds)
            .into_iter()
            .partition(|round| numbers.contains(&round.round));
        self.rounds = kept;
        for round in rest {
            let record = round.record(CpuSplit::of([round.measured.cpu_cost.usage], CONFIDENCE));
            self.result.phases.push(PhaseRecord { latencies: None, ..record });
        }
    }

    /// The page cache answers a cell whose figures the test computes itself.
    pub fn answers_from_memory(&mut self, cell: &str) {
        self.of_memory.push(self.key(cell));
    }

    /// Keys of the rates and cells that the page cache answers on purpose.
    pub(crate) fn of_memory(&self) -> Vec<String> {
        let is_memorys = |round: &&Round| !round.own_metrics && round.is_of_memory();
        let rates =
            self.rounds.iter().filter(is_memorys).map(|round| format!("{}.mb_s", round.cell));
        distinct(rates.map(|rate| self.key(&rate)).chain(self.of_memory.iter().cloned()))
    }

    /// Notes a part of the test that could not run here.
    pub fn remark(&mut self, remark: String) {
        self.remarks.push(remark);
    }

    pub fn remarks(&self) -> &[String] {
        &self.remarks
    }

    /// Where the test, which was stopped, can be resumed.
    pub fn resume_at(&mut self, point: ResumePoint) {
        self.result.resume = Some(point);
    }

    /// What it needs is gone with it.
    pub fn cannot_be_resumed(&mut self) {
        self.result.resume = None;
    }

    pub fn database(&mut self, database: DatabaseRecord) {
        self.result.databases.push(database);
    }

    /// How the drive's own test ended.
    pub fn self_test(&mut self, test: SelfTest) {
        self.result.self_test = Some(test);
    }

    pub fn test(&self) -> TestKind {
        self.test
    }

    pub fn rounds(&self) -> &[Round] {
        &self.rounds
    }

    pub(crate) fn rounds_of(&self, cell: &str) -> impl Iterator<Item = &Round> {
        self.rounds.iter().filter(move |round| round.cell == cell)
    }

    pub(crate) fn median_iops(&self, cell: &str) -> Option<f64> {
        let rates: Vec<f64> = self.rounds_of(cell).map(|round| round.measured.iops()).collect();
        summary::median(&rates)
    }

    fn key(&self, name: &str) -> String {
        format!("{}.{name}", self.test)
    }

    pub fn add(&mut self, round: Round) {
        self.rounds.push(round);
    }

    /// A metric that a test computed itself; `key` without the test's name.
    pub fn metric(&mut self, key: &str, rounds: Vec<f64>) {
        self.result.metrics.push(metric(self.key(key), rounds));
    }

    /// A metric whose 95 % interval a test computed itself from many requests: rounds add nothing to it. `key`
    /// without the test's name. The interval is widened to hold the value, as few resamples may miss it, and ends
    /// at 0, which few rounds may undercut.
    pub fn estimate(&mut self, key: &str, value: f64, low: f64, high: f64) {
        let (low, high) = (low.min(value).max(0.0), high.max(value));
        self.result.metrics.push(Metric { low, high, ..metric(self.key(key), vec![value]) });
    }

    pub fn estimate_within(&mut self, key: &str, value: f64, margin: f64) {
        self.estimate(key, value, value - margin, value + margin);
    }

    /// `key` without the test's name.
    pub fn curve(&mut self, key: &str, units: (&str, &str), x: Vec<f64>, y: Vec<f64>) {
        let (x_unit, y_unit) = (units.0.to_string(), units.1.to_string());
        self.result.series.push(Series { key: self.key(key), x_unit, y_unit, x, y });
    }

    /// Of several findings about the same metrics, such as the rounds of a cell, the worst is kept.
    pub fn notice(&mut self, finding: Finding) {
        let same =
            |known: &&mut Finding| known.id == finding.id && known.metrics == finding.metrics;
        let findings = &mut self.result.findings;
        match findings.iter_mut().find(same) {
            // Each place where requests fail counts.
            Some(known) if known.id == FindingId::IoError => {
                if known.count() < PLACES_MAX {
                    known.join(finding);
                }
            }
            Some(known) if finding.outweighs(known) => *known = finding,
            Some(_) => {}
            None => findings.push(finding),
        }
    }

    pub fn notice_failures<'f>(&mut self, failures: impl IntoIterator<Item = &'f IoFailure>) {
        for failure in failures {
            let finding = Finding::new(FindingId::IoError, describe(failure, 1));
            self.notice(finding.about(self.test.name()));
        }
    }

    /// Extends findings about the metrics of `cell` to the metric `key`, which comes from them; both without the
    /// test's name.
    pub fn share_findings(&mut self, cell: &str, key: &str) {
        let [cell, key] = [cell, key].map(|name| self.key(name));
        let about = |finding: &&mut Finding| !finding.metrics.is_empty() && finding.concerns(&cell);
        for finding in self.result.findings.iter_mut().filter(about) {
            finding.metrics.push(key.clone());
        }
    }

    pub fn so_far(&self, cell: &str) -> TestResult {
        let mut record = Self::new(self.test);
        let rounds: Vec<&Round> = self.rounds_of(cell).collect();
        let first = if self.many_rounds { rounds.len().saturating_sub(LAST_ROUNDS) } else { 0 };
        record.rounds = rounds[first..].iter().copied().cloned().collect();
        record.many_rounds = self.many_rounds;
        // The final number of rounds is not known yet.
        record.without_rounds = true;
        record.is_partial = true;
        record.result.findings.clone_from(&self.result.findings);
        record.finish(ROUNDS_MIN)
    }

    /// Whether a finding makes the metrics of `cell` (without the test's name) invalid.
    pub fn is_invalid(&self, cell: &str) -> bool {
        let cell = self.key(cell);
        let invalid = |finding: &Finding| finding.severity == Severity::Invalid;
        self.result.findings.iter().any(|finding| invalid(finding) && finding.concerns(&cell))
    }

    /// Status and time are the caller's.
    pub fn finish(mut self, rounds_planned: u32) -> TestResult {
        for cell in self.cells() {
            self.finish_cell(&cell);
        }
        self.notice_few_rounds(rounds_planned);
        let phases =
            self.rounds.iter().map(|round| round.record(self.split_of(&round.cell))).collect();
        let mut result = self.result;
        let archived = std::mem::replace(&mut result.phases, phases);
        if !archived.is_empty() {
            result.phases.extend(archived);
            result.phases.sort_by(|a, b| a.start_s.total_cmp(&b.start_s));
        }
        for finding in std::mem::take(&mut result.findings) {
            result.add_finding(finding);
        }
        result
    }

    /// Fewer rounds than a figure needs: because no more were planned, or because the test ended before.
    fn notice_few_rounds(&mut self, planned: u32) {
        if self.result.metrics.is_empty() || self.without_rounds {
            return;
        }
        if planned < ROUNDS_MIN {
            let evidence = few_rounds(planned as usize);
            self.notice(Finding::new(FindingId::FewRounds, evidence).about(self.test.name()));
            return;
        }
        for cell in self.cells() {
            self.notice_few_rounds_of(&cell);
        }
    }

    /// Only for a cell that was meant to have several rounds.
    pub fn notice_few_rounds_of(&mut self, cell: &str) {
        if self.without_rounds {
            return;
        }
        let rounds = self.measured_rounds(cell).count();
        if (1..ROUNDS_MIN as usize).contains(&rounds) {
            let evidence = format!("{cell}: {}", few_rounds(rounds));
            self.notice(Finding::new(FindingId::FewRounds, evidence).about(self.key(cell)));
        }
    }

    /// In the order of their first round.
    fn cells(&self) -> Vec<String> {
        let rounds = self.rounds.iter().filter(|round| !round.own_metrics);
        distinct(rounds.map(|round| round.cell.clone()))
    }

    /// How the processor time of a cell divides, all its rounds together.
    fn split_of(&self, cell: &str) -> CpuSplit {
        CpuSplit::of(self.rounds_of(cell).map(|round| round.measured.cpu_cost.usage), CONFIDENCE)
    }

    /// Processor time per request in user mode and in the kernel: each round's exact sum, divided as that of all
    /// rounds, so that the two add up to it. Empty on a simulated drive, where none is counted.
    fn cpu_metrics(&self, cell: &str, rounds: &[&Round]) -> Vec<Metric> {
        let sums: Vec<f64> = rounds.iter().map(|round| round.measured.cpu_ns_per_io()).collect();
        if sums.contains(&0.0) {
            return Vec::new();
        }
        let split = self.split_of(cell);
        let parts = [("cpu_user_ns_per_io", split), ("cpu_sys_ns_per_io", split.of_kernel())];
        let metrics = parts.map(|(quantity, part)| {
            let key = self.key(&format!("{cell}.{quantity}"));
            let of_all = metric(key.clone(), sums.clone());
            let Interval { low, high } =
                part.interval_of(Interval { low: of_all.low, high: of_all.high });
            let values = sums.iter().map(|sum| sum * part.share).collect();
            Metric { low, high, ..metric(key, values) }
        });
        metrics.to_vec()
    }

    /// Rounds that count for figures: with a completed request and without failures, as rates of a failing device
    /// do not describe it.
    fn measured_rounds(&self, cell: &str) -> impl Iterator<Item = &Round> {
        self.rounds_of(cell).filter(|round| round.measured.recorder.ops > 0 && !round.is_cut_short)
    }

    fn finish_cell(&mut self, cell: &str) {
        let rounds: Vec<&Round> = self.measured_rounds(cell).collect();
        let Some(first) = rounds.first() else { return };
        let of_memory = first.cached_on_purpose();
        let by_chance = rounds.iter().map(|round| chance(round)).fold(0.0, f64::max);
        let open = first.load.as_ref().is_some_and(|load| load.mode != LoopMode::Closed);
        let mut latencies = first.measured.recorder.latencies.clone();
        for round in &rounds[1..] {
            let other = &round.measured.recorder.latencies;
            latencies.add(other).expect("all histograms have the same bounds");
        }
        let small = rounds.iter().all(|round| round.block_bytes() < SMALL_BLOCK_BYTES);
        let drops: Vec<_> = rounds.iter().map(|round| drop_of(round)).collect();
        let fewest = rounds.iter().map(|round| round.measured.recorder.latencies.len()).min();
        let tables: Vec<_> =
            rounds.iter().map(|round| round.quantities(fewest.unwrap_or(0))).collect();
        let series: Vec<Series> = rounds.iter().map(|round| round.series(self.test)).collect();
        let errors = rounds.iter().map(|round| error_within(&round.rates_mb_s())).collect();
        let key = |quantity: &str| self.key(&format!("{cell}.{quantity}"));
        let mut metrics = Vec::new();
        for (index, (quantity, _)) in tables[0].iter().enumerate() {
            if *quantity == "lat_max_us" {
                let smaller = metrics.iter().rev().find(|it: &&Metric| it.key.contains(".lat_p"));
                let least_us = smaller.map_or(0.0, |it| it.value);
                let of_all = of_all_rounds(&latencies, fewest.unwrap_or(0), least_us);
                metrics.extend(of_all.map(|(quantity, us)| Metric {
                    pooled: true,
                    ..metric(key(quantity), vec![us])
                }));
            }
            let values = tables.iter().map(|table| table[index].1).collect();
            metrics.push(metric(key(quantity), values));
        }
        metrics.extend(self.cpu_metrics(cell, &rounds));
        self.result.metrics.extend(metrics);
        let is_kept = |series: &Series| series.y.len() > 1 && !self.many_rounds;
        self.result.series.extend(series.into_iter().filter(is_kept));
        self.result.distributions.push(distribution(self.key(cell), &latencies));
        if self.is_partial {
            return;
        }
        self.notice_drops(cell, &drops);
        // The schedule sets the rate of an open loop: its chance does not describe the drive.
        // The rate of the page cache shows when the kernel chose to write.
        if !open && !of_memory {
            let (index, unit) = if small { (1, "requests/s") } else { (0, "MB/s") };
            let rates = tables.iter().map(|table| table[index].1).collect();
            self.notice_spread(cell, &RoundRates { rates, errors, unit, by_chance });
        }
    }

    /// A drop in most rounds is the drive's doing; in one of several it is chance, which the spread of the rounds
    /// shows.
    fn notice_drops(&mut self, cell: &str, drops: &[Option<LastingDrop>]) {
        let seen: Vec<&LastingDrop> = drops.iter().flatten().collect();
        let is_reported = seen.len() * 2 > drops.len() && !self.is_unreliable(cell);
        let Some(first) = seen.first().filter(|_| is_reported) else { return };
        let evidence = format!(
            "{cell}: from {} to {} MB/s within a round (-{:.0} %), in {} of {} rounds",
            rounded(first.before),
            rounded(first.after),
            first.share * 100.0,
            seen.len(),
            drops.len()
        );
        let cause = rate_drop::cause(&self.rounds, cell, self.rotates);
        let Some(DropCause { id, sign }) = cause else { return };
        if id == FindingId::CacheFull && first.share <= spread_before(&seen) {
            return;
        }
        let finding = Finding::new(id, format!("{evidence}, {sign}")).about(self.key(cell));
        self.notice(finding.weighing(first.share));
        if id != FindingId::Throttled {
            return;
        }
        for round in self.rounds.iter_mut().filter(|round| round.cell == cell) {
            if drop_of(round).is_some() {
                round.limiter = Limiter::Throttling;
            }
        }
    }

    /// Whether other programs held the processors so that the cell's rates say nothing of the drive's caches or
    /// heat.
    fn is_unreliable(&self, cell: &str) -> bool {
        let key = self.key(cell);
        let busy = |it: &&Finding| it.id == FindingId::BusyProcessors && it.concerns(&key);
        self.result.findings.iter().any(|it| busy(&it))
    }
}

/// `key` without the test's name.
pub(crate) fn series_of<'r>(result: &'r TestResult, key: &str) -> Option<&'r Series> {
    let key = format!("{}.{key}", result.test);
    result.series.iter().find(|series| series.key == key)
}

/// `key` without the test's name.
pub(crate) fn value_of(result: &TestResult, key: &str) -> Option<f64> {
    let key = format!("{}.{key}", result.test);
    result.metrics.iter().find(|metric| metric.key == key).map(|metric| metric.value)
}

/// How much the rates before the drops of several rounds differ, as a share of the highest: an empty cache is
/// equally fast in each round, so that a smaller drop is one of the ways in which rounds differ.
fn spread_before(drops: &[&LastingDrop]) -> f64 {
    let before: Vec<f64> = drops.iter().map(|drop| drop.before).collect();
    let ends = summary::min(&before).zip(summary::max(&before)).filter(|&(_, high)| high > 0.0);
    ends.map_or(0.0, |(low, high)| (high - low) / high)
}

fn few_rounds(rounds: usize) -> String {
    format!("{rounds} of the {ROUNDS_MIN} rounds that a result needs")
}

fn distribution(key: String, latencies: &Histogram<u64>) -> Distribution {
    Distribution {
        key,
        encoding: "hdr-v2-deflate-base64".to_string(),
        data: encoded(latencies),
        count: latencies.len(),
    }
}

#[cfg(test)]
mod tests;
