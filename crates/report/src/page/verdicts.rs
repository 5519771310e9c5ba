//! What a drive suits: dots with a word each, and the figure that decided.

use crate::chart::plain_words::capitalized;
use crate::verdict::criteria::Criterion;
use crate::verdict::{simulated_note_removed, untested};
use crate::workloads::workload;
use drivescope_model::document::{Rule, Verdict};
use drivescope_model::number::{latency_us, rounded, threshold};
use drivescope_model::{FindingId, Run};
use maud::{Markup, html};

/// Begins the sentence of a reason that names findings.
const CAUTION: &str = "Caution: ";

/// The uses that a run judges; those without any figure are listed below, in one line.
pub fn suits(run: &Run) -> Markup {
    // A run of one test answers its own question; uses that take more are not its business.
    let own = match run.tests.as_slice() {
        [result] => workload(result.test).suits,
        _ => None,
    };
    let has_one_test = run.tests.len() == 1;
    let is_own = |verdict: &Verdict| own.is_none_or(|own| own.contains(&verdict.suits.as_str()));
    let is_known = |verdict: &Verdict| match own {
        None if has_one_test => verdict.points.is_some(),
        _ => verdict.points.is_some() || !verdict.rules.is_empty(),
    };
    let (shown, left): (Vec<&Verdict>, Vec<&Verdict>) =
        run.verdict.iter().partition(|verdict| is_own(verdict) && is_known(verdict));
    let left: Vec<&str> = left.iter().map(|verdict| verdict.suits.as_str()).collect();
    html! {
        @if !shown.is_empty() {
            section.first {
                h2 { "What it suits" }
                (table(shown))
                @if !left.is_empty() && !has_one_test {
                    p.small { "Not measured here: what it takes to judge " (left.join(", ")) "." }
                }
            }
        }
    }
}

pub fn verdict_table(verdicts: &[Verdict]) -> Markup {
    table(verdicts.iter().collect())
}

fn table(mut verdicts: Vec<&Verdict>) -> Markup {
    verdicts.sort_by_key(|verdict| verdict.points.map_or(u8::MAX, |points| 3 - points.min(3)));
    html! {
        table.verdicts {
            @for verdict in verdicts {
                tr.(rank(verdict)) {
                    th scope="row" { (capitalized(&verdict.suits)) }
                    td.points {
                        @if let Some(points) = verdict.points.or(so_far(verdict)) {
                            span role="img" aria-label={ (points) " of 3" } {
                                b { (dots(points)) } i { (dots(3 - points.min(3))) }
                            }
                        }
                    }
                    td.word {
                        @match (verdict.points, so_far(verdict)) {
                            (None, Some(points)) => { "so far " (word(Some(points))) }
                            (points, _) => (word(points)),
                        }
                    }
                    td.why { (short_reason(verdict)) }
                }
            }
        }
    }
}

fn dots(points: u8) -> String {
    "●".repeat(usize::from(points.min(3)))
}

/// The most that the figures of an unjudged use still allow, where they have any.
fn so_far(verdict: &Verdict) -> Option<u8> {
    let least = verdict.rules.iter().map(|rule| rule.points).min();
    least.filter(|_| verdict.points.is_none())
}

fn rank(verdict: &Verdict) -> &'static str {
    match verdict.points.or(so_far(verdict)) {
        Some(0) => "unsuited",
        Some(1) => "limited",
        Some(_) => "suited",
        None => "unjudged",
    }
}

pub(super) fn word(points: Option<u8>) -> &'static str {
    match points {
        Some(0) => "unsuited",
        Some(1) => "with limits",
        Some(2) => "good",
        Some(_) => "very good",
        None => "not judged",
    }
}

/// `136 MB/s at its end; 100 MB/s is plenty`: the deciding figure beside the next threshold, else the first sentence
/// of the reason.
fn short_reason(verdict: &Verdict) -> String {
    let decided = deciding(verdict).and_then(|rule| {
        let phrase = Criterion::named(&rule.what)?.phrase();
        Some(format!("{}; {}", phrase.replace("{}", &quantity(rule)), level(rule)))
    });
    let first = || verdict.because.split(". ").next().unwrap_or_default().to_string();
    let mut reason = decided.unwrap_or_else(first);
    if verdict.borderline.is_some() {
        reason += "; borderline";
    }
    if let Some(what) = untested(verdict) {
        reason += "; ";
        reason += &what;
    }
    reason
}

