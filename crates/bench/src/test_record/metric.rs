//! A metric from the figures of rounds.

use super::CONFIDENCE;
use drivescope_model::document::Metric;
use drivescope_model::metrics::{OfRounds, quantity_of};
use drivescope_stats::{interval, summary};

/// The value of the rounds and its interval, as its quantity asks for.
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

/// The median and the ends of its interval.
fn median_of(rounds: &[f64], unit: &str) -> (f64, f64, f64) {
    let value = summary::median(rounds).unwrap_or(0.0);
    let interval = interval::median_interval(rounds, CONFIDENCE);
    // Rates and times of rounds above 0 have an interval above it; where one is 0, as a share may be, what lies below
    // nothing is no statement. Nor is a share above the whole.
    let most = if unit == "%" { 100.0 } else { f64::INFINITY };
    let (low, high) = interval.map_or((value, value), |i| (i.low.max(0.0), i.high.min(most)));
    (value, low, high)
}
