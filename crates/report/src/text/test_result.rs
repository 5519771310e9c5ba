//! One test: how it ended, its table, and how to read it.

use super::footer;
use crate::terminal::{Paragraph, Role, Style};
use crate::workloads::workload;
use drivescope_model::{TestResult, TestStatus};

pub(crate) fn test_result(result: &TestResult, style: Style) -> String {
    let mut out = status(result, style);
    // One that was skipped while it ran has something to show.
    if result.status == TestStatus::Skipped && result.metrics.is_empty() {
        return out;
    }
    let table = (workload(result.test).table)(result, style);
    if !table.is_empty() {
        out.push_str(&table);
        out.push_str(&footer::footer(result, style));
    } else if out.is_empty() {
        let text = "nothing was measured";
        out.push_str(&begin(result).text(Role::Dim, text).lines(2, style));
    }
    out
}

fn begin(result: &TestResult) -> Paragraph {
    Paragraph::new().lead(Role::Title, result.test.name()).lead(Role::Plain, "  ")
}

/// How a test ended, if not well; failed requests come first: a fast failure is not fast.
fn status(result: &TestResult, style: Style) -> String {
    let (role, word) = match result.status {
        TestStatus::Done => (Role::Bad, ""),
        TestStatus::Skipped => (Role::Dim, "skipped"),
        TestStatus::Failed => (Role::Bad, "failed"),
        TestStatus::Interrupted => (Role::Warn, "interrupted"),
    };
    let reason = result.reason.as_deref().filter(|reason| !word.is_empty() && !reason.is_empty());
    let text = reason.map_or_else(|| word.to_string(), |reason| format!("{word}: {reason}"));
    let errors = footer::errors(result);
    let end = if text.is_empty() || errors.is_none() { "" } else { ";" };
    let paragraph = begin(result).text(role, format!("{text}{end}"));
    let paragraph = paragraph.text(Role::Bad, errors.as_deref().unwrap_or_default());
    paragraph.lines_if_words(2, style)
}
