//! `transfer`: one row per shape, one group of columns per direction; rates first, then times.

mod charts;

use super::WorkloadReport;
use crate::criteria::{Criterion, Evidence};
use crate::terminal::{Column, Figure, Style, TextCell, TextTable, cells, find, headed, sections};
use drivescope_model::{Mix, Order, Shape, TestKind, TestResult};

const EVIDENCE: &[Evidence] = &[
    Evidence::of_reads(Criterion::RandomReadsQ1, "transfer.rnd4k_q1t1.read.iops"),
    Evidence::of_reads(Criterion::RandomReadsDeep, "transfer.rnd4k_q32t1.read.iops"),
    Evidence::of_reads(Criterion::RandomReadsDeep, "transfer.rnd4k_q32t16.read.iops"),
    Evidence::of_reads(Criterion::RandomReadP99, "transfer.rnd4k_q1t1.read.lat_p99_us"),
    Evidence::of_writes(Criterion::RandomWritesQ1, "transfer.rnd4k_q1t1.write.iops"),
    Evidence::of_writes(Criterion::RandomWrites, "transfer.rnd4k_q32t1.write.iops"),
    Evidence::of_writes(Criterion::RandomWrites, "transfer.rnd4k_q32t16.write.iops"),
    Evidence::of_writes(Criterion::RandomWrites, "transfer.rnd4k_q1t1.write.iops"),
    Evidence::of_writes(Criterion::SyncedWrites, "transfer.rnd4k_q1t1.sync.iops"),
    Evidence::of_reads(Criterion::SequentialReads, "transfer.seq1m_q1t1.read.mb_s"),
    Evidence::of_reads(Criterion::SequentialReads, "transfer.seq1m_q8t1.read.mb_s"),
    Evidence::of_reads(Criterion::SequentialReads, "transfer.seq128k_q32t1.read.mb_s"),
    Evidence::of_writes(Criterion::SequentialWrites, "transfer.seq1m_q1t1.write.mb_s"),
    Evidence::of_writes(Criterion::SequentialWrites, "transfer.seq1m_q8t1.write.mb_s"),
    Evidence::of_writes(Criterion::SequentialWrites, "transfer.seq128k_q32t1.write.mb_s"),
];

/// Spaces between the groups of columns.
const GROUP_GAP: usize = 3;

pub(super) const REPORT: WorkloadReport = WorkloadReport {
    extremes: "max",
    reads_for_a_time: true,
    writes_for_a_time: true,
    evidence: EVIDENCE,
    charts: charts::charts,
    ..WorkloadReport::new(TestKind::Transfer, table)
};

fn table(result: &TestResult, style: Style) -> String {
    let cells = cells(result);
    let mut shapes: Vec<&str> = Vec::new();
    let mut mixes: Vec<&str> = Vec::new();
    for cell in &cells {
        let (shape, mix) = cell.split_once('.').unwrap_or((cell, ""));
        if !shapes.contains(&shape) {
            shapes.push(shape);
        }
        if !mixes.contains(&mix) {
            mixes.push(mix);
        }
    }
    if shapes.is_empty() {
        return String::new();
    }
    mixes.sort_by_key(|mix| rank(mix));
    let mut out = fitting(&mixes, style, |group| rates(result, &shapes, group));
    out.push('\n');
    out.push_str(&fitting(&mixes, style, |group| times(result, &shapes, group)));
    out
}

/// Reads first, then writes, then mixes with falling shares of reads.
fn rank(mix: &str) -> u8 {
    match mix.parse() {
        Ok(Mix::READ) => 0,
        Ok(Mix::WRITE) => 1,
        Ok(mix) => 2 + (100 - mix.read_percent()),
        Err(_) => u8::MAX,
    }
}

/// As many directions beside each other as fit, the others below.
fn fitting(mixes: &[&str], style: Style, table: impl Fn(&[&str]) -> TextTable) -> String {
    let tables_of = |size: usize| mixes.chunks(size).map(&table).collect::<Vec<_>>();
    let beside = (1..=mixes.len())
        .rev()
        .map(tables_of)
        .find(|tables| tables.iter().all(|table| table.fits(style)))
        .unwrap_or_else(|| tables_of(1));
    sections(beside.iter().map(|table| table.render(style)))
}

fn rates(result: &TestResult, shapes: &[&str], mixes: &[&str]) -> TextTable {
    group(
        result,
        "transfer",
        shapes,
        mixes,
        |cell, shape| {
            let rate = find(result, cell, "mb_s");
            let count = find(result, cell, "iops");
            match shape.parse::<Shape>().map(|shape| shape.order) {
                Ok(Order::Seq) => vec![Figure::with_interval(rate), Figure::Blank],
                // The count is the headline of small requests; its spread is the rate's.
                _ => vec![
                    Figure::of(rate, drivescope_model::number::rounded),
                    Figure::with_interval(count),
                ],
            }
        },
        &["MB/s", "IOPS"],
    )
}

fn times(result: &TestResult, shapes: &[&str], mixes: &[&str]) -> TextTable {
    group(
        result,
        "response",
        shapes,
        mixes,
        |cell, _| {
            ["lat_p50_us", "lat_p99_us", "lat_max_us"]
                .map(|quantity| Figure::latency(find(result, cell, quantity)))
                .to_vec()
        },
        &["p50", "p99", "max"],
    )
}

/// A table with the shapes at the left and, for each direction, the columns named by `heads`.
fn group(
    result: &TestResult,
    title: &str,
    shapes: &[&str],
    mixes: &[&str],
    figures: impl Fn(&str, &str) -> Vec<Figure>,
    heads: &[&str],
) -> TextTable {
    let known = cells(result);
    let mut layout = vec![Column::left().flexible(12)];
    let mut names = vec![TextCell::title(title)];
    names.extend(shapes.iter().map(|shape| TextCell::plain(*shape)));
    let mut columns = vec![names];
    for mix in mixes {
        let fields: Vec<Vec<Figure>> = shapes
            .iter()
            .map(|shape| {
                let cell =
                    if mix.is_empty() { (*shape).to_string() } else { format!("{shape}.{mix}") };
                if known.contains(&cell.as_str()) {
                    figures(&cell, shape)
                } else {
                    vec![Figure::Missing; heads.len()]
                }
            })
            .collect();
        for (i, head) in heads.iter().enumerate() {
            let head = if i == 0 { format!("{mix} {head}") } else { (*head).to_string() };
            let column: Vec<Figure> = fields.iter().map(|field| field[i].clone()).collect();
            columns.push(headed(head.trim_start(), &column));
            layout.push(Column::right().gap(if i == 0 { GROUP_GAP } else { 2 }));
        }
    }
    TextTable::of_columns(layout, columns)
}
