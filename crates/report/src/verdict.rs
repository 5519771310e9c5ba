//! What a drive suits: the requirements of `use_cases` compared with the metrics of a run.

pub(crate) mod answer;
mod borderline;
mod capacity;
pub(crate) mod criteria;
pub(crate) mod keep;
mod reasons;
pub(crate) mod use_cases;

use crate::verdict::criteria::Criterion;
use crate::verdict::use_cases::{Cap, Requirement, USE_CASES, UseCase};
use crate::workloads::evidence;
pub use capacity::tested_capacity;
pub(crate) use capacity::{found_missing, remedy as capacity_remedy};
use drivescope_model::document::{Limiter, PhaseRecord, Rule, Verdict};
use drivescope_model::drive::DriveKind;
use drivescope_model::{FindingId, Metric, Run};
pub use keep::{decide, decides};
pub(crate) use reasons::lacking_test;
use reasons::{capped, decided, faulty, no_drive, undecided, unproven};

/// One verdict per use, in the order of `USE_CASES`. A use has the least of its rules' points, capped by how the
/// drive behaves. Invalid metrics are left out, and the reason says so. Where a needed metric is missing, there are no
/// points and the reason names the test to run, unless the known rules already give none.
pub fn judge(run: &Run) -> Vec<Verdict> {
    USE_CASES.iter().map(|use_case| judge_use(use_case, run)).collect()
}

/// ○○○ to ●●●.
pub(crate) fn dots(points: u8) -> &'static str {
    match points {
        0 => "○○○",
        1 => "●○○",
        2 => "●●○",
        _ => "●●●",
    }
}

/// A reason without its note on simulated drives, for pages that mark them once.
pub(crate) fn simulated_note_removed(because: &str) -> &str {
    because.strip_suffix(reasons::SIMULATED).unwrap_or(because)
}

/// `end of drive, capacity not tested`: not covered by the points.
pub(crate) fn untested(verdict: &Verdict) -> Option<String> {
    let what = verdict.not_tested.join(", ");
    (!what.is_empty()).then(|| format!("{what} not tested"))
}

/// With fewer requests, a rate shows what the drive was still busy with, not its speed.
const RATE_REQUESTS_MIN: u64 = 10;

/// Causes, other than the drive, of a low figure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum HeldBackBy {
    OtherPrograms,
    ControlGroup,
}

#[derive(Debug)]
enum Judgement<'a> {
    Known {
        metric: &'a Metric,
        rule: Rule,
    },
    Invalid {
        metric: &'a Metric,
    },
    /// Below three points, for a reason other than the drive.
    HeldBack(HeldBackBy),
    /// Number of requests, fewer than [`RATE_REQUESTS_MIN`].
    TooFew(u64),
    Missing,
}

impl Judgement<'_> {
    fn known(&self) -> Option<(&Metric, &Rule)> {
        match self {
            Self::Known { metric, rule } => Some((metric, rule)),
            _ => None,
        }
    }
}

type Judged<'a> = [(&'static Requirement, Judgement<'a>)];

