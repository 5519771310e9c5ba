//! A drive's metrics over its runs.

use crate::chart::axis::PlotAxis;
use crate::chart::plain_words::capitalized;
use crate::chart::plot::{Along, Beside, Ink, Layer, MarkOutline, Plot, PlotMark, Point};
use crate::chart::time_axis::{day_number, time_axis};
use crate::chart::{Chart, extent};
use crate::dates::{day_of, day_words};
use crate::history::{DriveHistory, HistoryValue, MetricHistory, RUNS_MIN};
use crate::text::{change_clause, change_words, history_unit};
use drivescope_model::number::rounded;

const VALUE: Ink = Ink::Series(0);
/// Intervals may reach this many times as high as the largest value; longer ones end in an arrow.
const INTERVAL_ROOM: f64 = 1.5;
/// More marks of firmware and machine would hide the values.
const MARKED_MAX: usize = 6;
/// Room above the values for words at upright lines.
const WORDS_ROOM: f64 = 1.15;

/// A chart for each row: a mark per run with its interval, the change if one is shown, and what else changed.
pub fn history_charts(history: &DriveHistory) -> Vec<Chart> {
    let (places, x) = axis(history);
    history.rows.iter().filter_map(|row| chart(history, row, &places, x.clone())).collect()
}

/// Position of each run on an axis of time, or by its number where dates are not in order.
fn axis(history: &DriveHistory) -> (Vec<f64>, PlotAxis) {
    let days = days(history);
    if let Some((first, last)) = days.as_ref().and_then(|days| days.first().zip(days.last())) {
        let axis = time_axis(*first, *last);
        return (days.unwrap_or_default(), axis);
    }
    let places = (1..=history.runs.len()).map(|run| run as f64).collect();
    (places, PlotAxis::until("runs in the order of saving", history.runs.len() as f64))
}

/// When each run began, in days since 1970 on the calendar of the first; `None` where dates contradict the order of the
/// runs.
fn days(history: &DriveHistory) -> Option<Vec<f64>> {
    let starts = history.runs.iter().map(|run| run.started_at.parse::<jiff::Timestamp>().ok());
    let starts: Vec<f64> = starts
        .map(|start| Some(start?.as_microsecond() as f64 / 86_400e6))
        .collect::<Option<_>>()?;
    let first = *starts.first().filter(|_| starts.is_sorted())?;
    let written = &history.runs.first()?.started_at;
    let clock: jiff::civil::Time = written.get(11..19)?.parse().ok()?;
    let seconds = f64::from(clock.hour()) * 3_600.0
        + f64::from(clock.minute()) * 60.0
        + f64::from(clock.second());
    let offset = day_number(day_of(written)?) + seconds / 86_400.0 - first;
    Some(starts.into_iter().map(|start| start + offset).collect())
}

fn chart(
    history: &DriveHistory,
    row: &MetricHistory,
    places: &[f64],
    x: PlotAxis,
) -> Option<Chart> {
    let (unit, size) = history_unit(row);
    let unit = if unit == "/s" { "per second" } else { unit };
    let points: Vec<Point> =
        row.values.iter().map(|it| (places[it.run], it.value / size)).collect();
    let (first, last) = (*points.first()?, *points.last()?);
    let (_, most) = extent(points.iter().map(|point| point.1));
    let (_, highest) = extent(row.values.iter().map(|it| it.high / size));
    let highest = highest.clamp(most, most * INTERVAL_ROOM);
    let (marked, mut rules) = (marked(history), marked(history));
    add_change(&mut rules, row);
    let room = if rules.is_empty() { 1.0 } else { WORDS_ROOM };
    let mut plot = Plot::new(x, PlotAxis::from_zero(unit, highest * room));
    for (run, words) in &rules {
        plot = plot.with(Layer::Rule { x: places[*run], text: words.join(", ") });
    }
    let mark = |(it, at): (&HistoryValue, &Point)| PlotMark {
        at: *at,
        interval: (it.low / size, it.high / size),
        interval_along: Along::Y,
        outline: MarkOutline::Filled,
    };
    let marks = row.values.iter().zip(&points).map(mark).collect();
    let (begin, newest) = (rounded(first.1), rounded(last.1));
    let plot = plot
        .with_line(points.clone(), VALUE)
        .with(Layer::Marks { marks, ink: VALUE })
        .with_text(first, begin.as_str(), VALUE, Beside::AboveRight)
        .with_text(last, newest.as_str(), VALUE, Beside::AboveLeft);
    let result = match &row.change {
        Some(change) => capitalized(&change_clause(history, change)),
        None if points.len() < RUNS_MIN => format!("A trend needs {RUNS_MIN} runs"),
        None => format!("No change shown in {} runs", points.len()),
    };
    let news = marked.iter().map(|(run, words)| {
        let day = day_words(&history.runs[*run].started_at, false);
        format!(" {} since {day}.", capitalized(&words.join(", ")))
    });
    let letters =
        row.what.chars().filter(|letter| letter.is_ascii_alphanumeric() || *letter == ' ');
    Some(Chart {
        name: format!("history-{}", letters.collect::<String>().replace(' ', "-")),
        title: format!("{}: {newest} {unit}", capitalized(row.what)),
        caption: format!(
            "{result}.{} A mark is a run with its 95 % interval.",
            news.collect::<String>()
        ),
        description: format!("From {begin} to {newest} {unit} over {} runs.", points.len()),
        plot,
    })
}

