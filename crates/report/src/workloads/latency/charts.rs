//! Pictures of latency: by span, under load, and how many requests are slow.

use super::load;
use crate::chart::axis::{AxisValues, PlotAxis, tick_number};
use crate::chart::plot::{Beside, Ink, Layer, Plot, PlotMark, Point};
use crate::chart::tails::tails;
use crate::chart::{Chart, extent};
use crate::terminal::{cells, find, value};
use drivescope_model::TestResult;
use drivescope_model::number::{latency_us, rounded};

const QUANTITIES: [(&str, &str); 3] =
    [("lat_p50_us", "median"), ("lat_p99_us", "p99"), ("lat_max_us", "max")];

/// Latencies this close are equal in practice.
const SAME_WAIT: f64 = 0.05;

pub(super) fn charts(result: &TestResult) -> Vec<Chart> {
    let cells = cells(result);
    let (loops, spans): (Vec<&str>, Vec<&str>) =
        cells.iter().partition(|cell| value(result, cell, "offered_iops").is_some());
    let named = |cell: &&str| (format!("latency.{cell}"), name_of(result, cell));
    let tails = tails(result, "latency-tails", &spans.iter().map(named).collect::<Vec<_>>());
    by_span(result, &spans).into_iter().chain(under_load(result, &loops)).chain(tails).collect()
}

/// Spans: their requests in flight are known.
pub(super) fn phases(result: &TestResult) -> Vec<(String, String)> {
    let spans =
        cells(result).into_iter().filter(|cell| value(result, cell, "offered_iops").is_none());
    spans
        .map(|cell| (cell.to_string(), format!("One read at a time, {}", name_of(result, cell))))
        .collect()
}

/// Part of the target that a cell read: `first 2.00 TB`, else its name.
fn name_of(result: &TestResult, cell: &str) -> String {
    match load(result, cell) {
        size if size.is_empty() => cell.to_string(),
        size => format!("in {size}"),
    }
}

/// Median, 99th percentile and slowest request of each span, a row each.
fn by_span(result: &TestResult, spans: &[&str]) -> Option<Chart> {
    let at = |cell: &str, quantity: &str| value(result, cell, quantity).filter(|us| *us > 0.0);
    let measured: Vec<&str> = spans
        .iter()
        .copied()
        .filter(|cell| QUANTITIES.iter().all(|(quantity, _)| at(cell, quantity).is_some()))
        .collect();
    let all = |quantity: &str| -> Vec<f64> {
        measured.iter().filter_map(|cell| at(cell, quantity)).collect()
    };
    let (medians, slowest) = (all("lat_p50_us"), all("lat_max_us"));
    let (first, last) = (*medians.first()?, *medians.last()?);
    let slowest = slowest.iter().copied().fold(0.0, f64::max);
    let x = PlotAxis::from_zero("one 4 KiB read at a time, ms", slowest / 1e3);
    let names: Vec<String> = measured.iter().map(|cell| name_of(result, cell)).collect();
    let mut plot = Plot::new(x, PlotAxis::rows("", &names));
    for (row, cell) in measured.iter().enumerate() {
        let ends = QUANTITIES.map(|(quantity, _)| at(cell, quantity).unwrap_or(slowest) / 1e3);
        let y = row as f64;
        plot = plot.with_line(ends.iter().map(|us| (*us, y)).collect(), Ink::Series(0));
        for (i, us) in ends.iter().enumerate() {
            let mark = PlotMark { is_filled: i == 0, ..PlotMark::point((*us, y)) };
            plot = plot.with(Layer::Marks { marks: vec![mark], ink: Ink::Series(0) });
        }
        let [median, p99, _] = ends.map(rounded);
        plot = plot.with_text((ends[0], y), median, Ink::Text, Beside::AboveLeft);
        plot = plot.with_text((ends[1], y), p99, Ink::Text, Beside::AboveRight);
    }
    Some(Chart {
        name: "latency-span".to_string(),
        title: span_heading(first, last),
        caption: "Filled: median; open: 99th percentile, then the slowest of all.".to_string(),
        description: format!(
            "Median {} over the largest span, {} over the smallest.",
            latency_us(first),
            latency_us(last)
        ),
        plot,
    })
}

