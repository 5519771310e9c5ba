//! Findings, the gravest first: what was seen, and what can be done.

use crate::terminal::{Paragraph, Role, Style, clean, shorten};
use drivescope_model::{Finding, FindingId, Severity};

/// Most observations printed for one finding; the document holds all.
const SHOWN_MAX: usize = 4;
/// Where the words of a finding begin on its further lines.
const INDENT: usize = 6;

/// Findings ordered by severity: problems, invalid numbers, warnings, notes. Several of the same id
/// become one with several observations. Notes have no remedy line.
pub fn findings(findings: &[Finding], style: Style) -> String {
    let mut groups: Vec<(FindingId, Vec<&Finding>)> = Vec::new();
    for finding in findings {
        match groups.iter_mut().find(|(id, _)| *id == finding.id) {
            Some((_, group)) => group.push(finding),
            None => groups.push((finding.id, vec![finding])),
        }
    }
    groups.sort_by_key(|(_, group)| std::cmp::Reverse(group[0].severity));
    groups.iter().map(|(id, group)| one(*id, group, style)).collect()
}

fn one(id: FindingId, group: &[&Finding], style: Style) -> String {
    let severity = group[0].severity;
    let mut seen: Vec<&str> = Vec::new();
    for finding in group {
        if !seen.contains(&finding.evidence.as_str()) {
            seen.push(&finding.evidence);
        }
    }
    let name = shorten(&clean(&group[0].name), 24).into_owned();
    let mut paragraph = Paragraph::new()
        .lead(role(severity), format!("{}  {:<7}", id.spec().id, severity.name()))
        .lead(Role::Title, format!("  {name}"))
        .lead(Role::Plain, "  ");
    paragraph = paragraph.text(Role::Plain, seen[0]);
    let mut out = paragraph.lines(INDENT, style);
    let indent = " ".repeat(INDENT);
    for evidence in seen.iter().skip(1).take(SHOWN_MAX - 1) {
        let paragraph = Paragraph::new().lead(Role::Plain, &indent).text(Role::Plain, evidence);
        out.push_str(&paragraph.lines(INDENT, style));
    }
    let all: usize = group.iter().map(|finding| finding.count()).sum();
    let shown = seen.len().min(SHOWN_MAX);
    if all > shown && (seen.len() > SHOWN_MAX || group.iter().any(|finding| finding.count() > 1)) {
        let text = format!("and {} more", all - shown);
        out.push_str(
            &Paragraph::new().lead(Role::Dim, &indent).text(Role::Dim, &text).lines(INDENT, style),
        );
    }
    if severity > Severity::Note && !group[0].remedy.is_empty() {
        let lead = format!("{indent}→ ");
        let paragraph = Paragraph::new().lead(Role::Dim, &lead).text(Role::Dim, &group[0].remedy);
        out.push_str(&paragraph.lines(INDENT + 2, style));
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
