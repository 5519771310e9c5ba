//! Whether a drive is good enough to keep: the decision of a run with the suite `check`.

mod parts;
mod surface_read;

use drivescope_model::decision::{Advice, Decision, DecisionReason, PartOutcome};
use drivescope_model::document::Run;
use drivescope_model::drive::{Drive, DriveKind};
use drivescope_model::findings::{Finding, FindingId, is_under};
use drivescope_model::health::Health;
use drivescope_model::number::whole;
use drivescope_model::shell::quoted;
use drivescope_model::{Severity, Suite, TestKind, TestResult, TestStatus};
use surface_read::SurfaceRead;

const SUITE: &str = "check";

/// What a finding says of keeping the drive.
struct FindingRule {
    finding: FindingId,
    decides: Advice,
    because: &'static str,
    settle: Settle,
}

/// What settles a reason: words, and a command in which `DRIVE` is the target.
type Settle = (&'static str, &'static str);

const fn send_back(finding: FindingId, because: &'static str) -> FindingRule {
    FindingRule { finding, decides: Advice::SendBack, because, settle: ("", "") }
}

const fn not_sure(finding: FindingId, because: &'static str, settle: Settle) -> FindingRule {
    FindingRule { finding, decides: Advice::NotSure, because, settle }
}

const AGAIN: &str = "drivescope check DRIVE";
const OTHER_CABLE: Settle = ("use another cable, port or dock, then again:", AGAIN);
const DRIVE_BELOW: Settle = ("check the drive itself, where it is attached:", "drivescope list");

/// The worst decides. Shingled tracks, heat and low rates decide nothing.
const FINDING_RULES: [FindingRule; 18] = [
    send_back(FindingId::FakeCapacity, "it holds less than it claims"),
    send_back(FindingId::DataMismatch, "it returned other data than were written"),
    send_back(FindingId::IoError, "parts of it cannot be read or written"),
    send_back(FindingId::FailingHealth, "it reports that it is failing"),
    send_back(FindingId::NewBadSectors, "it lost sectors during the check"),
    send_back(FindingId::SlowRegion, "a part of it reads slowly, as before places fail"),
    send_back(FindingId::FlushIgnored, "it confirms flushes before the data are safe"),
    not_sure(FindingId::DriveGone, "it vanished during the check", OTHER_CABLE),
    not_sure(FindingId::LinkErrors, "transfers were damaged on the way", OTHER_CABLE),
    not_sure(FindingId::SlowLink, "its link is slower than both ends can be", OTHER_CABLE),
    not_sure(FindingId::Stall, "it answered nothing for more than a second", OTHER_CABLE),
    not_sure(
        FindingId::CountersDisagree,
        "it is not new: its counters contradict each other",
        ("keep it only if it was sold as used", ""),
    ),
    not_sure(
        FindingId::FreeFlush,
        "flushes cost nothing: protected, or not done",
        ("look for power-loss protection in its data sheet", ""),
    ),
    not_sure(FindingId::VirtualDrive, "it is a virtual drive", DRIVE_BELOW),
    not_sure(FindingId::MemoryBacked, "no drive lies below it", DRIVE_BELOW),
    not_sure(FindingId::Unproven, "a cache may have answered in its place", DRIVE_BELOW),
    not_sure(FindingId::PageCache, "memory answered in its place", DRIVE_BELOW),
    not_sure(FindingId::BytesMissing, "a cache above it answered", DRIVE_BELOW),
];

/// What a count of SMART says of keeping the drive, from `least` on.
struct CountRule {
    count: fn(&Health) -> Option<u64>,
    least: u64,
    decides: Advice,
    what: &'static str,
    because: &'static str,
    settle: Settle,
}

/// A used drive may have them, a new one must not.
const OF_USE: Settle =
    ("do not keep it as new; of a used one see in a month whether it grows:", AGAIN);

