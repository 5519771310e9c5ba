//! `apps`: a row for each trace, the scores with their parts, and what another drive would change.

mod charts;

use super::WorkloadReport;
use crate::terminal::{
    Column, Figure, Paragraph, Role, Style, TextCell, TextTable, cells, find, headed, sections,
    value,
};
use drivescope_model::number::{one_decimal, rounded};
use drivescope_model::{Secs, TestKind, TestResult};

/// A difference of less is no news.
const SAME_SHARE: f64 = 0.02;
/// Traces whose prediction is said in words.
const SENTENCES_MAX: usize = 3;

pub(super) const REPORT: WorkloadReport = WorkloadReport {
    extremes: "max",
    charts: charts::charts,
    ..WorkloadReport::new(TestKind::Apps, table)
};

fn table(result: &TestResult, style: Style) -> String {
    let traces = traces(result);
    if traces.is_empty() {
        return String::new();
    }
    let figures = |quantity: &str, print: fn(f64) -> String| -> Vec<Figure> {
        traces.iter().map(|cell| Figure::of(find(result, cell, quantity), print)).collect()
    };
    let latencies = |quantity: &str| -> Vec<Figure> {
        traces.iter().map(|cell| Figure::latency(find(result, cell, quantity))).collect()
    };
    let has = |quantity: &str| traces.iter().any(|cell| find(result, cell, quantity).is_some());
    let mut names = vec![TextCell::title("apps")];
    names.extend(traces.iter().map(|cell| TextCell::plain(cell.replace('_', "-"))));
    let table = |with_max: bool, with_p99: bool| {
        let mut columns = vec![names.clone(), headed("time", &figures("run_s", seconds))];
        if has("recorded_s") {
            columns.push(headed("recorded", &figures("recorded_s", seconds)));
        }
        if has("predicted_s") {
            columns.push(headed("predicted", &figures("predicted_s", seconds)));
        }
        columns.push(headed("drive busy", &figures("busy_s", seconds)));
        columns.push(headed("MB/s busy", &figures("busy_mb_s", rounded)));
        if with_p99 {
            columns.push(headed("p99", &latencies("lat_p99_us")));
        }
        if with_max {
            columns.push(headed("max", &latencies("lat_max_us")));
        }
        TextTable::of_columns(Column::names_and_numbers(columns.len()), columns)
    };
    let fitting = [(true, true), (false, true)].into_iter().map(|(max, p99)| table(max, p99));
    let fitting = fitting.into_iter().find(|table| table.fits(style));
    let drawn = fitting.unwrap_or_else(|| table(false, false)).render(style);
    sections([drawn + &scores(result, style) + &predictions(result, &traces, style)])
}

/// The cells that are traces; a set has a score and no time.
fn traces(result: &TestResult) -> Vec<&str> {
    cells(result).into_iter().filter(|cell| find(result, cell, "run_s").is_some()).collect()
}

fn seconds(value: f64) -> String {
    Secs(value).to_string()
}

/// Scores, with what they are made of.
fn scores(result: &TestResult, style: Style) -> String {
    let mut paragraph = Paragraph::new().lead(Role::Dim, "  ");
    let mut is_told = false;
    for set in ["synthetic", "recorded"] {
        let Some(score) = value(result, set, "score") else { continue };
        let text = format!("{set} traces: score {}", one_decimal(score));
        paragraph = paragraph.item(Role::Plain, text);
        is_told = true;
    }
    if !is_told {
        return String::new();
    }
    let how =
        "score: geometric mean of think time in percent of time; 100 is a drive nobody waits for";
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
    let mut paragraph =
        Paragraph::new().lead(Role::Dim, "  ").text(Role::Plain, "on the predicted drive");
    for (cell, here, there) in changes.into_iter().take(SENTENCES_MAX) {
        paragraph = paragraph.item(Role::Plain, sentence(&cell.replace('_', "-"), here, there));
    }
    paragraph.lines(2, style)
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
    use crate::testing::{metric, result};

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
        let metrics = metrics.map(|(key, value)| metric(&format!("apps.{key}"), &[value]));
        result(TestKind::Apps, metrics.to_vec())
    }

    #[test]
    fn traces_have_rows_and_what_another_drive_changes_is_said() {
        let text = table(&of_traces(), Style::default());
        for part in ["word", "git-clone", "41 s", "score 71.2", "word would take 12 s less"] {
            assert!(text.contains(part), "{part} in\n{text}");
        }
        assert!(text.contains("git-clone would take as long"), "{text}");
        assert!(text.lines().all(|line| crate::terminal::width(line) <= 80), "{text}");
        assert_eq!(charts::charts(&of_traces()).len(), 1);
        assert_eq!(table(&result(TestKind::Apps, Vec::new()), Style::default()), "");
    }
}