/// The rule that gave the points, or the weakest so far; `None` where a finding about the drive gave them, or none.
fn deciding(verdict: &Verdict) -> Option<&Rule> {
    fn share(rule: &Rule) -> f64 {
        let share = rule.value / rule.thresholds[0];
        if rule.smaller_is_better { 1.0 / share } else { share }
    }
    let by_points =
        |a: &&Rule, b: &&Rule| a.points.cmp(&b.points).then_with(|| share(a).total_cmp(&share(b)));
    let rule = verdict.rules.iter().min_by(by_points)?;
    (Some(rule.points) == verdict.points.or(so_far(verdict))).then_some(rule)
}

fn quantity(rule: &Rule) -> String {
    match rule.unit.as_str() {
        "us" => latency_us(rule.value),
        "1/s" => rounded(rule.value),
        unit => format!("{} {unit}", rounded(rule.value)),
    }
}

/// What the next better word takes, or that no better one exists.
fn level(rule: &Rule) -> String {
    let [three, two, one] = rule.thresholds.map(|value| threshold(value, &rule.unit));
    match (rule.points, rule.smaller_is_better) {
        (0, false) => format!("{one} is the least"),
        (0, true) => format!("{one} is the most"),
        (1, false) => format!("good starts at {two}"),
        (1, true) => format!("good is up to {two}"),
        (2, false) => format!("very good starts at {three}"),
        (2, true) => format!("very good is up to {three}"),
        (_, false) => format!("{three} is plenty"),
        (_, true) => format!("up to {three} is very good"),
    }
}

/// The whole reason of each verdict, for those who want to check it.
pub fn reasons(run: &Run) -> Markup {
    let is_known = |verdict: &&Verdict| verdict.points.is_some() || !verdict.rules.is_empty();
    let known: Vec<&Verdict> = run.verdict.iter().filter(is_known).collect();
    html! {
        @if !known.is_empty() {
            details {
                summary { "How the verdicts were decided" }
                p { "A use has the points of its weakest figure; findings about the drive may lower them." }
                dl { @for verdict in known {
                    dt { (capitalized(&verdict.suits)) ": " (word(verdict.points)) }
                    dd { (in_words(simulated_note_removed(&verdict.because))) "." }
                } }
            }
        }
    }
}

/// A reason with the findings of its caution in words: `Caution: other programs used the drive`.
fn in_words(because: &str) -> String {
    fn sentence(sentence: &str) -> String {
        match sentence.strip_prefix(CAUTION) {
            None => sentence.to_string(),
            Some(names) => {
                let known = |name: &str| {
                    let found = FindingId::ALL.iter().find(|id| id.spec().name == name);
                    found.map_or(name.to_string(), |id| id.spec().in_short().to_string())
                };
                format!("{CAUTION}{}", names.split(", ").map(known).collect::<Vec<_>>().join("; "))
            }
        }
    }
    because.split(". ").map(sentence).collect::<Vec<_>>().join(". ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{hard_disk, must_have};

    fn judged() -> Run {
        let mut run = hard_disk();
        run.verdict = crate::judge(&run);
        run
    }

    #[test]
    fn dots_have_a_word_and_the_deciding_figure() {
        let page = suits(&judged()).into_string();
        must_have(
            &page,
            &["3 of 3", "very good", "unsuited", "is the least", "starts at", "<b>●●●</b>"],
        );
        assert!(!page.contains("Simulated drive") && !page.contains("Caution"), "{page}");
    }

    #[test]
    fn single_test_does_not_list_what_it_cannot_judge() {
        let mut run = judged();
        run.tests.truncate(1);
        for verdict in run.verdict.iter_mut().take(3) {
            verdict.points = None;
        }
        let page = suits(&run).into_string();
        assert!(!page.contains("not judged") && !page.contains("System drive"), "{page}");
        // One whose own use is known in part says what is known of it, and nothing of others.
        run.tests[0].test = drivescope_model::TestKind::Sql;
        let page = suits(&run).into_string();
        must_have(&page, &["Database", "so far "]);
        assert_eq!(page.matches("<tr").count(), 1);
        run.tests[0].test = drivescope_model::TestKind::Geometry;
        assert_eq!(suits(&run).into_string(), "");
    }

    #[test]
    fn cautions_are_words() {
        assert_eq!(
            in_words("80 reads/s. Caution: other-io, unstable"),
            "80 reads/s. Caution: other programs used the drive; rounds differ"
        );
    }

    #[test]
    fn capped_verdict_says_why_in_one_sentence() {
        let mut verdict = judged().verdict.remove(3);
        verdict.points = Some(1);
        verdict.because = "a part of the drive reads slowly (F040). Simulated drive".to_string();
        assert_eq!(deciding(&verdict), None);
        let reason = short_reason(&verdict);
        assert!(reason.starts_with("a part of the drive reads slowly (F040)"), "{reason}");
        assert!(!reason.contains("Simulated"), "{reason}");
    }
}
