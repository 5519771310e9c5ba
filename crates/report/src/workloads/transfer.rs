//! `transfer`: one row per shape, one group of columns per direction; rates first, then times, beside them where
//! the line has room. Synced writes have a row of their own.

mod charts;

use super::WorkloadReport;
use crate::chart::plain_words::shape_words;
use crate::figure_grid::{FigureGrid, GridField, GridRow};
use crate::first_seen::distinct;
use crate::terminal::{
    Column, Figure, Style, TextCell, TextTable, cells, find, headed, note, sections, texts, value,
};
use crate::verdict::criteria::{Criterion, Evidence};
use drivescope_model::number::rounded;
use drivescope_model::{Finding, Mix, Order, Severity, Shape, TestKind, TestResult};

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

/// Sequential reads of data written at random.
const SCATTERED: &str = "read_scattered";
/// Between a direction and the percentage of its data that compresses away.
const COMPRESSIBLE: &str = "_compress";
/// Reads that keep this share of their rate are not slower.
const KEPT_MIN: f64 = 0.85;

const GROUP_GAP: usize = 3;

pub(super) const REPORT: WorkloadReport = WorkloadReport {
    title: "Speed",
    extremes: "max",
    reads_for_a_time: true,
    writes_for_a_time: true,
    evidence: EVIDENCE,
    charts: charts::charts,
    headline,
    grid: figure_grid,
    phases: charts::phases,
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
    let note = after_writes(result).map_or(String::new(), |text| note(text, style));
    let whole = grid.table(&grid.mixes, BOTH);
    if whole.fits(style) {
        return whole.render(style) + &note;
    }
    sections([grid.fitting(RATES, style) + &note, grid.fitting(TIMES, style)])
}

/// The rate of sequential reads after random writes, if it is lower.
fn after_writes(result: &TestResult) -> Option<String> {
    let cells = cells(result);
    let cell = cells.iter().find(|cell| cell.ends_with(SCATTERED))?;
    let shape = cell.trim_end_matches(SCATTERED).trim_end_matches('.');
    let rate = |cell: &str| value(result, cell, "mb_s");
    let (before, after) = (rate(&format!("{shape}.read"))?, rate(cell)?);
    (after < KEPT_MIN * before).then(|| {
        format!("{shape}.read: {} MB/s where data had been written at random", rounded(after))
    })
}

/// `Speed: 266 MB/s in order, 80.3 to 294 requests a second at random`, of reads, else of writes.
fn headline(result: &TestResult) -> Option<String> {
    let usable = |cell: &str| {
        let (quantity, _) = rate_of(cell.split('.').next().unwrap_or(cell));
        find(result, cell, quantity).filter(|metric| metric.valid).map(|metric| metric.value)
    };
    let of = |order: Order, mix: &str| -> Vec<f64> {
        let is_wanted = |cell: &&&str| {
            let parsed = cell.split_once('.');
            parsed.is_some_and(|(shape, its)| {
                let parsed = shape.parse::<Shape>().ok().filter(|shape| shape.think_us == 0);
                its == mix && parsed.is_some_and(|shape| shape.order == order)
            })
        };
        let cells = cells(result);
        let found = cells.iter().filter(is_wanted).filter_map(|cell| usable(cell));
        found.collect()
    };
    let either = |order| Some(of(order, "read")).filter(|found| !found.is_empty());
    let in_order = either(Order::Seq).unwrap_or_else(|| of(Order::Seq, "write"));
    let scattered = either(Order::Rnd).unwrap_or_else(|| of(Order::Rnd, "write"));
    let in_order = lowest_and_highest(&in_order).map(|(_, most)| format!("{most} MB/s in order"));
    let scattered = lowest_and_highest(&scattered).map(|(least, most)| {
        if least == most {
            format!("{least} requests a second at random")
        } else {
            format!("{least} to {most} requests a second at random")
        }
    });
    let parts: Vec<String> = in_order.into_iter().chain(scattered).collect();
    (!parts.is_empty()).then(|| format!("Speed: {}", parts.join(", ")))
}

