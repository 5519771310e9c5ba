//! A comparison for programs: one versioned JSON document. docs/ci.md describes it.

use super::{RunComparison, ThresholdCheck, known_ends};
use drivescope_model::metrics::quantity_of;
use drivescope_stats::ratio::RatioOutcome;
use serde::Serialize;

/// Readers refuse a larger one; fields may be added without a new version.
const COMPARISON_FORMAT: u32 = 1;

/// What `compare --json` prints.
#[derive(Debug, Serialize)]
pub struct ComparisonDocument<'c> {
    comparison_format: u32,
    runs: Vec<ComparedRun<'c>>,
    band: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    interleaved_rounds: Option<usize>,
    rows: Vec<ComparedRow<'c>>,
    left_out: &'c [String],
    differences: &'c [String],
    #[serde(skip_serializing_if = "Option::is_none")]
    thresholds: Option<&'c ThresholdCheck>,
}

#[derive(Debug, Serialize)]
struct ComparedRun<'c> {
    name: &'c str,
    simulated: bool,
}

#[derive(Debug, Serialize)]
struct ComparedRow<'c> {
    what: &'c str,
    key: &'c str,
    unit: &'c str,
    smaller_is_better: bool,
    /// One for each run.
    values: &'c [f64],
    /// One for each run but the first.
    against_first: Vec<RowRatio>,
}

#[derive(Debug, Serialize)]
struct RowRatio {
    times: f64,
    low: Option<f64>,
    high: Option<f64>,
    outcome: &'static str,
}

/// `thresholds`: what `--fail-on` and `--fail-below` found.
pub fn comparison_document<'c>(
    comparison: &'c RunComparison,
    thresholds: Option<&'c ThresholdCheck>,
) -> ComparisonDocument<'c> {
    let runs = comparison.names.iter().zip(&comparison.simulated);
    let rows = comparison.rows.iter().map(|row| ComparedRow {
        what: &row.what,
        key: &row.key,
        unit: &row.unit,
        smaller_is_better: quantity_of(&row.key).is_some_and(|it| it.smaller_is_better),
        values: &row.values,
        against_first: row.against_first.iter().map(row_ratio).collect(),
    });
    ComparisonDocument {
        comparison_format: COMPARISON_FORMAT,
        runs: runs.map(|(name, simulated)| ComparedRun { name, simulated: *simulated }).collect(),
        band: comparison.band,
        interleaved_rounds: comparison.interleaved_rounds,
        rows: rows.collect(),
        left_out: &comparison.left_out,
        differences: &comparison.differences,
        thresholds,
    }
}

fn row_ratio(ratio: &super::MetricRatio) -> RowRatio {
    let (low, high) = known_ends(ratio.interval);
    let outcome = match ratio.outcome {
        RatioOutcome::Larger => "better",
        RatioOutcome::Smaller => "worse",
        RatioOutcome::WithinBand => "same",
        RatioOutcome::NotShown => "not-shown",
    };
    RowRatio { times: ratio.times, low, high, outcome }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::comparison::compare;
    use crate::testing::with_metrics;

    #[test]
    fn document_has_every_row_and_what_is_left_out() {
        let keys = [
            "transfer.seq1m_q1t1.read.mb_s",
            "transfer.rnd4k_q1t1.read.lat_p99_us",
            "transfer.rnd4k_q1t1.read.iops",
        ];
        let a = with_metrics(&[
            (keys[0], &[100.0, 101.0, 99.0]),
            (keys[1], &[900.0]),
            (keys[2], &[80.0, 81.0]),
        ]);
        let b = with_metrics(&[(keys[0], &[50.0, 50.5, 49.5]), (keys[1], &[950.0])]);
        let comparison = compare(&[a, b], 0.03, false);
        let document = serde_json::to_value(comparison_document(&comparison, None)).unwrap();
        assert_eq!(document["comparison_format"], 1);
        assert_eq!(document["rows"][0]["key"], keys[0]);
        assert_eq!(document["rows"][0]["values"], serde_json::json!([100.0, 50.0]));
        let ratio = &document["rows"][0]["against_first"][0];
        assert_eq!(ratio["outcome"], "worse");
        let end = |name: &str| ratio[name].as_f64().unwrap();
        assert!(end("low") < 0.5 && 0.5 < end("high") && end("high") < 1.0, "{ratio}");
        let single = &document["rows"][1];
        assert_eq!((&single["smaller_is_better"], &single["unit"]), (&true.into(), &"us".into()));
        assert_eq!(single["against_first"][0]["low"], serde_json::Value::Null);
        assert_eq!(single["against_first"][0]["outcome"], "not-shown");
        let left_out = document["left_out"][0].as_str().unwrap();
        assert!(left_out.starts_with("random reads, Q1: "), "{left_out}");
        assert!(document.get("thresholds").is_none(), "{document}");
    }
}
