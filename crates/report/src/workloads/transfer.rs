//! `transfer`: one row per shape, one group of columns per direction; rates first, then times, beside them where
//! the line has room. Synced writes have a row of their own.

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
    brief: rates,
    ..WorkloadReport::new(TestKind::Transfer, table)
};

/// Which figures a table has.
#[derive(Clone, Copy)]
struct Parts {
    rates: bool,
    times: bool,
}

const RATES: Parts = Parts { rates: true, times: false };
const TIMES: Parts = Parts { rates: false, times: true };
const BOTH: Parts = Parts { rates: true, times: true };

fn table(result: &TestResult, style: Style) -> String {
    let grid = Grid::of(result);
    if grid.rows.is_empty() {
        return String::new();
    }
    let whole = grid.table(&grid.mixes, BOTH);
    if whole.fits(style) {
        return whole.render(style);
    }
    sections([grid.fitting(RATES, style), grid.fitting(TIMES, style)])
}

/// The rates alone.
fn rates(result: &TestResult, style: Style) -> String {
    Grid::of(result).fitting(RATES, style)
}

/// What was measured, by shape and direction.
struct Grid<'a> {
    result: &'a TestResult,
    cells: Vec<&'a str>,
    /// Shapes; those of synced writes once more, as cells.
    rows: Vec<&'a str>,
    /// Directions.
    mixes: Vec<&'a str>,
}

impl<'a> Grid<'a> {
    fn of(result: &'a TestResult) -> Self {
        let cells = cells(result);
        let (mut shapes, mut mixes) = (Vec::new(), Vec::new());
        for cell in &cells {
            let (shape, mix) = cell.split_once('.').unwrap_or((cell, ""));
            if !shapes.contains(&shape) {
                shapes.push(shape);
            }
            if !mixes.contains(&mix) {
                mixes.push(mix);
            }
        }
        mixes.sort_by_key(|mix| rank(mix));
        let mut rows = shapes;
        if mixes.contains(&"write") {
            mixes.retain(|mix| *mix != "sync");
            rows.extend(cells.iter().filter(|cell| is_synced(cell)));
        }
        Self { result, cells, rows, mixes }
    }

    /// As many directions beside each other as fit, the others below.
    fn fitting(&self, parts: Parts, style: Style) -> String {
        let tables = |size: usize| {
            self.mixes.chunks(size).map(|mixes| self.table(mixes, parts)).collect::<Vec<_>>()
        };
        let beside = (1..=self.mixes.len())
            .rev()
            .map(tables)
            .find(|tables| tables.iter().all(|table| table.fits(style)))
            .unwrap_or_else(|| tables(1));
        sections(beside.iter().map(|table| table.render(style)))
    }

    /// A table with the rows at the left and, for each direction, its figures.
    fn table(&self, mixes: &[&str], parts: Parts) -> TextTable {
        let shows = |row: &&&str| mixes.contains(&"write") || !is_synced(row);
        let rows: Vec<&str> = self.rows.iter().filter(shows).copied().collect();
        let mut layout = vec![Column::left().flexible(12)];
        let mut names = vec![TextCell::title(if parts.rates { "transfer" } else { "response" })];
        names.extend(rows.iter().map(|row| TextCell::plain(*row)));
        let mut columns = vec![names];
        if parts.rates {
            layout.push(Column::left());
            let mut units = vec![TextCell::blank()];
            units.extend(rows.iter().map(|row| TextCell::dim(rate_of(row).1)));
            columns.push(units);
        }
        for mix in mixes {
            for (i, (head, quantity)) in heads(mix, parts).into_iter().enumerate() {
                let figures: Vec<Figure> =
                    rows.iter().map(|row| self.figure(row, mix, quantity)).collect();
                columns.push(headed(head.trim_start(), &figures));
                layout.push(Column::right().gap(if i == 0 { GROUP_GAP } else { 2 }));
            }
        }
        TextTable::of_columns(layout, columns)
    }

    /// A latency, or the rate where none is named.
    fn figure(&self, row: &str, mix: &str, latency: Option<&str>) -> Figure {
        let cell = match is_synced(row) {
            true if mix == "write" => row.to_string(),
            true => return Figure::Blank,
            false if mix.is_empty() => row.to_string(),
            false => format!("{row}.{mix}"),
        };
        if !self.cells.contains(&cell.as_str()) {
            return Figure::Missing;
        }
        match latency {
            Some(quantity) => Figure::latency(find(self.result, &cell, quantity)),
            None => Figure::with_interval(find(self.result, &cell, rate_of(row).0)),
        }
    }
}

/// Heads and latencies of the columns of a direction.
fn heads(mix: &str, parts: Parts) -> Vec<(String, Option<&'static str>)> {
    let times = ["p50", "p99", "max"].into_iter().zip(["lat_p50_us", "lat_p99_us", "lat_max_us"]);
    let mut heads = Vec::new();
    if parts.rates {
        heads.push((mix.to_string(), None));
    }
    if parts.times {
        heads.extend(times.map(|(head, key)| (head.to_string(), Some(key))));
    }
    if !parts.rates {
        heads[0].0 = format!("{mix} {}", heads[0].0);
    }
    heads
}

/// The rate that tells most of a shape, and its unit: small random requests are counted.
fn rate_of(row: &str) -> (&'static str, &'static str) {
    let shape = row.split('.').next().unwrap_or(row);
    match shape.parse::<Shape>().map(|shape| shape.order) {
        Ok(Order::Seq) => ("mb_s", "MB/s"),
        _ => ("iops", "IOPS"),
    }
}

fn is_synced(row: &str) -> bool {
    row.ends_with(".sync")
}

/// Reads first, then writes, synced ones last of them, then mixes with falling shares of reads.
fn rank(mix: &str) -> u8 {
    match mix.parse() {
        Ok(Mix::READ) => 0,
        Ok(Mix::WRITE) => 1,
        Ok(Mix::SYNC) => 2,
        Ok(mix) => 3 + (100 - mix.read_percent()),
        Err(_) => u8::MAX,
    }
}
