//! Metrics of rounds whose truth is known, and that rounds of any kind give metrics that can be.

use super::*;
use crate::io::cpu_usage::CpuUsage;
use crate::io::recorder::RateInterval;
use crate::testing::{SECOND, round, value};
use drivescope_model::cell::Mix;
use proptest::prelude::*;

const CELL: &str = "rnd4k_q1t1.read";

fn result_of(rounds: Vec<Round>) -> TestResult {
    let mut record = TestRecord::new(TestKind::Transfer);
    rounds.into_iter().for_each(|round| record.add(round));
    record.finish(3)
}

fn used(user_ns: u64, sys_ns: u64) -> Round {
    let mut round = round(CELL, 1_000, 4096, Mix::READ);
    round.measured.cpu_cost.usage =
        CpuUsage { cpu_ns: user_ns + sys_ns, user_ns, sys_ns, switches: 0 };
    round
}

fn find<'a>(result: &'a TestResult, quantity: &str) -> &'a Metric {
    let key = format!("transfer.{CELL}.{quantity}");
    result.metrics.iter().find(|metric| metric.key == key).unwrap()
}

#[test]
fn processor_time_adds_up_in_every_round() {
    // 3 ms each: the one tick of the second round fell into user mode.
    let result = result_of(vec![used(0, 3_000_000), used(3_000_000, 0), used(0, 3_000_000)]);
    let [user, sys] = ["cpu_user_ns_per_io", "cpu_sys_ns_per_io"].map(|q| find(&result, q));
    for (user, sys) in user.rounds.iter().zip(&sys.rounds) {
        assert!((user + sys - 3_000.0).abs() < 1e-9 && *user > 500.0 && *sys > 500.0);
    }
    assert!(user.low < 300.0 && user.high > 2_400.0, "{} to {}", user.low, user.high);
    assert!(user.low <= user.value && user.value <= user.high);
    assert!((0.0..100.0).contains(&result.phases[0].cpu_user_pct));
    assert!(result.phases[0].cpu_user_pct > 0.05, "of a round of 0.3 %");
}

#[test]
fn time_unknown_to_getrusage_counts_without_a_split() {
    fn unseen(cpu_ns: u64) -> Round {
        let mut round = used(0, 0);
        round.measured.cpu_cost.usage.cpu_ns = cpu_ns;
        round
    }
    let result = result_of(vec![unseen(1_000_000), unseen(3_000_000), unseen(2_000_000)]);
    let [user, sys] = ["cpu_user_ns_per_io", "cpu_sys_ns_per_io"].map(|q| find(&result, q));
    assert_eq!((user.value, sys.value), (1_000.0, 1_000.0));
    assert!(user.low < 100.0 && user.high > 1_900.0, "{} to {}", user.low, user.high);
}

#[test]
fn simulated_drive_reports_no_processor_time() {
    let result = result_of(vec![used(0, 0); 3]);
    assert!(result.metrics.iter().all(|metric| !metric.key.contains("cpu_")));
    assert!(value(&result, &format!("transfer.{CELL}.iops")).is_some());
}

#[test]
fn long_rounds_separate_the_modes() {
    let result = result_of(vec![used(SECOND / 10, SECOND * 7 / 10); 3]);
    let user = find(&result, "cpu_user_ns_per_io");
    assert!((user.value / 100_000.0 - 1.0).abs() < 0.05, "{}", user.value);
    assert!(user.low > 60_000.0 && user.high < 160_000.0, "{} to {}", user.low, user.high);
    assert_eq!(value(&result, &format!("transfer.{CELL}.iops")), Some(1_000.0));
}

#[test]
fn round_histograms_add_up_to_the_distribution() {
    use base64::{Engine as _, engine::general_purpose::STANDARD};
    fn decoded(text: &str) -> Histogram<u64> {
        let bytes = STANDARD.decode(text).unwrap();
        let mut reader = hdrhistogram::serialization::Deserializer::new();
        reader.deserialize::<u64, _>(&mut bytes.as_slice()).unwrap()
    }
    let result = result_of([100, 2_000, 30].map(|iops| round(CELL, iops, 4096, Mix::READ)).into());
    let rounds = result.phases.iter().map(|phase| decoded(phase.latencies.as_ref().unwrap()));
    let mut sum = hdrhistogram::Histogram::new(3).unwrap();
    rounds.for_each(|round| sum.add(round).unwrap());
    assert_eq!(sum, decoded(&result.distributions[0].data));
    assert_eq!(sum.len(), result.distributions[0].count);
    let silent = result_of(vec![round(CELL, 0, 4096, Mix::READ)]);
    assert_eq!(silent.phases[0].latencies, None);
}

