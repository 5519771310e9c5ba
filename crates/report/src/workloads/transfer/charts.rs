//! Pictures of transfers: rates by depth and by block size, slow requests, and a rate that falls over time.

mod block_sizes;

use crate::chart::axis::{AxisValues, PlotAxis, tick_number};
use crate::chart::over_time::worst_fall;
use crate::chart::plain_words::{cell_label, cell_words};
use crate::chart::plot::{Beside, Ink, Layer, Plot, PlotMark, Point};
use crate::chart::tails::tails;
use crate::chart::{Chart, extent};
use crate::terminal::{cells, find};
use block_sizes::block_sizes;
use drivescope_model::cell::Order;
use drivescope_model::number::rounded;
use drivescope_model::{Bytes, Cell, TestResult};

/// A gain of less than this is none in practice.
const WORTH_NAMING: f64 = 1.1;
/// Depths that make a sweep.
const DEPTHS_MIN: usize = 3;

pub(super) fn charts(result: &TestResult) -> Vec<Chart> {
    let cells: Vec<Cell> = cells(result).iter().filter_map(|cell| cell.parse().ok()).collect();
    let keyed = |ending: &str| -> Vec<(String, String)> {
        cells.iter().map(|cell| (format!("transfer.{cell}{ending}"), cell_words(cell))).collect()
    };
    let interesting: Vec<(String, String)> = cells
        .iter()
        .filter(|cell| is_typical(cell))
        .map(|cell| (format!("transfer.{cell}"), cell_label(cell)))
        .collect();
    let tails = tails(result, "transfer-tails", &interesting);
    let fall = worst_fall(result, "transfer-over-time", &keyed(".mb_s"));
    let plain: Vec<Cell> = cells.iter().filter(|cell| cell.shape.is_plain()).copied().collect();
    let by_size = block_sizes(result, &plain);
    depths(result, &plain).into_iter().chain(by_size).chain(tails).chain(fall).collect()
}

/// Every cell, those that people ask for first before the others.
pub(super) fn phases(result: &TestResult) -> Vec<(String, String)> {
    let cells = cells(result).into_iter().filter_map(|name| Some((name, name.parse().ok()?)));
    let mut cells: Vec<(&str, Cell)> = cells.collect();
    cells.sort_by_key(|(_, cell)| !is_typical(cell));
    cells.into_iter().map(|(name, cell)| (name.to_string(), cell_words(&cell))).collect()
}

/// What a deeper queue gains, as a heading.
fn depth_heading(what: &str, (shallow, slow): Point, (deep, fast): Point) -> String {
    let (deep, shallow) = (tick_number(deep), tick_number(shallow));
    match fast / slow {
        gain if gain >= WORTH_NAMING => {
            format!("{deep} {what}s in flight do {} times as many as {shallow}", rounded(gain))
        }
        gain if gain <= 1.0 / WORTH_NAMING => format!("More {what}s in flight are slower"),
        _ => format!("More {what}s in flight gain nothing"),
    }
}

/// Whether a cell is one of those that people ask for first: 4 KiB at depth 1 and 32, and 1 MiB, of one thread.
fn is_typical(cell: &Cell) -> bool {
    let shape = cell.shape;
    let is_small = shape.block == Bytes::kib(4) && matches!(shape.depth, 1 | 32);
    let is_large = shape.block == Bytes::mib(1) && shape.depth == 1;
    let is_pure = matches!(cell.mix.read_percent(), 0 | 100) && !cell.mix.is_synced();
    shape.threads == 1 && shape.is_plain() && is_pure && (is_small || is_large)
}

