//! The curve of a fill: the rate over what was written, with the end of a fast cache.

use super::{ends, staircase};
use crate::chart::axis::PlotAxis;
use crate::chart::plot::{Ink, Layer, Plot, Point};
use crate::chart::{Chart, end_rates, highest, scaled, unit_of};
use crate::terminal::value;
use drivescope_model::number::rounded;
use drivescope_model::{Bytes, Secs, TestResult};

const CURVE: Ink = Ink::Series(0);

pub(super) fn charts(result: &TestResult) -> Vec<Chart> {
    let whole = curve(result, "fill.write.mb_s", "fill", "Filling the drive", "position");
    let burst =
        curve(result, "fill.burst.burst_mb_s", "fill-burst", "Written in one go", "written");
    whole.into_iter().chain(over_time(result)).chain(burst).collect()
}

/// `Filling: 12.6 MB/s, then 3.02 MB/s from 4.50 MB on`, or its duration.
pub(super) fn headline(result: &TestResult) -> Option<String> {
    let knee = |quantity| value(result, "knee", quantity);
    if let (Some(at), Some(before), Some(after)) =
        (knee("knee_bytes"), knee("before_mb_s"), knee("after_mb_s"))
    {
        let (before, after, at) = (rounded(before), rounded(after), Bytes(at as u64));
        return Some(format!("Filling: {before} MB/s, then {after} MB/s from {at} on"));
    }
    let seconds = value(result, "whole", "time_s")?;
    Some(format!("Filling: {} for the whole drive", Secs(seconds)))
}

/// Rate of a whole fill over time: each stretch takes as long as its bytes at its rate.
fn over_time(result: &TestResult) -> Option<Chart> {
    let steps = staircase(result, "fill.write.mb_s");
    let mut seconds = 0.0;
    let mut points: Vec<Point> = Vec::new();
    for pair in steps.windows(2) {
        let [(from, rate), (to, _)] = [pair[0], pair[1]];
        points.push((seconds, rate));
        seconds += (to - from) / (rate * 1e6);
    }
    let last = points.last().copied().filter(|_| seconds.is_finite() && seconds > 0.0)?;
    points.push((seconds, last.1));
    let (unit, size) = match seconds {
        s if s >= 7_200.0 => ("h", 3_600.0),
        s if s >= 120.0 => ("min", 60.0),
        _ => ("s", 1.0),
    };
    let half = points.iter().find(|(at, _)| *at >= seconds / 2.0).map_or(last.1, |point| point.1);
    let points = scaled(&points, size);
    let x = PlotAxis::until(&format!("time, {unit}"), seconds / size);
    let ends = [points[0], (seconds / size, last.1)];
    let plot = Plot::new(x, PlotAxis::from_zero("MB/s", highest(&points)))
        .with_steps(points, CURVE)
        .with_rates_at(ends, end_rates(result, "write", &ends)?, ["MB/s", "at the end"], CURVE);
    Some(Chart {
        name: "fill-time".to_string(),
        title: format!("Filling the drive takes {}", Secs(seconds)),
        caption: "Rate of writing over time: what lies further in takes longer.".to_string(),
        description: format!("{} MB/s after half of the time.", rounded(half)),
        plot,
    })
}

fn curve(result: &TestResult, key: &str, name: &str, title: &str, x_word: &str) -> Option<Chart> {
    let steps = staircase(result, key);
    let (from, to) = ends(&steps);
    if to <= from || steps.len() < 2 {
        return None;
    }
    let (unit, bytes) = unit_of(to);
    // The last step only marks the end.
    let (first, last) = (steps[0].1, steps[steps.len() - 2].1);
    let cell = if name == "fill" { "write" } else { name };
    let rates = end_rates(result, cell, &[(from, first), (to, last)])?;
    let points = scaled(&steps, bytes);
    let x = PlotAxis::until(&format!("{x_word}, {unit}"), to / bytes);
    let mut plot = Plot::new(x, PlotAxis::from_zero("MB/s", highest(&points)));
    let knee = value(result, "knee", "knee_bytes").filter(|knee| *knee < to);
    if let Some(knee) = knee {
        let text = format!("full after {}", Bytes(knee as u64));
        plot = plot.with(Layer::Rule { x: knee / bytes, text });
    }
    let ends = [points[0], (points[points.len() - 1].0, last)];
    let words = ["MB/s at first", "at the end"];
    let plot = plot.with_steps(points, CURVE).with_rates_at(ends, rates, words, CURVE);
    let time = value(result, "whole", "time_s").map(|seconds| format!(": {}", Secs(seconds)));
    let time = time.filter(|_| name == "fill").unwrap_or_default();
    let [first, last] = rates.map(rounded);
    Some(Chart {
        name: name.to_string(),
        title: format!("{title}{time}"),
        caption: "Rate of writing, fresh data in order, from the first byte to the last."
            .to_string(),
        description: format!("From {first} MB/s at first to {last} MB/s at the end."),
        plot,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{measured, result, series};
    use drivescope_model::TestKind;

    #[test]
    fn headline_shows_rate_fall_or_duration() {
        fn said(metrics: &[(&str, f64)]) -> Option<String> {
            headline(&measured(TestKind::Fill, metrics))
        }
        let whole = ("whole.time_s", 28_800.0);
        let knee =
            [("knee.knee_bytes", 42e9), ("knee.before_mb_s", 540.0), ("knee.after_mb_s", 80.0)];
        assert_eq!(said(&knee).unwrap(), "Filling: 540 MB/s, then 80.0 MB/s from 42.0 GB on");
        assert_eq!(said(&[whole]).unwrap(), "Filling: 8 h 00 min for the whole drive");
        assert_eq!(said(&[]), None);
    }

    #[test]
    fn stretch_time_is_bytes_over_rate() {
        let steps = [(0.0, 100.0), (1e9, 50.0), (2e9, 50.0)];
        let mut result = result(TestKind::Fill, Vec::new());
        result.series.push(series("fill.write.mb_s", ["bytes", "MB/s"], steps));
        let chart = over_time(&result).unwrap();
        assert!(chart.title.ends_with("takes 30 s"), "{}", chart.title);
        assert_eq!(chart.description, "50.0 MB/s after half of the time.");
        let Some(Layer::Line { points, .. }) = chart.plot.layers.first() else { panic!("a line") };
        assert_eq!(points[..], [(0.0, 100.0), (10.0, 50.0), (30.0, 50.0)]);
    }
}
