//! One drive over all its runs: what got better or worse, since when, and how sure that is.

pub(crate) mod charts;

use crate::comparison::{COMPARED, options_of};
use crate::first_seen::distinct_by;
use crate::workloads::{evidence, usable};
use drivescope_model::metrics::quantity_of;
use drivescope_model::{Metric, Run, TestKind};
use drivescope_stats::ratio::ratio;
use drivescope_stats::shift::shifts;
use drivescope_stats::trend::{least_squares, theil_sen_interval};
use serde::Serialize;

/// Risk of a false change in any row at one look. A drive is looked at again and again: of 20 runs with a look after
/// each, one healthy drive in twenty shows a change at some time (tests below; at 5 % a look, one in five).
const RISK: f64 = 0.01;
/// Printed intervals have 95 %.
const INTERVAL_RISK: f64 = 0.05;
/// A smaller change makes no difference in practice, however sure it is.
const CHANGE_MIN: f64 = 0.05;
/// The fewest runs that can show a change.
pub const RUNS_MIN: usize = drivescope_stats::shift::VALUES_MIN;

/// A drive's runs, oldest first.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct DriveHistory {
    pub drive: String,
    pub capacity_bytes: Option<u64>,
    pub simulated: bool,
    pub runs: Vec<HistoryRun>,
    pub left_out: Vec<(String, String)>,
    pub rows: Vec<MetricHistory>,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct HistoryRun {
    pub id: String,
    /// When it began, RFC 3339.
    pub started_at: String,
    pub suite: String,
    pub label: Option<String>,
    /// `drivescope 0.1.0`.
    pub program: String,
    /// Changes since the run before: firmware, health, machine, program.
    pub news: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct MetricHistory {
    pub what: &'static str,
    pub key: String,
    pub unit: String,
    pub values: Vec<HistoryValue>,
    pub change: Option<MetricChange>,
}

#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct HistoryValue {
    /// Index in [`DriveHistory::runs`].
    pub run: usize,
    pub value: f64,
    /// 95 % interval within the run.
    pub low: f64,
    pub high: f64,
}

#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct MetricChange {
    /// Index of the first run after the change.
    pub since: usize,
    /// Speed ratio since then: below 1 is worse, for latencies too.
    pub times: f64,
    /// 95 % interval of `times`.
    pub interval: (f64, f64),
    /// Of a gradual change: speed ratio per month, with its interval.
    pub per_month: Option<(f64, f64, f64)>,
}

/// Changes between the runs of a drive, in the order of the store, oldest first: not all dates are right. Runs with
/// other options than the newest are left out; `drive` is the drive's name.
pub fn history(runs: Vec<Run>, drive: String) -> DriveHistory {
    let newest = runs.last().cloned();
    let (mut kept, mut left_out) = (Vec::new(), Vec::new());
    for run in runs {
        match newest.as_ref().and_then(|newest| difference(&run, newest)) {
            Some(why) => left_out.push((run.id.clone(), why)),
            None => kept.push(run),
        }
    }
    let mut rows = rows(&kept);
    judge(&mut rows, &kept);
    DriveHistory {
        drive,
        capacity_bytes: kept.last().and_then(|run| Some(run.drive.as_ref()?.capacity_bytes)),
        simulated: kept.last().is_some_and(|run| run.simulated),
        runs: (0..kept.len()).map(|i| history_run(&kept, i)).collect(),
        left_out,
        rows,
    }
}

/// An instant, since texts may have different time zones.
fn started(run: &Run) -> Option<jiff::Timestamp> {
    run.started_at.parse().ok()
}

/// Why a run cannot be compared with the newest; `None` if it can.
fn difference(run: &Run, newest: &Run) -> Option<String> {
    if run.tests.is_empty() {
        return Some("no results".to_string());
    }
    if run.simulated != newest.simulated {
        return Some("simulated and real".to_string());
    }
    let differs = |test: &TestKind| {
        let options = options_of(run, *test).zip(options_of(newest, *test));
        options.is_some_and(|(a, b)| a != b)
    };
    let differing: Vec<&str> =
        TestKind::ALL.iter().filter(|test| differs(test)).map(|test| test.name()).collect();
    (!differing.is_empty()).then(|| format!("other options of {}", differing.join(", ")))
}

