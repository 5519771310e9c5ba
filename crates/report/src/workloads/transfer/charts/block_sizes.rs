//! Rate by block size, as ATTO Disk Benchmark draws it: of cells that differ in nothing else.

use crate::chart::axis::{AxisValues, PlotAxis, Tick};
use crate::chart::extent;
use crate::chart::plot::{Beside, Ink, Layer, Plot, PlotMark, Point};
use crate::chart::{Chart, plain_words::capitalized};
use crate::first_seen::distinct;
use crate::terminal::find;
use drivescope_model::cell::{Order, Shape};
use drivescope_model::number::rounded;
use drivescope_model::{Bytes, Cell, Mix, TestResult};

/// Sizes that make a curve.
const SIZES_MIN: usize = 5;
/// Larger blocks hardly gain anything from here on.
const NEARLY_ALL: f64 = 0.9;
const TICKS_MAX: f64 = 7.0;
const KIB: f64 = 1024.0;

struct SizeCurve {
    mix: Mix,
    marks: Vec<PlotMark>,
}

/// One for each order, depth and number of threads that has enough sizes; the first has the plain name.
pub(super) fn block_sizes(result: &TestResult, cells: &[Cell]) -> Vec<Chart> {
    fn alike(cell: &Cell) -> Shape {
        Shape { block: Bytes(0), ..cell.shape }
    }
    let charts = distinct(cells.iter().map(alike)).into_iter().filter_map(|shape| {
        let of_shape: Vec<&Cell> = cells.iter().filter(|cell| alike(cell) == shape).collect();
        chart(result, &of_shape).map(|chart| (shape, chart))
    });
    let named = charts.enumerate().map(|(i, (shape, mut chart))| {
        if i > 0 {
            let order = if shape.order == Order::Seq { "seq" } else { "rnd" };
            chart.name += &format!("-{order}-q{}t{}", shape.depth, shape.threads);
        }
        chart
    });
    named.collect()
}

fn curve(result: &TestResult, cells: &[&Cell], mix: Mix) -> SizeCurve {
    let mark = |cell: &&Cell| {
        let metric = find(result, &cell.to_string(), "mb_s").filter(|metric| metric.valid)?;
        Some(PlotMark::above(cell.shape.block.0 as f64 / KIB, metric))
    };
    let of_mix = cells.iter().filter(|cell| cell.mix == mix);
    let mut marks: Vec<PlotMark> = of_mix.filter_map(mark).collect();
    marks.sort_by(|a, b| a.at.0.total_cmp(&b.at.0));
    SizeCurve { mix, marks }
}

fn chart(result: &TestResult, cells: &[&Cell]) -> Option<Chart> {
    let mut mixes = distinct(cells.iter().map(|cell| cell.mix));
    mixes.sort_by_key(|mix| (mix.is_synced(), 100 - mix.read_percent()));
    mixes.sort_by_key(|mix| *mix != Mix::READ && *mix != Mix::WRITE);
    let curves = mixes.into_iter().map(|mix| curve(result, cells, mix));
    let curves: Vec<SizeCurve> = curves.filter(|curve| curve.marks.len() >= SIZES_MIN).collect();
    let first = curves.first()?;
    let all = || curves.iter().flat_map(|curve| &curve.marks);
    let (smallest, largest) = extent(all().map(|mark| mark.at.0));
    let (_, fastest) = extent(all().map(|mark| mark.interval.1.max(mark.at.1)));
    let mut x = PlotAxis::log("block size, KiB", smallest, largest, AxisValues::Number);
    x.ticks = ticks(smallest, largest);
    let mut plot = Plot::new(x, PlotAxis::from_zero("MB/s", fastest));
    let mut said = Vec::new();
    for (i, SizeCurve { mix, marks }) in curves.iter().enumerate() {
        let ink = Ink::Series(i);
        let points: Vec<Point> = marks.iter().map(|mark| mark.at).collect();
        let (start, end) = (points[0], points[points.len() - 1]);
        plot = plot.named(ink, mix.to_string()).with_line(points, ink);
        plot = plot.with(Layer::Marks { marks: marks.clone(), ink });
        plot = plot.with_text(end, format!("{mix}, {}", rounded(end.1)), ink, Beside::LineEnd);
        let words = |at: Point| format!("{} MB/s in blocks of {}", rounded(at.1), size(at.0));
        said.push(format!("{mix}: {} to {}", words(start), words(end)));
    }
    let Shape { order, depth, threads, .. } = cells[0].shape;
    let order = if order == Order::Seq { "in order" } else { "at random" };
    let threads = if threads == 1 { String::new() } else { format!(", {threads} threads") };
    Some(Chart {
        name: "transfer-block-size".to_string(),
        title: heading(first),
        caption: format!(
            "Rate by block size, {order}, queue depth {depth}{threads}: median of the rounds with its 95 % interval. \
             Block sizes on a logarithmic scale."
        ),
        description: said.join("; "),
        plot,
    })
}

