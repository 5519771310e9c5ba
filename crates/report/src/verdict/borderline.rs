//! Words for a value close to a threshold.

use crate::verdict::use_cases::{Requirement, USE_CASES};
use drivescope_model::document::Verdict;
use drivescope_model::number::{latency_us, rounded, threshold as as_threshold};
use drivescope_model::{Metric, Run};

/// A threshold within or near the interval of a metric.
pub(super) struct NearThreshold {
    pub(super) threshold: f64,
    /// `just above`.
    pub(super) side: &'static str,
    /// `interval 79.0 MB/s to 85.0 MB/s`.
    pub(super) interval: String,
}

pub(super) fn near_threshold(requirement: &Requirement, metric: &Metric) -> Option<NearThreshold> {
    if !requirement.is_borderline(metric) {
        return None;
    }
    let unit = requirement.criterion.unit();
    let distance = |threshold: &f64| (metric.value / threshold).ln().abs();
    let nearest =
        requirement.thresholds.into_iter().min_by(|a, b| distance(a).total_cmp(&distance(b)))?;
    let interval = if metric.low < metric.high {
        format!("interval {} to {}", quantity(metric.low, unit), quantity(metric.high, unit))
    } else {
        "no interval".to_string()
    };
    let side = if metric.value < nearest { "just below" } else { "just above" };
    Some(NearThreshold { threshold: nearest, side, interval })
}

/// `just above 80 MB/s, interval 79.0 MB/s to 85.0 MB/s`.
pub(super) fn words(requirement: &Requirement, metric: &Metric) -> Option<String> {
    let NearThreshold { threshold, side, interval } = near_threshold(requirement, metric)?;
    let threshold = as_threshold(threshold, requirement.criterion.unit());
    Some(format!("{side} {threshold}, {interval}"))
}

/// The value that may give a use other points next time: `reads at its end at 84.0 MB/s, just above 80 MB/s, …`.
pub(super) fn of_verdict(verdict: &Verdict, run: &Run) -> Option<String> {
    let use_case = USE_CASES.iter().find(|use_case| use_case.name == verdict.suits)?;
    let near =
        verdict.rules.iter().filter(|rule| rule.borderline).min_by_key(|rule| rule.points)?;
    let requirement = use_case.requirements.iter().find(|it| it.criterion.name() == near.what)?;
    let words = words(requirement, run.metric(&near.metric)?)?;
    let value = quantity(near.value, requirement.criterion.unit());
    Some(format!("{}, {words}", requirement.criterion.phrase().replace("{}", &value)))
}

/// A value in a sentence; rates per second are counted in the sentence itself.
pub(super) fn quantity(value: f64, unit: &str) -> String {
    match unit {
        "us" => latency_us(value),
        "1/s" => rounded(value),
        unit => format!("{} {unit}", rounded(value)),
    }
}