/// Gain of a small part of the target, as a heading.
fn span_heading(widest_us: f64, smallest_us: f64) -> String {
    match smallest_us / widest_us {
        share if share < 1.0 - SAME_WAIT => format!(
            "Access time by span: {} anywhere, {} in a small part",
            latency_us(widest_us),
            latency_us(smallest_us)
        ),
        share if share > 1.0 + SAME_WAIT => {
            "Access time by span: longer in a small part".to_string()
        }
        _ => format!("Access time by span: {} everywhere", latency_us(widest_us)),
    }
}

fn under_load(result: &TestResult, loops: &[&str]) -> Option<Chart> {
    let mut curves: Vec<(&str, Vec<PlotMark>)> = Vec::new();
    for (quantity, word) in QUANTITIES {
        let marks = loops.iter().filter_map(|cell| {
            let rate = value(result, cell, "offered_iops").filter(|rate| *rate > 0.0)?;
            let metric = find(result, cell, quantity).filter(|metric| metric.value > 0.0)?;
            Some(PlotMark::above(rate, metric))
        });
        let mut marks: Vec<PlotMark> = marks.collect();
        marks.sort_by(|a, b| a.at.0.total_cmp(&b.at.0));
        curves.push((word, marks));
    }
    let all = || curves.iter().flat_map(|(_, marks)| marks);
    let (fastest, slowest) = extent(all().map(|mark| mark.at.1));
    let (_, most) = extent(all().map(|mark| mark.at.0));
    let limit = value(result, "span100", "iops").filter(|limit| *limit > 0.0);
    if curves[0].1.len() < 2 {
        return None;
    }
    let end = most.max(limit.unwrap_or(0.0) * 1.1) * 1.02;
    let x = PlotAxis::until("random reads per second asked for", end);
    let mut plot = Plot::new(x, PlotAxis::log("latency", fastest, slowest, AxisValues::LatencyUs));
    if let Some(limit) = limit {
        let text = format!("limit: {}/s", tick_number(limit));
        plot = plot.with(Layer::Band { from_to: (limit.min(end), end), text });
    }
    for (i, (word, marks)) in curves.iter().enumerate() {
        let ink = Ink::Series(i);
        let points: Vec<Point> = marks.iter().map(|mark| mark.at).collect();
        let Some(last) = points.last().copied() else { continue };
        let text = format!("{word} {}", latency_us(last.1));
        plot = plot.named(ink, *word).with_line(points, ink);
        plot = plot.with(Layer::Marks { marks: marks.clone(), ink });
        plot = plot.with_text(last, text, ink, Beside::LineEnd);
    }
    let point_words = |at: Point| format!("{} at {}", latency_us(at.1), rounded(at.0));
    let medians = &curves[0].1;
    let (least, most) = (point_words(medians[0].at), point_words(medians[medians.len() - 1].at));
    Some(Chart {
        name: "latency-load".to_string(),
        title: "Latency under load".to_string(),
        caption:
            "Requests arrive at random, and waiting in the queue counts. Bars: 95 % intervals; shaded: more than one by one."
                .to_string(),
        description: format!("Median {least} requests per second, {most}."),
        plot,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn heading_shows_gain_of_a_small_part() {
        for (smallest, heading) in [
            (6_330.0, "Access time by span: 12.1 ms anywhere, 6.33 ms in a small part"),
            (12_000.0, "Access time by span: 12.1 ms everywhere"),
            (14_000.0, "Access time by span: longer in a small part"),
        ] {
            assert_eq!(span_heading(12_100.0, smallest), heading);
        }
    }
}
