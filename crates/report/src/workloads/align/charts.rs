//! A map of alignment: how long an access takes by its size and its offset.

use super::{groups, named};
use crate::chart::Chart;
use crate::chart::axis::PlotAxis;
use crate::chart::plot::{Layer, Plot};
use crate::terminal::value;
use drivescope_model::TestResult;
use drivescope_model::number::{rounded, whole};

/// Darker than this is as slow as it gets: three times the fastest.
const DARKEST_RATIO: f64 = 3.0;

pub(super) fn charts(result: &TestResult) -> Vec<Chart> {
    map(result).into_iter().collect()
}

/// `4 KiB` of `write4k` and of `pass4k`.
fn size_of(size: &str) -> String {
    let words = named(size);
    words.rsplit_once(' ').map_or(words.clone(), |(bytes, _)| bytes.to_string())
}

/// A column for each size of access, a row for each offset, the time of the fastest in its column as measure.
fn map(result: &TestResult) -> Option<Chart> {
    let groups = groups(result);
    let time = |cell: &str| {
        let mean = value(result, cell, "lat_mean_us").map(|us| us / 1e3);
        mean.or_else(|| value(result, cell, "tps").map(|tps| 1e3 / tps)).filter(|ms| *ms > 0.0)
    };
    let mut offsets: Vec<u64> =
        groups.iter().flat_map(|(_, cells)| cells.iter().map(|(offset, _)| *offset)).collect();
    offsets.sort_unstable();
    offsets.dedup();
    // Offsets are many and sizes few: so the numbers have room on a phone too.
    let rows: Vec<String> = offsets.iter().map(|offset| format!("+{}", whole(*offset))).collect();
    let columns: Vec<String> = groups.iter().map(|(size, _)| size_of(size)).collect();
    let y = PlotAxis::rows("bytes from the first one", &rows);
    let x = PlotAxis::rows("size of a write", &columns);
    let mut plot = Plot { is_compact: true, ..Plot::new(x, y) };
    let mut slowest = ("", 1.0);
    for (column, (size, cells)) in groups.iter().enumerate() {
        let times = || cells.iter().filter_map(|(_, cell)| time(cell));
        let fastest = times().fold(f64::INFINITY, f64::min);
        for (offset, cell) in cells {
            let (Some(ms), Ok(row)) = (time(cell), offsets.binary_search(offset)) else {
                continue;
            };
            let ratio = ms / fastest;
            if ratio > slowest.1 {
                slowest = (size, ratio);
            }
            let share = (ratio - 1.0) / (DARKEST_RATIO - 1.0);
            plot = plot.with(Layer::field(column, row, share, rounded(ms)));
        }
    }
    (!plot.layers.is_empty()).then(|| Chart {
        name: "align-map".to_string(),
        title: "Time of a write by where it begins".to_string(),
        caption: "Milliseconds of a write; the darker, the slower than the fastest of its column."
            .to_string(),
        description: if slowest.1 > 1.1 {
            format!(
                "The slowest takes {} times the fastest of its column, {}.",
                rounded(slowest.1),
                named(slowest.0)
            )
        } else {
            "All take the same time.".to_string()
        },
        plot,
    })
}
