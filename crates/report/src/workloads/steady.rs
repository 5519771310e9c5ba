//! `steady`: the figures of the window, the rule applied, how the drive was prepared; or the stages of
//! a sequence.

mod charts;

use super::{WorkloadReport, plain_name};
use crate::first_seen::distinct;
use crate::terminal::{
    CellRows, Column, Figure, Paragraph, Role, Style, TextCell, TextTable, find, headed, sections,
    texts, value,
};
use crate::verdict::criteria::{Criterion, Evidence};
use drivescope_model::number::{one_decimal, rounded, whole};
use drivescope_model::{Bytes, Cell, FindingId, Metric, Secs, TestKind, TestResult, TestStatus};

/// More cells are shown as a matrix of block sizes and directions.
const ROWS_MAX: usize = 8;
const STAGES: [&str; 3] = ["degrade", "steady", "recover"];

const EVIDENCE: &[Evidence] = &[
    Evidence::of_reads(Criterion::RandomReadsQ1, "steady.rnd4k_q1t1.read.iops"),
    Evidence::of_reads(Criterion::RandomReadsDeep, "steady.rnd4k_q32t4.read.iops"),
    Evidence::of_writes(Criterion::RandomWritesQ1, "steady.rnd4k_q1t1.write.iops"),
    Evidence::of_writes(Criterion::RandomWrites, "steady.rnd4k_q32t4.write.iops"),
    Evidence::of_reads(Criterion::SequentialReads, "steady.seq1m_q32t1.read.mb_s"),
    Evidence::of_writes(Criterion::SequentialWrites, "steady.seq1m_q32t1.write.mb_s"),
];

pub(super) const REPORT: WorkloadReport = WorkloadReport {
    title: "Writing for hours",
    extremes: "max",
    reads_for_a_time: true,
    writes_for_a_time: true,
    evidence: EVIDENCE,
    charts: charts::charts,
    headline,
    tells_reason: true,
    ..WorkloadReport::new(TestKind::Steady, table)
};

/// `Steady: 8,120 IOPS in rounds 7 to 11, 19 % of the first (Random 4 KiB, Q32 × 4, write)`, of the tracked cell with
/// the largest loss.
fn headline(result: &TestResult) -> Option<String> {
    if let Some(kept) = value(result, "steady", "kept_ratio") {
        let kept = rounded(kept * 100.0);
        return Some(format!("Steady: applications wait for {kept} % of the first bandwidth"));
    }
    if !is_steady(result) {
        return Some(format!("Not steady after {} rounds", rounds(result)?));
    }
    let kept = |cell: &&str| value(result, cell, "kept_ratio").unwrap_or(f64::INFINITY);
    let least = tracked(result).into_iter().min_by(|a, b| kept(a).total_cmp(&kept(b)))?;
    let rate = rate_text(result, least)?;
    let kept = rounded(kept(&least) * 100.0);
    let name = plain_name(least);
    Some(format!("Steady: {rate}, {kept} % of the first round ({name})"))
}

fn table(result: &TestResult, style: Style) -> String {
    if STAGES.iter().any(|stage| find(result, stage, "busy_mb_s").is_some()) {
        return sections([stages(result, style) + &remarks(result, style)]);
    }
    let measured = measured(result);
    if measured.is_empty() {
        let text = remarks(result, style);
        return if text.is_empty() { text } else { format!("steady\n{text}") };
    }
    let drawn = match matrix(result, &measured).filter(|table| table.fits(style)) {
        Some(matrix) if measured.len() > ROWS_MAX => matrix.render(style),
        _ => rows(result, measured, style),
    };
    sections([drawn + &verdict(result, style) + &remarks(result, style)])
}

fn measured(result: &TestResult) -> Vec<&str> {
    let keys = result.series.iter().map(|series| series.key.as_str());
    let cells = keys.filter_map(|key| key.strip_prefix("steady.")?.strip_suffix(".round_iops"));
    cells.filter(|cell| find(result, cell, "iops").is_some()).collect()
}

fn tracked(result: &TestResult) -> Vec<&str> {
    measured(result).into_iter().filter(|cell| find(result, cell, "kept_ratio").is_some()).collect()
}

fn is_steady(result: &TestResult) -> bool {
    result.findings.iter().all(|finding| finding.id != FindingId::NotSteady)
}

fn rounds(result: &TestResult) -> Option<usize> {
    let series = result.series.iter().find(|series| series.key == "steady.rounds.written_bytes")?;
    Some(series.y.len())
}

/// Rate in the cell's unit: MB/s for large sequential requests.
fn rate_text(result: &TestResult, cell: &str) -> Option<String> {
    let (quantity, unit) =
        if cell.starts_with("seq") { ("mb_s", "MB/s") } else { ("iops", "IOPS") };
    Some(format!("{} {unit}", rounded(value(result, cell, quantity)?)))
}

