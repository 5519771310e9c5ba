//! Pictures of runs side by side: bars of each metric, curves over each other, and price against speed.

use crate::chart::axis::{AxisValues, PlotAxis};
use crate::chart::plot::{Beside, Course, Ink, Layer, Plot, PlotMark, Point, YAxis};
use crate::chart::tails::{tail_of, tails_chart};
use crate::chart::{Chart, end_rates, extent, points_of};
use crate::comparison::RunComparison;
use crate::comparison::bars::{bars, price_bars};
use crate::comparison::side_by_side::per_terabyte;
use crate::terminal::shorten_apart;
use crate::verdict::criteria::Criterion;
use crate::workloads::answer_to;
use drivescope_model::number::rounded;
use drivescope_model::{Run, TestResult};

/// More curves cannot be distinguished.
const CURVES_MAX: usize = 5;
/// Longest name of a row, in characters.
const ROW_NAME_MAX: usize = 24;
/// Longest name at the end of a curve.
const NAME_MAX: usize = 16;
/// From this ratio of the largest to the smallest value, an axis is logarithmic.
const LOG_FROM: f64 = 5.0;

/// Every chart of runs side by side: the runs in every compared metric, curves, and prices.
pub fn comparison_charts(comparison: &RunComparison, runs: &[Run]) -> Vec<Chart> {
    let mut comparison = comparison.by_model(runs);
    comparison.names = shorten_apart(&comparison.names, ROW_NAME_MAX);
    let comparison = &comparison;
    let bars = comparison.rows.iter().filter_map(|row| bars(row, comparison, runs));
    bars.chain(curves(comparison, runs))
        .chain(price_charts(runs, &comparison.names, "price"))
        .collect()
}

/// Curves of all runs in one picture: rates over the drive, and latencies of small reads.
fn curves(comparison: &RunComparison, runs: &[Run]) -> Vec<Chart> {
    let names = &shorten_apart(&comparison.names, NAME_MAX);
    let rates = CURVES.iter().filter_map(|curve| over_the_drive(runs, names, curve));
    rates.chain(slow_reads(runs, names)).collect()
}

/// One curve of each run over its drive.
struct Curve {
    key: &'static str,
    cell: &'static str,
    name: &'static str,
    title: &'static str,
    caption: &'static str,
    course: Course,
}

const CURVES: [Curve; 2] = [
    Curve {
        key: "surface.read.mb_s",
        cell: "read",
        name: "compare-surface",
        title: "Rate over the drive",
        caption: "Sequential reads from the first to the last byte.",
        course: Course::Straight,
    },
    Curve {
        key: "fill.write.mb_s",
        cell: "write",
        name: "compare-fill",
        title: "Filling the drive",
        caption: "Rate of writing from the first to the last byte.",
        course: Course::Steps,
    },
];

