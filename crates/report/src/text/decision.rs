//! What a check decides, why, and what was tested.

use crate::terminal::{Paragraph, Role, Style, clean, width};
use crate::verdict::keep::words;
use drivescope_model::decision::{Advice, CheckedPart, Decision, DecisionReason, PartOutcome};

/// The decision first, then a line for each reason, then a line for each part.
pub(super) fn decision(decision: &Decision, style: Style) -> String {
    let Decision { advice, reasons, parts } = decision;
    let because = if *advice == Advice::NotSure { ", because" } else { "" };
    let first = format!("{}{because}", words(*advice));
    let mut out = Paragraph::new().text(Role::Title, first).lines(0, style);
    out.extend(reasons.iter().map(|it| reason(it, style)));
    let name_width = parts.iter().map(|it| width(&clean(&it.part))).max().unwrap_or(0);
    if !parts.is_empty() {
        out.push('\n');
    }
    out.extend(parts.iter().map(|it| part(it, name_width, style)));
    out
}

/// What was seen stands in the same line, if it fits.
fn reason(reason: &DecisionReason, style: Style) -> String {
    let DecisionReason { decides, because, seen, settle, command } = reason;
    let role = if *decides == Advice::SendBack { Role::Bad } else { Role::Warn };
    let both = format!("{because}: {seen}");
    let fits = !seen.is_empty() && width(&clean(&both)) + 4 <= style.columns;
    let words = if fits { &both } else { because };
    let lines = Paragraph::new().lead(role, "  ! ").text(Role::Plain, words).lines(4, style);
    let settled = Paragraph::new().lead(Role::Dim, "    ");
    let settle = match (settle.is_empty(), command.is_empty()) {
        (false, false) => settled.command(Role::Dim, settle, command),
        _ => settled.text(Role::Dim, settle),
    };
    lines + &settle.lines_if_words(4, style)
}

fn part(part: &CheckedPart, name_width: usize, style: Style) -> String {
    let (role, sign) = match part.outcome {
        PartOutcome::Good => (Role::Good, "ok"),
        PartOutcome::Bad => (Role::Bad, "!"),
        PartOutcome::NotTested => (Role::Dim, "–"),
    };
    let words = match part.outcome {
        PartOutcome::NotTested => format!("not tested: {}", part.result),
        _ => part.result.clone(),
    };
    Paragraph::new()
        .lead(Role::Plain, format!("  {:<name_width$}  ", clean(&part.part)))
        .lead(role, format!("{sign:<2}  "))
        .text(if role == Role::Dim { Role::Dim } else { Role::Plain }, words)
        .lines(name_width + 8, style)
}
