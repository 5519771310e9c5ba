//! Findings, the gravest first: what was seen, and what can be done.

use crate::first_seen::{distinct, grouped};
use crate::terminal::{Paragraph, Role, Style, clean, shorten};
use drivescope_model::{Finding, FindingId, Severity};

/// The document has the other observations.
const SHOWN_MAX: usize = 4;
const INDENT: usize = 6;

/// Sorted by severity: problems, invalid numbers, warnings, notes. Findings of the same id become one with several
/// observations. Notes have no remedy.
pub fn findings(findings: &[Finding], style: Style) -> String {
    let mut groups = grouped(findings.iter().map(|finding| (finding.id, finding)));
    groups.sort_by_key(|(_, group)| std::cmp::Reverse(group[0].severity));
    groups.iter().map(|(id, group)| one(*id, group, style)).collect()
}

fn one(id: FindingId, group: &[&Finding], style: Style) -> String {
    let severity = group[0].severity;
    let seen = distinct(group.iter().map(|finding| finding.evidence.as_str()));
    let name = shorten(&clean(&group[0].name), 24).into_owned();
    let mut out = Paragraph::new()
        .lead(role(severity), format!("{}  {:<7}", id.spec().id, severity.name()))
        .lead(Role::Title, format!("  {name}"))
        .lead(Role::Plain, "  ")
        .text(Role::Plain, seen[0])
        .lines(INDENT, style);
    let indent = " ".repeat(INDENT);
    let further = |role, lead: &str, text: &str, hang| {
        Paragraph::new().lead(role, lead).text(role, text).lines(hang, style)
    };
    for evidence in seen.iter().skip(1).take(SHOWN_MAX - 1) {
        out.push_str(&further(Role::Plain, &indent, evidence, INDENT));
    }
    let all: usize = group.iter().map(|finding| finding.count()).sum();
    let shown = seen.len().min(SHOWN_MAX);
    if all > shown && (seen.len() > SHOWN_MAX || group.iter().any(|finding| finding.count() > 1)) {
        out.push_str(&further(Role::Dim, &indent, &format!("and {} more", all - shown), INDENT));
    }
    if severity > Severity::Note && !group[0].remedy.is_empty() {
        let lead = format!("{indent}→ ");
        out.push_str(&further(Role::Dim, &lead, &group[0].remedy, INDENT + 2));
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