fn over_the_drive(runs: &[Run], names: &[String], curve: &Curve) -> Option<Chart> {
    let of_run = |run: &Run| -> Option<(Vec<Point>, [f64; 2])> {
        let results = run.tests.iter().map(|result| (result, points_of(result, curve.key)));
        let (result, points) = results.into_iter().find(|(_, points)| points.len() > 1)?;
        let end = points.last().map(|(x, _)| *x).filter(|end| *end > 0.0)?;
        let ends = end_rates(result, curve.cell, &points)?;
        Some((points.into_iter().map(|(x, rate)| (x / end * 100.0, rate)).collect(), ends))
    };
    let found = runs.iter().enumerate().filter_map(|(i, run)| {
        let (points, ends) = of_run(run)?;
        Some((i, points, ends))
    });
    let found: Vec<(usize, Vec<Point>, [f64; 2])> = found.take(CURVES_MAX).collect();
    if found.len() < 2 {
        return None;
    }
    let rates = found.iter().flat_map(|(_, points, _)| points).map(|(_, rate)| *rate);
    let (slowest, fastest) = extent(rates.filter(|rate| *rate > 0.0));
    let is_log = fastest > slowest * LOG_FROM;
    let y = if is_log {
        PlotAxis::log("MB/s", slowest, fastest, AxisValues::Number)
    } else {
        PlotAxis::from_zero("MB/s", fastest)
    };
    let mut plot = Plot::new(PlotAxis::until("position, % of the drive", 100.0), y);
    let mut said = Vec::new();
    for (i, points, ends) in &found {
        let ink = Ink::Series(*i);
        let last = points[points.len() - 1];
        let [start, end] = ends.map(rounded);
        let text = format!("{} {end}", names[*i]);
        said.push(format!("{}: {start} to {end} MB/s", names[*i]));
        let points = points.iter().copied().filter(|point| !is_log || point.1 > 0.0).collect();
        plot = plot
            .named(ink, names[*i].as_str())
            .with_curve(points, ink, curve.course, YAxis::Left)
            .with_text(last, text, ink, Beside::LineEnd);
    }
    let scale = if is_log { " Logarithmic." } else { "" };
    let left_out = if runs.len() > CURVES_MAX && found.len() == CURVES_MAX {
        format!(" The first {CURVES_MAX} drives.")
    } else {
        String::new()
    };
    Some(Chart {
        name: curve.name.to_string(),
        title: curve.title.to_string(),
        caption: format!("{}{scale} Figures: over the last twentieth.{left_out}", curve.caption),
        description: format!("{}.", said.join("; ")),
        plot,
    })
}

/// Cells of small reads at depth 1 over the whole drive.
const SLOW_READS: [&str; 2] = ["transfer.rnd4k_q1t1.read", "latency.span100"];

/// Latencies of small reads, of the first cell that at least two runs have.
fn slow_reads(runs: &[Run], names: &[String]) -> Option<Chart> {
    SLOW_READS.into_iter().find_map(|key| {
        let of_run = |run: &Run| {
            let mut results = run.tests.iter();
            results.find_map(|result: &TestResult| tail_of(result, key))
        };
        let curves =
            runs.iter().zip(names).filter_map(|(run, name)| Some((name.clone(), of_run(run)?)));
        let curves: Vec<(String, Vec<Point>)> = curves.take(CURVES_MAX).collect();
        let is_all = curves.len() == runs.len().min(CURVES_MAX) && curves.len() > 1;
        let chart = tails_chart("compare-tails", curves).filter(|_| is_all)?;
        let caption = format!("Random 4 KiB reads, one at a time. {}", chart.caption);
        Some(Chart { title: "How many small reads are slow".to_string(), caption, ..chart })
    })
}

/// Prices per performance as bars, and against each other. `word` is `price`, or `example price` where no user has
/// named it.
pub fn price_charts(runs: &[Run], names: &[String], word: &str) -> Vec<Chart> {
    price_bars(runs, names, word).into_iter().chain(price_chart(runs, names, word)).collect()
}