#[test]
fn percentiles_beyond_all_requests_are_left_out() {
    fn of(iops: u64) -> Vec<String> {
        let few = round(CELL, iops, 4096, Mix::READ);
        let result = result_of(vec![few; 3]);
        let last = |metric: &Metric| metric.key.rsplit('.').next().unwrap().to_string();
        result.metrics.iter().map(last).filter(|q| q.starts_with("lat_p")).collect()
    }
    assert_eq!(of(33), ["lat_p50_us", "lat_p90_us"], "99 requests hold no 99th percentile");
    assert_eq!(of(34), ["lat_p50_us", "lat_p90_us", "lat_p99_us"]);
    assert_eq!(of(4_000).len(), 5);
}

/// Three of 2,000 requests were slow, in two of twenty rounds: the 99.9th percentile is theirs, and the median of
/// the rounds' largest latencies knows nothing of them.
#[test]
fn unsupported_percentile_pools_all_rounds() {
    let mut rounds = vec![round(CELL, 100, 4096, Mix::READ); 20];
    for (index, slow) in [(4, 2), (11, 1)] {
        let latencies = &mut rounds[index].measured.recorder.latencies;
        latencies.reset();
        latencies.record_n(SECOND / 100, 100 - slow).unwrap();
        latencies.record_n(SECOND, slow).unwrap();
    }
    let result = result_of(rounds);
    let [p90, p99, p999] =
        ["lat_p90_us", "lat_p99_us", "lat_p99_9_us"].map(|quantity| find(&result, quantity));
    assert!(!p90.pooled && p90.rounds.len() == 20, "ten of each round's 100 lie beyond it");
    assert!((p99.value / 1e4 - 1.0).abs() < 0.01 && p99.pooled, "one of 100 is too few");
    assert!((p999.value / 1e6 - 1.0).abs() < 0.01, "{p999:?}");
    assert_eq!((p999.rounds.len(), p999.pooled), (1, true), "without a spread: {p999:?}");
    let keys = result.metrics.iter().map(|metric| metric.key.rsplit('.').next().unwrap());
    let order: Vec<&str> =
        keys.filter(|key| key.starts_with("lat_p9") || *key == "lat_max_us").collect();
    assert_eq!(order, ["lat_p90_us", "lat_p99_us", "lat_p99_9_us", "lat_max_us"]);
}

/// A round in the drive's cache has most of all requests, and two others were slow.
#[test]
fn percentiles_of_all_rounds_are_no_smaller_than_those_of_rounds() {
    let rounds = [(2_000, 1_000_000), (30, 90_000_000), (40, 80_000_000)].map(|(count, ns)| {
        let mut round = round(CELL, count, 4096, Mix::READ);
        round.measured.recorder.latencies.reset();
        round.measured.recorder.latencies.record_n(ns, count).unwrap();
        round
    });
    let result = result_of(rounds.into());
    assert!((find(&result, "lat_p50_us").value / 8e4 - 1.0).abs() < 0.01);
    let keys: Vec<&str> = result.metrics.iter().map(|metric| metric.key.as_str()).collect();
    assert!(!keys.iter().any(|key| key.ends_with("lat_p90_us")), "1 ms: {keys:?}");
    assert!((find(&result, "lat_p99_us").value / 8e4 - 1.0).abs() < 0.2, "of the slow ones");
}

#[test]
fn requests_in_flight_never_exceed_those_sent() {
    let mut late = round(CELL, 100, 4096, Mix::READ);
    late.measured.recorder.latencies.record(3 * SECOND).unwrap();
    assert!(late.measured.depth_mean() > 1.5, "the case must be one");
    assert_eq!(result_of(vec![late]).phases[0].depth_mean, 1.0);
}

#[test]
fn few_rounds_raise_no_finding_before_the_end() {
    fn few(result: &TestResult) -> bool {
        result.findings.iter().any(|it| it.id == FindingId::FewRounds)
    }
    let mut record = TestRecord::new(TestKind::Transfer);
    record.add(round(CELL, 100, 4096, Mix::READ));
    assert!(!few(&record.so_far(CELL)));
    assert!(few(&record.finish(6)));
}

/// Two rounds that differ may be followed by four that do not.
#[test]
fn rounds_that_differ_raise_no_finding_before_the_end() {
    fn unstable(it: &TestResult) -> bool {
        it.findings.iter().any(|it| it.id == FindingId::Unstable)
    }
    let mut record = TestRecord::new(TestKind::Transfer);
    for requests in [10_000, 30_000] {
        record.add(round(CELL, requests, 4096, Mix::READ));
    }
    assert!(!unstable(&record.so_far(CELL)));
    assert!(unstable(&record.finish(2)));
}

#[test]
fn rounds_that_failures_ended_count_for_no_figure() {
    fn good() -> Round {
        round(CELL, 100, 4096, Mix::READ)
    }
    fn ended() -> Round {
        Round { is_cut_short: true, ..round(CELL, 900_000, 4096, Mix::READ) }
    }
    let result = result_of(vec![good(), good(), ended()]);
    assert_eq!(find(&result, "iops").rounds.len(), 2);
    assert_eq!(result.phases.len(), 3);
    assert!(result_of(vec![ended()]).metrics.is_empty());
}

