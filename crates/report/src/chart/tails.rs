//! How many requests are slow: complementary distributions of latency, both scales logarithmic.

use super::axis::{AxisScale, AxisValues, PlotAxis, Tick};
use super::plot::{Beside, Ink, Plot, Point};
use super::{Chart, extent};
use crate::latencies::histogram;
use drivescope_model::TestResult;
use drivescope_model::document::Distribution;
use drivescope_model::number::latency_us;

/// Most curves that a reader can distinguish.
const CURVES_MAX: usize = 5;
const RAREST: f64 = 1e-6;

/// Latencies in microseconds, each with the share of requests that took longer, falling from 1. The last point is the
/// slowest request, at the share of one request.
fn complementary(distribution: &Distribution) -> Option<Vec<Point>> {
    let histogram = histogram(distribution)?;
    let count = histogram.len();
    let mut slower = count;
    let mut points = Vec::new();
    for step in histogram.iter_recorded() {
        let us = step.value_iterated_to() as f64 / 1e3;
        if points.is_empty() {
            points.push((us, 1.0));
        }
        slower -= step.count_since_last_iteration();
        points.push((us, slower.max(1) as f64 / count as f64));
    }
    Some(points)
}

/// `wanted`: keys and names. `None` without any of them.
pub fn tails(result: &TestResult, name: &str, wanted: &[(String, String)]) -> Option<Chart> {
    let curve = |(key, label): &(String, String)| Some((label.clone(), tail_of(result, key)?));
    tails_chart(name, wanted.iter().filter_map(curve).collect())
}

pub fn tail_of(result: &TestResult, key: &str) -> Option<Vec<Point>> {
    complementary(result.distributions.iter().find(|found| found.key == *key)?)
}

/// The curves with their names in one picture, at most [`CURVES_MAX`]; `None` without curves.
pub fn tails_chart(name: &str, mut curves: Vec<(String, Vec<Point>)>) -> Option<Chart> {
    curves.truncate(CURVES_MAX);
    let all = || curves.iter().flat_map(|(_, points)| points);
    let (fastest, slowest) = extent(all().map(|(us, _)| *us));
    let rarest = all().map(|(_, share)| *share).fold(1.0, f64::min).max(RAREST);
    curves.first()?;
    let x = PlotAxis::log("latency", fastest.max(0.001), slowest, AxisValues::LatencyUs);
    let mut plot = Plot::new(x, share_axis(rarest));
    for (i, (label, points)) in curves.iter().enumerate() {
        let within = points.iter().filter(|(_, share)| *share >= rarest).copied().collect();
        plot = plot.named(Ink::Series(i), label.as_str()).with_steps(within, Ink::Series(i));
    }
    for (i, (label, points)) in curves.iter().enumerate() {
        let Some(last) = points.iter().rfind(|(_, share)| *share >= rarest) else { continue };
        plot = plot.with_text(*last, label.as_str(), Ink::Series(i), Beside::LineEnd);
    }
    let medians: Vec<String> =
        curves.iter().map(|(label, points)| median_text(label, points)).collect();
    Some(Chart {
        name: name.to_string(),
        title: "How many requests are slow".to_string(),
        caption: "Share of requests that took longer. Both scales logarithmic; the last step of a curve is one \
                  request."
            .to_string(),
        description: medians.join("; "),
        plot,
    })
}

fn median_text(label: &str, points: &[Point]) -> String {
    let half = points.iter().find(|(_, share)| *share <= 0.5).or(points.last());
    format!("{label}: median {}", latency_us(half.map_or(f64::NAN, |(us, _)| *us)))
}

fn share_axis(rarest: f64) -> PlotAxis {
    let decades = (-rarest.log10()).ceil().max(1.0) as i32;
    let tick = |power: i32| {
        let at = 10f64.powi(-power);
        Tick { at, text: AxisValues::Share.tick(at) }
    };
    let scale = AxisScale::Log(10f64.powi(-decades), 1.0);
    let ticks = (0..=decades).rev().map(tick).collect();
    let title = "requests slower than this".to_string();
    PlotAxis { title, values: AxisValues::Share, scale, ticks }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chart::plot::YAxis;
    use crate::chart::svg::{Frame, PictureSize, Theme, svg};
    use crate::testing::distribution;

    #[test]
    fn shares_fall_from_all_to_the_slowest_request() {
        let points = complementary(&distribution("a.b", &[1_000, 1_000, 2_000, 8_000])).unwrap();
        let shares: Vec<f64> = points.iter().map(|(_, share)| *share).collect();
        assert_eq!(shares, [1.0, 0.5, 0.25, 0.25]);
        for ((us, _), true_us) in points.iter().zip([1.0, 1.0, 2.0, 8.0]) {
            assert!((us / true_us - 1.0).abs() < 0.002, "{us} for {true_us}");
        }
    }

    /// Where the drawn curve of these latencies first falls to `share`, in microseconds.
    fn drawn_us(latencies_ns: &[u64], share: f64) -> f64 {
        let points = complementary(&distribution("a.b", latencies_ns)).unwrap();
        let chart = tails_chart("tails", vec![("curve".to_string(), points)]).unwrap();
        let picture = svg(&chart, PictureSize::WIDE, Theme::Page);
        let frame = Frame::new(&chart.plot, PictureSize::WIDE);
        let (_, rest) = picture.split_once("class=\"line ").unwrap();
        let (_, rest) = rest.split_once(" d=\"").unwrap();
        let path = rest.split_once('"').unwrap().0.replace(['M', 'H'], " x").replace('V', " ");
        let level = frame.y(share, YAxis::Left) - 0.1;
        let mut places = path.split(" x").skip(1).map(|place| {
            let (x, y) = place.split_once(' ').unwrap();
            (x.parse::<f64>().unwrap(), y.parse::<f64>().unwrap())
        });
        let (x, _) = places.find(|(_, y)| *y >= level).unwrap();
        // The axis is logarithmic: two of its values give the rest.
        let (one, ten) = (frame.x(1.0), frame.x(10.0));
        10f64.powf((x - one) / (ten - one))
    }

    #[test]
    fn drawn_curve_matches_percentiles() {
        let latencies: Vec<u64> = (1..=4_000).map(|i| 80_000 + i * i / 10).collect();
        for share in [0.5, 0.1, 0.01, 0.001] {
            let rank = (latencies.len() as f64 * (1.0 - share)).ceil() as usize;
            let percentile_us = latencies[rank - 1] as f64 / 1e3;
            let drawn = drawn_us(&latencies, share);
            assert!(
                (drawn / percentile_us - 1.0).abs() < 0.03,
                "{share}: {drawn}, {percentile_us}"
            );
        }
        // All but one of 2,000 take 90 µs: the curve falls there, and not at the slow one.
        let mut steady = vec![90_000; 2_000];
        steady[7] = 240_000;
        assert!((drawn_us(&steady, 0.001) / 90.0 - 1.0).abs() < 0.03);
        assert!((drawn_us(&[90_000; 500], 0.01) / 90.0 - 1.0).abs() < 0.03, "a single value");
    }

    #[test]
    fn invalid_histogram_is_not_drawn() {
        let good = distribution("a.b", &[1_000]);
        assert!(
            complementary(&Distribution { encoding: "other".into(), ..good.clone() }).is_none()
        );
        assert!(complementary(&Distribution { data: "AAAA".into(), ..good }).is_none());
        assert!(complementary(&distribution("a.b", &[])).is_none());
    }
}