fn judge_use(use_case: &UseCase, run: &Run) -> Verdict {
    let judged: Vec<_> = use_case.requirements.iter().map(|r| (r, judgement(r, run))).collect();
    let known = || {
        judged.iter().filter_map(|(requirement, judgement)| {
            judgement.known().map(|(metric, rule)| (*requirement, metric, rule))
        })
    };
    let verdict = |points: Option<u8>, because| Verdict {
        suits: use_case.name.to_string(),
        points,
        not_tested: match points {
            None | Some(0) => Vec::new(),
            Some(points) => not_tested(use_case, points, &judged, run),
        },
        borderline: None,
        because,
        rules: known().map(|(_, _, rule)| rule.clone()).collect(),
    };
    if let Some(because) = no_drive(run) {
        return verdict(None, because);
    }
    if let Some(because) = faulty(run) {
        return verdict(Some(0), because);
    }
    if let Some(because) = unproven(run) {
        return verdict(None, because);
    }
    let deciding = known()
        .min_by(|(_, _, a), (_, _, b)| a.points.cmp(&b.points).then(share(a).total_cmp(&share(b))));
    let lacking = judged.iter().find(|(r, judgement)| r.is_needed && judgement.known().is_none());
    let known_points = deciding.map_or(3, |(_, _, rule)| rule.points);
    if let Some(cap) = lowest_cap(use_case, known_points, run)
        && (lacking.is_none() || cap.most == Some(0))
    {
        let (fewest, _) = next_points(&judged);
        let most = cap.most.filter(|most| fewest < *most);
        return Verdict {
            borderline: most.map(|_| fewest),
            ..verdict(cap.most, capped(cap, known_points, run))
        };
    }
    match (deciding, lacking) {
        (Some((requirement, metric, rule)), None) => {
            let (fewest, most) = next_points(&judged);
            let most = lowest_cap(use_case, most, run).map_or(most, |cap| cap.most.unwrap_or(most));
            let other = if fewest < rule.points { fewest } else { most };
            let because = decided(use_case, requirement, metric, &judged, run);
            let borderline = Some(other).filter(|other| *other != rule.points);
            Verdict { borderline, ..verdict(Some(rule.points), because) }
        }
        // The least of all rules cannot rise above nothing, whatever is still unknown.
        (Some((requirement, metric, rule)), Some(_)) if rule.points == 0 => {
            verdict(Some(0), decided(use_case, requirement, metric, &judged, run))
        }
        (known, Some((requirement, judgement))) => {
            let most = known.map(|(_, _, rule)| rule.points);
            verdict(None, undecided(requirement, judgement, most, run))
        }
        (None, None) => verdict(None, "nothing was measured".to_string()),
    }
}

/// Range of points that the next run may give by its rates.
fn next_points(judged: &Judged<'_>) -> (u8, u8) {
    let known = judged.iter().filter_map(|(requirement, judgement)| {
        judgement.known().map(|(metric, _)| requirement.points_range(metric))
    });
    known.fold((3, 3), |(fewest, most), (a, b)| (fewest.min(a), most.min(b)))
}

/// The cap that gives fewer points than the rates, if there is one.
fn lowest_cap(use_case: &UseCase, points: u8, run: &Run) -> Option<&'static Cap> {
    let lower = use_case
        .caps
        .iter()
        .filter(|cap| run.findings.iter().any(|finding| finding.id == cap.finding))
        .filter(|cap| cap.most.is_none_or(|most| most < points));
    // Unknown values can only lower the points.
    lower.min_by_key(|cap| cap.most.unwrap_or(points)).filter(|_| points > 0)
}

/// Untested properties that could lower the points, for drives they concern.
fn not_tested(use_case: &UseCase, points: u8, judged: &Judged<'_>, run: &Run) -> Vec<String> {
    let lacks =
        |judgement: &Judgement<'_>| matches!(judgement, Judgement::Missing | Judgement::TooFew(_));
    let missing = judged.iter().filter(|(_, judgement)| lacks(judgement));
    let mut all: Vec<String> = missing
        .map(|(requirement, _)| requirement.criterion)
        .filter(|criterion| *criterion != Criterion::ReadsAtEnd || may_rotate(run))
        .map(|criterion| criterion.short_name().to_string())
        .collect();
    let matters = use_case.caps.iter().any(|cap| {
        cap.finding == FindingId::Shingled && cap.most.is_some_and(|most| most < points)
    });
    let is_known = run.findings.iter().any(|finding| finding.id == FindingId::Shingled);
    if matters && may_rotate(run) && !is_known && !shows_shingling(run) {
        all.push("shingling".to_string());
    }
    if use_case.is_filled && run.drive.is_some() && !capacity::is_tested(run) {
        all.push(capacity::NAME.to_string());
    }
    all
}