fn rows(result: &TestResult, measured: Vec<&str>, style: Style) -> String {
    let rows = CellRows { result, cells: measured };
    let table = |(with_interval, with_mean): (bool, bool)| {
        let iops = if with_interval { Figure::with_interval } else { Figure::plain };
        let mut columns = vec![
            rows.names("steady"),
            rows.column("IOPS", "iops", iops),
            rows.column("MB/s", "mb_s", Figure::plain),
        ];
        if with_mean {
            columns.push(rows.column("mean", "lat_mean_us", Figure::latency));
        }
        columns.push(rows.column("p99", "lat_p99_us", Figure::latency));
        columns.push(rows.column("max", "lat_max_us", Figure::latency));
        TextTable::of_columns(Column::names_and_numbers(columns.len()), columns)
    };
    let tables = [(true, true), (false, true), (false, false)].into_iter().map(table);
    TextTable::first_fitting(tables, style)
}

/// IOPS by block size and share of reads, as in the SNIA PTS; `None` if the cells are not a matrix.
fn matrix(result: &TestResult, measured: &[&str]) -> Option<TextTable> {
    let all: Option<Vec<Cell>> = measured.iter().map(|cell| cell.parse().ok()).collect();
    let all = all?;
    let shapes = distinct(all.iter().map(|cell| cell.shape));
    let mixes = distinct(all.iter().map(|cell| cell.mix));
    let names = shapes.iter().map(ToString::to_string);
    let mut columns = vec![texts(TextCell::title("steady, IOPS"), names)];
    for mix in mixes {
        let cells = shapes.iter().map(|&shape| Cell { shape, mix }.to_string());
        let figures = cells.map(|cell| Figure::plain(find(result, &cell, "iops")));
        columns.push(headed(&mix.to_string(), figures));
    }
    Some(TextTable::of_columns(Column::names_and_numbers(columns.len()), columns))
}

fn stages(result: &TestResult, style: Style) -> String {
    fn nth(rate: Option<&Metric>, at: fn(&[f64]) -> Option<&f64>) -> Figure {
        Figure::of(rate, |_| {
            let figure = rate.and_then(|metric| at(&metric.rounds));
            figure.map_or(String::new(), |figure| rounded(*figure))
        })
    }
    let is_measured = |stage: &&str| find(result, stage, "busy_mb_s").is_some();
    let rows = CellRows { result, cells: STAGES.into_iter().filter(is_measured).collect() };
    let columns = vec![
        rows.names("steady"),
        rows.column("MB/s busy", "busy_mb_s", Figure::plain),
        rows.column("first", "busy_mb_s", |rate| nth(rate, <[f64]>::first)),
        rows.column("last", "busy_mb_s", |rate| nth(rate, <[f64]>::last)),
        rows.column("mean", "lat_mean_us", Figure::latency),
        rows.column("p99", "lat_p99_us", Figure::latency),
    ];
    TextTable::of_columns(Column::names_and_numbers(columns.len()), columns).render(style)
}

/// Rounds of the window, and the result of the rule.
fn verdict(result: &TestResult, style: Style) -> String {
    let round = |quantity| value(result, "window", quantity).map(|number| number as u64);
    let (Some(first), Some(last)) = (round("first_round"), round("last_round")) else {
        return String::new();
    };
    let (role, word) = if is_steady(result) {
        (Role::Plain, "steady in")
    } else {
        (Role::Warn, "not steady; figures of")
    };
    let rounds = format!("{word} rounds {} to {}", whole(first), whole(last));
    let paragraph = Paragraph::new().lead(Role::Dim, "  ").item(role, rounds);
    paragraph
        .items(Role::Dim, tracked(result).iter().map(|cell| rule(result, cell)))
        .lines(2, style)
}

/// `rnd4k_q32t4.write: range 6.2 %, drift 2.1 %, 19.0 % of the first round`.
fn rule(result: &TestResult, cell: &str) -> String {
    let percent =
        |quantity| value(result, cell, quantity).map(|share: f64| one_decimal(share * 100.0));
    let mut text = cell.to_string();
    if let (Some(range), Some(drift)) = (percent("range_ratio"), percent("drift_ratio")) {
        text += &format!(": range {range} %, drift {drift} %");
    }
    if let Some(kept) = value(result, cell, "kept_ratio") {
        text += &format!(", {} % of the first round", rounded(kept * 100.0));
    }
    text
}

/// Preparation of the drive, and bytes written.
fn remarks(result: &TestResult, style: Style) -> String {
    let prepared = |quantity| value(result, "precondition", quantity);
    let before = prepared("written_bytes").filter(|bytes| *bytes > 0.0).map(|bytes| {
        let pace = prepared("time_s").zip(prepared("mb_s"));
        let pace = pace.map(|(s, rate)| format!(" ({}, {} MB/s)", Secs(s), rounded(rate)));
        format!("{} written in order before{}", Bytes(bytes as u64), pace.unwrap_or_default())
    });
    let written = |key: &str, word: &str| {
        let series = result.series.iter().find(|series| series.key == key)?;
        Some(format!("{} in {word}", Bytes(*series.y.last()? as u64)))
    };
    // The reason of an unfinished test stands above.
    let reason = result.reason.as_ref().filter(|_| result.status == TestStatus::Done);
    Paragraph::new()
        .lead(Role::Dim, "  ")
        .items(Role::Dim, before)
        .items(Role::Dim, written("steady.rounds.written_bytes", "rounds"))
        .items(Role::Dim, written("steady.pass.written_bytes", "passes"))
        .items(Role::Dim, reason)
        .lines_if_words(2, style)
}

#[cfg(test)]
mod tests;
