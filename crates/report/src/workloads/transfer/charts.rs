//! Pictures of transfers: rates by depth, slow requests, and a rate that falls over time.

use crate::chart::Chart;
use crate::chart::axis::{PlotAxis, tick_number};
use crate::chart::over_time::worst_fall;
use crate::chart::plain_words::{cell_label, cell_words};
use crate::chart::plot::{Along, Beside, Ink, Layer, Plot, PlotMark, Point};
use crate::chart::tails::tails;
use crate::terminal::{cells, find};
use drivescope_model::cell::Order;
use drivescope_model::number::rounded;
use drivescope_model::{Bytes, Cell, TestResult};

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
    depths(result, &cells).into_iter().chain(tails).chain(fall).collect()
}

/// Whether a cell is one of those that people ask for first: 4 KiB at depth 1 and 32, and 1 MiB, of one thread.
fn is_typical(cell: &Cell) -> bool {
    let shape = cell.shape;
    let is_small = shape.block == Bytes::kib(4) && matches!(shape.depth, 1 | 32);
    let is_large = shape.block == Bytes::mib(1) && shape.depth == 1;
    let is_pure = matches!(cell.mix.read_percent(), 0 | 100);
    shape.threads == 1 && is_pure && (is_small || is_large)
}

/// Random 4 KiB requests per second by depth, where there are several depths.
fn depths(result: &TestResult, cells: &[Cell]) -> Option<Chart> {
    let mut plot: Option<Plot> = None;
    let mut said = Vec::new();
    let sweeps: Vec<(&str, Vec<PlotMark>)> = [(100, "read"), (0, "write")]
        .into_iter()
        .map(|(reads, word)| (word, sweep(result, cells, reads)))
        .filter(|(_, marks)| marks.len() >= DEPTHS_MIN)
        .collect();
    let all = || sweeps.iter().flat_map(|(_, marks)| marks);
    let bounds = |of: fn(&PlotMark) -> f64| {
        let values = || all().map(of).filter(|value| *value > 0.0);
        (values().fold(f64::INFINITY, f64::min), values().fold(0.0, f64::max))
    };
    let ((shallow, deep), (slow, fast)) = (bounds(|mark| mark.at.0), bounds(|mark| mark.at.1));
    for (i, (word, marks)) in sweeps.iter().enumerate() {
        let ink = Ink::Series(i);
        let points: Vec<Point> = marks.iter().map(|mark| mark.at).collect();
        let (first, last) = (points[0], points[points.len() - 1]);
        let axes = || {
            let mut x = PlotAxis::log("requests in flight", shallow, deep, tick_number);
            x.ticks = all_depths(all());
            Plot::new(x, PlotAxis::log("requests per second", slow, fast, tick_number))
        };
        let drawn = plot.take().unwrap_or_else(axes);
        let marks = marks.clone();
        let text = format!("{word}, {}", rounded(last.1));
        let drawn = drawn.with_line(points, ink).with(Layer::Marks { marks, ink });
        plot = Some(drawn.with_text(last, text, ink, Beside::LineEnd));
        said.push(format!(
            "{word}: {} at depth {} to {} at depth {}",
            rounded(first.1),
            first.0,
            rounded(last.1),
            last.0
        ));
    }
    Some(Chart {
        name: "transfer-depth",
        title: "Random 4 KiB requests by depth".to_string(),
        caption: "Median of the rounds with its 95 % interval. Both scales logarithmic."
            .to_string(),
        description: said.join("; "),
        plot: plot?,
    })
}

fn sweep(result: &TestResult, cells: &[Cell], reads_pct: u8) -> Vec<PlotMark> {
    let wanted = |cell: &&Cell| {
        let shape = cell.shape;
        let is_small = shape.order == Order::Rnd && shape.block == Bytes::kib(4);
        is_small && shape.threads == 1 && cell.mix.read_percent() == reads_pct
    };
    let mark = |cell: &Cell| {
        let metric = find(result, &cell.to_string(), "iops").filter(|metric| metric.valid)?;
        let at = (f64::from(cell.shape.depth), metric.value);
        let interval = (metric.low, metric.high);
        Some(PlotMark { at, interval, interval_along: Along::Y, is_filled: true })
    };
    let mut marks: Vec<PlotMark> = cells.iter().filter(wanted).filter_map(mark).collect();
    marks.sort_by(|a, b| a.at.0.total_cmp(&b.at.0));
    marks
}

fn all_depths<'a>(marks: impl Iterator<Item = &'a PlotMark>) -> Vec<crate::chart::axis::Tick> {
    let mut depths: Vec<f64> = marks.map(|mark| mark.at.0).collect();
    depths.sort_by(f64::total_cmp);
    depths.dedup();
    let tick = |at: f64| crate::chart::axis::Tick { at, text: tick_number(at) };
    depths.into_iter().map(tick).collect()
}
