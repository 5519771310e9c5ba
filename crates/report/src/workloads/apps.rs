//! `apps`: a row for each trace, the scores with their parts, and what another drive would change.

mod charts;

use super::WorkloadReport;
use crate::chart::plain_words::capitalized;
use crate::terminal::{
    CellRows, Column, Figure, Paragraph, Role, Style, TextCell, TextTable, cells, find, sections,
    texts, value,
};
use drivescope_model::number::{one_decimal, rounded};
use drivescope_model::{Secs, TestKind, TestResult};

/// A difference of less is not news.
const SAME_SHARE: f64 = 0.02;
/// Traces whose prediction is written as a sentence.
const SENTENCES_MAX: usize = 3;

pub(super) const REPORT: WorkloadReport = WorkloadReport {
    title: "Applications",
    extremes: "max",
    charts: charts::charts,
    headline,
    name_of: |_, cell| name_of(cell),
    suits: Some(&["system drive"]),
    ..WorkloadReport::new(TestKind::Apps, table)
};

/// `package-install` as `Package install`.
fn name_of(cell: &str) -> String {
    capitalized(&cell.replace(['_', '-'], " "))
}

/// `Applications wait for the drive 45 % of their time`, by the geometric mean.
fn headline(result: &TestResult) -> Option<String> {
    let score =
        value(result, "recorded", "score").or_else(|| value(result, "synthetic", "score"))?;
    Some(format!("Applications wait for the drive {} % of their time", rounded(100.0 - score)))
}

fn table(result: &TestResult, style: Style) -> String {
    let rows = CellRows { result, cells: traces(result) };
    if rows.cells.is_empty() {
        return String::new();
    }
    let names = || rows.cells.iter().map(|cell| cell.replace('_', "-"));
    let table = |(with_max, with_p99): (bool, bool)| {
        let mut columns = vec![texts(TextCell::title("apps"), names())];
        columns.push(rows.column("time", "run_s", Figure::time));
        for (head, quantity) in [("recorded", "recorded_s"), ("predicted", "predicted_s")] {
            if rows.have(quantity) {
                columns.push(rows.column(head, quantity, Figure::time));
            }
        }
        columns.push(rows.column("drive busy", "busy_s", Figure::time));
        columns.push(rows.column("MB/s busy", "busy_mb_s", Figure::plain));
        if with_p99 {
            columns.push(rows.column("p99", "lat_p99_us", Figure::latency));
        }
        if with_max {
            columns.push(rows.column("max", "lat_max_us", Figure::latency));
        }
        TextTable::of_columns(Column::names_and_numbers(columns.len()), columns)
    };
    let tables = [(true, true), (false, true), (false, false)].into_iter().map(table);
    let drawn = TextTable::first_fitting(tables, style);
    sections([drawn + &scores(result, style) + &predictions(result, &rows.cells, style)])
}

/// The cells of traces; a set has a score and no time.
fn traces(result: &TestResult) -> Vec<&str> {
    cells(result).into_iter().filter(|cell| find(result, cell, "run_s").is_some()).collect()
}

fn scores(result: &TestResult, style: Style) -> String {
    let scores = ["synthetic", "recorded"].into_iter().filter_map(|set| {
        Some(format!("{set} traces: score {}", one_decimal(value(result, set, "score")?)))
    });
    let paragraph = Paragraph::new().lead(Role::Dim, "  ").items(Role::Plain, scores);
    if !paragraph.has_words() {
        return String::new();
    }
    let how = "score: geometric mean of think time in percent of time; 100: programs never wait for the drive";
    paragraph.item(Role::Dim, how).lines(2, style)
}

/// `word would take 29.1 s instead of 41.0 s: 11.9 s less`, of the traces that change most.
fn predictions(result: &TestResult, traces: &[&str], style: Style) -> String {
    let mut changes: Vec<(&str, f64, f64)> = traces
        .iter()
        .filter_map(|cell| {
            Some((*cell, value(result, cell, "run_s")?, value(result, cell, "predicted_s")?))
        })
        .collect();
    if changes.is_empty() {
        return String::new();
    }
    changes.sort_by(|a, b| (b.1 - b.2).abs().total_cmp(&(a.1 - a.2).abs()));
    let largest = changes.into_iter().take(SENTENCES_MAX);
    let sentences =
        largest.map(|(cell, here, there)| sentence(&cell.replace('_', "-"), here, there));
    let paragraph =
        Paragraph::new().lead(Role::Dim, "  ").text(Role::Plain, "on the predicted drive");
    paragraph.items(Role::Plain, sentences).lines(2, style)
}

fn sentence(name: &str, here_s: f64, there_s: f64) -> String {
    let change_s = here_s - there_s;
    if change_s.abs() < here_s * SAME_SHARE {
        return format!("{name} would take as long");
    }
    let word = if change_s > 0.0 { "less" } else { "more" };
    format!("{name} would take {} {word}", Secs(change_s.abs()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{measured, must_fit, must_have, result};

    fn of_traces() -> TestResult {
        let metrics = [
            ("word.run_s", 41.0),
            ("word.busy_s", 13.0),
            ("word.busy_mb_s", 15.5),
            ("word.lat_p99_us", 21_000.0),
            ("word.lat_max_us", 90_000.0),
            ("word.think_s", 28.0),
            ("word.predicted_s", 29.1),
            ("git_clone.run_s", 4.0),
            ("git_clone.busy_s", 1.0),
            ("git_clone.recorded_s", 5.0),
            ("git_clone.predicted_s", 3.99),
            ("synthetic.score", 71.24),
        ];
        measured(TestKind::Apps, &metrics)
    }

    #[test]
    fn traces_have_rows_and_changes_by_other_drives() {
        let text = table(&of_traces(), Style::default());
        must_have(&text, &["word", "git-clone", "41 s", "score 71.2", "word would take 12 s less"]);
        assert!(text.contains("git-clone would take as long"), "{text}");
        must_fit(&text);
        assert_eq!(charts::charts(&of_traces()).len(), 1);
        assert_eq!(table(&result(TestKind::Apps, Vec::new()), Style::default()), "");
    }
}
