//! What a run found: the answer first, then the verdict, the tables, and what to know about them.

use super::together::together;
use super::{findings, findings_in_brief, price, test_result, verdicts::verdicts_of};
use crate::sd_classes::sd_class_lines;
use crate::terminal::{Paragraph, Role, Style, sections};
use crate::verdict::answer::answer;
use drivescope_model::{Run, TestStatus};

/// The answer in a sentence, the verdict, the table of each test, a line for each finding, and the price.
pub fn results(run: &Run, style: Style) -> String {
    with_findings(run, findings_in_brief(&run.findings, style), style)
}

/// With what was seen and can be done for each finding.
pub(crate) fn results_in_full(run: &Run, style: Style) -> String {
    with_findings(run, findings(&run.findings, style), style)
}

fn with_findings(run: &Run, findings: String, style: Style) -> String {
    let tests = run.tests_for_readers();
    let tables: Vec<String> = tests.iter().map(|result| test_result(result, style)).collect();
    let legend = legend(&tables, style);
    let head =
        [ended(run, style), sentence(run, style), together(run, style), verdicts_of(run, style)];
    let rest = [sd_class_lines(run, style), legend, findings, price(run, style)];
    sections(head.into_iter().chain(tables).chain(rest))
}

fn ended(run: &Run, style: Style) -> String {
    let (role, text) = match run.status {
        TestStatus::Done => return String::new(),
        TestStatus::Interrupted => (Role::Warn, "interrupted: partial results"),
        TestStatus::Failed => (Role::Bad, "failed: partial results"),
        TestStatus::Skipped => (Role::Dim, "skipped: nothing could run on this target"),
    };
    Paragraph::new().text(role, text).lines(0, style)
}

fn sentence(run: &Run, style: Style) -> String {
    let text = answer(run, false).unwrap_or_default();
    Paragraph::new().text(Role::Title, text).lines(0, style)
}

/// Explains marks in the tables.
fn legend(tables: &[String], style: Style) -> String {
    let has = |sign: char| tables.iter().any(|table| table.contains(sign));
    if !has('±') {
        return String::new();
    }
    let text = "±: 95 % interval of the median, within this run; -v shows rounds and limits";
    Paragraph::new().text(Role::Dim, text).lines(0, style)
}
