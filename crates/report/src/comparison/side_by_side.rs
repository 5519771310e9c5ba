//! Comparisons of runs besides their metrics: prices, and what the drives suit.

use crate::verdict::criteria::Criterion;
use crate::verdict::dots;
use crate::workloads::answer_to;
use drivescope_model::Run;
use drivescope_model::number::{rounded, whole};
use drivescope_model::units::Price;

/// Prices are given per this many requests per second: a hard disk does a fraction of it.
pub(crate) const REQUESTS: u64 = 1_000;
/// Prices are given per this rate, about that of a hard disk.
pub(crate) const RATE_MB_S: u64 = 100;
/// Random reads at a deep queue, else at depth 1.
const READS: [Criterion; 2] = [Criterion::RandomReadsDeep, Criterion::RandomReadsQ1];
const UNKNOWN: &str = "–";

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SideBySide {
    pub what: String,
    pub values: Vec<String>,
}

pub(crate) fn side_by_side(runs: &[Run]) -> Vec<SideBySide> {
    let mut rows = prices(runs);
    rows.extend(verdicts(runs));
    rows
}

pub(crate) fn per_terabyte(run: &Run, price: &Price) -> Option<f64> {
    let bytes = run.drive.as_ref()?.capacity_bytes;
    (bytes > 0).then(|| price.amount / (bytes as f64 / 1e12))
}

/// Price of [`REQUESTS`] random reads per second.
pub(crate) fn per_reads(run: &Run, price: &Price) -> Option<f64> {
    let reads = READS.into_iter().find_map(|criterion| answer_to(run, criterion))?;
    Some(price.amount / (reads.value / REQUESTS as f64))
}

/// Price of [`RATE_MB_S`] of sequential reads.
pub(crate) fn per_rate(run: &Run, price: &Price) -> Option<f64> {
    Some(price.amount / (answer_to(run, Criterion::SequentialReads)?.value / RATE_MB_S as f64))
}

fn prices(runs: &[Run]) -> Vec<SideBySide> {
    fn row(what: String, values: Vec<String>) -> SideBySide {
        SideBySide { what, values }
    }
    if runs.iter().all(|run| run.price.is_none()) {
        return Vec::new();
    }
    let values_of = |of: &dyn Fn(&Run, &Price) -> Option<f64>| {
        let value = |run: &Run| {
            let price = run.price.as_ref()?;
            Some(format!("{} {}", rounded(of(run, price)?), price.currency))
        };
        runs.iter().map(|run| value(run).unwrap_or(UNKNOWN.to_string())).collect()
    };
    vec![
        row("price".to_string(), values_of(&|_, price| Some(price.amount))),
        row("per TB".to_string(), values_of(&per_terabyte)),
        row(format!("per {RATE_MB_S} MB/s read"), values_of(&per_rate)),
        row(format!("per {} random reads/s", whole(REQUESTS)), values_of(&per_reads)),
    ]
}

fn verdicts(runs: &[Run]) -> Vec<SideBySide> {
    let Some(first) = runs.first() else { return Vec::new() };
    let points = |run: &Run, suits: &str| {
        let verdict = run.verdict.iter().find(|verdict| verdict.suits == suits);
        verdict.and_then(|verdict| verdict.points).map_or(UNKNOWN, dots).to_string()
    };
    let row = |suits: &String| SideBySide {
        what: suits.clone(),
        values: runs.iter().map(|run| points(run, suits)).collect(),
    };
    first.verdict.iter().map(|verdict| row(&verdict.suits)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::hard_disk;

    #[test]
    fn prices_and_verdicts_stand_beside_each_other() {
        let mut a = hard_disk();
        a.verdict = crate::judge(&a);
        let mut b = a.clone();
        assert!(prices(&[a.clone(), b.clone()]).is_empty());
        b.price = Some(Price { amount: 105.0, currency: "EUR".to_string() });
        b.verdict[0].points = None;
        let rows = side_by_side(&[a.clone(), b]);
        assert_eq!(rows[0].values, ["–", "105 EUR"]);
        assert!(rows[1].what == "per TB" && rows[1].values[1].ends_with(" EUR"));
        assert!(rows[2].what == "per 100 MB/s read" && rows[2].values[1].ends_with(" EUR"));
        let verdict = &rows[4];
        assert_eq!(
            (verdict.what.as_str(), verdict.values[1].as_str()),
            (&*a.verdict[0].suits, "–")
        );
        assert!(verdict.values[0].contains(['●', '○']));
    }
}