/// For each property the metric that most runs have.
fn rows(runs: &[Run]) -> Vec<MetricHistory> {
    let values = |key: &str| -> Vec<HistoryValue> {
        let value = |(run, document)| {
            let Metric { value, low, high, .. } = *usable(document, key)?;
            Some(HistoryValue { run, value, low, high })
        };
        runs.iter().enumerate().filter_map(value).collect()
    };
    let row = |(criterion, what)| {
        let found = evidence(criterion).map(|(_, evidence)| (evidence.key, values(evidence.key)));
        // Of keys that as many have, the first counts.
        let fullest = |a: (_, Vec<_>), b: (_, Vec<_>)| if b.1.len() > a.1.len() { b } else { a };
        let (key, values) = found.reduce(fullest)?;
        let unit = usable(&runs[values.first()?.run], key)?.unit.clone();
        let is_row = values.len() >= 2;
        is_row.then(|| MetricHistory { what, key: key.to_string(), unit, values, change: None })
    };
    // As in comparisons, a metric that stands for two properties has one row.
    distinct_by(COMPARED.into_iter().filter_map(row), |one, other| one.key == other.key)
}

/// Sets the changes that are shown, all rows being one family: improbable by chance, an interval without 1, and large
/// enough to matter.
fn judge(rows: &mut [MetricHistory], runs: &[Run]) {
    let series = |row: &MetricHistory| {
        let mut logs = vec![None; runs.len()];
        row.values.iter().for_each(|it| logs[it.run] = Some(it.value.ln()));
        logs
    };
    let found = shifts(&rows.iter().map(series).collect::<Vec<_>>());
    for (row, shift) in rows.iter_mut().zip(found) {
        let shown = shift.filter(|shift| shift.p_value <= RISK);
        row.change = shown.and_then(|shift| change(row, shift.at, runs));
    }
}

/// Size of the change that begins with the value at `at`; `None` if it is not shown.
fn change(row: &MetricHistory, at: usize, runs: &[Run]) -> Option<MetricChange> {
    let is_turned = quantity_of(&row.key).is_some_and(|quantity| quantity.smaller_is_better);
    let values: Vec<f64> =
        row.values.iter().map(|it| if is_turned { 1.0 / it.value } else { it.value }).collect();
    let (before, after) = values.split_at(at);
    let found = ratio(before, after)?;
    let interval = found.interval(INTERVAL_RISK);
    let is_shown = !interval.contains(1.0) && found.value.ln().abs() >= (1.0 + CHANGE_MIN).ln();
    is_shown.then(|| MetricChange {
        since: row.values[at].run,
        times: found.value,
        interval: (interval.low, interval.high),
        per_month: per_month(row, &values, at, runs),
    })
}

/// A shorter history does not give a monthly rate.
const MONTHS_MIN: f64 = 0.1;

/// The monthly rate, if a line through the logarithms leaves less unexplained than a step.
fn per_month(
    row: &MetricHistory,
    values: &[f64],
    at: usize,
    runs: &[Run],
) -> Option<(f64, f64, f64)> {
    const MONTH_US: f64 = 365.25 / 12.0 * 86_400e6;
    let months: Option<Vec<f64>> = row
        .values
        .iter()
        .map(|it| Some(started(&runs[it.run])?.as_microsecond() as f64 / MONTH_US))
        .collect();
    let (x, y) = (months?, values.iter().map(|v| v.ln()).collect::<Vec<f64>>());
    if !x.is_sorted() || x.last()? - x.first()? < MONTHS_MIN {
        return None;
    }
    let line = least_squares(&x, &y)?;
    let of_line = x.iter().zip(&y).map(|(x, y)| (y - line.intercept - line.slope * x).powi(2));
    let of_step = |part: &[f64]| -> f64 {
        let mean = part.iter().sum::<f64>() / part.len() as f64;
        part.iter().map(|v| (v - mean).powi(2)).sum()
    };
    let is_steady = of_line.sum::<f64>() < of_step(&y[..at]) + of_step(&y[at..]);
    let interval = theil_sen_interval(&x, &y).filter(|it| is_steady && !it.contains(0.0))?;
    Some((line.slope.exp(), interval.low.exp(), interval.high.exp()))
}

const FACTS: [Fact; 6] = [
    ("clock", |run| Some(if run.is_clock_set() { "set" } else { "not set" }.to_string())),
    ("firmware", |run| run.drive.as_ref()?.firmware.clone()),
    ("SMART", |run| {
        let is_passed = run.drive.as_ref()?.health.passed?;
        Some(if is_passed { "passed" } else { "FAILED" }.to_string())
    }),
    ("bad sectors", |run| Some(run.drive.as_ref()?.health.bad_sectors?.to_string())),
    ("machine", |run| Some(run.host.name.clone())),
    ("drivescope", |run| Some(run.tool.version.clone())),
];

/// What charts mark: it most likely explains a change.
const MARKED: [&str; 2] = ["firmware ", "machine "];

impl HistoryRun {
    /// The firmware or machine that is new since the run before.
    pub(crate) fn marked_news(&self) -> impl Iterator<Item = &String> {
        self.news.iter().filter(|it| MARKED.iter().any(|what| it.starts_with(what)))
    }
}

