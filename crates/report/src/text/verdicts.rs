//! Verdicts: dots, the use, and the reason, the best first.

use crate::first_seen::grouped;
use crate::terminal::{Paragraph, Role, Style, clean, note, shorten, width};
use crate::verdict;
use drivescope_model::document::{Run, TestStatus, Verdict};

/// Between the sentences of a reason.
const SENTENCE: &str = ". ";
const NAME_MAX: usize = 24;

/// Empty if nothing could be judged because the run was interrupted, which has been reported, or because no test was
/// asked for that judges.
pub fn verdicts_of(run: &Run, style: Style) -> String {
    let is_moot = run.verdict.iter().all(|verdict| {
        let is_interrupted = run.status == TestStatus::Interrupted && verdict.points.is_none();
        is_interrupted || verdict::lacking_test(verdict).is_some()
    });
    if is_moot {
        return String::new();
    }
    let remedy = verdict::capacity_remedy(run).map_or(String::new(), |text| note(text, style));
    verdicts(&run.verdict, style) + &remedy
}

/// One per use with its reason, the best first; sentences that all of them share stand once below, as do the uses that
/// other tests judge.
pub fn verdicts(verdicts: &[Verdict], style: Style) -> String {
    let Some(first) = verdicts.first() else { return String::new() };
    let same = |v: &Verdict| v.points == first.points && v.because == first.because;
    if verdicts.len() > 1 && verdicts.iter().all(same) {
        return for_all(first, style);
    }
    let mut out = Paragraph::new().lead(Role::Title, "verdict").lines(0, style);
    let shared = shared_ending(verdicts);
    let mut shown: Vec<&Verdict> =
        verdicts.iter().filter(|verdict| verdict::lacking_test(verdict).is_none()).collect();
    // Unjudged last: Some(0) sorts before None in this key.
    shown.sort_by_key(|verdict| verdict.points.map_or(u8::MAX, |points| 3 - points.min(3)));
    let names = shown.iter().map(|verdict| name(verdict));
    let name_width = names.map(|name| width(&name)).max().unwrap_or(0);
    for verdict in shown {
        let (role, dots) = dots(verdict.points);
        let (text_role, because) = match verdict.points {
            Some(_) => {
                let sentences: Vec<&str> = verdict.because.split(SENTENCE).collect();
                let own = sentences[..sentences.len() - shared.len()].join(SENTENCE);
                (Role::Plain, after_not_tested(verdict, own))
            }
            None => (Role::Dim, format!("not judged: {}", verdict.because)),
        };
        let name = name(verdict);
        let padding = " ".repeat(name_width - width(&name));
        let paragraph = Paragraph::new()
            .lead(Role::Plain, format!("  {name}{padding}  "))
            .lead(role, dots)
            .lead(Role::Plain, "  ")
            .text(text_role, &because);
        out.push_str(&paragraph.lines(name_width + 9, style));
    }
    if !shared.is_empty() {
        out.push_str(&note(format!("{}.", shared.join(SENTENCE)), style));
    }
    out + &lacking_tests(verdicts, style)
}

/// `not judged without the test transfer: backup, media library`
fn lacking_tests(verdicts: &[Verdict], style: Style) -> String {
    let lacking = verdicts.iter().filter_map(|it| Some((verdict::lacking_test(it)?, name(it))));
    let line = |(test, names): &(&str, Vec<String>)| {
        note(format!("not judged without the test {test}: {}", names.join(", ")), style)
    };
    grouped(lacking).iter().map(line).collect()
}

fn name(verdict: &Verdict) -> String {
    shorten(&clean(&verdict.suits), NAME_MAX).into_owned()
}

fn for_all(verdict: &Verdict, style: Style) -> String {
    let paragraph = Paragraph::new().lead(Role::Title, "verdict").lead(Role::Plain, "  ");
    let paragraph = if verdict.points.is_some() {
        let (role, dots) = dots(verdict.points);
        paragraph.item(role, dots).text(Role::Plain, "for every use:")
    } else {
        paragraph.text(Role::Dim, "not judged:")
    };
    paragraph.text(Role::Plain, &verdict.because).lines(9, style)
}

fn after_not_tested(verdict: &Verdict, because: String) -> String {
    match verdict::untested(verdict) {
        None => because,
        Some(what) => format!("· {what}; {because}"),
    }
}

fn dots(points: Option<u8>) -> (Role, &'static str) {
    match points {
        Some(0) => (Role::Bad, verdict::dots(0)),
        Some(1) => (Role::Warn, verdict::dots(1)),
        Some(points) => (Role::Good, verdict::dots(points)),
        None => (Role::Dim, "---"),
    }
}

/// Sentences at the end of every verdict's reason; each keeps its first sentence.
fn shared_ending(verdicts: &[Verdict]) -> Vec<&str> {
    let reasons: Vec<Vec<&str>> = verdicts
        .iter()
        .filter(|v| v.points.is_some())
        .map(|v| v.because.split(SENTENCE).collect())
        .collect();
    let Some((first, others)) = reasons.split_first() else { return Vec::new() };
    if others.is_empty() {
        return Vec::new();
    }
    let longest = reasons.iter().map(Vec::len).min().unwrap_or(1) - 1;
    let same = (1..=longest)
        .take_while(|n| others.iter().all(|other| other[other.len() - n] == first[first.len() - n]))
        .count();
    first[first.len() - same..].to_vec()
}
