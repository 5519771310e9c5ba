//! `copy`: rates and files per second of each set, by what was done.

mod charts;

use super::WorkloadReport;
use super::rates::wide_table;
use crate::criteria::{Criterion, Evidence};
use crate::terminal::{Figure, Paragraph, Role, Style, TextCell, cells, find, headed, value};
use drivescope_model::number::whole;
use drivescope_model::{Bytes, Secs, TestKind, TestResult};

// Through the file system, flushed and cold: what a program gets.
const EVIDENCE: &[Evidence] = &[
    Evidence::of_writes(Criterion::SequentialWrites, "copy.large.create.mb_s"),
    Evidence::of_writes(Criterion::SequentialReads, "copy.large.read.mb_s"),
];

pub(super) const REPORT: WorkloadReport = WorkloadReport {
    evidence: EVIDENCE,
    charts: charts::charts,
    ..WorkloadReport::new(TestKind::Copy, table)
};

/// What a part of a cell's name means.
fn words(part: &str) -> &str {
    match part {
        "create" => "create",
        "source" => "read source",
        "copy" => "copy, within the drive",
        "from" => "copy, from the other",
        "read" => "read copy",
        other => other,
    }
}

/// A set and what was done with it, from a cell's name.
fn parts(cell: &str) -> (&str, &str) {
    cell.split_once('.').unwrap_or((cell, ""))
}

fn table(result: &TestResult, style: Style) -> String {
    let cells = cells(result);
    if cells.is_empty() {
        return String::new();
    }
    let mut names = vec![TextCell::title("copy")];
    names.extend(cells.iter().map(|cell| {
        let (set, part) = parts(cell);
        TextCell::plain(format!("{set}: {}", words(part)))
    }));
    let of = |quantity: &'static str| cells.iter().map(move |cell| find(result, cell, quantity));
    let rates: Vec<Figure> = of("mb_s")
        .map(|metric| metric.map_or(Figure::Blank, |metric| Figure::with_interval(Some(metric))))
        .collect();
    let files: Vec<Figure> = of("files_s").map(Figure::with_interval).collect();
    let seconds = |quantity: &'static str| -> Vec<Figure> {
        of(quantity).map(|metric| Figure::of(metric, |s| Secs(s).to_string())).collect()
    };
    let columns = vec![
        names,
        headed("MB/s", &rates),
        headed("files/s", &files),
        headed("time", &seconds("time_s")),
        headed("final flush", &seconds("flush_s")),
    ];
    wide_table(columns, None, style) + &remarks(result, &cells, style)
}

/// How much each set holds.
fn remarks(result: &TestResult, cells: &[&str], style: Style) -> String {
    let mut paragraph = Paragraph::new().lead(Role::Dim, "  ");
    let copied = cells.iter().filter(|cell| matches!(parts(cell).1, "copy" | "from"));
    for cell in copied {
        let of = |quantity| value(result, cell, quantity);
        let (Some(files), Some(rate), Some(seconds)) = (of("files"), of("mb_s"), of("time_s"))
        else {
            continue;
        };
        let bytes = Bytes((rate * seconds * 1e6).round() as u64);
        let text = format!("{}: {} files, {bytes}", parts(cell).0, whole(files as u64));
        paragraph = paragraph.item(Role::Dim, &text);
    }
    paragraph.item(Role::Dim, "cold; the final flush is in the times and rates").lines(2, style)
}
