//! Findings, the gravest first: what they mean, what was seen, and what can be done.

use crate::first_seen::{distinct, grouped};
use crate::terminal::{DOT, Paragraph, Role, Style, clean, width};
use drivescope_model::{Finding, FindingId, Severity};

/// The document has the other observations.
const SHOWN_MAX: usize = 4;
const INDENT: usize = 6;
const BRIEF_INDENT: usize = 10;

type FindingGroup<'f> = (FindingId, Vec<&'f Finding>);

/// Problems, invalid numbers, warnings, notes; findings of the same id are one.
fn by_severity(findings: &[Finding]) -> Vec<FindingGroup<'_>> {
    let mut groups = grouped(findings.iter().map(|finding| (finding.id, finding)));
    groups.sort_by_key(|(_, group)| std::cmp::Reverse(group[0].severity));
    groups
}

/// What each means, with all observations and, except for notes, the remedy.
pub fn findings(findings: &[Finding], style: Style) -> String {
    by_severity(findings).iter().map(|group| one(group, style)).collect()
}

/// A line for each: what it means, and what was seen if that fits beside it. Problems always show what was seen.
pub fn findings_in_brief(findings: &[Finding], style: Style) -> String {
    let groups = by_severity(findings);
    let Some((first, _)) = groups.first() else { return String::new() };
    let lines: String = groups.iter().map(|group| one_line(group, style)).collect();
    let more = format!("drivescope explain {first}");
    let remedies =
        Paragraph::new().lead(Role::Dim, "    ").command(Role::Dim, "rule, cause, remedy:", &more);
    lines + &remedies.lines(BRIEF_INDENT, style)
}

/// The entry of a finding in `docs/findings.md`.
pub fn finding_explained(id: FindingId, style: Style) -> String {
    let spec = id.spec();
    let head = Paragraph::new()
        .lead(Role::Title, format!("{id} {}", spec.name))
        .lead(Role::Dim, DOT)
        .lead(role(spec.severity), spec.severity.name());
    let part = |lead: &str, text: &str| {
        Paragraph::new().lead(Role::Dim, lead).text(Role::Plain, text).lines(8, style)
    };
    let raised = format!("raised when {}", spec.rule);
    let parts = [
        head.lines(0, style),
        part("Means   ", spec.means),
        part("Rule    ", &raised),
        part("Cause   ", spec.cause),
        part("Remedy  ", spec.remedy),
    ];
    parts.concat()
}

fn one((id, group): &FindingGroup<'_>, style: Style) -> String {
    let severity = group[0].severity;
    let out = Paragraph::new()
        .lead(role(severity), format!("{id}  {:<7}", severity.name()))
        .lead(Role::Plain, "  ")
        .text(Role::Title, id.spec().means)
        .lines(INDENT, style);
    let out = out + &seen(group, INDENT, style);
    if severity == Severity::Note || group[0].remedy.is_empty() {
        return out;
    }
    let remedy = Paragraph::new()
        .lead(Role::Dim, format!("{}→ ", " ".repeat(INDENT)))
        .text(Role::Dim, &group[0].remedy);
    out + &remedy.lines(INDENT + 2, style)
}

fn one_line(group: &FindingGroup<'_>, style: Style) -> String {
    let (id, all) = group;
    let (severity, means) = (all[0].severity, id.spec().means);
    let sign = if severity > Severity::Note { '!' } else { ' ' };
    let line =
        Paragraph::new().lead(role(severity), format!("  {sign} {id}  ")).text(Role::Plain, means);
    if severity == Severity::Problem {
        return line.lines(BRIEF_INDENT, style) + &seen(all, BRIEF_INDENT, style);
    }
    let room = style.columns.saturating_sub(BRIEF_INDENT + width(means) + " ()".len());
    let detail = details(all).into_iter().find(|detail| width(detail) <= room);
    let detail = detail.map_or(String::new(), |detail| format!("({detail})"));
    line.text(Role::Dim, detail).lines(BRIEF_INDENT, style)
}

/// What was seen, or how often, or in which cell: the first that fits is shown.
fn details(group: &[&Finding]) -> Vec<String> {
    let evidence = clean(&group[0].evidence).into_owned();
    match group.iter().map(|finding| finding.count()).sum() {
        1 => {
            let cell = evidence.split_once(": ").map(|(cell, _)| cell.to_string());
            let cell = cell.filter(|cell| !cell.contains(' '));
            std::iter::once(evidence).chain(cell).collect()
        }
        count => vec![format!("{evidence}; {} more", count - 1), format!("{count} times")],
    }
}

/// The observations, a line each.
fn seen(group: &[&Finding], indent: usize, style: Style) -> String {
    let seen = distinct(group.iter().map(|finding| finding.evidence.as_str()));
    let lead = " ".repeat(indent);
    let line =
        |role, text: &str| Paragraph::new().lead(role, &lead).text(role, text).lines(indent, style);
    let mut out: String =
        seen.iter().take(SHOWN_MAX).map(|evidence| line(Role::Plain, evidence)).collect();
    let all: usize = group.iter().map(|finding| finding.count()).sum();
    let shown = seen.len().min(SHOWN_MAX);
    if all > shown && (seen.len() > SHOWN_MAX || group.iter().any(|finding| finding.count() > 1)) {
        out += &line(Role::Dim, &format!("and {} more", all - shown));
    }
    out
}

fn role(severity: Severity) -> Role {
    match severity {
        Severity::Note => Role::Dim,
        Severity::Warning | Severity::Invalid => Role::Warn,
        Severity::Problem => Role::Bad,
    }
}
