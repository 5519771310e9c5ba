//! A run as Markdown, for issues, notes and mails: the answer, verdicts, findings, and every metric.

use crate::health_facts::{
    ATTRIBUTE_HEADS, SELF_TEST_HEADS, attribute_row, health_facts, last_self_tests, self_test_row,
};
use crate::terminal::clean;
use crate::verdict::answer::answer;
use crate::verdict::keep::{outcome_words, words};
use crate::verdict::{capacity_remedy, dots, untested};
use drivescope_model::decision::{CheckedPart, Decision, DecisionReason};
use drivescope_model::number::rounded;
use drivescope_model::{Metric, Run, TestResult};
use std::fmt::Write as _;

pub fn run_markdown(run: &Run) -> String {
    let drive = run.drive.as_ref();
    let name = drive.and_then(|drive| drive.model.as_deref()).unwrap_or(&run.target.path);
    let mut out = format!("# {}\n\n", text(name));
    if let Some(decision) = &run.decision {
        decided(&mut out, decision);
    } else if let Some(answer) = answer(run, false) {
        let _ = writeln!(out, "{}\n", text(&answer));
    }
    let facts = [
        Some(format!("run {}", run.id)),
        Some(run.started_at.clone()),
        Some(format!("suite {}", run.plan.suite.name)),
        Some(format!("target {}", run.target.path)),
        Some(format!("{} {}", run.tool.name, run.tool.version)),
        run.label.as_ref().map(|label| format!("label {label}")),
        run.note.clone(),
    ];
    for fact in facts.into_iter().flatten() {
        let _ = writeln!(out, "- {}", text(&fact));
    }
    verdicts(&mut out, run);
    findings(&mut out, run);
    health(&mut out, run);
    run.tests_for_readers().into_iter().for_each(|result| metrics(&mut out, result));
    out
}

fn decided(out: &mut String, decision: &Decision) {
    let _ = writeln!(out, "**{}**\n", words(decision.advice));
    for DecisionReason { because, seen, settle, command, .. } in &decision.reasons {
        let seen = if seen.is_empty() { String::new() } else { format!(": {}", text(seen)) };
        let _ = writeln!(out, "- {}{seen}", text(because));
        if !settle.is_empty() {
            let _ = writeln!(out, "  {} {}", text(settle), text(command));
        }
    }
    out.push_str("\n| tested | | result |\n|---|---|---|\n");
    for CheckedPart { part, outcome, result } in &decision.parts {
        let outcome = outcome_words(*outcome);
        let _ = writeln!(out, "| {} | {outcome} | {} |", text(part), text(result));
    }
    out.push('\n');
}

fn verdicts(out: &mut String, run: &Run) {
    if run.verdict.is_empty() {
        return;
    }
    out.push_str("\n## Verdict\n\n| use | | why |\n|---|---|---|\n");
    for verdict in &run.verdict {
        let points = verdict.points.map_or("not judged", dots);
        let left_out = untested(verdict).map_or(String::new(), |what| format!("{what}; "));
        let because = text(&format!("{left_out}{}", verdict.because)).to_string();
        let _ = writeln!(out, "| {} | {points} | {because} |", text(&verdict.suits));
    }
    if let Some(remedy) = capacity_remedy(run) {
        let _ = writeln!(out, "\n{}", text(&remedy));
    }
}

fn findings(out: &mut String, run: &Run) {
    if run.findings.is_empty() {
        return;
    }
    out.push_str("\n## Findings\n\n");
    for it in &run.findings {
        let (id, severity, means) = (it.id, it.severity.name(), text(it.id.spec().means));
        let (evidence, remedy) = (text(&it.evidence), text(&it.remedy));
        let _ = writeln!(out, "- **{id}** ({severity}): {means}. {evidence}. {remedy}");
    }
}