const COUNT_RULES: [CountRule; 5] = [
    CountRule {
        count: |health| health.pending_sectors,
        least: 1,
        decides: Advice::SendBack,
        what: "pending sectors",
        because: "it could not read them and waits to replace them",
        settle: ("", ""),
    },
    CountRule {
        count: |health| health.offline_uncorrectable,
        least: 1,
        decides: Advice::SendBack,
        what: "offline-uncorrectable sectors",
        because: "its own scan could not read them",
        settle: ("", ""),
    },
    CountRule {
        count: |health| health.wear_pct,
        least: 100,
        decides: Advice::SendBack,
        what: "% of its rated endurance used",
        because: "it is worn out by its maker's figure",
        settle: ("", ""),
    },
    CountRule {
        count: |health| health.uncorrected_errors,
        least: 1,
        decides: Advice::NotSure,
        what: "uncorrected errors in its life",
        because: "it has lost data before",
        settle: OF_USE,
    },
    CountRule {
        count: |health| health.reallocated_sectors,
        least: 1,
        decides: Advice::NotSure,
        what: "reallocated sectors",
        because: "it has replaced weak places before",
        settle: OF_USE,
    },
];

/// Whether runs of this suite decide.
pub fn decides(suite: &Suite) -> bool {
    suite.name == SUITE
}

/// The decision; `None` for runs of other suites.
pub fn decide(run: &Run) -> Option<Decision> {
    if !decides(&run.plan.suite) {
        return None;
    }
    let mut reasons: Vec<DecisionReason> =
        FINDING_RULES.iter().filter_map(|rule| of_finding(rule, run)).collect();
    reasons.extend(COUNT_RULES.iter().filter_map(|rule| of_count(rule, run)));
    let more = [ended_early, earlier_fake, unknown_health, self_test, surface, capacity];
    reasons.extend(more.into_iter().filter_map(|rule| rule(run)));
    reasons.sort_by_key(|reason| std::cmp::Reverse(reason.decides));
    let advice = reasons.iter().map(|reason| reason.decides).max().unwrap_or(Advice::Keep);
    Some(Decision { advice, reasons, parts: parts::parts(run) })
}

fn has(run: &Run, id: FindingId) -> bool {
    run.findings.iter().any(|finding| finding.id == id)
}

fn reason(run: &Run, decides: Advice, because: String, settle: Settle) -> DecisionReason {
    let (settle, command) = (settle.0.to_string(), settle.1);
    let command = command.replace("DRIVE", &quoted(&run.target.path));
    DecisionReason { decides, because, seen: String::new(), settle, command }
}

fn of_finding(rule: &FindingRule, run: &Run) -> Option<DecisionReason> {
    let finding = run.findings.iter().find(|finding| finding.id == rule.finding)?;
    let is_moot = match finding.id {
        // The requests to a drive that is gone fail, whatever its medium is like.
        FindingId::IoError => has(run, FindingId::DriveGone),
        // Writes of a shingled drive may wait for its rewriting, and a drive retries what it cannot read.
        FindingId::Stall => !is_about(finding, TestKind::Surface) || has(run, FindingId::IoError),
        FindingId::SlowRegion => is_beside_blank(run),
        _ => false,
    };
    let because = format!("{} ({})", rule.because, finding.id);
    let seen = finding.evidence.clone();
    let is_doubted = finding.id == FindingId::SlowRegion && disturbed(run);
    let (decides, settle) = if is_doubted {
        (Advice::NotSure, ("let nothing else use machine and drive, then again:", AGAIN))
    } else {
        (rule.decides, rule.settle)
    };
    let of_rule = reason(run, decides, because, settle);
    (!is_moot).then_some(DecisionReason { seen, ..of_rule })
}

/// Flash answers what was never written at once: what is written seems slow beside it.
fn is_beside_blank(run: &Run) -> bool {
    has(run, FindingId::BlankTarget)
}

/// Whether something besides the drive may have slowed it.
fn disturbed(run: &Run) -> bool {
    let ids = [FindingId::OtherIo, FindingId::BusyProcessors, FindingId::VirtualDrive];
    let is_one = |it: &Finding| ids.contains(&it.id) && is_about(it, TestKind::Surface);
    let weighs = |it: &Finding| it.severity > Severity::Note || it.id == FindingId::VirtualDrive;
    run.findings.iter().any(|it| is_one(it) && weighs(it))
}

fn is_about(finding: &Finding, test: TestKind) -> bool {
    finding.metrics.is_empty() || finding.metrics.iter().any(|key| is_under(key, test.name()))
}

/// Health at the end, or else at the start.
fn last_health(run: &Run) -> Option<&Health> {
    let before = run.drive.as_ref().map(|drive| &drive.health);
    run.health_after.as_ref().or(before).filter(|health| health.is_known())
}

