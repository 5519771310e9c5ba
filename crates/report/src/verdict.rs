//! What a drive suits: the demands of [`crate::rules`] held against the metrics of a run.

use crate::rules::{Demand, USES, Use};
use drivescope_model::document::{Limiter, PhaseRecord, Rule, Verdict};
use drivescope_model::metrics::PERCENTILES;
use drivescope_model::number::{latency_us, rounded, threshold};
use drivescope_model::target::TargetKind;
use drivescope_model::{Bytes, FindingId, Metric, Run, Severity, TestKind, TestStatus};

/// One verdict per use, in the order of [`USES`].
///
/// A use has the least of its rules' points. Metrics that are not the drive's are left out, and the
/// reason says so. Where a metric that the use needs is missing, there are no points and the reason
/// names the test to run, unless what is known already comes to none.
pub fn judge(run: &Run) -> Vec<Verdict> {
    USES.iter().map(|a_use| judge_use(a_use, run)).collect()
}

/// Why a low figure is not held against a drive, and what to do about it.
struct Held {
    why: &'static str,
    remedy: &'static str,
}

const BY_OTHERS: Held = Held {
    why: "which other programs on this machine held back (F034)",
    remedy: "stop them and run again",
};
const BY_A_LIMIT: Held = Held {
    why: "which a limit of the control group held back, or may have (F042)",
    remedy: "run outside of it",
};

/// A small request of the demands.
const SMALL: Bytes = Bytes::kib(4);

/// What a run says about one demand.
enum Answer<'a> {
    Known {
        metric: &'a Metric,
        rule: Rule,
    },
    Invalid {
        metric: &'a Metric,
    },
    /// Too low for all points, and something else made it so.
    Held(&'static Held),
    Missing,
}

fn judge_use(a_use: &Use, run: &Run) -> Verdict {
    let answers: Vec<_> = a_use.demands.iter().map(|d| (d, answer(d, run))).collect();
    let rules: Vec<Rule> = answers.iter().filter_map(|(_, a)| a.rule().cloned()).collect();
    let verdict = |points, because| Verdict {
        suits: a_use.name.to_string(),
        points,
        because,
        rules: rules.clone(),
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
    let deciding = answers
        .iter()
        .filter_map(|(demand, answer)| answer.known().map(|(metric, rule)| (demand, metric, rule)))
        .min_by(|(_, _, a), (_, _, b)| a.points.cmp(&b.points).then(share(a).total_cmp(&share(b))));
    let lacking = answers.iter().find(|(demand, a)| demand.needed && a.rule().is_none());
    match (deciding, lacking) {
        (Some((demand, metric, rule)), None) => {
            verdict(Some(rule.points), decided(a_use, demand, metric, &answers, run))
        }
        // The least of all rules cannot rise above nothing, whatever is still unknown.
        (Some((demand, metric, rule)), Some(_)) if rule.points == 0 => {
            verdict(Some(0), decided(a_use, demand, metric, &answers, run))
        }
        (known, Some((demand, answer))) => {
            let most = known.map(|(_, _, rule)| rule.points);
            verdict(None, undecided(demand, answer, most, run))
        }
        (None, None) => verdict(None, "nothing was measured".to_string()),
    }
}

fn answer<'a>(demand: &Demand, run: &'a Run) -> Answer<'a> {
    let keys = demand.keys.iter().filter(|key| is_meant(key, run));
    let found = || keys.clone().filter_map(|key| run.metric(key));
    if let Some(metric) = found().find(|metric| metric.valid && metric.value.is_finite()) {
        let rule = rule(demand, metric);
        let held = held_back(&metric.key, run).filter(|_| rule.points < 3);
        return held.map_or(Answer::Known { metric, rule }, Answer::Held);
    }
    found()
        .find(|metric| !metric.valid)
        .map_or(Answer::Missing, |metric| Answer::Invalid { metric })
}

