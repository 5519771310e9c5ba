//! Pictures of the surface: rate and access time by position, and access time by distance.

mod bad_places;

use super::by_distance;
use crate::chart::axis::PlotAxis;
use crate::chart::plot::{Beside, Course, Ink, Layer, Plot, Point, YAxis};
use crate::chart::{Chart, end_rates, highest, points_of, scaled, times, unit_of, wait_unit};
use drivescope_model::TestResult;
use drivescope_model::number::{one_decimal, rounded, whole};
use drivescope_stats::zones::{ZONE_DROP_MIN, zones};

const READ: Ink = Ink::Series(0);
const ACCESS: Ink = Ink::Series(1);
const WRITE: Ink = Ink::Series(2);
/// A smaller difference between start and end is not a fall.
const SAME_RATE: f64 = 0.05;

pub(super) fn charts(result: &TestResult) -> Vec<Chart> {
    position(result).into_iter().chain(distance(result)).collect()
}

fn position(result: &TestResult) -> Option<Chart> {
    let read = points_of(result, "surface.read.mb_s");
    let written = points_of(result, "surface.write.mb_s");
    let accesses = points_of(result, "surface.access.position_lat_ms");
    let (wait, per_ms) = wait_unit(accesses.iter().map(|(_, ms)| *ms));
    let accesses = times(&accesses, per_ms);
    let first = if read.is_empty() { &written } else { &read };
    let end = first.last()?.0.max(accesses.last().map_or(0.0, |(x, _)| *x));
    let (unit, bytes) = unit_of(end);

    let highest_rate = highest(&read).max(highest(&written));
    let x = PlotAxis::until(&format!("position, {unit}"), end / bytes);
    let mut plot = if accesses.is_empty() {
        Plot::new(x, PlotAxis::from_zero("MB/s", highest_rate))
    } else {
        let (y, right) = PlotAxis::twins(("MB/s", highest_rate), (wait, highest(&accesses)));
        let points = scaled(&accesses, bytes);
        let dots = Layer::Dots { points, ink: ACCESS, axis: YAxis::Right };
        Plot { right: Some(right), ..Plot::new(x, y) }.named(ACCESS, "access").with(dots)
    };
    let steps = scaled(&zone_steps(result, first), bytes);
    for (points, ink, cell, verb) in
        [(&read, READ, "read", "read"), (&written, WRITE, "write", "written")]
    {
        let Some(rates) = end_rates(result, cell, points) else { continue };
        let points = scaled(points, bytes);
        let (Some(from), Some(to)) = (points.first().copied(), points.last().copied()) else {
            continue;
        };
        let words = ["MB/s at the start", &format!("at the end, {verb}")];
        plot = plot.named(ink, verb).with_line(points, ink).with_rates_at(
            [from, to],
            rates,
            words,
            ink,
        );
    }
    let zones = match zone_count(&steps) {
        0 | 1 => String::new(),
        count => format!(" Fine steps: {count} zones."),
    };
    if !zones.is_empty() {
        let (points, ink, course) = (steps, Ink::Muted, Course::Steps);
        plot = plot.with(Layer::Line { points, ink, course, is_fine: true, axis: YAxis::Left });
    }
    let (plot, marked) = bad_places::marked(plot, result, end, bytes);
    let [start, last] = ends_of(result)?.map(rounded);
    let dots = accesses.iter().map(|(_, wait)| *wait).reduce(f64::min).map(|fastest| {
        let (count, slowest) = (whole(accesses.len() as u64), rounded(highest(&accesses)));
        let fastest = rounded(fastest);
        format!(" Dots: {count} single reads, {fastest} to {slowest} {wait}, right scale.")
    });
    let dots = dots.unwrap_or_default();
    let median = median_words(result);
    let title =
        if accesses.is_empty() { "Rate by position" } else { "Rate and access time by position" };
    Some(Chart {
        name: "surface-position".to_string(),
        title: title.to_string(),
        caption: format!(
            "Line: sequential rate at {} places{median}; at the start and the end: of a twentieth each.{zones}{marked}{dots}",
            whole(first.len() as u64)
        ),
        description: format!(
            "Sequential rate from {start} MB/s at the start to {last} MB/s at the end."
        ),
        plot,
    })
}

pub(super) fn headline(result: &TestResult) -> Option<String> {
    ends_of(result).map(heading)
}

/// What a rate is where there were several rounds.
fn median_words(result: &TestResult) -> &'static str {
    let has_rounds = result.metrics.iter().any(|metric| metric.rounds.len() > 1);
    if has_rounds { ", median of the rounds" } else { "" }
}

