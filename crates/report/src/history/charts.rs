//! A drive's metrics over its runs.

use crate::chart::axis::PlotAxis;
use crate::chart::plot::{Beside, Ink, Layer, Plot, PlotMark, Point};
use crate::chart::{Chart, extent, highest};
use crate::history::{DriveHistory, MetricHistory};
use crate::text::change_sentence;
use drivescope_model::number::rounded;

const VALUE: Ink = Ink::Series(0);
/// Runs within fewer days are labelled with the hour, or with the minute.
const DAYS_MIN: f64 = 2.0;
const HOURS_MIN: f64 = 2.0;
/// Larger latencies are drawn in milliseconds.
const MS_FROM_US: f64 = 1_000.0;

/// A chart for each row: a mark per run, with the change if one is shown.
pub fn history_charts(history: &DriveHistory) -> Vec<Chart> {
    let axis = axis(history);
    history.rows.iter().filter_map(|row| chart(history, row, axis.as_ref()?)).collect()
}

/// Position of each run, and the title of the axis: time, or the number of the run where dates are not in order. `None`
/// if all began at once.
fn axis(history: &DriveHistory) -> Option<(Vec<f64>, String)> {
    let Some(days) = days(history) else {
        let places = (1..=history.runs.len()).map(|run| run as f64).collect();
        return Some((places, "runs in the order of saving".to_string()));
    };
    let since = history.runs.first()?.started_at.get(..10)?;
    let end = days.last().copied().filter(|end| *end > 0.0)?;
    let (unit, length) = match end {
        end if end < HOURS_MIN / 24.0 => ("minutes", 1_440.0),
        end if end < DAYS_MIN => ("hours", 24.0),
        _ => ("days", 1.0),
    };
    let places = days.into_iter().map(|day| day * length).collect();
    Some((places, format!("{unit} since {since}")))
}

/// Days from the first run to each; `None` where dates contradict the order of the runs.
fn days(history: &DriveHistory) -> Option<Vec<f64>> {
    let starts = history.runs.iter().map(|run| run.started_at.parse::<jiff::Timestamp>().ok());
    let starts: Vec<f64> = starts
        .map(|start| Some(start?.as_microsecond() as f64 / 86_400e6))
        .collect::<Option<_>>()?;
    let first = *starts.first().filter(|_| starts.is_sorted())?;
    Some(starts.into_iter().map(|start| start - first).collect())
}

fn chart(
    history: &DriveHistory,
    row: &MetricHistory,
    (places, title): &(Vec<f64>, String),
) -> Option<Chart> {
    let (_, most) = extent(row.values.iter().map(|(_, value)| *value));
    let (y_unit, size) = match row.unit.as_str() {
        "us" if most >= MS_FROM_US => ("ms", 1e3),
        "us" => ("µs", 1.0),
        "1/s" => ("per second", 1.0),
        other => (other, 1.0),
    };
    let place = |(run, value): &(usize, f64)| (places[*run], value / size);
    let points: Vec<Point> = row.values.iter().map(place).collect();
    let (first, last) = (*points.first()?, *points.last()?);
    let x = PlotAxis::until(title, *places.last()?);
    let mut plot = Plot::new(x, PlotAxis::from_zero(y_unit, highest(&points)));
    if let Some(change) = row.change.filter(|change| change.per_month.is_none()) {
        let word = if change.times < 1.0 { "slower" } else { "faster" };
        let text = format!("{word} from here on");
        plot = plot.with(Layer::Rule { x: places[change.since], text });
    }
    let marks = points.iter().map(|at| PlotMark::point(*at)).collect();
    let (begin, newest) = (rounded(first.1), rounded(last.1));
    let plot = plot
        .with_line(points.clone(), VALUE)
        .with(Layer::Marks { marks, ink: VALUE })
        .with_text(first, begin.as_str(), VALUE, Beside::AboveRight)
        .with_text(last, newest.as_str(), VALUE, Beside::AboveLeft);
    let caption = match &row.change {
        Some(change) => change_sentence(history, row, change),
        None => "No change shown.".to_string(),
    };
    let letters =
        row.what.chars().filter(|letter| letter.is_ascii_alphanumeric() || *letter == ' ');
    Some(Chart {
        name: format!("history-{}", letters.collect::<String>().replace(' ', "-")),
        title: format!("{}: {newest} {y_unit}", row.what),
        caption,
        description: format!("From {begin} to {newest} {y_unit} over {} runs.", points.len()),
        plot,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::history::tests::weekly;
    use crate::history::{DriveHistory, history};

    fn of(values: &[(f64, f64)]) -> DriveHistory {
        history(weekly(values), "d".into())
    }

    #[test]
    fn change_stands_in_the_picture_and_below_it() {
        let wave = |i: usize| 1.0 + 0.004 * ((i * 7 % 5) as f64 - 2.0);
        let level = |i: usize| if i < 6 { 1.0 } else { 0.8 };
        let values: Vec<(f64, f64)> =
            (0..12).map(|i| (100.0 * wave(i) * level(i), 9_000.0 * wave(i + 1))).collect();
        let charts = history_charts(&of(&values));
        let [rate, slow] = &charts[..] else { panic!("{charts:?}") };
        assert!(rate.caption.contains("20 % slower since 2026-02-16"), "{}", rate.caption);
        assert!(
            rate.plot.layers.iter().any(|it| matches!(it, Layer::Rule { x, .. } if *x == 42.0))
        );
        assert_eq!((slow.caption.as_str(), slow.plot.y.title.as_str()), ("No change shown.", "ms"));
        assert!(
            rate.plot.x.title == "days since 2026-01-05" && rate.name == "history-reads-in-order"
        );
    }

    #[test]
    fn runs_that_began_at_once_have_no_axis() {
        assert!(history_charts(&of(&[(100.0, 900.0)])).is_empty());
    }

    #[test]
    fn runs_of_one_second_have_a_picture_too() {
        let mut runs =
            weekly(&[(100.0, 9_000.0), (101.0, 9_001.0), (60.0, 9_002.0), (61.0, 9_003.0)]);
        for (i, run) in runs.iter_mut().enumerate() {
            run.started_at = format!("2026-01-05T00:00:00.{i}Z");
        }
        let charts = history_charts(&history(runs, "d".into()));
        assert_eq!(charts.len(), 2);
        assert!(!charts[0].caption.contains("a month"), "{}", charts[0].caption);
        assert_eq!(charts[0].plot.x.title, "minutes since 2026-01-05");
    }
}