/// Whether the drive may be a disk, with rates that depend on the position.
fn may_rotate(run: &Run) -> bool {
    run.drive.as_ref().is_none_or(|drive| match drive.kind {
        DriveKind::HardDisk | DriveKind::Unknown => true,
        DriveKind::Simulated => drive.rotational_hint || drive.rpm.is_some_and(|rpm| rpm > 1),
        _ => false,
    })
}

/// Whether the run read in order what it had written at random, by which a shingled drive shows itself.
fn shows_shingling(run: &Run) -> bool {
    let mut all = run.tests.iter().flat_map(|test| &test.metrics);
    all.any(|metric| {
        metric.key == "geometry.shingling.slowdown_ratio"
            || metric.key.ends_with(".read_scattered.mb_s")
    })
}

fn judgement<'a>(requirement: &Requirement, run: &'a Run) -> Judgement<'a> {
    let answers = evidence(requirement.criterion)
        .filter(|(workload, _)| (workload.measures)(&run.plan.suite, requirement.criterion));
    let found = || answers.clone().filter_map(|(_, evidence)| run.metric(evidence.key));
    if let Some(metric) = found().find(|metric| metric.valid && metric.value.is_finite()) {
        let few = requests_of(metric, run).filter(|&count| count < RATE_REQUESTS_MIN);
        if let Some(count) = few.filter(|_| requirement.criterion.unit() == "1/s") {
            return Judgement::TooFew(count);
        }
        let rule = rule(requirement, metric);
        let held_back = held_back(&metric.key, run).filter(|_| rule.points < 3);
        return held_back.map_or(Judgement::Known { metric, rule }, Judgement::HeldBack);
    }
    found()
        .find(|metric| !metric.valid)
        .map_or(Judgement::Missing, |metric| Judgement::Invalid { metric })
}

/// Number of requests of a metric, if the run has it.
fn requests_of(metric: &Metric, run: &Run) -> Option<u64> {
    let (cell, _) = metric.key.rsplit_once('.')?;
    let mut all = run.tests.iter().flat_map(|test| &test.distributions);
    Some(all.find(|distribution| distribution.key == cell)?.count)
}

fn held_back(key: &str, run: &Run) -> Option<HeldBackBy> {
    if is_held_by_others(key, run) {
        return Some(HeldBackBy::OtherPrograms);
    }
    let is_limited = run.findings.iter().any(|finding| finding.id == FindingId::IoLimited);
    is_limited.then_some(HeldBackBy::ControlGroup)
}

fn is_held_by_others(key: &str, run: &Run) -> bool {
    let Some((cell, _)) = key.rsplit_once('.') else { return false };
    let phases = run.tests.iter().flat_map(|test| {
        let name = move |phase: &&PhaseRecord| cell == format!("{}.{}", test.test, phase.cell);
        test.phases.iter().filter(name)
    });
    let (held, all) = phases.fold((0, 0), |(held, all), phase| {
        (held + usize::from(phase.limiter == Limiter::OtherPrograms), all + 1)
    });
    held * 2 > all
}

fn rule(requirement: &Requirement, metric: &Metric) -> Rule {
    let Requirement { criterion, thresholds, .. } = *requirement;
    Rule {
        metric: metric.key.clone(),
        what: criterion.name().to_string(),
        value: metric.value,
        thresholds,
        smaller_is_better: criterion.smaller_is_better(),
        unit: criterion.unit().to_string(),
        borderline: requirement.is_borderline(metric),
        points: requirement.points(metric.value),
    }
}

/// Value as a share of the threshold for three points: the smallest decides among equals.
fn share(rule: &Rule) -> f64 {
    let [full, ..] = rule.thresholds;
    if rule.smaller_is_better {
        full / rule.value.max(f64::MIN_POSITIVE)
    } else {
        rule.value / full
    }
}

#[cfg(test)]
mod tests;