/// Price per terabyte against small reads per second, of the runs with a price in the currency of the first.
fn price_chart(runs: &[Run], names: &[String], word: &str) -> Option<Chart> {
    let currency = runs.iter().find_map(|run| Some(run.price.as_ref()?.currency.clone()))?;
    let point = |run: &Run| -> Option<Point> {
        let price = run.price.as_ref().filter(|price| price.currency == currency)?;
        Some((per_terabyte(run, price)?, answer_to(run, Criterion::RandomReadsQ1)?.value))
    };
    let found: Vec<(usize, Point)> =
        runs.iter().enumerate().filter_map(|(i, run)| Some((i, point(run)?))).collect();
    if found.len() < 2 {
        return None;
    }
    let ends = |of: fn(&Point) -> f64| extent(found.iter().map(|(_, point)| of(point)));
    let ((cheap, dear), (slow, fast)) = (ends(|point| point.0), ends(|point| point.1));
    let x = PlotAxis::log(&format!("{word}, {currency} per TB"), cheap, dear, AxisValues::Number);
    let y = PlotAxis::log("small reads per second", slow, fast, AxisValues::Number);
    let mut plot = Plot::new(x, y);
    for (i, at) in &found {
        let (marks, ink) = (vec![PlotMark::point(*at)], Ink::Series(*i));
        plot = plot.named(ink, names[*i].as_str()).with(Layer::Marks { marks, ink }).with_text(
            *at,
            names[*i].as_str(),
            ink,
            Beside::AboveRight,
        );
    }
    let prices = found.iter().map(|(i, (price, reads))| {
        let (price, reads) = (rounded(*price), rounded(*reads));
        format!("{}: {price} {currency} per TB, {reads} reads per second", names[*i])
    });
    let what = if word == "price" { String::new() } else { format!(" ({word}s)") };
    Some(Chart {
        name: "compare-price".to_string(),
        title: format!("Space or speed{what}"),
        caption: format!(
            "Up and left is better; both scales logarithmic. Each {word} is that of the whole drive."
        ),
        description: format!("{}.", prices.collect::<Vec<_>>().join("; ")),
        plot,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chart::plain_words::capitalized;
    use crate::compare;
    use crate::testing::{hard_disk, hard_disk_surface, nvme};
    use drivescope_model::units::Price;

    fn with_surface(mut run: Run, factor: f64) -> Run {
        let mut surface = hard_disk_surface();
        surface.series[0].y.iter_mut().for_each(|rate| *rate *= factor);
        surface.metrics.iter_mut().for_each(|metric| metric.value *= factor);
        run.tests.push(surface);
        run
    }

    fn drawn(runs: &[Run]) -> Vec<Chart> {
        comparison_charts(&compare(runs, 0.03, false), runs)
    }

    #[test]
    fn compared_metrics_have_a_row_per_run() {
        let runs = [hard_disk(), nvme()];
        let comparison = compare(&runs, 0.03, false);
        let charts = comparison_charts(&comparison, &runs);
        for row in &comparison.rows {
            let chart = charts.iter().find(|chart| chart.title == capitalized(&row.what));
            let chart = chart.unwrap_or_else(|| panic!("{}", row.what));
            let is_mark = |it: &&Layer| matches!(it, Layer::Marks { .. } | Layer::Bar { .. });
            let marks = chart.plot.layers.iter().filter(is_mark);
            assert_eq!(marks.count(), 2);
        }
    }

    #[test]
    fn distant_curves_share_a_logarithmic_axis() {
        fn curve(factor: f64) -> Chart {
            let runs = [with_surface(hard_disk(), 1.0), with_surface(hard_disk(), factor)];
            drawn(&runs).into_iter().find(|chart| chart.name == "compare-surface").unwrap()
        }
        assert!(!curve(1.5).caption.contains("Logarithmic"));
        let far = curve(20.0);
        assert!(far.caption.contains("Logarithmic"));
        // As the table and the verdict say it, not the last of its points.
        assert!(far.description.contains("to 1,640 MB/s"), "{}", far.description);
        let one = [with_surface(hard_disk(), 1.0), nvme()];
        assert!(drawn(&one).iter().all(|chart| chart.name != "compare-surface"));
    }

    #[test]
    fn prices_are_drawn_with_two_in_one_currency() {
        fn priced(amount: f64, currency: &str) -> Run {
            Run { price: Some(Price { amount, currency: currency.to_string() }), ..hard_disk() }
        }
        let names = ["a".to_string(), "b".to_string()];
        let chart = |runs: &[Run], word| price_chart(runs, &names, word);
        assert!(chart(&[hard_disk(), priced(100.0, "EUR")], "price").is_none());
        assert!(chart(&[priced(90.0, "USD"), priced(100.0, "EUR")], "price").is_none());
        let runs = [priced(90.0, "EUR"), priced(100.0, "EUR")];
        let given = chart(&runs, "price").unwrap();
        assert_eq!(
            (given.title.as_str(), given.plot.x.title.as_str()),
            ("Space or speed", "price, EUR per TB")
        );
        let example = chart(&runs, "example price").unwrap();
        assert!(
            example.title.contains("example prices")
                && example.plot.x.title.contains("example price")
        );
    }
}