fn health(out: &mut String, run: &Run) {
    fn row(fields: &[String]) -> Vec<String> {
        fields.iter().map(|field| text(field)).collect()
    }
    let before = run.drive.as_ref().map(|drive| &drive.health).filter(|it| it.is_known());
    let Some(before) = before else { return };
    let after = run.health_after.as_ref();
    let last = after.unwrap_or(before);
    let facts = health_facts(before, after);
    let fact = |name: &str, value: &str, is_bad: bool| {
        [name.to_string(), if is_bad { format!("**{value}**") } else { value.to_string() }]
    };
    out.push_str("\n## Health\n\nWhat the drive itself reports (SMART).\n");
    table(out, &["figure", ""], facts.iter().map(|it| fact(it.name, &text(&it.value), it.is_bad)));
    table(out, &SELF_TEST_HEADS, last_self_tests(last).iter().map(|it| row(&self_test_row(it))));
    table(out, &ATTRIBUTE_HEADS, last.attributes.iter().map(|it| row(&attribute_row(it))));
}

/// Nothing without rows.
fn table(out: &mut String, heads: &[&str], rows: impl Iterator<Item: AsRef<[String]>>) {
    let mut rows = rows.peekable();
    if rows.peek().is_none() {
        return;
    }
    let _ = writeln!(out, "\n| {} |\n|{}", heads.join(" | "), "---|".repeat(heads.len()));
    rows.for_each(|row| {
        let _ = writeln!(out, "| {} |", row.as_ref().join(" | "));
    });
}

fn metrics(out: &mut String, result: &TestResult) {
    let _ = writeln!(out, "\n## {}\n", result.test);
    if let Some(reason) = &result.reason {
        let _ = writeln!(out, "{}\n", text(reason));
    }
    if result.metrics.is_empty() {
        return;
    }
    out.push_str("| metric | value | 95 % | unit | |\n|---|---:|---|---|---|\n");
    for metric in &result.metrics {
        let Metric { key, value, low, high, unit, valid, .. } = metric;
        // Of this program they have no letter that Markdown obeys; of a document from elsewhere, any.
        let unit = if unit == "us" { "µs" } else { unit };
        let (key, unit) = (clean(key).replace('|', "\\|"), clean(unit).replace('|', "\\|"));
        let interval = if metric.pooled || low == high {
            String::new()
        } else {
            format!("{}–{}", rounded(*low), rounded(*high))
        };
        let note = if *valid { "" } else { "invalid" };
        let _ = writeln!(out, "| {key} | {} | {interval} | {unit} | {note} |", rounded(*value));
    }
}

/// Foreign text on one line, without anything that Markdown, HTML or a terminal would interpret.
fn text(text: &str) -> String {
    let mut out = String::new();
    for letter in clean(text).chars() {
        if matches!(letter, '\\' | '`' | '*' | '_' | '[' | ']' | '<' | '>' | '|' | '#' | '&' | '~')
        {
            out.push('\\');
        }
        out.push(if letter == '\n' { ' ' } else { letter });
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{hard_disk, must_have, worn_disk_health};

    #[test]
    fn health_before_and_after_is_shown() {
        let mut run = hard_disk();
        run.drive.as_mut().unwrap().health = worn_disk_health();
        let mut after = worn_disk_health();
        after.crc_errors = Some(15);
        run.health_after = Some(after);
        must_have(
            &run_markdown(&run),
            &[
                "## Health",
                "| SMART | **FAILED** |",
                "| CRC errors of the link | **12, 15 after the run** |",
                "| Extended offline | 41,190 h | Completed: read failure at sector 1,953,525,160 |",
                "| 5 | Reallocated\\_Sector\\_Ct | 1288 (10 0) | 5 | 5 | 10 | now |",
            ],
        );
        run.drive.as_mut().unwrap().health = Default::default();
        assert!(!run_markdown(&run).contains("Health"));
    }

    #[test]
    fn whole_run_is_shown_and_names_are_inert() {
        let mut run = hard_disk();
        run.label = Some("<b>|*bold*\u{1b}[31m".to_string());
        run.tests[0].metrics[0].valid = false;
        run.tests[0].metrics.last_mut().unwrap().unit = "\u{1b}[31m\u{9b}2J".to_string();
        let text = run_markdown(&run);
        for metric in run.tests.iter().flat_map(|test| &test.metrics) {
            assert!(text.contains(&format!("| {} | ", metric.key)), "{text}");
        }
        for finding in &run.findings {
            assert!(text.contains(&format!("**{}**", finding.id)), "{text}");
        }
        assert!(text.contains("| invalid |"), "{text}");
        assert!(
            text.contains("\\<b\\>\\|\\*bold\\*") && !text.contains(['\u{1b}', '\u{9b}']),
            "{text}"
        );
    }
}
