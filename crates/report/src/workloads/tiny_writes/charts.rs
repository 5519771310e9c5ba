//! Pictures of small writes: what a program gets beside what the drive does, and a burst that fills a cache.

use super::{is_drives_own, name_of};
use crate::chart::Chart;
use crate::chart::over_time::worst_fall;
use crate::chart::plot::{Ink, MarkOutline};
use crate::chart::rows::{RowQuantity, quantity_rows};
use crate::terminal::{cells, find_usable};
use drivescope_model::TestResult;
use drivescope_model::number::rounded;

const PROGRAM: Ink = Ink::Series(0);
const DRIVE: Ink = Ink::Series(1);

pub(super) fn charts(result: &TestResult) -> Vec<Chart> {
    let writes: Vec<(String, String)> = cells(result)
        .iter()
        .filter(|cell| cell.contains("direct") && !cell.contains("read"))
        .map(|cell| (format!("tiny-writes.{cell}.mb_s"), name_of(result, cell)))
        .collect();
    beside(result).into_iter().chain(worst_fall(result, "tiny-writes-over-time", &writes)).collect()
}

/// A row per pattern: the program's rate, its rate with flushes, and the drive's own.
fn beside(result: &TestResult) -> Option<Chart> {
    let rate = |cell: &str| find_usable(result, cell, "iops");
    let is_row = |cell: &&str| !is_drives_own(cell) && rate(cell).is_some();
    let rows: Vec<&str> = cells(result).into_iter().filter(is_row).collect();
    let first = rate(rows.first()?)?;
    let names: Vec<String> = rows.iter().map(|cell| name_of(result, cell)).collect();
    let row = |quantity, ink, outline, word| RowQuantity { quantity, ink, outline, word };
    let quantities = [
        row("iops", PROGRAM, MarkOutline::Filled, "program"),
        row("flushed_iops", PROGRAM, MarkOutline::Open, "with a flush"),
        row("drive_iops", DRIVE, MarkOutline::Filled, "drive itself"),
    ];
    let plot = quantity_rows(result, &rows, &names, "requests per second", &quantities)
        .named(DRIVE, "drive itself")
        .named(PROGRAM, "program");
    Some(Chart {
        name: "tiny-writes".to_string(),
        title: "Small requests through the page cache".to_string(),
        caption:
            "What a program sees, what is left once it flushes, and what the drive does unaided. \
                  Logarithmic; bars are 95 % intervals."
                .to_string(),
        description: format!("{}: {} requests per second.", names[0], rounded(first.value)),
        plot,
    })
}
