//! Rows that a comparison leaves out although a run measured them: reason and remedy.

use super::{COMPARED, headline_keys};
use crate::first_seen::{distinct_by, grouped};
use crate::workloads::{evidence, usable};
use drivescope_model::Run;
use drivescope_model::findings::FindingId;

pub(crate) struct NamedRuns<'r> {
    pub name: &'r str,
    /// One, or one per round.
    pub runs: Vec<&'r Run>,
}

/// A sentence for each reason why properties that some run has a figure of have no valid one in every run.
pub(crate) fn left_out(sides: &[NamedRuns<'_>]) -> Vec<String> {
    let all: Vec<&Run> = sides.iter().flat_map(|side| side.runs.iter().copied()).collect();
    let has_any = |key: &str| all.iter().any(|run| run.metric(key).is_some());
    let has_all = |key: &str| all.iter().all(|run| usable(run, key).is_some());
    let compared = headline_keys(&all);
    let missing = COMPARED.into_iter().filter_map(|(criterion, what)| {
        let is_compared = evidence(criterion).any(|(_, it)| has_all(it.key));
        let (_, first) = evidence(criterion).find(|(_, it)| has_any(it.key))?;
        let is_named = compared.iter().any(|(_, key)| key == first.key);
        (!is_compared && !is_named).then_some((what, first.key))
    });
    let missing = distinct_by(missing, |(_, key), (_, other)| key == other);
    let reasons = missing.into_iter().map(|(what, key)| (reason(sides, key), what));
    let rows = grouped(reasons).into_iter();
    rows.map(|(reason, rows)| format!("{}: {reason}", rows.join(", "))).collect()
}

/// Sides without a valid figure, the number of their runs, the reason, and the remedy of the first finding.
pub(super) fn reason(sides: &[NamedRuns<'_>], key: &str) -> String {
    let (mut reasons, mut remedies) = (Vec::new(), Vec::new());
    for NamedRuns { name, runs } in sides {
        let bad: Vec<&&Run> = runs.iter().filter(|run| usable(run, key).is_none()).collect();
        if bad.is_empty() {
            continue;
        }
        let because =
            bad.iter().filter_map(|run| run.metric(key)).flat_map(|it| &it.invalid_because);
        let ids: Vec<FindingId> = distinct_by(because.copied(), PartialEq::eq);
        let named: Vec<&str> = ids.iter().map(|id| id.spec().id).collect();
        let why = if named.is_empty() {
            "not measured".into()
        } else {
            format!("invalid ({})", named.join(", "))
        };
        let count = match runs.len() {
            1 => String::new(),
            all => format!(" in {} of {all} rounds", bad.len()),
        };
        reasons.push(format!("{name}: {why}{count}"));
        remedies.extend(ids.first().map(|id| id.spec().remedy));
    }
    let remedy =
        remedies.first().copied().unwrap_or("Run the same tests on both (--suite, --cells).");
    format!("{}. {remedy}", reasons.join("; "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::comparison::compare;
    use crate::testing::with_metrics;

    #[test]
    fn row_without_valid_figures_shows_its_remedy() {
        let keys = ["transfer.seq1m_q1t1.read.mb_s", "transfer.rnd4k_q1t1.read.iops"];
        let good = with_metrics(&[(keys[0], &[100.0, 101.0]), (keys[1], &[80.0, 81.0])]);
        let mut bad = good.clone();
        let metric = bad.tests[0].metrics.iter_mut().find(|metric| metric.key == keys[1]).unwrap();
        (metric.valid, metric.invalid_because) = (false, vec![FindingId::PageCache]);
        let sides = [
            NamedRuns { name: "A", runs: vec![&good, &good] },
            NamedRuns { name: "B", runs: vec![&good, &bad] },
        ];
        let sentences = left_out(&sides);
        assert_eq!(sentences.len(), 1, "{sentences:?}");
        let start = "random reads, Q1: B: invalid (F001) in 1 of 2 rounds. For a loop device";
        assert!(sentences[0].starts_with(start), "{sentences:?}");
        let shorter = with_metrics(&[(keys[0], &[100.0, 101.0])]);
        let comparison = compare(&[good.clone(), shorter], 0.03, false);
        assert_eq!((comparison.rows.len(), comparison.left_out.len()), (1, 1));
        assert!(comparison.left_out[0].contains("not measured"), "{:?}", comparison.left_out);
        let nothing = with_metrics(&[("transfer.seq1m_q8t1.write.mb_s", &[1.0])]);
        let comparison = compare(&[good.clone(), nothing], 0.03, false);
        let rows = "reads in order, writes in order, random reads, Q1: ";
        assert!(comparison.left_out[0].starts_with(rows), "{comparison:?}");
        assert!(compare(&[good.clone(), good], 0.03, false).left_out.is_empty());
    }
}
