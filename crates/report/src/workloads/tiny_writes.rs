//! `tiny-writes`: rates of the application beside those of the raw drive.

mod charts;

use super::{WorkloadReport, plain_name};
use crate::terminal::{
    CellRows, Column, Figure, Style, TextCell, TextTable, cells, find, find_usable, headed, texts,
};
use crate::verdict::criteria::{Criterion, Evidence};
use drivescope_model::number::{one_decimal, rounded};
use drivescope_model::{Bytes, TestKind, TestResult};

/// The largest write that the criteria call small.
const SMALL_REQUEST: Bytes = Bytes::kib(4);

// The file system takes part, as it does in a program that commits.
const EVIDENCE: &[Evidence] =
    &[Evidence::of_writes(Criterion::SyncedWrites, "tiny-writes.rnd16_sync.iops").preferred()];

pub(super) const REPORT: WorkloadReport = WorkloadReport {
    title: "Small writes",
    reads_for_a_time: true,
    writes_for_a_time: true,
    evidence: EVIDENCE,
    charts: charts::charts,
    measures: |suite, _| suite.tiny_writes.write <= SMALL_REQUEST,
    headline,
    name_of,
    ..WorkloadReport::new(TestKind::TinyWrites, table)
};

/// `Small writes: a program gets 78.3/s made safe, the drive alone 145/s`.
fn headline(result: &TestResult) -> Option<String> {
    let usable = |quantity: &str| {
        find_usable(result, "rnd16_sync", quantity).map(|metric| rounded(metric.value))
    };
    let program = usable("iops")?;
    let drive = usable("drive_iops").map(|rate| format!(", the drive alone {rate}/s"));
    Some(format!("Small writes: a program gets {program}/s made safe{}", drive.unwrap_or_default()))
}

/// `16 B anywhere, each made safe`.
fn name_of(result: &TestResult, cell: &str) -> String {
    let size = request_size(result, cell);
    let (place, how) = match cell {
        "rnd16_buffered" => ("anywhere", "buffered"),
        "rnd16_sync" => ("anywhere", "each made safe"),
        "rnd4k_direct" => ("anywhere", "without a cache"),
        "rnd4k_direct_sync" => ("anywhere", "without a cache, each made safe"),
        "seq512_write" => ("in a stream", "written"),
        "seq512_read_warm" => ("in a stream", "read again"),
        "seq512_read_cold" => ("in a stream", "read from the drive"),
        "seq_direct_write" => ("in a stream", "written without a cache"),
        "seq_direct_read" => ("in a stream", "read without a cache"),
        other => return plain_name(other),
    };
    match size.as_str() {
        "" => format!("Small requests {place}, {how}"),
        size => format!("{size} {place}, {how}"),
    }
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
    let rows = CellRows { result, cells };
    let sizes = || rows.cells.iter().map(|cell| request_size(result, cell));
    let rate = |cell: &str, prefix: &str| {
        let unit = unit(cell);
        let metric = find(result, cell, &format!("{prefix}{}", unit.quantity));
        Figure::of(metric, |value| format!("{}{}", rounded(value), unit.suffix))
    };
    let rates =
        |head: &str, prefix: &str| headed(head, rows.cells.iter().map(|cell| rate(cell, prefix)));
    let percent = |share: f64| format!("{} %", one_decimal(share));
    // What says least goes first where the names are too long for a line.
    let table = |(with_size, with_flush): (bool, bool)| {
        let mut columns = vec![rows.names("tiny-writes")];
        columns.extend(with_size.then(|| texts(TextCell::dim("size"), sizes())));
        columns.push(rates("application", ""));
        columns.extend(with_flush.then(|| rates("with flush", "flushed_")));
        columns.push(rates("raw drive", "drive_"));
        columns.push(rows.printed("cached", "cache_share_pct", percent));
        let mut layout = vec![Column::right(); columns.len()];
        layout[0] = Column::left();
        TextTable::of_columns(layout, columns)
    };
    let tables = [(true, true), (false, true), (false, false)].into_iter().map(table);
    TextTable::first_fitting(tables, style)
}

/// Whether a cell is the drive's side of the comparison: direct I/O, no page cache.
fn is_drives_own(cell: &str) -> bool {
    cell.split('_').any(|part| part == "direct")
}

/// The quantity that describes a pattern best, and its format.
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

/// Bytes per request of a cell, which its name does not show if options change it.
fn request_size(result: &TestResult, cell: &str) -> String {
    let phase = result.phases.iter().find(|phase| phase.cell == cell);
    let bytes = phase.and_then(|phase| phase.bytes.checked_div(phase.ops));
    bytes.map_or(String::new(), |bytes| Bytes(bytes).binary())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::measured;

    #[test]
    fn headline_shows_application_rate() {
        fn said(metrics: &[(&str, f64)]) -> Option<String> {
            headline(&measured(TestKind::TinyWrites, metrics))
        }
        let both = [("rnd16_sync.iops", 78.3), ("rnd16_sync.drive_iops", 145.0)];
        assert_eq!(
            said(&both).unwrap(),
            "Small writes: a program gets 78.3/s made safe, the drive alone 145/s"
        );
        assert_eq!(said(&both[..1]).unwrap(), "Small writes: a program gets 78.3/s made safe");
        assert_eq!(said(&[]), None);
    }
}
