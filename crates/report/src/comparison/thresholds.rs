//! Thresholds for CI: how much worse than the first run a metric may be, and which are shown to be worse.

use super::left_out::reason;
use super::pooled::pooled_ratio;
use super::{
    MetricRatio, NamedRuns, RunComparison, is_speed_key, known_ends, names, ratio_of_metrics,
};
use crate::first_seen::distinct;
use crate::workloads::usable;
use drivescope_model::Run;
use drivescope_stats::ratio::{RISK, RatioOutcome};
use serde::Serialize;
use std::str::FromStr;

/// `KEYS=-SHARE`: metrics whose keys match may be worse by this share.
#[derive(Debug, Clone, PartialEq)]
pub struct Threshold {
    /// `*` stands for any characters, `?` for one.
    keys: String,
    worse_by: f64,
}

/// What `--fail-on` and `--fail-below` found.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct ThresholdCheck {
    /// Figures that are shown to be worse than allowed.
    pub failed: Vec<CheckedMetric>,
    /// The interval contains the limit, or is not known.
    pub undecided: Vec<CheckedMetric>,
    pub kept: Vec<CheckedMetric>,
    /// What could not be checked, with the reason.
    pub unchecked: Vec<String>,
}

/// A metric of a run, held against the first run.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CheckedMetric {
    pub key: String,
    /// Name of the run.
    pub run: String,
    pub unit: String,
    /// In the first run.
    pub first: f64,
    pub value: f64,
    /// Speed ratio: below 1 is worse, for latencies too.
    pub times: f64,
    /// Ends of its interval; none where it is not known.
    pub low: Option<f64>,
    pub high: Option<f64>,
    /// The lowest ratio allowed; none where any worse figure fails.
    pub required: Option<f64>,
}

impl FromStr for Threshold {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let example = "write KEYS=-PERCENT, such as 'transfer.*.iops=-10%'";
        let (keys, share) = text.rsplit_once('=').ok_or_else(|| example.to_string())?;
        let number = share.trim_start_matches('-').trim_end_matches('%');
        let percent: f64 = number.trim().parse().map_err(|_| example.to_string())?;
        if keys.is_empty() || !(0.0..100.0).contains(&percent) {
            return Err(format!("the share lies between 0 and 100 %; {example}"));
        }
        Ok(Self { keys: keys.to_string(), worse_by: percent / 100.0 })
    }
}

impl Threshold {
    fn matches(&self, key: &str) -> bool {
        let (pattern, key) = (self.keys.as_bytes(), key.as_bytes());
        let (mut p, mut k) = (0, 0);
        // After the last star: the pattern, and the part of the key that it does not take.
        let mut resume = None;
        while k < key.len() {
            match pattern.get(p) {
                Some(b'*') => {
                    p += 1;
                    resume = Some((p, k));
                }
                Some(wanted) if *wanted == b'?' || *wanted == key[k] => (p, k) = (p + 1, k + 1),
                _ => {
                    let Some((after, rest)) = resume else { return false };
                    resume = Some((after, rest + 1));
                    (p, k) = (after, rest + 1);
                }
            }
        }
        pattern[p..].iter().all(|rest| *rest == b'*')
    }
}

impl ThresholdCheck {
    /// Nothing failed, and everything asked for was checked.
    pub fn is_passed(&self) -> bool {
        self.failed.is_empty() && self.unchecked.is_empty()
    }

    #[must_use]
    pub fn joined(mut self, other: Self) -> Self {
        self.failed.extend(other.failed);
        self.undecided.extend(other.undecided);
        self.kept.extend(other.kept);
        self.unchecked.extend(other.unchecked);
        self
    }

    /// Without an interval nothing could ever fail.
    fn note_missing_intervals(&mut self, what: &str) {
        let mut all = self.failed.iter().chain(&self.undecided).chain(&self.kept).peekable();
        if all.peek().is_some() && !all.any(|it| it.low.is_some() || it.high.is_some()) {
            let why = "no figure has an interval; measure three rounds or more (--rounds)";
            self.unchecked.push(format!("{what}: {why}"));
        }
    }
}

