//! Documents as text for people, within [`crate::WIDTH`] columns.
//!
//! Every function returns whole lines, each ended with a newline, without blank lines around them;
//! nothing to say is an empty text. Callers put a blank line between two texts. All text from outside
//! (names, paths, reasons) is stripped of control characters first.

mod align;
mod catalogue;
mod drives;
mod fill;
mod findings;
mod footer;
mod gate;
mod header;
mod latency;
mod metrics;
mod model_file;
mod phybs;
mod plan;
mod price;
mod profile;
mod reproduction;
mod runs;
mod summary;
mod surface;
mod tiny_writes;
mod transfer;
mod verbose;
mod verdicts;
mod verify;

pub use catalogue::{suites, tests};
pub use drives::list;
pub use findings::findings;
pub use gate::gate;
pub use header::header;
pub use model_file::model_file;
pub use phybs::phybs_table;
pub use plan::{dry_run, plan};
pub use price::price;
pub use reproduction::reproduction;
pub use runs::{RunRow, runs};
pub use summary::{run_summary, saved};
pub use verbose::{limiters, verbose};
pub use verdicts::{verdicts, verdicts_of};

use crate::flow::Flow;
use crate::style::{Role, Style};
use drivescope_model::{TestKind, TestResult, TestStatus};

/// One test: what happened to it, its table, and how to read it.
pub fn test_result(result: &TestResult, style: Style) -> String {
    let mut out = status(result, style);
    if result.status == TestStatus::Skipped {
        return out;
    }
    let table = match result.test {
        TestKind::Transfer => transfer::table(result, style),
        TestKind::Latency => latency::table(result, style),
        TestKind::Surface => surface::table(result, style),
        TestKind::TinyWrites => tiny_writes::table(result, style),
        TestKind::Align => align::table(result, style),
        TestKind::Fill => fill::table(result, style),
        TestKind::Verify => verify::table(result, style),
    };
    if !table.is_empty() {
        out.push_str(&table);
        out.push_str(&footer::footer(result, &table, style));
    } else if out.is_empty() {
        out.push_str(&line(result.test, Role::Dim, "nothing was measured", style));
    }
    out
}

/// How a test ended, if not well; failed requests come before any number: a fast failure is not fast.
fn status(result: &TestResult, style: Style) -> String {
    let (role, word) = match result.status {
        TestStatus::Done => (Role::Bad, ""),
        TestStatus::Skipped => (Role::Dim, "skipped"),
        TestStatus::Failed => (Role::Bad, "failed"),
        TestStatus::Interrupted => (Role::Warn, "interrupted"),
    };
    let mut flow = Flow::new().lead(Role::Title, result.test.name()).lead(Role::Plain, "  ");
    let reason = result.reason.as_deref().filter(|reason| !word.is_empty() && !reason.is_empty());
    let text = reason.map_or_else(|| word.to_string(), |reason| format!("{word}: {reason}"));
    let errors = footer::errors(result);
    let end = if text.is_empty() || errors.is_none() { "" } else { ";" };
    flow = flow.text(role, &format!("{text}{end}"));
    flow = flow.text(Role::Bad, errors.as_deref().unwrap_or_default());
    if flow.has_words() { flow.lines(2, style) } else { String::new() }
}

/// A line about a test as a whole, beginning with its name.
fn line(test: TestKind, role: Role, text: &str, style: Style) -> String {
    Flow::new()
        .lead(Role::Title, test.name())
        .lead(Role::Plain, "  ")
        .text(role, text)
        .lines(2, style)
}

/// Texts with a blank line between two of them; empty ones leave no gap.
fn sections(texts: impl IntoIterator<Item = String>) -> String {
    let texts: Vec<String> = texts.into_iter().filter(|text| !text.is_empty()).collect();
    texts.join("\n")
}

#[cfg(test)]
mod tests;
