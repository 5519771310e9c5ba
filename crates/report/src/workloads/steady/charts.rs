//! Pictures of rounds: the rate round by round with the window and the temperature, over what was written, and the
//! passes of a sequence.

use super::{STAGES, is_steady, tracked};
use crate::chart::axis::PlotAxis;
use crate::chart::plot::{Beside, Course, Ink, Layer, Plot, Point, YAxis};
use crate::chart::{Chart, highest, points_of, unit_of};
use crate::terminal::{find, value};
use crate::workloads::plain_name;
use drivescope_model::number::rounded;
use drivescope_model::{Bytes, TestResult};

/// More curves cannot be distinguished.
const CURVES_MAX: usize = 5;
const WARMTH: Ink = Ink::Muted;

pub(super) fn charts(result: &TestResult) -> Vec<Chart> {
    by_round(result).into_iter().chain(by_volume(result)).chain(by_pass(result)).collect()
}

/// Tracked cells, or the first where no window was found.
fn drawn(result: &TestResult) -> Vec<String> {
    let tracked: Vec<String> = tracked(result).into_iter().map(String::from).collect();
    let all = result.series.iter().filter_map(|series| {
        let cell = series.key.strip_prefix("steady.")?.strip_suffix(".round_iops")?;
        Some(cell.to_string())
    });
    let cells = if tracked.is_empty() { all.collect() } else { tracked };
    cells.into_iter().take(CURVES_MAX).collect()
}

/// Rates of a cell by round, in its unit: MB/s for large sequential requests.
fn rates(result: &TestResult, cell: &str) -> Vec<Point> {
    let points = points_of(result, &format!("steady.{cell}.round_iops"));
    let bytes = cell.parse::<drivescope_model::Cell>().map_or(0, |cell| cell.shape.block.0);
    let scale = if cell.starts_with("seq") { bytes as f64 / 1e6 } else { 1.0 };
    points.into_iter().map(|(round, rate)| (round, rate * scale)).collect()
}

fn unit(cell: &str) -> &'static str {
    if cell.starts_with("seq") { "MB/s" } else { "IOPS" }
}

fn window(result: &TestResult) -> Option<(f64, f64)> {
    let of = |quantity| value(result, "window", quantity);
    of("first_round").zip(of("last_round"))
}

/// One curve shows rates; several show percent of their means in the window.
fn by_round(result: &TestResult) -> Option<Chart> {
    let cells = drawn(result);
    let mut curves: Vec<(String, Vec<Point>)> =
        cells.iter().map(|cell| (cell.clone(), rates(result, cell))).collect();
    curves.retain(|(_, points)| points.len() > 1);
    let rounds = curves.first()?.1.last()?.0;
    let is_one = curves.len() == 1;
    let title_y = if is_one { unit(&curves[0].0) } else { "% of the mean of the last rounds" };
    if !is_one {
        for (_, points) in &mut curves {
            to_percent(points, window(result));
        }
    }
    let most = curves.iter().map(|(_, points)| highest(points)).fold(0.0, f64::max);
    let x = PlotAxis::until("round", rounds);
    let mut plot = with_warmth(x, (title_y, most), warmth(result));
    if let Some((first, last)) = window(result) {
        let text = if is_steady(result) { "steady" } else { "last rounds" };
        let from_to = ((first - 0.5).max(0.0), (last + 0.5).min(rounds));
        plot = plot.with(Layer::Band { from_to, text: text.to_string() });
    }
    for (i, (cell, points)) in curves.iter().enumerate() {
        let ink = Ink::Series(i);
        let last = points[points.len() - 1];
        let name = plain_name(cell);
        let label = format!("{name} {}", rounded(last.1));
        plot = plot.named(ink, name).with_line(points.clone(), ink);
        plot = plot.with_text(last, label, ink, Beside::LineEnd);
    }
    let (cell, points) = &curves[0];
    let (first, last) = (rounded(points[0].1), rounded(points[points.len() - 1].1));
    Some(Chart {
        name: "steady-rounds".to_string(),
        title: super::headline(result).unwrap_or_else(|| "Round by round".to_string()),
        caption: "Rate of each round. Shaded: the rounds that the figures are of; steady is a range of at most 20 % and \
                  a drift of at most 10 % of the mean. Grey, where it is known: the drive's temperature, right axis."
            .to_string(),
        description: format!(
            "{}: from {first} to {last} {title_y} in {} rounds.",
            plain_name(cell),
            rounded(rounds)
        ),
        plot,
    })
}

