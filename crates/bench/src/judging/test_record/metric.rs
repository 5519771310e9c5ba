//! A metric from the figures of rounds.

use super::CONFIDENCE;
use crate::judging::round::Round;
use drivescope_model::document::Metric;
use drivescope_model::metrics::{OfRounds, PERCENTILES, quantity_of};
use drivescope_stats::{interval, summary};
use hdrhistogram::Histogram;

/// Ten normal numbers range over more standard deviations than this once in fifty times.
const RANGE_BY_CHANCE: f64 = 5.0;

/// The value of the rounds and its interval, by its quantity's rule.
pub(super) fn metric(key: String, rounds: Vec<f64>) -> Metric {
    let quantity = quantity_of(&key);
    debug_assert!(quantity.is_some(), "{key} has no documented quantity");
    let unit = quantity.map_or("", |q| q.unit).to_string();
    let (value, low, high) = match quantity.map_or(OfRounds::Median, |q| q.of_rounds) {
        OfRounds::Median => median_of(&rounds, &unit),
        extreme => {
            let ends = summary::min(&rounds).zip(summary::max(&rounds));
            let (low, high) = ends.unwrap_or_default();
            (if extreme == OfRounds::Smallest { low } else { high }, low, high)
        }
    };
    Metric {
        key,
        value,
        unit,
        low,
        high,
        rounds,
        pooled: false,
        valid: true,
        invalid_because: Vec::new(),
    }
}

fn median_of(rounds: &[f64], unit: &str) -> (f64, f64, f64) {
    let value = summary::median(rounds).unwrap_or(0.0);
    let interval = interval::median_interval(rounds, CONFIDENCE);
    // Rates and times of rounds above 0 have an interval above it; where one is 0, as a share may be, what lies below
    // nothing is not a statement. Nor is a share above the whole.
    let most = if unit == "%" { 100.0 } else { f64::INFINITY };
    let (low, high) = interval.map_or((value, value), |i| (i.low.max(0.0), i.high.min(most)));
    (value, low, high)
}

/// Percentiles that all rounds together support and no single one does: the median of rounds would be of their
/// largest latencies, which lie lower the more and the shorter the rounds are. None below `least_us`, a smaller
/// percentile of the rounds: there one fast round outweighs the others by its requests.
pub(super) fn of_all_rounds(
    latencies: &Histogram<u64>,
    fewest: u64,
    least_us: f64,
) -> impl Iterator<Item = (&'static str, f64)> {
    let all = latencies.len();
    let held_by_all = PERCENTILES.iter().filter(move |percentile| {
        fewest < percentile.round_requests_min() && percentile.requests_min <= all
    });
    let all = held_by_all.map(|percentile| {
        (percentile.key, latencies.value_at_quantile(percentile.share) as f64 / 1e3)
    });
    all.filter(move |(_, us)| *us >= least_us)
}

/// How far the rates of rounds like this one differ by chance, as a share: a rate of n requests has the spread of
/// their latencies over √n.
pub(super) fn chance(round: &Round) -> f64 {
    let latencies = &round.measured.recorder.latencies;
    let spread = latencies.stdev() / latencies.mean().max(1.0);
    RANGE_BY_CHANCE * spread / (latencies.len().max(1) as f64).sqrt()
}
