//! What stands around a test's table: failed requests and marks; with `--verbose` also intervals and limiters.

use crate::first_seen::grouped;
use crate::terminal::{DOT, Paragraph, Role, Style, common_limiter, half_width};
use crate::workloads::workload;
use drivescope_model::document::Limiter;
use drivescope_model::number::whole;
use drivescope_model::{FindingId, PhaseRecord, TestResult, TestStatus};

/// More phases than this are counted; `--verbose` shows them all.
const NAMED_MAX: usize = 3;

/// `2 of 5,006 requests failed`.
pub(super) fn errors(result: &TestResult) -> Option<String> {
    let sum = |count: fn(&PhaseRecord) -> u64| {
        result.phases.iter().map(count).fold(0u64, u64::saturating_add)
    };
    let failed = sum(|phase| phase.errors);
    let all = failed.saturating_add(sum(|phase| phase.ops));
    (failed > 0).then(|| format!("{} of {} requests failed", whole(failed), whole(all)))
}

pub(super) fn methods(result: &TestResult, style: Style) -> String {
    let name = format!("{}  ", result.test.name());
    let mut paragraph =
        Paragraph::new().lead(Role::Title, &name).items(Role::Dim, intervals(result));
    for (i, text) in limits(result).iter().enumerate() {
        paragraph = paragraph.item_after(if i == 0 { DOT } else { " " }, Role::Dim, text);
    }
    paragraph.lines_if_words(2, style)
}

/// Explains marks and gaps of the table, in one or two dim lines.
pub(super) fn footer(result: &TestResult, style: Style) -> String {
    let mut out = invalid(result, style);
    // A test that ended well gives as its reason what it had to leave out.
    let reason = result.reason.as_deref().filter(|_| !workload(result.test).tells_reason);
    if let (TestStatus::Done, Some(parts)) = (result.status, reason) {
        let paragraph = Paragraph::new().lead(Role::Dim, "  left out: ").text(Role::Dim, parts);
        out.push_str(&paragraph.lines(4, style));
    }
    out
}

/// Explains `!`.
fn invalid(result: &TestResult, style: Style) -> String {
    let marked: Vec<_> = result.metrics.iter().filter(|metric| !metric.valid).collect();
    if marked.is_empty() {
        return String::new();
    }
    let mut ids: Vec<FindingId> =
        marked.iter().flat_map(|metric| metric.invalid_because.iter().copied()).collect();
    ids.sort_unstable();
    ids.dedup();
    let names: Vec<String> =
        ids.iter().map(|id| format!("{} {}", id.spec().id, id.spec().name)).collect();
    let colon = if names.is_empty() { "" } else { ":" };
    Paragraph::new()
        .lead(Role::Warn, "  ! ")
        .item_after(" ", Role::Warn, format!("invalid{colon}"))
        .text(Role::Warn, names.join(", "))
        .lines(4, style)
}

/// Whether a percentile in the tables comes from all rounds together, because one round has too few requests.
fn has_joint_percentiles(result: &TestResult) -> bool {
    let shown = [".lat_p50_us", ".lat_p99_us", ".lat_p99_9_us"];
    let is_shown = |key: &str| shown.iter().any(|end| key.ends_with(end));
    result.metrics.iter().any(|metric| is_shown(&metric.key) && metric.rounds.len() == 1)
}

fn intervals(result: &TestResult) -> Option<String> {
    let rounds = result.metrics.iter().filter(|m| half_width(m).is_some()).map(|m| m.rounds.len());
    let (least, most) = (rounds.clone().min()?, rounds.max()?);
    let rounds = if least == most { least.to_string() } else { format!("{least} to {most}") };
    let extremes = match workload(result.test).extremes {
        "" => String::new(),
        extremes if has_joint_percentiles(result) => {
            format!(", {extremes} and rare percentiles over all rounds")
        }
        extremes => format!(", {extremes} over all rounds"),
    };
    Some(format!("median of {rounds} rounds with its 95 % interval{extremes}"))
}

/// The most common limiter, and phases with another one: `limited by the drive;`, `by one CPU in …`.
fn limits(result: &TestResult) -> Vec<String> {
    // The user chose the rate of an open loop; a limit beside it would only confuse.
    let phases = result.phases.iter().filter(|phase| phase.limiter != Limiter::Schedule);
    let cells = grouped(phases.map(|phase| (phase.cell.as_str(), phase)));
    let common = cells
        .into_iter()
        .filter_map(|(cell, rounds)| Some((common_limiter(rounds.into_iter())?, cell)));
    let mut groups = grouped(common);
    groups.sort_by_key(|(_, cells)| std::cmp::Reverse(cells.len()));
    let mut texts = Vec::new();
    for (i, (limiter, cells)) in groups.iter().enumerate() {
        let end = if i + 1 < groups.len() { ";" } else { "" };
        if i == 0 {
            texts.push(format!("limited by {}{end}", by(*limiter)));
        } else if cells.len() <= NAMED_MAX {
            texts.push(format!("by {} in {}{end}", by(*limiter), cells.join(", ")));
        } else {
            texts.push(format!("by {} in {} phases{end}", by(*limiter), cells.len()));
        }
    }
    texts
}

/// `the drive`, `one CPU`.
fn by(limiter: Limiter) -> String {
    match limiter {
        Limiter::Cpu | Limiter::OtherPrograms | Limiter::Throttling | Limiter::Memory => {
            limiter.name().to_string()
        }
        other => format!("the {}", other.name()),
    }
}
