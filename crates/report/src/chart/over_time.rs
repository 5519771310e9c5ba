//! A rate over time: every round fine, their median bold.

use super::axis::PlotAxis;
use super::plot::{Course, Ink, Layer, Plot, Point, YAxis};
use super::{Chart, finite_points};
use crate::terminal::value;
use drivescope_model::TestResult;
use drivescope_model::number::rounded;

/// A rate that falls below this share of its start is worth a picture.
const FALL: f64 = 0.8;
/// Share of a round that counts as its start, and as its end.
const END_SHARE: f64 = 0.2;
/// Of the rounds, how many at least fall as their median does: noise differs from round to round.
const FALLING_SHARE: f64 = 0.75;

fn rounds(result: &TestResult, key: &str) -> Vec<Vec<Point>> {
    let points = super::series_of(result, key).map(|series| finite_points(series).collect());
    points.filter(|points: &Vec<Point>| !points.is_empty()).collect()
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

fn ends(curve: &[Point]) -> (f64, f64) {
    let n = end_places(curve);
    (mean_rate(&curve[..n]), mean_rate(&curve[curve.len() - n..]))
}

fn mean_rate(part: &[Point]) -> f64 {
    part.iter().map(|(_, rate)| rate).sum::<f64>() / part.len() as f64
}

/// The rate over time of the cell that falls most, if one does. `cells`: key and name.
pub fn worst_fall(result: &TestResult, name: &str, cells: &[(String, String)]) -> Option<Chart> {
    let falls = cells.iter().filter_map(|(key, label)| {
        let rounds = rounds(result, key);
        let median = median(&rounds);
        let (first, last) = if median.is_empty() { return None } else { ends(&median) };
        let falls = first > 0.0 && last < first * FALL && is_no_noise(&rounds, &median);
        falls.then_some((last / first, label, rounds, median))
    });
    let (_, label, rounds, median) = falls.min_by(|a, b| a.0.total_cmp(&b.0))?;
    Some(fall(name, label, &rounds, median))
}

/// Whether all of the start is above all of the end, and most rounds fall.
fn is_no_noise(rounds: &[Vec<Point>], median: &[Point]) -> bool {
    let n = end_places(median);
    let rate = |point: &Point| point.1;
    let start = median[..n].iter().map(rate).fold(f64::INFINITY, f64::min);
    let end = median[median.len() - n..].iter().map(rate).fold(0.0, f64::max);
    let falling = rounds.iter().filter(|round| {
        let (first, last) = ends(round);
        last < first * FALL
    });
    end < start && falling.count() as f64 >= FALLING_SHARE * rounds.len() as f64
}

fn end_places(curve: &[Point]) -> usize {
    ((curve.len() as f64 * END_SHARE) as usize).max(1)
}

fn fall(name: &str, label: &str, rounds: &[Vec<Point>], median: Vec<Point>) -> Chart {
    let (first, last) = ends(&median);
    let end = rounds.iter().flatten().map(|(x, _)| *x).fold(0.0, f64::max);
    let (from, to) = (median[0], median[median.len() - 1]);
    let y = PlotAxis::from_zero("MB/s", highest_of(rounds));
    let plot = with_rounds(Plot::new(PlotAxis::until("time, s", end), y), rounds);
    let ink = Ink::Series(0);
    let ends = [(from.0, first), (to.0, last)];
    let plot = plot.with_line(median, ink).with_ends(ends, ["MB/s at first", "at the end"], ink);
    Chart {
        name: name.to_string(),
        title: format!("{label}: {} MB/s, then {}", rounded(first), rounded(last)),
        caption: "Rate over time, every round fine, their median bold.".to_string(),
        description: format!("From {} to {} MB/s within a round.", rounded(first), rounded(last)),
        plot,
    }
}

fn highest_of(rounds: &[Vec<Point>]) -> f64 {
    rounds.iter().map(|round| super::highest(round)).fold(0.0, f64::max)
}

fn with_rounds(mut plot: Plot, rounds: &[Vec<Point>]) -> Plot {
    for points in rounds {
        let (points, ink, course) = (points.clone(), Ink::Muted, Course::Straight);
        plot = plot.with(Layer::Line { points, ink, course, is_fine: true, axis: YAxis::Left });
    }
    plot
}

/// Smaller requests are shown per second, larger ones in MB/s, as in the tables of a run.
const SMALL_BLOCK_BYTES: f64 = 65_536.0;

/// Rate and latency over time within the rounds of each cell (its key without the test, and its name). The latency is
/// the mean of an interval by Little's law (1961): in flight over per second. It is omitted where requests come at set
/// times, since their number in flight is unknown then.
pub fn phases(result: &TestResult, cells: &[(String, String)]) -> Vec<Chart> {
    let charts = cells.iter().filter_map(|(cell, label)| phase(result, cell, label));
    charts.collect()
}

fn phase(result: &TestResult, cell: &str, label: &str) -> Option<Chart> {
    let first = result.phases.iter().find(|phase| phase.cell == cell && phase.ops > 0)?;
    let block = first.bytes as f64 / first.ops as f64;
    let is_small = block > 0.0 && block < SMALL_BLOCK_BYTES;
    let (unit, scale) = if is_small { ("per second", 1e6 / block) } else { ("MB/s", 1.0) };
    let mut rounds = rounds(result, &format!("{}.{cell}.mb_s", result.test));
    rounds.iter_mut().flatten().for_each(|(_, rate)| *rate *= scale);
    let median = median(&rounds);
    let end = median.last().filter(|_| median.len() > 1)?.0;
    let is_open = value(result, cell, "offered_iops").is_some();
    let wait = |rate: f64| first.depth_mean * block / (rate / scale * 1e6) * 1e3;
    let waits: Vec<Point> = if is_open || block <= 0.0 {
        Vec::new()
    } else {
        median.iter().filter(|p| p.1 > 0.0).map(|p| (p.0, wait(p.1))).collect()
    };
    let x = PlotAxis::until("time, s", end);
    let (rate_ink, wait_ink) = (Ink::Series(0), Ink::Series(1));
    let highest = highest_of(&rounds);
    let plot = if waits.is_empty() {
        Plot::new(x, PlotAxis::from_zero(unit, highest))
    } else {
        let (wait, per_ms) = super::wait_unit(waits.iter().map(|(_, ms)| *ms));
        let waits = super::times(&waits, per_ms);
        let (y, right) = PlotAxis::twins((unit, highest), (wait, super::highest(&waits)));
        Plot { right: Some(right), ..Plot::new(x, y) }.named(wait_ink, "mean wait").with_curve(
            waits,
            wait_ink,
            Course::Straight,
            YAxis::Right,
        )
    };
    let (from, to) = ends(&median);
    let plot = with_rounds(plot, &rounds).named(rate_ink, "rate").with_line(median, rate_ink);
    let waiting = if waits.is_empty() { "" } else { " Right scale: mean waiting time." };
    Some(Chart {
        name: format!("{}-time-{cell}", result.test),
        title: label.to_string(),
        caption: format!("Rate within {} rounds, their median bold.{waiting}", rounds.len()),
        description: format!("From {} to {} {unit}.", rounded(from), rounded(to)),
        plot,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::series;
    use drivescope_model::TestKind;

    fn result(rates: &[&[f64]]) -> TestResult {
        let of_round = |(i, rates): (usize, &&[f64])| {
            let points = (0..).map(f64::from).zip(rates.iter().copied());
            series(&format!("transfer.b.mb_s#{}", i + 1), ["s", "MB/s"], points)
        };
        let series = rates.iter().enumerate().map(of_round).collect();
        TestResult { series, ..crate::testing::result(TestKind::Transfer, Vec::new()) }
    }

    #[test]
    fn only_a_falling_rate_has_a_picture() {
        let cells = [("transfer.b.mb_s".to_string(), "writes".to_string())];
        let falls: &[&[f64]] = &[&[12.0, 12.0, 3.0, 3.0, 3.0], &[12.0, 12.0, 12.0, 3.0, 3.0]];
        let chart = worst_fall(&result(falls), "x", &cells).expect("it falls");
        assert_eq!(chart.description, "From 12.0 to 3.00 MB/s within a round.");
        assert!(worst_fall(&result(&[&[12.0, 11.0, 12.0, 11.0, 11.5]]), "x", &cells).is_none());
        // Noise: one round of four begins fast, or fast and slow alternate.
        let noise: &[&[f64]] =
            &[&[30.0, 9.0, 9.0, 9.0, 9.0], &[12.0, 9.0, 9.0, 9.0, 9.0], &[9.5; 5], &[12.0; 5]];
        assert!(worst_fall(&result(noise), "x", &cells).is_none());
        let waves = [12.0, 4.0, 12.0, 4.0, 9.0, 9.0, 9.0, 9.0, 5.0, 5.0];
        assert!(worst_fall(&result(&[&waves]), "x", &cells).is_none());
        assert!(worst_fall(&result(&[&[]]), "x", &cells).is_none());
    }

    #[test]
    fn waiting_follows_from_depth_and_rate() {
        let mut result = result(&[&[4.096, 8.192], &[4.096, 8.192]]);
        let cells = [("b".to_string(), "reads".to_string())];
        assert!(phases(&result, &cells).is_empty(), "no phase says how large requests are");
        let mut phase = crate::testing::hard_disk().tests[0].phases[0].clone();
        (phase.cell, phase.ops, phase.bytes, phase.depth_mean) = ("b".into(), 10, 40_960, 32.0);
        result.phases = vec![phase];
        let chart = phases(&result, &cells).remove(0);
        assert_eq!(chart.description, "From 1,000 to 2,000 per second.");
        let waits = chart.plot.layers.iter().find_map(|layer| match layer {
            Layer::Line { points, axis: YAxis::Right, .. } => Some(points.clone()),
            _ => None,
        });
        assert_eq!(waits.expect("drawn"), [(0.0, 32.0), (1.0, 16.0)]);
        result.metrics.push(crate::testing::metric("transfer.b.offered_iops", &[500.0]));
        assert!(phases(&result, &cells)[0].plot.right.is_none());
    }
}
