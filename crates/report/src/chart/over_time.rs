//! A rate over time: every round fine, their median bold.

use super::Chart;
use super::axis::PlotAxis;
use super::plot::{Beside, Course, Ink, Layer, Plot, Point, YAxis};
use drivescope_model::number::rounded;
use drivescope_model::{Series, TestResult};

/// A rate that falls to less than this share of its beginning is worth a picture.
const FALL: f64 = 0.8;
/// Share of a round that is its beginning, and its end.
const END_SHARE: f64 = 0.2;

/// The rounds of the series with this key, each by time.
fn rounds(result: &TestResult, key: &str) -> Vec<Vec<Point>> {
    let points = |series: &Series| -> Vec<Point> {
        let points = series.x.iter().copied().zip(series.y.iter().copied());
        points.filter(|(x, y)| x.is_finite() && y.is_finite()).collect()
    };
    let of_key = result.series.iter().filter(|series| series.key.split('#').next() == Some(key));
    of_key.map(points).filter(|points| !points.is_empty()).collect()
}

/// The median of the rounds at each place of the shortest.
fn median(rounds: &[Vec<Point>]) -> Vec<Point> {
    let places = rounds.iter().map(Vec::len).min().unwrap_or(0);
    let at = |i: usize| {
        let mut rates: Vec<f64> = rounds.iter().map(|round| round[i].1).collect();
        rates.sort_by(f64::total_cmp);
        (rounds[0][i].0, rates[rates.len() / 2])
    };
    (0..places).map(at).collect()
}

/// Mean rates of the first and of the last part of a curve.
fn ends(curve: &[Point]) -> (f64, f64) {
    let n = ((curve.len() as f64 * END_SHARE) as usize).max(1);
    let mean = |part: &[Point]| part.iter().map(|(_, rate)| rate).sum::<f64>() / part.len() as f64;
    (mean(&curve[..n]), mean(&curve[curve.len() - n..]))
}

/// The rate over time of that cell which falls most, if one does: its key, and what it is called.
pub fn worst_fall(
    result: &TestResult,
    name: &'static str,
    cells: &[(String, String)],
) -> Option<Chart> {
    let falls = cells.iter().filter_map(|(key, label)| {
        let rounds = rounds(result, key);
        let median = median(&rounds);
        let (first, last) = if median.is_empty() { return None } else { ends(&median) };
        (first > 0.0 && last < first * FALL).then_some((last / first, label, rounds, median))
    });
    let (_, label, rounds, median) = falls.min_by(|a, b| a.0.total_cmp(&b.0))?;
    Some(chart(name, label, &rounds, median))
}

fn chart(name: &'static str, label: &str, rounds: &[Vec<Point>], median: Vec<Point>) -> Chart {
    let (first, last) = ends(&median);
    let highest = rounds.iter().map(|round| super::highest(round)).fold(0.0, f64::max);
    let end = rounds.iter().flatten().map(|(x, _)| *x).fold(0.0, f64::max);
    let (from, to) = (median[0], median[median.len() - 1]);
    let mut plot = Plot::new(PlotAxis::until("seconds", end), PlotAxis::from_zero("MB/s", highest));
    for points in rounds {
        let (points, ink, course) = (points.clone(), Ink::Muted, Course::Straight);
        plot = plot.with(Layer::Line { points, ink, course, is_fine: true, axis: YAxis::Left });
    }
    let ink = Ink::Series(0);
    let plot = plot
        .with_line(median, ink)
        .with_text(
            (from.0, first),
            format!("{} MB/s at first", rounded(first)),
            ink,
            Beside::AboveRight,
        )
        .with_text((to.0, last), format!("{} at the end", rounded(last)), ink, Beside::AboveLeft);
    Chart {
        name,
        title: format!("{label}: quick at first"),
        caption: "Rate over time, every round fine, their median bold.".to_string(),
        description: format!("From {} to {} MB/s within a round.", rounded(first), rounded(last)),
        plot,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use drivescope_model::TestKind;

    fn result(rates: &[&[f64]]) -> TestResult {
        let series = |(i, y): (usize, &&[f64])| Series {
            key: format!("a.b.mb_s#{}", i + 1),
            x_unit: "s".into(),
            y_unit: "MB/s".into(),
            x: (0..y.len()).map(|i| i as f64).collect(),
            y: y.to_vec(),
        };
        let series = rates.iter().enumerate().map(series).collect();
        TestResult { series, ..crate::testing::result(TestKind::Transfer, Vec::new()) }
    }

    #[test]
    fn only_a_rate_that_falls_is_worth_a_picture() {
        let cells = [("a.b.mb_s".to_string(), "writes".to_string())];
        let falls: &[&[f64]] = &[&[12.0, 12.0, 3.0, 3.0, 3.0], &[12.0, 12.0, 12.0, 3.0, 3.0]];
        let chart = worst_fall(&result(falls), "x", &cells).expect("it falls");
        assert_eq!(chart.description, "From 12.0 to 3.00 MB/s within a round.");
        assert!(worst_fall(&result(&[&[12.0, 11.0, 12.0, 11.0, 11.5]]), "x", &cells).is_none());
        assert!(worst_fall(&result(&[&[]]), "x", &cells).is_none());
    }
}