/// Whether a metric is of requests as small as the demands mean: options may ask for others under the same key.
fn is_meant(key: &str, run: &Run) -> bool {
    let suite = &run.plan.suite;
    match key.split('.').next() {
        Some("latency") => suite.latency.block == SMALL,
        Some("tiny-writes") => suite.tiny_writes.write <= SMALL,
        _ => true,
    }
}

/// What held a metric back, if not the drive.
fn held_back(key: &str, run: &Run) -> Option<&'static Held> {
    if held_by_others(key, run) {
        return Some(&BY_OTHERS);
    }
    run.findings.iter().any(|f| f.id == FindingId::IoLimited).then_some(&BY_A_LIMIT)
}

/// Whether other programs, not the drive, set the pace of most rounds of a metric's cell.
fn held_by_others(key: &str, run: &Run) -> bool {
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

impl Answer<'_> {
    fn known(&self) -> Option<(&Metric, &Rule)> {
        match self {
            Self::Known { metric, rule } => Some((metric, rule)),
            _ => None,
        }
    }
    fn rule(&self) -> Option<&Rule> {
        self.known().map(|(_, rule)| rule)
    }
}

fn rule(demand: &Demand, metric: &Metric) -> Rule {
    Rule {
        metric: metric.key.clone(),
        what: demand.what.to_string(),
        value: metric.value,
        thresholds: demand.thresholds,
        smaller_is_better: demand.smaller_is_better,
        unit: demand.unit.to_string(),
        points: demand.points(metric.value),
    }
}

/// How much of what three points take a rule has: the smallest share decides among equals.
fn share(rule: &Rule) -> f64 {
    let [full, ..] = rule.thresholds;
    if rule.smaller_is_better {
        full / rule.value.max(f64::MIN_POSITIVE)
    } else {
        rule.value / full
    }
}

/// Why no number of the run is a drive's, if so.
fn no_drive(run: &Run) -> Option<String> {
    run.findings.iter().any(|f| f.id == FindingId::MemoryBacked).then(|| {
        "there is no drive below this target, it lives in memory (F002); choose a directory or \
         device on a real drive"
            .to_string()
    })
}

/// Why nobody knows whether the numbers are a drive's, if so.
fn unproven(run: &Run) -> Option<String> {
    run.findings.iter().any(|f| f.id == FindingId::Unproven).then(|| {
        "nothing shows that a drive answered and not a cache (F041); measure the directory or \
         device below this file system, or on its server"
            .to_string()
    })
}

/// Why nothing should be kept on the drive, if so: a fast failure is not fast.
fn faulty(run: &Run) -> Option<String> {
    let finding = run.findings.iter().find(|f| f.severity == Severity::Problem)?;
    let (what, until) = match finding.id {
        FindingId::FakeCapacity => ("it holds less than it announces", ""),
        FindingId::DataMismatch => ("it returned wrong data", " until the cause is found"),
        _ => ("requests to it failed", " until the cause is found"),
    };
    Some(format!("{what} ({}): no use for it{until}", finding.id))
}

