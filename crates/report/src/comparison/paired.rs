//! Two targets interleaved: each round of one against the round of the other beside it.

use crate::comparison::{
    ComparedMetric, MetricRatio, NamedRuns, RunComparison, headline_keys, left_out,
};
use crate::workloads::usable;
use drivescope_model::Run;
use drivescope_model::metrics::quantity_of;
use drivescope_stats::paired_sequence::paired_ratio;
use drivescope_stats::ratio::RatioOutcome;
use drivescope_stats::summary::median;

/// Of all rows together, over all looks.
const RISK: f64 = 0.05;

/// The state of the comparison after these pairs of runs, one round each; the second of each pair is compared with the
/// first. Looking again after more pairs does not spoil the intervals. `band` is a share: 0.03 is 3 %.
pub fn compare_pairs(pairs: &[[Run; 2]], names: [String; 2], band: f64) -> RunComparison {
    let runs: Vec<&Run> = pairs.iter().flatten().collect();
    let keys = headline_keys(&runs);
    let risk = RISK / keys.len().max(1) as f64;
    let row = |(what, key): (String, String)| {
        let values_of = |side: usize| -> Vec<f64> {
            pairs.iter().filter_map(|pair| Some(usable(&pair[side], &key)?.value)).collect()
        };
        let (a, b) = (values_of(0), values_of(1));
        let values = vec![median(&a)?, median(&b)?];
        let unit = usable(runs.first()?, &key)?.unit.clone();
        let against_first = vec![ratio(&key, &a, &b, risk, band)?];
        Some(ComparedMetric { what, unit, key, values, against_first })
    };
    let of_side = |side: usize| pairs.iter().map(|pair| &pair[side]).collect();
    let sides = [0, 1].map(|side| NamedRuns { name: &names[side], runs: of_side(side) });
    RunComparison {
        left_out: left_out(&sides),
        simulated: pairs
            .first()
            .map(|pair| pair.each_ref().map(|run| run.simulated).into())
            .unwrap_or_default(),
        names: names.clone().into(),
        rows: keys.into_iter().filter_map(row).collect(),
        besides: Vec::new(),
        differences: Vec::new(),
        band,
        interleaved_rounds: Some(pairs.len()),
    }
}

/// Whether every row shows a difference, or none in practice. With `width`, intervals must also be no farther from
/// their ratio than this share.
pub fn is_decided(comparison: &RunComparison, width: Option<f64>) -> bool {
    let is_shown = |ratio: &MetricRatio| {
        let is_narrow =
            |(low, high): (f64, f64)| width.is_none_or(|width| (high / low).sqrt() <= 1.0 + width);
        ratio.is_shown() && ratio.interval.is_some_and(is_narrow)
    };
    let mut ratios = comparison.rows.iter().flat_map(|row| &row.against_first);
    !comparison.rows.is_empty() && ratios.all(is_shown)
}

/// Speed ratio of the second to the first: above 1 is better, for latencies too.
fn ratio(key: &str, a: &[f64], b: &[f64], risk: f64, band: f64) -> Option<MetricRatio> {
    let is_turned = quantity_of(key).is_some_and(|quantity| quantity.smaller_is_better);
    let (from, to) = if is_turned { (b, a) } else { (a, b) };
    let pairs: Vec<(f64, f64)> = from.iter().copied().zip(to.iter().copied()).collect();
    let Some(found) = paired_ratio(&pairs, risk) else {
        let times = median(to)? / median(from)?;
        return Some(MetricRatio { times, interval: None, outcome: RatioOutcome::NotShown });
    };
    let outcome = match found.interval {
        Some(it) if it.low > 1.0 / (1.0 + band) && it.high < 1.0 + band => RatioOutcome::WithinBand,
        Some(it) if it.low > 1.0 => RatioOutcome::Larger,
        Some(it) if it.high < 1.0 => RatioOutcome::Smaller,
        _ => RatioOutcome::NotShown,
    };
    let interval = found.interval.map(|interval| (interval.low, interval.high));
    Some(MetricRatio { times: found.value, interval, outcome })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::with_metrics;

    const RATE: &str = "transfer.seq1m_q1t1.read.mb_s";
    const SLOW: &str = "transfer.rnd4k_q1t1.read.lat_p99_us";

    fn pairs(count: u32, rate: f64, slow_us: f64) -> Vec<[Run; 2]> {
        fn wave(i: u32) -> f64 {
            1.0 + 0.002 * f64::from(i % 5)
        }
        fn run(rate: f64, slow: f64) -> Run {
            with_metrics(&[(RATE, &[rate]), (SLOW, &[slow])])
        }
        (0..count)
            .map(|i| [run(100.0 * wave(i), 900.0), run(rate * wave(i + 2), slow_us * wave(i))])
            .collect()
    }

    fn outcomes(pairs: &[[Run; 2]]) -> Vec<RatioOutcome> {
        let names = ["a", "b"].map(str::to_string);
        let comparison = compare_pairs(pairs, names, 0.03);
        comparison.rows.iter().map(|row| row.against_first[0].outcome).collect()
    }

    #[test]
    fn pairs_decide_as_soon_as_their_intervals_do() {
        assert_eq!(outcomes(&pairs(3, 150.0, 900.0)), [RatioOutcome::NotShown; 2]);
        let faster = pairs(12, 150.0, 900.0);
        assert_eq!(outcomes(&faster), [RatioOutcome::Larger, RatioOutcome::WithinBand]);
        let slower = pairs(12, 100.5, 1800.0);
        assert_eq!(outcomes(&slower), [RatioOutcome::WithinBand, RatioOutcome::Smaller]);
    }

    #[test]
    fn narrow_enough_rows_are_decided() {
        fn names() -> [String; 2] {
            ["a", "b"].map(str::to_string)
        }
        let few = compare_pairs(&pairs(3, 150.0, 900.0), names(), 0.03);
        let many = compare_pairs(&pairs(12, 150.0, 900.0), names(), 0.03);
        assert!(!is_decided(&few, None) && is_decided(&many, None));
        assert!(is_decided(&many, Some(0.05)) && !is_decided(&many, Some(0.000_1)));
        let nothing = compare_pairs(&[], names(), 0.03);
        assert!(!is_decided(&nothing, None));
    }
}
