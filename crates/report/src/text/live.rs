//! A run in progress: the tables of its result, filled as it continues.

use crate::terminal::{Paragraph, Role, Style, sections, width};
use crate::verdict::answer::answer;
use crate::verdict::judge;
use crate::workloads::workload;
use drivescope_model::{Run, TestResult};

/// State of a run in progress: `progress` in one line, a sentence, and the tables of the first and the current test.
/// `run` has the tests with the figures of their cells so far.
pub fn live(run: &Run, progress: &str, style: Style) -> String {
    let progress = format!("{}\n", begin_of(progress, style.columns));
    let run = &Run { verdict: judge(run), ..run.clone() };
    let label = if run.tests.len() == 1 { "first look:" } else { "so far:" };
    let answer = answer(run, true).map(|answer| answer.replacen('A', "a", 1));
    let look = Paragraph::new()
        .text(Role::Dim, label)
        .text(Role::Title, answer.as_deref().unwrap_or("nothing is sure yet"))
        .lines(0, style);
    let mut shown: Vec<&TestResult> =
        run.tests.iter().filter(|test| !test.metrics.is_empty()).collect();
    if shown.len() > 2 {
        shown.drain(1..shown.len() - 1);
    }
    let tables = shown.into_iter().map(|test| (workload(test.test).brief)(test, style));
    sections([progress, look].into_iter().chain(tables))
}

/// Cuts a line to its width; the least useful part stands at its end.
fn begin_of(line: &str, columns: usize) -> String {
    let mut begin = String::new();
    for c in line.chars() {
        begin.push(c);
        if width(&begin) > columns {
            begin.pop();
            break;
        }
    }
    begin
}