/// The rates of reading at both ends, or of writing where it was not read.
fn ends_of(result: &TestResult) -> Option<[f64; 2]> {
    let of =
        |cell: &str| end_rates(result, cell, &points_of(result, &format!("surface.{cell}.mb_s")));
    of("read").or_else(|| of("write"))
}

/// Start and rate of each zone, then the end of the last one: as the test found them, else from the curve.
fn zone_steps(result: &TestResult, points: &[Point]) -> Vec<Point> {
    let found = points_of(result, "surface.zones.mb_s");
    if found.is_empty() {
        return steps_of(points);
    }
    // Each zone has its two ends.
    found.iter().step_by(2).chain(found.last()).copied().collect()
}

/// Zones from rates by position.
fn steps_of(points: &[Point]) -> Vec<Point> {
    let rates: Vec<f64> = points.iter().map(|(_, rate)| *rate).collect();
    let Some(found) = zones(&rates, ZONE_DROP_MIN) else { return Vec::new() };
    let mut steps: Vec<Point> =
        found.iter().map(|zone| (points[zone.start].0, zone.mean)).collect();
    steps.extend(points.last().zip(found.last()).map(|(last, zone)| (last.0, zone.mean)));
    steps
}

fn zone_count(steps: &[Point]) -> usize {
    steps.len().saturating_sub(1)
}

/// What follows from the rates at both ends.
fn heading([start, end]: [f64; 2]) -> String {
    let share = end / start;
    let percent = one_decimal((share * 100.0).round());
    match share {
        _ if !share.is_finite() => "Over the drive".to_string(),
        share if share < 1.0 - SAME_RATE => {
            format!("Over the drive: {percent} % of the speed is left at the end")
        }
        share if share > 1.0 + SAME_RATE => "Over the drive: faster at the end".to_string(),
        _ => "Over the drive: the same speed everywhere".to_string(),
    }
}

/// Access times by the distance from the access before, with medians of groups.
fn distance(result: &TestResult) -> Option<Chart> {
    let points = points_of(result, "surface.access.lat_ms");
    let (wait, per_ms) = wait_unit(points.iter().map(|(_, ms)| *ms));
    let points = times(&points, per_ms);
    let groups = by_distance(&points);
    let (nearest, farthest) = (rounded(groups.first()?.2), rounded(groups.last()?.2));
    let per_cent: Vec<Point> = points.iter().map(|(share, ms)| (share * 100.0, *ms)).collect();
    let y = PlotAxis::from_zero(wait, highest(&points));
    let x = PlotAxis::until("distance from the access before, % of the drive", 100.0);
    let mut plot =
        Plot::new(x, y).with(Layer::Dots { points: per_cent, ink: ACCESS, axis: YAxis::Left });
    for (from, to, median) in groups {
        plot = plot.with(Layer::Level { from_to: (from, to), y: median });
        let middle = ((from + to) / 2.0, median);
        plot = plot.with_text(middle, rounded(median), Ink::Text, Beside::Above);
    }
    Some(Chart {
        name: "surface-distance".to_string(),
        title: "Access time by distance".to_string(),
        caption: format!(
            "Single 4 KiB reads anywhere, {} of them. Bars: medians, {wait}.",
            whole(points.len() as u64)
        ),
        description: format!(
            "Median access time {nearest} {wait} for near places, {farthest} {wait} for far ones."
        ),
        plot,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::hard_disk_surface;

    #[test]
    fn headline_shows_the_rate_at_the_end() {
        let disk = hard_disk_surface();
        assert_eq!(
            headline(&disk).unwrap(),
            "Over the drive: 45 % of the speed is left at the end"
        );
        for (start, end, said) in [
            (100.0, 99.0, "Over the drive: the same speed everywhere"),
            (100.0, 120.0, "Over the drive: faster at the end"),
            (0.0, 0.0, "Over the drive"),
        ] {
            assert_eq!(heading([start, end]), said);
        }
        assert_eq!(headline(&TestResult { series: Vec::new(), ..disk }), None);
    }

    #[test]
    fn zones_are_found_at_rate_steps() {
        let rate = |i: usize| [200.0, 170.0, 130.0][i / 20] * (1.0 + 0.001 * (i * 7 % 5) as f64);
        let points: Vec<Point> = (0..60).map(|i| (i as f64, rate(i))).collect();
        let steps = steps_of(&points);
        let starts: Vec<f64> = steps.iter().map(|(at, _)| *at).collect();
        assert_eq!(starts, [0.0, 20.0, 40.0, 59.0]);
        assert_eq!(steps_of(&points[..20]).len(), 2);
        assert!(steps_of(&[]).is_empty());
    }
}
