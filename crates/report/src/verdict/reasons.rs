//! The sentences that give the reason of a verdict.

use super::borderline::{self, NearThreshold, near_threshold, quantity};
use super::capacity::tested_in_free_space;
use super::{HeldBackBy, Judged, Judgement, RATE_REQUESTS_MIN, dots, found_missing};
use crate::verdict::use_cases::{Cap, Requirement, UseCase};
use crate::workloads::evidence;
use drivescope_model::document::Verdict;
use drivescope_model::metrics::PERCENTILES;
use drivescope_model::number::threshold;
use drivescope_model::target::TargetKind;
use drivescope_model::units::Bytes;
use drivescope_model::{FindingId, Metric, Run, Severity, TestStatus};

/// The last sentence of the reasons of a simulated drive.
pub(super) const SIMULATED: &str = ". Simulated drive";

/// Between a metric and the test that measures it.
const UNMEASURED: &str = " not measured; run the ";

/// The test that a use without points lacks, if its metrics were never asked for: `transfer`.
pub(crate) fn lacking_test(verdict: &Verdict) -> Option<&str> {
    let (_, test) = verdict.because.split_once(UNMEASURED).filter(|_| verdict.points.is_none())?;
    test.split(' ').next()
}

impl HeldBackBy {
    fn why(self) -> &'static str {
        match self {
            Self::OtherPrograms => "slowed by other programs (F034)",
            Self::ControlGroup => "perhaps slowed by a limit of the control group (F042)",
        }
    }

    fn remedy(self) -> &'static str {
        match self {
            Self::OtherPrograms => "stop them and run again",
            Self::ControlGroup => "run outside it",
        }
    }
}

/// Why all numbers are invalid.
pub(super) fn no_drive(run: &Run) -> Option<String> {
    run.findings
        .iter()
        .any(|f| f.id == FindingId::MemoryBacked)
        .then(|| "no drive lies below this target (F002)".to_string())
}

/// Why the numbers may not describe a drive.
pub(super) fn unproven(run: &Run) -> Option<String> {
    run.findings.iter().any(|f| f.id == FindingId::Unproven).then(|| {
        "a cache may have answered instead of a drive (F041); measure the directory or device below \
         this file system, or run on its server"
            .to_string()
    })
}

/// Why nothing should be kept on the drive: a fast failure is not fast.
pub(super) fn faulty(run: &Run) -> Option<String> {
    if let Some(found) = found_missing(run) {
        let day = found.started_at.get(..10).unwrap_or(&found.started_at);
        let (id, run) = (FindingId::FakeCapacity, &found.run);
        return Some(format!(
            "it holds less than it claims ({id} in run {run} of {day}); do not use it"
        ));
    }
    let finding = run.findings.iter().find(|f| f.severity == Severity::Problem)?;
    let (what, until) = match finding.id {
        FindingId::FakeCapacity => ("it holds less than it claims", ""),
        FindingId::DataMismatch => ("it returned wrong data", " until the cause is found"),
        FindingId::FailingHealth => ("it expects to fail", ""),
        FindingId::NewBadSectors => ("it lost sectors during the run", ""),
        _ => ("requests to it failed", " until the cause is found"),
    };
    Some(format!("{what} ({}); do not use it{until}", finding.id))
}

/// Reason of a verdict with points: the deciding rule, and cautions.
pub(super) fn decided(
    use_case: &UseCase,
    requirement: &Requirement,
    metric: &Metric,
    judged: &Judged<'_>,
    run: &Run,
) -> String {
    let points = requirement.points(metric.value);
    let mut sentences = vec![against_threshold(use_case, requirement, metric)];
    sentences.extend(also_borderline(requirement, points, judged));
    sentences.extend(left_out(judged));
    for (requirement, judgement) in judged {
        let why = match judgement {
            Judgement::Missing => too_few_requests(requirement, run),
            Judgement::TooFew(count) => Some(too_few(*count, RATE_REQUESTS_MIN)),
            Judgement::HeldBack(by) => Some(by.why().to_string()),
            _ => None,
        };
        let what = requirement.criterion.name();
        sentences.extend(why.map(|why| format!("Not judged: {what}, {why}")));
    }
    sentences.extend(small(use_case, run));
    sentences.extend(tested_in_free_space(run).filter(|_| use_case.is_filled));
    let qualifiers = qualifiers(&metric.key, run);
    if !qualifiers.is_empty() {
        sentences.push(format!("Caution: {}", qualifiers.join(", ")));
    }
    if run.simulated {
        return sentences.join(". ") + SIMULATED;
    }
    sentences.join(". ")
}

/// The value, and what the use wants.
fn against_threshold(use_case: &UseCase, requirement: &Requirement, metric: &Metric) -> String {
    let (unit, wants) = (requirement.criterion.unit(), use_case.wants);
    let value = quantity(metric.value, unit);
    let value = requirement.criterion.phrase().replace("{}", &value);
    let wanted = wanted(requirement, requirement.points(metric.value));
    match near_threshold(requirement, metric) {
        None => format!("{value}; {wants} {wanted}"),
        Some(NearThreshold { threshold: near, side, interval }) => {
            let threshold = threshold(near, unit);
            if near.total_cmp(&requirement.thresholds[0]).is_eq() {
                format!("{value}, borderline: {side} the {threshold} that {wants}, {interval}")
            } else {
                format!("{value}, borderline: {side} {threshold}, {interval}; {wants} {wanted}")
            }
        }
    }
}

