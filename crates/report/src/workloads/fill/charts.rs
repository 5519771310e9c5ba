//! The curve of a fill: the rate over what was written, with the end of a fast cache.

use super::{ends, staircase};
use crate::chart::axis::PlotAxis;
use crate::chart::plot::{Beside, Course, Ink, Layer, Plot, Point, YAxis};
use crate::chart::{Chart, highest, unit_of};
use crate::terminal::value;
use drivescope_model::number::rounded;
use drivescope_model::{Bytes, Secs, TestResult};

const CURVE: Ink = Ink::Series(0);

pub(super) fn charts(result: &TestResult) -> Vec<Chart> {
    let whole = curve(result, "fill.write.mb_s", "fill", "Filling the drive", "position");
    let burst =
        curve(result, "fill.burst.burst_mb_s", "fill-burst", "Written in one go", "written");
    whole.into_iter().chain(burst).collect()
}

fn curve(
    result: &TestResult,
    key: &str,
    name: &'static str,
    title: &str,
    x_word: &str,
) -> Option<Chart> {
    let steps = staircase(result, key);
    let (from, to) = ends(&steps);
    if to <= from || steps.len() < 2 {
        return None;
    }
    let (unit, bytes) = unit_of(to);
    // The last step only marks the end.
    let (first, last) = (steps[0].1, steps[steps.len() - 2].1);
    let points: Vec<Point> = steps.iter().map(|(x, y)| (x / bytes, *y)).collect();
    let x = PlotAxis::until(&format!("{x_word}, {unit}"), to / bytes);
    let mut plot = Plot::new(x, PlotAxis::from_zero("MB/s", highest(&points)));
    let knee = value(result, "knee", "knee_bytes").filter(|knee| *knee < to);
    if let Some(knee) = knee {
        let text = format!("full after {}", Bytes(knee as u64));
        plot = plot.with(Layer::Rule { x: knee / bytes, text });
    }
    let (start, end) = (points[0].0, points[points.len() - 1].0);
    let (ink, course) = (CURVE, Course::Steps);
    let plot = plot
        .with(Layer::Line { points, ink, course, is_fine: false, axis: YAxis::Left })
        .with_text(
            (start, first),
            format!("{} MB/s at first", rounded(first)),
            ink,
            Beside::AboveRight,
        )
        .with_text((end, last), format!("{} at the end", rounded(last)), ink, Beside::AboveLeft);
    let time = value(result, "whole", "time_s").map(|seconds| format!(": {}", Secs(seconds)));
    let time = time.filter(|_| name == "fill").unwrap_or_default();
    Some(Chart {
        name,
        title: format!("{title}{time}"),
        caption: "Rate of writing, fresh data in order, from the first byte to the last."
            .to_string(),
        description: format!(
            "From {} MB/s at first to {} MB/s at the end.",
            rounded(first),
            rounded(last)
        ),
        plot,
    })
}