fn lowest_and_highest(values: &[f64]) -> Option<(String, String)> {
    let low = values.iter().copied().reduce(f64::min)?;
    Some((rounded(low), rounded(values.iter().copied().reduce(f64::max)?)))
}

fn figure_grid(result: &TestResult) -> Option<FigureGrid<'_>> {
    let grid = Grid::of(result);
    let field = |cell: &str| {
        let (quantity, _) = rate_of(cell.split('.').next().unwrap_or(cell));
        let rate = find(result, cell, quantity)?;
        let latencies_us = ["lat_p50_us", "lat_p99_us"].map(|name| value(result, cell, name));
        let is_about = |finding: &&Finding| {
            let is_grave = finding.severity > Severity::Note && !finding.metrics.is_empty();
            is_grave && finding.concerns(&rate.key)
        };
        let finding = result.findings.iter().find(is_about).map(|finding| finding.id.to_string());
        Some(GridField { rate, latencies_us, finding })
    };
    let row = |row: &&str| {
        let fields = grid.mixes.iter().map(|mix| match (is_synced(row), mix.is_empty()) {
            (true, _) => (*mix == "write").then(|| field(row)).flatten(),
            (false, true) => field(row),
            (false, false) => field(&format!("{row}.{mix}")),
        });
        let shape = row.split('.').next().unwrap_or(row);
        let words = shape.parse::<Shape>().map_or(shape.to_string(), |shape| shape_words(&shape));
        let name = if is_synced(row) { format!("{words}, flushed") } else { words };
        GridRow { name, unit: rate_of(row).1, fields: fields.collect() }
    };
    let columns = grid.mixes.iter().map(|mix| direction_words(mix));
    let (columns, rows) = (columns.collect(), grid.rows.iter().map(row).collect::<Vec<_>>());
    (!rows.is_empty()).then_some(FigureGrid { name: "transfer-grid", columns, rows })
}

/// `mixed 70/30` for `mix70`, `write, 80 % compressible` for `write_compress80`.
fn direction_words(mix: &str) -> String {
    if let Some((mix, percent)) = mix.split_once(COMPRESSIBLE) {
        return format!("{mix}, {percent} % compressible");
    }
    let reads = mix.strip_prefix("mix").and_then(|reads| reads.parse::<u8>().ok());
    match reads.filter(|reads| *reads <= 100) {
        Some(reads) => format!("mixed {reads}/{}", 100 - reads),
        None => mix.to_string(),
    }
}

fn rates(result: &TestResult, style: Style) -> String {
    Grid::of(result).fitting(RATES, style)
}

struct Grid<'a> {
    result: &'a TestResult,
    cells: Vec<&'a str>,
    /// Shapes; those of synced writes have rows of their own, as cells.
    rows: Vec<&'a str>,
    /// Directions.
    mixes: Vec<&'a str>,
}

impl<'a> Grid<'a> {
    fn of(result: &'a TestResult) -> Self {
        let mut cells = cells(result);
        cells.retain(|cell| !cell.ends_with(SCATTERED));
        let parts = cells.iter().copied().map(|cell| cell.split_once('.').unwrap_or((cell, "")));
        let mut mixes = distinct(parts.clone().map(|(_, mix)| mix));
        mixes.sort_by_key(|mix| rank(mix));
        let mut rows = distinct(parts.map(|(shape, _)| shape));
        if mixes.contains(&"write") {
            mixes.retain(|mix| *mix != "sync");
            rows.extend(cells.iter().filter(|cell| is_synced(cell)));
        }
        Self { result, cells, rows, mixes }
    }

    /// As many directions side by side as fit, the others below.
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

