//! Pictures of small writes: what a program gets beside what the drive does, and a burst that fills a cache.

use super::is_drives_own;
use crate::chart::Chart;
use crate::chart::axis::{AxisValues, PlotAxis};
use crate::chart::over_time::worst_fall;
use crate::chart::plot::{Along, Beside, Ink, Layer, Plot, PlotMark};
use crate::terminal::{cells, find};
use drivescope_model::number::rounded;
use drivescope_model::{Metric, TestResult};

const PROGRAM: Ink = Ink::Series(0);
const DRIVE: Ink = Ink::Series(1);

pub(super) fn charts(result: &TestResult) -> Vec<Chart> {
    let keyed = |cell: &&str| (format!("tiny-writes.{cell}.mb_s"), (*cell).to_string());
    let writes: Vec<(String, String)> = cells(result)
        .iter()
        .filter(|cell| cell.contains("direct") && !cell.contains("read"))
        .map(keyed)
        .collect();
    beside(result).into_iter().chain(worst_fall(result, "tiny-writes-over-time", &writes)).collect()
}

/// A row for each pattern: the program's rate, the same with its flush, and the drive's own.
fn beside(result: &TestResult) -> Option<Chart> {
    let cells: Vec<&str> = cells(result).into_iter().filter(|cell| !is_drives_own(cell)).collect();
    let metric = |cell: &str, quantity: &str| {
        find(result, cell, quantity).filter(|metric| metric.value > 0.0 && metric.valid)
    };
    let rows: Vec<&str> = cells.into_iter().filter(|cell| metric(cell, "iops").is_some()).collect();
    let of = |quantity: &'static str| rows.iter().filter_map(move |cell| metric(cell, quantity));
    let all = || {
        ["iops", "flushed_iops", "drive_iops"].into_iter().flat_map(of).map(|metric| metric.value)
    };
    let (least, most) = (all().fold(f64::INFINITY, f64::min), all().fold(0.0, f64::max));
    let first = of("iops").next()?;
    let names: Vec<String> = rows.iter().map(|cell| (*cell).to_string()).collect();
    let x = PlotAxis::log("requests per second", least, most, AxisValues::Number);
    let mut plot = Plot::new(x, PlotAxis::rows("", &names));
    for (quantity, ink, is_filled, word) in [
        ("drive_iops", DRIVE, true, "drive"),
        ("flushed_iops", PROGRAM, false, "with flush"),
        ("iops", PROGRAM, true, "program"),
    ] {
        let marks = rows.iter().enumerate().filter_map(|(row, cell)| {
            metric(cell, quantity).map(|metric| mark(metric, row, is_filled))
        });
        let marks: Vec<PlotMark> = marks.collect();
        for mark in &marks {
            let is_first = mark.at.1 == 0.0;
            let name = if is_first {
                format!("{word} {}", rounded(mark.at.0))
            } else {
                rounded(mark.at.0)
            };
            plot = plot.with_text(mark.at, name, ink, Beside::AboveRight);
        }
        plot = plot.named(ink, if ink == DRIVE { "drive" } else { "program" });
        plot = plot.with(Layer::Marks { marks, ink });
    }
    Some(Chart {
        name: "tiny-writes".to_string(),
        title: "Small requests through the page cache".to_string(),
        caption:
            "What a program sees, what is left once it flushes, and what the drive does unaided. \
                  Logarithmic; bars are 95 % intervals."
                .to_string(),
        description: format!("{}: {} requests per second.", rows[0], rounded(first.value)),
        plot,
    })
}

fn mark(metric: &Metric, row: usize, is_filled: bool) -> PlotMark {
    let interval = (metric.low, metric.high);
    PlotMark { at: (metric.value, row as f64), interval, interval_along: Along::X, is_filled }
}
