//! Pictures of runs. A workload makes charts of its result (`workloads`); `svg` draws them.

pub(crate) mod axis;
pub(crate) mod plot;
#[cfg(feature = "png")]
mod png;
mod svg;

pub(crate) mod over_time;
pub(crate) mod plain_words;
pub(crate) mod rows;
pub(crate) mod tails;
mod text_box;
pub(crate) mod time_axis;

#[cfg(feature = "png")]
pub use png::png;
pub use svg::{ChartImprint, Theme, exported_svg};

pub(crate) use svg::{
    FOLDED_DOTS_MAX, PAGE_DOTS_MAX, PictureSize, Strip, StripRange, page_colours, strips_svg, svg,
};

use crate::terminal::value;
use drivescope_model::{Series, TestResult};
use plot::{Layer, Plot, Point};

#[derive(Debug, Clone, PartialEq)]
pub struct Chart {
    /// Names the chart within a run, and its file: `surface-position`.
    pub name: String,
    pub title: String,
    pub caption: String,
    /// The figures in words, for readers who cannot see the picture.
    pub description: String,
    pub(crate) plot: Plot,
}

impl Chart {
    /// Dots of the layer that has most.
    pub(crate) fn most_dots(&self) -> usize {
        let dots = self.plot.layers.iter().map(|layer| match layer {
            Layer::Dots { points, .. } => points.len(),
            _ => 0,
        });
        dots.max().unwrap_or(0)
    }

    pub(crate) fn has_few_rows(&self) -> bool {
        self.plot.is_compact
    }
}

/// The points of all series with this key, all rounds together, sorted by `x`; finite ones only.
pub(crate) fn points_of(result: &TestResult, key: &str) -> Vec<Point> {
    let mut points: Vec<Point> = series_of(result, key).flat_map(finite_points).collect();
    points.sort_by(|a, b| a.0.total_cmp(&b.0));
    points
}

/// What tables, verdicts and charts call the rate at the start and at the end of a curve: the metrics `start_mb_s` and
/// `end_mb_s` of `cell`, medians of a twentieth of it; the outermost points where a test has none.
pub(crate) fn end_rates(result: &TestResult, cell: &str, points: &[Point]) -> Option<[f64; 2]> {
    let of = |quantity, point: &Point| value(result, cell, quantity).unwrap_or(point.1);
    Some([of("start_mb_s", points.first()?), of("end_mb_s", points.last()?)])
}

/// All series with this key, a round each.
fn series_of<'r>(result: &'r TestResult, key: &str) -> impl Iterator<Item = &'r Series> {
    result.series.iter().filter(move |series| series.key.split('#').next() == Some(key))
}

pub(crate) fn finite_points(series: &Series) -> impl Iterator<Item = Point> {
    let points = series.x.iter().copied().zip(series.y.iter().copied());
    points.filter(|(x, y)| x.is_finite() && y.is_finite())
}

pub(crate) fn scaled(points: &[Point], unit: f64) -> Vec<Point> {
    points.iter().map(|(x, y)| (x / unit, *y)).collect()
}

/// Least and largest of non-negative values; infinity and 0 for none.
pub(crate) fn extent(values: impl IntoIterator<Item = f64>) -> (f64, f64) {
    let ends = (f64::INFINITY, 0.0_f64);
    values.into_iter().fold(ends, |(least, most), value| (least.min(value), most.max(value)))
}

/// The same points with heights in another unit.
pub(crate) fn times(points: &[Point], factor: f64) -> Vec<Point> {
    points.iter().map(|(x, y)| (*x, y * factor)).collect()
}

pub(crate) fn highest(points: &[Point]) -> f64 {
    points.iter().map(|(_, y)| *y).fold(0.0, f64::max)
}

/// The unit of an axis of waiting times, and how many of it a millisecond has: µs where half of them are below 1 ms.
pub(crate) fn wait_unit(waits_ms: impl IntoIterator<Item = f64>) -> (&'static str, f64) {
    let mut waits: Vec<f64> = waits_ms.into_iter().collect();
    waits.sort_by(f64::total_cmp);
    match waits.get(waits.len() / 2) {
        Some(median) if *median < 1.0 => ("µs", 1e3),
        _ => ("ms", 1.0),
    }
}

/// The decimal unit that shows `bytes` with one to three digits, and its size in bytes.
pub(crate) fn unit_of(bytes: f64) -> (&'static str, f64) {
    let units = [("TB", 1e12), ("GB", 1e9), ("MB", 1e6), ("kB", 1e3)];
    units.into_iter().find(|(_, size)| bytes >= *size).unwrap_or(("bytes", 1.0))
}

#[cfg(test)]
mod tests;
