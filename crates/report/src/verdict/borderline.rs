//! Words for a value close to a threshold.

use crate::verdict::use_cases::Requirement;
use drivescope_model::Metric;
use drivescope_model::number::threshold as as_threshold;

/// `just above 80 MB/s, interval 79.0 to 85.0 MB/s`, if a threshold is within or near the interval of a metric.
pub(super) fn words(
    requirement: &Requirement,
    metric: &Metric,
    quantity: impl Fn(f64) -> String,
) -> Option<String> {
    if !requirement.is_borderline(metric) {
        return None;
    }
    let unit = requirement.criterion.unit();
    let distance = |threshold: &f64| (metric.value / threshold).ln().abs();
    let near =
        requirement.thresholds.into_iter().min_by(|a, b| distance(a).total_cmp(&distance(b)))?;
    let side = if metric.value < near { "below" } else { "above" };
    let mut words = format!("just {side} {}", as_threshold(near, unit));
    if metric.low < metric.high {
        words += &format!(", interval {} to {}", quantity(metric.low), quantity(metric.high));
    }
    Some(words)
}