/// `--fail-on worse`: no row of the comparison may be worse.
pub fn check_worse(comparison: &RunComparison) -> ThresholdCheck {
    let mut check = ThresholdCheck::default();
    for row in &comparison.rows {
        for (i, ratio) in (1..).zip(&row.against_first) {
            let values = (row.values[0], row.values[i]);
            let name = &comparison.names[i];
            let metric = checked_metric(&row.key, &row.unit, name, values, ratio, None);
            match ratio.outcome {
                RatioOutcome::Smaller => check.failed.push(metric),
                RatioOutcome::NotShown => check.undecided.push(metric),
                RatioOutcome::Larger | RatioOutcome::WithinBand => check.kept.push(metric),
            }
        }
    }
    check.note_missing_intervals("--fail-on worse");
    check.unchecked.extend(comparison.left_out.iter().cloned());
    check
}

/// `--fail-below`: the last threshold that matches a metric counts, and every metric that one matches needs a valid
/// figure in all runs. The intervals hold for all of them together (Bonferroni).
///
/// Errors: a threshold matches no metric of any run.
pub fn check_thresholds(runs: &[Run], thresholds: &[Threshold]) -> Result<ThresholdCheck, String> {
    let all = runs.iter().flat_map(|run| &run.tests).flat_map(|test| &test.metrics);
    let keys = distinct(all.map(|it| it.key.as_str()).filter(|key| is_speed_key(key)));
    let matches_none = |it: &&Threshold| !keys.iter().any(|key| it.matches(key));
    if let Some(Threshold { keys: pattern, .. }) = thresholds.iter().find(matches_none) {
        return Err(format!(
            "--fail-below: no rate or time of these runs matches '{pattern}'; drivescope compare --all --json lists \
             their keys"
        ));
    }
    let last_match = |key: &str| thresholds.iter().rposition(|it| it.matches(key));
    let wanted: Vec<(&str, usize)> =
        keys.into_iter().filter_map(|key| Some((key, last_match(key)?))).collect();
    let risk = RISK / (wanted.len() * (runs.len() - 1)).max(1) as f64;
    let mut whole = ThresholdCheck::default();
    for (i, threshold) in thresholds.iter().enumerate() {
        let own = wanted.iter().filter(|(_, its)| *its == i);
        let mut check = ThresholdCheck::default();
        own.for_each(|(key, _)| check_key(&mut check, runs, key, 1.0 - threshold.worse_by, risk));
        check.note_missing_intervals(&threshold.keys);
        whole = whole.joined(check);
    }
    Ok(whole)
}

fn check_key(check: &mut ThresholdCheck, runs: &[Run], key: &str, required: f64, risk: f64) {
    let names = names(runs);
    let Some(metrics) = runs.iter().map(|run| usable(run, key)).collect::<Option<Vec<_>>>() else {
        let sides = names.iter().zip(runs).map(|(name, run)| NamedRuns { name, runs: vec![run] });
        check.unchecked.push(format!("{key}: {}", reason(&sides.collect::<Vec<_>>(), key)));
        return;
    };
    for i in 1..runs.len() {
        let ratio = match ratio_of_metrics(metrics[0], metrics[i]) {
            (Some(ratio), _) => {
                let interval = ratio.interval(risk);
                let interval = Some((interval.low, interval.high));
                MetricRatio { times: ratio.value, interval, outcome: RatioOutcome::NotShown }
            }
            (None, times) => pooled_ratio(&runs[0], &runs[i], key, risk, 0.0)
                .unwrap_or(MetricRatio { times, interval: None, outcome: RatioOutcome::NotShown }),
        };
        let values = (metrics[0].value, metrics[i].value);
        let unit = &metrics[0].unit;
        let metric = checked_metric(key, unit, &names[i], values, &ratio, Some(required));
        match ratio.interval {
            Some((_, high)) if high < required => check.failed.push(metric),
            Some((low, _)) if low >= required => check.kept.push(metric),
            _ => check.undecided.push(metric),
        }
    }
}

