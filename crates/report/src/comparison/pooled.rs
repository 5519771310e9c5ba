//! Percentiles of too few requests for one of each round: all rounds together are compared, by order statistics.

use super::MetricRatio;
use crate::latencies::histogram;
use drivescope_model::Run;
use drivescope_model::metrics::PERCENTILES;
use drivescope_stats::interval::quantile_ranks;
use drivescope_stats::ratio::RatioOutcome;

/// The interval of a percentile: a side is `None` where the requests do not bound it.
#[derive(Debug, Clone, Copy, PartialEq)]
struct PercentileBounds {
    low: Option<f64>,
    high: Option<f64>,
}

/// How many times as fast `other` is as `first` in a percentile; an end of the interval is 0 or infinite where it is
/// not known. `None` where `key` is no percentile or a run has no histogram of it, or nothing bounds the ratio.
pub(super) fn pooled_ratio(
    first: &Run,
    other: &Run,
    key: &str,
    risk: f64,
    band: f64,
) -> Option<MetricRatio> {
    fn share(of: Option<f64>, by: Option<f64>) -> Option<f64> {
        of.zip(by).map(|(of, by)| of / by)
    }
    // Each side takes half of the risk, so that both hold together.
    let (a, b) = (bounds(first, key, risk / 2.0)?, bounds(other, key, risk / 2.0)?);
    let low = share(a.low, b.high).unwrap_or(0.0);
    let high = share(a.high, b.low).unwrap_or(f64::INFINITY);
    let times = first.metric(key)?.value / other.metric(key)?.value;
    let outcome = match (low, high) {
        (low, high) if low > 1.0 / (1.0 + band) && high < 1.0 + band => RatioOutcome::WithinBand,
        (low, _) if low > 1.0 => RatioOutcome::Larger,
        (_, high) if high < 1.0 => RatioOutcome::Smaller,
        _ => RatioOutcome::NotShown,
    };
    let is_bounded = low > 0.0 || high.is_finite();
    is_bounded.then_some(MetricRatio { times, interval: Some((low, high)), outcome })
}

fn bounds(run: &Run, key: &str, risk: f64) -> Option<PercentileBounds> {
    let (cell, quantity) = key.rsplit_once('.')?;
    let percentile = PERCENTILES.iter().find(|percentile| percentile.key == quantity)?;
    let mut all = run.tests.iter().flat_map(|test| &test.distributions);
    let histogram = histogram(all.find(|distribution| distribution.key == cell)?)?;
    let count = histogram.len();
    let (low, high) = quantile_ranks(count, percentile.share, risk);
    // Nearest rank: the middle of a rank's share is free of rounding.
    let at = |rank: u64| histogram.value_at_quantile((rank as f64 - 0.5) / count as f64) as f64;
    Some(PercentileBounds { low: low.map(at), high: high.map(at) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::with_latencies;

    const KEY: &str = "transfer.rnd4k_q1t1.read.lat_p99_us";

    fn compared(first: &[u64], other: &[u64]) -> Option<MetricRatio> {
        let [first, other] = [first, other].map(|ns| with_latencies(KEY, ns));
        pooled_ratio(&first, &other, KEY, 0.05, 0.03)
    }

    #[test]
    fn few_slow_requests_are_told_from_many_fast_ones() {
        let disk: Vec<u64> = (0..160).map(|i| 9_000_000 + i * 100_000).collect();
        let ssd: Vec<u64> = (0..30_000).map(|i| 85_000 + i % 9_000).collect();
        let faster = compared(&disk, &ssd).unwrap();
        let (low, high) = faster.interval.unwrap();
        assert_eq!(faster.outcome, RatioOutcome::Larger);
        assert!(low > 200.0 && low < faster.times && high.is_infinite(), "{faster:?}");
        let slower = compared(&ssd, &disk).unwrap();
        assert_eq!((slower.outcome, slower.interval.unwrap().0), (RatioOutcome::Smaller, 0.0));
        assert_eq!(compared(&ssd, &ssd).unwrap().outcome, RatioOutcome::WithinBand);
        assert_eq!(compared(&disk, &disk), None, "neither is bounded above");
        assert_eq!(
            pooled_ratio(&with_latencies(KEY, &ssd), &with_latencies(KEY, &ssd), "a.b", 0.05, 0.03),
            None
        );
    }
}