fn decided(
    a_use: &Use,
    demand: &Demand,
    metric: &Metric,
    answers: &[(&Demand, Answer<'_>)],
    run: &Run,
) -> String {
    let mut sentences = vec![format!(
        "{}; {} {}",
        demand.phrase.replace("{}", &quantity(metric.value, demand.unit)),
        a_use.wants,
        wanted(demand, demand.points(metric.value)),
    )];
    let left_out: Vec<String> = answers
        .iter()
        .filter_map(|(demand, answer)| match answer {
            Answer::Invalid { metric } => Some(format!("{} ({})", demand.what, causes(metric))),
            _ => None,
        })
        .collect();
    if !left_out.is_empty() {
        sentences.push(format!("Left out, not the drive's: {}", left_out.join(", ")));
    }
    for (demand, answer) in answers {
        if let (Answer::Missing, Some(why)) = (answer, too_few_requests(demand, run)) {
            sentences.push(format!("Not judged: {}, {why}", demand.what));
        }
        if let Answer::Held(Held { why, .. }) = answer {
            sentences.push(format!("Not judged: {}, {why}", demand.what));
        }
    }
    let qualifiers = qualifiers(&metric.key, run);
    if !qualifiers.is_empty() {
        sentences.push(format!("To be read with {} in mind", qualifiers.join(", ")));
    }
    if run.simulated {
        sentences.push("The drive is a simulated one".to_string());
    }
    sentences.join(". ")
}

/// Why a percentile is missing although its cell was measured, if that is so.
fn too_few_requests(demand: &Demand, run: &Run) -> Option<String> {
    demand.keys.iter().find_map(|key| {
        let (cell, quantity) = key.rsplit_once('.')?;
        let percentile = PERCENTILES.iter().find(|percentile| percentile.key == quantity)?;
        let mut all = run.tests.iter().flat_map(|test| &test.distributions);
        let count = all.find(|distribution| distribution.key == cell)?.count;
        let needed = percentile.requests_min;
        (count < needed)
            .then(|| format!("which {count} requests cannot hold (it takes {needed}; --time 30s)"))
    })
}

/// The threshold for three points and, below two, what the next point takes.
fn wanted(demand: &Demand, points: u8) -> String {
    let [three, two, one] = demand.thresholds.map(|value| threshold(value, demand.unit));
    let beyond = if demand.smaller_is_better { "less" } else { "more" };
    match points {
        0 => format!("{three} or {beyond} (one point: {one})"),
        1 => format!("{three} or {beyond} (two points: {two})"),
        _ => format!("{three} or {beyond}"),
    }
}

/// A value as sentences write it; rates per second are counted in the sentence itself.
fn quantity(value: f64, unit: &str) -> String {
    match unit {
        "us" => latency_us(value),
        "1/s" => rounded(value),
        unit => format!("{} {unit}", rounded(value)),
    }
}

/// Findings under which a metric is true but needs care, by id.
fn qualifiers(key: &str, run: &Run) -> Vec<&'static str> {
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
    ids.into_iter().map(|id| id.spec().id).collect()
}

fn causes(metric: &Metric) -> String {
    let ids: Vec<_> = metric.invalid_because.iter().map(|id| id.spec().id).collect();
    if ids.is_empty() { "invalid".to_string() } else { ids.join(", ") }
}

fn undecided(demand: &Demand, answer: &Answer<'_>, most: Option<u8>, run: &Run) -> String {
    let mut because = match answer {
        Answer::Invalid { metric } => {
            let remedy = metric.invalid_because.first().map_or("", |id| id.spec().remedy);
            let text =
                format!("{}: the number is not the drive's ({})", demand.what, causes(metric));
            if remedy.is_empty() { text } else { format!("{text}. {}", trim_period(remedy)) }
        }
        Answer::Held(Held { why, remedy }) => format!("{}, {why}; {remedy}", demand.what),
        _ => unmeasured(demand, run),
    };
    if let Some(points) = most.filter(|points| *points < 3) {
        because.push_str(&format!(". What is known allows {points} of 3 points at most"));
    }
    because
}

fn trim_period(sentence: &str) -> &str {
    sentence.strip_suffix('.').unwrap_or(sentence)
}

/// Why a metric is missing, and what to do about it.
fn unmeasured(demand: &Demand, run: &Run) -> String {
    let (what, test) = (demand.what, demand.test());
    let place = match run.target.kind {
        TargetKind::Block | TargetKind::File if demand.writes() => " on a directory of this drive",
        _ => "",
    };
    let kind = TestKind::ALL.iter().find(|kind| kind.name() == test);
    let result = run.tests.iter().find(|result| Some(&result.test) == kind);
    match result.map(|result| result.status) {
        Some(TestStatus::Failed) => format!("{what}: the {test} test failed; run it again{place}"),
        Some(TestStatus::Interrupted) => {
            format!("{what}: the {test} test was interrupted; run it again{place}")
        }
        _ => format!("{what} not measured; run the {test} test{place}"),
    }
}

#[cfg(test)]
#[path = "verdict_tests.rs"]
mod tests;