#[test]
fn finding_shows_worst_cell_and_keeps_all() {
    let mut record = TestRecord::new(TestKind::Transfer);
    for (cell, rates) in [("rnd4k_q1t1.read", [40, 60, 50]), ("rnd4k_q1t1.write", [40, 90, 50])] {
        for iops in rates {
            record.add(round(cell, iops, 4096, Mix::READ));
        }
    }
    let result = record.finish(3);
    let [finding] = result.findings.as_slice() else { panic!("{:?}", result.findings) };
    assert_eq!(finding.id, FindingId::Unstable);
    assert_eq!(finding.evidence, "rnd4k_q1t1.write: rounds range from 40.0 to 90.0 requests/s");
    assert_eq!(finding.observations.len(), 2);
    assert_eq!(finding.metrics.len(), 2);
}

#[test]
fn steady_fall_over_rounds_is_reported_with_pace() {
    fn found(rates: [u64; 3], errors_on: bool) -> Vec<Finding> {
        let rounds = rates.map(|iops| {
            let mut round = round(CELL, iops, 4096, Mix::READ);
            if errors_on {
                // A rate that wavers within each round by more than it falls.
                let waver = |(i, interval): (usize, &mut RateInterval)| {
                    interval.bytes = interval.bytes * if i % 10 < 5 { 1 } else { 19 } / 10;
                };
                round.measured.recorder.intervals.iter_mut().enumerate().for_each(waver);
            }
            round
        });
        result_of(rounds.to_vec()).findings
    }
    let findings = found([678, 612, 533], false);
    let [finding] = findings.as_slice() else { panic!("{findings:?}") };
    assert_eq!(finding.id, FindingId::Unstable);
    let evidence =
        "rnd4k_q1t1.read: falls 11 % a round, from 678 to 533 requests/s: longer rounds are needed";
    assert_eq!(finding.evidence, evidence);
    for other in [[678, 533, 612], [533, 612, 678], [620, 612, 605]] {
        assert_eq!(found(other, false), [], "{other:?}");
    }
    assert_eq!(found([678, 612, 533], true), []);
}

#[test]
fn worst_round_of_a_cell_is_reported() {
    fn seen(weight: f64) -> Finding {
        Finding::new(FindingId::CpuBound, format!("{weight}")).about("transfer.a").weighing(weight)
    }
    let mut record = TestRecord::new(TestKind::Transfer);
    record.notice(seen(0.9));
    record.notice(seen(0.99));
    record.notice(seen(0.95));
    let findings = record.finish(3).findings;
    assert_eq!((findings[0].evidence.as_str(), findings[0].count()), ("0.99", 1));
}

#[test]
fn share_interval_stays_between_0_and_1() {
    fn share(rounds: &[f64]) -> Metric {
        metric("tiny-writes.x.cache_share_pct".into(), rounds.to_vec())
    }
    let near_the_whole = share(&[99.6, 97.0, 99.9]);
    assert_eq!(near_the_whole.high, 100.0);
    assert!(near_the_whole.low > 0.0);
    assert_eq!(share(&[0.1, 3.0, 0.0]).low, 0.0);
    let rate = metric("tiny-writes.x.iops".into(), vec![99.6, 97.0, 99.9]);
    assert!(rate.high > 100.0, "only shares have a whole");
}

#[test]
fn extremes_cover_all_rounds() {
    fn of(key: &str) -> (f64, f64, f64) {
        let found = metric(key.into(), vec![20.0, 900.0, 10.0]);
        (found.value, found.low, found.high)
    }
    assert_eq!(of("transfer.rnd4k_q1t1.read.lat_max_us"), (900.0, 10.0, 900.0));
    assert_eq!(of("surface.read.min_mb_s"), (10.0, 10.0, 900.0));
    assert_eq!(of("transfer.rnd4k_q1t1.read.lat_p99_us").0, 20.0, "one round is no typical one");
}

proptest! {
    #[test]
    fn no_rounds_give_a_metric_that_cannot_be(
        values in prop::collection::vec(0.0..1e12f64, 1..9),
        (value, low, high) in (0.0..9.0f64, -9.0..9.0f64, -9.0..9.0f64),
        ticks in prop::collection::vec((0..9u64, 0..9u64, 1..90_000_000u64), 3..5),
    ) {
        let mut record = TestRecord::new(TestKind::Transfer);
        record.metric("a.iops", values);
        record.estimate("a.penalty_ratio", value, low, high);
        for (user, sys, cpu_ns) in ticks {
            let mut round = used(user * 4_000_000, sys * 4_000_000);
            round.measured.cpu_cost.usage.cpu_ns = cpu_ns;
            record.add(round);
        }
        for metric in record.finish(3).metrics {
            prop_assert_eq!(metric.impossible(), None, "{:?}", metric);
            prop_assert!(metric.low >= 0.0, "{:?}", metric);
        }
    }
}
