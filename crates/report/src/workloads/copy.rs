//! `copy`: rates and files per second of each set, by what was done.

mod charts;

use super::WorkloadReport;
use super::rates::wide_table;
use crate::chart::plain_words::capitalized;
use crate::terminal::{
    CellRows, Figure, Paragraph, Role, Style, TextCell, cells, find_usable, texts, value,
};
use crate::verdict::criteria::{Criterion, Evidence};
use drivescope_model::number::{rounded, whole};
use drivescope_model::{Bytes, TestKind, TestResult};

// Through the file system, flushed and cold: what a program gets.
const EVIDENCE: &[Evidence] = &[
    Evidence::of_writes(Criterion::SequentialWrites, "copy.large.create.mb_s"),
    Evidence::of_writes(Criterion::SequentialReads, "copy.large.read.mb_s"),
];

pub(super) const REPORT: WorkloadReport = WorkloadReport {
    title: "Copying",
    evidence: EVIDENCE,
    charts: charts::charts,
    headline,
    name_of: |_, cell| capitalized(&name_of(cell)),
    suits: Some(&["media library"]),
    ..WorkloadReport::new(TestKind::Copy, table)
};

/// `Copying: large files at 81.8 MB/s, small ones at 81.3 MB/s`.
fn headline(result: &TestResult) -> Option<String> {
    let rate = |set: &str, words: &str| {
        let of = |part: &str| find_usable(result, &format!("{set}.{part}"), "mb_s");
        let rate = of("copy").or_else(|| of("from")).or_else(|| of("create"))?;
        Some(format!("{words} at {} MB/s", rounded(rate.value)))
    };
    let parts = [rate("large", "large files"), rate("small", "small ones")];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    (!parts.is_empty()).then(|| format!("Copying: {}", parts.join(", ")))
}

fn words(part: &str) -> &str {
    match part {
        "create" => "create",
        "source" => "read source",
        "copy" => "copy within the drive",
        "from" => "copy from the other",
        "read" => "read copy",
        other => other,
    }
}

/// Set and action in a cell's name.
fn parts(cell: &str) -> (&str, &str) {
    cell.split_once('.').unwrap_or((cell, ""))
}

fn name_of(cell: &str) -> String {
    let (set, part) = parts(cell);
    format!("{set}: {}", words(part))
}

fn table(result: &TestResult, style: Style) -> String {
    let rows = CellRows { result, cells: cells(result) };
    if rows.cells.is_empty() {
        return String::new();
    }
    let columns = vec![
        texts(TextCell::title("copy"), rows.cells.iter().map(|cell| name_of(cell))),
        rows.column("MB/s", "mb_s", Figure::if_any),
        rows.column("files/s", "files_s", Figure::with_interval),
        rows.column("time", "time_s", Figure::time),
        rows.column("final flush", "flush_s", Figure::time),
    ];
    wide_table(columns, None, style) + &remarks(result, &rows.cells, style)
}

fn remarks(result: &TestResult, cells: &[&str], style: Style) -> String {
    let copied = cells.iter().filter(|cell| matches!(parts(cell).1, "copy" | "from"));
    let sizes = copied.filter_map(|cell| {
        let of = |quantity| value(result, cell, quantity);
        let (files, rate, seconds) = (of("files")?, of("mb_s")?, of("time_s")?);
        let bytes = Bytes((rate * seconds * 1e6).round() as u64);
        Some(format!("{}: {} files, {bytes}", parts(cell).0, whole(files as u64)))
    });
    Paragraph::new()
        .lead(Role::Dim, "  ")
        .items(Role::Dim, sizes)
        .item(Role::Dim, "cold; the final flush is in the times and rates")
        .lines(2, style)
}