/// Runs at which something begins, each with its words.
type BeginningRuns = Vec<(usize, Vec<String>)>;

/// New firmware, and another machine.
fn marked(history: &DriveHistory) -> BeginningRuns {
    let runs = history.runs.iter().enumerate().skip(1);
    let marked: BeginningRuns = runs
        .map(|(i, run)| (i, run.marked_news().cloned().collect::<Vec<_>>()))
        .filter(|(_, news)| !news.is_empty())
        .collect();
    if marked.len() > MARKED_MAX { Vec::new() } else { marked }
}

fn add_change(rules: &mut BeginningRuns, row: &MetricHistory) {
    let Some(change) = row.change.filter(|change| change.per_month.is_none()) else { return };
    let words = change_words(&change);
    match rules.iter_mut().find(|(run, _)| *run == change.since) {
        Some((_, news)) => news.insert(0, words),
        None => rules.push((change.since, vec![words])),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chart::axis::{AxisScale, AxisValues};
    use crate::history::history;
    use crate::history::tests::weekly;
    use drivescope_model::Run;

    fn drawn(runs: Vec<Run>) -> Vec<Chart> {
        history_charts(&history(runs, "d".into()))
    }

    /// Twelve weekly runs; the rate falls by a fifth at the seventh.
    fn slower_since_february() -> Vec<Run> {
        fn wave(i: usize) -> f64 {
            1.0 + 0.004 * ((i * 7 % 5) as f64 - 2.0)
        }
        let level = |i: usize| if i < 6 { 1.0 } else { 0.8 };
        let values: Vec<(f64, f64)> =
            (0..12).map(|i| (100.0 * wave(i) * level(i), 9_000.0 * wave(i + 1))).collect();
        weekly(&values)
    }

    fn rules_of(chart: &Chart) -> Vec<&str> {
        let rules = chart.plot.layers.iter().filter_map(|layer| match layer {
            Layer::Rule { text, .. } => Some(text.as_str()),
            _ => None,
        });
        rules.collect()
    }

    #[test]
    fn change_stands_in_the_picture_and_below_it() {
        let charts = drawn(slower_since_february());
        let [rate, slow] = &charts[..] else { panic!("{charts:?}") };
        assert!(rate.caption.contains("20 % slower since 16 February (95 %: "), "{}", rate.caption);
        assert!(
            rate.title.starts_with("Reads in order: ") && rate.name == "history-reads-in-order"
        );
        assert_eq!(rules_of(rate), ["20 % slower"]);
        assert!(
            slow.caption.starts_with("No change shown in 12 runs.") && rules_of(slow).is_empty()
        );
        assert_eq!(slow.plot.y.title, "ms");
    }

    #[test]
    fn runs_stand_at_their_dates() {
        let charts = drawn(slower_since_february());
        let x = &charts[0].plot.x;
        assert_eq!((x.title.as_str(), x.values), ("2026", AxisValues::Day));
        let texts: Vec<&str> = x.ticks.iter().map(|tick| tick.text.as_str()).collect();
        assert!(texts.contains(&"2 Feb"), "{texts:?}");
        let mut runs = slower_since_february();
        runs[3].started_at = "1970-01-01T00:03:00Z".to_string();
        let unordered = drawn(runs);
        assert_eq!(unordered[0].plot.x.title, "runs in the order of saving");
        assert!(matches!(unordered[0].plot.x.scale, AxisScale::Linear(_, 12.0)));
    }

    #[test]
    fn marks_have_intervals_and_firmware_and_machine_are_marked() {
        let mut runs = slower_since_february();
        for metric in runs.iter_mut().flat_map(|run| &mut run.tests[0].metrics) {
            (metric.low, metric.high) = (metric.value * 0.9, metric.value * 1.2);
        }
        for run in &mut runs[6..] {
            run.drive.as_mut().unwrap().firmware = Some("NEW1".to_string());
        }
        runs[11].host.name = "other".to_string();
        let charts = drawn(runs);
        let changes = rules_of(&charts[0]);
        assert_eq!(changes[0], "20 % slower, firmware NEW1");
        assert_eq!(changes[1], "machine other");
        assert_eq!(rules_of(&charts[1])[0], "firmware NEW1");
        let said = "Firmware NEW1 since 16 February. Machine other since 23 March.";
        assert!(charts[1].caption.contains(said), "{}", charts[1].caption);
        let marks = charts[0].plot.layers.iter().find_map(|layer| match layer {
            Layer::Marks { marks, .. } => Some(marks),
            _ => None,
        });
        for mark in marks.unwrap() {
            assert!(mark.interval.0 < mark.at.1 && mark.at.1 < mark.interval.1, "{mark:?}");
        }
    }

    #[test]
    fn runs_of_one_second_have_a_picture_too() {
        let mut runs =
            weekly(&[(100.0, 9_000.0), (101.0, 9_001.0), (60.0, 9_002.0), (61.0, 9_003.0)]);
        for (i, run) in runs.iter_mut().enumerate() {
            run.started_at = format!("2026-01-05T00:00:00.{i}Z");
        }
        let charts = drawn(runs);
        assert_eq!(charts.len(), 2);
        assert!(!charts[0].caption.contains("a month"), "{}", charts[0].caption);
        assert_eq!(charts[0].plot.x.title, "5 January 2026");
        assert!(drawn(weekly(&[(100.0, 900.0)])).is_empty());
    }
}
