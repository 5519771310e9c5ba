//! `tiny-writes`: what a program sees, beside what the drive does.

use super::WorkloadReport;
use crate::criteria::{Criterion, Evidence};
use crate::terminal::{Column, Figure, Style, TextCell, TextTable, cells, find, headed};
use drivescope_model::number::{one_decimal, rounded};
use drivescope_model::{Bytes, TestKind, TestResult};

/// The largest write that the criteria call small.
const SMALL_REQUEST: Bytes = Bytes::kib(4);

const EVIDENCE: &[Evidence] =
    &[Evidence::of_writes(Criterion::SyncedWrites, "tiny-writes.rnd16_sync.iops")];

pub(super) const REPORT: WorkloadReport = WorkloadReport {
    reads_for_a_time: true,
    writes_for_a_time: true,
    evidence: EVIDENCE,
    measures_criteria: |suite| suite.tiny_writes.write <= SMALL_REQUEST,
    ..WorkloadReport::new(TestKind::TinyWrites, table)
};

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
    names.extend(cells.iter().map(|cell| TextCell::plain(label(cell, block_of(result, cell)))));
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
    let columns = vec![
        names,
        headed("seen", &rates("")),
        headed("with flush", &rates("flushed_")),
        headed("drive's own", &rates("drive_")),
        headed("from cache", &shares),
    ];
    TextTable::of_columns(Column::names_and_numbers(columns.len()), columns).render(style)
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

/// Bytes of a request of a cell, whose name stays the same whatever the options ask.
fn block_of(result: &TestResult, cell: &str) -> Option<Bytes> {
    let phase = result.phases.iter().find(|phase| phase.cell == cell)?;
    phase.bytes.checked_div(phase.ops).map(Bytes)
}

/// `rnd16_sync` is `16 B random, synced`, or has the `asked` size; a name of another form stays as it is.
fn label(cell: &str, asked: Option<Bytes>) -> String {
    let Some((shape, way)) = cell.split_once('_') else { return cell.to_string() };
    let named = |order: &str| shape.strip_prefix(order)?.parse().ok();
    let (order, block): (_, Bytes) = match (named("rnd"), named("seq")) {
        (Some(block), _) => ("random", block),
        (None, Some(block)) => ("stream", block),
        (None, None) => return cell.to_string(),
    };
    let block = asked.unwrap_or(block).binary();
    let way = match way {
        "buffered" => "buffered",
        "sync" => "each synced",
        "write" => "written",
        "read_warm" => "cached read",
        "read_cold" => "uncached read",
        "direct" => "past the cache",
        "direct_sync" => "past the cache, synced",
        other => other,
    };
    format!("{block} {order}, {way}")
}

#[cfg(test)]
mod tests {
    use super::{Bytes, label};

    #[test]
    fn patterns_have_readable_names() {
        for (cell, name) in [
            ("rnd16_buffered", "16 B random, buffered"),
            ("rnd16_sync", "16 B random, each synced"),
            ("seq512_read_cold", "512 B stream, uncached read"),
            ("seq4096_write", "4 KiB stream, written"),
            ("rnd4k_direct_sync", "4 KiB random, past the cache, synced"),
            ("seq_direct_read", "seq_direct_read"),
            ("odd", "odd"),
            ("rndx_sync", "rndx_sync"),
        ] {
            assert_eq!(label(cell, None), name);
        }
        let asked = Some(Bytes(100));
        assert_eq!(label("rnd16_sync", asked), "100 B random, each synced");
        assert_eq!(label("seq512_write", asked), "100 B stream, written");
        assert_eq!(label("seq_direct_read", asked), "seq_direct_read");
    }
}