/// Random 4 KiB requests per second by depth, where there are several depths.
fn depths(result: &TestResult, cells: &[Cell]) -> Option<Chart> {
    let (mut plot, mut title): (Option<Plot>, Option<String>) = (None, None);
    let mut said = Vec::new();
    let sweeps: Vec<(&str, Vec<PlotMark>)> = [(100, "read"), (0, "write")]
        .into_iter()
        .map(|(reads, word)| (word, sweep(result, cells, reads)))
        .filter(|(_, marks)| marks.len() >= DEPTHS_MIN)
        .collect();
    let all = || sweeps.iter().flat_map(|(_, marks)| marks);
    let bounds = |of: fn(&PlotMark) -> f64| extent(all().map(of).filter(|value| *value > 0.0));
    let ((shallow, deep), (slow, fast)) = (bounds(|mark| mark.at.0), bounds(|mark| mark.at.1));
    for (i, (word, marks)) in sweeps.iter().enumerate() {
        let ink = Ink::Series(i);
        let points: Vec<Point> = marks.iter().map(|mark| mark.at).collect();
        let (first, last) = (points[0], points[points.len() - 1]);
        let axes = || {
            let mut x = PlotAxis::log("requests in flight", shallow, deep, AxisValues::Number);
            x.ticks = all_depths(all());
            Plot::new(x, PlotAxis::log("requests per second", slow, fast, AxisValues::Number))
        };
        let drawn = plot.take().unwrap_or_else(axes);
        let marks = marks.clone();
        title.get_or_insert_with(|| depth_heading(word, first, last));
        let text = format!("{word}, {}", rounded(last.1));
        let drawn =
            drawn.named(ink, *word).with_line(points, ink).with(Layer::Marks { marks, ink });
        plot = Some(drawn.with_text(last, text, ink, Beside::LineEnd));
        said.push(format!("{word}: {} to {}", point_words(first), point_words(last)));
    }
    Some(Chart {
        name: "transfer-depth".to_string(),
        title: title?,
        caption: "Random 4 KiB by depth: median of the rounds with its 95 % interval. Both scales logarithmic."
            .to_string(),
        description: said.join("; "),
        plot: plot?,
    })
}

fn point_words(at: Point) -> String {
    format!("{} at depth {}", rounded(at.1), at.0)
}

fn sweep(result: &TestResult, cells: &[Cell], reads_pct: u8) -> Vec<PlotMark> {
    let wanted = |cell: &&Cell| {
        let shape = cell.shape;
        let is_small = shape.order == Order::Rnd && shape.block == Bytes::kib(4);
        // Flushed writes are another question than writes in a queue.
        let is_alike = cell.mix.read_percent() == reads_pct && !cell.mix.is_synced();
        is_small && shape.threads == 1 && is_alike
    };
    let mark = |cell: &Cell| {
        let metric = find(result, &cell.to_string(), "iops").filter(|metric| metric.valid)?;
        Some(PlotMark::above(f64::from(cell.shape.depth), metric))
    };
    let mut marks: Vec<PlotMark> = cells.iter().filter(wanted).filter_map(mark).collect();
    marks.sort_by(|a, b| a.at.0.total_cmp(&b.at.0));
    marks
}

fn all_depths<'a>(marks: impl Iterator<Item = &'a PlotMark>) -> Vec<crate::chart::axis::Tick> {
    let mut depths: Vec<f64> = marks.map(|mark| mark.at.0).collect();
    depths.sort_by(f64::total_cmp);
    depths.dedup();
    depths.into_iter().map(|at| crate::chart::axis::Tick { at, text: tick_number(at) }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{metric, result};
    use drivescope_model::TestKind;

    #[test]
    fn heading_shows_gain_of_a_deeper_queue() {
        for (deep, heading) in [
            (182.0, "32 reads in flight do 2.27 times as many as 1"),
            (82.0, "More reads in flight gain nothing"),
            (60.0, "More reads in flight are slower"),
        ] {
            assert_eq!(depth_heading("read", (1.0, 80.3), (32.0, deep)), heading);
        }
    }

    /// Two depths and a flushed cell are not a sweep.
    #[test]
    fn flushed_writes_are_not_in_a_sweep() {
        let cells =
            [("rnd4k_q1t1.write", 900.0), ("rnd4k_q1t1.sync", 69.0), ("rnd4k_q32t1.write", 896.0)];
        let metrics = cells.map(|(cell, iops)| metric(&format!("transfer.{cell}.iops"), &[iops]));
        let result = result(TestKind::Transfer, metrics.to_vec());
        let cells = cells.map(|(cell, _)| cell.parse().unwrap());
        let drawn: Vec<Point> = sweep(&result, &cells, 0).iter().map(|mark| mark.at).collect();
        assert_eq!(drawn, [(1.0, 900.0), (32.0, 896.0)]);
    }
}
