//! Pictures of latency: by span, under load, and how many requests are slow.

use super::load;
use crate::chart::axis::{AxisValues, PlotAxis, tick_number};
use crate::chart::plot::{Along, Beside, Ink, Layer, MarkOutline, Plot, PlotMark, Point};
use crate::chart::tails::tails;
use crate::chart::{Chart, extent, wait_unit};
use crate::terminal::{cells, find, value};
use crate::workloads::plain_name;
use drivescope_model::TestResult;
use drivescope_model::number::{latency_us, rounded};

const QUANTITIES: [(&str, &str); 3] =
    [("lat_p50_us", "median"), ("lat_p99_us", "99 %"), ("lat_max_us", "slowest")];
const OUTLINES: [MarkOutline; 3] = [MarkOutline::Filled, MarkOutline::Open, MarkOutline::Stroke];

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

/// Part of the target that a cell read, `in 2.00 TB`, or how many reads a second were asked for; else the part in the
/// cell's name.
pub(super) fn name_of(result: &TestResult, cell: &str) -> String {
    let is_span = value(result, cell, "offered_iops").is_none();
    match (load(result, cell), cell.strip_prefix("span")) {
        (size, Some(percent)) if size.is_empty() => format!("in {} %", percent.replace('_', ".")),
        (size, _) if size.is_empty() => plain_name(cell),
        (size, _) if is_span => format!("in {size}"),
        (rate, _) if cell.starts_with("fixed") => format!("{rate} asked for, evenly"),
        (rate, _) => format!("{rate} asked for, at random"),
    }
}

/// Median, 99th percentile and slowest request of each span, a row each.
fn by_span(result: &TestResult, spans: &[&str]) -> Option<Chart> {
    let metric = |cell: &str, quantity: &str| {
        find(result, cell, quantity).filter(|metric| metric.value > 0.0)
    };
    let at = |cell: &str, quantity: &str| metric(cell, quantity).map(|metric| metric.value);
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
    let (unit, per_ms) = wait_unit(medians.iter().map(|us| us / 1e3));
    let scale = per_ms / 1e3;
    let x = PlotAxis::from_zero(&format!("one 4 KiB read at a time, {unit}"), slowest * scale);
    let names: Vec<String> = measured.iter().map(|cell| name_of(result, cell)).collect();
    let mut plot = Plot::new(x, PlotAxis::rows("", &names));
    for (row, cell) in measured.iter().enumerate() {
        let y = row as f64;
        let found = QUANTITIES.map(|(quantity, _)| metric(cell, quantity));
        let ends = found.map(|metric| metric.map_or(slowest, |metric| metric.value) * scale);
        plot = plot.with_line(ends.iter().map(|wait| (*wait, y)).collect(), Ink::Series(0));
        for ((metric, wait), outline) in found.into_iter().zip(ends).zip(OUTLINES) {
            let interval = metric.map_or((wait, wait), |it| (it.low * scale, it.high * scale));
            let in_row = PlotMark { interval_along: Along::X, ..PlotMark::point((wait, y)) };
            let marks = vec![PlotMark { interval, outline, ..in_row }];
            plot = plot.with(Layer::Marks { marks, ink: Ink::Series(0) });
        }
        // The first row names the marks.
        let words =
            QUANTITIES.map(|(_, word)| if row == 0 { format!("{word} ") } else { String::new() });
        let sides = [Beside::AboveLeft, Beside::AboveRight, Beside::Right];
        for ((wait, word), beside) in ends.into_iter().zip(words).zip(sides) {
            plot = plot.with_text((wait, y), word + &rounded(wait), Ink::Text, beside);
        }
    }
    Some(Chart {
        name: "latency-span".to_string(),
        title: span_heading(first, last),
        caption: "Filled: median; open: 99th percentile; stroke: the slowest of all. Pale bars: 95 % intervals, or the range of the rounds.".to_string(),
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
    let medians = &curves[0].1;
    let (least, most) = (point_words(medians[0].at), point_words(medians[medians.len() - 1].at));
    Some(Chart {
        name: "latency-load".to_string(),
        title: "Latency under load".to_string(),
        caption:
            "Requests arrive at random, and waiting in the queue counts. Bars: 95 % intervals; shaded: more than the drive can serve one at a time."
                .to_string(),
        description: format!("Median {least} requests per second, {most}."),
        plot,
    })
}

fn point_words(at: Point) -> String {
    format!("{} at {}", latency_us(at.1), rounded(at.0))
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
