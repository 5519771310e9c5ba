//! Runs compared: the metrics that all of them have, each as a ratio to the first run.

pub(crate) mod bars;
pub(crate) mod charts;
pub(crate) mod document;
mod left_out;
pub(crate) mod paired;
mod pooled;
pub(crate) mod side_by_side;
pub(crate) mod thresholds;

pub(crate) use left_out::{NamedRuns, left_out};
pub(crate) use thresholds::{CheckedMetric, ThresholdCheck};

use crate::comparison::side_by_side::{SideBySide, side_by_side};
use crate::first_seen::distinct_by;
use crate::verdict::criteria::Criterion;
use crate::workloads::{evidence, usable};
use drivescope_model::metrics::quantity_of;
use drivescope_model::{Metric, Run, TestKind};
use drivescope_stats::ratio::{RISK, Ratio, RatioOutcome, judge_all, ratio};
use pooled::pooled_ratio;

/// The compared properties in the order of their importance to users, with the names of their rows.
pub(crate) const COMPARED: [(Criterion, &str); 9] = [
    (Criterion::SequentialReads, "reads in order"),
    (Criterion::SequentialWrites, "writes in order"),
    (Criterion::ReadsAtEnd, "reads at the end"),
    (Criterion::RandomReadsQ1, "random reads, Q1"),
    (Criterion::RandomReadsDeep, "random reads, deep"),
    (Criterion::RandomReadP99, "slow reads (p99)"),
    (Criterion::RandomWritesQ1, "random writes, Q1"),
    (Criterion::RandomWrites, "random writes, deep"),
    (Criterion::SyncedWrites, "synced writes"),
];