/// From which size on larger blocks gain little.
fn heading(curve: &SizeCurve) -> String {
    let (_, best) = extent(curve.marks.iter().map(|mark| mark.at.1));
    let enough = |mark: &&PlotMark| mark.at.1 >= NEARLY_ALL * best;
    let least = curve.marks.iter().find(enough).map_or(0.0, |mark| mark.at.0);
    let mix = capitalized(&curve.mix.to_string());
    format!("{mix}: 90 % of {} MB/s from blocks of {} on", rounded(best), size(least))
}

fn size(kib: f64) -> String {
    Bytes((kib * KIB) as u64).binary()
}

/// Powers of two from the smallest size on, as many as have room.
fn ticks(smallest: f64, largest: f64) -> Vec<Tick> {
    let doublings = (largest / smallest).log2();
    let step = (doublings / TICKS_MAX).ceil().max(1.0);
    let count = (doublings / step).floor() as i32;
    let tick = |i: i32| {
        let at = smallest * (step * f64::from(i)).exp2();
        Tick { at, text: size(at) }
    };
    (0..=count).map(tick).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{metric, result};
    use drivescope_model::TestKind;

    fn charts_of(cells: &[(&str, f64)]) -> Vec<Chart> {
        let metrics = cells.iter().map(|(cell, rate)| {
            metric(&format!("transfer.{cell}.mb_s"), &[*rate, 1.01 * rate, 0.99 * rate])
        });
        let result = result(TestKind::Transfer, metrics.collect());
        let cells: Vec<Cell> = cells.iter().map(|(cell, _)| cell.parse().unwrap()).collect();
        block_sizes(&result, &cells)
    }

    const SIZES: [(&str, f64); 5] =
        [("512", 20.0), ("4k", 120.0), ("64k", 480.0), ("1m", 520.0), ("64m", 530.0)];

    fn cells(order: &str, mix: &str, factor: f64, count: usize) -> Vec<(String, f64)> {
        SIZES[..count]
            .iter()
            .map(|(size, rate)| (format!("{order}{size}_q4t1.{mix}"), factor * rate))
            .collect()
    }

    fn drawn(all: &[(String, f64)]) -> Vec<Chart> {
        charts_of(&all.iter().map(|(cell, rate)| (cell.as_str(), *rate)).collect::<Vec<_>>())
    }

    #[test]
    fn reads_and_writes_are_curves_over_block_size() {
        let all = [cells("seq", "write", 0.5, 5), cells("seq", "read", 1.0, 5)].concat();
        let charts = drawn(&all);
        let [chart] = &charts[..] else { panic!("{} charts", charts.len()) };
        assert_eq!(chart.name, "transfer-block-size");
        assert_eq!(chart.title, "Read: 90 % of 530 MB/s from blocks of 64 KiB on");
        assert_eq!(
            chart.description,
            "read: 20.0 MB/s in blocks of 512 B to 530 MB/s in blocks of 64 MiB; write: 10.0 MB/s in blocks of 512 B \
             to 265 MB/s in blocks of 64 MiB"
        );
        let ticks: Vec<&str> = chart.plot.x.ticks.iter().map(|tick| tick.text.as_str()).collect();
        assert_eq!(ticks, ["512 B", "4 KiB", "32 KiB", "256 KiB", "2 MiB", "16 MiB"]);
    }

    #[test]
    fn four_sizes_or_other_depths_are_no_curve() {
        assert!(drawn(&cells("seq", "read", 1.0, 4)).is_empty());
        let mut mixed = cells("seq", "read", 1.0, 4);
        mixed.push(("seq64m_q1t1.read".to_string(), 530.0));
        assert!(drawn(&mixed).is_empty());
    }

    #[test]
    fn further_shapes_have_names_of_their_own() {
        let all = [cells("seq", "read", 1.0, 5), cells("rnd", "read", 0.5, 5)].concat();
        let names: Vec<String> = drawn(&all).into_iter().map(|chart| chart.name).collect();
        assert_eq!(names, ["transfer-block-size", "transfer-block-size-rnd-q4t1"]);
    }
}