    fn table(&self, mixes: &[&str], parts: Parts) -> TextTable {
        let shows = |row: &&&str| mixes.contains(&"write") || !is_synced(row);
        let rows: Vec<&str> = self.rows.iter().filter(shows).copied().collect();
        let mut layout = vec![Column::left().flexible(12)];
        let title = TextCell::title(if parts.rates { "transfer" } else { "response" });
        let mut columns = vec![texts(title, &rows)];
        if parts.rates {
            layout.push(Column::left());
            let mut units = vec![TextCell::blank()];
            units.extend(rows.iter().map(|row| TextCell::dim(rate_of(row).1)));
            columns.push(units);
        }
        for mix in mixes {
            for (i, (head, quantity)) in heads(mix, parts).into_iter().enumerate() {
                let figures = rows.iter().map(|row| self.figure(row, mix, quantity));
                columns.push(headed(head.trim_start(), figures));
                layout.push(Column::right().gap(if i == 0 { GROUP_GAP } else { 2 }));
            }
        }
        TextTable::of_columns(layout, columns)
    }

    /// A latency; without a name the rate.
    fn figure(&self, row: &str, mix: &str, latency: Option<&str>) -> Figure {
        let synced = is_synced(row);
        if synced && mix != "write" {
            return Figure::Blank;
        }
        let is_whole = synced || mix.is_empty();
        let cell = if is_whole { row.to_string() } else { format!("{row}.{mix}") };
        if !self.cells.contains(&cell.as_str()) {
            return Figure::Missing;
        }
        match latency {
            Some(quantity) => Figure::latency(find(self.result, &cell, quantity)),
            None => Figure::with_interval(find(self.result, &cell, rate_of(row).0)),
        }
    }
}

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

/// The quantity that describes a shape best, and its unit: small random requests are counted.
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

/// Order of directions: reads, writes, synced writes, then mixes with falling shares of reads.
fn rank(mix: &str) -> u8 {
    if mix.contains(COMPRESSIBLE) {
        return 2;
    }
    match mix.parse() {
        Ok(Mix::READ) => 0,
        Ok(Mix::WRITE) => 1,
        Ok(Mix::SYNC) => 3,
        Ok(mix) => 4 + (100 - mix.read_percent()),
        Err(_) => u8::MAX,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{measured, nvme};

    #[test]
    fn headline_shows_sequential_and_random_rates() {
        fn said(metrics: &[(&str, f64)]) -> Option<String> {
            headline(&measured(TestKind::Transfer, metrics))
        }
        let [large, one, deep, write] = [
            ("seq1m_q8t1.read.mb_s", 266.4),
            ("rnd4k_q1t1.read.iops", 80.3),
            ("rnd4k_q32t1.read.iops", 182.0),
            ("rnd4k_q1t1.write.iops", 292.0),
        ];
        assert_eq!(
            said(&[large, one, deep, write]).unwrap(),
            "Speed: 266 MB/s in order, 80.3 to 182 requests a second at random"
        );
        assert_eq!(said(&[write]).unwrap(), "Speed: 292 requests a second at random");
        assert_eq!(said(&[]), None);
    }

    #[test]
    fn grid_has_every_cell_and_marks_findings() {
        let result = &nvme().tests[0];
        let grid = figure_grid(result).unwrap();
        let fields = grid.rows.iter().flat_map(|row| &row.fields).flatten();
        let rates: Vec<&str> = fields.clone().map(|field| field.rate.key.as_str()).collect();
        let cells = cells(result);
        assert_eq!(rates.len(), cells.len(), "{rates:?}");
        assert!(fields.clone().all(|field| field.mark().is_empty()));
        let disk = crate::testing::hard_disk();
        let grid = figure_grid(&disk.tests[0]).unwrap();
        let marked = grid.rows.iter().flat_map(|row| &row.fields).flatten();
        let marked: Vec<&GridField> = marked.filter(|field| field.finding.is_some()).collect();
        assert!(marked.iter().all(|field| field.rate.key.contains("rnd4k_q1t1.write")));
        assert_eq!(grid.chart().description.matches(": ").count(), rates_of(&grid));
    }

    fn rates_of(grid: &FigureGrid) -> usize {
        grid.rows.iter().flat_map(|row| &row.fields).flatten().count()
    }
}