#[derive(Debug, Clone, PartialEq)]
pub struct RunComparison {
    pub names: Vec<String>,
    /// Which of them are of simulated drives.
    pub simulated: Vec<bool>,
    /// What they can be compared in.
    pub rows: Vec<ComparedMetric>,
    /// Properties without a valid figure in every run: the reason, and the remedy.
    pub left_out: Vec<String>,
    pub besides: Vec<SideBySide>,
    /// Differences other than the drive, which may explain the figures.
    pub differences: Vec<String>,
    /// A difference within this share is none in practice.
    pub band: f64,
    /// Rounds of each, if they were interleaved and compared in pairs.
    pub interleaved_rounds: Option<usize>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct ComparedMetric {
    pub what: String,
    pub unit: String,
    pub key: String,
    pub values: Vec<f64>,
    /// One for each run but the first.
    pub against_first: Vec<MetricRatio>,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MetricRatio {
    /// Speed ratio: above 1 is better, for latencies too.
    pub times: f64,
    /// The interval of that, wide enough for all comparisons of the table together; an end is 0 or infinite where it is
    /// not known; `None` from single rounds.
    pub interval: Option<(f64, f64)>,
    pub outcome: RatioOutcome,
}

impl RunComparison {
    /// The same with the drives' models as names, as pages and pictures show them.
    pub(crate) fn by_model(&self, runs: &[Run]) -> Self {
        Self { names: names_by_model(runs), ..self.clone() }
    }
}

impl MetricRatio {
    /// Whether it shows a difference, or that there is none in practice.
    pub fn is_shown(&self) -> bool {
        self.outcome != RatioOutcome::NotShown
    }

    pub(crate) fn sign(&self) -> &'static str {
        match self.outcome {
            RatioOutcome::Larger => "▲",
            RatioOutcome::Smaller => "▼",
            RatioOutcome::WithinBand => "=",
            RatioOutcome::NotShown => "·",
        }
    }
}

/// Compares runs in their headline metrics, or in all shared ones. `band` is a share: 0.03 is 3 %.
pub fn compare(runs: &[Run], band: f64, every_metric: bool) -> RunComparison {
    let all: Vec<&Run> = runs.iter().collect();
    let keys = if every_metric { shared_keys(runs) } else { headline_keys(&all) };
    let rows: Vec<(String, Vec<&Metric>)> = keys
        .into_iter()
        .filter_map(|(what, key)| {
            let metrics: Vec<&Metric> = runs.iter().filter_map(|run| usable(run, &key)).collect();
            (metrics.len() == runs.len()).then_some((what, metrics))
        })
        .collect();
    let judged = judge(runs, &rows, band);
    let rows = rows.iter().zip(judged).map(|((what, metrics), against_first)| ComparedMetric {
        what: what.clone(),
        unit: metrics[0].unit.clone(),
        key: metrics[0].key.clone(),
        values: metrics.iter().map(|metric| metric.value).collect(),
        against_first,
    });
    let names = names(runs);
    let sides = names.iter().zip(runs).map(|(name, run)| NamedRuns { name, runs: vec![run] });
    RunComparison {
        left_out: left_out(&sides.collect::<Vec<_>>()),
        rows: rows.collect(),
        names,
        simulated: runs.iter().map(|run| run.simulated).collect(),
        besides: side_by_side(runs),
        differences: differences(runs),
        band,
        interleaved_rounds: None,
    }
}

/// For each property the first metric that all runs have. A metric that stands for two properties is named once, as the
/// first: where no deep queue was measured, a verdict uses depth 1, but a row says what was measured.
fn headline_keys(runs: &[&Run]) -> Vec<(String, String)> {
    let of_criterion = |(criterion, what): (Criterion, &str)| {
        let has_all = |key: &str| runs.iter().all(|run| usable(run, key).is_some());
        let found = evidence(criterion).find(|(_, evidence)| has_all(evidence.key));
        found.map(|(_, evidence)| (what.to_string(), evidence.key.to_string()))
    };
    distinct_by(COMPARED.into_iter().filter_map(of_criterion), |(_, key), (_, other)| key == other)
}

/// Every metric that all runs share, except the cost of the processor.
fn shared_keys(runs: &[Run]) -> Vec<(String, String)> {
    let Some(first) = runs.first() else { return Vec::new() };
    let metrics = first.tests.iter().flat_map(|test| &test.metrics);
    let speeds = metrics.filter(|metric| is_speed_key(&metric.key));
    speeds.map(|metric| (metric.key.clone(), metric.key.clone())).collect()
}

/// Whether it is a rate or a time.
fn is_speed_key(key: &str) -> bool {
    let is_speed = |unit| matches!(unit, "MB/s" | "1/s" | "us" | "ms" | "s" | "KiB/s");
    quantity_of(key).is_some_and(|quantity| is_speed(quantity.unit))
}

/// The ends of an interval that are known.
fn known_ends(interval: Option<(f64, f64)>) -> (Option<f64>, Option<f64>) {
    let (low, high) = interval.unwrap_or((0.0, f64::INFINITY));
    (Some(low).filter(|low| *low > 0.0), Some(high).filter(|high| high.is_finite()))
}

/// The speed ratio of their rounds, and that of their values.
fn ratio_of_metrics(first: &Metric, other: &Metric) -> (Option<Ratio>, f64) {
    // The faster the smaller: the ratio is turned round, so that above 1 is better.
    let is_turned = quantity_of(&first.key).is_some_and(|quantity| quantity.smaller_is_better);
    let (a, b) = if is_turned { (other, first) } else { (first, other) };
    (ratio(&a.rounds, &b.rounds), b.value / a.value)
}

/// Every pair of a row and a run against the first, judged as one family: those of rounds by Holm, percentiles of all
/// rounds together by Bonferroni, each with its part of the risk.
fn judge(runs: &[Run], rows: &[(String, Vec<&Metric>)], band: f64) -> Vec<Vec<MetricRatio>> {
    let ratio_of = |metrics: &[&Metric], i: usize| ratio_of_metrics(metrics[0], metrics[i]);
    let pairs: Vec<Vec<(Option<Ratio>, f64)>> = rows
        .iter()
        .map(|(_, metrics)| (1..metrics.len()).map(|i| ratio_of(metrics, i)).collect())
        .collect();
    let family: Vec<Ratio> = pairs.iter().flatten().filter_map(|(ratio, _)| *ratio).collect();
    let each_risk = RISK / pairs.iter().flatten().count().max(1) as f64;
    let mut judged = judge_all(&family, band, each_risk * family.len() as f64).into_iter();
    let mut result = |key: &str, i: usize, (ratio, of_values): &(Option<Ratio>, f64)| {
        if let Some((ratio, (outcome, interval))) = ratio.and_then(|r| Some((r, judged.next()?))) {
            let interval = Some((interval.low, interval.high));
            return MetricRatio { times: ratio.value, interval, outcome };
        }
        let undecided =
            MetricRatio { times: *of_values, interval: None, outcome: RatioOutcome::NotShown };
        pooled_ratio(&runs[0], &runs[i], key, each_risk, band).unwrap_or(undecided)
    };
    let mut judged = Vec::new();
    for ((_, metrics), row) in rows.iter().zip(&pairs) {
        let key = &metrics[0].key;
        judged.push((1..).zip(row).map(|(i, pair)| result(key, i, pair)).collect());
    }
    judged
}

/// Its model, or its path.
pub(crate) fn name_of(run: &Run) -> String {
    let model = run.drive.as_ref().and_then(|drive| drive.model.as_deref()).map(str::trim);
    model.filter(|model| !model.is_empty()).unwrap_or(&run.target.path).to_string()
}

/// Labels or models, with the start of the run's id where two would be equal.
pub(crate) fn names(runs: &[Run]) -> Vec<String> {
    fn plain(run: &Run) -> String {
        run.label.clone().unwrap_or_else(|| name_of(run))
    }
    let plain: Vec<String> = runs.iter().map(plain).collect();
    let is_alone = |name: &String| plain.iter().filter(|other| *other == name).count() == 1;
    let id = |run: &Run| run.id.chars().take(4).collect::<String>();
    let name = |(run, name): (&Run, &String)| {
        if is_alone(name) { name.clone() } else { format!("{name} {}", id(run)) }
    };
    runs.iter().zip(&plain).map(name).collect()
}

/// Models, with the label or the start of the run's id where two would be equal.
fn names_by_model(runs: &[Run]) -> Vec<String> {
    let labelled = names(runs);
    let name = |(run, labelled): (&Run, &String)| {
        let model = name_of(run);
        let is_alone = runs.iter().filter(|other| name_of(other) == model).count() == 1;
        match labelled.strip_prefix(&model) {
            _ if is_alone => model,
            Some(_) => labelled.clone(),
            None => format!("{model} ({labelled})"),
        }
    };
    runs.iter().zip(&labelled).map(name).collect()
}

/// Other differences between the runs: program, machine, engine, plan, status.
fn differences(runs: &[Run]) -> Vec<String> {
    let Some(first) = runs.first() else { return Vec::new() };
    let mut found = Vec::new();
    let mut differ = |what: &str, of: &dyn Fn(&Run) -> String| {
        let values: Vec<String> = runs.iter().map(of).collect();
        if values.iter().any(|value| *value != values[0]) {
            found.push(format!("{what}: {}", values.join(", ")));
        }
    };
    differ("program", &|run| format!("{} {}", run.tool.name, run.tool.version));
    differ("build", &|run| run.tool.build.clone());
    differ("status", &|run| format!("{:?}", run.status).to_lowercase());
    if runs.iter().any(|run| !run.simulated) {
        differ("machine", &|run| run.host.name.clone());
        differ("simulated", &|run| run.simulated.to_string());
        differ("engine", &|run| format!("{:?}", run.plan.engine).to_lowercase());
    }
    for test in TestKind::ALL {
        let options = |run: &Run| options_of(run, test);
        let all: Vec<Option<String>> = runs.iter().map(options).collect();
        if all.iter().all(Option::is_some) && all.iter().any(|options| *options != all[0]) {
            found.push(format!("options of {test}: see plan.suite.{test} of each run"));
        }
    }
    if first.tests.is_empty() {
        found.push("the first run has no results".to_string());
    }
    found
}

/// The options of a test as JSON; `None` if the run does not have it.
pub(crate) fn options_of(run: &Run, test: TestKind) -> Option<String> {
    run.tests.iter().find(|result| result.test == test)?;
    // A test's options stand under its name, with an underscore for each hyphen.
    Some(run.plan.suite.to_value().get(test.name().replace('-', "_"))?.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{hard_disk, with_metrics};

    const KEYS: [&str; 3] = [
        "transfer.seq1m_q1t1.read.mb_s",
        "transfer.rnd4k_q1t1.read.iops",
        "transfer.rnd4k_q1t1.read.lat_p99_us",
    ];

    #[test]
    fn metric_for_two_properties_has_one_row() {
        let run = with_metrics(&[("transfer.rnd4k_q1t1.write.iops", &[80.0, 80.0, 80.0])]);
        let keys = headline_keys(&[&run, &run]);
        let named = keys.iter().filter(|(_, key)| key == "transfer.rnd4k_q1t1.write.iops");
        assert_eq!(named.map(|(what, _)| what.as_str()).collect::<Vec<_>>(), ["random writes, Q1"]);
    }

    #[test]
    fn higher_rates_and_lower_latencies_are_better() {
        let a = with_metrics(&[
            (KEYS[0], &[100.0, 101.0, 99.0]),
            (KEYS[1], &[80.0, 80.0, 80.0]),
            (KEYS[2], &[20_000.0, 20_100.0, 19_900.0]),
        ]);
        let b = with_metrics(&[
            (KEYS[0], &[200.0, 201.0, 199.0]),
            (KEYS[1], &[81.0, 81.0, 81.0]),
            (KEYS[2], &[40_000.0, 40_100.0, 39_900.0]),
        ]);
        let comparison = compare(&[a, b], 0.03, false);
        let rows: Vec<(&str, RatioOutcome)> = comparison
            .rows
            .iter()
            .map(|row| (row.key.as_str(), row.against_first[0].outcome))
            .collect();
        let [rate, reads, slow] = KEYS;
        let expected = [
            (rate, RatioOutcome::Larger),
            (reads, RatioOutcome::WithinBand),
            (slow, RatioOutcome::Smaller),
        ];
        assert_eq!(rows, expected);
        assert!((comparison.rows[2].against_first[0].times - 0.5).abs() < 0.001);
        assert!(comparison.differences.is_empty(), "{:?}", comparison.differences);
    }

    #[test]
    fn invalid_missing_or_single_values_are_not_compared() {
        let a = with_metrics(&[(KEYS[0], &[100.0]), (KEYS[1], &[80.0, 81.0])]);
        let mut b = with_metrics(&[(KEYS[0], &[300.0]), (KEYS[1], &[90.0, 91.0])]);
        b.tests[0].metrics[1].valid = false;
        let comparison = compare(&[a.clone(), b], 0.03, false);
        let ratio = comparison.rows[0].against_first[0];
        assert_eq!((comparison.rows.len(), ratio.times, ratio.interval), (1, 3.0, None));
        assert_eq!(ratio.outcome, RatioOutcome::NotShown);
        assert!(compare(&[a, hard_disk()], 0.03, true).rows.len() < 3);
    }

    #[test]
    fn other_differences_are_listed() {
        let a = hard_disk();
        let mut b = hard_disk();
        b.tool.version = "9.9.9".to_string();
        b.host.name = "other".to_string();
        b.plan.suite.latency.block = drivescope_model::Bytes::kib(8);
        let found = compare(&[a, b], 0.03, false).differences;
        assert_eq!(found.len(), 3, "{found:?}");
    }
}
