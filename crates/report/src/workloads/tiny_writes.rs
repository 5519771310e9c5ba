//! `tiny-writes`: rates of the application beside those of the raw drive.

mod charts;

use super::WorkloadReport;
use crate::criteria::{Criterion, Evidence};
use crate::terminal::{Column, Figure, Style, TextCell, TextTable, cells, find, headed};
use drivescope_model::number::{one_decimal, rounded};
use drivescope_model::{Bytes, TestKind, TestResult};

/// The largest write that the criteria call small.
const SMALL_REQUEST: Bytes = Bytes::kib(4);

// The file system takes part, as it does in a program that commits.
const EVIDENCE: &[Evidence] =
    &[Evidence::of_writes(Criterion::SyncedWrites, "tiny-writes.rnd16_sync.iops").preferred()];

pub(super) const REPORT: WorkloadReport = WorkloadReport {
    reads_for_a_time: true,
    writes_for_a_time: true,
    evidence: EVIDENCE,
    charts: charts::charts,
    measures: |suite, _| suite.tiny_writes.write <= SMALL_REQUEST,
    headline,
    ..WorkloadReport::new(TestKind::TinyWrites, table)
};

/// `Small writes: a program gets 78.3/s made safe, the drive alone 145/s`, as far as it was measured.
fn headline(result: &TestResult) -> Option<String> {
    let usable = |quantity: &str| {
        let metric = find(result, "rnd16_sync", quantity)?;
        (metric.valid && metric.value > 0.0).then(|| rounded(metric.value))
    };
    let program = usable("iops")?;
    let drive = usable("drive_iops").map(|rate| format!(", the drive alone {rate}/s"));
    Some(format!("Small writes: a program gets {program}/s made safe{}", drive.unwrap_or_default()))
}

fn table(result: &TestResult, style: Style) -> String {
    let mut cells = cells(result);
    // The drive's own cells stand beside the patterns they answer, unless nothing else was measured.
    if cells.iter().any(|cell| !is_drives_own(cell)) {
        cells.retain(|cell| !is_drives_own(cell));
    }
    if cells.is_empty() {
        return String::new();
    }
    let mut names = vec![TextCell::title("tiny-writes")];
    names.extend(cells.iter().map(|cell| TextCell::plain(*cell)));
    let mut sizes = vec![TextCell::dim("size")];
    sizes.extend(cells.iter().map(|cell| TextCell::plain(request_size(result, cell))));
    let rates = |prefix: &str| -> Vec<Figure> {
        cells
            .iter()
            .map(|cell| {
                let unit = unit(cell);
                let metric = find(result, cell, &format!("{prefix}{}", unit.quantity));
                Figure::of(metric, |value| format!("{}{}", rounded(value), unit.suffix))
            })
            .collect()
    };
    let shares: Vec<Figure> = cells
        .iter()
        .map(|cell| {
            let metric = find(result, cell, "cache_share_pct");
            Figure::of(metric, |share| format!("{} %", one_decimal(share)))
        })
        .collect();
    // What says least goes first where the names are too long for a line.
    let table = |with_size: bool, with_flush: bool| {
        let mut columns = vec![names.clone()];
        columns.extend(with_size.then(|| sizes.clone()));
        columns.push(headed("application", &rates("")));
        columns.extend(with_flush.then(|| headed("with flush", &rates("flushed_"))));
        columns.push(headed("raw drive", &rates("drive_")));
        columns.push(headed("cached", &shares));
        let mut layout = vec![Column::right(); columns.len()];
        layout[0] = Column::left();
        TextTable::of_columns(layout, columns)
    };
    [table(true, true), table(false, true)]
        .into_iter()
        .find(|table| table.fits(style))
        .unwrap_or_else(|| table(false, false))
        .render(style)
}

/// Whether a cell is the drive's part of a comparison: direct I/O, no page cache.
fn is_drives_own(cell: &str) -> bool {
    cell.split('_').any(|part| part == "direct")
}

/// Which rate tells most about a pattern, and how it is written.
struct Unit {
    quantity: &'static str,
    suffix: &'static str,
}

/// Small random writes are counted; streams have a rate, as `dd` prints it.
fn unit(cell: &str) -> Unit {
    if cell.starts_with("rnd") {
        Unit { quantity: "iops", suffix: "/s" }
    } else {
        Unit { quantity: "mb_s", suffix: " MB/s" }
    }
}

/// Bytes of a request of a cell, whose name stays the same whatever size the options ask.
fn request_size(result: &TestResult, cell: &str) -> String {
    let phase = result.phases.iter().find(|phase| phase.cell == cell);
    let bytes = phase.and_then(|phase| phase.bytes.checked_div(phase.ops));
    bytes.map_or(String::new(), |bytes| Bytes(bytes).binary())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{metric, result};

    #[test]
    fn a_headline_says_what_a_program_gets() {
        let of =
            |quantity: &str, value| metric(&format!("tiny-writes.rnd16_sync.{quantity}"), &[value]);
        let said = |metrics| headline(&result(TestKind::TinyWrites, metrics));
        assert_eq!(
            said(vec![of("iops", 78.3), of("drive_iops", 145.0)]).unwrap(),
            "Small writes: a program gets 78.3/s made safe, the drive alone 145/s"
        );
        assert_eq!(
            said(vec![of("iops", 78.3)]).unwrap(),
            "Small writes: a program gets 78.3/s made safe"
        );
        assert_eq!(said(Vec::new()), None);
    }
}
