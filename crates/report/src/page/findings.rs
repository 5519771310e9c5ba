//! Findings as cards: what it means for the drive, the evidence, what to do.

use crate::chart::plain_words::{capitalized, cell_words};
use crate::first_seen::grouped;
use drivescope_model::findings::Severity;
use drivescope_model::{Cell, Finding, FindingId};
use maud::{Markup, html};

/// Cards that are shown at once, and pieces of evidence in one of them.
const CARDS_MAX: usize = 6;
const EVIDENCE_MAX: usize = 2;

/// The findings that qualify figures, worst first, one card for each kind; notes are folded.
pub fn findings(findings: &[Finding]) -> Markup {
    let mut kinds = grouped(findings.iter().map(|finding| (finding.id, finding)));
    kinds.sort_by_key(|(_, of_kind)| std::cmp::Reverse(severity(of_kind)));
    let is_grave = |(_, of_kind): &&(FindingId, Vec<&Finding>)| severity(of_kind) > Severity::Note;
    let shown = kinds.iter().filter(is_grave).count().min(CARDS_MAX);
    let (matter, others) = kinds.split_at(shown);
    html! {
        @if !findings.is_empty() {
            section.first {
                h2 { "Findings that matter" @if !others.is_empty() && !matter.is_empty() {
                    span.small { " " (matter.len()) " of " (kinds.len()) }
                } }
                @if matter.is_empty() { p { "Nothing that limits what the figures say." } }
                div.cards { @for (id, of_kind) in matter { (card(*id, of_kind)) } }
                @if !others.is_empty() {
                    details {
                        summary { "Other findings: " (others.len()) }
                        div.cards { @for (id, of_kind) in others { (card(*id, of_kind)) } }
                    }
                }
            }
        }
    }
}

fn severity(findings: &[&Finding]) -> Severity {
    findings.iter().map(|finding| finding.severity).max().unwrap_or(Severity::Note)
}

fn card(id: FindingId, findings: &[&Finding]) -> Markup {
    let severity = severity(findings);
    let is_grave = severity > Severity::Note;
    let more = findings.len().saturating_sub(EVIDENCE_MAX);
    html! {
        article {
            p.(if is_grave { "grave" } else { "small" }) {
                @if is_grave { "▲ " } @else { "● " } (severity.name()) " · " (id.spec().id)
            }
            h3 { (meaning(id)) }
            @for finding in findings.iter().take(EVIDENCE_MAX) { p.small { (in_words(&finding.evidence)) } }
            @if more > 0 { p.small { "and " (more) " more like this" } }
            @if let Some(finding) = findings.first() { p.small { strong { (finding.remedy) } } }
        }
    }
}

/// Cells in words: `seq1m_q8t1.read: 190 MB/s` as `sequential 1 MiB, Q8, read: 190 MB/s`.
fn in_words(evidence: &str) -> String {
    let word = |word: &str| {
        let key = word.trim_end_matches([':', ',', ';', '.', ')']);
        match key.parse::<Cell>() {
            Ok(cell) => cell_words(&cell) + &word[key.len()..],
            Err(_) => word.to_string(),
        }
    };
    evidence.split(' ').map(word).collect::<Vec<_>>().join(" ")
}

/// The cause of each kind.
pub fn causes(findings: &[Finding]) -> Markup {
    let kinds = grouped(findings.iter().map(|finding| (finding.id, finding)));
    html! {
        @if !kinds.is_empty() {
            details {
                summary { "Why each finding occurs" }
                dl { @for (id, of_kind) in kinds {
                    dt { (id.spec().id) " " (meaning(id)) }
                    @if let Some(finding) = of_kind.first() { dd { (finding.cause) } }
                } }
            }
        }
    }
}

/// What it means for the drive, and what to do.
fn meaning(id: FindingId) -> String {
    capitalized(id.spec().means)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_kind_is_one_card_and_notes_are_folded() {
        let mut all: Vec<Finding> =
            (0..5).map(|i| Finding::new(FindingId::Unstable, format!("cell {i}"))).collect();
        all.push(Finding::new(FindingId::SystemDisk, "/home"));
        let page = findings(&all).into_string();
        assert_eq!(page.matches("<article>").count(), 2);
        let (shown, folded) = page.split_once("<details>").unwrap();
        assert!(shown.contains("and 3 more like this") && shown.contains("1 of 2"), "{shown}");
        assert!(folded.contains("/home"), "{folded}");
        assert_eq!(findings(&[]).into_string(), "");
    }

    #[test]
    fn cells_in_evidence_are_words() {
        let evidence = "seq1m_q8t1.read: 190 MB/s, and 18.2 MB/s at random";
        assert_eq!(
            in_words(evidence),
            "sequential 1 MiB, Q8, read: 190 MB/s, and 18.2 MB/s at random"
        );
        assert_eq!(in_words("/home lies on sda2"), "/home lies on sda2");
    }
}