type Fact = (&'static str, fn(&Run) -> Option<String>);

fn history_run(runs: &[Run], i: usize) -> HistoryRun {
    let run = &runs[i];
    let before = i.checked_sub(1).map(|before| &runs[before]);
    let news = FACTS.iter().filter_map(|(what, of)| {
        let now = of(run)?;
        let is_news = match before {
            Some(before) => of(before).as_ref() != Some(&now),
            // Of the first run, only what most likely explains a later change, and why its date is wrong.
            None => *what == "firmware" || (*what == "clock" && !run.is_clock_set()),
        };
        is_news.then(|| format!("{what} {now}"))
    });
    HistoryRun {
        id: run.id.clone(),
        started_at: run.started_at.clone(),
        suite: run.plan.suite.name.clone(),
        label: run.label.clone(),
        program: format!("{} {}", run.tool.name, run.tool.version),
        news: news.collect(),
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::testing::with_metrics;

    const RATE: &str = "transfer.seq1m_q1t1.read.mb_s";
    const SLOW: &str = "transfer.rnd4k_q1t1.read.lat_p99_us";

    /// Weekly runs; `values`: rate and 99th percentile of each.
    pub(crate) fn weekly(values: &[(f64, f64)]) -> Vec<Run> {
        let run = |(week, (rate, slow)): (usize, &(f64, f64))| {
            let mut run = with_metrics(&[(RATE, &[*rate]), (SLOW, &[*slow])]);
            let start: jiff::Timestamp = "2026-01-05T10:00:00Z".parse().unwrap();
            let after = jiff::SignedDuration::from_hours(7 * 24 * week as i64);
            run.started_at = (start + after).to_string();
            run.id = format!("{week:012x}");
            run
        };
        values.iter().enumerate().map(run).collect()
    }

    fn wave(i: usize) -> f64 {
        1.0 + 0.004 * ((i * 7 % 5) as f64 - 2.0)
    }

    fn changes(runs: Vec<Run>) -> Vec<Option<MetricChange>> {
        history(runs, "d".into()).rows.into_iter().map(|row| row.change).collect()
    }

    #[test]
    fn drive_that_keeps_its_speed_shows_no_change() {
        let values: Vec<(f64, f64)> =
            (0..12).map(|i| (100.0 * wave(i), 900.0 * wave(i + 1))).collect();
        assert_eq!(changes(weekly(&values)), [None, None]);
    }

    #[test]
    fn step_names_its_run_and_latency_is_inverted() {
        let level = |i: usize| if i < 6 { 1.0 } else { 0.9 };
        let values: Vec<(f64, f64)> =
            (0..12).map(|i| (100.0 * wave(i), 900.0 * wave(i + 1) / level(i))).collect();
        let found = changes(weekly(&values));
        let slow = found[1].unwrap();
        assert_eq!((found[0], slow.since, slow.per_month), (None, 6, None));
        assert!((slow.times - 0.9).abs() < 0.01, "{slow:?}");
        let (low, high) = slow.interval;
        assert!(low < 0.9 && 0.9 < high && high < 0.95, "{slow:?}");
    }

    #[test]
    fn slow_decline_is_shown_per_month() {
        let values: Vec<(f64, f64)> = (0..20)
            .map(|i| (100.0 * 0.99f64.powi(i as i32) * wave(i), 900.0 * wave(i + 1)))
            .collect();
        let (month, low, high) = changes(weekly(&values))[0].unwrap().per_month.unwrap();
        assert!((month - 0.99f64.powf(365.25 / 84.0)).abs() < 0.003, "{month}");
        assert!(low < month && month < high, "{low} {high}");
    }

    /// Seventeen equal runs, then three that scatter: their mean is 6 % lower, and may as well be higher.
    #[test]
    fn interval_containing_1_is_not_a_change() {
        let after = [88.0, 95.0, 99.0];
        let values: Vec<(f64, f64)> = (0..17)
            .map(|i| (100.0 * wave(i), 900.0 * wave(i + 1)))
            .chain(after.map(|rate| (rate, 900.0)))
            .collect();
        assert_eq!(changes(weekly(&values)), [None, None]);
        let closer: Vec<(f64, f64)> = values[..17]
            .iter()
            .copied()
            .chain([(92.0, 900.0), (93.0, 900.0), (94.0, 900.0)])
            .collect();
        assert!(changes(weekly(&closer))[0].is_some());
    }

    #[test]
    fn a_change_that_makes_no_difference_is_none() {
        let level = |i: usize| if i < 10 { 1.0 } else { 0.97 };
        let values: Vec<(f64, f64)> =
            (0..20).map(|i| (100.0 * wave(i) * level(i), 900.0 * wave(i + 1))).collect();
        assert_eq!(changes(weekly(&values)), [None, None]);
    }

    /// A drive that picks one of two levels at each run.
    #[test]
    fn few_runs_at_two_levels_show_nothing() {
        for (rates, words) in [
            (&[100.0, 100.5, 70.0, 70.3][..], "4 comparable runs; a trend needs 10."),
            (&[100.0, 101.0, 100.4, 100.2, 70.0, 71.0], "6 comparable runs; a trend needs 10."),
        ] {
            let values: Vec<(f64, f64)> = rates.iter().map(|rate| (*rate, 900.0)).collect();
            let seen = history(weekly(&values), "d".into());
            assert!(seen.rows.iter().all(|row| row.change.is_none()), "{seen:?}");
            let sentences = crate::text::history_sentences(&seen);
            assert!(sentences[0].starts_with(words) && sentences.len() == 1, "{sentences:?}");
        }
    }

    /// Runs of a healthy drive with one kind of noise: 1, 5 or 15 %, or two levels 30 % apart.
    fn healthy(law: usize, seed: u64, runs: usize) -> Vec<(f64, f64)> {
        let picks =
            |i: usize| (seed * 977 + i as u64 + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 40;
        let level = |i: usize| if law == 3 && picks(i) % 10 < 3 { 70.0 } else { 100.0 };
        let cv = [0.01, 0.05, 0.15, 0.01][law];
        let series = |seed, shift: usize| {
            drivescope_stats::synthetic::rates(runs, cv, 0.0, seed, |i| level(i + shift))
        };
        series(2 * seed, 0).into_iter().zip(series(2 * seed + 1, runs)).collect()
    }

    fn is_alarm(values: &[(f64, f64)]) -> bool {
        changes(weekly(values)).iter().any(Option::is_some)
    }

    #[test]
    fn healthy_drives_alarm_at_one_percent_of_looks() {
        let drives = (0..4).flat_map(|law| (0..25).map(move |seed| healthy(law, seed, 12)));
        let alarms = drives.filter(|values| is_alarm(values)).count();
        // 1 % of 100 is 1; 5 or more have a probability of 0.3 %.
        assert!(alarms <= 4, "{alarms} of 100");
    }

    #[test]
    #[ignore = "takes minutes of computing: CI and the soak"]
    fn healthy_drives_alarm_in_5_percent_of_histories() {
        let drives = (0..4).flat_map(|law| (0..40).map(move |seed| healthy(law, 100 + seed, 20)));
        let alarms =
            drives.filter(|values| (RUNS_MIN..=20).any(|runs| is_alarm(&values[..runs]))).count();
        // 5 % of 160 are 8; 16 or more have a probability below 1 %.
        assert!(alarms <= 15, "{alarms} of 160");
    }

    #[test]
    fn runs_of_one_day_show_id_and_time() {
        let level = |i: usize| if i < 6 { 1.0 } else { 0.8 };
        let values: Vec<(f64, f64)> =
            (0..12).map(|i| (100.0 * wave(i) * level(i), 900.0 * wave(i + 1))).collect();
        let mut runs = weekly(&values);
        for (i, run) in runs.iter_mut().enumerate() {
            run.started_at = format!("2026-01-05T{:02}:15:00Z", 8 + i);
            run.id = format!("{i:04x}00000000");
        }
        let seen = history(runs, "d".into());
        let sentence = crate::text::history_sentences(&seen).remove(0);
        let (by, rest) = sentence.split_once(" since ").unwrap();
        assert_eq!(by, "Reads in order: 20 % slower");
        assert!(rest.starts_with("run 0006, 5 January 14:15 (95 %: "), "{sentence}");
        let shown = crate::text::history(&seen, crate::terminal::Style::PLAIN);
        assert!(shown.contains("12 runs, 5 January 2026, 08:15 to 19:15"), "{shown}");
    }

    #[test]
    fn incomparable_runs_are_left_out_and_news_shown() {
        let mut runs = weekly(&[(100.0, 900.0); 4]);
        runs[1].plan.suite.transfer.time = drivescope_model::Secs(9.0);
        runs[2].tests.clear();
        runs[3].drive.as_mut().unwrap().firmware = Some("NEW1".to_string());
        let seen = history(runs, "d".into());
        assert_eq!(seen.runs.len(), 2);
        assert_eq!(seen.left_out[0].1, "other options of transfer");
        assert_eq!(seen.left_out[1].1, "no results");
        assert_eq!(seen.runs[1].news, ["firmware NEW1"]);
        let values: Vec<(usize, f64)> =
            seen.rows[0].values.iter().map(|it| (it.run, it.value)).collect();
        assert_eq!(values, [(0, 100.0), (1, 100.0)]);
    }
}