/// Other rules by which the next run may have fewer points.
fn also_borderline(deciding: &Requirement, points: u8, judged: &Judged<'_>) -> Option<String> {
    let others = judged.iter().filter(|(other, _)| other.criterion != deciding.criterion);
    let near = others.filter_map(|(requirement, judgement)| {
        let (metric, _) = judgement.known()?;
        let (fewest, _) = requirement.points_range(metric);
        let words = borderline::words(requirement, metric).filter(|_| fewest < points)?;
        let value = quantity(metric.value, requirement.criterion.unit());
        Some(format!("{}, {words}", requirement.criterion.phrase().replace("{}", &value)))
    });
    let near: Vec<String> = near.collect();
    (!near.is_empty()).then(|| format!("Borderline, too: {}", near.join("; ")))
}

/// Reason of a capped verdict, or of one that cannot be known.
pub(super) fn capped(cap: &Cap, points: u8, run: &Run) -> String {
    let protected = match cap.most {
        None => format!("; with protection {}", dots(points)),
        Some(_) => String::new(),
    };
    let simulated = if run.simulated { SIMULATED } else { "" };
    format!("{} ({}){protected}{simulated}", cap.why, cap.finding)
}

fn small(use_case: &UseCase, run: &Run) -> Option<String> {
    let capacity = Bytes(run.drive.as_ref()?.capacity_bytes);
    (capacity < use_case.capacity_named).then(|| format!("Holds only {capacity}"))
}

fn left_out(judged: &Judged<'_>) -> Option<String> {
    let invalid = judged.iter().filter_map(|(requirement, judgement)| match judgement {
        Judgement::Invalid { metric } => {
            Some(format!("{} ({})", requirement.criterion.name(), causes(metric)))
        }
        _ => None,
    });
    let invalid: Vec<String> = invalid.collect();
    (!invalid.is_empty()).then(|| format!("Ignored as invalid: {}", invalid.join(", ")))
}

/// Why a percentile is missing although its cell was measured.
fn too_few_requests(requirement: &Requirement, run: &Run) -> Option<String> {
    evidence(requirement.criterion).find_map(|(_, evidence)| {
        let (cell, quantity) = evidence.key.rsplit_once('.')?;
        let percentile = PERCENTILES.iter().find(|percentile| percentile.key == quantity)?;
        let mut all = run.tests.iter().flat_map(|test| &test.distributions);
        let count = all.find(|distribution| distribution.key == cell)?.count;
        let needed = percentile.requests_min;
        (count < needed).then(|| too_few(count, needed))
    })
}

fn too_few(count: u64, needed: u64) -> String {
    format!("{count} requests are too few (it takes {needed}; try --time 30s)")
}

/// The threshold for three points and, below two, the next one.
fn wanted(requirement: &Requirement, points: u8) -> String {
    let criterion = requirement.criterion;
    let [three, two, one] = requirement.thresholds.map(|value| threshold(value, criterion.unit()));
    let beyond = if criterion.smaller_is_better() { "less" } else { "more" };
    match points {
        0 => format!("{three} or {beyond} (●○○: {one})"),
        1 => format!("{three} or {beyond} (●●○: {two})"),
        _ => format!("{three} or {beyond}"),
    }
}

fn qualifiers(key: &str, run: &Run) -> Vec<String> {
    let mut ids: Vec<FindingId> = run
        .findings
        .iter()
        .filter(|f| f.severity == Severity::Warning || f.id == FindingId::VirtualDrive)
        // A slow place is one of the drive, whichever test went by there.
        .filter(|f| f.concerns(key) || f.id == FindingId::SlowRegion)
        .map(|f| f.id)
        .collect();
    ids.sort_unstable();
    ids.dedup();
    ids.into_iter().map(|id| format!("{} ({id})", id.spec().in_short())).collect()
}

fn causes(metric: &Metric) -> String {
    let ids: Vec<_> = metric.invalid_because.iter().map(|id| id.spec().id).collect();
    if ids.is_empty() { "invalid".to_string() } else { ids.join(", ") }
}

/// Reason of a verdict without points: the missing metric, the remedy, and the points that are possible at most.
pub(super) fn undecided(
    requirement: &Requirement,
    judgement: &Judgement<'_>,
    most: Option<u8>,
    run: &Run,
) -> String {
    let what = requirement.criterion.name();
    let mut because = match judgement {
        Judgement::Invalid { metric } => format!("{what}: invalid ({})", causes(metric)),
        Judgement::HeldBack(by) => format!("{what}, {}; {}", by.why(), by.remedy()),
        Judgement::TooFew(count) => format!("{what}: {}", too_few(*count, RATE_REQUESTS_MIN)),
        _ => unmeasured(requirement, run),
    };
    if let Some(points) = most.filter(|points| *points < 3) {
        because.push_str(&format!(". So far at best {}", dots(points)));
    }
    because
}

/// Why a metric is missing, and the remedy.
fn unmeasured(requirement: &Requirement, run: &Run) -> String {
    let what = requirement.criterion.name();
    let mut evidence = evidence(requirement.criterion);
    let (workload, _) = evidence.clone().next().expect("a test checks that there is some");
    let test = workload.test;
    let place = match run.target.kind {
        TargetKind::Block | TargetKind::File if evidence.all(|(_, e)| e.is_written) => {
            " on a directory of this drive"
        }
        _ => "",
    };
    let result = run.tests.iter().find(|result| result.test == test);
    match result.map(|result| result.status) {
        Some(TestStatus::Failed) => format!("{what}: the {test} test failed; run it again{place}"),
        Some(TestStatus::Interrupted) => {
            format!("{what}: the {test} test was interrupted; run it again{place}")
        }
        _ => format!("{what}{UNMEASURED}{test} test{place}"),
    }
}
