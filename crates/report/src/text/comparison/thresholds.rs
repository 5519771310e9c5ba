//! What the thresholds of a comparison found: the figures that failed, and what could not be checked.

use crate::comparison::{CheckedMetric, ThresholdCheck};
use crate::terminal::{Paragraph, Role, Style};
use drivescope_model::number::{latency_us, rounded};

pub fn thresholds(check: &ThresholdCheck, style: Style) -> String {
    let line = |role, text: String| Paragraph::new().text(role, text).lines(2, style);
    let failed = check.failed.iter().map(|it| line(Role::Bad, sentence(it)));
    let unchecked = check.unchecked.iter().map(|it| line(Role::Bad, format!("not checked: {it}")));
    let summary = line(Role::Title, summary(check));
    failed.chain(unchecked).chain([summary]).collect()
}

/// `FAILED transfer.rnd4k_q1t1.read.iops of B: 78.1/s against 100/s, 0.781 times as fast (0.760 to 0.802); 0.9 or more
/// is required.`
fn sentence(metric: &CheckedMetric) -> String {
    let CheckedMetric { key, run, unit, first, value, times, low, high, required } = metric;
    let [value, first] = [value, first].map(|it| with_unit(*it, unit));
    let interval = match (low, high) {
        (Some(low), Some(high)) => format!(" ({} to {})", rounded(*low), rounded(*high)),
        (None, Some(high)) => format!(" (at most {})", rounded(*high)),
        _ => String::new(),
    };
    let times = rounded(*times);
    let limit = required.map(|it| format!("; {} or more is required", rounded(it)));
    format!(
        "FAILED {key} of {run}: {value} against {first}, {times} times as fast{interval}{}.",
        limit.unwrap_or_default()
    )
}

fn with_unit(value: f64, unit: &str) -> String {
    match unit {
        "us" => latency_us(value),
        "1/s" => format!("{}/s", rounded(value)),
        unit => format!("{} {unit}", rounded(value)),
    }
}

/// `Thresholds: 1 of 6 figures failed; 4 kept, 1 undecided (no interval excludes the limit).`
fn summary(check: &ThresholdCheck) -> String {
    let ThresholdCheck { failed, undecided, kept, unchecked } = check;
    let all = failed.len() + undecided.len() + kept.len();
    let mut text =
        format!("Thresholds: {} of {all} figures failed; {} kept", failed.len(), kept.len());
    if !undecided.is_empty() {
        text += &format!(", {} undecided (no interval excludes the limit)", undecided.len());
    }
    if !unchecked.is_empty() {
        text += &format!(", {} not checked", unchecked.len());
    }
    text + "."
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{must_fit, must_have, one_line};

    #[test]
    fn failure_names_figures_and_limit() {
        let metric = CheckedMetric {
            key: "transfer.rnd4k_q1t1.read.lat_p99_us".to_string(),
            run: "B".to_string(),
            unit: "us".to_string(),
            first: 9_000.0,
            value: 12_000.0,
            times: 0.75,
            low: None,
            high: Some(0.8),
            required: Some(0.9),
        };
        let check = ThresholdCheck {
            failed: vec![metric.clone()],
            undecided: vec![metric],
            kept: Vec::new(),
            unchecked: vec!["transfer.a.read.iops: B: not measured.".to_string()],
        };
        let text = thresholds(&check, Style::PLAIN);
        must_fit(&text);
        let parts = [
            "FAILED transfer.rnd4k_q1t1.read.lat_p99_us of B: 12.0 ms against 9.00 ms, 0.750 times as fast (at most \
             0.800); 0.900 or more is required.",
            "not checked: transfer.a.read.iops: B: not measured.",
            "Thresholds: 1 of 2 figures failed; 0 kept, 1 undecided",
        ];
        must_have(&one_line(&text), &parts);
    }
}