fn checked_metric(
    key: &str,
    unit: &str,
    run: &str,
    (first, value): (f64, f64),
    ratio: &MetricRatio,
    required: Option<f64>,
) -> CheckedMetric {
    let (low, high) = known_ends(ratio.interval);
    let [key, unit, run] = [key, unit, run].map(str::to_string);
    CheckedMetric { key, run, unit, first, value, times: ratio.times, low, high, required }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::comparison::compare;
    use crate::testing::with_metrics;
    use drivescope_model::findings::FindingId;
    use drivescope_stats::synthetic;

    const RATE: &str = "transfer.seq1m_q1t1.read.mb_s";
    const READS: &str = "transfer.rnd4k_q1t1.read.iops";
    const DEEP: &str = "transfer.rnd4k_q32t1.read.iops";
    const SLOW: &str = "transfer.rnd4k_q1t1.read.lat_p99_us";

    /// Rates and a latency, each times its factor.
    fn run(factors: [f64; 4]) -> Run {
        fn rounds(value: f64) -> [f64; 4] {
            [value * 0.995, value, value * 1.005, value]
        }
        let figures = [(RATE, 200.0), (READS, 100.0), (DEEP, 400.0), (SLOW, 9_000.0)];
        let all = figures.into_iter().zip(factors);
        let all: Vec<_> = all.map(|((key, it), factor)| (key, rounds(it * factor))).collect();
        with_metrics(&all.iter().map(|(key, rounds)| (*key, &rounds[..])).collect::<Vec<_>>())
    }

    fn checked(factors: [f64; 4], thresholds: &[&str]) -> Result<ThresholdCheck, String> {
        let thresholds: Vec<Threshold> = thresholds.iter().map(|it| it.parse().unwrap()).collect();
        check_thresholds(&[run([1.0; 4]), run(factors)], &thresholds)
    }

    fn keys(metrics: &[CheckedMetric]) -> Vec<&str> {
        metrics.iter().map(|it| it.key.as_str()).collect()
    }

    #[test]
    fn patterns_and_shares_are_read() {
        let threshold: Threshold = "transfer.*.iops=-12.5%".parse().unwrap();
        assert_eq!(threshold.worse_by, 0.125);
        for (pattern, key, matches) in [
            ("transfer.*.iops", READS, true),
            ("*", READS, true),
            ("*.iops", READS, true),
            ("*.read.*", READS, true),
            ("transfer.rnd4k_q?t1.read.iops", READS, true),
            ("transfer.rnd4k_q?t1.read.iops", DEEP, false),
            ("transfer.*.iops", SLOW, false),
            ("*rnd4k*rnd4k*", READS, false),
            ("transfer", READS, false),
            (READS, READS, true),
            ("**iops*", READS, true),
        ] {
            let threshold: Threshold = format!("{pattern}=5").parse().unwrap();
            assert_eq!(threshold.matches(key), matches, "{pattern} {key}");
        }
        for text in ["transfer.*.iops", "*=", "*=ten", "*=-100%", "=-10%", "*=-1e9%"] {
            assert!(text.parse::<Threshold>().unwrap_err().contains("transfer.*.iops=-10%"));
        }
    }

    #[test]
    fn only_what_is_shown_to_be_worse_fails() {
        let check = checked([0.5, 0.8, 0.95, 1.2], &["transfer.*.iops=-10%"]).unwrap();
        assert_eq!((keys(&check.failed), keys(&check.kept)), (vec![READS], vec![DEEP]));
        assert!(check.unchecked.is_empty() && !check.is_passed());
        let at_limit = checked([0.5, 0.9, 0.95, 1.2], &["transfer.*.iops=-10%"]).unwrap();
        assert_eq!(keys(&at_limit.undecided), [READS]);
        assert!(at_limit.is_passed());
    }

    #[test]
    fn longer_latency_is_worse_and_shorter_is_not() {
        for (factor, is_passed) in [(1.3, false), (0.5, true), (1.05, true)] {
            let check = checked([1.0, 1.0, 1.0, factor], &["*.lat_p99_us=-10%"]).unwrap();
            assert_eq!(check.is_passed(), is_passed, "{factor}: {check:?}");
        }
    }

    #[test]
    fn last_matching_threshold_counts() {
        let all = ["*=-10%", "*q32t1*=-60%"];
        let check = checked([1.0, 1.0, 0.5, 1.0], &all).unwrap();
        assert!(check.is_passed() && check.kept.len() == 4, "{check:?}");
        assert!(!checked([1.0, 1.0, 0.5, 1.0], &all[..1]).unwrap().is_passed());
    }

    #[test]
    fn missing_metric_is_neither_pass_nor_silent() {
        let none = checked([1.0; 4], &["*.iops=-10%", "transfer.*.write.iops=-10%"]).unwrap_err();
        assert!(none.contains("'transfer.*.write.iops'"), "{none}");
        let check = |change: &dyn Fn(&mut Run)| {
            let mut new = run([1.0; 4]);
            change(&mut new);
            let both = [run([1.0; 4]), new];
            let check = check_thresholds(&both, &["*.iops=-10%".parse().unwrap()]).unwrap();
            assert!(!check.is_passed() && check.failed.is_empty(), "{check:?}");
            check.unchecked[0].clone()
        };
        let absent = check(&|new| new.tests[0].metrics.retain(|metric| metric.key != READS));
        assert!(absent.starts_with(READS) && absent.contains("not measured"), "{absent}");
        let invalid = check(&|new| {
            let metric = new.tests[0].metrics.iter_mut().find(|it| it.key == READS).unwrap();
            (metric.valid, metric.invalid_because) = (false, vec![FindingId::PageCache]);
        });
        assert!(invalid.contains("invalid (F001)"), "{invalid}");
        let single = check(&|new| {
            new.tests[0].metrics.iter_mut().for_each(|metric| metric.rounds.truncate(1));
        });
        assert!(single.contains("--rounds"), "{single}");
    }

    /// Eight figures that are exactly as much worse as is allowed: each failure is a false one.
    #[test]
    fn figures_at_their_limit_fail_in_few_families() {
        let keys: Vec<String> =
            (0..8).map(|i| format!("transfer.rnd4k_q{i}t1.read.iops")).collect();
        let noisy = |level: f64, seed: u64| {
            let rounds = |i: u64| synthetic::rates(5, 0.05, 0.0, 8 * seed + i, |_| level);
            let all: Vec<(&str, Vec<f64>)> =
                keys.iter().zip(0..).map(|(key, i)| (key.as_str(), rounds(i))).collect();
            with_metrics(&all.iter().map(|(key, it)| (*key, &it[..])).collect::<Vec<_>>())
        };
        let thresholds: [Threshold; 1] = ["*.iops=-10%".parse().unwrap()];
        let has_failed = |family: &u64| {
            let runs = [noisy(100.0, 2 * family), noisy(90.0, 2 * family + 1)];
            !check_thresholds(&runs, &thresholds).unwrap().failed.is_empty()
        };
        let failed = (0..400).filter(has_failed).count();
        // 2.5 % of 400 are 10; 19 or more have a probability below 1 %.
        assert!(failed <= 18, "{failed} of 400");
    }

    #[test]
    fn worse_rows_and_rows_left_out_fail() {
        let worse = compare(&[run([1.0; 4]), run([0.5, 1.0, 1.0, 0.5])], 0.03, false);
        let check = check_worse(&worse);
        assert_eq!((keys(&check.failed), check.failed[0].required), (vec![RATE], None));
        let same = compare(&[run([1.0; 4]), run([1.0, 1.5, 1.0, 1.0])], 0.03, false);
        assert!(check_worse(&same).is_passed());
        let mut without = run([1.0; 4]);
        without.tests[0].metrics.retain(|metric| metric.key != RATE);
        let missing = check_worse(&compare(&[run([1.0; 4]), without], 0.03, false));
        assert!(!missing.is_passed() && missing.unchecked[0].starts_with("reads in order"));
    }
}