fn of_count(rule: &CountRule, run: &Run) -> Option<DecisionReason> {
    let count = (rule.count)(last_health(run)?).filter(|count| *count >= rule.least)?;
    let because = format!("{} {}: {}", whole(count), rule.what, rule.because);
    Some(reason(run, rule.decides, because, rule.settle))
}

fn result_of(run: &Run, test: TestKind) -> Option<&TestResult> {
    run.tests.iter().find(|result| result.test == test)
}

fn ended_early(run: &Run) -> Option<DecisionReason> {
    (run.status == TestStatus::Interrupted).then(|| {
        let because = "the check was interrupted".to_string();
        reason(run, Advice::NotSure, because, ("continue it:", "drivescope check DRIVE --resume"))
    })
}

fn earlier_fake(run: &Run) -> Option<DecisionReason> {
    let found = super::found_missing(run)?;
    let (id, run_id) = (FindingId::FakeCapacity, &found.run);
    let because = format!("it holds less than it claims ({id} in run {run_id})");
    Some(reason(run, Advice::SendBack, because, ("", "")))
}

/// A simulated drive has no SMART unless it is given one.
fn unknown_health(run: &Run) -> Option<DecisionReason> {
    let health = run.drive.as_ref().map(|drive| &drive.health);
    if run.simulated || health.is_some_and(|health| health.is_known()) {
        return None;
    }
    let note = health.and_then(|health| health.note.as_deref()).unwrap_or("no drive is known");
    let note = note.strip_prefix("health: ").unwrap_or(note);
    let because = format!("its health is not known: {note}");
    Some(reason(run, Advice::NotSure, because, ("then again:", AGAIN)))
}

/// A test that the drive did not bring to its end. One that failed is finding F057; without health there is none.
fn self_test(run: &Run) -> Option<DecisionReason> {
    let result = result_of(run, TestKind::SelfTest)?;
    let ended = result.self_test.as_ref().filter(|test| test.passed.is_none())?;
    let because = format!("its self-test did not end: {}", ended.result);
    Some(reason(run, Advice::NotSure, because, ("again:", AGAIN)))
}

fn surface(run: &Run) -> Option<DecisionReason> {
    // What could not be read is a reason of its own.
    if run.status == TestStatus::Interrupted || has(run, FindingId::IoError) {
        return None;
    }
    let read = SurfaceRead::of(run);
    (!read.is_whole()).then(|| reason(run, Advice::NotSure, read.why_not_whole(), read.remedy()))
}

/// Fakes are common among what is sold with a USB plug or as a card; reading does not show them.
fn capacity(run: &Run) -> Option<DecisionReason> {
    let drive = run.drive.as_ref()?;
    let is_known = super::capacity::is_tested(run) || has(run, FindingId::FakeCapacity);
    let asked = run.plan.suite.tests.contains(&TestKind::Verify);
    let may_be_fake = drive.kind == DriveKind::Card || drive.transport == "usb";
    if is_known || run.status == TestStatus::Interrupted || !(asked || may_be_fake) {
        return None;
    }
    let why = result_of(run, TestKind::Verify).and_then(|result| result.reason.as_deref());
    let because = match (asked, why) {
        (true, Some(why)) => format!("its capacity is not tested: {why}"),
        (true, None) => "its capacity is not tested".to_string(),
        (false, _) => {
            "its capacity is not tested, and USB drives and cards may be fakes".to_string()
        }
    };
    let command = format!("{AGAIN} --destroy {}", serial(drive));
    let words = ("write all of it, which erases it:", "");
    let found = reason(run, Advice::NotSure, because, words);
    let command = command.replace("DRIVE", &quoted(&run.target.path));
    Some(DecisionReason { command, ..found })
}

fn serial(drive: &Drive) -> String {
    quoted(drive.serial.as_deref().map_or("SERIAL", str::trim)).to_string()
}

/// The words of an advice: `keep it`.
pub(crate) const fn words(advice: Advice) -> &'static str {
    match advice {
        Advice::Keep => "keep it",
        Advice::NotSure => "not sure",
        Advice::SendBack => "send it back",
    }
}

/// How a part ended, in a word.
pub(crate) const fn outcome_words(outcome: PartOutcome) -> &'static str {
    match outcome {
        PartOutcome::Good => "ok",
        PartOutcome::Bad => "bad",
        PartOutcome::NotTested => "not tested",
    }
}

#[cfg(test)]
mod tests;