/// Percent of the mean in the window, or of the last round without one.
fn to_percent(points: &mut [Point], window: Option<(f64, f64)>) {
    let last = points.last().map_or(0.0, |(round, _)| *round);
    let (from, to) = window.unwrap_or((last, last));
    let within = || points.iter().filter(|(round, _)| (from..=to).contains(round));
    let mean = within().map(|(_, rate)| rate).sum::<f64>() / within().count().max(1) as f64;
    for (_, rate) in points {
        *rate *= 100.0 / mean.max(f64::MIN_POSITIVE);
    }
}

/// Rate over bytes written, where one cell writes all the time: how much a new drive takes before it slows.
fn by_volume(result: &TestResult) -> Option<Chart> {
    let cells = drawn(result);
    let [cell] = &cells[..] else { return None };
    let written = points_of(result, "steady.rounds.written_bytes");
    let rates = rates(result, cell);
    let is_written = cell.ends_with(".write") && rates.len() == written.len();
    let end = written.last().filter(|_| is_written && written.len() > 1)?.1;
    let (name, bytes) = unit_of(end);
    let (mut points, mut before): (Vec<Point>, f64) = (Vec::new(), 0.0);
    for ((_, rate), (_, until)) in rates.iter().zip(&written) {
        points.push((before / bytes, *rate));
        before = *until;
    }
    let last = rates[rates.len() - 1].1;
    points.push((end / bytes, last));
    let x = PlotAxis::until(&format!("written since the rounds began, {name}"), end / bytes);
    let (ink, first) = (Ink::Series(0), points[0]);
    let plot = Plot::new(x, PlotAxis::from_zero(unit(cell), highest(&points)))
        .with_steps(points, ink)
        .with_ends([first, (end / bytes, last)], ["at first", "at the end"], ink);
    Some(Chart {
        name: "steady-written".to_string(),
        title: format!("{} over what was written", plain_name(cell)),
        caption: "Rate of each round over the bytes that the rounds had written.".to_string(),
        description: format!(
            "From {} to {} {} after {}.",
            rounded(first.1),
            rounded(last),
            unit(cell),
            Bytes(end as u64)
        ),
        plot,
    })
}

fn by_pass(result: &TestResult) -> Option<Chart> {
    let points = points_of(result, "steady.pass.busy_mb_s");
    let (first, last) = (*points.first()?, *points.last()?);
    if points.len() < 2 {
        return None;
    }
    let x = PlotAxis::until("pass", last.0);
    let mut plot = with_warmth(x, ("MB/s while busy", highest(&points)), warmth(result));
    let mut begin = 0.0;
    for stage in STAGES {
        let passes = find(result, stage, "busy_mb_s").map_or(0, |metric| metric.rounds.len());
        let end = begin + passes as f64;
        if passes > 0 && stage == "steady" {
            let from_to = (begin + 0.5, (end + 0.5).min(last.0));
            plot = plot.with(Layer::Band { from_to, text: stage.to_string() });
        }
        begin = end;
    }
    let ink = Ink::Series(0);
    let plot = plot.with_line(points, ink).with_ends([first, last], ["MB/s", "at the end"], ink);
    let (first, last) = (rounded(first.1), rounded(last.1));
    Some(Chart {
        name: "steady-passes".to_string(),
        title: "Applications between stretches of random writes".to_string(),
        caption: "Bandwidth of a pass of traces while the drive is busy: first behind longer and longer random writes, \
                  then (shaded) behind equal ones, then behind pauses. Grey, where it is known: temperature, right axis."
            .to_string(),
        description: format!("From {first} MB/s in the first pass to {last} MB/s in the last."),
        plot,
    })
}

fn warmth(result: &TestResult) -> Vec<Point> {
    let mut points: Vec<Point> = Vec::new();
    for phase in result.phases.iter().filter(|phase| phase.cell != "precondition") {
        let (round, Some(celsius)) = (f64::from(phase.round), phase.temperature_c) else {
            continue;
        };
        match points.last_mut().filter(|(last, _)| *last == round) {
            Some(last) => last.1 = celsius,
            None => points.push((round, celsius)),
        }
    }
    points
}

/// A plot with the temperature, if known, on its right axis.
fn with_warmth(x: PlotAxis, (title, most): (&str, f64), warmth: Vec<Point>) -> Plot {
    if warmth.len() < 2 {
        return Plot::new(x, PlotAxis::from_zero(title, most));
    }
    let (left, right) = PlotAxis::twins((title, most), ("°C", highest(&warmth)));
    let plot = Plot { right: Some(right), ..Plot::new(x, left) };
    plot.with_curve(warmth, WARMTH, Course::Straight, YAxis::Right)
}
