//! Findings as cards: what it means for the drive, the evidence, what to do.

use crate::chart::plain_words::cell_words;
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
            h3 { (title(id)) }
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
                    dt { (id.spec().id) " " (title(id)) }
                    @if let Some(finding) = of_kind.first() { dd { (finding.cause) } }
                } }
            }
        }
    }
}

/// What a finding means, in words of people who do not measure drives.
pub const fn title(id: FindingId) -> &'static str {
    match id {
        FindingId::PageCache => "Answered from memory, not by the drive",
        FindingId::MemoryBacked => "It lies in memory, not on a drive",
        FindingId::AboveLink => "Faster than its link can be",
        FindingId::AboveMemory => "Faster than memory can be",
        FindingId::Compression => "The file system compresses",
        FindingId::NetworkFs => "Measured over a network",
        FindingId::FlushIgnored => "Power cuts can lose writes",
        FindingId::FuseFs => "A program stands between",
        FindingId::CpuBound => "The processor was the limit",
        FindingId::OtherIo => "Other programs used the drive",
        FindingId::DirectRefused => "A cache was in the path",
        FindingId::SmallWorkingSet => "Small enough for a cache",
        FindingId::FewRounds => "Too few rounds to know the spread",
        FindingId::Throttled => "It slowed down while it was measured",
        FindingId::SystemDisk => "The system runs from this drive",
        FindingId::PowerSave => "The machine saved power",
        FindingId::IoError => "Requests failed",
        FindingId::BytesMissing => "A cache answered a part",
        FindingId::DataMismatch => "Wrong data came back",
        FindingId::Stall => "It stood still for a while",
        FindingId::Unstable => "Results vary from round to round",
        FindingId::VirtualDrive => "A virtual drive",
        FindingId::RateMissed => "It could not keep the rate asked for",
        FindingId::SlowLink => "Its link is slow",
        FindingId::SharedDrive => "Another layer lies above the drive",
        FindingId::Misaligned => "A partition begins at a slow place",
        FindingId::AboveRotation => "Faster than a disk can turn",
        FindingId::Unflushed => "Small writes were still in memory",
        FindingId::SectorLie => "It reports the wrong sector size",
        FindingId::ShiftedSectors => "Its sectors are shifted",
        FindingId::FakeCapacity => "It holds less than it claims",
        FindingId::ConfinedWrites => "Only a small part was written",
        FindingId::BlankRewritten => "Empty places were written back",
        FindingId::BusyProcessors => "Other programs kept the processors busy",
        FindingId::ShortStroke => "Only a small part of the disk was used",
        FindingId::Holes => "Parts of the file do not exist",
        FindingId::SampledCache => "A cache took the samples",
        FindingId::CacheFull => "Writes are fast until a cache is full",
        FindingId::NoQueueGain => "Many requests at once gain nothing",
        FindingId::SlowRegion => "A part of it reads slowly",
        FindingId::Unproven => "A cache may have answered",
        FindingId::IoLimited => "A limit may have slowed it",
        FindingId::BlankTarget => "Nothing was written there yet",
        FindingId::NetworkDrive => "The drive is reached over a network",
        FindingId::FreeFlush => "Flushes cost nothing",
        FindingId::Shingled => "A shingled disk",
        FindingId::CopiedByReference => "Nothing was copied",
        FindingId::FilesInMemory => "Files may come from memory",
        FindingId::SourceLimits => "The source was the limit",
        FindingId::ScatteredFiles => "Files lie in pieces",
        FindingId::TraceLate => "It fell behind the recorded program",
        FindingId::NotSteady => "It did not become steady",
        FindingId::SlowWhenSteady => "Slower when it writes all day",
        FindingId::TableInMemory => "The table fits in memory",
        FindingId::CommitNotDurable => "Commits are not safe",
        FindingId::StatementErrors => "Statements failed",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_kind_is_one_card_and_notes_are_folded() {
        let unstable = |i| Finding::new(FindingId::Unstable, format!("cell {i}"));
        let mut all: Vec<Finding> = (0..5).map(unstable).collect();
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

    #[test]
    fn titles_are_words_not_ids() {
        for id in FindingId::ALL {
            assert!(!title(*id).contains(['-', '_']), "{}", title(*id));
        }
    }
}
